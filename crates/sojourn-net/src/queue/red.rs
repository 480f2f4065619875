//! Random Early Detection and Adaptive RED: drop or mark with a probability that grows with the average queue.
//!
//! How it works: At each arrival the average queue is updated: avg ← (1 − weight) · avg + weight · queue, where an idle
//! time counts as so many arrivals at an empty queue. Below the threshold `min` every packet is let in. Between `min`
//! and `max` the probability p_b rises linearly from 0 to `max-p`, and with `gentle` on from `max-p` to 1 between `max`
//! and twice `max`. p_a spreads drops evenly: it grows with the number of packets since the last drop, so that gaps are
//! uniformly distributed instead of geometrically. Above the band every packet is dropped. Adaptive RED also moves
//! `max-p` every `interval`, by additive increase and multiplicative decrease, so that the average settles halfway
//! between the thresholds.
//!
//! Use it when: you reproduce a study with RED or ARED, or model older router hardware. Thresholds are in packets and
//! so suit one rate only; for links whose rate changes take an AQM that measures delay.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993); Floyd, Gummadi and
//! Shenker, "Adaptive RED" (2001); the rules of ns-2.35, whose order of steps `Variant::Ns2` keeps: average, then
//! the step of max_p, then the count, the decision, and last the limit. Differences:
//!
//! - Ns2: the first packet at or above the lower threshold is never dropped; bytes weigh after the probability has been
//!   made uniform; the slope of `gentle` keeps the initial max_p; max_p moves at arrivals, so not while nothing
//!   arrives.
//! - Paper: bytes weigh before; the slope follows max_p; max_p moves by a timer, exact to the nanosecond. `paper()` is
//!   the algorithm of 1993; `wait` and `gentle`, which came later, remain settings.
//! - Idle time begins when the link asks the empty queue (Ns2), or when the last packet leaves it (Paper).
//! - `feng` is the older adaptation by Feng et al. (1999) as ns-3 has it: max_p is doubled when the average rises above
//!   the thresholds and divided by three when it falls below them, once each time; it begins as if above.
//! - The hard limit is that of [`Fifo`](super::Fifo) (in bytes: what would exceed it; ns-2: what reached it).

mod parameters;

use super::config::{self, check_gain, check_packet, check_probability, check_span};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::inspect::Inspector;
use super::packet_queue::PacketQueue;
use crate::probe::DropCause;
use crate::{Ecn, Invalid, Packet, Rate, Span, Time, refuse_if};
use rand::RngExt;

pub use parameters::{Averaging, Config, Variant};

/// What Feng's RED multiplies max_p by when the average has risen above the thresholds, and divides it by below them.
const FENG: (f64, f64) = (2.0, 3.0);

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
#[derive(Default)]
struct Core {
    config: Config,
    min: f64,
    max: f64,
    weight: f64,
    /// Packets of mean size that the link sends in a nanosecond.
    packets_per_ns: f64,
    /// `max_p` does not shrink from here.
    bottom: f64,
    max_p: f64,
    /// The `max_p` with which the gentle slope begins.
    gentle_max_p: f64,
    /// The average queue.
    average: f64,
    /// Packets since the last drop or mark; −1 below the lower threshold (Paper).
    count: i64,
    /// Their bytes.
    count_bytes: u64,
    /// Ns2: whether the average was above the lower threshold at the last arrival.
    above: bool,
    feng_is_above: bool,
    feng_is_below: bool,
    /// The last max_p step (Ns2) or the next (Paper).
    step: Time,
    idle_since: Option<Time>,
    /// The probability by the average.
    p_b: f64,
    /// The probability of this packet, so that gaps between drops are uniform.
    p_a: f64,
}

impl Core {
    fn new(config: &Config, rate: Rate) -> Self {
        let unit = if config.in_bytes { config.mean_packet.0 as f64 } else { 1.0 };
        let (min, max) = config.thresholds(rate);
        let timer = config.adaptive && config.variant == Variant::Paper;
        Self {
            min: min * unit,
            max: max * unit,
            weight: config.weight(rate),
            packets_per_ns: config.packets_per_second(rate) * 1e-9,
            bottom: config.bottom.unwrap_or((80_000.0 / rate.0 as f64).min(0.01)),
            max_p: config.max_p,
            gentle_max_p: config.max_p,
            count: if config.variant == Variant::Paper { -1 } else { 0 },
            feng_is_above: true,
            step: if timer { Time::ZERO + config.interval } else { Time::ZERO },
            idle_since: Some(Time::ZERO),
            config: *config,
            ..Self::default()
        }
    }

