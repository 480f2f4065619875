//! CAKE without its shaper: flows isolated by a set-associative hash, sparse flows first, and a COBALT for each.
//!
//! How it works: Flows are hashed into `flows` queues in sets of `ways`: a flow whose place is taken looks for an idle
//! queue in its set, so collisions are rare. The queues are served in deficit round robin, sparse flows first (DRR++).
//! Each queue has a COBALT, which decides at dequeue and never drops a queue's last packet. When the limit is exceeded,
//! the longest queue (in bytes) loses packets from its head, and its BLUE is told of each.
//!
//! Use it when: you model a home router whose SQM shapes the access link: give the link the shaped rate. Beside
//! `fq-codel` it has fewer collisions and a defence against floods.
//!
//! Source: Linux `sch_cake.c`, one tin of it, as `cake unlimited besteffort flows` has it. A flow finds a queue in a
//! set of eight; queues take turns by deficit round robin, sparse ones first (DRR++): a queue that runs empty leaves
//! the rounds, and joins the sparse ones when it has packets again. The last packet of a queue may be marked but is not
//! dropped. When the limit is exceeded the queue with most bytes loses packets from its head, and its BLUE hears of
//! each.
//!
//! Differences: no shaper, so no overhead, no tins, and none of the tests of the target by link rate (in CAKE they
//! vanish without a rate too); no ACK filter, no isolation of hosts; flows are told apart by [`Packet::flow`]; a limit
//! counts bytes of packets, not those of their buffers. CAKE keeps idle queues whose COBALT has not come to rest in a
//! list that it visits when nothing else is to do; here the count goes down by what was due when the queue has packets
//! again.

use super::cobalt::{self, State, Verdict};
use super::config::{self, check_interval, check_quantum, check_queues, check_ways, count};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::fair::flow_hash::Hash;
use super::fair::flows::Flows;
use super::inspect::Inspector;
use crate::probe::DropCause;
use crate::{Bytes, Invalid, Limit, Packet, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CAKE without its shaper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Lines that flows are spread over by a hash.
    pub flows: u32,
    /// Lines in a set, of which a flow takes a free one.
    pub ways: u32,
    /// How flows are spread over the lines.
    pub hash: Hash,
    /// Bytes that a flow may send in a round.
    pub quantum: Bytes,
    /// Waiting time that is acceptable.
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them, except by BLUE.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        let cobalt::Config { target, interval, .. } = cobalt::Config::default();
        Self { flows: 1024, ways: 8, hash: Hash::Salted, quantum: Bytes(1514), target, interval, ecn: true }
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(10_240));

    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        vec![("target", Some(self.target))]
    }

    fn check(&self) -> Result<(), Invalid> {
        check_queues("flows", self.flows)?;
        check_ways(self.ways, self.flows)?;
        check_quantum(self.quantum)?;
        check_interval(self.interval)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Cake::new(limit.0, limit.1, self))
    }
}

/// The CAKE queue.
pub struct Cake<P> {
    flows: Flows<P, State>,
    cobalt: cobalt::Config,
}

