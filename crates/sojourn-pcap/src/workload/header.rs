//! What only a workload needs of a TCP header: its length, the window, and on a SYN the segment size and the window's
//! scale.

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
    if tcp[13] & crate::decode::tcp::SYN != 0 {
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
                [_, length, ..] if *length >= 2 && usize::from(*length) <= rest.len() => {
                    rest = &rest[usize::from(*length)..];
                }
                _ => break,
            }
        }
    }
    Some(found)
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
        assert_eq!(read(&data), Some(Extra { window: 0xfaf0, header: 32, mss: Some(1460), scale: Some(7) }));
        assert_eq!(read(&data[..42]), Some(Extra { window: 0xfaf0, header: 32, mss: None, scale: None }));
        assert_eq!(read(&data[..30]), None);
    }
}
