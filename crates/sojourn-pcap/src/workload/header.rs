//! What only a workload needs of a TCP header: its length, the window, on a SYN the segment size and the window's
//! scale, and whether it tells of data that came twice (RFC 2883).

use crate::decode::link;
use crate::read::Frame;

/// Window and SYN options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) window: u16,
    /// Bytes of the header with its options.
    pub(super) header: u32,
    pub(super) mss: Option<u16>,
    pub(super) scale: Option<u8>,
    /// Its first block of SACK is of data that had come (DSACK).
    pub(super) twice: bool,
}

/// Reads them; `None` if the header was cut off or lies behind IPv6 extensions.
pub(super) fn extra(frame: &Frame<'_>) -> Option<Extra> {
    let (_, at) = link::network(frame.link, frame.data).ok()?;
    let ip = frame.data.get(at..)?;
    let tcp = match ip.first()? >> 4 {
        4 => ip.get(usize::from(ip[0] & 15) * 4..)?,
        6 if *ip.get(6)? == 6 => ip.get(40..)?,
        _ => return None,
    };
    let (window, header) = (u16::from_be_bytes([*tcp.get(14)?, *tcp.get(15)?]), usize::from(tcp[12] >> 4) * 4);
    let mut found = Extra { window, header: header as u32, ..Extra::default() };
    // Without SACK an acknowledgement has no more than timestamps.
    if tcp[13] & crate::decode::tcp::SYN != 0 || header > 32 {
        let mut rest = tcp.get(20..header.min(tcp.len())).unwrap_or(&[]);
        loop {
            match rest {
                [] | [0, ..] => break,
                [1, ..] => rest = &rest[1..],
                [2, 4, high, low, ..] => {
                    found.mss = Some(u16::from_be_bytes([*high, *low]));
                    rest = &rest[4..];
                }
                [3, 3, scale, ..] => {
                    found.scale = Some((*scale).min(14));
                    rest = &rest[3..];
                }
                [5, length, blocks @ ..] if *length >= 10 && usize::from(*length) - 2 <= blocks.len() => {
                    let ack = u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]);
                    found.twice = told_twice(ack, &blocks[..usize::from(*length) - 2]);
                    rest = &rest[usize::from(*length)..];
                }
                [_, length, ..] if *length >= 2 && usize::from(*length) <= rest.len() => {
                    rest = &rest[usize::from(*length)..];
                }
                _ => break,
            }
        }
    }
    Some(found)
}

/// RFC 2883 §4: the first block is not beyond what is acknowledged, or inside of the second.
fn told_twice(ack: u32, blocks: &[u8]) -> bool {
    let edge = |at: usize| Some(u32::from_be_bytes(*blocks.get(at..)?.first_chunk()?));
    let upto = |one: u32, other: u32| other.wrapping_sub(one) < 1 << 31;
    let Some((left, right)) = edge(0).zip(edge(4)) else { return false };
    let inside = edge(8).zip(edge(12)).is_some_and(|(begin, end)| upto(begin, left) && upto(right, end));
    upto(right, ack) || inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_segment_size_and_scale_of_a_syn() {
        let mut data = vec![0x45, 0, 0, 52, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        data.extend([0x13, 0x89, 0, 80, 0, 0, 1, 0, 0, 0, 0, 0, 0x80, 2, 0xfa, 0xf0, 0, 0, 0, 0]);
        data.extend([2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 1, 1]);
        let read = |data: &[u8]| {
            extra(&Frame { number: 1, time_ns: 0, link: 101, wire_len: 52, data, dropped: false, interface: None })
        };
        assert_eq!(
            read(&data),
            Some(Extra { window: 0xfaf0, header: 32, mss: Some(1460), scale: Some(7), twice: false })
        );
        assert_eq!(read(&data[..42]), Some(Extra { window: 0xfaf0, header: 32, mss: None, scale: None, twice: false }));
        assert_eq!(read(&data[..30]), None);
    }

    #[test]
    fn what_came_twice_is_told_by_the_first_block() {
        let told = |ack: u32, edges: &[u32]| {
            let options = 4 + 4 * edges.len();
            let mut data = vec![0x45, 0, 0, 52, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            data.extend([0x13, 0x89, 0, 80, 0, 0, 1, 0]);
            data.extend(ack.to_be_bytes());
            data.extend([((20 + 12 + options) / 4 * 16) as u8, 16, 0xfa, 0xf0, 0, 0, 0, 0]);
            data.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 5, (options - 2) as u8]);
            data.extend(edges.iter().flat_map(|edge| edge.to_be_bytes()));
            let frame =
                Frame { number: 1, time_ns: 0, link: 101, wire_len: 99, data: &data, dropped: false, interface: None };
            extra(&frame).map(|extra| extra.twice)
        };
        assert_eq!(told(1000, &[500, 1000]), Some(true));
        assert_eq!(told(1000, &[500, 1001]), Some(false), "more than was acknowledged");
        assert_eq!(told(5, &[u32::MAX - 9, 2]), Some(true));
        assert_eq!(told(1000, &[3000, 4000]), Some(false));
        assert_eq!(told(1000, &[3000, 4000, 2000, 5000]), Some(true), "inside of the second");
        assert_eq!(told(1000, &[3000, 4000, 5000, 6000]), Some(false));
    }
}
