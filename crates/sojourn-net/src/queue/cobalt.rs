//! COBALT: a CoDel that counts down again when it stops dropping, with BLUE against floods.
//!
//! How it works: Two controllers act on each packet at the head. The first is a CoDel: while the sojourn time is above
//! `target`, it drops (or marks) a packet every interval / √count and raises `count`. Unlike CoDel it does not forget
//! `count` when the queue is good again, but lowers it by one each time that a drop would have been due. The second is
//! BLUE, for flows that do not respond: its drop probability rises by 1/256 when the queue overflows, falls by 1/4096
//! when the queue is found empty, and it drops at random whatever the ECN bits.
//!
//! Use it when: you want CoDel to find its drop rate again quickly after a short calm, or expect unresponsive UDP
//! floods. In CAKE each flow has one.
//!
//! Source: Linux `sch_cake.c` (one flow of it) and ns-3's `CobaltQueueDisc`. Each packet at the head is judged by its
//! sojourn; drops are spaced by interval / √count, and where CoDel forgets its count, COBALT lowers it by one each time
//! a drop would have been due. BLUE drops at random, ECN or not, with a probability that rises by 1/256 when the queue
//! overflows and falls by 1/4096 when it is found empty, each at most once per target; such drops have the cause
//! `blue`.
//!
//! Differences: one queue, and an arrival that does not fit is refused, as in ns-3. √ is exact. The last packet of the
//! queue may be dropped, as in ns-3 and unlike CAKE; CAKE's further tests of the target by link rate are left out.
//! `blue_threshold` is ns-3's: a sojourn above it raises BLUE's probability too. As in both, the time since the planned
//! drop is not taken anew when dropping begins, so a first late packet after a pause is soon followed by a drop.

use super::config::{self, check_interval};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::inspect::Inspector;
use super::packet_queue::PacketQueue;
use crate::probe::DropCause;
use crate::{Ecn, Invalid, Packet, Rate, Span, Time, with_defaults};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const RISE: f64 = 1.0 / 256.0;
const FALL: f64 = 1.0 / 4096.0;

with_defaults! {
    /// COBALT.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub struct Config {
        /// Waiting time that is acceptable.
        pub target: Span = Span::from_millis(5),
        /// How long it must be exceeded: about a worst-case round trip.
        pub interval: Span = Span::from_millis(100),
        /// Mark ECN-capable packets instead of dropping them, except by BLUE.
        pub ecn: bool,
        /// Mark ECN-capable packets that waited longer than this, as in ns-3; never if absent.
        pub ce_threshold: Option<Span>,
        /// Let BLUE drop more when packets wait longer than this (ns-3: 400ms); never if absent.
        pub blue_threshold: Option<Span>,
    }
}

impl config::Config for Config {
    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        let [ce, blue] = [self.ce_threshold, self.blue_threshold];
        vec![("target", Some(self.target)), ("ce-threshold", ce), ("blue-threshold", blue)]
    }

    fn check(&self) -> Result<(), Invalid> {
        check_interval(self.interval)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Cobalt::new(limit.0, limit.1, self))
    }
}

/// What is decided on the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Leaves,
    Drop(DropCause),
}

/// What COBALT remembers of one queue of packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Drops are spaced by interval / √count; 0 when none is planned.
    count: u32,
    /// When the next drop is due.
    drop_next: Time,
    /// The packet judged last had waited longer than the target.
    dropping: bool,
    /// BLUE's probability of a drop.
    p_blue: f64,
    /// When it was moved last.
    blue_moved: Time,
}

impl State {
    pub(super) const NEW: Self =
        Self { count: 0, drop_next: Time::ZERO, dropping: false, p_blue: 0.0, blue_moved: Time::ZERO };

