//! FQ-PIE: deficit round robin over flows, new flows first, and a PIE for each.
//!
//! How it works: Flows are hashed into queues that deficit round robin serves, new ones first, as in FQ-CoDel. Each
//! queue has a PIE of its own with its own drop probability: an arriving packet is judged by the controller and the
//! backlog of its own flow. One timer updates all controllers that are not at rest. The limit is shared, and an arrival
//! that exceeds it is dropped, whichever flow it belongs to.
//!
//! Use it when: you compare flow isolation with PIE against `fq-codel`, or model a Linux system with `sch_fq_pie`.
//!
//! Source: Linux `sch_fq_pie`. An arrival is judged by its own flow's controller and its own flow's backlog; the limit
//! is of all flows together and refuses the arrival (FQ-CoDel drops from the longest flow instead). All controllers are
//! updated by one timer. Differences:
//!
//! - Flows are told apart by [`Packet::flow`]; the kernel hashes addresses and ports.
//! - A controller that has come to rest is not updated until a packet arrives, which changes nothing of its state; the
//!   kernel visits them all, at most 2048 in one pass.
//! - The rules of the controller may be those of any [`Variant`](super::pie::Variant).

use super::config::{self, check_quantum, check_queues, check_ways, count};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::fair::flow_hash::Hash;
use super::fair::flows::Flows;
use super::inspect::Inspector;
use super::pie::{self, Control, Variant};
use crate::probe::DropCause;
use crate::{Bytes, Invalid, Limit, Packet, Rate, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// FQ-PIE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Lines that flows are spread over by a hash.
    pub flows: u32,
    /// Bytes that a flow may send in a round.
    pub quantum: Bytes,
    /// Lines in a set, of which a flow takes a free one; 1 means that it has no choice.
    pub ways: u32,
    /// How flows are spread over the lines.
    pub hash: Hash,
    /// The controller of each flow.
    #[serde(flatten)]
    pub pie: pie::Config,
}

impl Config {
    fn of(pie: pie::Config) -> Self {
        Self { flows: 1024, quantum: Bytes(1514), ways: 1, hash: Hash::Salted, pie }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::of(pie::Config::of(Variant::Linux))
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(10_240));

    fn acts_at(&self, rate: Rate) -> Vec<(&'static str, Option<Span>)> {
        config::Config::acts_at(&self.pie, rate)
    }

    fn variants() -> Vec<Self> {
        [Variant::Linux, Variant::Rfc8033, Variant::Ns2Authors]
            .map(|variant| Self::of(pie::Config::of(variant)))
            .to_vec()
    }

    fn check(&self) -> Result<(), Invalid> {
        check_queues("flows", self.flows)?;
        check_ways(self.ways, self.flows)?;
        check_quantum(self.quantum)?;
        config::Config::check(&self.pie)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(FqPie::new(limit.0, limit.1, self))
    }
}

/// The FQ-PIE queue.
pub struct FqPie<P> {
    flows: Flows<P, Control>,
    /// Queues whose controllers the timer updates.
    awake: Vec<u32>,
    is_awake: Vec<bool>,
    pie: pie::Config,
    next_update: Time,
}

