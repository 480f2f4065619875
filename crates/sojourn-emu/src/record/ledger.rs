//! The records of a run: summaries, packet log, capture, live view and replay, all from the same events.
//!
//! Runs on a thread of its own, which nothing waits for.

use crate::event::{Event, SNAPSHOT, Snapshot};
use crate::forward::frame::Headers;
use crate::lateness::Lateness;
use crate::record::pace::{Pace, Paced};
use crate::record::replay::{Agreement, Fate, Replay};
use crate::record::rows;
use rtrb::Consumer;
use serde::Serialize;
use sojourn_net::probe::{DropCause, Probe as _};
use sojourn_net::{Span, Time, with_defaults};
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
/// Bins of a measured period, as the simulator has them.
const MOST_BINS: u64 = 512;

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
    pair: u16,
}

/// The records of one link.
struct LinkLedger {
    name: String,
    record: LinkRecord,
    /// The record's next row: not the packet's number, where events are missing.
    next_row: u32,
    replay: Replay,
    first: u32,
    waiting: VecDeque<Option<Waiting>>,
    /// When the last transmission ends.
    last_end: Time,
    /// Start, end and bytes of the last transmission that is in the record.
    last_recorded: (Time, Time, u32),
    recent: Recent,
    is_last: Option<Direction>,
    is_first: bool,
    direction: Direction,
    /// The record is of the measured period.
    has_begun: bool,
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

with_defaults! {
    /// All records of a run.
    pub struct Ledger {
        links: Vec<LinkLedger>,
        pace: [Pace; 2],
        flows: BTreeMap<u32, u32>,
        pair_of_flow: Vec<u16>,
        pairs: BTreeMap<u16, PairCounts>,
        measured: (Time, Time) = (Time::ZERO, Time::NEVER),
        log: Option<BufWriter<Output>>,
        capture: Option<(Pcapng<BufWriter<Output>>, u64)>,
        snapshots: Option<Consumer<Snapshot>>,
        heads: BTreeMap<u32, [u8; SNAPSHOT]>,
        late: [Lateness; 2],
        looked: Time,
    }
}

/// Packets of one pair of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PairCounts {
    /// That arrived at the first link of their way: down, up.
    pub sent: [u64; 2],
    /// That any link dropped: down, up.
    pub dropped: [u64; 2],
}

/// What a run comes to, link by link.
pub struct Recorded {
    /// In the order of the packet log's codes.
    pub links: Vec<RecordedLink>,
    /// Of both directions (down, up), the rate got; `None` if the queue was never busy for long enough.
    pub paced: [Option<Paced>; 2],
    /// The pair of hosts of each flow, by the flow's number in the packet log.
    pub pair_of_flow: Vec<u16>,
    /// What pairs of hosts sent and lost in the measured period, by the number of their addresses.
    pub pairs: BTreeMap<u16, PairCounts>,
}

