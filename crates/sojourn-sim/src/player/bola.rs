//! BOLA: the level that maximises utility over buffer, with a cap on steps up.
//!
//! Source: K. Spiteri, R. Urgaonkar, R. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos", INFOCOM
//! 2016, in the form of the authors' simulator sabre, whose decisions these are. A step up beyond what the throughput
//! carries goes one level above that at most (BOLA-U), also in the form that sabre calls basic; the two differ in that
//! BOLA-U plans with a smaller buffer at both ends of the clip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::with_defaults;

use super::clip::Clip;
use super::estimate::Ewma;
use super::range::{Wrong, within};
use super::rule::{Choice, Player, Segment, State};
use super::throughput::sustainable;

/// BOLA-U never plans with fewer segments than this.
const LEAST_SEGMENTS: f64 = 3.0;

with_defaults! {
    /// Options of BOLA.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
    pub struct BolaOptions {
        /// γp: how much a long buffer is preferred to a high rate.
        pub gp: f64 = 5.0,
    }
}

impl BolaOptions {
    /// Checks ranges: the key and a sentence.
    pub(super) fn check(&self) -> Wrong {
        within("gp", self.gp, 0.0, 1e6)
    }
}

/// A BOLA player.
#[derive(Clone, Debug)]
pub(super) struct Bola {
    gp: f64,
    basic: bool,
    utilities: Vec<f64>,
    estimate: Ewma,
    /// This rule's own previous answer.
    last: usize,
}

impl Bola {
    pub(super) fn new(options: BolaOptions, basic: bool, clip: &Clip) -> Self {
        Self { gp: options.gp, basic, utilities: utilities(clip, 0.0), estimate: Ewma::new(clip.segment_s()), last: 0 }
    }

    /// Seconds of buffer that this player plans with.
    fn planned_s(&self, state: &State<'_>) -> f64 {
        if self.basic {
            return state.limit_s;
        }
        let nearest_end = state.segment.min(state.clip.len() - state.segment) as f64;
        state.limit_s.min((nearest_end / 2.0).max(LEAST_SEGMENTS) * state.clip.segment_s())
    }
}

/// ln(R_i / R_1) of each level, and so much more.
pub(super) fn utilities(clip: &Clip, more: f64) -> Vec<f64> {
    let offset = more - libm::log(clip.rates_kbps()[0]);
    clip.rates_kbps().iter().map(|rate| libm::log(*rate) + offset).collect()
}

/// The level that maximises (Vp (u + gp) − B) / R, with Vp and the buffer B in ms; the lowest of equals.
pub(super) fn best(clip: &Clip, utilities: &[f64], vp: f64, gp: f64, buffer_ms: f64) -> usize {
    let score = |level: usize| (vp * (utilities[level] + gp) - buffer_ms) / clip.rates_kbps()[level];
    (1..clip.levels()).fold(0, |best, level| if score(level) > score(best) { level } else { best })
}

impl Player for Bola {
    fn segment_done(&mut self, segment: &Segment) {
        self.estimate.segment_done(segment);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let Some(kbps) = self.estimate.kbps() else { return Choice::at_once(0) };
        let clip = state.clip;
        let top = self.utilities[clip.levels() - 1];
        let vp = (self.planned_s(state) - clip.segment_s()) * 1e3 / (top + self.gp);
        let mut level = best(clip, &self.utilities, vp, self.gp, state.buffer_s * 1e3);
        if level > self.last {
            let carried = sustainable(clip, kbps, self.estimate.latency_s());
            if level > carried {
                level = if self.last > carried { self.last } else { carried + 1 };
            }
        }
        self.last = level;
        Choice::at_once(level)
    }

    fn estimate_kbps(&self) -> Option<f64> {
        self.estimate.kbps()
    }
}
