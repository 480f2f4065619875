//! The pcap format (draft-ietf-opsawg-pcap): one header, then records; either byte order, µs or ns.

use super::Frame;
use super::buffer::Window;
use super::step::{LONGEST_FRAME, Place, Step};
use std::io::{self, Read};

/// Bytes of the file header.
pub(super) const HEADER: usize = 24;
const RECORD: usize = 16;

/// Framing of one pcap file.
#[derive(Clone, Copy)]
pub(super) struct Pcap {
    big_endian: bool,
    ns_per_fraction: i64,
    /// 24 bytes in files of the "modified" format of old Red Hat kernels (magic a1b2cd34), 16 otherwise.
    record_header: usize,
    link: u16,
    /// Bytes of the last record, passed when the next is asked for, so that its slice stays valid.
    last: usize,
}

/// Records that are at hand, as frames without numbers.
pub(super) struct Records<'a> {
    format: Pcap,
    rest: &'a [u8],
    /// Bytes before the record that was handed on last.
    passed: usize,
}

impl Records<'_> {
    /// No records.
    pub(super) fn none() -> Self {
        let format = Pcap { big_endian: false, ns_per_fraction: 1, record_header: RECORD, link: 0, last: 0 };
        Self { format, rest: &[], passed: 0 }
    }

    /// How far it has come.
    pub(super) fn end(self) -> (usize, usize) {
        (self.passed, self.format.last)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Frame<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Frame<'a>> {
        let Self { format, rest, passed } = self;
        let begin = *passed + format.last;
        let head: &[u8; RECORD] = rest.get(begin..)?.first_chunk()?;
        let [seconds, fraction, kept, wire_len] = format.words(head);
        let (at, len) = (begin + format.record_header, kept as usize);
        if len > LONGEST_FRAME {
            return None;
        }
        let data = rest.get(at..at + len)?;
        (*passed, format.last) = (begin, format.record_header + len);
        let time_ns = format.time(seconds, fraction);
        Some(Frame {
            number: 0,
            time_ns,
            link: format.link,
            wire_len: wire_len.max(kept),
            data,
            dropped: false,
            interface: None,
        })
    }
}

impl Pcap {
    /// The framing that a file header announces.
    pub(super) fn recognise(head: &[u8]) -> Option<Self> {
        let head: &[u8; HEADER] = head.try_into().ok()?;
        let magic = [head[0], head[1], head[2], head[3]];
        let (big_endian, magic) = match magic {
            [0xa1, ..] => (true, u32::from_be_bytes(magic)),
            _ => (false, u32::from_le_bytes(magic)),
        };
        let (ns_per_fraction, record_header) = match magic {
            0xa1b2_c3d4 => (1000, RECORD),
            0xa1b2_3c4d => (1, RECORD),
            0xa1b2_cd34 => (1000, RECORD + 8),
            _ => return None,
        };
        // The upper half of the field holds the length of a frame check sequence, not the type.
        let link = if big_endian { [head[22], head[23]] } else { [head[21], head[20]] };
        Some(Self { big_endian, ns_per_fraction, record_header, link: u16::from_be_bytes(link), last: 0 })
    }

    /// Seconds, fraction, captured length and length of a record.
    #[inline]
    fn words(&self, head: &[u8; RECORD]) -> [u32; 4] {
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let words = [word(0), word(4), word(8), word(12)];
        if self.big_endian { words.map(u32::swap_bytes) } else { words }
    }

    /// The next record, if all of it is at hand.
    #[inline]
    pub(super) fn at_hand<R: Read>(&mut self, window: &mut Window<R>) -> Option<Place> {
        let rest = window.rest().get(self.last..)?;
        let head: &[u8; RECORD] = rest.first_chunk()?;
        let [seconds, fraction, kept, wire_len] = self.words(head);
        let (at, len) = (self.record_header, kept as usize);
        if len > LONGEST_FRAME || rest.len() < at + len {
            return None;
        }
        window.advance(self.last);
        self.last = at + len;
        let (time_ns, link, wire_len) = (self.time(seconds, fraction), self.link, wire_len.max(kept));
        Some(Place { at, len, time_ns, link, wire_len, dropped: false, interface: None })
    }

    /// The next records, as long as all of each is at hand; none is passed until [`Self::pass`] is told.
    #[inline]
    pub(super) fn records<'a, R: Read>(&self, window: &'a Window<R>) -> Records<'a> {
        Records { format: *self, rest: window.rest(), passed: 0 }
    }

    /// Pass records that were handed on.
    pub(super) fn pass<R: Read>(&mut self, window: &mut Window<R>, (passed, last): (usize, usize)) {
        window.advance(passed);
        self.last = last;
    }

    #[inline]
    fn time(&self, seconds: u32, fraction: u32) -> i64 {
        i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.ns_per_fraction
    }

    /// Go to the next record.
    pub(super) fn step<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Step> {
        window.advance(self.last);
        self.last = 0;
        if !window.fill(self.record_header)? {
            return Ok(match window.filled() {
                0 => Step::End,
                got => Step::Damaged { what: format!("stops {got} bytes into its header"), cut_short: true },
            });
        }
        let mut head = [0; RECORD];
        head.copy_from_slice(window.slice(0, RECORD));
        let [seconds, fraction, len, wire_len] = self.words(&head);
        let size = len as usize;
        if size > LONGEST_FRAME {
            let what = format!("claims {len} captured bytes, more than any frame has ({LONGEST_FRAME})");
            return Ok(Step::Damaged { what, cut_short: false });
        }
        if !window.fill(self.record_header + size)? {
            let got = window.filled() - self.record_header;
            return Ok(Step::Damaged { what: format!("stops {got} bytes into its data"), cut_short: true });
        }
        self.last = self.record_header + size;
        let time_ns = self.time(seconds, fraction);
        let (at, link, wire_len) = (self.record_header, self.link, wire_len.max(len));
        Ok(Step::Frame(Place { at, len: size, time_ns, link, wire_len, dropped: false, interface: None }))
    }
}
