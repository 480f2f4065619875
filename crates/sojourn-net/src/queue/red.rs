//! Random Early Detection and Adaptive RED: drop or mark with a probability that grows with the average queue.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993); Floyd, Gummadi and
//! Shenker, "Adaptive RED" (2001); the rules of ns-2.35, whose order of steps `RedVariant::Ns2` keeps: average, then
//! the step of max_p, then the count, the decision, and last the limit. Differences:
//!
//! - Ns2: the first packet at or above the lower threshold is never dropped; bytes weigh after the probability has been
//!   made uniform; the slope of `gentle` keeps the initial max_p; max_p moves at arrivals, so not while nothing arrives.
//! - Paper: bytes weigh before; the slope follows max_p; max_p moves by a timer, exact to the nanosecond. `paper()` is
//!   the algorithm of 1993; `wait` and `gentle`, which came later, remain settings.
//! - ns-2 starts the idle time when the link asks an empty queue. A queue here is not asked then, so Ns2 adds the
//!   transmission time of the last packet at the configured rate, which is the same instant on a link of constant rate.
//! - The hard limit is that of [`Fifo`](super::Fifo) (in bytes: what would exceed it; ns-2: what reached it).

use super::line::Line;
use super::{Backlog, Cx, QueueDiscipline};
use crate::probe::DropCause;
use crate::{Ecn, Packet, Rate, Span, Time};
use rand::RngExt;

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

/// The settings of [`Red`].
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
    /// They are dropped all the same from this probability on; `None`: only when the average forces it.
    pub mark_p: Option<f64>,
    /// Adaptive RED.
    pub adaptive: Option<AdaptiveRed>,
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

/// What RED says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accept,
    /// The random test hit.
    Early,
    /// The average is too long for any test.
    Forced,
}

/// The state of the decision, without the queue.
struct Core {
    config: RedConfig,
    min: f64,
    max: f64,
    weight: f64,
    packets_per_ns: f64,
    bottom: f64,
    max_p: f64,
    gentle_max_p: f64,
    average: f64,
    count: i64,
    count_bytes: u64,
    /// Ns2: whether the average was above the lower threshold at the last arrival.
    above: bool,
    /// The last max_p step (Ns2) or the next (Paper).
    step: Time,
    idle_since: Option<Time>,
    p_b: f64,
    p_a: f64,
}

impl Core {
    fn new(config: RedConfig) -> Self {
        let unit = if config.in_bytes { f64::from(config.mean_packet) } else { 1.0 };
        let (min, max) = config.thresholds();
        let bottom = config.adaptive.and_then(|a| a.bottom).unwrap_or((80_000.0 / config.rate.0 as f64).min(0.01));
        let timer = config.adaptive.filter(|_| config.variant == RedVariant::Paper);
        Self {
            min: min * unit,
            max: max * unit,
            weight: config.weight(),
            packets_per_ns: config.packets_per_second() * 1e-9,
            bottom,
            max_p: config.max_p,
            gentle_max_p: config.max_p,
            average: 0.0,
            count: if config.variant == RedVariant::Paper { -1 } else { 0 },
            count_bytes: 0,
            above: false,
            step: timer.map_or(Time::ZERO, |a| Time::ZERO + a.interval),
            idle_since: Some(Time::ZERO),
            p_b: 0.0,
            p_a: 0.0,
            config,
        }
    }

    /// Decides about an arrival that finds `backlog` waiting. `hit` is the random test with the probability given to it.
    fn decide(&mut self, now: Time, backlog: Backlog, size: u32, hit: impl FnOnce(f64) -> bool) -> Verdict {
        let queue = if self.config.in_bytes { backlog.bytes } else { u64::from(backlog.packets) };
        self.sample(now, queue as f64);
        match self.config.variant {
            RedVariant::Ns2 => {
                if self.config.adaptive.is_some_and(|a| now > self.step + a.interval) && self.adapt() {
                    self.step = now;
                }
                self.count += 1;
                self.count_bytes += u64::from(size);
                if self.average < self.min || queue <= 1 {
                    self.above = false;
                    return Verdict::Accept;
                }
                if self.config.mark_p.is_none() && self.average >= self.forced() {
                    return Verdict::Forced;
                }
                if !self.above {
                    self.above = true;
                    self.count = 1;
                    self.count_bytes = u64::from(size);
                    return Verdict::Accept;
                }
            }
            RedVariant::Paper => {
                if self.average < self.min {
                    self.count = -1;
                    return Verdict::Accept;
                }
                if self.average >= self.forced() {
                    self.restart();
                    return Verdict::Forced;
                }
                self.count += 1;
            }
        }
        self.test(size);
        if self.p_a > 0.0 && hit(self.p_a) {
            self.restart();
            return Verdict::Early;
        }
        Verdict::Accept
    }

    /// Moves the average; an idle time counts as that many packets that found the queue empty.
    fn sample(&mut self, now: Time, queue: f64) {
        let idle =
            self.idle_since.take().map_or(0.0, |since| (now.since(since).0 as f64 * self.packets_per_ns).floor());
        let keep = 1.0 - self.weight;
        if idle > 0.0 {
            let samples = if self.config.variant == RedVariant::Paper { idle } else { idle + 1.0 };
            self.average *= libm::pow(keep, samples);
        } else if queue > 0.0 || self.config.variant == RedVariant::Ns2 {
            self.average *= keep;
        }
        self.average += self.weight * queue;
    }

