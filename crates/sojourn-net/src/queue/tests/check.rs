//! Disciplines under test: what each must keep (conservation, order within a flow, no negative sojourn), a queue driven
//! by hand, and given random numbers.

use crate::probe::{DropCause, Probe};
use crate::queue::discipline::{Cx, QueueDiscipline};
use crate::queue::inspect::Inspector;
use crate::{Ecn, Packet, Span, Time};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::convert::Infallible;

/// What happens to the queue in a test, 1 ms apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A packet of this size arrives.
    Arrive(u32),
    /// The link asks for a packet.
    Serve,
}

/// A packet that knows how many arrived before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) number: usize,
    size: u32,
    flow: u32,
    ecn: Ecn,
}

impl Numbered {
    pub(crate) fn new(number: usize) -> Self {
        packet(number, 1000)
    }
    pub(crate) fn leaves_ce(&self) -> bool {
        self.ecn == Ecn::Ce
    }
    pub(crate) fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
    pub(crate) fn with_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }
}

/// A packet without ECN.
pub(crate) fn packet(number: usize, size: u32) -> Numbered {
    Numbered { number, size, flow: 0, ecn: Ecn::NotEct }
}

impl Packet for Numbered {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        assert_ne!(self.ecn, Ecn::NotEct, "marked a packet whose transport does not understand it");
        self.ecn = Ecn::Ce;
    }
}

/// What became of the packets, by number of arrival.
#[derive(Debug, Default)]
pub(crate) struct Fates {
    pub(crate) enqueued: Vec<usize>,
    pub(crate) dequeued: Vec<usize>,
    pub(crate) dropped: Vec<(usize, DropCause)>,
    pub(crate) marked: Vec<usize>,
    dropped_inside: u32,
    arrived: Vec<(usize, Time)>,
    wrong: Vec<usize>,
}

impl Fates {
    /// A packet leaves after `waited`: that must be the time since its arrival.
    fn waited(&mut self, now: Time, packet: &Numbered, waited: Span) {
        let arrived = self.arrived.iter().rev().find(|(number, _)| *number == packet.number);
        if arrived.is_none_or(|(_, at)| *at > now || now.since(*at) != waited) {
            self.wrong.push(packet.number);
        }
    }
}

