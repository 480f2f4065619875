//! uTP headers (BEP 29).
//!
//! Real traffic differs from the text: libtorrent's selective ACKs have any length from 1 byte on, and libutp sends an
//! extension of type 2. Extensions are therefore only followed, not judged. uTP has neither a port nor a magic number,
//! so a packet that reads as uTP is only a candidate; the flow decides (see [`crate::delay::flow`]).

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
