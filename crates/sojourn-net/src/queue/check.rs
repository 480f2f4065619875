//! What every discipline must keep, for the property tests: conservation, order within a flow, no negative sojourn.

use super::{Cx, QueueDiscipline};
use crate::probe::{DropCause, Probe};
use crate::{Packet, Span, Time};
use proptest::prelude::*;
use rand::SeedableRng;

/// What happens to the queue in a test, 1 ms apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A packet of this size arrives.
    Arrive(u32),
    /// The link asks for a packet.
    Serve,
}

#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    number: usize,
    size: u32,
}

impl Packet for Numbered {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        (self.number % 3) as u32
    }
}

/// What became of the packets, by number of arrival.
#[derive(Default)]
pub(crate) struct Fates {
    pub(crate) enqueued: Vec<usize>,
    pub(crate) dequeued: Vec<usize>,
    pub(crate) dropped: Vec<(usize, DropCause)>,
    dropped_inside: u32,
}

impl Probe<Numbered> for Fates {
    fn enqueued(&mut self, _: Time, packet: &Numbered) {
        self.enqueued.push(packet.number);
    }
    fn dequeued(&mut self, _: Time, packet: &Numbered, _: Span) {
        self.dequeued.push(packet.number);
    }
    fn dropped(&mut self, _: Time, packet: Numbered, cause: DropCause, waited: Option<Span>) {
        self.dropped.push((packet.number, cause));
        self.dropped_inside += u32::from(waited.is_some());
    }
}

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![3 => (1u32..3000).prop_map(Event::Arrive), 2 => Just(Event::Serve)];
    prop::collection::vec(event, 0..200)
}

pub(crate) fn drive(queue: &mut dyn QueueDiscipline<Numbered>, events: &[Event]) -> Fates {
    let mut fates = Fates::default();
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    let mut number = 0;
    for (i, event) in events.iter().enumerate() {
        let mut cx = Cx { now: Time(i as u64 * 1_000_000), rng: &mut rng, probe: &mut fates };
        while queue.wake_at().is_some_and(|t| t <= cx.now) {
            queue.wake(&mut cx);
        }
        match *event {
            Event::Arrive(size) => {
                queue.enqueue(Numbered { number, size }, &mut cx);
                number += 1;
            }
            Event::Serve => {
                queue.dequeue(&mut cx);
            }
        }
    }
    fates
}

pub(crate) fn conserves(queue: &mut dyn QueueDiscipline<Numbered>, events: &[Event]) -> Result<(), TestCaseError> {
    let fates = drive(queue, events);
    let arrived = events.iter().filter(|e| matches!(e, Event::Arrive(_))).count();
    let left = queue.backlog().packets as usize;
    prop_assert_eq!(arrived, fates.dequeued.len() + fates.dropped.len() + left);
    prop_assert_eq!(fates.enqueued.len(), fates.dequeued.len() + fates.dropped_inside as usize + left);
    for flow in 0..3 {
        let order: Vec<_> = fates.dequeued.iter().filter(|n| *n % 3 == flow).collect();
        prop_assert!(order.is_sorted(), "flow {} out of order: {:?}", flow, order);
    }
    let mut all: Vec<_> = fates.dequeued.iter().copied().chain(fates.dropped.iter().map(|d| d.0)).collect();
    all.sort_unstable();
    prop_assert!(all.windows(2).all(|w| w[0] != w[1]), "a packet left twice");
    Ok(())
}
