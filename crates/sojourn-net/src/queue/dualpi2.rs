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
use crate::{Bytes, Ecn, Invalid, Limit, Packet, Rate, Span, Time};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// DualPI2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Queueing delay aimed at in the classic queue.
    pub target: Span,
    /// Time between two updates of the controller.
    pub update: Span,
    /// Gain per second of delay above the target.
    pub alpha: f64,
    /// Gain per second of growth of the delay.
    pub beta: f64,
    /// Coupling factor: L4S packets are marked with so many times the probability whose square classic packets see.
    pub coupling: f64,
    /// L4S packets that have waited longer are marked …
    pub step: Span,
    /// … if they found so many packets in their queue (Th_len): 1 in RFC 9332, 0 in Linux.
    pub min_qlen_step: u32,
    /// Share of the link that the round robin leaves to the classic queue.
    pub classic_share: f64,
    /// Largest packet: nothing is dropped or marked by the controller while less than two of them wait.
    pub mtu: Bytes,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            update: Span::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Span::from_millis(1),
            min_qlen_step: 1,
            classic_share: 0.1,
            mtu: Bytes(1514),
        }
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(10_000));

    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Span)> {
        vec![("target", self.target), ("step", self.step)]
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
mod tests {
    use super::*;
    use crate::queue::check::{self, Numbered, Script, ms, packet};
    use proptest::prelude::*;

    fn queue(p: f64) -> DualPi2<Numbered> {
        DualPi2 { p, ..DualPi2::new(10_000, u64::MAX, &Config::default()) }
    }

    #[test]
    fn the_controller_moves_p() {
        let config = Config::default();
        let delays = [0.0, 0.01, 0.02, 0.03, 0.03, 0.02, 0.015, 0.015, 0.01, 0.0];
        let expected = [0.0, 0.0312, 0.064, 0.0984, 0.1008, 0.0696, 0.0536, 0.0536, 0.0368, 0.0024];
        let (mut p, mut last) = (0.0, 0.0);
        for (delay, expected) in delays.into_iter().zip(expected) {
            p = config.step_p(p, delay, last);
            last = delay;
            assert!((p - expected).abs() < 1e-12, "{p} is not {expected}");
        }
        assert_eq!(config.step_p(0.9, 1.0, 0.0), 1.0);
    }

    /// Share of the verdicts over a fine grid of both draws.
    fn shares(p: f64, l4s: bool, ecn: Ecn) -> [f64; 3] {
        let queue = queue(p);
        let mut counts = [0u32; 3];
        for i in 0..500u32 {
            for j in 0..500u32 {
                let mut draws = [i, j].map(|n| (f64::from(n) + 0.5) / 500.0).into_iter();
                let verdict = queue.decide(l4s, ecn, false, 1 << 20, || draws.next().expect("two draws at most"));
                counts[verdict as usize] += 1;
            }
        }
        counts.map(|count| f64::from(count) / 250_000.0)
    }

    #[test]
    fn classic_gets_the_square_and_l4s_k_times_p() {
        assert_eq!(shares(0.1, false, Ecn::NotEct), [0.99, 0.0, 0.01]);
        assert_eq!(shares(0.1, false, Ecn::Ect0), [0.99, 0.01, 0.0]);
        assert_eq!(shares(0.1, true, Ecn::Ect1), [0.8, 0.2, 0.0]);
        assert!((0.0984f64 * 0.0984 - 0.00968256).abs() < 1e-12);
    }

    #[test]
    fn overload_drops_ecn_packets_too() {
        assert_eq!(shares(0.6, false, Ecn::Ect0), [0.64, 0.0, 0.36]);
        assert_eq!(shares(0.6, true, Ecn::Ect1), [0.0, 0.64, 0.36]);
        assert_eq!(shares(0.5, true, Ecn::Ect1), [0.0, 1.0, 0.0], "k p' = 1 is not yet overload");
    }

    #[test]
    fn nothing_but_the_step_acts_on_a_short_queue() {
        let queue = queue(0.6);
        assert_eq!(queue.decide(false, Ecn::NotEct, false, 3027, || 0.0), Verdict::Pass);
        assert_eq!(queue.decide(true, Ecn::Ect1, false, 3027, || 0.0), Verdict::Pass);
        assert_eq!(queue.decide(true, Ecn::Ect1, true, 3027, || 0.0), Verdict::Mark);
        assert_eq!(queue.decide(false, Ecn::NotEct, false, 3028, || 0.0), Verdict::Drop);
    }

    #[test]
    fn l4s_packets_that_waited_too_long_are_marked() {
        let (mut queue, mut script) = (queue(0.0), Script::new());
        for n in 0..3 {
            script.at(Time(0), |cx| queue.enqueue(packet(n, 1000).with_ecn(Ecn::Ect1), cx));
        }
        script.at(Time(0), |cx| queue.enqueue(packet(3, 1000).with_ecn(Ecn::Ect0), cx));
        for now in [0, 1_000_000, 1_000_001, 9_000_000] {
            script.at(Time(now), |cx| queue.dequeue(cx));
        }
        assert_eq!((script.fates.marked, script.fates.dequeued), (vec![2], vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_packet_that_came_to_an_empty_queue_is_not_marked_for_its_waiting() {
        for (min_qlen_step, marked) in [(0, vec![0, 1, 2]), (1, vec![1, 2]), (2, vec![2])] {
            let config = Config { min_qlen_step, ..Config::default() };
            let (mut queue, mut script) = (DualPi2::new(10_000, u64::MAX, &config), Script::new());
            for n in 0..3 {
                script.at(Time(0), |cx| queue.enqueue(packet(n, 1000).with_ecn(Ecn::Ect1), cx));
            }
            (0..3).for_each(|_| _ = script.at(ms(2), |cx| queue.dequeue(cx)));
            assert_eq!(script.fates.marked, marked, "{min_qlen_step}");
        }
    }

    #[test]
    fn the_classic_queue_keeps_its_share() {
        let (mut queue, mut script) = (queue(0.0), Script::new());
        for n in 0..400 {
            let ecn = if n % 2 == 0 { Ecn::NotEct } else { Ecn::Ce };
            script.at(ms(0), |cx| queue.enqueue(packet(n, 1514).with_ecn(ecn), cx));
        }
        (0..200).for_each(|_| _ = script.at(ms(0), |cx| queue.dequeue(cx)));
        let classic: Vec<_> = (0..200).filter(|i| script.fates.dequeued[*i] % 2 == 0).collect();
        assert_eq!(classic.len(), 20);
        assert_eq!(classic[0], 9, "eight L4S packets bring the credit to zero, a ninth above it");
        assert!(classic.windows(2).all(|pair| pair[1] - pair[0] == 10));
    }

    #[test]
    fn an_idle_link_gets_the_first_credit_again() {
        let (mut queue, mut script) = (queue(0.0), Script::new());
        let first = Config::default().first_credit();
        assert_eq!(first, 1514 * (100 - 900));
        for n in 0..9 {
            let ecn = if n < 4 { Ecn::NotEct } else { Ecn::Ect1 };
            script.at(ms(0), |cx| queue.enqueue(packet(n, 1514).with_ecn(ecn), cx));
        }
        (0..9).for_each(|_| assert!(script.at(ms(0), |cx| queue.dequeue(cx)).is_some()));
        assert_ne!(queue.credit, first, "both queues have been served");
        assert!(queue.wants_idle_dequeue() && script.at(ms(0), |cx| queue.dequeue(cx)).is_none());
        assert_eq!(queue.credit, first);
    }

    #[test]
    fn the_older_head_is_the_delay_of_the_controller() {
        let (mut queue, mut script) = (queue(0.0), Script::new());
        script.at(ms(6), |cx| queue.enqueue(packet(0, 1000).with_ecn(Ecn::Ect1), cx));
        script.at(ms(1), |cx| queue.enqueue(packet(1, 1000), cx));
        assert_eq!(queue.wake_at(), Some(ms(16)));
        script.at(ms(16), |cx| queue.wake(cx));
        assert_eq!((queue.last_delay, queue.wake_at()), (Span::from_millis(15), Some(ms(32))));
        assert!((queue.p() - 3.2 * 0.015).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(events in check::events(), packets in 0u32..60, bytes in 0u64..80_000) {
            let config = Config {
                target: Span::from_millis(1),
                ..Config::default()
            };
            check::conserves(&mut DualPi2::new(packets, bytes, &config), &events)?;
        }

        #[test]
        fn both_queues_conserve(events in prop::collection::vec((0u8..6, 100u32..1500), 0..300), p in 0.0f64..1.0) {
            let (mut queue, mut script) = (queue(p), Script::new());
            let (mut arrived, mut asked) = (0, 0);
            for (i, (kind, size)) in events.into_iter().enumerate() {
                script.draw = (i % 7) as f64 / 7.0;
                let now = ms(i as u32);
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].get(usize::from(kind)).copied();
                match ecn {
                    Some(ecn) => script.at(now, |cx| queue.enqueue(packet(i, size).with_ecn(ecn), cx)),
                    None => asked += u32::from(script.at(now, |cx| queue.dequeue(cx)).is_some()),
                }
                arrived += usize::from(ecn.is_some());
            }
            prop_assert_eq!(asked as usize, script.fates.dequeued.len());
            let gone = script.fates.dequeued.len() + script.fates.dropped.len();
            prop_assert_eq!(arrived, gone + queue.backlog().packets as usize);
        }
    }
}