    pub(super) fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.see("count", &mut self.count);
        inspector.see("drop_next", &mut self.drop_next);
        inspector.see("dropping", &mut self.dropping);
        inspector.see("p_blue", &mut self.p_blue);
        inspector.see("blue_moved", &mut self.blue_moved);
    }

    /// The control law: how far drops are apart.
    fn gap(&self, config: &Config) -> Span {
        Span((config.interval.0 as f64 / f64::from(self.count.max(1)).sqrt()) as u64)
    }

    /// Moves BLUE's probability, at most once per target.
    fn move_blue(&mut self, config: &Config, now: Time, step: f64) {
        if now.since(self.blue_moved) > config.target {
            self.p_blue = (self.p_blue + step).clamp(0.0, 1.0);
            self.blue_moved = now;
        }
    }

    /// The queue overflowed.
    #[cold]
    pub(super) fn queue_full(&mut self, config: &Config, now: Time) {
        self.move_blue(config, now, RISE);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    pub(super) fn queue_empty(&mut self, config: &Config, now: Time) {
        if self.p_blue > 0.0 {
            self.move_blue(config, now, -FALL);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step_down(config);
        }
    }

    /// What a queue that was idle has counted down when it has packets again.
    pub(super) fn rested(&mut self, config: &Config, now: Time) {
        while self.is_due(now) {
            self.step_down(config);
        }
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn step_down(&mut self, config: &Config) {
        self.count -= 1;
        self.drop_next += self.gap(config);
    }

    /// Judges the packet that was taken out after `waited`.
    pub(super) fn judge<P: Packet>(
        &mut self,
        config: &Config,
        packet: &mut P,
        waited: Span,
        cx: &mut Cx<'_, P>,
    ) -> Verdict {
        let now = cx.now;
        let due = self.is_due(now);
        let mut overdue = now > self.drop_next;
        if waited > config.target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.gap(config);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Leaves;
        let mut marked = false;
        if due && self.dropping {
            marked = config.ecn && cx.mark(packet);
            if !marked {
                verdict = Verdict::Drop(DropCause::Sojourn);
            }
            self.count = self.count.saturating_add(1);
            self.drop_next += self.gap(config);
            overdue = now > self.drop_next;
        } else if due {
            self.rested(config, now);
            overdue = now > self.drop_next;
        }
        let is_over = config.ce_threshold.is_some_and(|threshold| waited > threshold);
        if is_over && !marked && verdict == Verdict::Leaves && packet.ecn() != Ecn::Ce {
            cx.mark(packet);
        }
        if config.blue_threshold.is_some_and(|threshold| waited > threshold) {
            self.move_blue(config, now, RISE);
        }
        if self.p_blue > 0.0 && verdict == Verdict::Leaves && cx.rng.random::<f64>() < self.p_blue {
            verdict = Verdict::Drop(DropCause::Blue);
        }
        if self.count == 0 {
            self.drop_next = now + config.interval;
        } else if overdue && verdict == Verdict::Leaves {
            self.drop_next = now;
        }
        verdict
    }
}

/// The COBALT queue.
pub struct Cobalt<P> {
    waiting: PacketQueue<P>,
    config: Config,
    state: State,
}

impl<P: Packet> Cobalt<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        Self { waiting: PacketQueue::new(max_packets, max_bytes), config: *config, state: State::NEW }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Cobalt<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        if !self.waiting.push(packet, cx) {
            self.state.queue_full(&self.config, cx.now);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        while let Some((arrived, mut packet)) = self.waiting.pop() {
            match self.state.judge(&self.config, &mut packet, cx.now.since(arrived), cx) {
                Verdict::Leaves => return Some(cx.deliver(arrived, packet)),
                Verdict::Drop(cause) => cx.drop_queued(arrived, packet, cause),
            }
        }
        self.state.queue_empty(&self.config, cx.now);
        None
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn wants_idle_dequeue(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        self.state.inspect(inspector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::tests::check::{self, Desk, Numbered, ms};
    use proptest::prelude::*;
    use rand::SeedableRng;

    #[test]
    fn counts_up_while_it_drops_and_down_afterwards() {
        let steps = [
            (0.0, 0.0, false, 0, 100.0),
            (100.0, 6.0, false, 1, 200.0),
            (150.0, 6.0, false, 1, 200.0),
            (201.0, 6.0, true, 2, 270.711),
            (272.0, 7.0, true, 3, 328.446),
            (300.0, 7.0, false, 3, 328.446),
            (330.0, 8.0, true, 4, 378.446),
            (390.0, 8.0, true, 5, 423.167),
            (395.0, 2.0, false, 5, 423.167),
            (440.0, 2.0, false, 4, 473.167),
            (500.0, 9.0, true, 5, 594.721),
            (560.0, 9.0, false, 5, 594.721),
        ];
        let settings = Config::default();
        let mut queue = State::NEW;
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        for (i, (now, waited, drops, count, next)) in steps.into_iter().enumerate() {
            let mut packet = Numbered::new(i);
            let mut cx = Cx { now: ms(now), rng: &mut rng, probe: &mut () };
            let verdict = queue.judge(&settings, &mut packet, Span(ms(waited).0), &mut cx);
            assert_eq!(matches!(verdict, Verdict::Drop(DropCause::Sojourn)), drops, "step {i}");
            assert_eq!(queue.count, count, "step {i}");
            let planned = queue.drop_next.0 as f64 / 1e6;
            assert!((planned - next).abs() < 0.001, "step {i}: {planned}");
        }
    }

    #[test]
    fn a_long_wait_raises_blue_once_per_dequeue() {
        let settings = Config { blue_threshold: Some(Span::from_millis(400)), ..Config::default() };
        let mut desk = Desk::new(Cobalt::new(5000, u64::MAX, &settings));
        for _ in 0..5000 {
            desk.arrive(Time::ZERO, 0, 1000, Ecn::Ect0);
        }
        for i in 1..=100 {
            desk.serve(ms(10.0 * f64::from(i)));
        }
        assert_eq!(desk.queue.state.p_blue, 60.0 / 256.0);
        assert!(desk.fates.dropped.iter().any(|d| d.1 == DropCause::Blue));
    }

    #[test]
    fn overflow_raises_blue_once_per_target() {
        let mut desk = Desk::new(Cobalt::new(100, u64::MAX, &Config::default()));
        for i in 0..200 {
            desk.arrive(ms(f64::from(i)), 0, 1000, Ecn::NotEct);
        }
        assert_eq!(desk.fates.dropped, (100..200).map(|n| (n, DropCause::Full)).collect::<Vec<_>>());
        // From 100 to 199 ms, every 6 ms.
        assert_eq!(desk.queue.state.p_blue, 17.0 / 256.0);
    }

    #[test]
    fn marked_packets_leave() {
        let mut desk = Desk::new(Cobalt::new(100, u64::MAX, &Config { ecn: true, ..Config::default() }));
        for _ in 0..20 {
            desk.arrive(Time::ZERO, 0, 1000, Ecn::Ect0);
        }
        let left = [10.0, 120.0, 210.0].map(|at| desk.serve(ms(at)));
        assert_eq!(left, [0, 1, 2].map(Some));
        assert_eq!(desk.fates.marked, [1, 2]);
    }

    #[test]
    fn cobalt_s_drop_is_due_when_it_overflows_and_an_empty_queue_counts_one_off() {
        let mut desk = Desk::new(Cobalt::new(1, u64::MAX, &Config::default()));
        let state = [("count", None), ("drop_next", None), ("dropping", None)];
        desk.arrive(ms(0.0), 0, 1000, Ecn::NotEct);
        desk.arrive(ms(50.0), 0, 1000, Ecn::NotEct);
        assert_eq!((desk.variables(0, state), desk.dropped()), ([1.0, 50e6, 1.0], vec![1]));
        let planned = [("count", Some(5.0)), ("drop_next", Some(90e6)), ("p_blue", Some(0.0))];
        desk.variables(0, planned);
        assert_eq!((desk.serve(ms(51.0)), desk.serve(ms(80.0))), (Some(0), None));
        assert_eq!(desk.variables(0, state), [5.0, 90e6, 0.0], "not due yet");
        assert_eq!(desk.serve(ms(500.0)), None);
        assert_eq!(desk.variables(0, state), [4.0, 140e6, 0.0], "one, and the next 100 ms / √4 later");
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, ecn: bool,
        ) {
            let settings = Config {
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                ecn,
                ce_threshold: ecn.then_some(Span::from_millis(3)),
                blue_threshold: Some(Span::from_millis(20)),
            };
            check::conserves(&mut Cobalt::new(packets, bytes, &settings), &events)?;
        }
    }
}
