//! Proportional Integral controller Enhanced (PIE): a timer moves the probability with which arrivals are dropped.
//!
//! How it works: Every `update` (15 ms) a proportional-integral controller moves the drop probability p by alpha ·
//! (delay − target) + beta · (delay − delay at the last update). The change is scaled down while p is small, so that p
//! neither jumps nor oscillates. An arriving packet is dropped (or marked) with probability p, before it enters the
//! queue. No packet is dropped while the burst allowance lasts, while less than two packets of mean size wait, or while
//! the delay is below half the target and p below 20 %. With derandomisation, p is added up over arrivals: none is
//! dropped below a sum of 0.85, and one is dropped for certain at 8.5. The delay is the age of the head packet, or the
//! backlog divided by a measured departure rate.
//!
//! Use it when: the decision must be cheap and made at enqueue, as in DOCSIS 3.1 cable modems, where PIE is mandatory.
//! It holds the mean delay near `target` with many flows; with few it reacts more slowly than CoDel, and it does not
//! keep flows apart.
//!
//! Source: RFC 8033; the rules of Linux `sch_pie`, with its probabilities in units of 2^-56 and its ticks of 64 ns; the
//! rules of the authors' own ns-2 code of 2013. The three differ in more than constants:
//!
//! - Rfc8033: smoothing divisors down to 1/2048; a burst allowance spent by the timer; the delay is the head's age.
//! - Linux: as the RFC, but the first update comes after 500 ms, the delay is the sojourn of the packet last dequeued,
//!   2 % are added above 250 ms, the decay is 1/64 and needs an empty queue, the allowance is spent by the time between
//!   dequeues, and the probability has no bound at 1 (only at 256, where the kernel's integer would overflow).
//! - Ns2Authors: fewer divisors, and multipliers from 10 %; 2 % are added above 200 ms; no bound at 1; no
//!   derandomisation; the delay is the backlog over a measured departure rate; the allowance is armed by the first
//!   packet after 1.5 s of calm, and the probability is 0 while it lasts.
//!
//! Differences from all: a departure rate is a floating-point number of bytes per second; the limit is that of
//! [`Fifo`](super::Fifo) and is tested first; a departure rate that has not been measured yet means no delay. With
//! `active_threshold`, which is ns-3's, PIE sleeps until an update finds that delay, and again once there is none and
//! the probability is 0; ns-3 looks at arrivals.

mod parameters;

use super::config::{self, check_gain, check_packet, check_probability, check_span, check_update};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::inspect::Inspector;
use super::packet_queue::PacketQueue;
use super::pi::seconds;
use crate::probe::DropCause;
use crate::{Ecn, Invalid, Limit, Packet, Rate, Span, Time};
use rand::{Rng, RngExt};

use parameters::ticks;
pub use parameters::{Config, Delay, PIE_LINUX_ONE, Variant};

/// Measures a departure rate over cycles of at least so many bytes, begun only when the queue is that long.
#[derive(Clone, Debug, Default)]
struct RateMeter {
    /// Start of the cycle and bytes that have left in it.
    cycle: Option<(Time, u64)>,
    /// Bytes per second; zero before the first cycle has ended.
    rate: f64,
}

impl RateMeter {
    /// A packet left `backlog` bytes behind it. Returns the length of the cycle that this ended.
    fn departed(&mut self, config: &Config, now: Time, size: u32, backlog: u64) -> Option<Span> {
        let threshold = config.rate_threshold.0;
        if self.cycle.is_none() && backlog < threshold {
            return None;
        }
        let (start, bytes) = self.cycle.get_or_insert((now, 0));
        *bytes += u64::from(size);
        let length = now.since(*start);
        if *bytes < threshold || length == Span::ZERO {
            return None;
        }
        let sample = *bytes as f64 / length.as_secs();
        let weight = config.rate_weight;
        self.rate = if self.rate == 0.0 { sample } else { (1.0 - weight) * self.rate + weight * sample };
        let enough = backlog > threshold || backlog == threshold && config.variant != Variant::Ns2Authors;
        self.cycle = enough.then_some((now, 0));
        Some(length)
    }
}

