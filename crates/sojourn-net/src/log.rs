//! Codes of the packet log: what a packet is, and why it was dropped.
//!
//! The simulator, the matcher of captures and the extension module write these codes; the analyses in Python read the
//! names. All derive them from here. A code is never used again for something else: new ones go to the end.

use crate::named;

named! {
    /// What a packet is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// A TCP segment with payload.
        Data = "data",
        /// A TCP segment without payload or flags.
        Ack = "ack",
        /// A TCP segment that opens, closes or resets a connection.
        Control = "control",
        /// A UDP datagram that is no voice and no video.
        Datagram = "datagram",
        /// An RTP packet of a voice call.
        Voice = "voice",
        /// An RTP packet of a video stream, or a datagram of a game.
        Video = "video",
        /// An RTCP packet: what a receiver of RTP says.
        Rtcp = "rtcp",
        /// A QUIC packet.
        Quic = "quic",
    }
}

impl Kind {
    /// True for UDP, false for TCP.
    pub const fn is_udp(self) -> bool {
        !matches!(self, Self::Data | Self::Ack | Self::Control)
    }

    /// True for packets with payload.
    pub const fn is_data(self) -> bool {
        !matches!(self, Self::Ack | Self::Control | Self::Rtcp)
    }
}

named! {
    /// Why a packet was dropped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DropCause {
        /// The queue was full.
        Full = "full",
        /// An early decision on arrival (RED, PIE).
        Early = "early",
        /// It had waited too long (CoDel and its kin).
        Sojourn = "sojourn",
        /// Lost on the path, before the queue.
        Path = "path",
        /// The average queue was so long that nothing was let in (RED).
        Forced = "forced",
        /// Dropped at random after an overflow (BLUE, in COBALT and CAKE).
        Blue = "blue",
        /// The congestion signal of an overloaded low-latency pair of queues, whatever the packet's ECN bits (DualPI2).
        Overload = "overload",
        /// Not known: a drop found by comparing captures, which do not say why.
        Unknown = "unknown",
        /// It came faster than a policer allows.
        Policed = "policed",
    }
}

/// Code in the column `drop_cause` of a packet that was not dropped.
pub const NOT_DROPPED: u8 = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_code_that_logs_were_written_with() {
        let codes = [
            (Kind::Data, 0, "data", false),
            (Kind::Ack, 1, "ack", false),
            (Kind::Control, 2, "control", false),
            (Kind::Datagram, 3, "datagram", true),
            (Kind::Voice, 4, "voice", true),
            (Kind::Video, 5, "video", true),
            (Kind::Rtcp, 6, "rtcp", true),
            (Kind::Quic, 7, "quic", true),
        ];
        assert_eq!(codes.map(|(kind, ..)| kind), Kind::ALL);
        for (kind, code, name, is_udp) in codes {
            assert_eq!((kind as u8, kind.name(), kind.is_udp()), (code, name, is_udp));
        }
    }

    #[test]
    fn every_cause_has_the_code_that_logs_were_written_with() {
        let codes = [
            (DropCause::Full, 0, "full"),
            (DropCause::Early, 1, "early"),
            (DropCause::Sojourn, 2, "sojourn"),
            (DropCause::Path, 3, "path"),
            (DropCause::Forced, 4, "forced"),
            (DropCause::Blue, 5, "blue"),
            (DropCause::Overload, 6, "overload"),
            (DropCause::Unknown, 7, "unknown"),
            (DropCause::Policed, 8, "policed"),
        ];
        assert_eq!(codes.map(|(cause, ..)| cause), DropCause::ALL);
        for (cause, code, name) in codes {
            assert_eq!((cause as u8, cause.name()), (code, name));
            assert_ne!(cause as u8, NOT_DROPPED);
        }
    }
}
