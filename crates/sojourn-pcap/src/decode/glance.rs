//! The frames that most captures are full of, at one glance: TCP whose first option are its timestamps, over IPv4
//! without options, over Ethernet. What is read of them is the same as [`super::decode`] reads; for all others it is
//! asked.

use super::bytes::{be16, be32};
use super::tcp::{self, Segment};

/// Bytes of the three headers, with no more options than timestamps.
const HEADERS: usize = 14 + 20 + 32;

/// Such a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glance {
    /// Addresses of sender and receiver.
    pub(crate) addresses: [u32; 2],
    /// Their ports.
    pub(crate) ports: [u16; 2],
    pub(crate) ttl: u8,
    pub(crate) id: u16,
    pub(crate) segment: Segment,
}

/// Read a frame if it is such a one.
#[inline(always)]
pub(crate) fn glance(link: u16, data: &[u8], wire_len: u32) -> Option<Glance> {
    let head: &[u8; HEADERS] = data.first_chunk()?;
    let header = usize::from(head[46] >> 4) * 4;
    // EtherType, version and header length; fragments; protocol; the options' order that RFC 7323's appendix A
    // recommends.
    let usual = be32(head, 12) & 0xffff_ff00 == 0x0800_4500
        && be16(head, 20) & 0x1fff == 0
        && head[23] == 6
        && header >= 32
        && be32(head, 54) == 0x0101_080a;
    if link != 1 || !usual {
        return None;
    }
    // A length of 0 is what segmentation offload leaves in captures made at the sender.
    let length = match be16(head, 16) {
        0 => wire_len.saturating_sub(14),
        total => u32::from(total),
    };
    let payload = length.checked_sub(20 + header as u32)?;
    let sack = if header > 32 { tcp::sack(data.get(54..34 + header).unwrap_or(&data[54..])) } else { None };
    let segment = Segment::new([be32(head, 38), be32(head, 42)], head[47], payload);
    let segment = segment.with(Some((be32(head, 58), be32(head, 62))), sack);
    let (addresses, ports) = ([be32(head, 26), be32(head, 30)], [be16(head, 34), be16(head, 36)]);
    Some(Glance { addresses, ports, ttl: head[22], id: be16(head, 18), segment })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Address, Transport, decode};
    use crate::write::{Datagram, End, Header};
    use proptest::prelude::*;
    use std::net::Ipv4Addr;

    proptest! {
        #[test]
        fn what_is_read_at_a_glance_is_what_is_decoded(
            (seq, ack, flags, stamps) in (any::<u32>(), any::<u32>(), any::<u8>(), any::<(u32, u32)>()),
            changes in prop::collection::vec((0usize..70, any::<u8>()), 0..3),
            (more, cut) in (prop::option::of(0u8..8), 0usize..90),
        ) {
            let end = |n: u8| End { address: Ipv4Addr::new(10, n, 0, 1), port: 1000 + u16::from(n) };
            let header = Header::Tcp { seq, ack, flags, stamps: Some(stamps), sack: Default::default(), mss: None };
            let packet = Datagram { source: end(1), destination: end(2), id: 7, ttl: 60, ecn: 0, payload: 100, header };
            let (mut data, wire_len) = packet.frame();
            prop_assert!(glance(1, &data, wire_len).is_some());
            for (at, byte) in changes {
                data[at % HEADERS] = byte;
            }
            if let Some(words) = more {
                // Room for a block of selective acknowledgements, right or not.
                data[46] = (8 + words) << 4;
                data.extend([1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 2, 0]);
            }
            data.truncate(cut.max(20));
            if let Some(seen) = glance(1, &data, wire_len) {
                let packet = decode(1, &data, wire_len).unwrap();
                let Transport::Tcp(segment) = packet.transport else { panic!("it is TCP") };
                prop_assert_eq!(format!("{segment:?}"), format!("{:?}", seen.segment));
                let address = |n: usize| Address(0xffff_0000_0000 | u128::from(seen.addresses[n]));
                prop_assert_eq!((packet.source, packet.destination), (address(0), address(1)));
                prop_assert_eq!((packet.ports, packet.ttl, packet.id), (seen.ports, seen.ttl, seen.id));
            }
        }
    }
}