/// Where the authors' code is between two bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Burst {
    /// The next packet arms the allowance.
    #[default]
    None,
    /// It has been armed, and the queue has not been calm since.
    Protecting,
    /// Calm for so many updates.
    Calm(u32),
}

/// The state of one PIE controller, without the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// The probability; Linux has it in `fixed`.
    p: f64,
    fixed: u64,
    /// Probability added up since the last drop.
    accumulated: f64,
    fixed_accumulated: u64,
    /// As known at the last update, or for Linux at the last dequeue.
    delay: Span,
    /// At the update before.
    last_delay: Span,
    allowance: Span,
    burst: Burst,
    asleep: bool,
    last_dequeue: Option<Time>,
    meter: RateMeter,
}

impl Control {
    pub(super) fn new(config: &Config) -> Self {
        let armed = config.variant != Variant::Ns2Authors;
        Self {
            allowance: if armed { config.burst } else { Span::ZERO },
            asleep: config.active_threshold.is_some(),
            ..Self::default()
        }
    }

    /// The probability.
    pub(super) fn p(&self, config: &Config) -> f64 {
        if config.variant == Variant::Linux { self.fixed as f64 / PIE_LINUX_ONE as f64 } else { self.p }
    }

    /// Whether the arrival is to be dropped or marked.
    #[inline]
    pub(super) fn should_drop(&mut self, config: &Config, backlog: u64, size: u32, rng: &mut dyn Rng) -> bool {
        if self.allowance > Span::ZERO || self.asleep {
            return false;
        }
        if config.variant == Variant::Ns2Authors && self.burst == Burst::None {
            self.burst = Burst::Protecting;
            self.allowance = config.burst;
        }
        let calm = self.delay.0 < config.target.0 / 2;
        let two = 2 * config.mean_packet.0;
        if config.variant == Variant::Linux {
            return !(calm && self.fixed < PIE_LINUX_ONE / 5 || backlog < two)
                && self.linux_should_drop(config, size, rng);
        }
        if calm && self.p < 0.2 || backlog <= two {
            return false;
        }
        let relative = if config.by_size { f64::from(size) / config.mean_packet.0 as f64 } else { 1.0 };
        let p = self.p * relative;
        if config.derandomise {
            self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
            if self.accumulated < 0.85 {
                return false;
            }
        }
        let hit = config.derandomise && self.accumulated >= 8.5 || p > 0.0 && rng.random::<f64>() <= p;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    fn linux_should_drop(&mut self, config: &Config, size: u32, rng: &mut dyn Rng) -> bool {
        let p = match config.by_size && u64::from(size) <= config.mean_packet.0 {
            true => self.fixed / config.mean_packet.0 * u64::from(size),
            false => self.fixed,
        };
        if config.derandomise {
            self.fixed_accumulated = if p == 0 { 0 } else { self.fixed_accumulated.saturating_add(p) };
            if self.fixed_accumulated < PIE_LINUX_ONE / 100 * 85 {
                return false;
            }
        }
        let hit = config.derandomise && self.fixed_accumulated >= PIE_LINUX_ONE / 2 * 17 || (rng.next_u64() >> 8) < p;
        if hit {
            self.fixed_accumulated = 0;
        }
        hit
    }

    /// Whether a hit may be a mark.
    pub(super) fn may_mark(&self, config: &Config, ecn: Ecn) -> bool {
        let low = match config.variant {
            Variant::Linux => self.p(config) <= config.mark_p,
            Variant::Rfc8033 | Variant::Ns2Authors => self.p < config.mark_p,
        };
        config.ecn && ecn != Ecn::NotEct && low
    }

    /// A packet was dropped because the queue was full.
    pub(super) fn overflowed(&mut self) {
        self.accumulated = 0.0;
        self.fixed_accumulated = 0;
    }

    /// A packet leaves after `waited`, and `backlog` bytes remain.
    #[inline]
    pub(super) fn departed(&mut self, config: &Config, now: Time, size: u32, waited: Span, backlog: u64) {
        let passed = match config.delay {
            Delay::Rate => self.meter.departed(config, now, size, backlog),
            Delay::Timestamps if config.variant == Variant::Linux => {
                self.delay = if backlog == 0 { Span::ZERO } else { waited };
                self.last_dequeue.replace(now).map(|last| now.since(last))
            }
            Delay::Timestamps => None,
        };
        if let (Variant::Linux, Some(passed)) = (config.variant, passed) {
            self.allowance = self.allowance - passed;
        }
    }

    /// Whether updates change nothing as long as nothing arrives.
    pub(super) fn is_at_rest(&self, config: &Config) -> bool {
        let rested = match config.variant {
            Variant::Rfc8033 | Variant::Linux => self.allowance == config.burst,
            Variant::Ns2Authors => self.allowance == Span::ZERO && self.burst == Burst::None,
        };
        rested && self.p == 0.0 && self.fixed == 0 && self.delay == Span::ZERO && self.last_dequeue.is_none()
    }

    /// The periodic update. `head` is how long the oldest packet has waited.
    pub(super) fn update(&mut self, config: &Config, head: Span, backlog: u64) {
        let delay = match config.delay {
            Delay::Rate if self.meter.rate == 0.0 => Span::ZERO,
            Delay::Rate => Span::from_secs_f64(backlog as f64 / self.meter.rate),
            Delay::Timestamps if config.variant == Variant::Linux => self.delay,
            Delay::Timestamps => head,
        };
        let last = self.last_delay;
        if let Some(threshold) = config.active_threshold {
            let rests = self.p(config) == 0.0 && delay == Span::ZERO && last == Span::ZERO;
            match self.asleep {
                true if delay >= threshold => *self = Self { asleep: false, ..Self::new(config) },
                true => return,
                false => self.asleep = rests,
            }
        }
        let calm = delay.0 < config.target.0 / 2 && last.0 < config.target.0 / 2;
        (self.delay, self.last_delay) = (delay, delay);
        match config.variant {
            Variant::Rfc8033 => {
                self.p = config.rfc8033_step(self.p, seconds(delay), seconds(last));
                let calm = calm && self.p == 0.0;
                self.allowance = if calm { config.burst } else { self.allowance - config.update };
            }
            Variant::Linux => {
                self.fixed = config.linux_step(self.fixed, ticks(delay), ticks(last), backlog == 0);
                let known = config.delay == Delay::Timestamps || self.meter.rate > 0.0;
                if calm && self.fixed == 0 && known {
                    *self = Self { delay, last_delay: delay, ..Self::new(config) };
                }
            }
            Variant::Ns2Authors => {
                let spent = self.allowance == Span::ZERO;
                self.p = if spent { config.ns2_step(self.p, seconds(delay), seconds(last)) } else { 0.0 };
                self.allowance = self.allowance - config.update;
                let calm = calm && self.p == 0.0;
                if calm && self.meter.rate > 0.0 {
                    self.meter = RateMeter::default();
                }
                let patience = (CALM.0 / config.update.0.max(1)) as u32;
                self.burst = match self.burst {
                    Burst::Protecting if calm && self.allowance == Span::ZERO => Burst::Calm(0),
                    Burst::Calm(updates) if calm && updates >= patience => Burst::None,
                    Burst::Calm(updates) if calm => Burst::Calm(updates + 1),
                    Burst::Calm(_) => Burst::Calm(0),
                    other => other,
                };
            }
        }
    }
}

impl Control {
    /// Shows the variables; times are nanoseconds, the rate is in bytes per second.
    pub(super) fn inspect(&mut self, config: &Config, inspector: &mut Inspector<'_>) {
        let one = PIE_LINUX_ONE as f64;
        if config.variant == Variant::Linux {
            for (name, fixed) in [("p", &mut self.fixed), ("accu", &mut self.fixed_accumulated)] {
                if let Some(p) = inspector.changed(name, *fixed as f64 / one) {
                    *fixed = (p * one) as u64;
                }
            }
        } else {
            inspector.see("p", &mut self.p);
            inspector.see("accu", &mut self.accumulated);
        }
        inspector.see("burst", &mut self.allowance);
        inspector.see("delay", &mut self.delay);
        inspector.see("delay_old", &mut self.last_delay);
        inspector.see("rate", &mut self.meter.rate);
    }
}

/// Calm after which the authors' code lets a burst in again.
const CALM: Span = Span::from_millis(1500);

impl Control {
    /// Judges an arriving packet for which there is room: gives it back if it is let in, marked or not.
    #[inline]
    pub(super) fn admit<P: Packet>(
        &mut self,
        config: &Config,
        backlog: Backlog,
        mut packet: P,
        cx: &mut Cx<'_, P>,
    ) -> Option<P> {
        let backlog = config.backlog_bytes(backlog);
        let bypasses = config.bypasses_aqm(packet.ecn());
        if !bypasses && self.should_drop(config, backlog, packet.size(), cx.rng) {
            if !self.may_mark(config, packet.ecn()) {
                cx.drop_arriving(packet, DropCause::Early);
                return None;
            }
            cx.mark(&mut packet);
        }
        Some(packet)
    }

