//! What RED is told, and what follows from the link when it is not.
//!
//! Source: Floyd, Gummadi and Shenker, "Adaptive RED" (2001), for the automatic weight and thresholds, and ns-2.35, whose names and defaults
//! these are. Differences stand in [`super`].

use crate::{Rate, Span};

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedVariant {
    /// ns-2.35, and ns-3 after it.
    #[default]
    Ns2,
    /// The papers of 1993 and 2001.
    Paper,
}

/// How fast the average follows the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RedWeight {
    /// This weight of the newest sample.
    Fixed(f64),
    /// A time constant of 1 s (ns-2's `q_weight_ 0`).
    OneSecond,
    /// A time constant of ten round-trip times of at least 100 ms (ns-2's `q_weight_ -1`).
    TenRtts,
    /// A time constant of 100 ms (ns-2's `q_weight_ -2`).
    TenthOfSecond,
}

/// How Adaptive RED moves max_p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveRed {
    /// Most that max_p grows by at once (it also grows by at most a quarter of itself).
    pub alpha: f64,
    /// What max_p is multiplied by to shrink.
    pub beta: f64,
    /// Time between two steps.
    pub interval: Span,
    /// It does not grow from here.
    pub top: f64,
    /// It does not shrink from here; `None`: one hundredth, or less on a fast link (80 000 / rate).
    pub bottom: Option<f64>,
}

impl Default for AdaptiveRed {
    fn default() -> Self {
        Self { alpha: 0.01, beta: 0.9, interval: Span::from_millis(500), top: 0.5, bottom: None }
    }
}

/// How Feng's adaptive RED moves max_p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FengRed {
    /// What max_p is multiplied by when the average has risen above the thresholds.
    pub grow: f64,
    /// What max_p is divided by when the average has fallen below the thresholds.
    pub shrink: f64,
}

impl Default for FengRed {
    fn default() -> Self {
        Self { grow: 2.0, shrink: 3.0 }
    }
}

/// The settings of [`Red`](super::Red).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Whose rules.
    pub variant: RedVariant,
    /// Most packets waiting; `MAX` means no limit.
    pub max_packets: u32,
    /// Most bytes waiting; `MAX` means no limit.
    pub max_bytes: u64,
    /// Whether the average is of bytes, not of packets (ns-2's `queue_in_bytes_`).
    pub in_bytes: bool,
    /// Whether larger packets are dropped more (ns-2's `bytes_`).
    pub by_size: bool,
    /// Mean packet size in bytes.
    pub mean_packet: u32,
    /// The link's rate: how many packets an idle time stands for, and the automatic settings.
    pub rate: Rate,
    /// The link's delay, for [`RedWeight::TenRtts`].
    pub link_delay: Span,
    /// Queueing delay aimed at, for the automatic lower threshold.
    pub target: Span,
    /// Lower threshold in packets; `None`: what the link sends in half the target, at least 5.
    pub min_threshold: Option<f64>,
    /// Upper threshold in packets; `None`: three times the lower.
    pub max_threshold: Option<f64>,
    /// Weight of the newest sample in the average.
    pub weight: RedWeight,
    /// Probability at the upper threshold (initially, if adaptive).
    pub max_p: f64,
    /// Whether the probability rises to 1 between one and two upper thresholds, and does not jump.
    pub gentle: bool,
    /// Whether drops are 1/p to 2/p packets apart, and not 1 to 1/p.
    pub wait: bool,
    /// Whether ECN-capable packets are marked.
    pub ecn: bool,
    /// They are dropped all the same above this probability; `None`: only when the average forces it.
    pub mark_p: Option<f64>,
    /// Adaptive RED.
    pub adaptive: Option<AdaptiveRed>,
    /// Feng's adaptive RED.
    pub feng: Option<FengRed>,
}

impl Default for RedConfig {
    /// ns-2's defaults in packet mode, 25 packets, on a link of 10 Mbit/s and 20 ms.
    fn default() -> Self {
        Self {
            variant: RedVariant::Ns2,
            max_packets: 25,
            max_bytes: u64::MAX,
            in_bytes: false,
            by_size: false,
            mean_packet: 500,
            rate: Rate(10_000_000),
            link_delay: Span::from_millis(20),
            target: Span::from_millis(5),
            min_threshold: None,
            max_threshold: None,
            weight: RedWeight::TenRtts,
            max_p: 0.1,
            gentle: true,
            wait: true,
            ecn: false,
            mark_p: Some(0.1),
            adaptive: None,
            feng: None,
        }
    }
}

impl RedConfig {
    /// The algorithm of 1993: weight 0.002, no gentle slope, drops 1 to 1/p packets apart, marks up to the threshold.
    pub fn paper() -> Self {
        Self {
            variant: RedVariant::Paper,
            weight: RedWeight::Fixed(0.002),
            max_p: 0.02,
            gentle: false,
            wait: false,
            mark_p: None,
            ..Self::default()
        }
    }

    /// Packets of mean size that the link sends in a second.
    pub fn packets_per_second(&self) -> f64 {
        self.rate.0 as f64 / (8.0 * f64::from(self.mean_packet))
    }

    /// The weight of the newest sample.
    pub fn weight(&self) -> f64 {
        let ptc = self.packets_per_second();
        let packets = match self.weight {
            RedWeight::Fixed(weight) => return weight,
            RedWeight::OneSecond => ptc,
            RedWeight::TenRtts => 10.0 * ptc * (3.0 * (self.link_delay.as_secs() + 1.0 / ptc)).max(0.1),
            RedWeight::TenthOfSecond => ptc / 10.0,
        };
        -libm::expm1(-1.0 / packets)
    }

    /// The two thresholds in packets.
    pub fn thresholds(&self) -> (f64, f64) {
        let automatic = || (self.target.as_secs() * self.packets_per_second() / 2.0).max(5.0);
        let min = self.min_threshold.unwrap_or_else(automatic);
        (min, self.max_threshold.unwrap_or(3.0 * min))
    }
}
