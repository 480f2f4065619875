//! The settings of PIE, and how each of the published ones moves the probability.
//!
//! Source: RFC 8033 §4.2 and appendix A; Linux `sch_pie`; the authors' ns-2 code of 2013. Differences of the three from one another, and of
//! these from them, stand in [`super`].

use crate::queue::Backlog;
use crate::{Ecn, Span, Time};

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PieVariant {
    /// RFC 8033.
    #[default]
    Rfc8033,
    /// Linux `sch_pie`.
    Linux,
    /// The authors' ns-2 code of 2013.
    Ns2Authors,
}

/// Where the queueing delay comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieDelay {
    /// The packets' own waiting times.
    Timestamps,
    /// The backlog divided by a measured departure rate.
    DepartureRate,
}

/// The settings of [`Pie`](super::Pie).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// Whose rules.
    pub variant: PieVariant,
    /// Most packets waiting; `MAX` means no limit.
    pub max_packets: u32,
    /// Most bytes waiting; `MAX` means no limit.
    pub max_bytes: u64,
    /// Queueing delay aimed at.
    pub target: Span,
    /// Time between two updates of the probability.
    pub update: Span,
    /// How long a burst gets in after a calm.
    pub burst: Span,
    /// Gain per second of delay above the target (Linux: in multiples of 1/16).
    pub alpha: f64,
    /// Gain per second of growth of the delay (Linux: in multiples of 1/16).
    pub beta: f64,
    /// Mean packet size in bytes (Linux: the MTU with its link-layer header). Two of them are always let in.
    pub mean_packet: u32,
    /// Whether the backlog counts as packets of the mean size instead of its bytes (ns-2's packet mode); departures are measured in bytes
    /// all the same.
    pub in_packets: bool,
    /// Whether larger packets are dropped more.
    pub by_size: bool,
    /// Whether drops are kept from clustering and from staying away (RFC 8033 section 5.4).
    pub derandomise: bool,
    /// Where the queueing delay comes from.
    pub delay: PieDelay,
    /// Bytes in the queue from which the departure rate is measured, and bytes in a measurement.
    pub rate_threshold: u32,
    /// Weight of the newest measurement of the departure rate.
    pub rate_weight: f64,
    /// Whether the probability rises by at most 2 % in an update from 10 % on.
    pub cap: bool,
    /// The delay at which PIE wakes up; `None`: it never sleeps.
    pub active_threshold: Option<Span>,
    /// ECT(1) and CE packets are let in without a test, and marked if they waited longer (ns-3's `UseL4s`).
    pub l4s_threshold: Option<Span>,
    /// Whether ECN-capable packets are marked.
    pub ecn: bool,
    /// They are dropped all the same from this probability on.
    pub mark_p: f64,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self::of(PieVariant::Rfc8033)
    }
}

impl PieConfig {
    /// The defaults of the variant.
    pub fn of(variant: PieVariant) -> Self {
        let rfc = Self {
            variant,
            max_packets: 1000,
            max_bytes: u64::MAX,
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            burst: Span::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: 1000,
            in_packets: false,
            by_size: false,
            derandomise: true,
            delay: PieDelay::Timestamps,
            rate_threshold: 16384,
            rate_weight: 0.5,
            cap: true,
            active_threshold: None,
            l4s_threshold: None,
            ecn: false,
            mark_p: 0.1,
        };
        match variant {
            PieVariant::Rfc8033 => rfc,
            PieVariant::Linux => Self { mean_packet: 1514, rate_weight: 0.125, ..rfc },
            PieVariant::Ns2Authors => Self {
                target: Span::from_millis(20),
                update: Span::from_millis(30),
                burst: Span::from_millis(100),
                derandomise: false,
                delay: PieDelay::DepartureRate,
                rate_threshold: 10_000,
                ..rfc
            },
        }
    }

    /// When the first update is due.
    pub(in crate::queue) fn first_update(&self) -> Time {
        let after = if self.variant == PieVariant::Linux { Span::from_millis(500) } else { self.update };
        Time::ZERO + after
    }

    /// The bytes that a backlog counts for.
    pub(in crate::queue) fn reckoned(&self, backlog: Backlog) -> u64 {
        if self.in_packets { u64::from(backlog.packets) * u64::from(self.mean_packet) } else { backlog.bytes }
    }

    /// Whether a packet is spared the test at its arrival.
    pub(in crate::queue) fn spares(&self, ecn: Ecn) -> bool {
        self.l4s_threshold.is_some() && matches!(ecn, Ecn::Ect1 | Ecn::Ce)
    }

    /// Whether a packet that was spared is to be marked when it leaves.
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

/// The span in seconds, rounded once: a published p of exactly 10 % depends on it.
pub(in crate::queue) fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e9
}

pub(super) const fn ticks(span: Span) -> u64 {
    span.0 >> 6
}
