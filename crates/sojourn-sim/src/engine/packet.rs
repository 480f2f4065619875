//! The simulator's packet: a 56-byte record of headers, no payload.

use sojourn_net::tcp::Segment;
use sojourn_net::{Ecn, Packet as _, Time};
use std::num::NonZeroU64;

pub use sojourn_net::log::Kind;

/// What the word of small fields says: in bit 0 nothing but that it is not zero, in the next three the kind, then these
/// bits …
const KIND: u32 = 1;
const SYN: u32 = 4;
const FIN: u32 = 5;
const RETRANSMISSION: u32 = 6;
/// … the three bits of feedback and the two ECN bits …
const FEEDBACK: u32 = 7;
const ECN: u32 = 10;
const PUSH: u32 = 12;
/// … and three fields of sixteen bits.
const LEN: u32 = 16;
const SIZE: u32 = 32;
const ROUTE: u32 = 48;

/// In place of an acknowledgement number: there is none.
const NO_ACK: u64 = u64::MAX;

/// No SACK blocks.
pub(crate) const NO_SACK: u32 = u32::MAX;

/// Who a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A TCP segment, of the connection in this place.
    Segment { connection: u32 },
    /// A datagram between hosts of a group, from a source.
    Datagram { group: u16, source: u32 },
}

/// A packet on its way. Not `Copy`: it is moved from place to place, and each copy on the way would cost as much as a
/// queue's decision.
#[derive(Clone, Debug)]
pub struct Packet {
    /// First sequence unit; for datagrams a number that the source chose.
    pub seq: u64,
    /// Acknowledgement number of a segment (or [`NO_ACK`]), group of a datagram.
    ack_or_group: u64,
    /// When it was sent.
    pub(crate) stamp: Time,
    pub(crate) echo: Time,
    /// The flow's number, unique in the run.
    pub flow: u32,
    /// Place of the segment's connection, number of the datagram's source.
    owner: u32,
    /// Row of the packet log.
    pub(crate) id: u32,
    /// Place of its SACK blocks in the pool.
    pub(crate) sack: u32,
    /// Kind, flags, sequence length of a segment, bytes at IP, and the route that it takes. One word, written and read
    /// as a whole, which avoids a store-forwarding stall.
    word: NonZeroU64,
}

fn word(kind: Kind, len: u16, size: u16, route: u16) -> u64 {
    (kind as u64) << KIND | u64::from(len) << LEN | u64::from(size) << SIZE | u64::from(route) << ROUTE
}

impl Packet {
    /// The packet of a TCP segment; its SACK blocks are kept elsewhere.
    #[inline]
    pub(crate) fn segment(segment: &Segment, flow: u32, connection: u32, route: u16, size: u16) -> Self {
        let kind = match segment {
            s if s.payload() > 0 => Kind::Data,
            s if s.syn || s.fin => Kind::Control,
            _ => Kind::Ack,
        };
        let flags = u64::from(segment.syn) << SYN
            | u64::from(segment.fin) << FIN
            | u64::from(segment.retransmission) << RETRANSMISSION
            | u64::from(segment.push) << PUSH
            | u64::from(segment.feedback & 7) << FEEDBACK
            | (segment.ecn as u64) << ECN;
        Self {
            seq: segment.seq,
            ack_or_group: segment.ack.unwrap_or(NO_ACK),
            stamp: segment.stamp,
            echo: segment.echo,
            flow,
            owner: connection,
            id: 0,
            sack: NO_SACK,
            word: NonZeroU64::MIN | word(kind, segment.len as u16, size, route) | flags,
        }
    }

    /// A datagram of a source, between hosts of a group.
    pub(crate) fn datagram(
        kind: Kind,
        seq: u64,
        now: Time,
        flow: u32,
        (group, source): (u16, u32),
        route: u16,
        size: u16,
    ) -> Self {
        Self {
            seq,
            ack_or_group: u64::from(group),
            stamp: now,
            echo: Time::NEVER,
            flow,
            owner: source,
            id: 0,
            sack: NO_SACK,
            word: NonZeroU64::MIN | word(kind, 0, size, route),
        }
    }

