//! FQ-PIE: deficit round robin over flows, new flows first, and a PIE for each.
//!
//! Source: Linux `sch_fq_pie`. An arrival is judged by its own flow's controller and its own flow's backlog; the limit is
//! of all flows together and refuses the arrival (FQ-CoDel drops from the longest flow instead). All controllers are
//! updated by one timer. Differences:
//!
//! - Flows are told apart by [`Packet::flow`] and spread over the queues by a multiplicative hash, whose salt is drawn
//!   from the queue's random stream; the kernel hashes addresses and ports.
//! - A controller that has come to rest is not updated until a packet arrives, which changes nothing of its state; the
//!   kernel visits them all, at most 2048 in one pass.
//! - The rules of the controller may be those of any [`PieVariant`](super::PieVariant).

use super::line::Line;
use super::pie::Control;
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
}

impl Default for FqPieConfig {
    fn default() -> Self {
        let pie = PieConfig { max_packets: 10_240, ..PieConfig::of(PieVariant::Linux) };
        Self { pie, flows: 1024, quantum: 1514 }
    }
}

const NONE: u32 = u32::MAX;

struct Flow<P> {
    line: Line<P>,
    control: Control,
    deficit: i64,
    /// The flow served after this one, if it is in a round.
    next: u32,
    in_round: bool,
    awake: bool,
}

/// Flows in the order in which they are served, chained through the flows themselves.
struct Round {
    first: u32,
    last: u32,
}

impl Round {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    fn append<P>(&mut self, flow: u32, flows: &mut [Flow<P>]) {
        flows[flow as usize].next = NONE;
        match self.last {
            NONE => self.first = flow,
            last => flows[last as usize].next = flow,
        }
        self.last = flow;
    }

    fn drop_first<P>(&mut self, flows: &[Flow<P>]) {
        self.first = flows[self.first as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// The FQ-PIE queue.
pub struct FqPie<P> {
    flows: Vec<Flow<P>>,
    new: Round,
    old: Round,
    /// Flows whose controllers the timer updates.
    awake: Vec<u32>,
    salt: Option<u32>,
    total: Backlog,
    config: FqPieConfig,
    next_update: Time,
}

impl<P: Packet> FqPie<P> {
    /// A queue at rest at time zero.
    pub fn new(config: FqPieConfig) -> Self {
        let config = FqPieConfig { flows: config.flows.max(1), quantum: config.quantum.max(1), ..config };
        let flow = |_| Flow {
            line: Line::with_capacity(0),
            control: Control::new(&config.pie),
            deficit: 0,
            next: NONE,
            in_round: false,
            awake: false,
        };
        Self {
            flows: (0..config.flows).map(flow).collect(),
            new: Round::EMPTY,
            old: Round::EMPTY,
            awake: Vec::with_capacity(config.flows as usize),
            salt: None,
            total: Backlog::default(),
            config,
            next_update: config.pie.first_update(),
        }
    }

    fn place(&mut self, packet: &P, cx: &mut Cx<'_, P>) -> u32 {
        let salt = *self.salt.get_or_insert_with(|| cx.rng.next_u32());
        let hash = u64::from(packet.flow() ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((hash * u64::from(self.config.flows)) >> 32) as u32
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for FqPie<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let place = self.place(&packet, cx);
        let pie = &self.config.pie;
        let size = packet.size();
        let flow = &mut self.flows[place as usize];
        if self.total.packets >= pie.max_packets || self.total.bytes + u64::from(size) > pie.max_bytes {
            flow.control.overflowed();
            cx.probe.dropped(cx.now, packet, DropCause::Full, None);
            return;
        }
        if !flow.awake {
            flow.awake = true;
            self.awake.push(place);
        }
        if flow.control.hits(pie, flow.line.bytes(), size, cx.rng) {
            if !flow.control.may_mark(pie, packet.ecn()) {
                cx.probe.dropped(cx.now, packet, DropCause::Early, None);
                return;
            }
            packet.mark();
            cx.probe.marked(cx.now, &packet);
        }
        flow.line.push(packet, cx);
        self.total.packets += 1;
        self.total.bytes += u64::from(size);
        if !flow.in_round {
            flow.in_round = true;
            flow.deficit = i64::from(self.config.quantum);
            self.new.append(place, &mut self.flows);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let is_new = self.new.first != NONE;
            let round = if is_new { &mut self.new } else { &mut self.old };
            let place = round.first;
            let flow = self.flows.get_mut(place as usize)?;
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                round.drop_first(&self.flows);
                self.old.append(place, &mut self.flows);
                continue;
            }
            let Some((waited, packet)) = flow.line.pop(cx.now) else {
                round.drop_first(&self.flows);
                if is_new && self.old.first != NONE {
                    self.old.append(place, &mut self.flows);
                } else {
                    self.flows[place as usize].in_round = false;
                }
                continue;
            };
            let size = packet.size();
            flow.deficit -= i64::from(size);
            flow.control.departed(&self.config.pie, cx.now, size, waited, flow.line.bytes());
            self.total.packets -= 1;
            self.total.bytes -= u64::from(size);
            cx.probe.dequeued(cx.now, &packet, waited);
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn wake_at(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn wake(&mut self, cx: &mut Cx<'_, P>) {
        let (flows, pie) = (&mut self.flows, &self.config.pie);
        self.awake.retain(|place| {
            let flow = &mut flows[*place as usize];
            flow.control.update(pie, flow.line.head_delay(cx.now), flow.line.bytes());
            flow.awake = !(flow.line.is_empty() && flow.control.is_at_rest(pie));
            flow.awake
        });
        self.next_update += pie.update;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::queue::check;
    use crate::queue::script::{Script, Tagged, ms, packet};
    use proptest::prelude::*;

    fn queue(quantum: u32) -> FqPie<Tagged> {
        FqPie::new(FqPieConfig { quantum, ..FqPieConfig::default() })
    }

    fn arrive(queue: &mut FqPie<Tagged>, script: &mut Script, at: Time, number: usize, flow: u32, size: u32) {
        script.at(at, |cx| queue.enqueue(packet(number, size).with_flow(flow), cx));
    }

    fn deficit(queue: &mut FqPie<Tagged>, script: &mut Script, flow: u32) -> i64 {
        let place = script.at(ms(0), |cx| queue.place(&packet(0, 1).with_flow(flow), cx));
        queue.flows[place as usize].deficit
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
        assert!(queue.flows.iter().all(|flow| !flow.in_round));
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
        for flow in &mut queue.flows {
            let before = format!("{:?}", flow.control);
            flow.control.update(&queue.config.pie, Span::ZERO, 0);
            assert_eq!(format!("{:?}", flow.control), before);
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
            check::conserves(&mut FqPie::new(FqPieConfig { pie, flows, quantum }), &events)?;
        }
    }
}
