//! Packets of one TCP connection that are due together, joined into a super-packet: generic receive offload (GRO).
//!
//! Source: Linux's `tcp_gro_receive`, `inet_gro_receive` and `ipv6_gro_receive`. As there, packets are joined that
//! follow each other, are of one size but for the last, and have the same headers, the time stamps too, but for what
//! must differ; PSH ends a super-packet. Joined is only what [`gso`](crate::forward::gso) would cut into the
//! same bytes. Differences: a packet whose sum is not left to be computed comes from outside this machine and is not
//! joined, nor one with FIN, CWR or an IPv4 option; `tcpi_data_segs_in` of the receiver counts a super-packet as one.
//!
//! The kernel joins what it is given within one look of NAPI. To join here saves a system call a packet, which is
//! most of what a packet costs, when the loop is late and many are due.

use crate::device::VNET_HEADER;
use crate::forward::gso::VnetHeader;
use sojourn_pcap::write::{folded, sum};

/// Largest packet of IP.
const LARGEST: usize = 65_535;
const TCP: u8 = 6;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const ECE: u8 = 0x40;

/// A packet that may be joined with others of its connection.
#[derive(Clone, Copy)]
struct Segment<'p> {
    packet: &'p [u8],
    transport: usize,
    headers: usize,
}

impl<'p> Segment<'p> {
    /// `None` if it is to be left alone.
    fn read(bytes: &'p [u8]) -> Option<Self> {
        let (head, packet) = bytes.split_at_checked(VNET_HEADER)?;
        let transport = match *packet.first()? {
            0x45 if *packet.get(9)? == TCP && word(packet, 6) & 0x3fff == 0 => 20,
            first if first >> 4 == 6 && *packet.get(6)? == TCP => 40,
            _ => return None,
        };
        let headers = transport + usize::from(*packet.get(transport + 12)? >> 4) * 4;
        let flags = packet[transport + 13..].first()? & !PSH;
        let length = if transport == 20 { word(packet, 2).into() } else { 40 + usize::from(word(packet, 4)) };
        let fits = headers >= transport + 20 && headers < packet.len() && length == packet.len();
        let is_local = head == VnetHeader::of_tcp(transport as u16).plain();
        (fits && is_local && flags & !ECE == ACK).then_some(Self { packet, transport, headers })
    }

    fn payload(&self) -> &'p [u8] {
        &self.packet[self.headers..]
    }

    fn seq(&self) -> u32 {
        let at = self.transport + 4;
        u32::from(word(self.packet, at)) << 16 | u32::from(word(self.packet, at + 2))
    }

    fn ends(&self) -> bool {
        self.packet[self.transport + 13] & PSH != 0
    }

    /// Whether the headers say the same but for lengths, sums, numbers and PSH.
    fn is_like(&self, other: &Self) -> bool {
        let Self { packet, transport, headers } = *self;
        let same = |from: usize, to: usize| packet[from..to] == other.packet[from..to];
        let at = transport;
        let network = if at == 20 { same(0, 2) && same(6, 10) && same(12, 20) } else { same(0, 4) && same(6, 40) };
        network
            && same(at, at + 4)
            && same(at + 8, at + 13)
            && (packet[at + 13] ^ other.packet[at + 13]) & !PSH == 0
            && same(at + 14, at + 16)
            && same(at + 18, headers)
    }
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// A super-packet while it grows.
#[derive(Default)]
pub struct Joined {
    /// With the device's header in front.
    bytes: Vec<u8>,
    transport: usize,
    headers: usize,
    /// Of the first packet's payload.
    size: usize,
    count: u16,
    ended: bool,
}

impl Joined {
    /// Room for the largest, written once so that no page is missing when a packet comes.
    pub fn new() -> Self {
        Self { bytes: vec![1; VNET_HEADER + LARGEST], ..Self::default() }
    }

    /// Begins with a packet that has its header in front; false if it is to be left alone.
    pub fn begin(&mut self, first: &[u8]) -> bool {
        let Some(segment) = Segment::read(first).filter(|segment| !segment.ends()) else { return false };
        self.bytes.clear();
        self.bytes.extend_from_slice(first);
        (self.transport, self.headers, self.size) = (segment.transport, segment.headers, segment.payload().len());
        (self.count, self.ended) = (1, false);
        true
    }

    /// Joins the packet that is due next, which has its header in front; false if it is not part of this.
    pub fn add(&mut self, next: &[u8]) -> bool {
        let Some(next) = Segment::read(next).filter(|_| !self.ended) else { return false };
        let first = Segment { packet: &self.bytes[VNET_HEADER..], transport: self.transport, headers: self.headers };
        let (before, payload) = (first.payload().len(), next.payload());
        let follows = next.seq() == first.seq().wrapping_add(before as u32)
            && (self.transport == 40 || word(next.packet, 4) == word(first.packet, 4).wrapping_add(self.count));
        let fits = payload.len() <= self.size && first.packet.len() + payload.len() <= LARGEST;
        if !follows || !fits || !next.is_like(&first) {
            return false;
        }
        self.count += 1;
        self.ended = next.ends() || payload.len() < self.size;
        if next.ends() {
            self.bytes[VNET_HEADER + self.transport + 13] |= PSH;
        }
        self.bytes.extend_from_slice(payload);
        true
    }

