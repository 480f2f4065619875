//! The pcapng format (draft-ietf-opsawg-pcapng): sections, interfaces with their own clocks' resolution, blocks.
//!
//! Enhanced, simple and obsolete packet blocks are read; all others are passed over by their length. A packet whose
//! comment begins with [`DROPPED`] was dropped where it was captured, as captures of emulated queues say.

use super::buffer::Window;
use super::step::{LONGEST_FRAME, Place, Step};
use std::io::{self, Read};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
/// What the comment of a packet begins with that went no further.
const DROPPED: &[u8] = b"dropped: ";
/// More interfaces than any machine has; a damaged file could otherwise fill the memory.
const MOST_INTERFACES: usize = 65_536;

/// Whether a file begins with a section header.
pub(super) fn recognise(head: &[u8]) -> bool {
    head.len() >= 12 && head[..4] == SECTION.to_be_bytes() && byte_order(&head[8..12]).is_some()
}

fn byte_order(magic: &[u8]) -> Option<bool> {
    match magic {
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(true),
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(false),
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    /// Units of its clock in a second; 0 stands for nanoseconds, which need no arithmetic.
    per_second: u64,
    offset_ns: i64,
    snaplen: u32,
}

/// Framing of one pcapng file.
#[derive(Default)]
pub(super) struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
    last: usize,
    last_time_ns: i64,
}

