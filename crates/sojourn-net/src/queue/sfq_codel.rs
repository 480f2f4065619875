//! SFQ-CoDel: bins of flows that take turns, new bins first, each with a CoDel.
//!
//! How it works: Flows are hashed into `bins`, each of which is a queue with a CoDel of its own. Bins take turns: by
//! one packet if `quantum` is 0, otherwise by bytes (deficit round robin). A bin that becomes active goes ahead of
//! those that have been served in this round. Each dequeue lets CoDel judge the packets of the bin whose turn it is.
//! When an arriving packet does not fit, the newest packet of the longest bin (in packets) is dropped.
//!
//! Use it when: you compare with studies made in ns-2. For a model of deployed systems take `fq-codel`.
//!
//! Source: ns-2.35 `sfqcodel.cc`, by the authors of CoDel. A bin that becomes active joins the schedule ahead of the
//! bins that have been served and behind other new ones. With `quantum` 0 each bin sends one packet per turn, otherwise
//! bins share by bytes. A full queue makes room by dropping the newest packet of the longest bin (in packets); among
//! equals another bin than last time. CoDel's test of a short queue sees the bytes of all bins, and spares the last
//! packet of each.
//!
//! Differences: flows are told apart by [`Packet::flow`] and spread by the hash of FQ-CoDel instead of Jenkins'; an
//! empty bin leaves the schedule when its turn comes, also with a quantum; a packet larger than the byte limit is
//! refused; constant-rate packets have no bin of their own. As there, a single served bin stays ahead of a new one.

use super::codel::{self, Law, State, Variant};
use super::config::{self, check_interval, check_queues, count};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::fair::flow_hash::{FlowHash, Hash};
use super::fair::flow_queues::{CodelBacklog, FlowQueues};
use super::inspect::Inspector;
use crate::probe::DropCause;
use crate::{Bytes, Invalid, Packet, Rate, Span, refuse_if};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// SFQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Bins that flows are spread over by a hash.
    pub bins: u32,
    /// Bytes that a bin may send in a round; `"0B"` means one packet.
    pub quantum: Bytes,
    /// Waiting time that is acceptable.
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    pub interval: Span,
    /// How flows are spread over the bins.
    pub hash: Hash,
}

impl Default for Config {
    fn default() -> Self {
        let codel::Config { target, interval, .. } = codel::Config::default();
        Self { bins: 1024, quantum: Bytes(0), target, interval, hash: Hash::Salted }
    }
}

impl config::Config for Config {
    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        vec![("target", Some(self.target))]
    }

    fn check(&self) -> Result<(), Invalid> {
        check_queues("bins", self.bins)?;
        let small = (1..64).contains(&self.quantum.0);
        refuse_if!(small, "quantum", "a quantum of {} is too small; write \"0B\" or at least \"64B\"", self.quantum);
        check_interval(self.interval)
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(SfqCodel::new(limit.0, limit.1, self))
    }
}

#[derive(Clone, Copy, Default)]
struct Bin {
    codel: State,
    deficit: i64,
    scheduled: bool,
    new: bool,
}

/// The SFQ-CoDel queue.
pub struct SfqCodel<P> {
    queues: FlowQueues<P>,
    bins: Vec<Bin>,
    /// Bins in the order of their turns. Holds at most each of them once.
    schedule: VecDeque<u32>,
    hash: FlowHash,
    law: Law,
    quantum: i64,
    longest: u32,
}

