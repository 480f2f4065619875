//! RobustMPC: the best plan for the next five segments under a cautious prediction.
//!
//! Source: X. Yin, A. Jindal, V. Sekar, B. Sinopoli, "A Control-Theoretic Approach for Dynamic Adaptive Video
//! Streaming over HTTP", SIGCOMM 2015, with the constants of the Pensieve authors' implementation: the prediction is
//! the harmonic mean of the last five throughputs over one plus the largest of the last five relative errors; a plan is
//! worth Σ R − 4.3 × stall − Σ |ΔR| (Mb/s, s).
//!
//! Exhaustive, but that branches are cut that cannot become the best. Of equal
//! plans the one with higher levels first is taken. The level of the first segment is the lowest.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::with_defaults;

use super::estimate::Window;
use super::range::{Wrong, count, within};
use super::rule::{Choice, Player, Segment, State};
use super::sample::Sample;

/// Samples of throughput, and of its errors.
const WINDOW: usize = 5;

with_defaults! {
    /// Options of RobustMPC.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
    pub struct MpcOptions {
        /// Segments to plan for, up to 6.
        pub horizon: u32 = 5,
        /// Divide the prediction by one plus its largest recent error.
        pub robust: bool = true,
        /// What a second of stalling costs, in Mb/s.
        pub stall_penalty: f64 = 4.3,
        /// What a switch costs, per Mb/s of difference.
        pub switch_penalty: f64 = 1.0,
        /// What a sample of throughput is.
        pub sample: Sample = Sample::Request,
    }
}

impl MpcOptions {
    /// Checks ranges: the key and a sentence.
    pub(super) fn check(&self) -> Wrong {
        count("horizon", self.horizon, 6)?;
        within("stall-penalty", self.stall_penalty, -1e-9, 1e6)?;
        within("switch-penalty", self.switch_penalty, -1e-9, 1e6)
    }
}

/// A RobustMPC player.
#[derive(Clone, Debug)]
pub(super) struct RobustMpc {
    options: MpcOptions,
    throughputs: Window,
    errors: Window,
    /// The harmonic mean at the last choice, which the next sample is held against.
    expected: Option<f64>,
    predicted: Option<f64>,
}

/// A plan as far as it goes: its first level and its last, what is buffered then, and what it is worth.
#[derive(Clone, Copy)]
struct Plan {
    first: Option<usize>,
    last: usize,
    buffer_s: f64,
    worth: f64,
}

/// The best plan found so far: its worth, and its first level.
struct Best {
    worth: f64,
    first: usize,
}

impl RobustMpc {
    pub(super) fn new(options: MpcOptions) -> Self {
        let (throughputs, errors) = (Window::new(WINDOW), Window::new(WINDOW));
        Self { options, throughputs, errors, expected: None, predicted: None }
    }

    /// Goes through all that may follow a plan with the segments that are left.
    fn search(&self, state: &State<'_>, kbps: f64, left: Range<usize>, plan: Plan, best: &mut Best) {
        let rates = state.clip.rates_kbps();
        for level in (0..rates.len()).rev() {
            let download_s = state.clip.sizes_of(left.start)[level] as f64 * 8e-3 / kbps;
            let stall_s = (download_s - plan.buffer_s).max(0.0);
            let buffer_s = (plan.buffer_s - download_s).max(0.0) + state.clip.segment_s();
            let rate = rates[level] * 1e-3;
            let change = (rate - rates[plan.last] * 1e-3).abs();
            let worth = plan.worth + rate - self.options.stall_penalty * stall_s - self.options.switch_penalty * change;
            let first = plan.first.unwrap_or(level);
            if left.len() == 1 {
                if worth > best.worth {
                    *best = Best { worth, first };
                }
                continue;
            }
            // At best, what follows rises to the top without a stall, at once or never.
            let (after, top) = ((left.len() - 1) as f64, rates[rates.len() - 1] * 1e-3);
            let bound = worth + after * top - self.options.switch_penalty.clamp(0.0, after) * (top - rate);
            if bound > best.worth {
                let plan = Plan { first: Some(first), last: level, buffer_s, worth };
                self.search(state, kbps, left.start + 1..left.end, plan, best);
            }
        }
    }
}

