//! RED's parameters, and what follows from the link where they are not given.
//!
//! Source: Floyd, Gummadi and Shenker, "Adaptive RED" (2001), for the automatic weight and thresholds, and ns-2.35,
//! whose names and defaults (in packet mode) these are. See [`super`] for how the variants differ.

use crate::{Bytes, Rate, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published REDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RedVariant")]
pub enum Variant {
    /// ns-2.35.
    #[default]
    Ns2,
    /// The papers of 1993 and 2001.
    Paper,
}

/// How long the average looks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RedAveraging")]
pub enum Averaging {
    /// Ten round-trip times of at least 100 ms (ns-2's `q_weight_ -1`).
    TenRtts,
    /// One second (ns-2's `q_weight_ 0`).
    OneSecond,
    /// 100 ms (ns-2's `q_weight_ -2`).
    TenthOfSecond,
}

with_defaults! {
    /// RED and Adaptive RED.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[schemars(rename = "RedConfig")]
    pub struct Config {
        /// Whose RED.
        pub variant: Variant,
        /// Move the greatest probability so that the average stays between the thresholds (Floyd, 2001).
        pub adaptive: bool,
        /// Queueing delay aimed at, where the lower threshold is not given.
        pub target: Span = Span::from_millis(5),
        /// Lower threshold in packets of mean size; by default from the target and the link's rate, and at least 5.
        pub min: Option<f64>,
        /// Upper threshold in packets of mean size; by default three times the lower.
        pub max: Option<f64>,
        /// Probability at the upper threshold, at first; by default 0.1 (`ns2`) or 0.02 (`paper`).
        pub max_p: f64 = 0.1,
        /// Rise to 1 between one and two upper thresholds instead of jumping; by default true (`ns2`) or false
        /// (`paper`).
        pub gentle: bool = true,
        /// Keep drops 1/p to 2/p packets apart, and not 1 to 1/p; by default true (`ns2`) or false (`paper`).
        pub wait: bool = true,
        /// Weight of the newest sample in the average; by default as `averaging` says (`ns2`) or 0.002 (`paper`).
        pub weight: Option<f64>,
        /// Time constant of the average where `weight` is not given; by default ten-rtts (`ns2`).
        pub averaging: Option<Averaging>,
        /// Mean packet size.
        pub mean_packet: Bytes = Bytes(500),
        /// Average bytes instead of packets (ns-2's `queue_in_bytes_`).
        pub in_bytes: bool,
        /// Drop larger packets more (ns-2's `bytes_`).
        pub by_size: bool,
        /// Mark ECN-capable packets instead of dropping them.
        pub ecn: bool,
        /// Drop them all the same above this probability; by default 0.1 (`ns2`) or not at all (`paper`).
        pub mark_p: Option<f64>,
        /// Drop without a test, and not mark, from the upper threshold on, or from twice it if gentle (ns-2's
        /// `use_mark_p_` off); by default false (`ns2`) or true (`paper`).
        pub forced: bool,
        /// Most that `max-p` grows by at once, if adaptive; it also grows by at most a quarter of itself.
        pub alpha: f64 = 0.01,
        /// What `max-p` is multiplied by to shrink, if adaptive.
        pub beta: f64 = 0.9,
        /// Time between two steps of `max-p`, if adaptive.
        pub interval: Span = Span::from_millis(500),
        /// `max-p` does not grow from here, if adaptive.
        pub top: f64 = 0.5,
        /// `max-p` does not shrink from here, if adaptive; by default 0.01, or less on a link faster than 8 Mbit/s.
        pub bottom: Option<f64>,
        /// Move `max-p` as Feng et al. (1999) do, as in ns-3, instead.
        pub feng: bool,
        /// The link's rate as RED takes it; by default the rate of the link.
        pub rate: Option<Rate>,
        /// The link's delay as `averaging = "ten-rtts"` takes it.
        pub link_delay: Span = Span::from_millis(20),
    }
}

impl Config {
    /// The algorithm of 1993: weight 0.002, no gentle slope, drops 1 to 1/p packets apart, marks up to the threshold.
    pub fn paper() -> Self {
        Self { variant: Variant::Paper, max_p: 0.02, gentle: false, wait: false, forced: true, ..Self::default() }
    }

    /// The probability above which ECN-capable packets are dropped all the same; `None` if only the average forces
    /// drops.
    pub(super) fn mark_limit(&self) -> Option<f64> {
        (!self.forced).then(|| self.mark_p.unwrap_or(0.1))
    }

    /// How the weight follows from the link's rate; `None` if it does not.
    pub(super) fn averages_over(&self) -> Option<Averaging> {
        match (self.weight, self.averaging, self.variant) {
            (Some(_), ..) | (None, None, Variant::Paper) => None,
            (None, averaging, _) => Some(averaging.unwrap_or(Averaging::TenRtts)),
        }
    }

    /// Packets of mean size that a link of this rate sends in a second.
    pub(super) fn packets_per_second(&self, rate: Rate) -> f64 {
        rate.0 as f64 / (8.0 * self.mean_packet.0 as f64)
    }

    /// The weight of the newest sample on a link of this rate.
    pub(super) fn weight(&self, rate: Rate) -> f64 {
        let ptc = self.packets_per_second(rate);
        let packets = match self.averages_over() {
            None => return self.weight.unwrap_or(0.002),
            Some(Averaging::OneSecond) => ptc,
            Some(Averaging::TenRtts) => 10.0 * ptc * (3.0 * (self.link_delay.as_secs() + 1.0 / ptc)).max(0.1),
            Some(Averaging::TenthOfSecond) => ptc / 10.0,
        };
        -libm::expm1(-1.0 / packets)
    }

    /// The two thresholds in packets on a link of this rate: by default what it sends in half the target, at least 5,
    /// and three times that.
    pub(super) fn thresholds(&self, rate: Rate) -> (f64, f64) {
        let automatic = || (self.target.as_secs() * self.packets_per_second(rate) / 2.0).max(5.0);
        let min = self.min.unwrap_or_else(automatic);
        (min, self.max.unwrap_or(3.0 * min))
    }
}
