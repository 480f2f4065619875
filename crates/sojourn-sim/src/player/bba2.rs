//! BBA-2: BBA-1 with a start-up phase that goes by how fast the buffer fills.
//!
//! Source: T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014. While starting up, the
//! level rises by one when the last segment came 8 times (empty buffer) to 2 times (full cushion) faster than it plays;
//! start-up ends for good when the buffer decreases or the map of BBA-1 suggests a higher level. Outage protection
//! begins after it.
//!
//! Reading: the threshold falls linearly in the buffer from empty to the end of the line.

use super::bba1::ChunkMap;
use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};

/// Growth of the buffer per segment, in segments, that allows a step up: with an empty buffer, and how much less with a
/// full one.
const GROWTH: (f64, f64) = (0.875, 0.375);

/// A BBA-2 player.
#[derive(Clone, Debug)]
pub(super) struct Bba2 {
    pub(super) map: ChunkMap,
    starting: bool,
    /// How much the buffer gained by the last segment.
    gain_s: f64,
}

impl Bba2 {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        Self { map: ChunkMap::new(clip, limit_s), starting: true, gain_s: 0.0 }
    }

    /// The level, and whether it is the map's.
    pub(super) fn level(&mut self, state: &State<'_>, reservoir_s: f64) -> (usize, bool) {
        let Some(last) = state.last else { return (0, false) };
        let sizes = state.clip.sizes_of(state.segment);
        let by_map = self.map.level(sizes, state.buffer_s, reservoir_s, last);
        if self.starting {
            let segment_s = state.clip.segment_s();
            let needed = GROWTH.0 - GROWTH.1 * (state.buffer_s / self.map.end_s()).min(1.0);
            let step = usize::from(self.gain_s > needed * segment_s);
            let level = (last + step).min(sizes.len() - 1);
            if self.gain_s >= 0.0 && by_map <= level {
                return (level, false);
            }
            self.starting = false;
        }
        (by_map, true)
    }
}

impl Player for Bba2 {
    fn segment_done(&mut self, segment: &Segment) {
        self.gain_s = self.map.gain_s(segment);
        if !self.starting {
            self.map.protect(segment);
        }
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let reservoir = self.map.reservoir_s(state);
        Choice::at_once(self.level(state, reservoir).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{Link, Period, Session, Settings, play, shipped};
    use std::rc::Rc;

    #[test]
    fn it_climbs_one_level_a_segment_on_a_fast_link() {
        let rates = vec![235.0, 380.0, 568.0, 760.0, 1065.0, 1777.0, 2387.0, 3046.0, 3906.0, 4361.0];
        let clip = Rc::new(shipped("bbb-x264-4s").unwrap().with_rates(rates).unwrap());
        let settings = Settings { buffer_s: 240.0, initial_s: 12.0, resume_s: 4.0 };
        let player = Box::new(Bba2::new(&clip, 240.0));
        let mut session = Session::new(clip, player, settings).unwrap();
        let period = Period { duration_s: f64::INFINITY, rate_kbps: 20_000.0, latency_s: 0.04 };
        play(&mut session, &mut Link::new(vec![period]).unwrap());
        let levels: Vec<_> = session.rows()[..11].iter().map(|row| row.segment.level + 1).collect();
        assert_eq!(levels, [1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10]);
    }
}
