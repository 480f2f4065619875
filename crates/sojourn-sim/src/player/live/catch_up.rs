//! The playback rate by which a live viewer keeps its latency.
//!
//! Source: dash.js 5.1, `CatchupController.js`, default mode: rate = (1 − c) + 2c / (1 + e^(−5Δ)), Δ the latency less
//! the target in s (the latency in whole ms), c how much faster (behind) or slower (ahead) is allowed; a new rate is
//! set if it is 1 or differs by 4 % of c at least; while at most 0.3 s are in the buffer the rate is 1. hls.js 1.7,
//! `latency-controller.ts`: rate = 2 / (1 + e^(−0.75Δ)), in steps of 0.05, if Δ is above 50 ms, below the target and a
//! segment's length, and more than 1 s is in the buffer; never slower than 1. Its default is a fastest rate of 1: off.
//!
//! Differences: hls.js aims one second later after each stall, up to a segment's length, and plays faster if its
//! playlist is late; here its target stays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// With no more in the buffer dash.js does not change the rate, s.
const STALL_S: f64 = 0.3;
/// Hls.js does not catch up with no more in the buffer, or nearer to the target, s.
const HLS_BUFFER_S: f64 = 1.0;
const HLS_NEAR_S: f64 = 0.05;

/// Whose rule keeps the latency of live viewers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CatchUp {
    /// A sigmoid of the distance from the target, both ways.
    #[default]
    #[serde(rename = "dash.js")]
    DashJs,
    /// A sigmoid of how far behind the target it is, in steps of 5 %.
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
    /// The present rate.
    pub rate: f64,
}

impl CatchUp {
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
            Self::HlsJs => {
                let near = behind <= HLS_NEAR_S || behind >= seen.target_s + seen.segment_s;
                if near || seen.buffer_s <= HLS_BUFFER_S {
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
        Watched { latency_s, target_s: 3.0, buffer_s, segment_s: 2.0, rate }
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
        assert_eq!(CatchUp::None.rate((0.5, 1.5), &seen(9.0, 5.0, 1.0)), 1.0);
    }
}