    /// One step of max_p if the average asks for it.
    fn adapt(&mut self) -> bool {
        let Some(adaptive) = self.config.adaptive else { return false };
        let part = 0.4 * (self.max - self.min);
        let (may_grow, may_shrink) = match self.config.variant {
            RedVariant::Ns2 => (self.max_p < adaptive.top, self.max_p > self.bottom),
            RedVariant::Paper => (self.max_p <= adaptive.top, self.max_p >= self.bottom),
        };
        if self.average < self.min + part && may_shrink {
            self.max_p *= adaptive.beta;
        } else if self.average > self.max - part && may_grow {
            self.max_p += adaptive.alpha.min(self.max_p / 4.0);
        } else {
            return false;
        }
        if self.config.variant == RedVariant::Paper {
            self.gentle_max_p = self.max_p;
        }
        true
    }

    /// The average from which nothing gets in.
    fn forced(&self) -> f64 {
        if self.config.gentle { 2.0 * self.max } else { self.max }
    }

    /// Sets the probability of this packet: p_b from the average, p_a from the packets since the last drop.
    fn test(&mut self, size: u32) {
        let p = if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else if self.config.gentle {
            (1.0 - self.gentle_max_p) / self.max * self.average + (2.0 * self.gentle_max_p - 1.0)
        } else {
            1.0
        };
        let mean = self.config.mean_packet;
        let relative = if self.config.by_size { f64::from(size) / f64::from(mean) } else { 1.0 };
        if self.config.variant == RedVariant::Paper {
            self.p_b = (p * relative).min(1.0);
            self.p_a = uniform(self.p_b, self.count as f64, self.config.wait);
        } else {
            let count = if self.config.by_size { (self.count_bytes / u64::from(mean)) as i64 } else { self.count };
            self.p_b = p.min(1.0);
            self.p_a = uniform(self.p_b, count as f64, self.config.wait);
            if self.p_a < 1.0 {
                self.p_a = (self.p_a * relative).min(1.0);
            }
        }
    }

    /// Counts from a drop or mark.
    fn restart(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}

/// Turns a constant probability into gaps of uniform length, for a packet that is the `count`-th since the last drop.
fn uniform(p: f64, count: f64, wait: bool) -> f64 {
    let expected = count * p;
    if wait && expected < 1.0 {
        0.0
    } else if wait && expected < 2.0 {
        p / (2.0 - expected)
    } else if !wait && expected < 1.0 {
        (p / (1.0 - expected)).min(1.0)
    } else {
        1.0
    }
}

/// The RED queue, adaptive or not.
pub struct Red<P> {
    line: Line<P>,
    core: Core,
}

impl<P: Packet> Red<P> {
    /// A queue at rest at time zero.
    pub fn new(config: RedConfig) -> Self {
        Self { line: Line::with_capacity(config.max_packets.min(1024)), core: Core::new(config) }
    }

    /// The average queue, in packets or bytes as configured.
    pub fn average(&self) -> f64 {
        self.core.average
    }

    /// The probability at the upper threshold, which Adaptive RED moves.
    pub fn max_p(&self) -> f64 {
        self.core.max_p
    }

    fn may_mark(&self, packet: &P) -> bool {
        let config = &self.core.config;
        config.ecn && packet.ecn() != Ecn::NotEct && config.mark_p.is_none_or(|limit| self.core.p_b < limit)
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Red<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let size = packet.size();
        let rng = &mut *cx.rng;
        let verdict = self.core.decide(cx.now, self.line.backlog(), size, |p| rng.random::<f64>() <= p);
        let mark = verdict == Verdict::Early && self.may_mark(&packet);
        if verdict != Verdict::Accept && !mark {
            self.core.restart();
            cx.probe.dropped(cx.now, packet, DropCause::Early, None);
        } else if self.line.packets() >= self.core.config.max_packets as usize
            || self.line.bytes() + u64::from(size) > self.core.config.max_bytes
        {
            self.core.restart();
            cx.probe.dropped(cx.now, packet, DropCause::Full, None);
        } else {
            if mark {
                packet.mark();
                cx.probe.marked(cx.now, &packet);
            }
            self.line.push(packet, cx);
        }
        if self.line.is_empty() {
            self.core.idle_since = Some(cx.now);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let (waited, packet) = self.line.pop(cx.now)?;
        if self.line.is_empty() {
            let transmission = match self.core.config.variant {
                RedVariant::Ns2 => self.core.config.rate.transmission(u64::from(packet.size())),
                RedVariant::Paper => Span::ZERO,
            };
            self.core.idle_since = Some(cx.now + transmission);
        }
        cx.probe.dequeued(cx.now, &packet, waited);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.line.backlog()
    }

    fn wake_at(&self) -> Option<Time> {
        let timer = self.core.config.variant == RedVariant::Paper && self.core.config.adaptive.is_some();
        timer.then_some(self.core.step)
    }

    fn wake(&mut self, _: &mut Cx<'_, P>) {
        if let Some(adaptive) = self.core.config.adaptive {
            self.core.adapt();
            self.core.step += adaptive.interval;
        }
    }
}

#[cfg(test)]
mod tests;