    /// Hands out a packet that leaves `backlog` bytes behind it.
    #[inline]
    pub(super) fn release<P: Packet>(
        &mut self,
        config: &Config,
        (arrived, mut packet): (Time, P),
        backlog: u64,
        cx: &mut Cx<'_, P>,
    ) -> P {
        let waited = cx.now.since(arrived);
        if config.marks_at_departure(packet.ecn(), waited) {
            cx.mark(&mut packet);
        }
        self.departed(config, cx.now, packet.size(), waited, backlog);
        cx.deliver(arrived, packet)
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(1000));

    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        let [active, l4s] = [self.active_threshold, self.l4s_threshold];
        vec![("target", Some(self.target)), ("active-threshold", active), ("l4s-threshold", l4s)]
    }

    fn variants() -> Vec<Self> {
        [Variant::Rfc8033, Variant::Linux, Variant::Ns2Authors].map(Self::of).to_vec()
    }

    fn check(&self) -> Result<(), Invalid> {
        check_packet("mean-packet", self.mean_packet)?;
        check_gain("alpha", self.alpha)?;
        check_gain("beta", self.beta)?;
        check_probability("rate-weight", self.rate_weight)?;
        check_probability("mark-p", self.mark_p)?;
        check_span("target", self.target)?;
        check_update(self.update)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Pie::new(limit.0, limit.1, self))
    }
}

