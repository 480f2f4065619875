//! BBA-1: the size of the next segment as a function of the buffer, over a reservoir that follows the clip.
//!
//! Source: T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014. The reservoir is what the
//! buffer would lose over the next two buffers of segments if the link carried exactly the lowest rate, within 8 and
//! 140 s, and grows by 0.4 s (outage protection, up to 80 s) with every segment that fills a buffer below 75 %.
//!
//! The paper speaks of a buffer of 240 s only: 140 and 80 s are scaled with the buffer. Readings: the lowest rate is
//! the clip's own mean at the lowest level; the window of the reservoir is cut at the end of the clip; outage
//! protection looks at the buffer with the new segment; the reservoir ends one segment below the end of the line.

use super::bba0::{END, across};
use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};

/// Buffer for which the paper gives its constants.
const PAPER_S: f64 = 240.0;
const LEAST_RESERVOIR_S: f64 = 8.0;
const MOST_RESERVOIR_S: f64 = 140.0;
const PROTECTION_S: f64 = 0.4;
const MOST_PROTECTION_S: f64 = 80.0;
const PROTECT_BELOW: f64 = 0.75;

/// The line from the mean size of a segment at the lowest level to that at the highest, over the buffer.
#[derive(Clone, Debug)]
pub(super) struct ChunkMap {
    limit_s: f64,
    segment_s: f64,
    least: f64,
    greatest: f64,
    protection_s: f64,
}

impl ChunkMap {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        Self {
            limit_s,
            segment_s: clip.segment_s(),
            least: clip.mean_size(0),
            greatest: clip.mean_size(clip.levels() - 1),
            protection_s: 0.0,
        }
    }

    /// Where the line ends.
    pub(super) fn end_s(&self) -> f64 {
        END * self.limit_s
    }

    /// What the buffer would lose from this segment on at the lowest rate, without protection and bounds.
    fn net_s(&self, clip: &Clip, segment: usize) -> f64 {
        let window = (2.0 * self.limit_s / self.segment_s) as usize;
        let until = (segment + window).min(clip.len());
        let relative = |k: usize| clip.sizes_of(k)[0] as f64 / self.least - 1.0;
        (segment..until).map(relative).sum::<f64>() * self.segment_s
    }

    pub(super) fn reservoir_s(&self, state: &State<'_>) -> f64 {
        let most = (MOST_RESERVOIR_S * self.limit_s / PAPER_S).max(LEAST_RESERVOIR_S);
        let net = self.net_s(state.clip, state.segment).clamp(LEAST_RESERVOIR_S, most);
        (net + self.protection_s).min(self.end_s() - self.segment_s)
    }

    /// The line's value, in bytes.
    pub(super) fn line(&self, buffer_s: f64, reservoir_s: f64) -> f64 {
        let share = (buffer_s - reservoir_s) / (self.end_s() - reservoir_s);
        self.least + (self.greatest - self.least) * share
    }

    /// The level for a segment, coming from level `last`.
    pub(super) fn level(&self, sizes: &[u64], buffer_s: f64, reservoir_s: f64, last: usize) -> usize {
        if buffer_s <= reservoir_s {
            0
        } else if buffer_s >= self.end_s() {
            sizes.len() - 1
        } else {
            across_sizes(self.line(buffer_s, reservoir_s), sizes, last)
        }
    }

    /// How much the buffer gained by a segment.
    pub(super) fn gain_s(&self, segment: &Segment) -> f64 {
        self.segment_s - segment.download_s()
    }

    /// Outage protection.
    pub(super) fn protect(&mut self, segment: &Segment) {
        if self.gain_s(segment) > 0.0 && segment.buffer_s < PROTECT_BELOW * self.limit_s {
            let most = MOST_PROTECTION_S * self.limit_s / PAPER_S;
            self.protection_s = (self.protection_s + PROTECTION_S).min(most);
        }
    }
}

/// [`across`] for sizes; there are at most 100 levels.
fn across_sizes(f: f64, sizes: &[u64], last: usize) -> usize {
    let mut values = [0.0; 100];
    for (value, size) in values.iter_mut().zip(sizes) {
        *value = *size as f64;
    }
    across(f, &values[..sizes.len()], last)
}

/// A BBA-1 player.
#[derive(Clone, Debug)]
pub(super) struct Bba1 {
    map: ChunkMap,
}

impl Bba1 {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        Self { map: ChunkMap::new(clip, limit_s) }
    }
}

impl Player for Bba1 {
    fn segment_done(&mut self, segment: &Segment) {
        self.map.protect(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let reservoir = self.map.reservoir_s(state);
        let sizes = state.clip.sizes_of(state.segment);
        Choice::at_once(self.map.level(sizes, state.buffer_s, reservoir, state.last.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::shipped;

    #[test]
    fn the_reservoir_is_the_net_sum_over_two_buffers() {
        let clip = shipped("bbb-x264-4s").unwrap();
        let nets = |limit| {
            let map = ChunkMap::new(&clip, limit);
            [0, 30, 60, 90, 120].map(|k| (map.net_s(&clip, k) * 10.0).round() / 10.0)
        };
        assert_eq!(nets(60.0), [1.8, 2.8, 15.3, -6.2, -13.7]);
        assert_eq!(nets(240.0), [13.7, -1.8, -4.6, -19.9, -13.7]);
        assert_eq!(nets(640.0).map(|net| net + 0.0), [0.0, -1.8, -4.6, -19.9, -13.7]);
    }

    #[test]
    fn protection_grows_while_the_buffer_does() {
        let clip = shipped("bbb-x264-4s").unwrap();
        let mut map = ChunkMap::new(&clip, 60.0);
        let mut segment =
            Segment { index: 0, level: 0, bytes: 1, request_s: 0.0, first_byte_s: 0.1, arrive_s: 3.9, buffer_s: 20.0 };
        for _ in 0..100 {
            map.protect(&segment);
        }
        assert_eq!(map.protection_s, 20.0);
        let mut map = ChunkMap::new(&clip, 60.0);
        segment.buffer_s = 45.0;
        map.protect(&segment);
        (segment.buffer_s, segment.arrive_s) = (20.0, 4.0);
        map.protect(&segment);
        assert_eq!(map.protection_s, 0.0);
    }
}
