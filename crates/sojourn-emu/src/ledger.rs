//! The records of a run: summaries, packet log, capture, live view and replay, all from the same events.
//!
//! Runs on a thread of its own, which nothing waits for.

use crate::event::{Event, SNAPSHOT, Snapshot};
use crate::frame::Headers;
use crate::lateness::Lateness;
use crate::replay::{Agreement, Fate, Replay};
use crate::rows;
use rtrb::Consumer;
use serde::Serialize;
use sojourn_net::probe::{DropCause, Probe as _};
use sojourn_net::{Rate, Span, Time};
use sojourn_pcap::write::Pcapng;
use sojourn_sim::engine::Packet;
use sojourn_sim::replay::Arrival;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::{LinkRecord, LinkSummary};
use sojourn_sim::{Direction, LoneLink};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufWriter, Write};

/// Rows of the packet log that are written together.
const BATCH: usize = 1 << 12;
/// Bytes of a window in which the rate is measured: ten full packets.
const WINDOW: u64 = 15_000;
/// Later than this, a packet is no end of such a window.
const LATE: Span = Span::from_millis(1);

/// What takes a record.
pub type Output = Box<dyn Write + Send>;

/// Where records go; what is absent is not kept.
#[derive(Default)]
pub struct Outputs {
    /// Rows of the packet log, see [`rows`].
    pub log: Option<Output>,
    /// A capture (pcapng), and the wall clock's time (ns since 1970) at the beginning.
    pub capture: Option<(Output, u64)>,
}

/// A packet at a link, until its fate is known.
struct Waiting {
    packet: Packet,
    journey: u32,
    size: u32,
    marked: bool,
}

/// The records of one link.
struct LinkLedger {
    name: String,
    rate: Option<Rate>,
    record: LinkRecord,
    replay: Replay,
    first: u32,
    waiting: VecDeque<Option<Waiting>>,
    last: (Time, Time, u32),
    recent: Recent,
    is_last: Option<Direction>,
}

/// What happened at a link since the last look.
#[derive(Clone, Debug, Default)]
struct Recent {
    bytes: u64,
    left: u64,
    waited: u128,
    longest: Span,
    drops: [u64; DropCause::ALL.len()],
}

/// The rate at which one direction was served while its queue was never empty.
#[derive(Default)]
struct Pace {
    /// Of the packets that left the last link, whether the link was busy just before.
    busy: VecDeque<bool>,
    /// Bytes of the window, and when its first packet was due and written.
    window: Option<(u64, Time, Time)>,
    windows: u64,
    /// Time between the windows' ends, as due and as written.
    took: [Span; 2],
}

/// All records of a run.
pub struct Ledger {
    links: Vec<LinkLedger>,
    pace: [Pace; 2],
    flows: BTreeMap<u32, u32>,
    log: Option<BufWriter<Output>>,
    capture: Option<(Pcapng<BufWriter<Output>>, u64)>,
    snapshots: Option<Consumer<Snapshot>>,
    heads: BTreeMap<u32, [u8; SNAPSHOT]>,
    late: [Lateness; 2],
    looked: Time,
}

/// The rate got while the queue was backlogged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paced {
    /// Windows of ten full packets in which the link was never idle.
    pub windows: u64,
    /// The rate got over the rate set, of all windows together. One that begins or ends more than 1 ms late is left
    /// out: how late a packet was is judged by itself.
    pub ratio: f64,
}

/// What a run comes to, link by link.
pub struct Recorded {
    /// In the order of the packet log's codes.
    pub links: Vec<(String, LinkSummary, Agreement)>,
    /// Of both directions (down, up), the rate got; `None` if the queue was never busy for long enough.
    pub paced: [Option<Paced>; 2],
    /// How many flows there were.
    pub flows: usize,
}

