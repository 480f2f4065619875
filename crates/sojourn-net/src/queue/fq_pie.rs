//! FQ-PIE: deficit round robin over flows, new flows first, and a PIE for each.
//!
//! Source: Linux `sch_fq_pie`. An arrival is judged by its own flow's controller and its own flow's backlog; the limit is
//! of all flows together and refuses the arrival (FQ-CoDel drops from the longest flow instead). All controllers are
//! updated by one timer. Differences:
//!
//! - Flows are told apart by [`Packet::flow`]; the kernel hashes addresses and ports.
//! - A controller that has come to rest is not updated until a packet arrives, which changes nothing of its state; the
//!   kernel visits them all, at most 2048 in one pass.
//! - The rules of the controller may be those of any [`PieVariant`](super::PieVariant).

use super::inspect::Inspector;
use super::lines::Lines;
use super::pie::Control;
use super::rounds::Rounds;
use super::spread::{Hash, Spread};
use super::{Backlog, Cx, PieConfig, PieVariant, QueueDiscipline};
use crate::probe::DropCause;
use crate::{Packet, Time};

/// The settings of [`FqPie`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FqPieConfig {
    /// Each flow's controller; the limits in it are of all flows together.
    pub pie: PieConfig,
    /// Queues that flows are spread over.
    pub flows: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum: u32,
    /// How flows are spread over the queues.
    pub hash: Hash,
    /// Queues in a set; 1 means that a flow has no choice of queue.
    pub ways: u32,
}

impl Default for FqPieConfig {
    fn default() -> Self {
        let pie = PieConfig { max_packets: 10_240, ..PieConfig::of(PieVariant::Linux) };
        Self { pie, flows: 1024, quantum: 1514, hash: Hash::Salted, ways: 1 }
    }
}

/// The FQ-PIE queue.
pub struct FqPie<P> {
    lines: Lines<P>,
    controls: Vec<Control>,
    rounds: Rounds,
    spread: Spread,
    /// Lines whose controllers the timer updates.
    awake: Vec<u32>,
    is_awake: Vec<bool>,
    config: FqPieConfig,
    next_update: Time,
}

impl<P: Packet> FqPie<P> {
    /// A queue at rest at time zero.
    pub fn new(config: FqPieConfig) -> Self {
        let flows = config.flows.max(1);
        Self {
            lines: Lines::new(flows, config.pie.max_packets, config.pie.max_bytes),
            controls: vec![Control::new(&config.pie); flows as usize],
            rounds: Rounds::new(flows, config.quantum),
            spread: Spread::new(flows, config.ways, config.hash),
            awake: Vec::with_capacity(flows as usize),
            is_awake: vec![false; flows as usize],
            next_update: config.pie.first_update(),
            config,
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for FqPie<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let rounds = &self.rounds;
        let line = self.spread.line(packet.flow(), cx.rng, |line| rounds.is_active(line));
        let pie = &self.config.pie;
        let size = packet.size();
        let control = &mut self.controls[line as usize];
        if self.lines.is_full_for(size) {
            control.overflowed();
            cx.probe.dropped(cx.now, packet, DropCause::Full, None);
            return;
        }
        if !std::mem::replace(&mut self.is_awake[line as usize], true) {
            self.awake.push(line);
        }
        if !pie.spares(packet.ecn()) && control.hits(pie, pie.reckoned(self.lines.held(line)), size, cx.rng) {
            if !control.may_mark(pie, packet.ecn()) {
                cx.probe.dropped(cx.now, packet, DropCause::Early, None);
                return;
            }
            packet.mark();
            cx.probe.marked(cx.now, &packet);
        }
        cx.probe.enqueued(cx.now, &packet);
        self.lines.push(line, cx.now, packet);
        self.rounds.join(line);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let line = self.rounds.turn()?;
            let Some((arrived, mut packet)) = self.lines.pop_oldest(line) else {
                self.rounds.ran_empty(line);
                continue;
            };
            let (size, waited) = (packet.size(), cx.now.since(arrived));
            self.rounds.sent(line, size);
            if self.config.pie.marks_at_departure(packet.ecn(), waited) {
                packet.mark();
                cx.probe.marked(cx.now, &packet);
            }
            let left = self.lines.held(line).bytes;
            self.controls[line as usize].departed(&self.config.pie, cx.now, size, waited, left);
            cx.probe.dequeued(cx.now, &packet, waited);
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.lines.total()
    }

    fn minds_emptiness(&self) -> bool {
        true
    }

    fn wake_at(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn wake(&mut self, cx: &mut Cx<'_, P>) {
        let Self { lines, controls, is_awake, .. } = self;
        let pie = &self.config.pie;
        self.awake.retain(|line| {
            let control = &mut controls[*line as usize];
            let backlog = pie.reckoned(lines.held(*line));
            control.update(pie, lines.head_delay(*line, cx.now), backlog);
            let awake = backlog > 0 || !control.is_at_rest(pie);
            is_awake[*line as usize] = awake;
            awake
        });
        self.next_update += pie.update;
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.see("next_update", &mut self.next_update);
        inspector.of_flow();
        let Some(line) = self.spread.known(inspector.flow()) else { return };
        self.lines.inspect(line, inspector);
        self.rounds.inspect(line, inspector);
        self.controls[line as usize].inspect(&self.config.pie, inspector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::queue::check::{self, Numbered, Script, ms, packet};
    use proptest::prelude::*;

    fn queue(quantum: u32) -> FqPie<Numbered> {
        FqPie::new(FqPieConfig { quantum, ..FqPieConfig::default() })
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
        assert!((0..1024).all(|line| !queue.rounds.is_active(line)));
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
        for control in &mut queue.controls {
            let before = format!("{control:?}");
            control.update(&queue.config.pie, Span::ZERO, 0);
            assert_eq!(format!("{control:?}"), before);
        }
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..80_000, flows in 1u32..4, quantum in 1u32..3000,
            variant in 0usize..3,
        ) {
            let variant = [PieVariant::Rfc8033, PieVariant::Linux, PieVariant::Ns2Authors][variant];
            let pie = PieConfig {
                max_packets: packets,
                max_bytes: bytes,
                burst: Span::from_millis(10),
                target: Span::from_millis(2),
                ..PieConfig::of(variant)
            };
            check::conserves(&mut FqPie::new(FqPieConfig { pie, flows, quantum, ..FqPieConfig::default() }), &events)?;
        }
    }
}
