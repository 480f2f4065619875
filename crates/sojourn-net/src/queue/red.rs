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
mod tests {
    use super::*;
    use crate::queue::check;
    use crate::queue::script::{Script, ms, packet};
    use proptest::prelude::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{found} is not {expected}");
    }

    /// Thresholds of 5 and 15 packets of 1000 bytes, weight 0.1, 2 Mbit/s.
    fn small() -> RedConfig {
        RedConfig {
            max_packets: 100,
            mean_packet: 1000,
            rate: Rate(2_000_000),
            min_threshold: Some(5.0),
            max_threshold: Some(15.0),
            weight: RedWeight::Fixed(0.1),
            ..RedConfig::default()
        }
    }

    /// Probabilities of the gaps between drops when p_b is constant.
    fn gaps(p: f64, wait: bool) -> Vec<f64> {
        let mut left = 1.0;
        let of_gap = |n: u32| {
            let here = uniform(p, f64::from(n), wait);
            let gap = left * here;
            left -= gap;
            gap
        };
        (1..=45).map(of_gap).collect()
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        for (n, gap) in (1..).zip(gaps(0.05, true)) {
            assert!((gap - if (20..40).contains(&n) { 0.05 } else { 0.0 }).abs() < 1e-9, "wait: gap {n} has {gap}");
        }
        for (n, gap) in (1..).zip(gaps(0.05, false)) {
            assert!((gap - if n < 20 { 1.0 / 19.0 } else { 0.0 }).abs() < 1e-2 * 0.05, "gap {n} has {gap}");
        }
    }

    #[test]
    fn automatic_settings_follow_the_link() {
        #[rustfmt::skip]
        let rows = [
            (500_000, 1000, 10, 62.5, [0.015872680, 0.014705615, 0.147856211], 5.0, 15.0),
            (2_000_000, 1000, 10, 250.0, [0.003992011, 0.003992011, 0.039210561], 5.0, 15.0),
            (2_000_000, 1000, 50, 250.0, [0.003992011, 0.003992011, 0.039210561], 6.25, 18.75),
            (2_000_000, 500, 5, 500.0, [0.001998001, 0.001998001, 0.019801327], 5.0, 15.0),
            (1_500_000, 500, 5, 375.0, [0.002663114, 0.002663114, 0.026314251], 5.0, 15.0),
            (155_000_000, 1000, 5, 19375.0, [0.000051612, 0.000051612, 0.000515996], 48.4375, 145.3125),
        ];
        for (rate, mean_packet, target, ptc, weights, min, max) in rows {
            let of = |weight| RedConfig {
                rate: Rate(rate),
                mean_packet,
                target: Span::from_millis(target),
                weight,
                ..RedConfig::default()
            };
            let all = [RedWeight::OneSecond, RedWeight::TenRtts, RedWeight::TenthOfSecond];
            for (weight, expected) in all.into_iter().zip(weights) {
                assert!((of(weight).weight() - expected).abs() < 6e-10, "{weight:?}: {}", of(weight).weight());
            }
            assert_eq!(of(RedWeight::TenRtts).packets_per_second(), ptc);
            assert_eq!(of(RedWeight::TenRtts).thresholds(), (min, max));
        }
    }

    /// Lets one packet arrive when the average is (and stays) the given one.
    fn arrive_at_average(core: &mut Core, seconds: f64, average: f64) {
        core.weight = 0.0;
        core.average = average;
        core.idle_since = None;
        let now = Time::ZERO + Span::from_secs_f64(seconds);
        core.decide(now, Backlog { packets: 1, bytes: 1000 }, 1000, |_| false);
    }

    #[test]
    fn max_p_moves_at_arrivals() {
        let mut core = Core::new(RedConfig { adaptive: Some(AdaptiveRed::default()), ..small() });
        let steps = [
            (0.2, 12.0, 0.1),
            (0.5, 12.0, 0.1),
            (0.51, 12.0, 0.11),
            (0.9, 12.0, 0.11),
            (1.02, 12.0, 0.12),
            (1.6, 10.9, 0.12),
            (2.2, 8.9, 0.108),
            (2.8, 8.9, 0.0972),
            (3.4, 11.1, 0.1072),
            (4.0, 4.0, 0.09648),
        ];
        for (seconds, average, max_p) in steps {
            arrive_at_average(&mut core, seconds, average);
            close(core.max_p, max_p);
        }
    }

    #[test]
    fn max_p_rises_above_the_band_and_falls_below_it() {
        let thresholds = RedConfig { min_threshold: Some(100.0), max_threshold: Some(200.0), ..small() };
        let mut core = Core::new(RedConfig { adaptive: Some(AdaptiveRed::default()), ..thresholds });
        arrive_at_average(&mut core, 0.6, 180.0);
        close(core.max_p, 0.11);
        arrive_at_average(&mut core, 1.2, 120.0);
        close(core.max_p, 0.099);
        arrive_at_average(&mut core, 1.8, 150.0);
        close(core.max_p, 0.099);
    }

    #[test]
    fn the_paper_moves_max_p_by_a_timer() {
        let config = RedConfig { variant: RedVariant::Paper, adaptive: Some(AdaptiveRed::default()), ..small() };
        let mut red = Red::new(config);
        let mut script = Script::new();
        red.core.average = 14.0;
        assert_eq!(red.wake_at(), Some(ms(500)));
        script.at(ms(500), |cx| red.wake(cx));
        close(red.max_p(), 0.11);
        assert_eq!(red.wake_at(), Some(ms(1000)));
        red.core.average = 4.0;
        script.at(ms(1000), |cx| red.wake(cx));
        close(red.max_p(), 0.099);
        assert_eq!(red.core.gentle_max_p, red.max_p());
    }

    /// 40 arrivals 2 ms apart, departures at 4.5 ms and every 6 ms from then on, given random numbers.
    fn ramp(config: RedConfig) -> (Vec<[f64; 4]>, Vec<u64>) {
        let mut red = Red::new(config);
        let mut script = Script::new();
        let mut trace = Vec::new();
        for k in 0..40 {
            let now = ms(2 * k);
            while script.departures < 13 && Time(4_500_000 + 6_000_000 * script.departures) < now {
                script.at(Time(4_500_000 + 6_000_000 * script.departures), |cx| red.dequeue(cx));
                script.departures += 1;
            }
            script.draw = [0.07, 0.9, 0.5, 0.02, 0.3][k as usize % 5];
            script.at(now, |cx| red.enqueue(packet(k as usize, 1000), cx));
            trace.push([red.core.average, red.core.p_b, red.core.p_a, red.core.count as f64]);
        }
        assert!(script.fates.dropped.iter().all(|(_, cause)| *cause == DropCause::Early));
        (trace, script.fates.dropped.iter().map(|(number, _)| 2 * *number as u64).collect())
    }

    #[test]
    fn decisions_with_wait() {
        let (trace, dropped) = ramp(small());
        for (k, average) in [0.0, 0.1, 0.29, 0.461, 0.7149, 1.04341].into_iter().enumerate() {
            close(trace[k][0], average);
        }
        assert!(trace[14][0] < 5.0);
        close(trace[15][0], 5.490282);
        assert_eq!(trace[15][3], 1.0);
        assert_eq!(dropped, [56, 70, 78]);
        assert!((trace[34][2] - 0.252196).abs() < 1e-6);
        let expected = [
            (28, 13.286137, 0.082861, 0.098651),
            (35, 17.310487, 0.238629, 0.724007),
            (39, 19.384211, 0.363053, 0.662759),
        ];
        for (k, average, p_b, p_a) in expected {
            assert!((trace[k][0] - average).abs() < 1e-6);
            assert!((trace[k][1] - p_b).abs() < 1e-6);
            assert!((trace[k][2] - p_a).abs() < 1e-6, "{} is not {p_a}", trace[k][2]);
        }
        assert_eq!((trace[27][3], trace[34][3], trace[38][3]), (13.0, 6.0, 3.0), "counts before the drops");
    }

    #[test]
    fn decisions_without_wait() {
        let (trace, dropped) = ramp(RedConfig { wait: false, ..small() });
        assert_eq!(dropped, [36, 46, 56, 60, 66, 70, 76]);
        assert!((trace[18][2] - 0.023804).abs() < 1e-6);
        assert!((trace[38][2] - 0.360473).abs() < 1e-6);
    }

    #[test]
    fn the_paper_counts_from_the_first_packet_above_the_threshold() {
        let mut core = Core::new(RedConfig {
            min_threshold: Some(5.0),
            max_threshold: Some(15.0),
            weight: RedWeight::Fixed(0.0),
            ..RedConfig::paper()
        });
        let backlog = Backlog { packets: 10, bytes: 10_000 };
        core.idle_since = None;
        core.average = 10.0;
        for n in 0..100u32 {
            let mut p_a = 0.0;
            let verdict = core.decide(Time::ZERO, backlog, 1000, |p| {
                p_a = p;
                false
            });
            close(p_a, 0.01 / (1.0 - f64::from(n) * 0.01));
            assert_eq!(verdict, Verdict::Accept);
        }
        core.average = 15.0;
        assert_eq!(core.decide(Time::ZERO, backlog, 1000, |_| false), Verdict::Forced);
        core.average = 4.9;
        core.decide(Time::ZERO, backlog, 1000, |_| true);
        assert_eq!(core.count, -1);
    }

    #[test]
    fn bytes_weigh_in_byte_mode() {
        let at = |variant, size| {
            let mut core = Core::new(RedConfig { variant, by_size: true, wait: false, ..small() });
            (core.average, core.count, core.count_bytes) = (10.0, 4, 4500);
            core.test(size);
            (core.p_b, core.p_a)
        };
        assert_eq!(at(RedVariant::Ns2, 500), (0.05, 0.05 / (1.0 - 4.0 * 0.05) * 0.5));
        assert_eq!(at(RedVariant::Paper, 500), (0.025, 0.025 / (1.0 - 4.0 * 0.025)));
    }

    #[test]
    fn an_idle_time_counts_as_small_packets() {
        let mut red = Red::new(small());
        let mut script = Script::new();
        script.at(ms(0), |cx| red.enqueue(packet(0, 1000), cx));
        script.at(ms(0), |cx| red.dequeue(cx));
        red.core.average = 4.0;
        // The link is busy for 4 ms with the packet, then idle for 2.5 packets of 4 ms.
        script.at(ms(14), |cx| red.enqueue(packet(1, 1000), cx));
        close(red.average(), 4.0 * 0.9 * 0.9 * 0.9);
        script.at(ms(15), |cx| red.enqueue(packet(2, 1000), cx));
        close(red.average(), 4.0 * 0.9 * 0.9 * 0.9 * 0.9 + 0.1);
    }

    #[test]
    fn ecn_marks_below_mark_p_and_drops_above() {
        for (average, ecn, fate) in
            [(12.0, Ecn::Ect0, "marked"), (12.0, Ecn::NotEct, "dropped"), (16.0, Ecn::Ect0, "dropped")]
        {
            let mut red = Red::new(RedConfig { ecn: true, weight: RedWeight::Fixed(0.0), ..small() });
            let mut script = Script::new();
            (0..2).for_each(|n| script.at(ms(0), |cx| red.enqueue(packet(n, 1000), cx)));
            (red.core.average, red.core.above, red.core.count) = (average, true, 1000);
            script.at(ms(0), |cx| red.enqueue(packet(2, 1000).with_ecn(ecn), cx));
            let fates = &script.fates;
            assert_eq!(
                (fates.marked.contains(&2), fates.dropped.len()),
                (fate == "marked", usize::from(fate == "dropped"))
            );
        }
    }

    #[test]
    fn the_share_of_drops_at_a_constant_queue_is_the_formula() {
        // The levels, thresholds and weight of DPDK's statistical test, with narrower tolerances.
        let mut rng = <rand_pcg::Pcg64Mcg as rand::SeedableRng>::seed_from_u64(7);
        for wait in [false, true] {
            for level in (6..=144).step_by(6) {
                let mut core = Core::new(RedConfig {
                    weight: RedWeight::Fixed(1.0 / 512.0),
                    min_threshold: Some(32.0),
                    max_threshold: Some(128.0),
                    gentle: false,
                    wait,
                    ..small()
                });
                let backlog = Backlog { packets: level, bytes: 0 };
                (0..10_000).for_each(|_| _ = core.decide(Time::ZERO, backlog, 1000, |_| false));
                assert!((core.average / f64::from(level) - 1.0).abs() < 0.05);
                core.restart();
                let mut drops = 0;
                for _ in 0..50_000 {
                    let verdict = core.decide(Time::ZERO, backlog, 1000, |p| rng.random::<f64>() <= p);
                    drops += u32::from(verdict != Verdict::Accept);
                }
                let share = f64::from(drops) / 50_000.0;
                let p = 0.1 * (f64::from(level) - 32.0) / 96.0;
                let expected = match level {
                    ..=32 => 0.0,
                    128.. => 1.0,
                    _ if wait => 2.0 * p / 3.0,
                    _ => 2.0 * p,
                };
                assert!(
                    (share - expected).abs() <= 0.15 * expected + 2e-4,
                    "level {level}: {share}, expected {expected}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..30, bytes in 0u64..40_000, paper: bool, in_bytes: bool,
            by_size: bool, wait: bool, gentle: bool, weight in 0.0f64..1.0, adaptive: bool,
        ) {
            let config = RedConfig {
                variant: if paper { RedVariant::Paper } else { RedVariant::Ns2 },
                max_packets: packets,
                max_bytes: bytes,
                weight: RedWeight::Fixed(weight),
                adaptive: adaptive.then(AdaptiveRed::default),
                in_bytes, by_size, wait, gentle,
                ..small()
            };
            check::conserves(&mut Red::new(config), &events)?;
        }
    }
}
