//! Stochastic fairness queueing: flows are spread over queues by a hash, and queues take turns.
//!
//! How it works: A hash of the flow chooses one of `flows` queues. Active queues are served in deficit round robin:
//! each may send one `quantum` of bytes in its turn, and what it sent too much is subtracted from its next turn. A
//! queue that becomes active goes to the end of the round. When the limit is exceeded, the newest packet of the longest
//! queue (in packets) is dropped. There is no AQM: fairness is enforced, but a single flow still fills its own queue.
//!
//! Use it when: you ask what isolating flows does without controlling delay, for example as the baseline of `fq-codel`.
//!
//! Source: P. McKenney, "Stochastic fairness queueing" (INFOCOM 1990), as Linux `sch_sfq.c` serves it: deficit round
//! robin by bytes, a queue that becomes active goes to the end of the round, and a full queue makes room by dropping
//! the newest packet of the longest queue (in packets, the first of equals).
//!
//! Differences: flows are told apart by [`Packet::flow`]; the hash is not perturbed while the queue runs; there is no
//! limit for each queue, and no RED. The arriving packet is let in first, and may be the one that is dropped.

use super::config::{self, check_quantum, check_queues, count};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::fair::drr::{ActiveList, DrrSlot};
use super::fair::flow_hash::{FlowHash, Hash};
use super::fair::flow_queues::FlowQueues;
use super::inspect::Inspector;
use crate::probe::DropCause;
use crate::{Bytes, Invalid, Limit, Packet, Rate, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

with_defaults! {
    /// Stochastic fairness queueing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub struct Config {
        /// Lines that flows are spread over by a hash.
        pub flows: u32 = 1024,
        /// Bytes that a flow may send in a round.
        pub quantum: Bytes = Bytes(1514),
        /// How flows are spread over the lines.
        pub hash: Hash = Hash::Salted,
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(127));

    fn check(&self) -> Result<(), Invalid> {
        check_queues("flows", self.flows)?;
        check_quantum(self.quantum)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Sfq::new(limit.0, limit.1, self))
    }
}

/// The SFQ queue.
pub struct Sfq<P> {
    queues: FlowQueues<P>,
    slots: Vec<DrrSlot>,
    round: ActiveList,
    hash: FlowHash,
    quantum: i64,
}

impl<P: Packet> Sfq<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        let flows = config.flows.max(1);
        Self {
            queues: FlowQueues::new(flows, max_packets, max_bytes),
            slots: vec![DrrSlot::IDLE; flows as usize],
            round: ActiveList::EMPTY,
            hash: FlowHash::new(flows, 1, config.hash),
            quantum: i64::from(count(config.quantum).max(1)),
        }
    }

    /// Drops the newest packet of the longest queue. A queue that this empties leaves the round at its turn.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let longest = self.queues.longest(|backlog| backlog.packets);
        if let Some((arrived, packet)) = self.queues.pop_newest(longest) {
            cx.drop_queued(arrived, packet, DropCause::Full);
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Sfq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let queue = self.hash.queue_for(packet.flow(), cx.rng, |_| false);
        self.queues.push(queue, packet, cx);
        let slot = &mut self.slots[queue as usize];
        if !slot.active {
            (slot.active, slot.deficit) = (true, self.quantum);
            self.round.append(queue, &mut self.slots);
        }
        while self.queues.is_over() {
            self.shrink(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let queue = self.round.first()?;
            let slot = &mut self.slots[queue as usize];
            if self.queues.backlog(queue).packets == 0 {
                slot.active = false;
                self.round.remove_first(&self.slots);
                continue;
            }
            if slot.deficit <= 0 {
                slot.deficit += self.quantum;
                self.round.remove_first(&self.slots);
                self.round.append(queue, &mut self.slots);
                continue;
            }
            let (arrived, packet) = self.queues.pop_oldest(queue)?;
            slot.deficit -= i64::from(packet.size());
            if self.queues.backlog(queue).packets == 0 {
                slot.active = false;
                self.round.remove_first(&self.slots);
            }
            return Some(cx.deliver(arrived, packet));
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.total()
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.of_flow();
        let Some(queue) = self.hash.known_queue(inspector.flow()) else { return };
        self.queues.inspect(queue, inspector);
        inspector.see("deficit", &mut self.slots[queue as usize].deficit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::check::{self, Desk, Numbered};
    use crate::{Ecn, Time};
    use proptest::prelude::*;

    fn desk(limit: u32, quantum: u64, flows: &[(u32, u32)]) -> Desk<Sfq<Numbered>> {
        let mut desk = Desk::new(Sfq::new(limit, u64::MAX, &Config { quantum: Bytes(quantum), ..Config::default() }));
        for (flow, size) in flows {
            desk.arrive(Time::ZERO, *flow, *size, Ecn::NotEct);
        }
        desk
    }

    #[test]
    fn lines_share_by_bytes_and_a_new_one_waits_for_its_turn() {
        let mut desk = desk(100, 300, &[(0, 600), (0, 600), (1, 200), (1, 200), (1, 200)]);
        assert_eq!(desk.serve(Time::ZERO), Some(0));
        desk.arrive(Time::ZERO, 2, 100, Ecn::NotEct);
        // Line 2 comes behind line 1, which may send 300 and sends 400, and line 0, which owes 300.
        let order = [0; 6].map(|_| desk.serve(Time::ZERO));
        assert_eq!(order, [Some(2), Some(3), Some(5), Some(4), Some(1), None]);
    }

    #[test]
    fn a_full_queue_drops_the_newest_of_the_longest_line() {
        let desk = desk(4, 1514, &[(0, 100), (0, 100), (0, 100), (1, 100), (1, 100)]);
        assert_eq!(desk.fates.dropped, [(2, DropCause::Full)]);
    }

    #[test]
    fn the_longest_line_is_that_of_most_packets_not_of_most_bytes() {
        let desk = desk(3, 1514, &[(0, 100), (0, 100), (1, 1000), (2, 100)]);
        assert_eq!(desk.dropped(), [1]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, flows in 1u32..8, quantum in 1u64..2000,
        ) {
            check::conserves(&mut Sfq::new(packets, bytes, &Config { flows, quantum: Bytes(quantum), ..Config::default() }), &events)?;
        }
    }
}