    /// Decides about an arrival that finds `backlog` waiting. `hit` is the random test with the probability given to
    /// it.
    fn decide(&mut self, now: Time, backlog: Backlog, size: u32, hit: impl FnOnce(f64) -> bool) -> Verdict {
        let queue = if self.config.in_bytes { backlog.bytes } else { u64::from(backlog.packets) };
        self.sample(now, queue as f64);
        if self.config.feng {
            self.adapt_by_status();
        }
        match self.config.variant {
            Variant::Ns2 => {
                if self.config.adaptive && now > self.step + self.config.interval && self.adapt() {
                    self.step = now;
                }
                self.count += 1;
                self.count_bytes += u64::from(size);
                if self.average < self.min || queue <= 1 {
                    self.above = false;
                    return Verdict::Accept;
                }
                if self.config.forced && self.average >= self.forced() {
                    return Verdict::Forced;
                }
                if !self.above {
                    self.above = true;
                    self.count = 1;
                    self.count_bytes = u64::from(size);
                    return Verdict::Accept;
                }
            }
            Variant::Paper => {
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
            let samples = if self.config.variant == Variant::Paper { idle } else { idle + 1.0 };
            self.average *= libm::pow(keep, samples);
        } else if queue > 0.0 || self.config.variant == Variant::Ns2 {
            self.average *= keep;
        }
        self.average += self.weight * queue;
    }

    /// One step of max_p if the average asks for it.
    fn adapt(&mut self) -> bool {
        let Config { alpha, beta, top, .. } = self.config;
        let part = 0.4 * (self.max - self.min);
        let (may_grow, may_shrink) = match self.config.variant {
            Variant::Ns2 => (self.max_p < top, self.max_p > self.bottom),
            Variant::Paper => (self.max_p <= top, self.max_p >= self.bottom),
        };
        if self.average < self.min + part && may_shrink {
            self.max_p *= beta;
        } else if self.average > self.max - part && may_grow {
            self.max_p += alpha.min(self.max_p / 4.0);
        } else {
            return false;
        }
        if self.config.variant == Variant::Paper {
            self.gentle_max_p = self.max_p;
        }
        true
    }

    /// Feng's step: one each time that the average leaves the band between the thresholds at another end.
    fn adapt_by_status(&mut self) {
        if self.average > self.min && self.average < self.max {
            (self.feng_is_above, self.feng_is_below) = (false, false);
        } else if self.average < self.min && !self.feng_is_below {
            (self.feng_is_above, self.feng_is_below) = (false, true);
            self.max_p /= FENG.1;
        } else if self.average > self.max && !self.feng_is_above {
            (self.feng_is_above, self.feng_is_below) = (true, false);
            self.max_p *= FENG.0;
        }
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
        let mean = self.config.mean_packet.0;
        let relative = if self.config.by_size { f64::from(size) / mean as f64 } else { 1.0 };
        if self.config.variant == Variant::Paper {
            self.p_b = (p * relative).min(1.0);
            self.p_a = uniform(self.p_b, self.count as f64, self.config.wait);
        } else {
            let count = if self.config.by_size { (self.count_bytes / mean) as i64 } else { self.count };
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
/// At most 1, as in ns-2's `modify_p`.
fn uniform(p: f64, count: f64, wait: bool) -> f64 {
    let expected = count * p;
    if wait && expected < 1.0 {
        return 0.0;
    }
    let left = if wait { 2.0 } else { 1.0 } - expected;
    if left > 0.0 { (p / left).min(1.0) } else { 1.0 }
}

impl Config {
    /// Whether thresholds or weight follow from the link's rate.
    pub(super) fn needs_rate(&self) -> bool {
        self.rate.is_none() && (self.min.is_none() || self.averages_over().is_some())
    }
}

impl config::Config for Config {
    fn acts_at(&self, rate: Rate) -> Vec<(&'static str, Option<Span>)> {
        let (min, max) = self.thresholds(rate);
        let waits = |packets: f64| Some(Span::from_secs_f64(packets / self.packets_per_second(rate)));
        vec![("min", waits(min)), ("max", waits(max))]
    }

    fn variants() -> Vec<Self> {
        vec![Self::default(), Self::paper()]
    }

    fn check(&self) -> Result<(), Invalid> {
        refuse_if!(!(self.max_p > 0.0 && self.max_p <= 1.0), "max-p", "{} is not a probability above 0", self.max_p);
        let least = self.min.unwrap_or(f64::MIN_POSITIVE);
        let rise = least.is_finite() && least > 0.0 && self.max.is_none_or(|max| max.is_finite() && max > least);
        refuse_if!(!rise, "min", "thresholds are packets: min above 0, max above min");
        let alone = self.max.is_some() && self.min.is_none();
        refuse_if!(alone, "max", "an upper threshold needs a lower one: give min too");
        let both = self.weight.is_some() && self.averaging.is_some();
        refuse_if!(both, "averaging", "the weight is given: give one or the other");
        refuse_if!(self.adaptive && self.feng, "feng", "adaptive moves max-p already: give one or the other");
        let idle = self.mark_p.is_some() && self.forced;
        refuse_if!(idle, "mark-p", "has no effect where drops are forced: write forced = false");
        check_packet("mean-packet", self.mean_packet)?;
        check_span("target", self.target)?;
        check_span("interval", self.interval)?;
        let optional = [("weight", self.weight), ("mark-p", self.mark_p), ("bottom", self.bottom)];
        for (key, p) in optional.into_iter().filter_map(|(key, p)| p.map(|p| (key, p))) {
            check_probability(key, p)?;
        }
        check_probability("top", self.top)?;
        check_gain("alpha", self.alpha)?;
        check_probability("beta", self.beta)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), rate: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Red::new(limit.0, limit.1, self, rate))
    }
}

/// The RED queue, adaptive or not.
pub struct Red<P> {
    waiting: PacketQueue<P>,
    core: Core,
}

impl<P: Packet> Red<P> {
    /// A queue at rest at time zero that holds at most `max_packets` packets and `max_bytes` bytes (`MAX` of the type
    /// means no limit), on a link of this rate unless the settings give another.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config, rate: Rate) -> Self {
        let core = Core::new(config, config.rate.unwrap_or(rate));
        Self { waiting: PacketQueue::new(max_packets, max_bytes), core }
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
        config.ecn && packet.ecn() != Ecn::NotEct && config.mark_limit().is_none_or(|limit| self.core.p_b <= limit)
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Red<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let size = packet.size();
        let rng = &mut *cx.rng;
        let verdict = self.core.decide(cx.now, self.waiting.backlog(), size, |p| rng.random::<f64>() <= p);
        let mark = verdict == Verdict::Early && self.may_mark(&packet);
        if verdict != Verdict::Accept && !mark {
            self.core.restart();
            let cause = if verdict == Verdict::Forced { DropCause::Forced } else { DropCause::Early };
            cx.drop_arriving(packet, cause);
            if self.waiting.is_empty() {
                self.core.idle_since = Some(cx.now);
            }
            return;
        }
        if mark && !self.waiting.is_full_for(size) {
            cx.mark(&mut packet);
        }
        if !self.waiting.push(packet, cx) {
            self.core.restart();
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let Some((arrived, packet)) = self.waiting.pop() else {
            self.core.idle_since.get_or_insert(cx.now);
            return None;
        };
        if self.waiting.is_empty() && self.core.config.variant == Variant::Paper {
            self.core.idle_since = Some(cx.now);
        }
        Some(cx.deliver(arrived, packet))
    }

    fn wants_idle_dequeue(&self) -> bool {
        self.core.config.variant == Variant::Ns2
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        let core = &mut self.core;
        inspector.see("avg", &mut core.average);
        inspector.see("max_p", &mut core.max_p);
        inspector.see("p_b", &mut core.p_b);
        inspector.see("p_a", &mut core.p_a);
        inspector.see("count", &mut core.count);
        inspector.see("count_bytes", &mut core.count_bytes);
        inspector.see("above", &mut core.above);
        inspector.see("last_step", &mut core.step);
        inspector.see("idle_since", &mut core.idle_since);
        inspector.tell("weight", core.weight);
        inspector.tell("min", core.min);
        inspector.tell("max", core.max);
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn wake_at(&self) -> Option<Time> {
        let timer = self.core.config.variant == Variant::Paper && self.core.config.adaptive;
        timer.then_some(self.core.step)
    }

    fn wake(&mut self, _: &mut Cx<'_, P>) {
        if self.core.config.adaptive {
            self.core.adapt();
            self.core.step += self.core.config.interval;
        }
    }
}

#[cfg(test)]
mod tests;
