//! FQ-CoDel: deficit round robin over flows, new flows first, and a CoDel for each.
//!
//! How it works: A hash of the flow chooses one of `flows` queues. The scheduler is deficit round robin with two lists:
//! a queue that becomes active joins the new ones with a credit of one `quantum`, and new queues are served before the
//! old ones. A queue whose credit is used up gets another quantum and moves to the end of the old ones. A new queue
//! that empties moves to the old ones, too, so that a flow with single packets cannot starve the others. Each queue has
//! a CoDel of its own, which drops or marks at dequeue. When all queues together exceed the limit, the longest one (in
//! bytes) loses half of its packets from the head.
//!
//! Use it when: bulk transfers share a link with calls, games, DNS or web traffic: sparse flows leave almost without
//! waiting, whatever the others do. It is the default of many Linux systems and home routers. A flow alone in its queue
//! still sees CoDel's delay.
//!
//! Source: RFC 8290 and Linux `sch_fq_codel.c`. A flow that becomes active gets one quantum and joins the new flows; a
//! flow whose deficit is spent gets another quantum and joins the old ones; a new flow that runs empty stays for one
//! more round among the old ones. When the queue overflows, the flow with most bytes loses from its head half of them,
//! or 64 packets, and its CoDel counts those as drops.
//!
//! Differences: flows are told apart by [`Packet::flow`] instead of the five-tuple; the memory limit counts the bytes
//! of packets, not those of their buffers. With `linux` CoDel's test of a short queue sees the bytes of all flows, as
//! in Linux; with the other variants those of the flow, as in ns-3.

use super::codel::{self, Law, State, Variant};
use super::config::{self, check_quantum, check_queues, check_ways, count};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::fair::flow_hash::Hash;
use super::fair::flow_queues::CodelBacklog;
use super::fair::flows::Flows;
use super::inspect::Inspector;
use crate::probe::DropCause;
use crate::{Bytes, Invalid, Limit, Packet, Rate, Span, refuse_if};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Lines that flows are spread over by a hash.
    pub flows: u32,
    /// Bytes that a flow may send in a round.
    pub quantum: Bytes,
    /// The CoDel of each flow.
    #[serde(flatten)]
    pub codel: codel::Config,
    /// Most bytes that it holds, beside `limit`; no such limit if absent.
    pub memory: Option<Bytes>,
    /// Most packets that one overflow takes from the longest flow.
    pub drop_batch: u32,
    /// Lines in a set, of which a flow takes a free one; 1 means that it has no choice.
    pub ways: u32,
    /// How flows are spread over the lines.
    pub hash: Hash,
}

impl Default for Config {
    fn default() -> Self {
        let codel = codel::Config { variant: Variant::Linux, ecn: true, ..codel::Config::default() };
        Self { flows: 1024, quantum: Bytes(1514), codel, memory: None, drop_batch: 64, ways: 1, hash: Hash::Salted }
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(10_240));

    fn acts_at(&self, rate: Rate) -> Vec<(&'static str, Option<Span>)> {
        config::Config::acts_at(&self.codel, rate)
    }

    fn check(&self) -> Result<(), Invalid> {
        check_queues("flows", self.flows)?;
        check_ways(self.ways, self.flows)?;
        check_quantum(self.quantum)?;
        refuse_if!(self.drop_batch == 0, "drop-batch", "an overflow must drop something; write 1 or more");
        config::Config::check(&self.codel)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(FqCodel::new(limit.0, limit.1, self))
    }
}

/// The FQ-CoDel queue.
pub struct FqCodel<P> {
    flows: Flows<P, State>,
    law: Law,
    codel_backlog: CodelBacklog,
    drop_batch: u32,
}

