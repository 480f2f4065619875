//! Packets that a capture on several interfaces has more than once: a bridge and its port, both sides of a router.
//!
//! The first sighting of a packet counts, and the same packet on another interface is a copy of it. Counted again, it
//! would spoil what is told of queues: between the two there may be one. Where both sightings are of one interface, it
//! was sent twice. A router changes the hop limit and the checksums, and may change the traffic class.

use super::Frame;
use crate::decode::link::{Network, network};
use std::hash::{DefaultHasher, Hasher};

/// Packets that are remembered: more than any queue between two interfaces holds, in sets of which the oldest leaves.
const SETS: usize = 1 << 14;
const EACH: usize = 8;
/// Bytes of a packet behind its IP header by which it is known.
const PREFIX: usize = 60;

/// Tells copies from first sightings.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// In sets by the last bits of what a packet is known by: that, and the interface on which it was seen first.
    first: Vec<(u64, u32)>,
}

/// A sentence about frames of a capture that were copies; none if there were none.
#[must_use]
pub fn copies_left_out(count: u64, capture: &str) -> Option<String> {
    let (frames, their) = if count == 1 { ("frame", "its packet") } else { ("frames", "their packets") };
    let sentence = format!("{count} {frames} left out: {capture} is of several interfaces, and had {their} before");
    (count > 0).then_some(sentence)
}

impl Copies {
    /// Whether the frame is of a packet that was seen on another interface before.
    #[inline]
    pub(crate) fn is_copy(&mut self, frame: &Frame<'_>) -> bool {
        match frame.interface {
            Some(interface) => self.again(frame.link, frame.data, interface),
            // Linux cooked v2 names the interface of each frame.
            None if frame.link == 276 => {
                let index = frame.data.get(4..8).and_then(|bytes| bytes.try_into().ok());
                index.is_some_and(|index| self.again(frame.link, frame.data, u32::from_be_bytes(index)))
            }
            None => false,
        }
    }

    #[inline(never)]
    fn again(&mut self, link: u16, data: &[u8], interface: u32) -> bool {
        let Some(packet) = identity(link, data) else { return false };
        self.first.resize(SETS * EACH, (0, 0));
        let set = &mut self.first[packet as usize % SETS * EACH..][..EACH];
        if let Some((_, first)) = set.iter().find(|(known, _)| *known == packet) {
            return *first != interface;
        }
        set.rotate_right(1);
        set[0] = (packet, interface);
        false
    }
}

/// What is the same of a packet on every interface.
fn identity(link: u16, data: &[u8]) -> Option<u64> {
    let (network, at) = network(link, data).ok()?;
    let ip = &data[at..];
    let v6 = match network {
        Network::V4 => false,
        Network::V6 => true,
        Network::ByVersion => ip.first()? >> 4 == 6,
    };
    let mut hasher = DefaultHasher::new();
    let (protocol, rest) = if v6 {
        // Length and next header, then both addresses.
        hasher.write(ip.get(4..7)?);
        hasher.write(ip.get(8..40)?);
        (ip[6], &ip[40..])
    } else {
        // Length, identification and fragment, then the protocol and both addresses.
        hasher.write(ip.get(2..8)?);
        hasher.write(ip.get(9..10)?);
        hasher.write(ip.get(12..20)?);
        (ip[9], ip.get(usize::from(ip[0] & 15) * 4..)?)
    };
    let checksum = match protocol {
        6 => 16..18,
        17 => 6..8,
        _ => return None,
    };
    let rest = &rest[..rest.len().min(PREFIX)];
    hasher.write(rest.get(..checksum.start)?);
    hasher.write(rest.get(checksum.end..)?);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 or IPv6 packet of TCP or UDP with this hop limit, identification (or length) and sequence number.
    fn packet(v6: bool, protocol: u8, ttl: u8, id: u8, seq: u8) -> Vec<u8> {
        let mut ip = if v6 {
            vec![0x60, 0, 0, 0, 0, id, protocol, ttl]
        } else {
            vec![0x45, 0, 0, 60, 0, id, 0, 0, ttl, protocol]
        };
        // The header's checksum changes with the hop limit.
        ip.resize(if v6 { 40 } else { 20 }, ttl);
        ip[if v6 { 8 } else { 12 }..].fill(1);
        let mut transport = vec![seq; 40];
        let checksum = if protocol == 6 { 16 } else { 6 };
        transport[checksum] = ttl;
        [ip, transport].concat()
    }

    fn frame(data: &[u8], link: u16, interface: Option<u32>) -> Frame<'_> {
        Frame { number: 1, time_ns: 0, link, wire_len: data.len() as u32, data, dropped: false, interface }
    }

    #[test]
    fn the_same_packet_on_another_interface_is_a_copy() {
        for (v6, protocol) in [(false, 6), (false, 17), (true, 6), (true, 17)] {
            let mut copies = Copies::default();
            let mut seen =
                |ttl, id, seq, interface| copies.is_copy(&frame(&packet(v6, protocol, ttl, id, seq), 101, interface));
            assert!(!seen(64, 1, 1, Some(0)));
            assert!(seen(64, 1, 1, Some(1)), "bridged");
            assert!(seen(63, 1, 1, Some(2)), "routed");
            assert!(!seen(64, 1, 1, Some(0)), "sent twice");
            assert!(seen(63, 1, 1, Some(1)), "and its copy");
            assert!(!seen(64, 2, 1, Some(1)) && !seen(64, 1, 2, Some(1)), "others");
            assert!(!seen(64, 1, 1, None), "a capture on one interface has no copies");
        }
    }

    #[test]
    fn thousands_of_packets_may_wait_between_two_interfaces() {
        let mut copies = Copies::default();
        let mut seen = |number: u32, interface| {
            let mut data = packet(false, 6, 64, 1, 1);
            data[24..28].copy_from_slice(&number.to_be_bytes());
            copies.is_copy(&frame(&data, 101, Some(interface)))
        };
        let waiting = 2000;
        for number in 0..50_000 {
            assert!(!seen(number, 0));
            assert!(number < waiting || seen(number - waiting, 1), "{number}");
        }
    }

    #[test]
    fn copies_are_told_if_there_were_any() {
        assert_eq!(copies_left_out(0, "a.pcap"), None);
        for (count, said) in [
            (1, "1 frame left out: a.pcap is of several interfaces, and had its packet before"),
            (2, "2 frames left out: a.pcap is of several interfaces, and had their packets before"),
        ] {
            assert_eq!(copies_left_out(count, "a.pcap").as_deref(), Some(said));
        }
    }

    #[test]
    fn the_frames_of_linux_cooked_v2_name_their_interface() {
        let cooked = |index: u8| [&[8, 0, 0, 0, 0, 0, 0, index], &[0; 12][..], &packet(false, 6, 64, 1, 1)].concat();
        let mut copies = Copies::default();
        let seen = [2, 2, 3, 2].map(|index| copies.is_copy(&frame(&cooked(index), 276, None)));
        assert_eq!(seen, [false, false, true, false]);
    }

    #[test]
    fn what_is_cut_short_or_no_packet_is_no_copy() {
        for v6 in [false, true] {
            let whole = packet(v6, 6, 64, 1, 1);
            let mut copies = Copies::default();
            for end in 0..whole.len() {
                let data = &whole[..end];
                assert!(!copies.is_copy(&frame(data, 101, Some(0))));
                let known = end >= if v6 { 58 } else { 38 };
                assert_eq!(copies.is_copy(&frame(data, 101, Some(1))), known, "{end}");
            }
        }
        assert!(!Copies::default().is_copy(&frame(&[0; 7], 276, None)));
    }
}
