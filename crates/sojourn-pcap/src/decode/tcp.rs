//! TCP headers (RFC 9293) and the timestamps option (RFC 7323).

use super::bytes::be32;
use super::skip::Skip;

/// FIN flag.
pub const FIN: u8 = 1;
/// SYN flag.
pub const SYN: u8 = 2;
/// RST flag.
pub const RST: u8 = 4;
/// ACK flag.
pub const ACK: u8 = 16;

/// What is used of a TCP header.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Cumulative acknowledgement.
    pub ack: u32,
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// Flags.
    pub flags: u8,
    /// The options could not be read to their end.
    pub options_cut: bool,
    /// Which of the two that follow are there: two `Option`s would take half a line of the cache.
    there: u8,
    stamps: (u32, u32),
    sack: (u32, u32),
}

impl Segment {
    /// One without options.
    #[inline(always)]
    pub(crate) fn new([seq, ack]: [u32; 2], flags: u8, payload: u32) -> Self {
        Self { seq, ack, payload, flags, options_cut: false, there: 0, stamps: (0, 0), sack: (0, 0) }
    }

    /// One with these options: TSval and TSecr, and the first block of selective acknowledgements.
    #[inline(always)]
    pub(crate) fn with(mut self, stamps: Option<(u32, u32)>, sack: Option<(u32, u32)>) -> Self {
        self.there = u8::from(stamps.is_some()) | u8::from(sack.is_some()) << 1;
        (self.stamps, self.sack) = (stamps.unwrap_or_default(), sack.unwrap_or_default());
        self
    }

    /// TSval and TSecr.
    #[inline]
    pub fn stamps(&self) -> Option<(u32, u32)> {
        (self.there & 1 != 0).then_some(self.stamps)
    }

    /// First block of selective acknowledgements: what arrived last, beyond a hole (RFC 2018 §4).
    #[inline]
    pub fn sack(&self) -> Option<(u32, u32)> {
        (self.there & 2 != 0).then_some(self.sack)
    }

    /// Sequence number after this segment; SYN and FIN count.
    #[inline]
    pub fn end(&self) -> u32 {
        self.seq.wrapping_add(self.payload + u32::from(self.flags & SYN != 0) + u32::from(self.flags & FIN != 0))
    }

    /// Whether it takes up sequence space.
    #[inline]
    pub fn occupies(&self) -> bool {
        self.payload > 0 || self.flags & (SYN | FIN) != 0
    }
}

#[inline(always)]
pub(super) fn segment(data: &[u8], length: u32) -> Result<Segment, Skip> {
    if data.len() < 20 {
        return Err(Skip::CutShort);
    }
    let header = usize::from(data[12] >> 4) * 4;
    if header < 20 {
        return Err(Skip::Malformed);
    }
    let payload = length.checked_sub(header as u32).ok_or(Skip::Malformed)?;
    let options = &data[20..header.min(data.len())];
    let (stamps, options_cut) = timestamps(options, header > data.len());
    let sack = sack(options);
    let segment = Segment::new([be32(data, 4), be32(data, 8)], data[13], payload);
    Ok(Segment { options_cut, ..segment }.with(stamps, sack))
}

#[inline(always)]
fn timestamps(options: &[u8], cut: bool) -> (Option<(u32, u32)>, bool) {
    // The order that RFC 7323's appendix A recommends and nearly all segments have.
    if options.len() >= 12 && options[..4] == [1, 1, 8, 10] {
        return (Some((be32(options, 4), be32(options, 8))), false);
    }
    let mut rest = options;
    loop {
        match rest {
            [] => return (None, cut),
            [0, ..] => return (None, false),
            [1, ..] => rest = &rest[1..],
            [8, 10, ..] if rest.len() >= 10 => return (Some((be32(rest, 2), be32(rest, 6))), false),
            [_, length, ..] if *length >= 2 && usize::from(*length) <= rest.len() => {
                rest = &rest[usize::from(*length)..]
            }
            _ => return (None, cut),
        }
    }
}

/// The first block of selective acknowledgements, where it follows the timestamps as all stacks in use place it.
#[inline(always)]
pub(super) fn sack(options: &[u8]) -> Option<(u32, u32)> {
    match options {
        [1, 1, 8, 10, _, _, _, _, _, _, _, _, 1, 1, 5, length, ..] if *length >= 10 && options.len() >= 24 => {
            Some((be32(options, 16), be32(options, 20)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with these flags and options, and 7 bytes of payload.
    fn of(flags: u8, options: &[u8]) -> Segment {
        let mut data = vec![0, 1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 3, (5 + options.len() as u8 / 4) << 4, flags];
        data.extend([0; 6]);
        data.extend(options);
        segment(&data, data.len() as u32 + 7).unwrap()
    }

    #[test]
    fn syn_and_fin_take_up_sequence_space_like_a_byte() {
        for (flags, end) in [(0x10, 6), (SYN, 7), (FIN | 0x10, 7), (SYN | FIN, 8), (0x3c, 6)] {
            assert_eq!(of(flags, &[]).end(), end, "{flags:#x}");
            let bare = Segment { payload: 0, ..of(flags, &[]) };
            assert_eq!((bare.end(), bare.occupies()), (end.wrapping_sub(7), end > 6), "{flags:#x}");
            assert!(of(flags, &[]).occupies());
        }
    }

    #[test]
    fn timestamps_are_found_wherever_the_option_stands() {
        let stamps = [8, 10, 0, 0, 1, 0, 0, 0, 0, 9];
        let before: [&[u8]; 4] = [&[1, 1], &[], &[2, 4, 5, 0xb4], &[3, 3, 7, 1, 4, 2]];
        for before in before {
            let mut options = [before, &stamps].concat();
            options.resize(options.len().next_multiple_of(4), 0);
            let found = of(0x10, &options);
            assert_eq!((found.stamps(), found.options_cut), (Some((256, 9)), false), "{before:?}");
        }
        // Behind the end of the list, or with a length that leads beyond it, is none.
        for before in [[0, 0], [2, 99], [2, 1]] {
            let options = [&before[..], &stamps].concat();
            assert_eq!(of(0x10, &options).stamps(), None, "{before:?}");
        }
    }
}