/// What a run comes to at one link.
pub struct RecordedLink {
    /// Its name, as in the packet log.
    pub name: String,
    /// Counts, delays and utilisation, as the simulator has them.
    pub summary: LinkSummary,
    /// How far the simulator's replay of the arrivals decides alike.
    pub agreement: Agreement,
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
            let ends = [0, hops - 1];
            let [last, first] = if of.direction == Direction::Down { ends } else { [ends[1], ends[0]] };
            LinkLedger {
                name: of.name(),
                record: LinkRecord::new(Span::from_secs(1), outputs.log.is_some()),
                next_row: 0,
                replay: Replay::new(LoneLink::new(scenario, seed, replication, &of), of.spec.loss),
                first: 0,
                waiting: VecDeque::new(),
                last_end: Time::ZERO,
                last_recorded: (Time::ZERO, Time::ZERO, 0),
                recent: Recent::default(),
                is_last: (place / 2 == last).then_some(of.direction),
                is_first: place / 2 == first,
                direction: of.direction,
                has_begun: false,
            }
        });
        let links: Vec<_> = links.collect();
        let capture = outputs.capture.map(|(out, wall)| {
            let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
            Pcapng::new(BufWriter::new(out), &names).map(|pcapng| (pcapng, wall))
        });
        let log = outputs.log.map(BufWriter::new);
        Ok(Self { links, log, capture: capture.transpose()?, snapshots, ..Self::default() })
    }

    /// Summaries are of a part of the run, as those of a simulation are of what comes after its warm-up.
    pub fn measure(&mut self, from: Time, to: Time) {
        self.measured = (from, to);
        let bin = Span(to.since(from).0.div_ceil(MOST_BINS).div_ceil(1_000_000_000).max(1) * 1_000_000_000);
        for link in &mut self.links {
            link.record = LinkRecord::new(bin, self.log.is_some());
        }
    }

    /// Takes one event in.
    ///
    /// # Errors
    /// A record cannot be written.
    pub fn take(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Enqueued { link, row, at, size, journey, headers } => {
                let packet = self.arrive((link, row), at, size, journey, headers);
                if let Some(record) = self.links[usize::from(link)].recorded(self.measured, at) {
                    record.enqueued(at, &packet.packet);
                }
                self.keep(link, row, packet);
            }
            Event::Refused { link, row, at, size, journey, headers, cause } => {
                let packet = self.arrive((link, row), at, size, journey, headers);
                self.keep(link, row, packet);
                self.dropped((link, row), at, cause, None)?;
            }
            Event::Dequeued { link, row, at, waited } => {
                let port = &mut self.links[usize::from(link)];
                if let Some(packet) = port.at(row) {
                    let packet = packet.packet.clone();
                    if let Some(record) = port.recorded(self.measured, at) {
                        record.dequeued(at, &packet, waited);
                    }
                    port.recent.left += 1;
                    port.recent.waited += u128::from(waited.0);
                    port.recent.longest = port.recent.longest.max(waited);
                }
                port.replay.live(row, Fate::Left(at));
                self.settle(link, row, at, None)?;
            }
            Event::Transmitted { link, start, end, bytes } => {
                let port = &mut self.links[usize::from(link)];
                if let Some(record) = port.recorded(self.measured, start) {
                    record.transmitted(start, end, bytes);
                    port.last_recorded = (start, end, bytes);
                }
                port.recent.bytes += u64::from(bytes);
                let busy = std::mem::replace(&mut port.last_end, end) == start && bytes > 0;
                if let Some(direction) = port.is_last {
                    self.pace[direction as usize].busy.push_back(busy);
                }
            }
            Event::Marked { link, row, at } => {
                let port = &mut self.links[usize::from(link)];
                port.replay.live_mark(row);
                let none = Packet::observed(sojourn_net::log::Kind::Data, 0, 0, 0, row);
                if let Some(record) = port.recorded(self.measured, at) {
                    record.marked(at, &none);
                }
                if let Some(packet) = port.at(row) {
                    packet.marked = true;
                }
            }
            Event::Dropped { link, row, at, waited, cause } => self.dropped((link, row), at, cause, Some(waited))?,
            Event::Written { way, due, late, size } => {
                self.late[usize::from(way)].add(late);
                self.pace[usize::from(way)].written(due, due + late, size);
            }
        }
        Ok(())
    }

    /// The counts of a pair of hosts, if what happens at a time belongs to them.
    fn of_pair(&mut self, pair: u16, at: Time) -> Option<&mut PairCounts> {
        (self.measured.0 <= at && at <= self.measured.1).then(|| self.pairs.entry(pair).or_default())
    }

    fn arrive(&mut self, (link, row): (u8, u32), at: Time, size: u32, journey: u32, headers: Headers) -> Waiting {
        let Headers { flow, kind, ecn, seq, pair, .. } = headers;
        let (is_first, way) =
            (self.links[usize::from(link)].is_first, self.links[usize::from(link)].direction as usize);
        if let (true, Some(counts)) = (is_first, self.of_pair(pair, at)) {
            counts.sent[way] += 1;
        }
        let port = &mut self.links[usize::from(link)];
        port.replay.arrive(row, Arrival { at, size, flow, ecn });
        port.record.set_journey(journey);
        let number = *self.flows.entry(flow).or_insert_with(|| {
            self.pair_of_flow.push(pair);
            self.pair_of_flow.len() as u32 - 1
        });
        let packet = Packet::observed(kind, u64::from(seq), number, size.min(65_535) as u16, port.next_row);
        port.next_row += u32::from(at <= self.measured.1);
        Waiting { packet, journey, size, marked: false, pair }
    }

    /// A packet was dropped: on arrival, or after it had waited.
    fn dropped(&mut self, (link, row): (u8, u32), at: Time, cause: DropCause, waited: Option<Span>) -> io::Result<()> {
        let port = &mut self.links[usize::from(link)];
        port.replay.live(row, Fate::Dropped(cause));
        if let Some(packet) = port.at(row) {
            let (packet, pair) = (packet.packet.clone(), packet.pair);
            if let Some(record) = port.recorded(self.measured, at) {
                record.dropped(at, packet, cause, waited);
            }
            port.recent.drops[cause as usize] += 1;
            let way = port.direction as usize;
            if let Some(pair) = self.of_pair(pair, at) {
                pair.dropped[way] += 1;
            }
        }
        self.settle(link, row, at, Some(cause))
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
            (Some(cause), _) => format!("dropped: {}", told(cause)),
            (None, true) => "marked: congestion experienced".to_owned(),
            _ => String::new(),
        };
        // TUN has no link layer; this one is made up, as most programs expect one.
        let kind: [u8; 2] = if head[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, kind[0], kind[1]];
        frame.extend(&head[..SNAPSHOT.min(packet.size as usize)]);
        if packet.marked {
            crate::forward::frame::mark(&mut frame[14..]);
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
            let quantiles = [0.5, 0.95, 0.99].map(|q| link.record.sojourn.quantile(q) * 1e-9);
            let sum = link.record.sojourn.mean() * link.record.sojourn.count() as f64 * 1e-9;
            let view = serde_json::json!({
                "rate_bps": bytes as f64 * 8.0 / seconds,
                "set_bps": link.replay.rate().at(now).map(|rate| rate.0),
                "backlog_pkts": link.record.waiting(),
                "sojourn_ms": mean,
                "longest_ms": longest.as_millis(),
                "drops": by_cause(&drops),
                "arrived_pkts": link.record.arrived,
                "departed_pkts": link.record.departed,
                "departed_bytes": link.record.departed_bytes,
                "marked_pkts": link.record.marked,
                "drops_by_cause": by_cause(&link.record.dropped),
                "sojourn_sum_s": sum,
                "sojourn_quantiles_s": quantiles,
            });
            links.insert(link.name.clone(), view);
        }
        let late = Direction::BOTH.map(|way| (way.name(), self.late[way as usize].summary()));
        serde_json::json!({ "time_s": now.as_secs(), "links": links, "lateness_us": BTreeMap::from(late) })
    }

    /// Writes what is left, and sums up. `end`: up to when the queues were driven.
    ///
    /// # Errors
    /// A record cannot be written.
    pub fn finish(mut self, end: Time) -> io::Result<Recorded> {
        let paced = self.pace.each_ref().map(Pace::result);
        let (from, to) = (self.measured.0.min(end), self.measured.1.min(end));
        let mut links = Vec::new();
        for (code, mut link) in (0u8..).zip(self.links) {
            // Of a link that nothing has happened at since, too.
            link.recorded((from, to), to);
            link.record.bins.finish(to, link.last_recorded);
            let rate = link.replay.rate().mean_between(from, to);
            let summary = LinkSummary::new(&link.record, rate, from, to);
            links.push(RecordedLink { name: link.name, summary, agreement: link.replay.finish(end) });
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
        Ok(Recorded { links, paced, pair_of_flow: self.pair_of_flow, pairs: self.pairs })
    }
}

