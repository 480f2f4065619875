//! The simulator's packet: a 56-byte record of headers, no payload.

use sojourn_net::tcp::Segment;
use sojourn_net::{Ecn, Packet as _, Time};

/// What a packet is, for the packet log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A TCP segment with payload.
    Data,
    /// A TCP segment without payload or flags.
    Ack,
    /// A TCP segment that opens or closes a connection.
    Control,
    /// A datagram of a paced source.
    Datagram,
    /// A datagram of a voice call.
    Voice,
    /// A datagram of a video stream.
    Video,
}

impl Kind {
    /// Names in the packet log, in the order of the codes.
    pub const NAMES: [&'static str; 6] = ["data", "ack", "control", "datagram", "voice", "video"];

    /// True for packets with payload.
    pub fn is_data(self) -> bool {
        !matches!(self, Self::Ack | Self::Control)
    }

    /// True for datagrams whose sender is told what became of each.
    pub(crate) fn is_told(self) -> bool {
        matches!(self, Self::Voice | Self::Video)
    }
}

const SYN: u8 = 1;
const FIN: u8 = 2;
/// Both together, which no segment has: PSH.
const PUSH: u8 = SYN | FIN;
const RETRANSMISSION: u8 = 4;
/// Where the three bits of feedback and the two ECN bits are among the flags.
const FEEDBACK: u32 = 3;
const ECN: u32 = 6;
/// In place of an acknowledgement number: there is none.
const NO_ACK: u64 = u64::MAX;

/// No SACK blocks.
pub(crate) const NO_SACK: u32 = u32::MAX;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// First sequence unit; for datagrams a number that the source chose.
    pub seq: u64,
    pub(crate) ack: u64,
    /// When it was sent.
    pub(crate) stamp: Time,
    pub(crate) echo: Time,
    /// The flow's number, unique in the run.
    pub flow: u32,
    /// Place of the connection, or of the source that sent the datagram.
    pub(crate) slot: u32,
    /// Row of the packet log.
    pub(crate) id: u32,
    /// Place of its SACK blocks in the pool.
    pub(crate) sack: u32,
    /// Sequence length of a segment.
    pub(crate) len: u16,
    /// Bytes at IP.
    pub(crate) size: u16,
    /// Delay line that it takes after the link.
    pub(crate) line: u16,
    /// What it is.
    pub kind: Kind,
    flags: u8,
}

impl Packet {
    /// The packet of a TCP segment; its SACK blocks are kept elsewhere.
    pub(crate) fn segment(segment: &Segment, flow: u32, slot: u32, line: u16, size: u16) -> Self {
        let kind = match segment {
            s if s.payload() > 0 => Kind::Data,
            s if s.syn || s.fin => Kind::Control,
            _ => Kind::Ack,
        };
        let flag = |set: bool, bit| u8::from(set) * bit;
        let flags = flag(segment.syn, SYN)
            | flag(segment.fin, FIN)
            | flag(segment.push && !segment.syn && !segment.fin, PUSH)
            | flag(segment.retransmission, RETRANSMISSION)
            | ((segment.feedback & 7) << FEEDBACK)
            | ((segment.ecn as u8) << ECN);
        Self {
            seq: segment.seq,
            ack: segment.ack.unwrap_or(NO_ACK),
            stamp: segment.stamp,
            echo: segment.echo,
            flow,
            slot,
            id: 0,
            sack: NO_SACK,
            len: segment.len as u16,
            size,
            line,
            kind,
            flags,
        }
    }

    /// A datagram.
    pub(crate) fn datagram(kind: Kind, seq: u64, now: Time, flow: u32, source: u32, line: u16, size: u16) -> Self {
        Self {
            seq,
            ack: 0,
            stamp: now,
            echo: Time::NEVER,
            flow,
            slot: source,
            id: 0,
            sack: NO_SACK,
            len: 0,
            size,
            line,
            kind,
            flags: 0,
        }
    }

    /// The TCP segment that it carries, without its SACK blocks.
    pub(crate) fn to_segment(self) -> Segment {
        Segment {
            seq: self.seq,
            len: u32::from(self.len),
            syn: self.flags & PUSH == SYN,
            fin: self.flags & PUSH == FIN,
            push: self.flags & PUSH == PUSH,
            ack: (self.ack != NO_ACK).then_some(self.ack),
            retransmission: self.flags & RETRANSMISSION != 0,
            stamp: self.stamp,
            echo: self.echo,
            ecn: self.ecn(),
            feedback: (self.flags >> FEEDBACK) & 7,
        }
    }

    /// True for a TCP segment.
    pub(crate) fn is_segment(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Ack | Kind::Control)
    }

    /// The TCP segment that it carries, without its SACK blocks; `None` for a datagram.
    pub fn segment_of(&self) -> Option<Segment> {
        self.is_segment().then(|| self.to_segment())
    }

    /// Its row in the packet log of the link that it crossed, if one is kept.
    pub fn row(&self) -> u32 {
        self.id
    }

    /// Bytes at IP.
    pub fn bytes(&self) -> u32 {
        self.size()
    }
}

impl sojourn_net::Packet for Packet {
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.flags >> ECN {
            0 => Ecn::NotEct,
            1 => Ecn::Ect0,
            2 => Ecn::Ect1,
            _ => Ecn::Ce,
        }
    }
    fn mark(&mut self) {
        self.flags |= (Ecn::Ce as u8) << ECN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_and_its_time_of_arrival_fill_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 56);
        assert_eq!(size_of::<(Time, Packet)>(), 64);
    }
}
