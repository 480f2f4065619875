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
//! - Idle time begins when the link asks the empty queue (Ns2), or when the last packet leaves it (Paper).
//! - `feng` is the older adaptation by Feng et al. (1999) as ns-3 has it: max_p is doubled when the average rises above
//!   the thresholds and divided by three when it falls below them, once each time; it begins as if above.
//! - The hard limit is that of [`Fifo`](super::Fifo) (in bytes: what would exceed it; ns-2: what reached it).

mod config;

use super::inspect::Inspector;
use super::line::Line;
use super::{Backlog, Cx, QueueDiscipline};
use crate::probe::DropCause;
use crate::{Ecn, Packet, Time};
use rand::RngExt;

pub use config::{AdaptiveRed, FengRed, RedConfig, RedVariant, RedWeight};

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
    feng_is_above: bool,
    feng_is_below: bool,
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
            feng_is_above: true,
            feng_is_below: false,
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
        if let Some(feng) = self.config.feng {
            self.adapt_by_status(feng);
        }
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

    /// Feng's step: one each time that the average leaves the band between the thresholds at another end.
    fn adapt_by_status(&mut self, feng: FengRed) {
        if self.average > self.min && self.average < self.max {
            (self.feng_is_above, self.feng_is_below) = (false, false);
        } else if self.average < self.min && !self.feng_is_below {
            (self.feng_is_above, self.feng_is_below) = (false, true);
            self.max_p /= feng.shrink;
        } else if self.average > self.max && !self.feng_is_above {
            (self.feng_is_above, self.feng_is_below) = (true, false);
            self.max_p *= feng.grow;
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
        Self { line: Line::new(config.max_packets, config.max_bytes), core: Core::new(config) }
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
        config.ecn && packet.ecn() != Ecn::NotEct && config.mark_p.is_none_or(|limit| self.core.p_b <= limit)
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
            let cause = if verdict == Verdict::Forced { DropCause::Forced } else { DropCause::Early };
            cx.probe.dropped(cx.now, packet, cause, None);
            if self.line.is_empty() {
                self.core.idle_since = Some(cx.now);
            }
            return;
        }
        if mark && !self.line.is_full_for(size) {
            packet.mark();
            cx.probe.marked(cx.now, &packet);
        }
        if !self.line.push(packet, cx) {
            self.core.restart();
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let Some((arrived, packet)) = self.line.pop() else {
            self.core.idle_since.get_or_insert(cx.now);
            return None;
        };
        if self.line.is_empty() && self.core.config.variant == RedVariant::Paper {
            self.core.idle_since = Some(cx.now);
        }
        cx.probe.dequeued(cx.now, &packet, cx.now.since(arrived));
        Some(packet)
    }

    fn minds_emptiness(&self) -> bool {
        self.core.config.variant == RedVariant::Ns2
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