    /// The same with this ECN field.
    #[inline]
    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { word: self.word | (ecn as u64) << ECN, ..self }
    }

    /// A packet that was seen at a queue outside the simulator, in this row of its link's log.
    pub fn observed(kind: Kind, seq: u64, flow: u32, size: u16, row: u32) -> Self {
        Self { id: row, ..Self::datagram(kind, seq, Time::ZERO, flow, (0, 0), 0, size) }
    }

    #[inline]
    fn has(&self, bit: u32) -> bool {
        self.word.get() >> bit & 1 != 0
    }

    /// The TCP segment that it carries, without its SACK blocks.
    #[inline]
    pub(crate) fn to_segment(&self) -> Segment {
        Segment {
            seq: self.seq,
            len: u32::from((self.word.get() >> LEN) as u16),
            syn: self.has(SYN),
            fin: self.has(FIN),
            push: self.has(PUSH),
            ack: (self.ack_or_group != NO_ACK).then_some(self.ack_or_group),
            retransmission: self.has(RETRANSMISSION),
            stamp: self.stamp,
            echo: self.echo,
            ecn: self.ecn(),
            feedback: (self.word.get() >> FEEDBACK) as u8 & 7,
        }
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self.word.get() >> KIND & 7 {
            0 => Kind::Data,
            1 => Kind::Ack,
            2 => Kind::Control,
            3 => Kind::Datagram,
            4 => Kind::Voice,
            5 => Kind::Video,
            6 => Kind::Rtcp,
            _ => Kind::Quic,
        }
    }

    /// The route that it takes.
    #[inline]
    pub(crate) fn route(&self) -> u16 {
        (self.word.get() >> ROUTE) as u16
    }

    /// True for a TCP segment.
    #[inline]
    pub(crate) fn is_segment(&self) -> bool {
        !self.kind().is_udp()
    }

    /// Who it belongs to.
    #[inline]
    pub(crate) fn body(&self) -> Body {
        if self.is_segment() {
            Body::Segment { connection: self.owner }
        } else {
            Body::Datagram { group: self.ack_or_group as u16, source: self.owner }
        }
    }

    /// The TCP segment that it carries, without its SACK blocks; `None` for a datagram.
    pub fn segment_of(&self) -> Option<Segment> {
        self.is_segment().then(|| self.to_segment())
    }

    /// True for a datagram whose source is told of its arrival: all but plain ones.
    #[inline]
    pub(crate) fn reports_delivery(&self) -> bool {
        matches!(self.kind(), Kind::Voice | Kind::Video | Kind::Rtcp | Kind::Quic)
    }

    /// True for a datagram whose source is told at the end whether it was dropped: voice and video.
    #[inline]
    pub(crate) fn reports_loss(&self) -> bool {
        matches!(self.kind(), Kind::Voice | Kind::Video)
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
    #[inline]
    fn size(&self) -> u32 {
        u32::from((self.word.get() >> SIZE) as u16)
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.word.get() >> ECN & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect0,
            2 => Ecn::Ect1,
            _ => Ecn::Ce,
        }
    }
    fn mark(&mut self) {
        self.word |= (Ecn::Ce as u64) << ECN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_whose_it_is() {
        let datagram = Packet::datagram(Kind::Video, 7, Time(1), 3, (500, 70_000), 2, 1356);
        assert_eq!(datagram.body(), Body::Datagram { group: 500, source: 70_000 });
        assert_eq!((datagram.kind(), datagram.route(), datagram.bytes()), (Kind::Video, 2, 1356));
        assert!(datagram.reports_delivery() && datagram.segment_of().is_none());
        for (ack, seq) in [(None, 0), (Some(500), u64::from(u32::MAX) + 9)] {
            let sent = Segment {
                seq,
                len: 1448,
                syn: false,
                fin: false,
                push: true,
                ack,
                retransmission: true,
                stamp: Time(5),
                echo: Time(4),
                ecn: Ecn::Ect1,
                feedback: 5,
            };
            let packet = Packet::segment(&sent, 3, 70_000, 2, 1500);
            assert_eq!((packet.body(), packet.kind()), (Body::Segment { connection: 70_000 }, Kind::Data));
            assert_eq!(packet.segment_of(), Some(sent));
        }
    }

    #[test]
    fn a_packet_and_its_time_of_arrival_fill_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 56);
        assert_eq!(size_of::<(Time, Packet)>(), 64);
    }
}