impl<P: Packet> FqCodel<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        let limit = (max_packets, max_bytes.min(config.memory.map_or(u64::MAX, |memory| memory.0)));
        let spread = (config.flows, config.ways, config.hash);
        let all = config.codel.variant == Variant::Linux;
        Self {
            flows: Flows::new(limit, spread, count(config.quantum), State::default()),
            law: Law::new(&config.codel),
            codel_backlog: if all { CodelBacklog::All } else { CodelBacklog::Flow },
            drop_batch: config.drop_batch.max(1),
        }
    }

    /// Takes half of the longest flow, in bytes.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let queue = self.flows.queues.longest(|backlog| backlog.bytes);
        let enough = self.flows.queues.backlog(queue).bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while packets < self.drop_batch {
            let Some((arrived, packet)) = self.flows.queues.pop_oldest(queue) else { break };
            packets += 1;
            bytes += u64::from(packet.size());
            cx.drop_queued(arrived, packet, DropCause::Full);
            if bytes >= enough {
                break;
            }
        }
        let codel = &mut self.flows.states[queue as usize];
        codel.count = codel.count.saturating_add(packets);
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let queue = self.flows.queue_for(&packet, cx);
        self.law.arrives(packet.size());
        self.flows.queues.push(queue, packet, cx);
        self.flows.drr.activate(queue);
        while self.flows.queues.is_over() {
            self.shrink(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let Flows { queues, states, drr, .. } = &mut self.flows;
        loop {
            let queue = drr.next()?;
            let codel = &mut states[queue as usize];
            if let Some(packet) = self.law.dequeue(codel, &mut queues.flow(queue, self.codel_backlog), cx) {
                drr.charge(queue, packet.size());
                return Some(packet);
            }
            drr.ran_empty(queue);
        }
    }

    fn backlog(&self) -> Backlog {
        self.flows.queues.total()
    }

    fn wants_idle_dequeue(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        if let Some(codel) = self.flows.inspect(inspector) {
            self.law.inspect(codel, inspector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::check::{self, Desk, Numbered, ms};
    use crate::{Ecn, Span, Time};
    use proptest::prelude::*;

    type Queue = Desk<FqCodel<Numbered>>;

    fn queue(limit: u32, quantum: u64) -> Queue {
        Desk::new(FqCodel::new(limit, u64::MAX, &Config { quantum: Bytes(quantum), ..Config::default() }))
    }

    fn arrive(desk: &mut Queue, flow: u32, size: u32) {
        desk.arrive(Time::ZERO, flow, size, Ecn::NotEct);
    }

    /// The variable of a flow's queue.
    fn of(desk: &mut Queue, flow: u32, wanted: &str) -> i64 {
        let mut found = None;
        let mut visit = |name: &'static str, _, value| {
            if name == wanted {
                found = Some(value);
            }
            value
        };
        desk.queue.inspect(&mut Inspector::new(flow, &mut visit));
        found.expect("a variable of FQ-CoDel") as i64
    }

    fn deficits<const N: usize>(desk: &mut Queue) -> [i64; N] {
        std::array::from_fn(|number| of(desk, number as u32, "deficit"))
    }

    /// ns-3's test of deficits.
    #[test]
    fn a_new_flow_goes_first_and_deficits_are_paid_back() {
        let mut desk = queue(10240, 90);
        arrive(&mut desk, 0, 120);
        assert_eq!(deficits(&mut desk), [90]);
        assert_eq!(desk.serve(Time::ZERO), Some(0));
        assert_eq!(deficits(&mut desk), [-30]);
        for number in [0, 0, 1, 1] {
            arrive(&mut desk, number, 120);
        }
        assert_eq!(deficits(&mut desk), [-30, 90]);
        let expected = [(3, [60, -30]), (1, [-60, 60]), (4, [30, -60]), (2, [-90, 30])];
        for (number, left) in expected {
            assert_eq!(desk.serve(Time::ZERO), Some(number));
            assert_eq!(deficits(&mut desk), left, "after packet {number}");
        }
        assert_eq!(desk.serve(Time::ZERO), None);
        assert_eq!(deficits(&mut desk), [90, 30]);
        assert_eq!([0, 1].map(|flow| of(&mut desk, flow, "active")), [0, 0]);
    }

    #[test]
    fn three_flows_share_by_bytes() {
        let mut desk = queue(10240, 300);
        for (number, size, count) in [(0, 500, 3), (1, 100, 4), (2, 1000, 1)] {
            for _ in 0..count {
                arrive(&mut desk, number, size);
            }
        }
        let expected = [
            (0, [-200, 300, 300]),
            (3, [100, 200, 300]),
            (4, [100, 100, 300]),
            (5, [100, 0, 300]),
            (7, [100, 300, -700]),
            (1, [-400, 300, -400]),
            (6, [-100, 200, -400]),
            (2, [-300, 200, 200]),
        ];
        for (number, left) in expected {
            assert_eq!(desk.serve(Time::ZERO), Some(number));
            assert_eq!(deficits(&mut desk), left, "after packet {number}");
        }
        assert_eq!(desk.serve(Time::ZERO), None);
    }

    #[test]
    fn overflow_takes_half_of_the_longest_flow_from_its_head() {
        let mut desk = queue(4, 1514);
        for number in [0, 0, 0, 1, 1] {
            arrive(&mut desk, number, 120);
        }
        assert_eq!(desk.fates.dropped, [(0, DropCause::Full), (1, DropCause::Full)]);
        assert_eq!([0, 1].map(|flow| of(&mut desk, flow, "line_pkts")), [1, 2]);
        assert_eq!(of(&mut desk, 0, "count"), 2);
    }

    #[test]
    fn overflow_takes_no_more_than_64_packets() {
        let mut desk = queue(1000, 1514);
        for _ in 0..1001 {
            arrive(&mut desk, 0, 120);
        }
        assert_eq!(desk.dropped(), (0..64).collect::<Vec<_>>());
    }

    /// Five flows of 20 packets at once, the last not ECN-capable; ns-3's CoDel.
    fn five_flows(ce_threshold: Option<Span>, gap_ms: f64) -> ([usize; 5], [usize; 5]) {
        let codel = codel::Config { variant: Variant::Ns3, ecn: true, ce_threshold, ..codel::Config::default() };
        let mut desk: Queue = Desk::new(FqCodel::new(10240, u64::MAX, &Config { codel, ..Config::default() }));
        for number in 0..5 {
            for _ in 0..20 {
                desk.arrive(Time::ZERO, number, 120, if number == 4 { Ecn::NotEct } else { Ecn::Ect0 });
            }
        }
        for i in 1..=60 {
            desk.serve(ms(gap_ms * f64::from(i)));
        }
        let (marked, dropped) = (desk.fates.marked.clone(), desk.dropped());
        let by_flow = |numbers: &[usize]| std::array::from_fn(|f| numbers.iter().filter(|n| *n / 20 == f).count());
        (by_flow(&marked), by_flow(&dropped))
    }

    #[test]
    fn ns3_marks_capable_flows_and_drops_from_the_other() {
        assert_eq!(five_flows(None, 110.0), ([6, 6, 6, 6, 0], [0, 0, 0, 0, 4]));
    }

    #[test]
    fn ns3_marks_by_the_threshold() {
        let (marked, dropped) = five_flows(Some(Span::from_millis(2)), 0.1);
        assert_eq!(marked[..3], [0, 6, 13]);
        assert_eq!(dropped, [0; 5]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, flows in 1u32..8, linux: bool,
        ) {
            let codel = codel::Config {
                variant: if linux { Variant::Linux } else { Variant::Rfc8289 },
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                ecn: true,
                ..codel::Config::default()
            };
            let ways = if flows % 4 == 0 { 4 } else { 1 };
            let config = Config { codel, flows, quantum: Bytes(700), ways, ..Config::default() };
            check::conserves(&mut FqCodel::new(packets, bytes, &config), &events)?;
        }
    }
}
