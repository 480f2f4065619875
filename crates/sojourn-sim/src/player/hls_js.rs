//! Hls.js with its defaults: the highest level that arrives before the buffer is empty, by 70 % of the throughput
//! for steps up and 95 % else.
//!
//! Source: `controller/abr-controller.ts`, `utils/ewma-bandwidth-estimator.ts` and `config.ts` of hls.js 1.7. The
//! throughput is the lower of two averages with half-lives of 3 and 9 s of download time, from which the usual time
//! to the first byte is taken; 500 kbit/s before the first segment, whose level is to be there within 4 s. If no
//! level arrives in time, one that stalls for at most a segment or 4 s. It asks for more while less is in than 30
//! s, or 60 MB of the level, if that lasts longer (at most 600 s).
//!
//! Differences: no segment is given up; playlists of all levels are there; no level is left out for its codec,
//! frame rate or size. Parsing takes no time.

use super::clip::Clip;
use super::estimate::HalfLife;
use super::rule::{Choice, Player, Segment, State};

const HALF_LIVES_S: (f64, f64) = (3.0, 9.0);
/// Share of the throughput that counts for a higher level, and for the same or a lower one.
const FACTORS: (f64, f64) = (0.7, 0.95);
const FIRST_KBPS: f64 = 500.0;
const FIRST_TTFB_S: f64 = 0.1;
const LEAST_TTFB_S: f64 = 0.005;
/// The longest stall that is planned with, where there must be one.
const STARVATION_S: f64 = 4.0;
const BUFFER_S: (f64, f64) = (30.0, 600.0);
const BUFFER_KBIT: f64 = 480e3;
/// Samples are no shorter, and no shorter than their bytes take at 800 Mbit/s.
const SHORTEST_S: f64 = 0.05;
const FASTEST_BYTES_PER_S: f64 = 100e6;

/// A player.
#[derive(Clone, Debug)]
pub(super) struct HlsJs {
    fast: HalfLife,
    slow: HalfLife,
    ttfb: HalfLife,
    /// Seconds of video that are enough at each level.
    enough_s: Vec<f64>,
    last: Option<usize>,
}

impl HlsJs {
    pub(super) fn new(clip: &Clip) -> Self {
        let enough = |rate: &f64| (BUFFER_KBIT / rate).clamp(BUFFER_S.0, BUFFER_S.1);
        Self {
            fast: HalfLife::new(HALF_LIVES_S.0),
            slow: HalfLife::new(HALF_LIVES_S.1),
            ttfb: HalfLife::new(HALF_LIVES_S.1),
            enough_s: clip.rates_kbps().iter().map(enough).collect(),
            last: None,
        }
    }

    fn kbps(&self) -> f64 {
        self.fast.value().zip(self.slow.value()).map_or(FIRST_KBPS, |(fast, slow)| fast.min(slow))
    }

    fn ttfb_s(&self) -> f64 {
        self.ttfb.value().unwrap_or(FIRST_TTFB_S)
    }

    /// The highest level that is there within `within_s`, by these shares of the throughput for steps up and others.
    fn best(&self, clip: &Clip, within_s: f64, factors: (f64, f64)) -> Option<usize> {
        let ttfb_s = self.ttfb_s();
        (0..clip.levels()).rev().find(|level| {
            let rate = clip.rates_kbps()[*level];
            let upwards = *level > self.last.unwrap_or(0);
            let kbps = self.kbps() * if upwards { factors.0 } else { factors.1 };
            let fetched_s = ttfb_s + rate * clip.segment_s() / kbps;
            kbps >= rate && (fetched_s <= ttfb_s || fetched_s < within_s)
        })
    }
}

impl Player for HlsJs {
    fn segment_done(&mut self, segment: &Segment) {
        let first_s = segment.first_byte_s - segment.request_s;
        let weight = core::f64::consts::SQRT_2 * libm::exp(-first_s * first_s / 2.0);
        self.ttfb.sample(weight, first_s.max(LEAST_TTFB_S));
        let bytes = segment.bytes as f64;
        let shortest_s = SHORTEST_S.min(bytes / FASTEST_BYTES_PER_S);
        let seconds = (segment.download_s() - first_s.min(self.ttfb_s())).max(shortest_s);
        for average in [&mut self.fast, &mut self.slow] {
            average.sample(seconds, bytes * 8e-3 / seconds);
        }
        self.last = Some(segment.level);
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let (clip, buffer_s) = (state.clip, state.buffer_s);
        if self.last.is_none() {
            return Choice::at_once(self.best(clip, STARVATION_S, (1.0, 1.0)).unwrap_or(0));
        }
        let in_time = (buffer_s > 0.0).then(|| self.best(clip, buffer_s, FACTORS)).flatten();
        let stalled = || self.best(clip, buffer_s + STARVATION_S.min(clip.segment_s()), FACTORS);
        Choice::at_once(in_time.or_else(stalled).unwrap_or(0))
    }

    fn enough_s(&self) -> f64 {
        self.enough_s[self.last.unwrap_or(0)]
    }

    fn estimate_kbps(&self) -> Option<f64> {
        Some(self.kbps())
    }
}
