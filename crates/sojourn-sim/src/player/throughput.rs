//! The throughput rule of dash.js and sabre: the highest level that 90 % of the estimate carries, unless the buffer
//! cannot bear it.
//!
//! Source: K. Spiteri, R. Sitaraman, D. Sparacio, "From Theory to Practice: Improving Bitrate Adaptation in the DASH
//! Reference Player", MMSys 2018, and the behaviour of their simulator sabre. Downloads are never given up here.

use super::clip::Clip;
use super::estimate::Ewma;
use super::rule::{Choice, Player, Segment, State};

/// Share of the estimate that is counted on.
const SAFETY: f64 = 0.9;
/// The insufficient-buffer rule counts on this share of the estimate at first, then less by the same factor down to the
/// second.
const BUFFER_SAFETY: (f64, f64) = (0.9, 0.5);

/// The highest level whose nominal size arrives within its own duration at this throughput, latency included.
pub(super) fn sustainable(clip: &Clip, kbps: f64, latency_s: f64) -> usize {
    let segment_s = clip.segment_s();
    let arrives = |rate: &&f64| latency_s + segment_s * **rate / kbps <= segment_s;
    clip.rates_kbps()[1..].iter().take_while(arrives).count()
}

/// The insufficient-buffer rule: a level whose next segment should be there before the buffer is empty.
#[derive(Clone, Debug)]
pub(super) struct BufferRule {
    safety: f64,
}

impl BufferRule {
    pub(super) fn new() -> Self {
        Self { safety: BUFFER_SAFETY.0 }
    }

    /// `level`, or the lower one that the rule allows.
    pub(super) fn at_most(&mut self, level: usize, state: &State<'_>, kbps: f64, latency_s: f64) -> usize {
        let safe_kbit = self.safety * (state.buffer_s - latency_s) * kbps;
        self.safety = (self.safety * BUFFER_SAFETY.0).max(BUFFER_SAFETY.1);
        let rates = state.clip.rates_kbps();
        let segment_s = state.clip.segment_s();
        (0..level).find(|q| rates[q + 1] * segment_s > safe_kbit).unwrap_or(level)
    }
}

/// A player that follows the throughput.
#[derive(Clone, Debug)]
pub(super) struct Throughput {
    estimate: Ewma,
    rule: BufferRule,
}

impl Throughput {
    pub(super) fn new(clip: &Clip) -> Self {
        Self { estimate: Ewma::new(clip.segment_s()), rule: BufferRule::new() }
    }
}

impl Player for Throughput {
    fn segment_done(&mut self, segment: &Segment) {
        self.estimate.segment_done(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let Some(kbps) = self.estimate.kbps() else { return Choice::at_once(0) };
        let latency_s = self.estimate.latency_s();
        let level = sustainable(state.clip, kbps * SAFETY, latency_s);
        Choice::at_once(self.rule.at_most(level, state, kbps, latency_s))
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.estimate.kbps()
    }
}
