//! The playback rate by which a live viewer keeps its latency.
//!
//! Source: dash.js 5.1.1, `CatchupController.js`, default mode: rate = (1 − c) + 2c / (1 + e^(−5Δ)), Δ the latency less
//! the target in s (the latency in whole ms), c how much faster (behind) or slower (ahead) is allowed; a new rate is
//! set if it is 1 or differs by 4 % of c at least; while at most 0.3 s are in the buffer the rate is 1.
//!
//! Shaka Player 5.2.12, `player.js` with `streaming.liveSync`: the fastest rate beyond the target and its tolerance of
//! 0.5 s, the slowest below the target less it, else 1. Its latency counts from the end of what is available, which
//! with low latency is a chunk behind the encoder (`presentation_timeline.js`). By default it is off.
//!
//! hls.js 1.7.4, `latency-controller.ts`: rate = 2 / (1 + e^(−0.75Δ)), in steps of 0.05, if Δ is above 50 ms, below the
//! target and a segment's length, and more than 1 s is in the buffer; never slower than 1. After each stall
//! (`gap-controller.ts`) it aims one second later, up to a segment's length. Its default is a fastest rate of 1: off.
//!
//! Differences: hls.js plays faster if its playlist is late, for which there is no playlist here. Left out, as off by
//! default: Shaka's slow minute after a stall (`panicMode`) and its moving target (`dynamicTargetLatency`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// With no more in the buffer dash.js does not change the rate, s.
const STALL_S: f64 = 0.3;
/// Shaka leaves a latency this near to the target alone, s.
const SHAKA_TOLERANCE_S: f64 = 0.5;
/// Hls.js does not catch up with no more in the buffer, or nearer to the target, s.
const HLS_BUFFER_S: f64 = 1.0;
const HLS_NEAR_S: f64 = 0.05;
/// By how much hls.js aims later after a stall, s.
const HLS_STALL_INCREASE_S: f64 = 1.0;

/// Whose rule keeps the latency of live viewers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CatchUp {
    /// A sigmoid of the distance from the target, both ways.
    #[default]
    #[serde(rename = "dash.js")]
    DashJs,
    /// The fastest rate far behind the target, the slowest far ahead of it.
    #[serde(rename = "shaka")]
    Shaka,
    /// A sigmoid of how far behind the target it is, in steps of 5 %; the target is put off by stalls.
    #[serde(rename = "hls.js")]
    HlsJs,
    /// Always the rate 1: what is lost stays lost, but for jumps.
    #[serde(rename = "none")]
    None,
}

/// What a rule goes by.
#[derive(Clone, Copy, Debug)]
pub(in crate::player) struct Watched {
    pub latency_s: f64,
    pub target_s: f64,
    pub buffer_s: f64,
    pub segment_s: f64,
    pub chunk_s: f64,
    /// Stalls so far.
    pub stalls: u32,
    /// The present rate.
    pub rate: f64,
}

impl CatchUp {
    /// The slowest and the fastest rate if nothing is said: the library's, and where that is 1 dash.js's.
    pub(crate) fn rates(self) -> (f64, f64) {
        match self {
            Self::DashJs | Self::HlsJs | Self::None => (0.5, 1.5),
            Self::Shaka => (0.95, 1.1),
        }
    }

    /// Distance from the target beyond which playback jumps if nothing is said, s; Shaka and hls.js never do.
    pub(crate) fn seek_s(self) -> Option<f64> {
        matches!(self, Self::DashJs | Self::None).then_some(12.0)
    }

