//! The records of a run: summaries, packet log, capture, live view and replay, all from the same events.
//!
//! Runs on a thread of its own, which nothing waits for.

use crate::event::{Event, Snapshot};
use crate::frame::Headers;
use crate::lateness::Lateness;
use crate::record::capture::{Capture, Captured, Output};
use crate::record::link_ledger::{LinkLedger, Waiting};
use crate::record::pace::{Pace, Paced};
use crate::record::replay::Agreement;
use crate::record::rows;
use rtrb::Consumer;
use serde::Serialize;
use sojourn_net::probe::{DropCause, Probe as _};
use sojourn_net::{Span, Time, with_defaults};
use sojourn_sim::Direction;
use sojourn_sim::engine::Packet;
use sojourn_sim::replay::Arrival;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::{LinkRecord, LinkSummary};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

/// Rows of the packet log that are written together.
const BATCH: usize = 1 << 12;
/// Bins of a measured period, as the simulator has them.
const MOST_BINS: u64 = 512;

/// Where records go; what is absent is not kept.
#[derive(Default)]
pub struct Outputs {
    /// Rows of the packet log, see [`rows`].
    pub log: Option<Output>,
    /// A capture (pcapng), and the wall clock's time (ns since 1970) at the beginning.
    pub capture: Option<(Output, u64)>,
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
        capture: Option<Capture>,
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
        run: (u64, u32),
        outputs: Outputs,
        snapshots: Option<Consumer<Snapshot>>,
    ) -> io::Result<Self> {
        let last_hop = scenario.path.hops.len() - 1;
        let links = scenario.path.links().enumerate().map(|(place, of)| {
            let ends = if of.direction == Direction::Down { [last_hop, 0] } else { [0, last_hop] };
            LinkLedger::new(scenario, run, &of, ends.map(|end| place / 2 == end), outputs.log.is_some())
        });
        let links: Vec<_> = links.collect();
        let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
        let capture = outputs.capture.map(|to| Capture::new(to, &names, snapshots)).transpose()?;
        let log = outputs.log.map(BufWriter::new);
        Ok(Self { links, log, capture, ..Self::default() })
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
        let measured = self.measured;
        match event {
            Event::Enqueued { link, row, at, size, journey, headers } => {
                let packet = self.arrive((link, row), at, size, journey, headers);
                let port = &mut self.links[usize::from(link)];
                if let Some(record) = port.recorded(measured, at) {
                    record.enqueued(at, &packet.packet);
                }
                port.keep(row, packet);
            }
            Event::Refused { link, row, at, size, journey, headers, cause } => {
                let packet = self.arrive((link, row), at, size, journey, headers);
                self.links[usize::from(link)].keep(row, packet);
                self.dropped((link, row), at, cause, None)?;
            }
            Event::Dequeued { link, row, at, waited } => {
                self.links[usize::from(link)].dequeued(row, at, waited, measured);
                self.settle(link, row, at, None)?;
            }
            Event::Transmitted { link, start, end, bytes } => {
                let port = &mut self.links[usize::from(link)];
                let busy = port.transmitted(start, end, bytes, measured);
                if port.is_last {
                    self.pace[port.direction as usize].busy.push_back(busy);
                }
            }
            Event::Marked { link, row, at } => self.links[usize::from(link)].marked(row, at, measured),
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

    /// A packet came to a link.
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
        let way = port.direction as usize;
        if let Some(pair) = port.dropped(row, at, (cause, waited), self.measured)
            && let Some(counts) = self.of_pair(pair, at)
        {
            counts.dropped[way] += 1;
        }
        self.settle(link, row, at, Some(cause))
    }

    /// The fate of a packet is known: it goes into the capture, and its row may be written.
    fn settle(&mut self, link: u8, row: u32, at: Time, cause: Option<DropCause>) -> io::Result<()> {
        let port = &mut self.links[usize::from(link)];
        if let (Some(packet), Some(capture)) = (port.settled(row), &mut self.capture) {
            let Waiting { journey, size, marked, .. } = packet;
            capture.packet(link, at, &Captured { journey, size, marked, cause }, port.is_last)?;
        }
        if let Some(log) = &mut self.log
            && let Some((first, rows)) = port.record.take_settled(BATCH)
        {
            rows::write(log, link, first, &rows)?;
        }
        Ok(())
    }

    /// What happened since the last look, as JSON.
    pub fn look(&mut self, now: Time) -> serde_json::Value {
        let seconds = now.since(std::mem::replace(&mut self.looked, now)).as_secs().max(1e-9);
        let links = self.links.iter_mut().map(|link| (link.name.clone(), link.look(now, seconds)));
        let links: serde_json::Map<_, _> = links.collect();
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
        if let Some(capture) = self.capture {
            capture.finish()?;
        }
        Ok(Recorded { links, paced, pair_of_flow: self.pair_of_flow, pairs: self.pairs })
    }
}
