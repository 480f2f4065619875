//! DualPI2: a queue for classic traffic and a low-latency one for L4S, with one coupled controller.
//!
//! How it works: Packets with ECT(1) or CE go to the L4S queue, all others to the classic one. A PI controller moves p'
//! every `update` by the larger of the two heads' delays. Classic packets are dropped or marked with probability p'²,
//! L4S packets are marked with probability k · p' (the coupling), or if they waited longer than `step`. The square
//! makes up for the difference between a classic sender's and a scalable sender's response, so that both get about the
//! same rate. A weighted round robin serves the L4S queue first but leaves the classic queue a tenth of the link. In
//! overload (k · p' above 1) both queues drop.
//!
//! Use it when: L4S senders (`prague`, `dctcp`) share a bottleneck with Reno or CUBIC. Without ECT(1) traffic it is a
//! PI2 queue for the classic senders.
//!
//! Source: RFC 9332; the rules of Linux `sch_dualpi2`. A PI controller moves p'. Classic packets are dropped or marked
//! with p' squared, L4S packets are marked with k p', or when they have waited longer than the step and were not alone
//! in their queue when they came (Th_len = 1: where a packet's transmission takes longer than the step, a packet behind
//! one other would always be marked; Linux's `min_qlen_step` is 0 unless set). While k p' is above 1 (overload),
//! classic packets are dropped whatever their ECN bits, and L4S packets are dropped with p' squared and otherwise
//! marked. Packets with ECT(1) or CE are L4S. All decisions are made when a packet leaves, which is Linux's default,
//! and none while less than two MTU remain. A weighted round robin serves the low-latency queue first but leaves the
//! classic queue its share. Differences from Linux:
//!
//! - p' is a floating-point number; the kernel's has 32 bits.
//! - There are no packet-counting step, no GSO splitting and no drop of non-ECN packets sent to the L4S queue.

use super::config::{self, check_gain, check_packet, check_probability, check_span, check_update};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::inspect::Inspector;
use super::packet_queue::PacketQueue;
use super::pi::seconds;
use crate::probe::DropCause;
use crate::{Bytes, Ecn, Invalid, Limit, Packet, Rate, Span, Time, with_defaults};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

with_defaults! {
    /// DualPI2.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub struct Config {
        /// Queueing delay aimed at in the classic queue.
        pub target: Span = Span::from_millis(15),
        /// Time between two updates of the controller.
        pub update: Span = Span::from_millis(16),
        /// Gain per second of delay above the target.
        pub alpha: f64 = 0.16,
        /// Gain per second of growth of the delay.
        pub beta: f64 = 3.2,
        /// Coupling factor: L4S packets are marked with so many times the probability whose square classic packets see.
        pub coupling: f64 = 2.0,
        /// L4S packets that have waited longer are marked …
        pub step: Span = Span::from_millis(1),
        /// … if they found so many packets in their queue (Th_len): 1 in RFC 9332, 0 in Linux.
        pub min_qlen_step: u32 = 1,
        /// Share of the link that the round robin leaves to the classic queue.
        pub classic_share: f64 = 0.1,
        /// Largest packet: nothing is dropped or marked by the controller while less than two of them wait.
        pub mtu: Bytes = Bytes(1514),
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(10_000));

    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        vec![("target", Some(self.target)), ("step", Some(self.step))]
    }

    fn check(&self) -> Result<(), Invalid> {
        check_span("target", self.target)?;
        check_update(self.update)?;
        for (key, gain) in [("alpha", self.alpha), ("beta", self.beta), ("coupling", self.coupling)] {
            check_gain(key, gain)?;
        }
        check_probability("classic-share", self.classic_share)?;
        check_packet("mtu", self.mtu)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(DualPi2::new(limit.0, limit.1, self))
    }
}

impl Config {
    /// p' after an update; delays in seconds.
    pub fn step_p(&self, p: f64, delay: f64, last_delay: f64) -> f64 {
        let change = self.alpha * (delay - seconds(self.target)) + self.beta * (delay - last_delay);
        (p + change).clamp(0.0, 1.0)
    }

    /// Weights of the two queues in thousandths: classic, L4S.
    fn weights(&self) -> (i64, i64) {
        let classic = (self.classic_share.clamp(0.0, 1.0) * 1000.0 + 0.5) as i64;
        (classic, 1000 - classic)
    }

    /// The credit at the start and after an idle time: below zero, so that the L4S queue goes first, unless the classic
    /// share is above one half.
    fn first_credit(&self) -> i64 {
        let (classic, l4s) = self.weights();
        self.mtu.0 as i64 * (classic - l4s)
    }
}

/// What becomes of a packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The DualPI2 queue.
pub struct DualPi2<P> {
    classic: PacketQueue<P>,
    l4s: PacketQueue<P>,
    /// How many packets each of the L4S queue's found before it.
    qlen_on_arrival: VecDeque<u32>,
    max_packets: u32,
    max_bytes: u64,
    config: Config,
    weights: (i64, i64),
    /// Above zero it is the classic queue's turn.
    credit: i64,
    p: f64,
    last_delay: Span,
    next_update: Time,
}

