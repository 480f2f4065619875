//! The variables of a discipline after each event of a replay.

use super::draws::NOBODY;
use super::packet::Replayed;
use sojourn_net::Time;
use sojourn_net::queue::inspect::{Inspector, Scope};
use sojourn_net::queue::{Backlog, Cx, QueueDiscipline};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Most numbers that a trace may hold (160 MB), and most times that a timer may fire.
const MOST: usize = 20_000_000;

/// What happened to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// A packet arrived.
    Arrival,
    /// The queue was asked for a packet.
    Departure,
    /// A timer of its own fired.
    Timer,
}

/// A variable over the rows of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Whether there is a value for each flow; otherwise there is one for each row.
    pub of_flows: bool,
    /// The values row by row; not a number where the discipline did not have the variable.
    pub values: Vec<f64>,
}

/// Variables over time: one row after each event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The flows of the packets, in order: the columns of variables that each flow has.
    pub flows: Vec<u32>,
    /// When it happened.
    pub time: Vec<u64>,
    /// What happened.
    pub event: Vec<u8>,
    /// Number of the packet that arrived or left; −1 if none did.
    pub packet: Vec<i64>,
    /// Packets waiting afterwards.
    pub backlog_pkts: Vec<u32>,
    /// Bytes waiting afterwards.
    pub backlog_bytes: Vec<u64>,
    /// The discipline's own variables.
    pub columns: Vec<Column>,
}

impl Trace {
    fn record(&mut self, at: Time, event: Event, packet: Option<u32>, queue: &mut dyn QueueDiscipline<Replayed>) {
        let (row, count) = (self.time.len(), self.flows.len());
        self.time.push(at.0);
        self.event.push(event as u8);
        self.packet.push(packet.map_or(-1, i64::from));
        let Backlog { packets, bytes } = queue.backlog();
        self.backlog_pkts.push(packets);
        self.backlog_bytes.push(bytes);
        for column in &mut self.columns {
            let width = if column.of_flows { count } else { 1 };
            column.values.resize((row + 1) * width, f64::NAN);
        }
        // Without a packet there are no flows, but the discipline has its own variables all the same.
        for place in 0..count.max(1) {
            let mut visit = |name: &'static str, scope: Scope, value: f64| {
                let of_flows = scope == Scope::Flow;
                if of_flows && count == 0 {
                    return value;
                }
                let width = if of_flows { count } else { 1 };
                let known = self.columns.iter().position(|column| column.name == name);
                let index = known.unwrap_or_else(|| {
                    self.columns.push(Column { name, of_flows, values: vec![f64::NAN; (row + 1) * width] });
                    self.columns.len() - 1
                });
                self.columns[index].values[row * width + if of_flows { place } else { 0 }] = value;
                value
            };
            queue.inspect(&mut Inspector::new(self.flows.get(place).copied().unwrap_or(0), &mut visit));
        }
    }

    fn numbers(&self) -> usize {
        self.columns.iter().map(|column| column.values.len()).sum()
    }
}

/// What is kept while the queue is behind a link.
#[derive(Default)]
struct Kept {
    trace: Trace,
    fired: usize,
    too_much: Option<&'static str>,
}

/// Where the trace is found afterwards.
pub(super) struct Seen(Arc<Mutex<Kept>>);

impl Seen {
    pub(super) fn take(self) -> Result<Trace, String> {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        kept.too_much.map_or(Ok(kept.trace), |reason| Err(reason.to_owned()))
    }
}

/// A discipline under observation.
pub(super) struct Watched {
    queue: Box<dyn QueueDiscipline<Replayed>>,
    kept: Arc<Mutex<Kept>>,
    traced: bool,
    arriving: Arc<AtomicUsize>,
}

impl Watched {
    pub(super) fn new(
        queue: Box<dyn QueueDiscipline<Replayed>>,
        flows: Vec<u32>,
        traced: bool,
        arriving: Arc<AtomicUsize>,
    ) -> (Self, Seen) {
        let kept = Kept { trace: Trace { flows, ..Trace::default() }, ..Kept::default() };
        let kept = Arc::new(Mutex::new(kept));
        (Self { queue, kept: Arc::clone(&kept), traced, arriving }, Seen(kept))
    }

    fn record(&mut self, at: Time, event: Event, packet: Option<u32>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if event == Event::Timer {
            kept.fired += 1;
            if kept.fired > MOST {
                kept.too_much = Some("the queue's timer fires more than 20 million times; replay a shorter time");
            }
        }
        if self.traced && kept.too_much.is_none() {
            kept.trace.record(at, event, packet, &mut *self.queue);
            if kept.trace.numbers() > MOST {
                kept.too_much = Some("the trace has more than 20 million numbers; replay without it, or fewer flows");
            }
        }
    }

    fn gave_up(&self) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).too_much.is_some()
    }
}

impl QueueDiscipline<Replayed> for Watched {
    fn enqueue(&mut self, packet: Replayed, cx: &mut Cx<'_, Replayed>) {
        let number = packet.number;
        self.arriving.store(number as usize, Ordering::Relaxed);
        self.queue.enqueue(packet, cx);
        self.arriving.store(NOBODY, Ordering::Relaxed);
        self.record(cx.now, Event::Arrival, Some(number));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, Replayed>) -> Option<Replayed> {
        let packet = self.queue.dequeue(cx);
        self.record(cx.now, Event::Departure, packet.as_ref().map(|packet| packet.number));
        packet
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn wants_idle_dequeue(&self) -> bool {
        self.queue.wants_idle_dequeue()
    }

    fn next_eligible(&self) -> Option<Time> {
        self.queue.next_eligible()
    }

    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at().filter(|_| !self.gave_up())
    }

    fn wake(&mut self, cx: &mut Cx<'_, Replayed>) {
        self.queue.wake(cx);
        self.record(cx.now, Event::Timer, None);
    }
}