    /// The super-packet, or the one packet that there is.
    pub fn finish(&mut self) -> &[u8] {
        let Self { transport, headers, size, count, .. } = *self;
        if count > 1 {
            let (head, packet) = self.bytes.split_at_mut(VNET_HEADER);
            let is_v4 = transport == 20;
            let header = VnetHeader::of_tcp(transport as u16);
            head.copy_from_slice(&header.joined(is_v4, headers as u16, size as u16));
            let length = packet.len();
            let put = |packet: &mut [u8], at: usize, word: u16| packet[at..at + 2].copy_from_slice(&word.to_be_bytes());
            if is_v4 {
                put(packet, 2, length as u16);
                put(packet, 10, 0);
                let header = !folded(sum(&packet[..20]));
                put(packet, 10, header);
            } else {
                put(packet, 4, (length - 40) as u16);
            }
            let addresses = if is_v4 { 12..20 } else { 8..40 };
            let covered = u32::from((length - transport) as u16);
            let pseudo = folded(sum(&packet[addresses]) + u32::from(TCP) + covered);
            put(packet, transport + 16, pseudo);
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::gso::Cut;
    use proptest::prelude::*;

    /// What a packet of a connection has that a test may change.
    #[derive(Clone, Copy, Debug)]
    struct Said {
        v6: bool,
        seq: u32,
        id: u16,
        payload: usize,
        flags: u8,
        ecn: u8,
        stamp: u8,
    }

    const SAID: Said = Said { v6: false, seq: 0xffff_fc00, id: 0xffff, payload: 1000, flags: ACK, ecn: 2, stamp: 7 };

    /// The packet, with the header that a device gives in front.
    fn packet(said: Said) -> Vec<u8> {
        let Said { v6, seq, id, payload, flags, ecn, stamp } = said;
        let covered = (32 + payload) as u16;
        let mut packet = if v6 {
            let mut packet = vec![0x60, ecn << 4, 0, 9];
            packet.extend(covered.to_be_bytes());
            packet.extend([TCP, 64]);
            packet.extend([0xfd; 32]);
            packet
        } else {
            let mut packet = vec![0x45, ecn];
            packet.extend((20 + covered).to_be_bytes());
            packet.extend(id.to_be_bytes());
            packet.extend([0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let header = !folded(sum(&packet));
            packet[10..12].copy_from_slice(&header.to_be_bytes());
            packet
        };
        let transport = packet.len();
        let addresses = if v6 { 8..40 } else { 12..20 };
        let pseudo = folded(sum(&packet[addresses]) + u32::from(TCP) + u32::from(covered));
        packet.extend([0x1f, 0x90, 0x13, 0x89]);
        packet.extend(seq.to_be_bytes());
        packet.extend([0, 0, 0, 5, 0x80, flags, 1, 0]);
        packet.extend(pseudo.to_be_bytes());
        packet.extend([0, 0, 1, 1, 8, 10, 0, 0, 0, stamp, 0, 0, 0, 1]);
        packet.extend((0..payload).map(|k| (k as u32).wrapping_mul(seq | 1) as u8));
        [&VnetHeader::of_tcp(transport as u16).plain()[..], &packet].concat()
    }

    /// The packet that follows one.
    fn after(said: Said) -> Said {
        Said { seq: said.seq.wrapping_add(said.payload as u32), id: said.id.wrapping_add(1), ..said }
    }

    /// What a super-packet is cut into, each with its header.
    fn cut(joined: &[u8]) -> Vec<Vec<u8>> {
        let (head, packet) = joined.split_at(VNET_HEADER);
        let header = VnetHeader::read(head.try_into().unwrap());
        let cut = Cut::new(header, packet).unwrap();
        let piece = |place| {
            let mut out = vec![0; 65_536];
            let length = cut.segment(place, &mut out).unwrap();
            [&header.plain()[..], &out[..length]].concat()
        };
        (0..cut.count()).map(piece).collect()
    }

    #[test]
    fn packets_that_follow_each_other_become_what_a_card_would_cut_into_them() {
        for v6 in [false, true] {
            let first = Said { v6, ..SAID };
            let second = after(first);
            let third = Said { payload: 400, flags: ACK | PSH, ..after(second) };
            let packets = [first, second, third].map(packet);
            let mut joined = Joined::new();
            assert!(joined.begin(&packets[0]) && joined.add(&packets[1]) && joined.add(&packets[2]));
            assert!(!joined.add(&packet(after(third))), "PSH and a short one end it");
            let bytes = joined.finish();
            assert_eq!(bytes.len(), packets[0].len() + 1400);
            assert_eq!(cut(bytes), packets);
            assert!(VnetHeader::read(bytes[..VNET_HEADER].try_into().unwrap()).is_super());
        }
    }

    #[test]
    fn one_packet_alone_stays_as_it_is() {
        let mut joined = Joined::new();
        let first = packet(SAID);
        assert!(joined.begin(&first) && !joined.add(&packet(SAID)), "the same again does not follow");
        assert_eq!(joined.finish(), first);
    }

    #[test]
    fn what_differs_in_more_than_its_place_is_not_joined() {
        let next = after(SAID);
        let changed = |change: fn(&mut Vec<u8>)| {
            let mut bytes = packet(next);
            change(&mut bytes);
            bytes
        };
        for (what, bytes) in [
            ("a gap", packet(Said { seq: next.seq + 1, ..next })),
            ("another identification", packet(Said { id: next.id + 1, ..next })),
            ("more than the first", packet(Said { payload: 1001, ..next })),
            ("congestion experienced", packet(Said { ecn: 3, ..next })),
            ("another time stamp", packet(Said { stamp: 8, ..next })),
            ("ECN-Echo", packet(Said { flags: ACK | ECE, ..next })),
            ("CWR", packet(Said { flags: ACK | 0x80, ..next })),
            ("FIN", packet(Said { flags: ACK | 1, ..next })),
            ("another kind of IP", packet(Said { v6: true, ..next })),
            ("no payload", packet(Said { payload: 0, ..next })),
            ("another port", changed(|bytes| bytes[VNET_HEADER + 20] ^= 1)),
            ("another acknowledgement", changed(|bytes| bytes[VNET_HEADER + 31] ^= 1)),
            ("another window", changed(|bytes| bytes[VNET_HEADER + 35] ^= 1)),
            ("an urgent pointer", changed(|bytes| bytes[VNET_HEADER + 39] ^= 1)),
            ("another time to live", changed(|bytes| bytes[VNET_HEADER + 8] ^= 1)),
            ("another sender", changed(|bytes| bytes[VNET_HEADER + 15] ^= 3)),
            ("a sum that is whole", changed(|bytes| bytes[0] = 0)),
            ("a fragment", changed(|bytes| bytes[VNET_HEADER + 6] |= 0x20)),
            ("padding", [packet(Said { payload: 900, ..next }), vec![0]].concat()),
            ("nothing", Vec::new()),
        ] {
            let mut joined = Joined::new();
            assert!(joined.begin(&packet(SAID)) && !joined.add(&bytes), "{what}");
            assert!(joined.add(&packet(next)), "{what}: it is as it was");
        }
        let mut joined = Joined::new();
        for (what, bytes) in [
            ("PSH", packet(Said { flags: ACK | PSH, ..SAID })),
            ("SYN", packet(Said { flags: 2, payload: 10, ..SAID })),
            ("no payload", packet(Said { payload: 0, ..SAID })),
            ("a fragment", {
                let mut bytes = packet(SAID);
                bytes[VNET_HEADER + 6] |= 0x20;
                bytes
            }),
        ] {
            assert!(!joined.begin(&bytes), "{what} is not begun with");
        }
    }

    #[test]
    fn a_super_packet_is_no_larger_than_ip_allows() {
        let mut joined = Joined::new();
        let mut said = Said { payload: 9000, ..SAID };
        assert!(joined.begin(&packet(said)));
        let count = (0..9).take_while(|_| {
            said = after(said);
            joined.add(&packet(said))
        });
        assert_eq!(count.count(), 6);
        assert_eq!(cut(joined.finish()).len(), 7);
    }

    proptest! {
        /// Whatever comes, in whatever order: what is joined is cut into the same packets.
        #[test]
        fn what_was_joined_is_cut_into_the_same_bytes(
            v6: bool,
            kinds in proptest::collection::vec((0_u8..12, 1_usize..1400), 1..60),
        ) {
            let mut said = Said { v6, ..SAID };
            let packets: Vec<_> = kinds.into_iter().map(|(kind, payload)| {
                match kind {
                    0 => said.seq = said.seq.wrapping_add(3),
                    1 => said.stamp = said.stamp.wrapping_add(1),
                    2 => said.payload = payload,
                    3 => said.flags ^= PSH,
                    4 => said.ecn ^= 1,
                    5 => said.flags ^= ECE,
                    _ => {}
                }
                let packet = packet(said);
                said = after(said);
                packet
            }).collect();
            let (mut joined, mut got, mut at) = (Joined::new(), Vec::new(), 0);
            while at < packets.len() {
                let first = &packets[at];
                at += 1;
                if !joined.begin(first) {
                    got.push(first.clone());
                    continue;
                }
                let begun = at;
                while at < packets.len() && joined.add(&packets[at]) {
                    at += 1;
                }
                let bytes = joined.finish();
                got.extend(if at > begun { cut(bytes) } else { vec![bytes.to_vec()] });
            }
            prop_assert_eq!(got, packets);
        }

        #[test]
        fn no_bytes_make_it_fail(first in proptest::collection::vec(any::<u8>(), 0..200), next in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut joined = Joined::new();
            if joined.begin(&first) {
                joined.add(&next);
                joined.finish();
            }
        }
    }
}