impl<P: Packet> DualPi2<P> {
    /// A queue at rest at time zero that holds at most `max_packets` packets and `max_bytes` bytes in both queues;
    /// `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        Self {
            classic: PacketQueue::new(max_packets, max_bytes),
            l4s: PacketQueue::new(max_packets, max_bytes),
            qlen_on_arrival: VecDeque::new(),
            max_packets,
            max_bytes,
            weights: config.weights(),
            credit: config.first_credit(),
            p: 0.0,
            last_delay: Span::ZERO,
            next_update: Time::ZERO + config.update,
            config: *config,
        }
    }

    /// The controller's p'.
    pub fn p(&self) -> f64 {
        self.p
    }

    fn total(&self) -> Backlog {
        let (classic, l4s) = (self.classic.backlog(), self.l4s.backlog());
        Backlog { packets: classic.packets + l4s.packets, bytes: classic.bytes + l4s.bytes }
    }

    /// Whether the L4S queue is served next.
    fn is_l4s_next(&self) -> bool {
        !self.l4s.is_empty() && (self.classic.is_empty() || self.credit <= 0)
    }

    /// Decides about a packet that left `remaining` bytes behind it, and that the step marks if it waited `over_step`;
    /// `draw` gives numbers in [0, 1).
    fn decide(&self, l4s: bool, ecn: Ecn, over_step: bool, remaining: u64, mut draw: impl FnMut() -> f64) -> Verdict {
        let otherwise = if over_step { Verdict::Mark } else { Verdict::Pass };
        if remaining < 2 * self.config.mtu.0 || self.p == 0.0 {
            return otherwise;
        }
        let coupled = self.config.coupling * self.p;
        let overload = coupled > 1.0;
        if l4s && !overload {
            return if draw() <= coupled { Verdict::Mark } else { otherwise };
        }
        let squared = draw() <= self.p && draw() <= self.p;
        match (l4s, squared) {
            (true, true) => Verdict::Drop,
            (true, false) => Verdict::Mark,
            (false, true) if overload || ecn == Ecn::NotEct => Verdict::Drop,
            (false, true) => Verdict::Mark,
            (false, false) => Verdict::Pass,
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for DualPi2<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let total = self.total();
        let full = total.packets >= self.max_packets;
        if full || total.bytes + u64::from(packet.size()) > self.max_bytes {
            cx.drop_arriving(packet, DropCause::Full);
            return;
        }
        if matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) {
            self.qlen_on_arrival.push_back(self.l4s.backlog().packets);
            self.l4s.push(packet, cx);
        } else {
            self.classic.push(packet, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let l4s = self.is_l4s_next();
            let Some((arrived, mut packet)) = (if l4s { &mut self.l4s } else { &mut self.classic }).pop() else {
                self.credit = self.config.first_credit();
                return None;
            };
            let qlen = if l4s { self.qlen_on_arrival.pop_front() } else { None };
            let over_step =
                qlen.is_some_and(|qlen| qlen >= self.config.min_qlen_step) && cx.now.since(arrived) > self.config.step;
            let rng = &mut *cx.rng;
            let verdict = self.decide(l4s, packet.ecn(), over_step, self.total().bytes, || rng.random());
            if verdict == Verdict::Drop {
                // A dropped packet takes nothing of the link.
                let cause = if packet.ecn() == Ecn::NotEct { DropCause::Early } else { DropCause::Overload };
                cx.drop_queued(arrived, packet, cause);
                continue;
            }
            let size = i64::from(packet.size());
            if l4s {
                self.credit += self.weights.0 * size;
            } else if !self.l4s.is_empty() {
                self.credit -= self.weights.1 * size;
            }
            if verdict == Verdict::Mark {
                cx.mark(&mut packet);
            }
            return Some(cx.deliver(arrived, packet));
        }
    }

    fn backlog(&self) -> Backlog {
        self.total()
    }

    fn wants_idle_dequeue(&self) -> bool {
        true
    }

    fn wake_at(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn wake(&mut self, cx: &mut Cx<'_, P>) {
        let delay = self.classic.head_delay(cx.now).max(self.l4s.head_delay(cx.now));
        self.p = self.config.step_p(self.p, seconds(delay), seconds(self.last_delay));
        self.last_delay = delay;
        self.next_update += self.config.update;
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.see("p", &mut self.p);
        inspector.tell("p_classic", self.p * self.p);
        inspector.tell("p_l4s", (self.config.coupling * self.p).min(1.0));
        inspector.see("delay", &mut self.last_delay);
        inspector.see("credit", &mut self.credit);
        inspector.see("next_update", &mut self.next_update);
        inspector.tell("classic_pkts", f64::from(self.classic.backlog().packets));
        inspector.tell("l4s_pkts", f64::from(self.l4s.backlog().packets));
    }
}

#[cfg(test)]
mod tests;
