//! FQ-CoDel: deficit round robin over flows, new flows first, and a CoDel for each.
//!
//! Source: RFC 8290 and Linux `sch_fq_codel.c`. A flow that becomes active gets one quantum and joins the new flows;
//! a flow whose deficit is spent gets another quantum and joins the old ones; a new flow that runs empty stays for one
//! more round among the old ones. When the queue overflows, the flow with most bytes loses from its head half of them, or
//! 64 packets, and its CoDel counts those as drops.
//!
//! Differences: flows are told apart by [`Packet::flow`] instead of the five-tuple; the memory limit counts the bytes of
//! packets, not those of their buffers. With `linux` CoDel's test of a short queue sees the bytes of all flows, as in Linux; with
//! the other variants those of the flow, as in ns-3.

use super::codel::{self, Law, State, Variant};
use super::inspect::Inspector;
use super::lines::{Lines, Short};
use super::rounds::Rounds;
use super::spread::{Hash, Spread};
use super::{Backlog, Cx, QueueDiscipline};
use crate::Packet;
use crate::probe::DropCause;

/// What FQ-CoDel is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The CoDel of each flow.
    pub codel: codel::Settings,
    /// Number of lines that flows are spread over.
    pub flows: u32,
    /// Bytes that a flow may send in each round.
    pub quantum: u32,
    /// Most packets that one overflow takes from the fattest flow.
    pub drop_batch: u32,
    /// How flows are spread over the lines.
    pub hash: Hash,
    /// Lines in a set; 1 means that a flow has no choice of line.
    pub ways: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let codel = codel::Settings { variant: Variant::Linux, ecn: true, ..codel::Settings::default() };
        Self { codel, flows: 1024, quantum: 1514, drop_batch: 64, hash: Hash::Salted, ways: 1 }
    }
}

/// The FQ-CoDel queue.
pub struct FqCodel<P> {
    lines: Lines<P>,
    codels: Vec<State>,
    rounds: Rounds,
    spread: Spread,
    law: Law,
    short: Short,
    drop_batch: u32,
}

impl<P: Packet> FqCodel<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, settings: &Settings) -> Self {
        let flows = settings.flows.max(1);
        Self {
            lines: Lines::new(flows, max_packets, max_bytes),
            codels: vec![State::default(); flows as usize],
            rounds: Rounds::new(flows, settings.quantum),
            spread: Spread::new(flows, settings.ways, settings.hash),
            law: Law::new(&settings.codel),
            short: if settings.codel.variant == Variant::Linux { Short::All } else { Short::Line },
            drop_batch: settings.drop_batch.max(1),
        }
    }

    /// Takes half of the fattest flow.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let line = self.lines.fattest();
        let enough = self.lines.held(line).bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while packets < self.drop_batch {
            let Some((arrived, packet)) = self.lines.pop_oldest(line) else { break };
            packets += 1;
            bytes += u64::from(packet.size());
            cx.probe.dropped(cx.now, packet, DropCause::Full, Some(cx.now.since(arrived)));
            if bytes >= enough {
                break;
            }
        }
        let count = &mut self.codels[line as usize].count;
        *count = count.saturating_add(packets);
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let rounds = &self.rounds;
        let line = self.spread.line(packet.flow(), cx.rng, |line| rounds.is_active(line));
        self.law.arrives(packet.size());
        cx.probe.enqueued(cx.now, &packet);
        self.lines.push(line, cx.now, packet);
        self.rounds.join(line);
        while self.lines.is_over() {
            self.shrink(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let line = self.rounds.turn()?;
            let codel = &mut self.codels[line as usize];
            if let Some(packet) = self.law.dequeue(codel, &mut self.lines.line(line, self.short), cx) {
                self.rounds.sent(line, packet.size());
                return Some(packet);
            }
            self.rounds.ran_empty(line);
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
        self.law.inspect(&mut self.codels[line as usize], inspector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::check::{self, Desk, Numbered, ms};
    use crate::{Ecn, Span, Time};
    use proptest::prelude::*;

    type Queue = Desk<FqCodel<Numbered>>;

    fn queue(limit: u32, quantum: u32) -> Queue {
        Desk::new(FqCodel::new(limit, u64::MAX, &Settings { quantum, ..Settings::default() }))
    }

    fn arrive(desk: &mut Queue, flow: u32, size: u32) {
        desk.arrive(Time::ZERO, flow, size, Ecn::NotEct);
    }

    /// The variable of a flow's line.
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
    fn overflow_takes_half_of_the_fattest_flow_from_its_head() {
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
        let codel = codel::Settings { variant: Variant::Ns3, ecn: true, ce_threshold, ..codel::Settings::default() };
        let mut desk: Queue = Desk::new(FqCodel::new(10240, u64::MAX, &Settings { codel, ..Settings::default() }));
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
            let codel = codel::Settings {
                variant: if linux { Variant::Linux } else { Variant::Rfc8289 },
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                ecn: true,
                ..codel::Settings::default()
            };
            let ways = if flows % 4 == 0 { 4 } else { 1 };
            let settings = Settings { codel, flows, quantum: 700, ways, ..Settings::default() };
            check::conserves(&mut FqCodel::new(packets, bytes, &settings), &events)?;
        }
    }
}
