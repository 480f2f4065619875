//! uTP headers (BEP 29).
//!
//! Real traffic differs from the text: libtorrent's selective ACKs have any length from 1 byte on, and libutp sends an
//! extension of type 2. Extensions are therefore only followed, not judged. uTP has neither a port nor a magic number,
//! so a packet that reads as uTP is only a candidate; the flow decides (see [`crate::delay`]).

use super::bytes::{be16, be32};

/// Packet types.
pub const DATA: u8 = 0;
/// Last packet of a connection.
pub const FIN: u8 = 1;
/// Acknowledgement without data.
pub const STATE: u8 = 2;
/// Opens a connection.
pub const SYN: u8 = 4;

/// What is used of a uTP header.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// Packet type, 0 to 4.
    pub kind: u8,
    /// Connection id.
    pub connection: u16,
    /// Sender's clock, µs modulo 2^32.
    pub stamp: u32,
    /// What the sender saw last: its clock minus the stamp of the other's packet, µs modulo 2^32; 0 if nothing yet.
    pub difference: u32,
    /// Number of this packet.
    pub seq: u16,
    /// Number of the last packet received in order.
    pub ack: u16,
}

/// Read a UDP payload as uTP if it can be; `length` is its length on the wire.
#[inline]
pub fn header(payload: &[u8], length: u32) -> Option<Header> {
    if payload.len() < 20 || payload[0] & 15 != 1 || payload[0] >> 4 > SYN {
        return None;
    }
    let mut extension = payload[1];
    let mut at = 20u32;
    let mut count = 0;
    while extension != 0 {
        // What the snap length cut cannot be judged.
        let Some(head) = payload.get(at as usize..at as usize + 2) else {
            if at + 2 > length {
                return None;
            }
            break;
        };
        extension = head[0];
        at += 2 + u32::from(head[1]);
        count += 1;
        if at > length || count > 4 {
            return None;
        }
    }
    Some(Header {
        kind: payload[0] >> 4,
        connection: be16(payload, 2),
        stamp: be32(payload, 4),
        difference: be32(payload, 8),
        seq: be16(payload, 16),
        ack: be16(payload, 18),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a kind and version, extensions of these lengths, and 9 bytes of payload.
    fn packet(first: u8, extensions: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first, u8::from(!extensions.is_empty()), 0, 7];
        bytes.extend([0, 0, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0, 3, 4, 5, 6]);
        for (place, length) in extensions.iter().enumerate() {
            bytes.extend([u8::from(place + 1 < extensions.len()), *length]);
            bytes.resize(bytes.len() + usize::from(*length), 1);
        }
        bytes.resize(bytes.len() + 9, 0xee);
        bytes
    }

    fn is_utp(bytes: &[u8]) -> bool {
        header(bytes, bytes.len() as u32).is_some()
    }

    #[test]
    fn every_field_is_read_from_its_place() {
        for kind in DATA..=SYN {
            let bytes = packet(kind << 4 | 1, &[]);
            let found = header(&bytes, bytes.len() as u32).unwrap();
            assert_eq!((found.kind, found.connection, found.stamp, found.difference), (kind, 7, 256, 512));
            assert_eq!((found.seq, found.ack), (0x0304, 0x0506));
        }
        for first in [0x00, 0x02, 0x51, 0xf1] {
            assert!(!is_utp(&packet(first, &[])), "{first:#x}");
        }
        assert!(is_utp(&packet(0x21, &[])[..20]) && !is_utp(&packet(0x21, &[])[..19]));
    }

    #[test]
    fn extensions_are_followed_up_to_the_end_and_no_packet_has_more_than_four() {
        for extensions in [&[4][..], &[1], &[0], &[4, 8], &[32, 1, 2, 200]] {
            assert!(is_utp(&packet(0x01, extensions)), "{extensions:?}");
        }
        assert!(!is_utp(&packet(0x01, &[0; 5])));
        // The last one may end with the datagram, and not behind it: of each, not only of the first.
        for extensions in [&[4][..], &[4, 8], &[3, 1, 200]] {
            let bytes = packet(0x21, extensions);
            let end = bytes.len() - 9;
            assert!(is_utp(&bytes[..end]) && !is_utp(&bytes[..end - 1]), "{extensions:?}");
            // What the snap length cut is not held against it, unless the length on the wire does.
            assert!(header(&bytes[..20], end as u32).is_some());
            assert!(header(&bytes[..21], 22).is_some() && header(&bytes[..21], 21).is_none());
        }
    }
}
