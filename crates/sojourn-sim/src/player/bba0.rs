//! BBA-0: the rate as a fixed function of the buffer.
//!
//! Source: T.-Y. Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014, algorithm 1: reservoir 90
//! s, cushion 126 s, the line ends at 90 % of a buffer of 240 s. For other buffers the reservoir is 37.5 % (at least
//! one segment) and the end 90 %, as GPAC scales them.

use super::clip::Clip;
use super::rule::{Choice, Player, Segment, State};

/// Where the line from the lowest to the highest rate ends, as a share of the buffer.
pub(super) const END: f64 = 0.9;
const RESERVOIR: f64 = 0.375;

/// A BBA-0 player.
#[derive(Clone, Debug)]
pub(super) struct Bba0 {
    reservoir_s: f64,
    end_s: f64,
}

impl Bba0 {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        Self { reservoir_s: (RESERVOIR * limit_s).max(clip.segment_s()), end_s: END * limit_s }
    }
}

/// The rule that all of the family share: stay at level `last` while the line's value `f` lies between the `values`
/// (rates or sizes) of the next lower and the next higher level; beyond, go to the level whose value the line has
/// passed.
pub(super) fn across<T: Copy + Into<f64>>(f: f64, values: &[T], last: usize) -> usize {
    let value = |level: usize| values[level].into();
    let (up, down) = ((last + 1).min(values.len() - 1), last.saturating_sub(1));
    if f >= value(up) {
        (0..values.len()).rev().find(|level| value(*level) < f).unwrap_or(last)
    } else if f <= value(down) {
        (0..values.len()).find(|level| value(*level) > f).unwrap_or(last)
    } else {
        last
    }
}

impl Player for Bba0 {
    fn segment_done(&mut self, _: &Segment) {}

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let rates = state.clip.rates_kbps();
        let (lowest, highest) = (rates[0], rates[rates.len() - 1]);
        Choice::at_once(if state.buffer_s <= self.reservoir_s {
            0
        } else if state.buffer_s >= self.end_s {
            rates.len() - 1
        } else {
            let share = (state.buffer_s - self.reservoir_s) / (self.end_s - self.reservoir_s);
            across(lowest + (highest - lowest) * share, rates, state.last.unwrap_or(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_until_the_line_has_passed_a_neighbour() {
        let rates = [100.0, 200.0, 400.0, 800.0];
        let found = [199.0, 200.0, 399.0, 401.0, 900.0].map(|f| across(f, &rates, 0));
        assert_eq!(found, [0, 0, 1, 2, 3]);
        let found = [799.0, 401.0, 400.0, 199.0, 100.0, 50.0].map(|f| across(f, &rates, 3));
        assert_eq!(found, [3, 3, 3, 1, 1, 0]);
    }

    #[test]
    fn the_ends_of_the_line_are_the_paper_s() {
        let clip = crate::player::shipped("bbb-x264-4s").unwrap();
        let ends = |limit| Bba0::new(&clip, limit).end_s;
        assert_eq!((Bba0::new(&clip, 240.0).reservoir_s, ends(240.0)), (90.0, 216.0));
        assert_eq!((Bba0::new(&clip, 60.0).reservoir_s, ends(60.0)), (22.5, 54.0));
        assert_eq!(Bba0::new(&clip, 8.0).reservoir_s, 4.0);
    }
}
