//! BOLA-E: BOLA with a placeholder that stands for buffer that is not there.
//!
//! Source: K. Spiteri, R. Sitaraman, D. Sparacio, "From Theory to Practice: Improving Bitrate Adaptation in the DASH
//! Reference Player", MMSys 2018 (BOLA-E of dash.js 2.x), in the form of their simulator sabre, whose decisions these
//! are. The placeholder begins with what the throughput's level asks for, grows while a full buffer is waited for, and
//! is kept between what the chosen level needs and what it allows. A level above what the throughput carries is capped
//! one above it; the insufficient-buffer rule comes last.
//!
//! After a stall, buffer and placeholder may add up to exactly what a level needs, and rounding decides: times are in
//! milliseconds here, and sums in sabre's order.

use super::bola::{best, utilities};
use super::clip::Clip;
use super::estimate::Ewma;
use super::rule::{Choice, Player, Segment, State};
use super::throughput::{BufferRule, sustainable};

/// Least buffer that the levels are spread over, and more of it for each level.
const LEAST_BUFFER_MS: f64 = 10_000.0;
const LEAST_BUFFER_PER_LEVEL_MS: f64 = 2_000.0;

/// A BOLA-E player.
#[derive(Clone, Debug)]
pub(super) struct BolaE {
    rates: Vec<f64>,
    utilities: Vec<f64>,
    vp: f64,
    gp: f64,
    estimate: Ewma,
    rule: BufferRule,
    placeholder_ms: f64,
    last: usize,
    starting: bool,
}

impl BolaE {
    pub(super) fn new(clip: &Clip, limit_s: f64) -> Self {
        let utilities = utilities(clip, 1.0);
        let buffer = (limit_s * 1e3).max(LEAST_BUFFER_MS + LEAST_BUFFER_PER_LEVEL_MS * clip.levels() as f64);
        // With a single level there is nothing to weigh; any positive number does.
        let span = (utilities[clip.levels() - 1] - 1.0).max(f64::MIN_POSITIVE);
        let gp = span / (buffer / LEAST_BUFFER_MS - 1.0);
        Self {
            rates: clip.rates_kbps().to_vec(),
            utilities,
            vp: LEAST_BUFFER_MS / gp,
            gp,
            estimate: Ewma::new(clip.segment_s()),
            rule: BufferRule::new(),
            placeholder_ms: 0.0,
            last: 0,
            starting: true,
        }
    }

    /// Least buffer at which BOLA prefers this level to all lower ones.
    fn least_buffer_ms(&self, level: usize) -> f64 {
        let (rate, utility) = (self.rates[level], self.utilities[level]);
        let over = |i: usize| (rate * self.utilities[i] - self.rates[i] * utility) / (rate - self.rates[i]);
        (0..level).map(|i| self.vp * (self.gp + over(i))).fold(0.0, f64::max)
    }

    /// Greatest buffer at which BOLA wants this level at all.
    fn greatest_buffer_ms(&self, level: usize) -> f64 {
        self.vp * (self.utilities[level] + self.gp)
    }

    /// A full buffer was waited for.
    pub(super) fn waited(&mut self, seconds: f64) {
        self.placeholder_ms += seconds * 1e3;
    }

    /// The choice, when waits have been told of.
    pub(super) fn decide(&mut self, state: &State<'_>) -> Choice {
        let Some(kbps) = self.estimate.kbps() else { return Choice::at_once(self.last) };
        let (clip, latency_s, buffer_ms) = (state.clip, self.estimate.latency_s(), state.buffer_s * 1e3);
        let carried = sustainable(clip, kbps, latency_s);
        if self.starting {
            self.starting = false;
            self.placeholder_ms = (self.least_buffer_ms(carried) - buffer_ms).max(0.0);
            return Choice::at_once(carried);
        }
        let mut level = best(clip, &self.utilities, self.vp, self.gp, buffer_ms + self.placeholder_ms);
        if level > self.last && level > carried {
            level = self.last.max(carried) + 1;
        }
        let mut wait_ms = (buffer_ms + self.placeholder_ms - self.greatest_buffer_ms(level)).max(0.0);
        let from_placeholder = wait_ms.min(self.placeholder_ms);
        self.placeholder_ms -= from_placeholder;
        wait_ms -= from_placeholder;
        if level == clip.levels() - 1 {
            wait_ms = 0.0;
        }
        let allowed = self.rule.at_most(level, state, kbps, latency_s);
        if allowed < level {
            level = allowed;
            wait_ms = 0.0;
            self.placeholder_ms = self.placeholder_ms.min((self.least_buffer_ms(level) - buffer_ms).max(0.0));
        }
        Choice { level, wait_s: wait_ms * 1e-3 }
    }
}

impl Player for BolaE {
    fn segment_done(&mut self, segment: &Segment) {
        self.last = segment.level;
        let before = segment.buffer_s * 1e3 + segment.download_s() * 1e3;
        let most = (self.greatest_buffer_ms(self.last) - before).max(0.0);
        self.placeholder_ms = self.placeholder_ms.min(most).max(self.least_buffer_ms(self.last) - before);
        self.estimate.segment_done(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        self.waited(state.waited_s);
        self.decide(state)
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.estimate.kbps()
    }
}
