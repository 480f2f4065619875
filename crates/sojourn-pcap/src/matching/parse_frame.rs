//! What makes a packet itself: the fields that no router changes, and the beginning of what it carries.
//!
//! Left out are what changes on the way (hop limit, header checksum, the traffic class with its ECN bits) and the
//! transport's checksum, which a host that leaves it to its network card fills with something else. Two retransmissions
//! of one segment differ in the IPv4 identification or in the TCP timestamp; where all is the same, order decides (see
//! [`super::matcher`]).

use crate::decode::{Address, link};
use crate::read::Frame;
use sojourn_net::log::Kind;
use std::hash::{DefaultHasher, Hasher};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Who talks to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tuple {
    pub(super) source: Address,
    pub(super) destination: Address,
    pub(super) ports: (u16, u16),
    pub(super) protocol: u8,
}

impl Tuple {
    pub(super) fn reversed(self) -> Self {
        let Self { source, destination, ports: (from, to), protocol } = self;
        Self { source: destination, destination: source, ports: (to, from), protocol }
    }
}

/// A packet as one capture saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) time_ns: i64,
    pub(super) tuple: Tuple,
    /// Bytes at IP.
    pub(super) size: u32,
    pub(super) ttl: u8,
    pub(super) kind: Kind,
    /// First sequence number and length in sequence space; TCP only.
    pub(super) seq: u32,
    pub(super) length: u32,
    pub(super) ack: Option<u32>,
    pub(super) identity: u64,
    /// Bytes of the IP packet that were captured, if the snap length cut it.
    pub(super) cut_at: Option<usize>,
}

