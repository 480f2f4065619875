//! Stochastic fairness queueing: flows are spread over lines by a hash, and lines take turns.
//!
//! Source: P. McKenney, "Stochastic fairness queueing" (INFOCOM 1990), as Linux `sch_sfq.c` serves it: deficit round robin by
//! bytes, a line that becomes active goes to the end of the round, and a full queue makes room by dropping the newest
//! packet of the longest line (in packets, the first of equals).
//!
//! Differences: flows are told apart by [`Packet::flow`]; the hash is not perturbed while the queue runs; there is no
//! limit for each line, and no RED. The arriving packet is let in first, and may be the one that is dropped.

use super::inspect::Inspector;
use super::lines::Lines;
use super::rounds::{List, Turn};
use super::spread::{Hash, Spread};
use super::{Backlog, Cx, QueueDiscipline};
use crate::Packet;
use crate::probe::DropCause;

/// What SFQ is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of lines that flows are spread over.
    pub flows: u32,
    /// Bytes that a line may send in each round.
    pub quantum: u32,
    /// How flows are spread over the lines.
    pub hash: Hash,
}

impl Default for Settings {
    fn default() -> Self {
        Self { flows: 1024, quantum: 1514, hash: Hash::Salted }
    }
}

/// The SFQ queue.
pub struct Sfq<P> {
    lines: Lines<P>,
    turns: Vec<Turn>,
    round: List,
    spread: Spread,
    quantum: i64,
}

impl<P: Packet> Sfq<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, settings: &Settings) -> Self {
        let flows = settings.flows.max(1);
        Self {
            lines: Lines::new(flows, max_packets, max_bytes),
            turns: vec![Turn::IDLE; flows as usize],
            round: List::EMPTY,
            spread: Spread::new(flows, 1, settings.hash),
            quantum: i64::from(settings.quantum.max(1)),
        }
    }

    /// Drops the newest packet of the longest line. A line that this empties leaves the round at its turn.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let longest = (0..self.lines.count()).rev().max_by_key(|line| self.lines.held(*line).packets).unwrap_or(0);
        if let Some((arrived, packet)) = self.lines.pop_newest(longest) {
            cx.probe.dropped(cx.now, packet, DropCause::Full, Some(cx.now.since(arrived)));
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Sfq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let line = self.spread.line(packet.flow(), cx.rng, |_| false);
        cx.probe.enqueued(cx.now, &packet);
        self.lines.push(line, cx.now, packet);
        let turn = &mut self.turns[line as usize];
        if !turn.active {
            (turn.active, turn.deficit) = (true, self.quantum);
            self.round.append(line, &mut self.turns);
        }
        while self.lines.is_over() {
            self.shrink(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let line = self.round.first()?;
            let turn = &mut self.turns[line as usize];
            if self.lines.held(line).packets == 0 {
                turn.active = false;
                self.round.remove_first(&self.turns);
                continue;
            }
            if turn.deficit <= 0 {
                turn.deficit += self.quantum;
                self.round.remove_first(&self.turns);
                self.round.append(line, &mut self.turns);
                continue;
            }
            let (arrived, packet) = self.lines.pop_oldest(line)?;
            turn.deficit -= i64::from(packet.size());
            if self.lines.held(line).packets == 0 {
                turn.active = false;
                self.round.remove_first(&self.turns);
            }
            cx.probe.dequeued(cx.now, &packet, cx.now.since(arrived));
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.lines.total()
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.of_flow();
        let Some(line) = self.spread.known(inspector.flow()) else { return };
        self.lines.inspect(line, inspector);
        inspector.see("deficit", &mut self.turns[line as usize].deficit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::check::{self, Desk, Numbered};
    use crate::{Ecn, Time};
    use proptest::prelude::*;

    fn desk(limit: u32, quantum: u32, flows: &[(u32, u32)]) -> Desk<Sfq<Numbered>> {
        let mut desk = Desk::new(Sfq::new(limit, u64::MAX, &Settings { quantum, ..Settings::default() }));
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

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, flows in 1u32..8, quantum in 1u32..2000,
        ) {
            check::conserves(&mut Sfq::new(packets, bytes, &Settings { flows, quantum, ..Settings::default() }), &events)?;
        }
    }
}
