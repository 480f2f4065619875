//! IPv4 (RFC 791) and IPv6 (RFC 8200) down to the transport header.

use super::address::Address;
use super::bytes::be16;
use super::packet::{Packet, Transport};
use super::skip::Skip;
use super::tcp;

#[inline(always)]
pub(super) fn v4(data: &[u8], wire_len: u32) -> Result<Packet<'_>, Skip> {
    if data.len() < 20 {
        return Err(Skip::CutShort);
    }
    let header = usize::from(data[0] & 15) * 4;
    if data[0] >> 4 != 4 || header < 20 {
        return Err(Skip::Malformed);
    }
    if be16(data, 6) & 0x1fff != 0 {
        return Err(Skip::Fragment);
    }
    if data.len() < header {
        return Err(Skip::CutShort);
    }
    // A length of 0 is what segmentation offload leaves in captures made at the sender.
    let total = match be16(data, 2) {
        0 => wire_len,
        total => u32::from(total),
    };
    let length = total.checked_sub(header as u32).ok_or(Skip::Malformed)?;
    let (ports, transport) = transport(data[9], &data[header..], length)?;
    let (source, destination) = (Address::v4(&data[12..16]), Address::v4(&data[16..20]));
    Ok(Packet { source, destination, ttl: data[8], ecn: data[1] & 3, id: be16(data, 4), ports, transport })
}

#[inline]
pub(super) fn v6(data: &[u8], wire_len: u32) -> Result<Packet<'_>, Skip> {
    if data.len() < 40 {
        return Err(Skip::CutShort);
    }
    if data[0] >> 4 != 6 {
        return Err(Skip::Malformed);
    }
    // 0 again stands for offloaded or jumbo packets.
    let mut length = match be16(data, 4) {
        0 => wire_len.saturating_sub(40),
        length => u32::from(length),
    };
    let (mut kind, mut at) = (data[6], 40);
    for _ in 0..8 {
        let extension = match kind {
            0 | 43 | 60 | 135 | 139 | 140 => data.get(at..at + 2).map(|head| (head[0], 8 + usize::from(head[1]) * 8)),
            51 => data.get(at..at + 2).map(|head| (head[0], 8 + usize::from(head[1]) * 4)),
            44 => {
                let head = data.get(at..at + 8).ok_or(Skip::CutShort)?;
                if be16(head, 2) & 0xfff8 != 0 {
                    return Err(Skip::Fragment);
                }
                Some((head[0], 8))
            }
            _ => {
                let rest = data.get(at..).ok_or(Skip::CutShort)?;
                let (ports, transport) = transport(kind, rest, length)?;
                let (source, destination) = (Address::v6(&data[8..24]), Address::v6(&data[24..40]));
                return Ok(Packet {
                    source,
                    destination,
                    ttl: data[7],
                    ecn: data[1] >> 4 & 3,
                    id: 0,
                    ports,
                    transport,
                });
            }
        };
        let (next, size) = extension.ok_or(Skip::CutShort)?;
        length = length.checked_sub(size as u32).ok_or(Skip::Malformed)?;
        (kind, at) = (next, at + size);
    }
    Err(Skip::Malformed)
}

#[inline(always)]
fn transport(kind: u8, data: &[u8], length: u32) -> Result<([u16; 2], Transport<'_>), Skip> {
    let transport = match kind {
        6 => Transport::Tcp(tcp::segment(data, length)?),
        17 => {
            if data.len() < 8 {
                return Err(Skip::CutShort);
            }
            let length = length.checked_sub(8).ok_or(Skip::Malformed)?;
            let kept = (data.len() - 8).min(length as usize);
            Transport::Udp { payload: &data[8..8 + kept], length }
        }
        _ => return Err(Skip::OtherTransport),
    };
    Ok(([be16(data, 0), be16(data, 2)], transport))
}
