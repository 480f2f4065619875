//! The records of one link: its record as a simulation has it, packets whose fate is open, replay and live view.

use crate::record::replay::{Fate, Replay};
use sojourn_net::probe::{DropCause, Probe as _};
use sojourn_net::{Span, Time};
use sojourn_sim::engine::Packet;
use sojourn_sim::scenario::{LinkOf, Scenario};
use sojourn_sim::stats::LinkRecord;
use sojourn_sim::{Direction, LoneLink};
use std::collections::{BTreeMap, VecDeque};

/// A packet at a link, until its fate is known.
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    pub(crate) journey: u32,
    pub(crate) size: u32,
    pub(crate) marked: bool,
    /// The hosts that it belongs to.
    pub(crate) pair: u16,
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

/// The records of one link.
pub(crate) struct LinkLedger {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
    pub(crate) record: LinkRecord,
    pub(crate) replay: Replay,
    /// The record's next row: not the packet's number, where events are missing.
    pub(crate) next_row: u32,
    /// Packets whose fate is open, from number `first` on; events that did not fit the ring leave holes.
    waiting: VecDeque<Option<Waiting>>,
    first: u32,
    /// When the last transmission ends.
    last_end: Time,
    /// Start, end and bytes of the last transmission that is in the record.
    pub(crate) last_recorded: (Time, Time, u32),
    recent: Recent,
    /// The record is of the measured period.
    has_begun: bool,
}

impl LinkLedger {
    /// The records of a link before anything happened at it. `ends`: it is the first on its way, the last.
    pub(crate) fn new(scenario: &Scenario, run: (u64, u32), of: &LinkOf<'_>, ends: [bool; 2], log: bool) -> Self {
        Self {
            name: of.name(),
            direction: of.direction,
            is_first: ends[0],
            is_last: ends[1],
            record: LinkRecord::new(Span::from_secs(1), log),
            replay: Replay::new(LoneLink::new(scenario, run.0, run.1, of), of.spec.loss),
            next_row: 0,
            waiting: VecDeque::new(),
            first: 0,
            last_end: Time::ZERO,
            last_recorded: (Time::ZERO, Time::ZERO, 0),
            recent: Recent::default(),
            has_begun: false,
        }
    }

    /// The record, if what happens at a time belongs to it; it begins with the measured period.
    #[inline]
    pub(crate) fn recorded(&mut self, (from, to): (Time, Time), at: Time) -> Option<&mut LinkRecord> {
        if !self.has_begun && at >= from {
            self.has_begun = true;
            if from > Time::ZERO {
                self.record.reset(from);
            }
        }
        (at <= to).then_some(&mut self.record)
    }

    /// A packet whose fate is open.
    fn at(&mut self, row: u32) -> Option<&mut Waiting> {
        let place = row.checked_sub(self.first)? as usize;
        self.waiting.get_mut(place)?.as_mut()
    }

    /// Keeps a packet until its fate is known.
    pub(crate) fn keep(&mut self, row: u32, packet: Waiting) {
        let Some(place) = row.checked_sub(self.first) else { return };
        while self.waiting.len() < place as usize {
            self.waiting.push_back(None);
        }
        self.waiting.push_back(Some(packet));
    }

    /// The packet whose fate is known now; it is kept no longer.
    pub(crate) fn settled(&mut self, row: u32) -> Option<Waiting> {
        let place = row.wrapping_sub(self.first) as usize;
        let settled = self.waiting.get_mut(place).and_then(Option::take);
        while self.waiting.front().is_some_and(Option::is_none) {
            self.waiting.pop_front();
            self.first += 1;
        }
        settled
    }

    /// A packet left the queue.
    pub(crate) fn dequeued(&mut self, row: u32, at: Time, waited: Span, measured: (Time, Time)) {
        if let Some(packet) = self.at(row) {
            let packet = packet.packet.clone();
            if let Some(record) = self.recorded(measured, at) {
                record.dequeued(at, &packet, waited);
            }
            self.recent.left += 1;
            self.recent.waited += u128::from(waited.0);
            self.recent.longest = self.recent.longest.max(waited);
        }
        self.replay.live(row, Fate::Left(at));
    }

    /// A packet was dropped; the hosts that it belonged to, if it is known.
    pub(crate) fn dropped(
        &mut self,
        row: u32,
        at: Time,
        (cause, waited): (DropCause, Option<Span>),
        measured: (Time, Time),
    ) -> Option<u16> {
        self.replay.live(row, Fate::Dropped(cause));
        let packet = self.at(row)?;
        let (packet, pair) = (packet.packet.clone(), packet.pair);
        if let Some(record) = self.recorded(measured, at) {
            record.dropped(at, packet, cause, waited);
        }
        self.recent.drops[cause as usize] += 1;
        Some(pair)
    }

    /// A packet was marked.
    pub(crate) fn marked(&mut self, row: u32, at: Time, measured: (Time, Time)) {
        self.replay.live_mark(row);
        let none = Packet::observed(sojourn_net::log::Kind::Data, 0, 0, 0, row);
        if let Some(record) = self.recorded(measured, at) {
            record.marked(at, &none);
        }
        if let Some(packet) = self.at(row) {
            packet.marked = true;
        }
    }

    /// A transmission; true if the link was busy until it began.
    pub(crate) fn transmitted(&mut self, start: Time, end: Time, bytes: u32, measured: (Time, Time)) -> bool {
        if let Some(record) = self.recorded(measured, start) {
            record.transmitted(start, end, bytes);
            self.last_recorded = (start, end, bytes);
        }
        self.recent.bytes += u64::from(bytes);
        std::mem::replace(&mut self.last_end, end) == start && bytes > 0
    }

    /// What happened since the last look, so many seconds ago, and counts of all of the measured period, as JSON.
    pub(crate) fn look(&mut self, now: Time, seconds: f64) -> serde_json::Value {
        let Recent { bytes, left, waited, longest, drops } = std::mem::take(&mut self.recent);
        let mean = (left > 0).then(|| waited as f64 / left as f64 * 1e-6);
        let quantiles = [0.5, 0.95, 0.99].map(|q| self.record.sojourn.quantile(q) * 1e-9);
        let sum = self.record.sojourn.mean() * self.record.sojourn.count() as f64 * 1e-9;
        serde_json::json!({
            "rate_bps": bytes as f64 * 8.0 / seconds,
            "set_bps": self.replay.rate().at(now).map(|rate| rate.0),
            "backlog_pkts": self.record.waiting(),
            "sojourn_ms": mean,
            "longest_ms": longest.as_millis(),
            "drops": by_cause(&drops),
            "arrived_pkts": self.record.arrived,
            "departed_pkts": self.record.departed,
            "departed_bytes": self.record.departed_bytes,
            "marked_pkts": self.record.marked,
            "drops_by_cause": by_cause(&self.record.dropped),
            "sojourn_sum_s": sum,
            "sojourn_quantiles_s": quantiles,
        })
    }
}

/// Drops by the names of their causes, without those that there were none of.
fn by_cause(drops: &[u64]) -> BTreeMap<&'static str, u64> {
    DropCause::ALL.iter().zip(drops).filter(|(_, n)| **n > 0).map(|(cause, n)| (cause.name(), *n)).collect()
}
