//! A packet as the queues of the emulator see it: a record of its headers, and the slot that holds its bytes.
//!
//! Flows are told apart by the 5-tuple (addresses, protocol, ports), hashed to 32 bits; fragments and other protocols
//! by addresses and protocol alone.

use sojourn_net::log::Kind;
use sojourn_net::{Ecn, Packet};
use sojourn_pcap::write::folded;

/// What the headers of a packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Hash of the 5-tuple.
    pub flow: u32,
    /// What it is.
    pub kind: Kind,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// TCP's sequence number; 0 of others.
    pub seq: u32,
    /// Bytes of the headers of IP and transport.
    pub length: u16,
    /// Meant for a group of hosts, or for those of one link only: the kernel's own announcements.
    pub link_local: bool,
    /// The last two bytes of the sender's address at IPv4, which are the receiver's too where hosts come in pairs.
    pub pair: u16,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Headers {
    /// Reads the headers of a packet at IP; `None` if it is neither IPv4 nor IPv6, or cut short.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let (addresses, protocol, start, ecn, link_local, pair) = match packet.first()? >> 4 {
            4 if packet.len() >= 20 => {
                let first = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff == 0;
                let start = first.then_some(usize::from(packet[0] & 15) * 4);
                (&packet[12..20], packet[9], start, packet[1] & 3, packet[16] >= 224, [packet[14], packet[15]])
            }
            6 if packet.len() >= 40 => {
                let local = packet[24] == 0xff || (packet[8] == 0xfe && packet[9] & 0xc0 == 0x80);
                (&packet[8..40], packet[6], Some(40), packet[1] >> 4 & 3, local, [0, 0])
            }
            _ => return None,
        };
        let mut hash = Hash::new();
        hash.add(addresses);
        hash.add(&[protocol]);
        let transport = start.and_then(|start| packet.get(start..)).unwrap_or(&[]);
        let (kind, seq, length) = match protocol {
            TCP if transport.len() >= 20 => {
                let length = usize::from(transport[12] >> 4) * 4;
                let kind = match transport[13] {
                    _ if transport.len() > length => Kind::Data,
                    flags if flags & 0b111 != 0 => Kind::Control,
                    _ => Kind::Ack,
                };
                (kind, u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]), length)
            }
            _ => (Kind::Datagram, 0, 8),
        };
        if matches!(protocol, TCP | UDP) && transport.len() >= 8 {
            hash.add(&transport[..4]);
        }
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn)];
        let length = (start.unwrap_or(20) + length).min(packet.len()) as u16;
        Some(Self { flow: hash.0, kind, ecn, seq, length, link_local, pair: u16::from_be_bytes(pair) })
    }
}

/// FNV-1a of 32 bits; the queues that spread flows mix it once more, with a salt.
struct Hash(u32);

impl Hash {
    fn new() -> Self {
        Self(0x811c_9dc5)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

/// Sets Congestion Experienced in a packet's bytes, and mends the checksum of an IPv4 header (RFC 1624). A second time
/// changes nothing.
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) => {
            let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            let before = word(packet, 0);
            packet[1] |= 3;
            let sum = u32::from(!word(packet, 10)) + u32::from(!before) + u32::from(word(packet, 0));
            packet[10..12].copy_from_slice(&(!folded(sum)).to_be_bytes());
        }
        Some(6) => packet[1] |= 0x30,
        _ => {}
    }
}

/// A packet on its way through the emulator.
#[derive(Debug)]
pub struct Frame {
    /// The slot that holds its bytes.
    pub slot: u32,
    /// Row of the log of the link that it waits at.
    pub row: u32,
    /// Number of the packet in the run.
    pub journey: u32,
    /// Bytes at IP.
    pub size: u32,
    /// What its headers say.
    pub headers: Headers,
    /// Its ECN bits when it arrived at the link that it waits at.
    pub ecn_before: Ecn,
    /// A queue has marked it: its bytes must still say so.
    pub marked: bool,
}

