//! CAKE without its shaper: flows isolated by a set-associative hash, sparse flows first, and a COBALT for each.
//!
//! Source: Linux `sch_cake.c`, one tin of it, as `cake unlimited besteffort flows` has it. A flow finds a line in a set of
//! eight ([`Spread`](super::spread)); lines take turns by deficit round robin, sparse ones first (DRR++): a line that runs
//! empty leaves the rounds, and joins the sparse ones when it has packets again. The last packet of a line may be marked
//! but is not dropped. When the queue is full the line with most bytes loses packets from its head, and its BLUE hears
//! of each.
//!
//! Differences: no shaper, so no overhead, no tins, and none of the tests of the target by link rate (in CAKE they vanish
//! without a rate too); no ACK filter, no isolation of hosts; flows are told apart by [`Packet::flow`]; a limit counts
//! bytes of packets, not those of their buffers. CAKE keeps idle lines whose COBALT has not come to rest in a list that
//! it visits when nothing else is to do; here the count goes down by what was due when the line has packets again.

use super::cobalt::{Settings as Cobalt, State, Verdict};
use super::inspect::Inspector;
use super::lines::Lines;
use super::rounds::Rounds;
use super::spread::{Hash, Spread};
use super::{Backlog, Cx, QueueDiscipline};
use crate::Packet;
use crate::probe::DropCause;

/// What CAKE is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The COBALT of each flow.
    pub cobalt: Cobalt,
    /// Number of lines that flows are spread over.
    pub flows: u32,
    /// Bytes that a flow may send in each round.
    pub quantum: u32,
    /// How flows are spread over the lines.
    pub hash: Hash,
    /// Lines in a set.
    pub ways: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let cobalt = Cobalt { ecn: true, ..Cobalt::default() };
        Self { cobalt, flows: 1024, quantum: 1514, hash: Hash::Salted, ways: 8 }
    }
}

/// The CAKE queue.
pub struct Cake<P> {
    lines: Lines<P>,
    states: Vec<State>,
    rounds: Rounds,
    spread: Spread,
    cobalt: Cobalt,
}

impl<P: Packet> Cake<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, settings: &Settings) -> Self {
        let flows = settings.flows.max(1);
        Self {
            lines: Lines::new(flows, max_packets, max_bytes),
            states: vec![State::NEW; flows as usize],
            rounds: Rounds::new(flows, settings.quantum),
            spread: Spread::new(flows, settings.ways, settings.hash),
            cobalt: settings.cobalt,
        }
    }

    /// Takes a packet from the head of the line with most bytes.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let line = self.lines.fattest();
        if let Some((arrived, packet)) = self.lines.pop_oldest(line) {
            self.states[line as usize].overflows(&self.cobalt, cx.now);
            cx.probe.dropped(cx.now, packet, DropCause::Full, Some(cx.now.since(arrived)));
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Cake<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let rounds = &self.rounds;
        let line = self.spread.line(packet.flow(), cx.rng, |line| rounds.is_active(line));
        cx.probe.enqueued(cx.now, &packet);
        self.lines.push(line, cx.now, packet);
        if !self.rounds.is_active(line) {
            self.states[line as usize].rested(&self.cobalt, cx.now);
            self.rounds.join(line);
        }
        while self.lines.is_over() {
            self.shrink(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let line = self.rounds.turn()?;
            let state = &mut self.states[line as usize];
            let Some((arrived, mut packet)) = self.lines.pop_oldest(line) else {
                state.runs_empty(&self.cobalt, cx.now);
                self.rounds.leave(line);
                continue;
            };
            let waited = cx.now.since(arrived);
            let verdict = state.judge(&self.cobalt, self.cobalt.target, &mut packet, waited, cx);
            match verdict {
                Verdict::Drop(cause) if self.lines.held(line).packets > 0 => {
                    cx.probe.dropped(cx.now, packet, cause, Some(waited));
                }
                Verdict::Drop(_) | Verdict::Leaves => {
                    self.rounds.sent(line, packet.size());
                    cx.probe.dequeued(cx.now, &packet, waited);
                    return Some(packet);
                }
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.lines.total()
    }

    fn minds_emptiness(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.of_flow();
        let Some(line) = self.spread.known(inspector.flow()) else { return };
        self.lines.inspect(line, inspector);
        self.rounds.inspect(line, inspector);
        self.states[line as usize].inspect(inspector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::check::{self, Desk, Numbered, ms};
    use crate::{Ecn, Span, Time};
    use proptest::prelude::*;

    fn desk(limit: u32, quantum: u32) -> Desk<Cake<Numbered>> {
        Desk::new(Cake::new(limit, u64::MAX, &Settings { quantum, ..Settings::default() }))
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
    fn a_full_queue_takes_from_the_head_of_the_fattest_line() {
        let mut desk = desk(4, 1514);
        for flow in [0, 0, 0, 1, 1] {
            desk.arrive(Time::ZERO, flow, 120, Ecn::NotEct);
        }
        assert_eq!(desk.fates.dropped, [(0, DropCause::Full)]);
    }

    #[test]
    fn the_last_packet_of_a_line_is_not_dropped() {
        let mut desk = desk(1000, 1514);
        (0..3).for_each(|_| desk.arrive(Time::ZERO, 0, 1500, Ecn::NotEct));
        assert_eq!(desk.serve(ms(20)), Some(0));
        // Due at 120 ms: the second packet is dropped, and the third, due as well, is the last.
        assert_eq!(desk.serve(ms(500)), Some(2));
        assert_eq!(desk.fates.dropped, [(1, DropCause::Sojourn)]);
    }

    #[test]
    fn a_rested_line_has_counted_down() {
        let mut desk = desk(1000, 1514);
        (0..40).for_each(|_| desk.arrive(Time::ZERO, 0, 1500, Ecn::Ect0));
        for at in 1..=40 {
            assert!(desk.serve(ms(20 * at)).is_some());
        }
        assert_eq!(desk.serve(ms(801)), None);
        let line = desk.queue.spread.known(0).expect("it has been there") as usize;
        let count = |desk: &Desk<Cake<Numbered>>| format!("{:?}", desk.queue.states[line]);
        let busy = count(&desk);
        desk.arrive(ms(60_000), 0, 1500, Ecn::Ect0);
        assert!(!busy.contains("count: 0") && count(&desk).contains("count: 0"), "{busy}, then {}", count(&desk));
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, quantum in 1u32..3000, ecn: bool,
        ) {
            let cobalt = Cobalt {
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                ecn,
                ..Cobalt::default()
            };
            let settings = Settings { cobalt, quantum, flows: 16, ..Settings::default() };
            check::conserves(&mut Cake::new(packets, bytes, &settings), &events)?;
        }
    }
}