    /// The rate to go on with, between the slowest and the fastest.
    pub(in crate::player) fn rate(self, (slowest, fastest): (f64, f64), seen: &Watched) -> f64 {
        let behind = seen.latency_s - seen.target_s;
        match self {
            Self::None => 1.0,
            Self::DashJs if seen.buffer_s <= STALL_S => 1.0,
            Self::DashJs => {
                let behind = (seen.latency_s * 1e3).round() / 1e3 - seen.target_s;
                let most = if behind < 0.0 { 1.0 - slowest } else { fastest - 1.0 };
                let wanted = (1.0 - most) + 2.0 * most / (1.0 + libm::exp(-5.0 * behind));
                let least = 0.02 / (0.5 / (fastest - 1.0));
                if wanted == 1.0 || (seen.rate - wanted).abs() >= least { wanted } else { seen.rate }
            }
            Self::Shaka => match behind - seen.chunk_s {
                late if late > SHAKA_TOLERANCE_S => fastest,
                early if early < (-SHAKA_TOLERANCE_S).max(-seen.target_s) => slowest,
                _ => 1.0,
            },
            Self::HlsJs => {
                let put_off_s = (f64::from(seen.stalls) * HLS_STALL_INCREASE_S).min(seen.segment_s);
                let target_s = seen.target_s + put_off_s;
                let behind = seen.latency_s - target_s;
                let apart = behind <= HLS_NEAR_S || behind >= target_s + seen.segment_s;
                if apart || seen.buffer_s <= HLS_BUFFER_S {
                    return 1.0;
                }
                let wanted = (2.0 / (1.0 + libm::exp(-0.75 * behind)) * 20.0).round() / 20.0;
                wanted.clamp(1.0, fastest.max(1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(latency_s: f64, buffer_s: f64, rate: f64) -> Watched {
        Watched { latency_s, target_s: 3.0, buffer_s, segment_s: 2.0, chunk_s: 0.5, stalls: 0, rate }
    }

    #[test]
    fn the_default_of_dash_js_by_hand() {
        let rate = |latency_s, buffer_s, rate| CatchUp::DashJs.rate((0.5, 1.5), &seen(latency_s, buffer_s, rate));
        // Δ = 1 s: 0.5 + 1 / (1 + e^-5) = 1.4933071; Δ = 0.2 s: 0.5 + 1 / (1 + e^-1) = 1.2310586; −0.2 s: 0.7689414.
        assert!((rate(4.0, 2.0, 1.0) - 1.493_307_149).abs() < 1e-9);
        assert!((rate(3.2, 2.0, 1.0) - 1.231_058_579).abs() < 1e-9);
        assert!((rate(2.8, 2.0, 1.0) - 0.768_941_421).abs() < 1e-9);
        assert_eq!(rate(3.0, 2.0, 1.2), 1.0);
        // 15 ms: 1.01874…, not 2 % from 1; from 1.5 it is.
        assert_eq!(rate(3.015, 2.0, 1.0), 1.0);
        assert!((rate(3.015, 2.0, 1.5) - 1.018_741_216).abs() < 1e-9);
        assert_eq!(rate(9.0, 0.3, 1.4), 1.0, "the buffer is empty");
        // Other limits: 5 % slower, 10 % faster; a step of 4 % of 0.1.
        let narrow = |latency_s| CatchUp::DashJs.rate((0.95, 1.1), &seen(latency_s, 2.0, 1.0));
        assert!((narrow(4.0) - 1.098_661_430).abs() < 1e-9);
        assert!((narrow(2.0) - 0.950_669_285).abs() < 1e-9);
    }

    #[test]
    fn hls_js_catches_up_in_steps_and_never_slows_down() {
        let rate = |latency_s, buffer_s| CatchUp::HlsJs.rate((0.5, 1.5), &seen(latency_s, buffer_s, 1.0));
        // Δ = 1 s: 2 / (1 + e^-0.75) = 1.3583: 1.35; Δ = 4 s: 1.905, at most 1.5; Δ = 5 s: too far.
        assert!((rate(4.0, 2.0) - 1.35).abs() < 1e-12);
        assert_eq!((rate(7.0, 2.0), rate(8.0, 2.0), rate(3.05, 2.0), rate(2.0, 2.0)), (1.5, 1.0, 1.0, 1.0));
        assert_eq!(rate(4.0, 1.0), 1.0);
        // After a stall it aims at 4 s, after any number of them at 5 s: a segment later.
        let stalled =
            |latency_s, stalls| CatchUp::HlsJs.rate((0.5, 1.5), &Watched { stalls, ..seen(latency_s, 2.0, 1.0) });
        assert_eq!((stalled(4.0, 1), stalled(5.0, 1), stalled(5.0, 9), stalled(6.0, 9)), (1.0, 1.35, 1.0, 1.35));
        assert_eq!(CatchUp::None.rate((0.5, 1.5), &seen(9.0, 5.0, 1.0)), 1.0);
    }
    #[test]
    fn shaka_plays_at_its_limits_outside_of_half_a_second() {
        // 3.5 s behind the encoder are 3 s behind what is available.
        let rate = |latency_s| CatchUp::Shaka.rate((0.95, 1.1), &seen(latency_s, 2.0, 1.0));
        assert_eq!((rate(4.0), rate(4.01), rate(3.0), rate(2.99)), (1.0, 1.1, 1.0, 0.95));
        // Nothing is below a target of 0.3 s less 0.5.
        let near =
            |latency_s| CatchUp::Shaka.rate((0.95, 1.1), &Watched { target_s: 0.3, ..seen(latency_s, 2.0, 1.0) });
        assert_eq!((near(0.5), near(0.49)), (1.0, 0.95));
    }

    #[test]
    fn the_libraries_themselves_choose_the_same_rates() {
        // Asked by `python -m tools.players`: of each library at the version above, what it sets.
        let asked: serde_json::Value = serde_json::from_str(include_str!("asked.json")).expect("a table");
        for (name, cases) in asked["rates"].as_object().expect("by library") {
            let rule: CatchUp = serde_json::from_value(name.as_str().into()).expect("one of ours");
            let cases = cases.as_array().expect("cases");
            assert!(cases.len() >= 100, "{name}");
            let of = |case: &serde_json::Value, key: &str| case[key].as_f64().expect("a number");
            for case in cases {
                let seen = Watched {
                    latency_s: of(case, "latency_s"),
                    target_s: of(case, "target_s"),
                    buffer_s: of(case, "buffer_s"),
                    segment_s: of(case, "segment_s"),
                    chunk_s: of(case, "chunk_s"),
                    stalls: of(case, "stalls") as u32,
                    rate: of(case, "rate"),
                };
                let found = rule.rate((of(case, "slowest"), of(case, "fastest")), &seen);
                assert!((found - of(case, "sets")).abs() < 1e-9, "{name}: {found}, asked {case}");
            }
        }
    }
}