impl Packet for Frame {
    #[inline]
    fn size(&self) -> u32 {
        self.size
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.headers.flow
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.headers.ecn
    }
    fn mark(&mut self) {
        (self.headers.ecn, self.marked) = (Ecn::Ce, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ipv4, sum};

    fn tcp(flags: u8, payload: usize) -> Vec<u8> {
        let mut segment = vec![0x1f, 0x90, 0x13, 0x89, 0, 0, 1, 2, 0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0];
        segment.resize(20 + payload, 9);
        segment
    }

    #[test]
    fn headers_say_flow_kind_and_ecn() {
        let data = Headers::read(&ipv4(6, 2, &tcp(0x10, 100))).unwrap();
        assert_eq!((data.kind, data.ecn, data.seq, data.length), (Kind::Data, Ecn::Ect0, 258, 40));
        let ack = Headers::read(&ipv4(6, 1, &tcp(0x10, 0))).unwrap();
        assert_eq!((ack.kind, ack.ecn, ack.flow), (Kind::Ack, Ecn::Ect1, data.flow));
        assert_eq!(Headers::read(&ipv4(6, 0, &tcp(0x12, 0))).unwrap().kind, Kind::Control);
        let udp = Headers::read(&ipv4(17, 0, &[0x1f, 0x90, 0x13, 0x89, 0, 9, 0, 0, 1])).unwrap();
        assert_eq!((udp.kind, udp.seq, udp.length), (Kind::Datagram, 0, 28));
        assert_ne!(udp.flow, data.flow, "another protocol is another flow");
        let other = Headers::read(&ipv4(17, 0, &[0x1f, 0x91, 0x13, 0x89, 0, 9, 0, 0, 1])).unwrap();
        assert_ne!(udp.flow, other.flow, "another port is another flow");
        let mut fragment = ipv4(17, 0, &[1, 2, 3, 4, 5, 6, 7, 8]);
        fragment[7] = 20;
        let mut later = fragment.clone();
        later[20] = 99;
        assert_eq!(Headers::read(&fragment).unwrap().flow, Headers::read(&later).unwrap().flow);
        assert!([&[][..], &[0x45; 19], &[0x60; 39], &[0x10; 60]].iter().all(|bytes| Headers::read(bytes).is_none()));
    }

    #[test]
    fn ipv6_is_read_too_and_the_kernels_own_messages_are_known() {
        let mut packet = vec![0x60, 0x20, 0, 0, 0, 20, 6, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfc; 16]);
        packet.extend(tcp(0x10, 0));
        let read = Headers::read(&packet).unwrap();
        assert_eq!((read.kind, read.ecn, read.link_local, read.length), (Kind::Ack, Ecn::Ect0, false, 60));
        mark(&mut packet);
        assert_eq!(Headers::read(&packet).unwrap().ecn, Ecn::Ce);
        // To a group, or from an address of this link alone: fe80::/10 (RFC 4291 §2.5.6).
        packet[24] = 0xff;
        assert!(Headers::read(&packet).unwrap().link_local);
        packet[24] = 0xfc;
        for (from, link_local) in
            [([0xfe, 0x80], true), ([0xfe, 0xbf], true), ([0xfe, 0xc0], false), ([0xfd, 0x80], false)]
        {
            packet[8..10].copy_from_slice(&from);
            assert_eq!(Headers::read(&packet).unwrap().link_local, link_local, "{from:x?}");
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for ecn in [1, 2] {
            for (id, ttl) in [(0, 0), (0xff, 64), (0x12, 255)] {
                let mut packet = ipv4(6, ecn, &tcp(0x10, 3));
                (packet[5], packet[8], packet[10], packet[11]) = (id, ttl, 0, 0);
                let right = !sum(&packet[..20]);
                packet[10..12].copy_from_slice(&right.to_be_bytes());
                mark(&mut packet);
                assert_eq!((packet[1] & 3, sum(&packet[..20])), (3, 0xffff));
                let once = packet.clone();
                mark(&mut packet);
                assert_eq!(packet, once);
            }
        }
    }

    #[test]
    fn all_fragments_of_a_datagram_are_one_flow() {
        let mut first = ipv4(17, 0, &[0x1f, 0x90, 0x13, 0x89, 0, 9, 0, 0]);
        let whole = Headers::read(&first).unwrap();
        let mut last = ipv4(17, 0, &[1, 2, 3, 4, 5, 6, 7, 8]);
        (first[6], last[7]) = (0x20, 1);
        let [first, last] = [first, last].map(|packet| Headers::read(&packet).unwrap());
        assert_eq!(first.flow, last.flow, "only the first has the ports, so none is told apart by them");
        assert_ne!(first.flow, whole.flow);
    }

    #[test]
    fn a_queue_sees_of_a_frame_what_its_headers_say() {
        for flow in [0, 0xffff, 0x1_0000, u32::MAX] {
            let headers = Headers { flow, ..Headers::read(&ipv4(17, 1, &[0; 8])).unwrap() };
            let (slot, row, journey, size) = (9, 8, 7, 1234);
            let mut frame = Frame { slot, row, journey, size, headers, ecn_before: Ecn::Ect1, marked: false };
            assert_eq!((frame.flow(), frame.size(), frame.ecn()), (flow, 1234, Ecn::Ect1));
            frame.mark();
            assert_eq!((frame.flow(), frame.ecn(), frame.ecn_before, frame.marked), (flow, Ecn::Ce, Ecn::Ect1, true));
        }
    }
}