impl Probe<Numbered> for Fates {
    fn enqueued(&mut self, now: Time, packet: &Numbered) {
        self.enqueued.push(packet.number);
        self.arrived.push((packet.number, now));
    }
    fn dequeued(&mut self, now: Time, packet: &Numbered, waited: Span) {
        self.waited(now, packet, waited);
        self.dequeued.push(packet.number);
    }
    fn marked(&mut self, _: Time, packet: &Numbered) {
        self.marked.push(packet.number);
    }
    fn dropped(&mut self, now: Time, packet: Numbered, cause: DropCause, waited: Option<Span>) {
        if let Some(waited) = waited {
            self.waited(now, &packet, waited);
        }
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
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut number = 0;
    for (i, event) in events.iter().enumerate() {
        let mut cx = Cx { now: Time(i as u64 * 1_000_000), rng: &mut rng, probe: &mut fates };
        while queue.wake_at().is_some_and(|t| t <= cx.now) {
            queue.wake(&mut cx);
        }
        match *event {
            Event::Arrive(size) => {
                let (flow, ecn) = ((number % 3) as u32, [Ecn::NotEct, Ecn::Ect0][number / 3 % 2]);
                queue.enqueue(Numbered { number, size, flow, ecn }, &mut cx);
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
    prop_assert!(fates.wrong.is_empty(), "wrong sojourn: {:?}", fates.wrong);
    prop_assert!(left > 0 || queue.backlog().bytes == 0, "an empty queue with bytes");
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

/// Every discipline as a study file may have it, with marks where it can.
pub(crate) fn all() -> Vec<(String, Box<dyn QueueDiscipline<Numbered>>)> {
    let kinds = [
        r#"{"kind": "fifo"}"#,
        r#"{"kind": "fifo", "drop": "head"}"#,
        r#"{"kind": "netem", "delay": "2ms"}"#,
        r#"{"kind": "codel", "ecn": true, "target": "1ms", "interval": "8ms"}"#,
        r#"{"kind": "codel", "variant": "linux", "ecn": true, "target": "1ms", "interval": "8ms", "ce-threshold": "3ms"}"#,
        r#"{"kind": "codel", "variant": "ns3", "ecn": true, "target": "1ms", "interval": "8ms", "ce-threshold": "3ms", "l4s": true}"#,
        r#"{"kind": "fq-codel", "target": "1ms", "interval": "8ms", "ce-threshold": "3ms", "flows": 4}"#,
        r#"{"kind": "cobalt", "ecn": true, "target": "1ms", "interval": "8ms", "ce-threshold": "3ms", "blue-threshold": "20ms"}"#,
        r#"{"kind": "cake", "target": "1ms", "interval": "8ms", "flows": 8}"#,
        r#"{"kind": "sfq-codel", "target": "1ms", "interval": "8ms"}"#,
        r#"{"kind": "pie", "ecn": true, "target": "1ms", "burst": "0s", "mark-p": 1}"#,
        r#"{"kind": "pie", "ecn": true, "target": "1ms", "burst": "0s", "mark-p": 1, "l4s-threshold": "3ms"}"#,
        r#"{"kind": "pie", "variant": "linux", "ecn": true, "target": "1ms", "burst": "0s", "mark-p": 1}"#,
        r#"{"kind": "pie", "variant": "ns2_authors", "ecn": true, "target": "1ms", "burst": "0s", "mark-p": 1, "delay": "timestamps"}"#,
        r#"{"kind": "fq-pie", "ecn": true, "target": "1ms", "burst": "0s", "mark-p": 1, "flows": 4}"#,
        r#"{"kind": "dualpi2", "target": "1ms", "mtu": "300B"}"#,
        r#"{"kind": "red", "ecn": true, "min": 1, "max": 4, "mark-p": 1, "weight": 0.5}"#,
        r#"{"kind": "red", "variant": "paper", "ecn": true, "min": 1, "max": 4, "weight": 0.5}"#,
        r#"{"kind": "sfq", "flows": 4}"#,
    ];
    let built = |text: &&str| {
        let mut keys: serde_json::Value = serde_json::from_str(text).expect("JSON");
        keys["limit"] = "5000pkt".into();
        let spec: crate::queue::QueueSpec = serde_json::from_value(keys).expect("a queue");
        spec.check().expect("settings that are allowed");
        (text.to_string(), spec.build((5000, u64::MAX), crate::Rate(8_000_000)))
    };
    kinds.iter().map(built).collect()
}

/// A queue driven by hand, for test vectors: packets are numbered from 0 in order of arrival.
pub(crate) struct Desk<Q> {
    pub(crate) queue: Q,
    pub(crate) fates: Fates,
    rng: Pcg64Mcg,
    arrived: usize,
}

impl<Q: QueueDiscipline<Numbered>> Desk<Q> {
    pub(crate) fn new(queue: Q) -> Self {
        Self { queue, fates: Fates::default(), rng: Pcg64Mcg::seed_from_u64(1), arrived: 0 }
    }

    pub(crate) fn arrive(&mut self, now: Time, flow: u32, size: u32, ecn: Ecn) {
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.fates };
        self.queue.enqueue(Numbered { number: self.arrived, size, flow, ecn }, &mut cx);
        self.arrived += 1;
    }

    /// The number of the packet that leaves.
    pub(crate) fn serve(&mut self, now: Time) -> Option<usize> {
        let mut cx = Cx { now, rng: &mut self.rng, probe: &mut self.fates };
        self.queue.dequeue(&mut cx).map(|packet| packet.number)
    }

    pub(crate) fn dropped(&self) -> Vec<usize> {
        self.fates.dropped.iter().map(|d| d.0).collect()
    }

    /// The variables of a flow of these names; those with a value are set to it.
    pub(crate) fn variables<const N: usize>(&mut self, flow: u32, names: [(&str, Option<f64>); N]) -> [f64; N] {
        let mut found = [f64::NAN; N];
        let mut visit = |name: &'static str, _, value: f64| {
            let Some(at) = names.iter().position(|(asked, _)| *asked == name) else { return value };
            found[at] = value;
            names[at].1.unwrap_or(value)
        };
        self.queue.inspect(&mut Inspector::new(flow, &mut visit));
        found
    }
}

pub(crate) fn ms(ms: impl Into<f64>) -> Time {
    Time((ms.into() * 1e6).round() as u64)
}

/// A random stream that always gives the same number in [0, 1).
pub(crate) struct Fixed(pub(crate) f64);

impl rand::TryRng for Fixed {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 * (1u64 << 32) as f64) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(((self.0 * (1u64 << 53) as f64) as u64) << 11)
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("no discipline draws bytes")
    }
}

/// What becomes of the packets of a queue that is driven at given times with a given random number.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The number that every draw gives.
    pub(crate) draw: f64,
    pub(crate) departures: u64,
    pub(crate) fates: Fates,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn at<R>(&mut self, now: Time, act: impl FnOnce(&mut Cx<'_, Numbered>) -> R) -> R {
        act(&mut Cx { now, rng: &mut Fixed(self.draw), probe: &mut self.fates })
    }
}
