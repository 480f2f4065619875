//! The settings of PIE, and how each of the published ones moves the probability.
//!
//! Source: RFC 8033 §4.2 and appendix A; Linux `sch_pie`; the authors' ns-2 code of 2013. Differences of the three from
//! one another, and of these from them, stand in [`super`].

use crate::queue::discipline::Backlog;
use crate::queue::pi::seconds;
use crate::{Bytes, Ecn, Span, Time, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published PIEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PieVariant")]
pub enum Variant {
    /// RFC 8033.
    #[default]
    Rfc8033,
    /// Linux `sch_pie`.
    Linux,
    /// The authors' ns-2 code of 2013.
    Ns2Authors,
}

/// Where PIE's queueing delay comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PieDelay")]
pub enum Delay {
    /// The packets' own waiting times.
    Timestamps,
    /// The backlog divided by a measured departure rate.
    Rate,
}

with_defaults! {
    /// PIE.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[schemars(rename = "PieConfig")]
    pub struct Config {
        /// Whose PIE.
        pub variant: Variant,
        /// Queueing delay aimed at; by default 15ms (`rfc8033`, `linux`) or 20ms (`ns2_authors`).
        pub target: Span = Span::from_millis(15),
        /// Time between two updates of the probability; by default 15ms (`rfc8033`, `linux`) or 30ms (`ns2_authors`).
        pub update: Span = Span::from_millis(15),
        /// Burst allowance after an idle period (RFC 8033 `MAX_BURST`); by default 150ms (`rfc8033`, `linux`) or 100ms
        /// (`ns2_authors`).
        pub burst: Span = Span::from_millis(150),
        /// Gain per second of delay above the target; `linux` rounds to 1/16.
        pub alpha: f64 = 0.125,
        /// Gain per second of growth of the delay; `linux` rounds to 1/16.
        pub beta: f64 = 1.25,
        /// Mean packet size, of which two are always let in; by default 1000B, or 1514B (`linux`).
        pub mean_packet: Bytes = Bytes(1000),
        /// Count the backlog as packets of `mean-packet` bytes, whatever their sizes (ns-2's packet mode). Departures
        /// are measured in bytes all the same.
        pub in_packets: bool,
        /// Drop larger packets more.
        pub by_size: bool,
        /// Derandomise drops (RFC 8033 §5.4); by default true, or false (`ns2_authors`).
        pub derandomise: bool = true,
        /// Where the queueing delay comes from; by default timestamps, or rate (`ns2_authors`).
        pub delay: Delay = Delay::Timestamps,
        /// Bytes that a measurement of the departure rate takes; by default 16384B, or 10000B (`ns2_authors`).
        pub rate_threshold: Bytes = Bytes(16_384),
        /// Weight of the newest measurement of the departure rate; by default 0.5, or 0.125 (`linux`).
        pub rate_weight: f64 = 0.5,
        /// Let the probability rise by at most 2 % in an update from 10 % on.
        pub cap: bool = true,
        /// Do nothing until the delay is this long, and again after a calm (ns-3); PIE never sleeps if absent.
        pub active_threshold: Option<Span>,
        /// Let ECT(1) and CE packets in without a test, and mark them if they waited longer than this (ns-3's L4S
        /// mode); no packet is spared if absent.
        pub l4s_threshold: Option<Span>,
        /// Mark ECN-capable packets instead of dropping them.
        pub ecn: bool,
        /// Drop them all the same from this probability on.
        pub mark_p: f64 = 0.1,
    }
}

impl Config {
    /// The defaults of the variant.
    pub fn of(variant: Variant) -> Self {
        let rfc = Self { variant, ..Self::default() };
        match variant {
            Variant::Rfc8033 => rfc,
            Variant::Linux => Self { mean_packet: Bytes(1514), rate_weight: 0.125, ..rfc },
            Variant::Ns2Authors => Self {
                target: Span::from_millis(20),
                update: Span::from_millis(30),
                burst: Span::from_millis(100),
                derandomise: false,
                delay: Delay::Rate,
                rate_threshold: Bytes(10_000),
                ..rfc
            },
        }
    }

    /// When the first update is due.
    pub(in crate::queue) fn first_update(&self) -> Time {
        let after = if self.variant == Variant::Linux { Span::from_millis(500) } else { self.update };
        Time::ZERO + after
    }

    /// The backlog in bytes as PIE counts them.
    pub(in crate::queue) fn backlog_bytes(&self, backlog: Backlog) -> u64 {
        if self.in_packets { u64::from(backlog.packets) * self.mean_packet.0 } else { backlog.bytes }
    }

    /// Whether a packet is let in without a test (ns-3's L4S mode).
    pub(in crate::queue) fn bypasses_aqm(&self, ecn: Ecn) -> bool {
        self.l4s_threshold.is_some() && matches!(ecn, Ecn::Ect1 | Ecn::Ce)
    }

    /// Whether a packet that was let in so is to be marked when it leaves.
    pub(in crate::queue) fn marks_at_departure(&self, ecn: Ecn, waited: Span) -> bool {
        ecn == Ecn::Ect1 && self.l4s_threshold.is_some_and(|threshold| waited > threshold)
    }

    /// The probability after an update by RFC 8033's rules; delays in seconds.
    pub fn rfc8033_step(&self, p: f64, delay: f64, last_delay: f64) -> f64 {
        let divisor = match p {
            _ if p < 1e-6 => 2048.0,
            _ if p < 1e-5 => 512.0,
            _ if p < 1e-4 => 128.0,
            _ if p < 1e-3 => 32.0,
            _ if p < 1e-2 => 8.0,
            _ if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let next = p + self.change(p, delay, last_delay, divisor);
        if delay == 0.0 && last_delay == 0.0 { (next * 0.98).clamp(0.0, 1.0) } else { next.clamp(0.0, 1.0) }
    }

    /// The probability after an update by the rules of the authors' ns-2 code; delays in seconds.
    pub fn ns2_step(&self, p: f64, delay: f64, last_delay: f64) -> f64 {
        let divisor = match p {
            _ if p < 1e-3 => 32.0,
            _ if p < 1e-2 => 8.0,
            _ if p < 0.1 => 2.0,
            _ if p < 1.0 => 0.5,
            _ if p < 10.0 => 0.125,
            _ => 0.03125,
        };
        let next = p + self.change(p, delay, last_delay, divisor);
        let next = match delay {
            _ if delay == 0.0 && last_delay == 0.0 => next * 0.98,
            _ if delay > 0.2 => next + 0.02,
            _ => next,
        };
        next.max(0.0)
    }

    fn change(&self, p: f64, delay: f64, last_delay: f64, divisor: f64) -> f64 {
        let pull = self.alpha * (delay - seconds(self.target)) + self.beta * (delay - last_delay);
        let change = pull / divisor;
        if p >= 0.1 && self.cap { change.min(0.02) } else { change }
    }

    /// The probability after an update by Linux's rules, in units of 1 / [`PIE_LINUX_ONE`]; delays in ticks of 64 ns.
    pub fn linux_step(&self, p: u64, delay: u64, last_delay: u64, idle: bool) -> u64 {
        let gain = |sixteenths: f64| (((sixteenths * 16.0 + 0.5) as u64) * (PIE_LINUX_ONE / TICKS_PER_SEC)) >> 4;
        // From 10 % down the gains are halved, and quartered again at every further power of ten down to 1e-6.
        let steps = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
        let below = steps.iter().take_while(|step| p < PIE_LINUX_ONE / **step).count();
        let shift = if below == 0 { 0 } else { 2 * below - 1 };
        let pull = |gain: u64, ticks: i64| ((gain >> shift) as i64).saturating_mul(ticks);
        let (delay_i, target) = (delay as i64, ticks(self.target) as i64);
        let pulls = [pull(gain(self.alpha), delay_i - target), pull(gain(self.beta), delay_i - last_delay as i64)];
        let mut change = pulls[0].saturating_add(pulls[1]);
        if self.cap && change > (PIE_LINUX_ONE / 50) as i64 && p >= PIE_LINUX_ONE / 10 {
            change = (PIE_LINUX_ONE / 100 * 2) as i64;
        }
        if delay > ticks(Span::from_millis(250)) {
            change = change.saturating_add((PIE_LINUX_ONE / 50) as i64);
        }
        if change > 0 {
            return p.checked_add(change as u64).unwrap_or(PIE_LINUX_ONE);
        }
        let next = p.saturating_sub(change.unsigned_abs());
        if delay == 0 && last_delay == 0 && idle { next - next / 64 } else { next }
    }
}

/// Probability 1 in Linux's units.
pub const PIE_LINUX_ONE: u64 = u64::MAX >> 8;
const TICKS_PER_SEC: u64 = 1_000_000_000 >> 6;

pub(super) const fn ticks(span: Span) -> u64 {
    span.0 >> 6
}
