//! Which frames of a sample of speech a call carries.
//!
//! A short call begins where the speech does; a long one repeats the sample and is scored in pieces of about its
//! length, as PESQ is made for.

use std::ops::Range;

/// Frames of 20 ms of a sample where none is at hand: 8 s.
pub const FRAMES: usize = 400;

/// What a call of some frames carries: for each of them the frame of the sample, and the pieces that are scored alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Frames of the sample.
    pub frames: Vec<usize>,
    /// Ranges of frames of the call.
    pub pieces: Vec<Range<usize>>,
}

/// What a call of `count` frames carries of a sample, given where somebody speaks in it; of none if it is empty.
pub fn carried(count: usize, talk: &[bool]) -> Carried {
    let size = if talk.is_empty() { FRAMES } else { talk.len() };
    let whole = ((count as f64 / size as f64).round_ties_even() as usize).max(1);
    let pieces: Vec<_> = (0..whole).map(|i| count * i / whole..count * (i + 1) / whole).collect();
    let begins = talk.iter().position(|talk| *talk).unwrap_or(0);
    let start = if count < size && !talk.is_empty() { begins.min(size - count) } else { 0 };
    let frames = pieces.iter().flat_map(|piece| (0..piece.len()).map(|i| (start + i) % size)).collect();
    Carried { frames, pieces }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_call_begins_where_the_speech_does() {
        let talk: Vec<_> = (0..10).map(|i| i >= 4).collect();
        assert_eq!(carried(3, &talk).frames, [4, 5, 6]);
        assert_eq!(carried(8, &talk).frames, [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(carried(3, &[]).frames, [0, 1, 2]);
        assert_eq!(carried(3, &[false; 10]).frames, [0, 1, 2]);
    }

    #[test]
    fn a_long_call_repeats_the_sample_from_its_beginning_in_every_piece() {
        let found = carried(25, &[true; 10]);
        assert_eq!(found.pieces, [0..12, 12..25], "2.5 samples are two pieces: half to even");
        assert_eq!(found.frames[10..14], [0, 1, 0, 1]);
        assert_eq!(carried(900, &[]).pieces, [0..450, 450..900]);
    }
}