impl<P: Packet> FqPie<P> {
    /// A queue at rest at time zero that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type
    /// means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        let Config { flows, quantum, ways, hash, pie } = *config;
        let spread = (flows, ways, hash);
        Self {
            flows: Flows::new((max_packets, max_bytes), spread, count(quantum), Control::new(&pie)),
            awake: Vec::with_capacity(flows as usize),
            is_awake: vec![false; flows.max(1) as usize],
            next_update: pie.first_update(),
            pie,
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for FqPie<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let queue = self.flows.queue_for(&packet, cx);
        let Flows { queues, states, drr, .. } = &mut self.flows;
        let control = &mut states[queue as usize];
        if queues.is_full_for(packet.size()) {
            control.overflowed();
            cx.drop_arriving(packet, DropCause::Full);
            return;
        }
        if !std::mem::replace(&mut self.is_awake[queue as usize], true) {
            self.awake.push(queue);
        }
        if let Some(packet) = control.admit(&self.pie, queues.backlog(queue), packet, cx) {
            queues.push(queue, packet, cx);
            drr.activate(queue);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let Flows { queues, states, drr, .. } = &mut self.flows;
        loop {
            let queue = drr.next()?;
            let Some(head) = queues.pop_oldest(queue) else {
                drr.ran_empty(queue);
                continue;
            };
            drr.charge(queue, head.1.size());
            let left = queues.backlog(queue).bytes;
            return Some(states[queue as usize].release(&self.pie, head, left, cx));
        }
    }

    fn backlog(&self) -> Backlog {
        self.flows.queues.total()
    }

    fn wants_idle_dequeue(&self) -> bool {
        true
    }

    fn wake_at(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn wake(&mut self, cx: &mut Cx<'_, P>) {
        let Self { flows: Flows { queues, states, .. }, is_awake, pie, .. } = self;
        self.awake.retain(|queue| {
            let control = &mut states[*queue as usize];
            let backlog = pie.backlog_bytes(queues.backlog(*queue));
            control.update(pie, queues.head_delay(*queue, cx.now), backlog);
            let awake = backlog > 0 || !control.is_at_rest(pie);
            is_awake[*queue as usize] = awake;
            awake
        });
        self.next_update += pie.update;
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.see("next_update", &mut self.next_update);
        if let Some(control) = self.flows.inspect(inspector) {
            control.inspect(&self.pie, inspector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::check::{self, Desk, Numbered, Script, ms, packet};
    use crate::{Ecn, Span};
    use proptest::prelude::*;

    fn queue(quantum: u64) -> FqPie<Numbered> {
        FqPie::new(1000, u64::MAX, &Config { quantum: Bytes(quantum), ..Config::default() })
    }

    fn arrive(queue: &mut FqPie<Numbered>, script: &mut Script, at: Time, number: usize, flow: u32, size: u32) {
        script.at(at, |cx| queue.enqueue(packet(number, size).with_flow(flow), cx));
    }

    fn deficit(queue: &mut FqPie<Numbered>, script: &mut Script, flow: u32) -> i64 {
        let mut found = 0.0;
        let mut visit = |name: &'static str, _, value: f64| {
            if name == "deficit" {
                found = value;
            }
            value
        };
        script.at(ms(0), |_| queue.inspect(&mut Inspector::new(flow, &mut visit)));
        found as i64
    }

    #[test]
    fn deficits_of_two_flows() {
        let (mut queue, mut script) = (queue(90), Script::new());
        arrive(&mut queue, &mut script, ms(0), 0, 1, 120);
        assert_eq!(deficit(&mut queue, &mut script, 1), 90);
        script.at(ms(0), |cx| queue.dequeue(cx));
        assert_eq!(deficit(&mut queue, &mut script, 1), -30);
        for (number, flow) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
            arrive(&mut queue, &mut script, ms(0), number, flow, 120);
        }
        for (number, a, b) in [(3, 60, -30), (1, -60, 60), (4, 30, -60), (2, -90, 30)] {
            script.at(ms(0), |cx| queue.dequeue(cx));
            assert_eq!(script.fates.dequeued.last(), Some(&number));
            assert_eq!((deficit(&mut queue, &mut script, 1), deficit(&mut queue, &mut script, 2)), (a, b));
        }
        assert!(script.at(ms(0), |cx| queue.dequeue(cx)).is_none());
        assert_eq!((deficit(&mut queue, &mut script, 1), deficit(&mut queue, &mut script, 2)), (90, 30));
        assert!((0..1024).all(|queue_index| !queue.flows.drr.is_active(queue_index)));
    }

    #[test]
    fn order_of_three_flows() {
        let (mut queue, mut script) = (queue(300), Script::new());
        // Flow 1: 0 to 2 of 500 bytes; flow 2: 10 to 13 of 100; flow 3: 20 of 1000.
        (0..3).for_each(|n| arrive(&mut queue, &mut script, ms(0), n, 1, 500));
        (10..14).for_each(|n| arrive(&mut queue, &mut script, ms(0), n, 2, 100));
        arrive(&mut queue, &mut script, ms(0), 20, 3, 1000);
        let mut deficits = Vec::new();
        while script.at(ms(0), |cx| queue.dequeue(cx)).is_some() {
            deficits.push([1, 2, 3].map(|flow| deficit(&mut queue, &mut script, flow)));
        }
        assert_eq!(script.fates.dequeued, [0, 10, 11, 12, 20, 1, 13, 2]);
        #[rustfmt::skip]
        assert_eq!(deficits, [
            [-200, 300, 300], [100, 200, 300], [100, 100, 300], [100, 0, 300],
            [100, 300, -700], [-400, 300, -400], [-100, 200, -400], [-300, 200, 200],
        ]);
    }

    #[test]
    fn one_flow_is_dropped_from_and_not_the_other() {
        let (mut queue, mut script) = (queue(1514), Script::new());
        // Flow 1 sends twice what the link carries, flow 2 a fifth of it.
        for now in 0..4000 {
            if queue.wake_at().is_some_and(|at| at <= ms(now)) {
                script.at(ms(now), |cx| queue.wake(cx));
            }
            script.draw = (now * 37 % 100) as f64 / 100.0;
            arrive(&mut queue, &mut script, ms(now), 2 * now as usize + 1, 1, 1000);
            if now % 10 == 0 {
                arrive(&mut queue, &mut script, ms(now), 2 * now as usize, 2, 1000);
            }
            if now % 2 == 0 {
                script.at(ms(now), |cx| queue.dequeue(cx));
            }
        }
        assert!(script.fates.dropped.len() > 1000);
        assert!(script.fates.dropped.iter().all(|(number, _)| number % 2 == 1));
    }

    #[test]
    fn resting_controllers_are_left_alone_and_would_not_have_changed() {
        let (mut queue, mut script) = (queue(1514), Script::new());
        arrive(&mut queue, &mut script, ms(0), 0, 1, 1000);
        arrive(&mut queue, &mut script, ms(0), 1, 2, 1000);
        script.at(ms(1), |cx| queue.dequeue(cx));
        script.at(ms(1), |cx| queue.dequeue(cx));
        assert_eq!(queue.awake.len(), 2);
        assert_eq!(queue.wake_at(), Some(ms(500)));
        script.at(ms(500), |cx| queue.wake(cx));
        assert_eq!((queue.awake.len(), queue.wake_at()), (0, Some(ms(515))));
        for control in &mut queue.flows.states {
            let before = format!("{control:?}");
            control.update(&queue.pie, Span::ZERO, 0);
            assert_eq!(format!("{control:?}"), before);
        }
    }

    #[test]
    fn in_fq_pie_the_flow_whose_packet_found_the_queue_full_accumulates_anew() {
        let mut desk = Desk::new(FqPie::new(2, u64::MAX, &Config::default()));
        for flow in [1, 2] {
            desk.arrive(ms(0.0), flow, 1000, Ecn::NotEct);
            desk.variables(flow, [("accu", Some(0.5))]);
        }
        desk.arrive(ms(0.0), 1, 1000, Ecn::NotEct);
        assert_eq!(desk.dropped(), [2]);
        assert_eq!([1, 2].map(|flow| desk.variables(flow, [("accu", None)])), [[0.0], [0.5]]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..80_000, flows in 1u32..4, quantum in 1u32..3000,
            variant in 0usize..3,
        ) {
            let variant = [Variant::Rfc8033, Variant::Linux, Variant::Ns2Authors][variant];
            let pie = pie::Config {
                burst: Span::from_millis(10),
                target: Span::from_millis(2),
                ..pie::Config::of(variant)
            };
            let config = Config { pie, flows, quantum: Bytes(quantum.into()), ..Config::default() };
            check::conserves(&mut FqPie::new(packets, bytes, &config), &events)?;
        }
    }
}