/// The name of a cause, as packet logs have it, with words where only who knows the queues would understand it.
fn told(cause: DropCause) -> String {
    let words = match cause {
        DropCause::Early => " (before the queue was full)",
        DropCause::Sojourn => " (waited too long)",
        DropCause::Forced => " (average queue too long)",
        DropCause::Blue => " (at random after overflows)",
        _ => "",
    };
    cause.name().to_owned() + words
}

/// Drops by the names of their causes, without those that there were none of.
fn by_cause(drops: &[u64]) -> BTreeMap<&'static str, u64> {
    DropCause::ALL.iter().zip(drops).filter(|(_, n)| **n > 0).map(|(cause, n)| (cause.name(), *n)).collect()
}

impl LinkLedger {
    /// The record, if what happens at a time belongs to it; it begins with the measured period.
    #[inline]
    fn recorded(&mut self, (from, to): (Time, Time), at: Time) -> Option<&mut LinkRecord> {
        if !self.has_begun && at >= from {
            self.has_begun = true;
            if from > Time::ZERO {
                self.record.reset(from);
            }
        }
        (at <= to).then_some(&mut self.record)
    }

    fn at(&mut self, row: u32) -> Option<&mut Waiting> {
        let place = row.checked_sub(self.first)? as usize;
        self.waiting.get_mut(place)?.as_mut()
    }
}