impl Ledger {
    /// The records of a run of a scenario.
    ///
    /// # Errors
    /// The capture cannot be begun.
    pub fn new(
        scenario: &Scenario,
        (seed, replication): (u64, u32),
        outputs: Outputs,
        snapshots: Option<Consumer<Snapshot>>,
    ) -> io::Result<Self> {
        let hops = scenario.path.hops.len();
        let links = scenario.path.links().enumerate().map(|(place, of)| {
            let last = if of.direction == Direction::Down { 0 } else { hops - 1 };
            LinkLedger {
                name: of.name(),
                rate: of.spec.rate.mean(),
                record: LinkRecord::new(Span::from_secs(1), outputs.log.is_some()),
                replay: Replay::new(LoneLink::new(scenario, seed, replication, &of), of.spec.loss),
                first: 0,
                waiting: VecDeque::new(),
                last: (Time::ZERO, Time::ZERO, 0),
                recent: Recent::default(),
                is_last: (place / 2 == last).then_some(of.direction),
            }
        });
        let links: Vec<_> = links.collect();
        let capture = outputs.capture.map(|(out, wall)| {
            let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
            Pcapng::new(BufWriter::new(out), &names).map(|pcapng| (pcapng, wall))
        });
        Ok(Self {
            links,
            pace: Default::default(),
            flows: BTreeMap::new(),
            log: outputs.log.map(BufWriter::new),
            capture: capture.transpose()?,
            snapshots,
            heads: BTreeMap::new(),
            late: Default::default(),
            looked: Time::ZERO,
        })
    }