impl Player for RobustMpc {
    fn segment_done(&mut self, segment: &Segment) {
        let sample = self.options.sample.kbps(segment);
        if let Some(expected) = self.expected {
            self.errors.push((expected - sample).abs() / sample);
        }
        self.throughputs.push(sample);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let Some(last) = state.last.filter(|_| self.throughputs.len() > 0) else { return Choice::at_once(0) };
        let mean = self.throughputs.harmonic_mean();
        self.expected = Some(mean);
        let kbps = if self.options.robust { mean / (1.0 + self.errors.max()) } else { mean };
        self.predicted = Some(kbps);
        let horizon = (self.options.horizon as usize).min(state.clip.len() - state.segment);
        let mut best = Best { worth: f64::NEG_INFINITY, first: 0 };
        let plan = Plan { first: None, last, buffer_s: state.buffer_s, worth: 0.0 };
        self.search(state, kbps, state.segment..state.segment + horizon, plan, &mut best);
        Choice::at_once(best.first)
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.predicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::player::{Clip, shipped};

    /// Every plan, one after the other, without cutting anything.
    fn exhaustive(state: &State<'_>, kbps: f64, horizon: usize) -> usize {
        let levels = state.clip.levels();
        let rates = state.clip.rates_kbps();
        let mut best = (f64::NEG_INFINITY, 0);
        for code in (0..levels.pow(horizon as u32)).rev() {
            let plan: Vec<_> = (0..horizon).map(|i| code / levels.pow((horizon - 1 - i) as u32) % levels).collect();
            let (mut buffer, mut worth, mut last) = (state.buffer_s, 0.0, state.last.unwrap());
            for (i, level) in plan.iter().enumerate() {
                let download = state.clip.sizes_of(state.segment + i)[*level] as f64 * 8e-3 / kbps;
                worth -= 4.3 * (download - buffer).max(0.0);
                buffer = (buffer - download).max(0.0) + state.clip.segment_s();
                worth += rates[*level] * 1e-3 - (rates[*level] - rates[last]).abs() * 1e-3;
                last = *level;
            }
            if worth > best.0 + 1e-9 {
                best = (worth, plan[0]);
            }
        }
        best.1
    }

    #[test]
    fn cutting_branches_changes_nothing() {
        let clip: Clip = shipped("envivio-4s").unwrap();
        for (i, kbps) in [300.0, 900.0, 1500.0, 2500.0, 4000.0].into_iter().enumerate() {
            for (j, buffer_s) in [0.5, 4.0, 12.0, 40.0].into_iter().enumerate() {
                let last = (i + j) % clip.levels();
                let state = State {
                    clip: &clip,
                    segment: 3 * i + j,
                    now_s: 0.0,
                    arrived_s: 0.0,
                    waited_s: 0.0,
                    buffer_s,
                    limit_s: 60.0,
                    last: Some(last),
                };
                let player = RobustMpc::new(MpcOptions::default());
                let mut best = Best { worth: f64::NEG_INFINITY, first: 0 };
                let plan = Plan { first: None, last, buffer_s, worth: 0.0 };
                player.search(&state, kbps, state.segment..state.segment + 4, plan, &mut best);
                assert_eq!(best.first, exhaustive(&state, kbps, 4), "{kbps} kb/s, {buffer_s} s");
            }
        }
    }

    #[test]
    fn the_prediction_is_divided_by_one_plus_its_largest_recent_error() {
        let clip: Clip = shipped("envivio-4s").unwrap();
        for (robust, expected) in [(true, 4000.0 / 3.0 / 1.5), (false, 4000.0 / 3.0)] {
            let mut player = RobustMpc::new(MpcOptions { robust, ..MpcOptions::default() });
            for (index, seconds) in [8.0, 4.0].into_iter().enumerate() {
                let state = State {
                    clip: &clip,
                    segment: index,
                    now_s: 0.0,
                    arrived_s: 0.0,
                    waited_s: 0.0,
                    buffer_s: 8.0,
                    limit_s: 60.0,
                    last: (index > 0).then_some(0),
                };
                player.choose(&state);
                let (request_s, arrive_s, bytes) = (0.0, seconds, 1_000_000);
                player.segment_done(&Segment {
                    index,
                    level: 0,
                    bytes,
                    request_s,
                    first_byte_s: 1.0,
                    arrive_s,
                    buffer_s: 8.0,
                });
            }
            // 1000 kb/s, of which the second choice made its expectation, then 2000: an error of a half.
            let state = State {
                clip: &clip,
                segment: 2,
                now_s: 0.0,
                arrived_s: 0.0,
                waited_s: 0.0,
                buffer_s: 8.0,
                limit_s: 60.0,
                last: Some(0),
            };
            player.choose(&state);
            assert!((player.estimate_kbps().unwrap() - expected).abs() < 1e-9);
        }
    }
}