impl Pcapng {
    #[inline]
    fn u32(&self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline]
    fn u16(&self, bytes: &[u8]) -> u16 {
        let bytes = [bytes[0], bytes[1]];
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    /// Go to the next packet.
    pub(super) fn step<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Step> {
        loop {
            window.advance(self.last);
            self.last = 0;
            if !window.fill(12)? {
                return Ok(match window.filled() {
                    0 => Step::End,
                    got => Step::Damaged { what: format!("stops {got} bytes into its block"), cut_short: true },
                });
            }
            let head = window.slice(0, 12);
            if head[..4] == SECTION.to_be_bytes() {
                let Some(big_endian) = byte_order(&head[8..12]) else {
                    return Ok(damaged("is a section without a byte order".to_owned()));
                };
                self.big_endian = big_endian;
                self.interfaces.clear();
            }
            let head = window.slice(0, 12);
            let (kind, length) = (self.u32(head), self.u32(&head[4..]) as usize);
            if length < 12 || length % 4 != 0 {
                return Ok(damaged(format!("is in a block of impossible length ({length} bytes)")));
            }
            if !matches!(kind, INTERFACE | PACKET | SIMPLE | ENHANCED) {
                if !window.skip(length)? {
                    return Ok(Step::Damaged { what: "stops in a block".to_owned(), cut_short: true });
                }
                continue;
            }
            if length > LONGEST_FRAME + 65_536 {
                return Ok(damaged(format!("is in a block of {length} bytes, more than any frame needs")));
            }
            if !window.fill(length)? {
                let got = window.filled();
                return Ok(Step::Damaged { what: format!("stops {got} bytes into its block"), cut_short: true });
            }
            self.last = length;
            let body = window.slice(8, length - 12);
            if kind == INTERFACE {
                match self.interface(body) {
                    Some(interface) if self.interfaces.len() < MOST_INTERFACES => self.interfaces.push(interface),
                    _ => return Ok(damaged("follows an interface description that is damaged".to_owned())),
                }
                continue;
            }
            return Ok(self.packet(kind, body).unwrap_or_else(|| {
                damaged("is in a block that is too short for it, or of an interface that was not described".to_owned())
            }));
        }
    }

    fn interface(&self, body: &[u8]) -> Option<Interface> {
        let link = self.u16(body.get(..2)?);
        let snaplen = self.u32(body.get(4..8)?);
        let mut interface = Interface { link, per_second: 1_000_000, offset_ns: 0, snaplen };
        let mut options = &body[8..];
        while options.len() >= 4 {
            let (code, length) = (self.u16(options), usize::from(self.u16(&options[2..])));
            let value = options.get(4..4 + length)?;
            match (code, value) {
                (0, _) => break,
                (9, &[resolution]) => interface.per_second = per_second(resolution)?,
                (14, value) if length == 8 => {
                    let (a, b) = (u64::from(self.u32(value)), u64::from(self.u32(&value[4..])));
                    let seconds = if self.big_endian { a << 32 | b } else { b << 32 | a };
                    interface.offset_ns = (seconds as i64).checked_mul(1_000_000_000)?;
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(interface)
    }

    #[inline]
    fn packet(&mut self, kind: u32, body: &[u8]) -> Option<Step> {
        if kind == SIMPLE {
            let wire_len = self.u32(body.get(..4)?);
            let interface = self.interfaces.first()?;
            let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            let len = (wire_len.min(limit) as usize).min(body.len() - 4);
            let (time_ns, link) = (self.last_time_ns, interface.link);
            return Some(Step::Frame(Place { at: 12, len, time_ns, link, wire_len, dropped: false, interface: None }));
        }
        let head = body.get(..20)?;
        let number = if kind == ENHANCED { self.u32(head) } else { u32::from(self.u16(head)) };
        let interface = self.interfaces.get(number as usize)?;
        let stamp = u64::from(self.u32(&head[4..])) << 32 | u64::from(self.u32(&head[8..]));
        let (len, wire_len) = (self.u32(&head[12..]) as usize, self.u32(&head[16..]));
        if len > body.len() - 20 {
            return None;
        }
        let since = match interface.per_second {
            0 => stamp as i64,
            1_000_000 => (stamp as i64).wrapping_mul(1000),
            unit => {
                let rest = u128::from(stamp % unit) * 1_000_000_000 / u128::from(unit);
                ((stamp / unit) as i64).wrapping_mul(1_000_000_000).wrapping_add(rest as i64)
            }
        };
        let time_ns = since.wrapping_add(interface.offset_ns);
        self.last_time_ns = time_ns;
        let (link, wire_len) = (interface.link, wire_len.max(len as u32));
        let dropped = body.get(20 + len.next_multiple_of(4)..).is_some_and(|options| self.dropped(options));
        let interface = (self.interfaces.len() > 1).then_some(number);
        Some(Step::Frame(Place { at: 28, len, time_ns, link, wire_len, dropped, interface }))
    }

    /// Whether a comment among a packet's options says that it was dropped.
    fn dropped(&self, options: &[u8]) -> bool {
        self.options(options).any(|(code, value)| code == 1 && value.starts_with(DROPPED))
    }

    /// Code and value of each option, up to one that is damaged.
    fn options<'a>(&self, mut rest: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> {
        std::iter::from_fn(move || {
            let head = rest.get(..4)?;
            let (code, length) = (self.u16(head), usize::from(self.u16(&head[2..])));
            let value = rest.get(4..4 + length).filter(|_| code != 0)?;
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
            Some((code, value))
        })
    }
}

/// `if_tsresol`: a power of ten, or of two if the first bit is set.
fn per_second(resolution: u8) -> Option<u64> {
    match (resolution & 0x80 != 0, u32::from(resolution & 0x7f)) {
        (false, 9) => Some(0),
        (false, power) => 10u64.checked_pow(power),
        (true, power) => 1u64.checked_shl(power),
    }
}

fn damaged(what: String) -> Step {
    Step::Damaged { what, cut_short: false }
}

#[cfg(test)]
mod tests {
    use super::per_second;
    use crate::read::Capture;
    use std::io::Cursor;

    /// A big-endian capture of one frame with a clock of this resolution, an offset (s) and a stamp.
    fn time_ns(resolution: u8, offset_s: i64, stamp: u64) -> i64 {
        let block = |kind: u32, body: &[u8]| {
            let length = (body.len() as u32 + 12).to_be_bytes();
            [&kind.to_be_bytes()[..], &length, body, &length].concat()
        };
        let section = [&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat();
        let offset = [&[0, 14, 0, 8][..], &offset_s.to_be_bytes()].concat();
        let interface = [&[0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, resolution, 0, 0, 0][..], &offset, &[0; 4]].concat();
        let packet = [&[0; 4][..], &stamp.to_be_bytes(), &[0, 0, 0, 4, 0, 0, 0, 60, 1, 2, 3, 4]].concat();
        let file = [block(super::SECTION, &section), block(1, &interface), block(6, &packet)].concat();
        let mut capture = Capture::from_stream(Cursor::new(file), "memory").unwrap();
        let frame = capture.next_frame().unwrap().unwrap();
        assert_eq!((frame.data, frame.wire_len, frame.link), (&[1, 2, 3, 4][..], 60, 1));
        frame.time_ns
    }

    #[test]
    fn clocks_tick_in_powers_of_ten_or_of_two() {
        assert_eq!(per_second(6), Some(1_000_000));
        assert_eq!(per_second(9), Some(0), "nanoseconds need no arithmetic");
        assert_eq!(per_second(0x94), Some(1 << 20));
        assert_eq!(per_second(0x80), Some(1));
        assert_eq!((per_second(20), per_second(0xc0)), (None, None));
    }

    #[test]
    fn times_are_read_in_the_interfaces_own_clock() {
        // 3 s and 2^18 of 2^20 ticks: a quarter of a second.
        assert_eq!(time_ns(0x94, 0, (3 << 20) + (1 << 18)), 3_250_000_000);
        assert_eq!(time_ns(3, 0, 3_250), 3_250_000_000);
        assert_eq!(time_ns(6, 0, 3_250_001), 3_250_001_000);
        assert_eq!(time_ns(9, 0, 3_250_000_007), 3_250_000_007);
        assert_eq!(time_ns(12, 0, 3_250_000_007_999), 3_250_000_007);
        assert_eq!(time_ns(6, 100, 1), 100_000_001_000);
        assert_eq!(time_ns(0x94, -2, 3 << 20), 1_000_000_000);
    }
}