    /// Takes one event in.
    ///
    /// # Errors
    /// A record cannot be written.
    pub fn take(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Enqueued { link, row, at, size, journey, headers } => {
                let packet = self.arrive((link, row), at, size, journey, headers);
                self.links[usize::from(link)].record.enqueued(at, &packet.packet);
                self.keep(link, row, packet);
            }
            Event::Refused { link, row, at, size, journey, headers, cause } => {
                let packet = self.arrive((link, row), at, size, journey, headers);
                let port = &mut self.links[usize::from(link)];
                port.record.dropped(at, packet.packet.clone(), cause, None);
                port.replay.live(row, Fate::Dropped(cause));
                port.recent.drops[cause as usize] += 1;
                self.keep(link, row, packet);
                self.settle(link, row, at, Some(cause))?;
            }
            Event::Dequeued { link, row, at, waited } => {
                let port = &mut self.links[usize::from(link)];
                if let Some(packet) = port.at(row) {
                    let packet = packet.packet.clone();
                    port.record.dequeued(at, &packet, waited);
                    port.recent.left += 1;
                    port.recent.waited += u128::from(waited.0);
                    port.recent.longest = port.recent.longest.max(waited);
                }
                port.replay.live(row, Fate::Left(at));
                self.settle(link, row, at, None)?;
            }
            Event::Transmitted { link, start, end, bytes } => {
                let port = &mut self.links[usize::from(link)];
                port.record.transmitted(start, end, bytes);
                port.recent.bytes += u64::from(bytes);
                let busy = std::mem::replace(&mut port.last, (start, end, bytes)).1 == start && bytes > 0;
                if let Some(direction) = port.is_last {
                    self.pace[direction as usize].busy.push_back(busy);
                }
            }
            Event::Marked { link, row, at } => {
                let port = &mut self.links[usize::from(link)];
                port.replay.live_mark(row);
                let none = Packet::observed(sojourn_net::log::Kind::Data, 0, 0, 0, row);
                port.record.marked(at, &none);
                if let Some(packet) = port.at(row) {
                    packet.marked = true;
                }
            }
            Event::Dropped { link, row, at, waited, cause } => {
                let port = &mut self.links[usize::from(link)];
                if let Some(packet) = port.at(row) {
                    let packet = packet.packet.clone();
                    port.record.dropped(at, packet, cause, Some(waited));
                    port.recent.drops[cause as usize] += 1;
                }
                port.replay.live(row, Fate::Dropped(cause));
                self.settle(link, row, at, Some(cause))?;
            }
            Event::Written { way, due, late, size } => {
                self.late[usize::from(way)].add(late);
                self.pace[usize::from(way)].written(due, due + late, size);
            }
        }
        Ok(())
    }

    fn arrive(&mut self, (link, row): (u8, u32), at: Time, size: u32, journey: u32, headers: Headers) -> Waiting {
        let Headers { flow, kind, ecn, seq, .. } = headers;
        let port = &mut self.links[usize::from(link)];
        port.replay.arrive(row, Arrival { at, size, flow, ecn });
        port.record.set_journey(journey);
        let next = self.flows.len() as u32;
        let number = *self.flows.entry(flow).or_insert(next);
        let packet = Packet::observed(kind, u64::from(seq), number, size.min(65_535) as u16, row);
        Waiting { packet, journey, size, marked: false }
    }

    fn keep(&mut self, link: u8, row: u32, packet: Waiting) {
        let port = &mut self.links[usize::from(link)];
        let Some(place) = row.checked_sub(port.first) else { return };
        // Events that did not fit the ring leave holes.
        while port.waiting.len() < place as usize {
            port.waiting.push_back(None);
        }
        port.waiting.push_back(Some(packet));
    }

    /// The fate of a packet is known: it goes into the capture, and its row may be written.
    fn settle(&mut self, link: u8, row: u32, at: Time, cause: Option<DropCause>) -> io::Result<()> {
        let port = &mut self.links[usize::from(link)];
        let place = row.wrapping_sub(port.first) as usize;
        let settled = port.waiting.get_mut(place).and_then(Option::take);
        while port.waiting.front().is_some_and(Option::is_none) {
            port.waiting.pop_front();
            port.first += 1;
        }
        if let (Some(packet), true) = (settled, self.capture.is_some()) {
            self.capture(link, at, &packet, cause)?;
        }
        if let Some(log) = &mut self.log {
            let port = &mut self.links[usize::from(link)];
            if let Some((first, rows)) = port.record.take_settled(BATCH) {
                rows::write(log, link, first, &rows)?;
            }
        }
        Ok(())
    }

    fn capture(&mut self, link: u8, at: Time, packet: &Waiting, cause: Option<DropCause>) -> io::Result<()> {
        while let Some((journey, head)) = self.snapshots.as_mut().and_then(|ring| ring.pop().ok()) {
            self.heads.insert(journey, head);
        }
        let port = &self.links[usize::from(link)];
        let ends = cause.is_some() || port.is_last.is_some();
        let head = if ends { self.heads.remove(&packet.journey) } else { self.heads.get(&packet.journey).copied() };
        let (Some(head), Some((out, wall))) = (head, &mut self.capture) else { return Ok(()) };
        let comment = match (cause, packet.marked) {
            (Some(cause), _) => format!("dropped: {}", cause.name()),
            (None, true) => "marked: congestion experienced".to_owned(),
            _ => String::new(),
        };
        // TUN has no link layer; this one is made up, as most programs expect one.
        let kind: [u8; 2] = if head[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, kind[0], kind[1]];
        frame.extend(&head[..SNAPSHOT.min(packet.size as usize)]);
        if packet.marked {
            crate::frame::mark(&mut frame[14..]);
        }
        out.frame(u32::from(link), *wall + at.0, (&frame, packet.size + 14), &comment)
    }

    /// What happened since the last look, as JSON.
    pub fn look(&mut self, now: Time) -> serde_json::Value {
        let seconds = now.since(std::mem::replace(&mut self.looked, now)).as_secs().max(1e-9);
        let mut links = serde_json::Map::new();
        for link in &mut self.links {
            let Recent { bytes, left, waited, longest, drops } = std::mem::take(&mut link.recent);
            let mean = (left > 0).then(|| waited as f64 / left as f64 * 1e-6);
            let named = |counts: &[u64]| -> BTreeMap<&'static str, u64> {
                DropCause::ALL
                    .iter()
                    .zip(counts)
                    .filter(|(_, n)| **n > 0)
                    .map(|(cause, n)| (cause.name(), *n))
                    .collect()
            };
            let quantiles = [0.5, 0.95, 0.99].map(|q| link.record.sojourn.quantile(q) * 1e-9);
            let sum = link.record.sojourn.mean() * link.record.sojourn.count() as f64 * 1e-9;
            let view = serde_json::json!({
                "rate_bps": bytes as f64 * 8.0 / seconds,
                "set_bps": link.rate.map(|rate| rate.0),
                "backlog_pkts": link.record.waiting(),
                "sojourn_ms": mean,
                "longest_ms": longest.as_millis(),
                "drops": named(&drops),
                "arrived_pkts": link.record.arrived,
                "departed_pkts": link.record.departed,
                "departed_bytes": link.record.departed_bytes,
                "marked_pkts": link.record.marked,
                "drops_by_cause": named(&link.record.dropped),
                "sojourn_sum_s": sum,
                "sojourn_quantiles_s": quantiles,
            });
            links.insert(link.name.clone(), view);
        }
        let late = [Direction::Down, Direction::Up].map(|way| (way.name(), self.late[way as usize].summary()));
        serde_json::json!({ "time_s": now.as_secs(), "links": links, "lateness_us": BTreeMap::from(late) })
    }

    /// Writes what is left, and sums up. `end`: up to when the queues were driven.
    ///
    /// # Errors
    /// A record cannot be written.
    pub fn finish(mut self, end: Time) -> io::Result<Recorded> {
        let paced = self.pace.each_ref().map(Pace::result);
        let mut links = Vec::new();
        for (code, mut link) in (0u8..).zip(self.links) {
            link.record.bins.finish(end, link.last);
            links.push((
                link.name,
                LinkSummary::new(&link.record, link.rate, Time::ZERO, end),
                link.replay.finish(end),
            ));
            if let (Some(log), Some((first, rows))) = (&mut self.log, link.record.into_log()) {
                rows::write(log, code, first, &rows)?;
            }
        }
        if let Some(log) = &mut self.log {
            log.flush()?;
        }
        if let Some((capture, _)) = self.capture {
            capture.finish()?;
        }
        Ok(Recorded { links, paced, flows: self.flows.len() })
    }
}

