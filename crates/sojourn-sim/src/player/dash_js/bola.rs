//! BOLA as dash.js 5 has it: BOLA-O with a placeholder that stands for buffer which is not there.
//!
//! Source: `src/streaming/rules/abr/BolaRule.js`. It begins with the level that the throughput carries; from the
//! second answer after a segment on it goes by the buffer and a placeholder, which grows by all time that no
//! download took, decays by 1 % a segment and is emptied where the buffer runs dry. A step up goes no further than
//! the throughput carries.

use super::super::bola::utilities;
use super::super::clip::Clip;
use super::super::rule::{Choice, Segment, State};

const LEAST_BUFFER_S: f64 = 10.0;
const LEAST_BUFFER_PER_LEVEL_S: f64 = 2.0;
const PLACEHOLDER_DECAY: f64 = 0.99;

/// The rule's state.
#[derive(Clone, Debug, Default)]
pub(super) struct Bola {
    rates: Vec<f64>,
    utilities: Vec<f64>,
    vp: f64,
    gp: f64,
    placeholder_s: f64,
    level: usize,
    /// A segment has come since the first answer.
    heard: bool,
    steady: bool,
}

impl Bola {
    /// `buffer_s`: seconds of buffer that are aimed at.
    pub(super) fn new(clip: &Clip, buffer_s: f64) -> Self {
        let utilities = utilities(clip, 1.0);
        let buffer_s = buffer_s.max(LEAST_BUFFER_S + LEAST_BUFFER_PER_LEVEL_S * clip.levels() as f64);
        let gp = (utilities[clip.levels() - 1] - 1.0) / (buffer_s / LEAST_BUFFER_S - 1.0);
        let rates = clip.rates_kbps().to_vec();
        Self { rates, utilities, vp: LEAST_BUFFER_S / gp, gp, ..Self::default() }
    }

    /// A segment has come, before which so much was in the buffer.
    pub(super) fn segment_done(&mut self, segment: &Segment, before_s: f64) {
        if self.steady && before_s <= super::STALL_S {
            self.placeholder_s = 0.0;
        }
        self.level = segment.level;
        self.heard = true;
        let at_request_s = before_s + segment.download_s();
        let most_s = (self.greatest_buffer_s(self.level) - at_request_s).max(0.0);
        self.placeholder_s = (PLACEHOLDER_DECAY * self.placeholder_s).min(most_s);
    }

    /// This level is fetched next, whichever rule decided.
    pub(super) fn takes(&mut self, level: usize) {
        self.level = level;
    }

    /// The level and the wait, where the throughput carries level `throughput`.
    pub(super) fn choose(&mut self, state: &State<'_>, throughput: usize) -> Choice {
        let buffer_s = state.buffer_s;
        if !self.steady {
            self.placeholder_s = (self.least_buffer_s(throughput) - buffer_s).max(0.0);
            self.level = throughput;
            self.steady = self.heard && buffer_s >= state.clip.segment_s();
            return Choice::at_once(throughput);
        }
        self.placeholder_s += state.now_s - state.arrived_s;
        let mut level = self.best(buffer_s + self.placeholder_s);
        if level > self.level && level > throughput {
            level = throughput.max(self.level);
        }
        let mut wait_s = (buffer_s + self.placeholder_s - self.greatest_buffer_s(level)).max(0.0);
        let from_placeholder = wait_s.min(self.placeholder_s);
        self.placeholder_s -= from_placeholder;
        wait_s -= from_placeholder;
        if level == self.rates.len() - 1 {
            wait_s = 0.0;
        }
        self.level = level;
        Choice { level, wait_s }
    }

    /// The level that maximises (Vp (u - 1 + gp) - B) / R; the highest of equals.
    fn best(&self, buffer_s: f64) -> usize {
        let score = |level: usize| (self.vp * (self.utilities[level] - 1.0 + self.gp) - buffer_s) / self.rates[level];
        (1..self.rates.len()).fold(0, |best, level| if score(level) >= score(best) { level } else { best })
    }

    /// The most buffer at which this level is fetched rather than waited for.
    fn greatest_buffer_s(&self, level: usize) -> f64 {
        self.vp * (self.utilities[level] + self.gp)
    }

    /// The least buffer at which this level is preferred to all below it.
    fn least_buffer_s(&self, level: usize) -> f64 {
        let (rate, utility) = (self.rates[level], self.utilities[level]);
        let over = |i: usize| (rate * self.utilities[i] - self.rates[i] * utility) / (rate - self.rates[i]);
        (0..level).map(|i| self.vp * (self.gp + over(i))).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_fetched_from_where_it_is_preferred_to_where_it_is_waited_for() {
        let (rates, utilities) = (vec![100.0, 300.0], vec![1.0, 2.0]);
        let (vp, gp) = (5.0, 3.0);
        let state = (0.0, 0, true, true);
        let (placeholder_s, level, heard, steady) = state;
        let bola = Bola { rates, utilities, vp, gp, placeholder_s, level, heard, steady };
        assert_eq!([0, 1].map(|level| bola.greatest_buffer_s(level)), [5.0 * 4.0, 5.0 * 5.0]);
        // (300 × 1 - 100 × 2) / 200 = 0.5.
        assert_eq!([0, 1].map(|level| bola.least_buffer_s(level)), [0.0, 17.5]);
    }
}