impl<P: Packet> SfqCodel<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        let Config { bins, quantum, target, interval, hash } = *config;
        let bins = bins.max(1);
        Self {
            queues: FlowQueues::new(bins, max_packets, max_bytes),
            bins: vec![Bin::default(); bins as usize],
            schedule: VecDeque::with_capacity(bins as usize),
            hash: FlowHash::new(bins, 1, hash),
            law: Law::new(&codel::Config { variant: Variant::Ns2Sfq, target, interval, ..codel::Config::default() }),
            quantum: i64::from(count(quantum)),
            longest: 0,
        }
    }

    /// Drops the newest packet of the longest bin.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let last = self.longest;
        for bin in 0..self.bins.len() as u32 {
            let longer = self.queues.backlog(bin).packets >= self.queues.backlog(self.longest).packets;
            if bin != last && self.bins[bin as usize].scheduled && longer {
                self.longest = bin;
            }
        }
        if let Some((arrived, packet)) = self.queues.pop_newest(self.longest) {
            cx.drop_queued(arrived, packet, DropCause::Full);
        }
    }

    /// Puts a bin that became active behind the new bins at the front and ahead of the others.
    fn schedule(&mut self, queue: u32) {
        let bins = &mut self.bins;
        let place = self.schedule.iter().position(|b| !bins[*b as usize].new).unwrap_or(usize::MAX);
        // ns-2 looks no further than the bin before the last: what follows that goes behind the last.
        let place = if place.saturating_add(1) >= self.schedule.len() { self.schedule.len() } else { place };
        let bin = &mut bins[queue as usize];
        (bin.scheduled, bin.new, bin.deficit) = (true, true, self.quantum);
        self.schedule.insert(place, queue);
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for SfqCodel<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let size = packet.size();
        if self.queues.never_fits(size) {
            cx.drop_arriving(packet, DropCause::Full);
            return;
        }
        while self.queues.is_full_for(size) {
            self.shrink(cx);
        }
        let queue = self.hash.queue_for(packet.flow(), cx.rng, |_| false);
        self.law.arrives(size);
        self.queues.push(queue, packet, cx);
        if !self.bins[queue as usize].scheduled {
            self.schedule(queue);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let queue = *self.schedule.front()?;
            let bin = &mut self.bins[queue as usize];
            if self.queues.backlog(queue).packets == 0 {
                (bin.scheduled, bin.new) = (false, false);
                bin.codel.leave();
                self.schedule.pop_front();
                continue;
            }
            if self.quantum > 0 && bin.deficit <= 0 {
                bin.deficit += self.quantum;
                self.schedule.rotate_left(1);
                continue;
            }
            bin.new = false;
            let mut head = self.queues.flow(queue, CodelBacklog::AllUnlessEmpty);
            let Some(packet) = self.law.dequeue(&mut bin.codel, &mut head, cx) else { continue };
            if self.quantum > 0 {
                bin.deficit -= i64::from(packet.size());
            } else {
                self.schedule.rotate_left(1);
            }
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.total()
    }

    fn wants_idle_dequeue(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.of_flow();
        let Some(queue) = self.hash.known_queue(inspector.flow()) else { return };
        self.queues.inspect(queue, inspector);
        let bin = &mut self.bins[queue as usize];
        inspector.see("deficit", &mut bin.deficit);
        inspector.tell("active", f64::from(u8::from(bin.scheduled)));
        inspector.tell("new", f64::from(u8::from(bin.new)));
        self.law.inspect(&mut bin.codel, inspector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::check::{self, Desk, Numbered};
    use crate::{Ecn, Time};
    use proptest::prelude::*;

    fn desk(limit: u32, quantum: u64, flows: &[(u32, u32)]) -> Desk<SfqCodel<Numbered>> {
        let mut desk =
            Desk::new(SfqCodel::new(limit, u64::MAX, &Config { quantum: Bytes(quantum), ..Config::default() }));
        for (flow, size) in flows {
            desk.arrive(Time::ZERO, *flow, *size, Ecn::NotEct);
        }
        desk
    }

    #[test]
    fn bins_take_turns_by_packets_and_a_new_one_goes_first() {
        let mut desk = desk(100, 0, &[(0, 900), (0, 900), (0, 900), (1, 100), (1, 100)]);
        assert_eq!([0; 3].map(|_| desk.serve(Time::ZERO)), [0, 3, 1].map(Some));
        desk.arrive(Time::ZERO, 2, 100, Ecn::NotEct);
        assert_eq!([0; 4].map(|_| desk.serve(Time::ZERO)), [Some(5), Some(4), Some(2), None]);
    }

    #[test]
    fn bins_share_by_bytes_with_a_quantum() {
        let mut desk = desk(100, 300, &[(0, 600), (0, 600), (1, 200), (1, 200), (1, 200)]);
        // After 600 bytes bin 0 owes 300, and waits while bin 1 spends 300 and then another 300.
        assert_eq!([0; 6].map(|_| desk.serve(Time::ZERO)), [Some(0), Some(2), Some(3), Some(4), Some(1), None]);
    }

    #[test]
    fn a_full_queue_drops_the_newest_of_the_longest_bin() {
        let desk = desk(4, 0, &[(0, 100), (0, 100), (0, 100), (1, 100), (1, 100)]);
        assert_eq!(desk.fates.dropped, [(2, DropCause::Full)]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, bins in 1u32..8, quantum in 0u64..2000,
        ) {
            let config = Config {
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                bins,
                quantum: Bytes(quantum),
                ..Config::default()
            };
            check::conserves(&mut SfqCodel::new(packets, bytes, &config), &events)?;
        }
    }
}
