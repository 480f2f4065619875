//! Shaka Player with its defaults: the highest level that 95 % of the throughput carries, changed at most every 8
//! s.
//!
//! Source: `lib/abr/simple_abr_manager.js`, `ewma_bandwidth_estimator.js` and the configuration of Shaka Player
//! 5.2. The throughput is the lower of two averages with half-lives of 2 and 5 s of download time, round trips
//! included; 1 Mbit/s until 128 kB have come. It asks for more while less than 10 s are in. Its factor of 0.85 for
//! steps up bounds from above which rates a level is for, and never decides: the next level is taken at 0.95
//! already.
//!
//! Differences: a segment is one sample, where Shaka takes one for each 16 kB and leaves out what came in less than
//! 5 ms; no hint of the rate by the browser; dropped frames and the size of the screen do not matter.

use super::estimate::HalfLife;
use super::rule::{Choice, Player, Segment, State};

const HALF_LIVES_S: (f64, f64) = (2.0, 5.0);
/// Share of the throughput that a level may take.
const DOWNGRADE_TARGET: f64 = 0.95;
const FIRST_KBPS: f64 = 1000.0;
/// Bytes of the smallest sample, and of all before the average counts.
const LEAST_BYTES: (u64, u64) = (16_000, 128_000);
const SWITCH_INTERVAL_S: f64 = 8.0;
const BUFFERING_GOAL_S: f64 = 10.0;

/// A player.
#[derive(Clone, Debug)]
pub(super) struct Shaka {
    fast: HalfLife,
    slow: HalfLife,
    bytes: u64,
    /// When the level was last chosen, from the second time on.
    chosen_s: Option<f64>,
    /// To be chosen again, and the throughput by which.
    due: Option<f64>,
    level: usize,
}

impl Shaka {
    pub(super) fn new() -> Self {
        Self {
            fast: HalfLife::new(HALF_LIVES_S.0),
            slow: HalfLife::new(HALF_LIVES_S.1),
            bytes: 0,
            chosen_s: None,
            due: Some(FIRST_KBPS),
            level: 0,
        }
    }

    fn kbps(&self) -> f64 {
        let known = self.fast.value().zip(self.slow.value()).filter(|_| self.bytes >= LEAST_BYTES.1);
        known.map_or(FIRST_KBPS, |(fast, slow)| fast.min(slow))
    }
}

impl Player for Shaka {
    fn segment_done(&mut self, segment: &Segment) {
        if segment.bytes >= LEAST_BYTES.0 {
            self.bytes += segment.bytes;
            for average in [&mut self.fast, &mut self.slow] {
                average.sample(segment.download_s(), segment.throughput_kbps());
            }
        }
        let over = self.chosen_s.is_none_or(|chosen| segment.arrive_s - chosen >= SWITCH_INTERVAL_S);
        if over && self.bytes >= LEAST_BYTES.1 {
            self.chosen_s = Some(segment.arrive_s);
            self.due = Some(self.kbps());
        }
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        if let Some(kbps) = self.due.take() {
            let carried = |rate: &f64| *rate / DOWNGRADE_TARGET <= kbps;
            self.level = state.clip.rates_kbps().iter().rposition(carried).unwrap_or(0);
        }
        Choice::at_once(self.level)
    }

    fn enough_s(&self) -> f64 {
        BUFFERING_GOAL_S
    }

    fn estimate_kbps(&self) -> Option<f64> {
        Some(self.kbps())
    }
}