impl LinkLedger {
    fn at(&mut self, row: u32) -> Option<&mut Waiting> {
        let place = row.checked_sub(self.first)? as usize;
        self.waiting.get_mut(place)?.as_mut()
    }
}

impl Pace {
    fn written(&mut self, due: Time, at: Time, size: u32) {
        let busy = self.busy.pop_front().unwrap_or(false);
        let (bytes, first_due, first_at) = match self.window.filter(|_| busy) {
            Some((bytes, first_due, first_at)) => (bytes + u64::from(size), first_due, first_at),
            None => (0, due, at),
        };
        self.window = Some((bytes, first_due, first_at));
        if bytes >= WINDOW {
            if first_at.since(first_due).max(at.since(due)) <= LATE {
                self.windows += 1;
                self.took = [self.took[0] + due.since(first_due), self.took[1] + at.since(first_at)];
            }
            self.window = Some((0, due, at));
        }
    }

    fn result(&self) -> Option<Paced> {
        let [set, got] = self.took;
        (self.windows > 0).then(|| Paced { windows: self.windows, ratio: set.as_secs() / got.as_secs().max(1e-9) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_windows_in_which_the_link_was_never_idle() {
        let mut pace = Pace::default();
        // Ten packets and one, back to back, 1 ms apart on paper; written with 1 % more between them.
        for k in 0..11u64 {
            pace.busy.push_back(k > 0);
            pace.written(Time(k * 1_000_000), Time(k * 1_010_000), 1500);
        }
        let found = pace.result().unwrap();
        assert!(found.windows == 1 && (found.ratio - 1.0 / 1.01).abs() < 1e-4, "{found:?}");
        let mut idle = Pace::default();
        for k in 0..40u64 {
            idle.busy.push_back(k % 9 > 0);
            idle.written(Time(k), Time(k), 1500);
        }
        assert_eq!(idle.result(), None, "never ten in a row");
        // Written in pairs, and once when the machine stood still: neither is a lower rate.
        let mut paired = Pace::default();
        for k in 0..1001u64 {
            paired.busy.push_back(k > 0);
            let held_up = if (400..406).contains(&k) { 6_000_000 } else { 0 };
            paired.written(Time(k * 1_000_000), Time(k / 2 * 2_000_000 + 1_000_000 + held_up), 1500);
        }
        let found = paired.result().unwrap();
        assert!(found.windows == 98 && (found.ratio - 1.0).abs() < 1e-3, "{found:?}");
    }
}