/// The PIE queue.
pub struct Pie<P> {
    waiting: PacketQueue<P>,
    config: Config,
    control: Control,
    next_update: Time,
}

impl<P: Packet> Pie<P> {
    /// A queue at rest at time zero that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type
    /// means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        Self {
            waiting: PacketQueue::new(max_packets, max_bytes),
            control: Control::new(config),
            next_update: config.first_update(),
            config: *config,
        }
    }

    /// The drop probability.
    pub fn p(&self) -> f64 {
        self.control.p(&self.config)
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Pie<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        if self.waiting.is_full_for(packet.size()) {
            self.control.overflowed();
            cx.drop_arriving(packet, DropCause::Full);
            return;
        }
        if let Some(packet) = self.control.admit(&self.config, self.waiting.backlog(), packet, cx) {
            self.waiting.push(packet, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let head = self.waiting.pop()?;
        Some(self.control.release(&self.config, head, self.waiting.backlog().bytes, cx))
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn wake_at(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn wake(&mut self, cx: &mut Cx<'_, P>) {
        let backlog = self.config.backlog_bytes(self.waiting.backlog());
        self.control.update(&self.config, self.waiting.head_delay(cx.now), backlog);
        self.next_update += self.config.update;
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        self.control.inspect(&self.config, inspector);
        inspector.see("next_update", &mut self.next_update);
    }
}

#[cfg(test)]
mod tests;