fn be16(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

fn be32(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// Reads a frame, of whose IP packet `prefix` bytes at most count. `None` if it carries no IP that can be read, or was
/// dropped where it was captured.
pub(super) fn parse_frame(frame: &Frame<'_>, prefix: usize) -> Option<Seen> {
    if frame.dropped {
        return None;
    }
    let (_, at) = link::network(frame.link, frame.data).ok()?;
    let data = frame.data.get(at..)?;
    let on_wire = (frame.wire_len as usize).saturating_sub(at);
    let mut hash = DefaultHasher::new();
    let Header { source, destination, protocol, ttl, size, length } = header(data, on_wire, &mut hash)?;
    hash.write_u128(source.0);
    hash.write_u128(destination.0);
    hash.write_u8(protocol);
    let held = data.len().min(size);
    let counted = &data[..held.min(prefix)];
    write_body(protocol, counted.get(length..).unwrap_or(&[]), &mut hash);
    let mut seen = Seen {
        time_ns: frame.time_ns,
        tuple: Tuple { source, destination, ports: (0, 0), protocol },
        size: size as u32,
        ttl,
        kind: Kind::Datagram,
        seq: 0,
        length: 0,
        ack: None,
        identity: hash.finish(),
        cut_at: (data.len() < size).then_some(data.len()),
    };
    let body = data[..held].get(length..).unwrap_or(&[]);
    if matches!(protocol, TCP | UDP) && body.len() >= 4 {
        seen.tuple.ports = (be16(body, 0)?, be16(body, 2)?);
    }
    if protocol == TCP && body.len() >= 14 {
        let flags = body[13];
        let payload = (size - length).saturating_sub(usize::from(body[12] >> 4) * 4) as u32;
        let opens_or_closes = flags & 0b11 != 0;
        seen.seq = be32(body, 4)?;
        seen.ack = (flags & 0b1_0000 != 0).then_some(be32(body, 8)?);
        seen.length = payload + u32::from(flags & 1 != 0) + u32::from(flags & 2 != 0);
        seen.kind = match payload {
            1.. => Kind::Data,
            0 if opens_or_closes || flags & 0b100 != 0 => Kind::Control,
            0 => Kind::Ack,
        };
    }
    Some(seen)
}

/// What an IP header says.
struct Header {
    source: Address,
    destination: Address,
    /// 0 of a fragment that is not the first: it has no transport header.
    protocol: u8,
    ttl: u8,
    /// Bytes of the packet, and of the header with its extensions.
    size: usize,
    length: usize,
}

/// The IP header of a packet; those of its fields that no router changes, addresses aside, are written to the hash.
#[inline]
fn header(data: &[u8], on_wire: usize, hash: &mut DefaultHasher) -> Option<Header> {
    match data.first()? >> 4 {
        4 => {
            let length = usize::from(data[0] & 15) * 4;
            if length < 20 {
                return None;
            }
            // Length, identification, fragment.
            hash.write(data.get(2..8)?);
            let total = usize::from(be16(data, 2)?);
            let size = if total == 0 { on_wire } else { total };
            let later_fragment = be16(data, 6)? & 0x1fff != 0;
            let protocol = if later_fragment { 0 } else { *data.get(9)? };
            let (source, destination) = (Address::v4(data.get(12..16)?), Address::v4(data.get(16..20)?));
            Some(Header { source, destination, protocol, ttl: data[8], size, length })
        }
        6 => {
            // Flow label, length.
            hash.write(&[data.get(1)? & 15]);
            hash.write(data.get(2..6)?);
            let total = usize::from(be16(data, 4)?);
            let size = if total == 0 { on_wire } else { total + 40 };
            let (protocol, length) = after_extensions(data)?;
            let (source, destination) = (Address::v6(data.get(8..24)?), Address::v6(data.get(24..40)?));
            Some(Header { source, destination, protocol, ttl: *data.get(7)?, size, length })
        }
        _ => None,
    }
}

/// Write what a packet carries to the hash, without the transport's checksum.
#[inline]
fn write_body(protocol: u8, body: &[u8], hash: &mut DefaultHasher) {
    let checksum = match protocol {
        TCP => 16,
        UDP => 6,
        _ => usize::MAX,
    };
    if body.len() >= checksum.saturating_add(2) {
        hash.write(&body[..checksum]);
        hash.write(&body[checksum + 2..]);
    } else {
        hash.write(&body[..body.len().min(checksum)]);
    }
}

/// The transport protocol of an IPv6 packet and where its header begins; 0 for a later fragment.
fn after_extensions(data: &[u8]) -> Option<(u8, usize)> {
    let (mut next, mut at) = (*data.get(6)?, 40);
    for _ in 0..8 {
        match next {
            0 | 43 | 60 => {
                let Some(head) = data.get(at..at + 2) else { return Some((next, at)) };
                (next, at) = (head[0], at + 8 + usize::from(head[1]) * 8);
            }
            44 => {
                let Some(offset) = be16(data, at + 2) else { return Some((next, at)) };
                if offset & 0xfff8 != 0 {
                    return Some((0, at));
                }
                (next, at) = (data[at], at + 8);
            }
            _ => return Some((next, at)),
        }
    }
    Some((next, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(data: &[u8], wire_len: u32) -> Frame<'_> {
        Frame { number: 1, time_ns: 0, link: 101, wire_len, data, dropped: false, interface: None }
    }

    /// A TCP segment of 100 bytes of payload, of which 30 were captured.
    fn segment() -> Vec<u8> {
        let mut data = vec![0x45, 0, 0, 140, 0, 7, 0x40, 0, 64, 6, 0xaa, 0xbb, 10, 0, 0, 1, 10, 0, 0, 2];
        data.extend([0x13, 0x89, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0x50, 0x18, 1, 0, 0xcc, 0xdd, 0, 0]);
        data.extend(0..30);
        data
    }

    #[test]
    fn what_a_router_changes_does_not_count() {
        let data = segment();
        let seen = parse_frame(&frame(&data, 140), 70).expect("a packet");
        assert_eq!((seen.kind, seen.seq, seen.length, seen.ack), (Kind::Data, 256, 100, Some(512)));
        assert_eq!((seen.size, seen.cut_at), (140, Some(70)));
        for at in [1, 8, 10, 11, 36, 37] {
            let mut routed = data.clone();
            routed[at] ^= 0x11;
            assert_eq!(parse_frame(&frame(&routed, 140), 70).map(|s| s.identity), Some(seen.identity), "byte {at}");
        }
        for at in [5, 12, 21, 27, 33, 69] {
            let mut other = data.clone();
            other[at] ^= 0x11;
            assert_ne!(parse_frame(&frame(&other, 140), 70).map(|s| s.identity), Some(seen.identity), "byte {at}");
        }
        assert_eq!(
            parse_frame(&frame(&data[..60], 140), 60).map(|s| s.identity),
            parse_frame(&frame(&data, 140), 60).map(|s| s.identity)
        );
    }

    #[test]
    fn the_transport_is_found_behind_extension_headers_of_any_length() {
        for (first, second) in [(0u8, 0u8), (1, 0), (0, 2), (3, 1)] {
            let mut data = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
            data.extend([1; 16].into_iter().chain([2; 16]));
            // Hop-by-hop options, then destination options, then UDP.
            for (next, length) in [(60, first), (17, second)] {
                let at = data.len();
                data.extend([next, length]);
                data.resize(at + 8 + usize::from(length) * 8, 0);
            }
            data.extend([0x13, 0x88, 0x17, 0x70, 0, 12, 0, 0, 9, 9, 9, 9]);
            let seen = parse_frame(&frame(&data, data.len() as u32), 400).expect("a packet");
            assert_eq!((seen.tuple.protocol, seen.tuple.ports), (17, (5000, 6000)), "{first} {second}");
        }
    }

    #[test]
    fn a_packet_that_was_cut_in_its_extension_headers_is_one_still() {
        let mut data = vec![0x60, 0, 0, 0, 0, 60, 0, 64];
        data.extend([1; 16].into_iter().chain([2; 16]));
        // Hop-by-hop options, a fragment's header, UDP.
        data.extend([44, 0, 0, 0, 0, 0, 0, 0]);
        data.extend([17, 0, 0, 1, 0, 0, 0, 7]);
        data.extend([0x13, 0x88, 0x17, 0x70, 0, 44, 0, 0]);
        for (kept, protocol) in [(40, 0), (41, 0), (42, 44), (51, 44), (52, 17), (56, 17)] {
            let seen = parse_frame(&frame(&data[..kept], 100), 400).expect("a packet");
            assert_eq!((seen.tuple.protocol, seen.size, seen.cut_at), (protocol, 100, Some(kept)), "{kept}");
        }
        // Of a later fragment the transport is not known.
        data[51] = 8;
        let seen = parse_frame(&frame(&data, 100), 400).expect("a packet");
        assert_eq!((seen.tuple.protocol, seen.tuple.ports), (0, (0, 0)));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(data in proptest::collection::vec(any::<u8>(), 0..120), wire in 0u32..2000, first: bool) {
            let mut data = data;
            if let Some(byte) = data.first_mut() {
                *byte = if first { 0x45 } else { 0x60 };
            }
            let _ = parse_frame(&frame(&data, wire), 82);
        }
    }
}
