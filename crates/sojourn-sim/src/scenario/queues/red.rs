//! Study keys of RED and Adaptive RED.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{AdaptiveRed, FengRed, RedConfig, RedWeight};
use sojourn_net::{Bytes, Limit, Rate, Span};

use super::super::Invalid;
use super::{check_gain, check_packet, check_probability, check_spans, count};

/// RED and Adaptive RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RedSpec {
    /// How much it holds.
    pub limit: Limit,
    /// Whose RED.
    #[serde(default)]
    pub variant: RedVariant,
    /// Move the greatest probability so that the average stays between the thresholds (Floyd, 2001).
    #[serde(default)]
    pub adaptive: bool,
    /// Queueing delay aimed at, where the lower threshold is not given.
    #[serde(default = "super::codel::target")]
    pub target: Span,
    /// Lower threshold in packets of mean size; by default from the target and the link's rate, and at least 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Upper threshold in packets of mean size; by default three times the lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Probability at the upper threshold, at first; by default 0.1 (`ns2`) or 0.02 (`paper`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_p: Option<f64>,
    /// Rise to 1 between one and two upper thresholds instead of jumping; by default true (`ns2`) or false (`paper`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,
    /// Keep drops 1/p to 2/p packets apart, and not 1 to 1/p; by default true (`ns2`) or false (`paper`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    /// Weight of the newest sample in the average; by default as `averaging` says (`ns2`) or 0.002 (`paper`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Time constant of the average where `weight` is not given; by default ten-rtts (`ns2`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub averaging: Option<RedAveraging>,
    /// Mean packet size.
    #[serde(default = "mean_packet")]
    pub mean_packet: Bytes,
    /// Average bytes instead of packets (default false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_bytes: Option<bool>,
    /// Drop larger packets more (default false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_size: Option<bool>,
    /// Mark ECN-capable packets instead of dropping them (default false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Drop them all the same above this probability; by default 0.1 (`ns2`) or not at all (`paper`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_p: Option<f64>,
    /// Drop without a test, and not mark, from the upper threshold on, or from twice it if gentle (ns-2's `use_mark_p_` off); by default false (`ns2`) or true (`paper`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced: Option<bool>,
    /// Most that `max-p` grows by at once, if adaptive (default 0.01).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// What `max-p` is multiplied by to shrink, if adaptive (default 0.9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Time between two steps of `max-p`, if adaptive (default 500ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// `max-p` does not grow from here, if adaptive (default 0.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<f64>,
    /// `max-p` does not shrink from here, if adaptive; by default 0.01, or less on a link faster than 8 Mbit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottom: Option<f64>,
    /// Move `max-p` as Feng et al. (1999) do, as in ns-3, instead (default false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feng: Option<bool>,
    /// The link's rate as RED takes it; by default the rate of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The link's delay as `averaging = "ten-rtts"` takes it (default 20ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_delay: Option<Span>,
}

/// Published REDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedVariant {
    /// ns-2.35.
    #[default]
    Ns2,
    /// The papers of 1993 and 2001.
    Paper,
}

/// How long the average looks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedAveraging {
    /// Ten round-trip times of at least 100 ms (ns-2's `q_weight_ -1`).
    TenRtts,
    /// One second (ns-2's `q_weight_ 0`).
    OneSecond,
    /// 100 ms (ns-2's `q_weight_ -2`).
    TenthOfSecond,
}

fn mean_packet() -> Bytes {
    Bytes(500)
}

impl From<RedAveraging> for RedWeight {
    fn from(averaging: RedAveraging) -> Self {
        match averaging {
            RedAveraging::TenRtts => Self::TenRtts,
            RedAveraging::OneSecond => Self::OneSecond,
            RedAveraging::TenthOfSecond => Self::TenthOfSecond,
        }
    }
}

impl RedSpec {
    pub(super) fn settings(&self) -> RedConfig {
        let default = match self.variant {
            RedVariant::Ns2 => RedConfig::default(),
            RedVariant::Paper => RedConfig::paper(),
        };
        let (adaptive, feng) = (AdaptiveRed::default(), FengRed::default());
        let averaging = self.averaging.map_or(default.weight, RedWeight::from);
        let forced = self.forced.unwrap_or(default.mark_p.is_none());
        RedConfig {
            target: self.target,
            min_threshold: self.min,
            max_threshold: self.max,
            max_p: self.max_p.unwrap_or(default.max_p),
            gentle: self.gentle.unwrap_or(default.gentle),
            wait: self.wait.unwrap_or(default.wait),
            weight: self.weight.map_or(averaging, RedWeight::Fixed),
            mean_packet: count(self.mean_packet),
            in_bytes: self.in_bytes.unwrap_or(default.in_bytes),
            by_size: self.by_size.unwrap_or(default.by_size),
            ecn: self.ecn.unwrap_or(default.ecn),
            mark_p: if forced { None } else { Some(self.mark_p.unwrap_or(0.1)) },
            adaptive: self.adaptive.then_some(AdaptiveRed {
                alpha: self.alpha.unwrap_or(adaptive.alpha),
                beta: self.beta.unwrap_or(adaptive.beta),
                interval: self.interval.unwrap_or(adaptive.interval),
                top: self.top.unwrap_or(adaptive.top),
                bottom: self.bottom,
            }),
            feng: self.feng.unwrap_or(false).then_some(feng),
            link_delay: self.link_delay.unwrap_or(default.link_delay),
            ..default
        }
    }

    /// Whether thresholds or weight follow from the link's rate.
    pub(super) fn needs_rate(&self) -> bool {
        let automatic = !matches!(self.settings().weight, RedWeight::Fixed(_));
        self.rate.is_none() && (self.min.is_none() || automatic)
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if let Some(max_p) = self.max_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err(Invalid::new("max-p", format!("{max_p} is not a probability above 0")));
        }
        let least = self.min.unwrap_or(f64::MIN_POSITIVE);
        if !(least.is_finite() && least > 0.0 && self.max.is_none_or(|max| max.is_finite() && max > least)) {
            return Err(Invalid::new("min", "thresholds are packets: min above 0, max above min"));
        }
        if self.max.is_some() && self.min.is_none() {
            return Err(Invalid::new("max", "an upper threshold needs a lower one: give min too"));
        }
        if self.weight.is_some() && self.averaging.is_some() {
            return Err(Invalid::new("averaging", "the weight is given: give one or the other"));
        }
        if self.adaptive && self.feng == Some(true) {
            return Err(Invalid::new("feng", "adaptive moves max-p already: give one or the other"));
        }
        if self.mark_p.is_some() && self.settings().mark_p.is_none() {
            return Err(Invalid::new("mark-p", "has no effect where drops are forced: write forced = false"));
        }
        check_packet("mean-packet", Some(self.mean_packet))?;
        check_spans(&[("target", Some(self.target)), ("interval", self.interval)])?;
        for (key, p) in [("weight", self.weight), ("mark-p", self.mark_p), ("top", self.top), ("bottom", self.bottom)] {
            check_probability(key, p)?;
        }
        check_gain("alpha", self.alpha)?;
        check_probability("beta", self.beta)
    }
}