impl<P: Packet> Cake<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        let Config { flows, ways, hash, quantum, target, interval, ecn } = *config;
        Self {
            flows: Flows::new((max_packets, max_bytes), (flows, ways, hash), count(quantum), State::NEW),
            cobalt: cobalt::Config { target, interval, ecn, ..cobalt::Config::default() },
        }
    }

    /// Takes a packet from the head of the queue with most bytes.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let queue = self.flows.queues.longest(|backlog| backlog.bytes);
        if let Some((arrived, packet)) = self.flows.queues.pop_oldest(queue) {
            self.flows.states[queue as usize].queue_full(&self.cobalt, cx.now);
            cx.drop_queued(arrived, packet, DropCause::Full);
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Cake<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let queue = self.flows.queue_for(&packet, cx);
        self.flows.queues.push(queue, packet, cx);
        if !self.flows.drr.is_active(queue) {
            self.flows.states[queue as usize].rested(&self.cobalt, cx.now);
            self.flows.drr.activate(queue);
        }
        while self.flows.queues.is_over() {
            self.shrink(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let Flows { queues, states, drr, .. } = &mut self.flows;
        loop {
            let queue = drr.next()?;
            let state = &mut states[queue as usize];
            let Some((arrived, mut packet)) = queues.pop_oldest(queue) else {
                state.queue_empty(&self.cobalt, cx.now);
                drr.leave(queue);
                continue;
            };
            match state.judge(&self.cobalt, &mut packet, cx.now.since(arrived), cx) {
                Verdict::Drop(cause) if queues.backlog(queue).packets > 0 => cx.drop_queued(arrived, packet, cause),
                Verdict::Drop(_) | Verdict::Leaves => {
                    drr.charge(queue, packet.size());
                    return Some(cx.deliver(arrived, packet));
                }
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.flows.queues.total()
    }

    fn wants_idle_dequeue(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        if let Some(state) = self.flows.inspect(inspector) {
            state.inspect(inspector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::check::{self, Desk, Numbered, ms};
    use crate::{Ecn, Time};
    use proptest::prelude::*;

    fn desk(limit: u32, quantum: u64) -> Desk<Cake<Numbered>> {
        Desk::new(Cake::new(limit, u64::MAX, &Config { quantum: Bytes(quantum), ..Config::default() }))
    }

    #[test]
    fn a_sparse_flow_goes_first_each_time() {
        let mut desk = desk(1000, 1514);
        (0..20).for_each(|_| desk.arrive(Time::ZERO, 0, 1500, Ecn::NotEct));
        assert_eq!([0; 3].map(|_| desk.serve(Time::ZERO)), [0, 1, 2].map(Some));
        for at in 1..4 {
            desk.arrive(ms(at), 1, 100, Ecn::NotEct);
            assert_eq!(desk.serve(ms(at)), Some(19 + 2 * at as usize - at as usize));
            assert!(desk.serve(ms(at)).is_some(), "then the long flow");
        }
    }

    #[test]
    fn a_full_queue_takes_from_the_head_of_the_longest_queue() {
        let mut desk = desk(4, 1514);
        for flow in [0, 0, 0, 1, 1] {
            desk.arrive(Time::ZERO, flow, 120, Ecn::NotEct);
        }
        assert_eq!(desk.fates.dropped, [(0, DropCause::Full)]);
    }

    #[test]
    fn the_last_packet_of_a_queue_is_not_dropped() {
        let mut desk = desk(1000, 1514);
        (0..3).for_each(|_| desk.arrive(Time::ZERO, 0, 1500, Ecn::NotEct));
        assert_eq!(desk.serve(ms(20)), Some(0));
        // Due at 120 ms: the second packet is dropped, and the third, due as well, is the last.
        assert_eq!(desk.serve(ms(500)), Some(2));
        assert_eq!(desk.fates.dropped, [(1, DropCause::Sojourn)]);
    }

    #[test]
    fn a_rested_queue_has_counted_down() {
        let mut desk = desk(1000, 1514);
        (0..40).for_each(|_| desk.arrive(Time::ZERO, 0, 1500, Ecn::Ect0));
        for at in 1..=40 {
            assert!(desk.serve(ms(20 * at)).is_some());
        }
        assert_eq!(desk.serve(ms(801)), None);
        let queue = desk.queue.flows.hash.known_queue(0).expect("it has been there") as usize;
        let count = |desk: &Desk<Cake<Numbered>>| format!("{:?}", desk.queue.flows.states[queue]);
        let busy = count(&desk);
        desk.arrive(ms(60_000), 0, 1500, Ecn::Ect0);
        assert!(!busy.contains("count: 0") && count(&desk).contains("count: 0"), "{busy}, then {}", count(&desk));
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, quantum in 1u64..3000, ecn: bool,
        ) {
            let config = Config {
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                ecn,
                quantum: Bytes(quantum),
                flows: 16,
                ..Config::default()
            };
            check::conserves(&mut Cake::new(packets, bytes, &config), &events)?;
        }
    }
}
