//! Whether the simulator decides as the live queue did.
//!
//! What arrived at a link, with the times of its log, goes through the same discipline once more, behind a link that is
//! told the time by the log alone, as in `sojourn_sim::replay`. It runs while the log is written, so that its memory is
//! that of the packets that wait. If every packet is dropped, marked and let pass as it was live, then nothing that
//! happened outside the log, such as a late wake-up, has changed a decision.

use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use sojourn_net::link::{Link, is_lost};
use sojourn_net::probe::{DropCause, Probe};
use sojourn_net::queue::Cx;
use sojourn_net::rate::RateProfile;
use sojourn_net::{Span, Time};
use sojourn_sim::LoneLink;
use sojourn_sim::replay::{Arrival, Replayed};
use std::collections::VecDeque;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its transmission started then.
    Left(Time),
    /// It was dropped.
    Dropped(DropCause),
}

/// What one of the two, the live queue or its replay, did with a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    fate: Option<Fate>,
    marked: bool,
}

/// How far the replay agrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Packets whose fate was decided.
    pub decisions: u64,
    /// Of those, the ones that the replay treats alike: dropped for the same cause, marked, or sent at the same time.
    pub equal: u64,
    /// Packets that the live queue dropped.
    pub drops: u64,
    /// Of those, the ones that the replay drops too.
    pub equal_drops: u64,
    /// Packets that the live queue marked.
    pub marks: u64,
    /// Of those, the ones that the replay marks too.
    pub equal_marks: u64,
}

impl Agreement {
    /// Takes in one packet: live and replayed.
    fn add(&mut self, [live, replayed]: [Told; 2]) {
        self.decisions += 1;
        self.equal += u64::from(live == replayed);
        if matches!(live.fate, Some(Fate::Dropped(_))) {
            self.drops += 1;
            self.equal_drops += u64::from(live.fate == replayed.fate);
        }
        self.marks += u64::from(live.marked);
        self.equal_marks += u64::from(live.marked && replayed.marked);
    }
}

/// Packets whose fate is not known to both yet.
#[derive(Default)]
struct Comparison {
    first: u32,
    rows: VecDeque<[Told; 2]>,
    agreement: Agreement,
}

const LIVE: usize = 0;
const REPLAYED: usize = 1;

impl Comparison {
    fn told(&mut self, row: u32, who: usize) -> Option<&mut Told> {
        let place = row.checked_sub(self.first)? as usize;
        if place >= self.rows.len() {
            self.rows.resize(place + 1, Default::default());
        }
        self.rows.get_mut(place).map(|row| &mut row[who])
    }

    fn settle(&mut self, row: u32, who: usize, fate: Fate) {
        if let Some(told) = self.told(row, who) {
            told.fate = Some(fate);
        }
        while self.rows.front().is_some_and(|row| row.iter().all(|told| told.fate.is_some())) {
            self.first += 1;
            if let Some(both) = self.rows.pop_front() {
                self.agreement.add(both);
            }
        }
    }

    fn mark(&mut self, row: u32, who: usize) {
        if let Some(told) = self.told(row, who) {
            told.marked = true;
        }
    }
}

impl Probe<Replayed> for Comparison {
    fn enqueued(&mut self, _: Time, _: &Replayed) {}
    fn dequeued(&mut self, now: Time, packet: &Replayed, _: Span) {
        self.settle(packet.number, REPLAYED, Fate::Left(now));
    }
    fn marked(&mut self, _: Time, packet: &Replayed) {
        self.mark(packet.number, REPLAYED);
    }
    fn dropped(&mut self, _: Time, packet: Replayed, cause: DropCause, _: Option<Span>) {
        self.settle(packet.number, REPLAYED, Fate::Dropped(cause));
    }
}

/// The replay of one link, as far as its log goes.
pub struct Replay {
    link: Link<Replayed>,
    queue_rng: Pcg64Mcg,
    loss_rng: Pcg64Mcg,
    loss: f64,
    comparison: Comparison,
}

impl Replay {
    /// The link at rest, as it was live; `loss`: the share of packets that it loses on the path.
    pub fn new(lone: LoneLink<Replayed>, loss: f64) -> Self {
        let LoneLink { link, queue_rng, loss_rng } = lone;
        Self { link, queue_rng, loss_rng, loss, comparison: Comparison::default() }
    }

    /// The link's rate over time.
    pub fn rate(&self) -> &RateProfile {
        self.link.rate()
    }

    /// A packet arrived, in this row of the log.
    pub fn arrive(&mut self, row: u32, arrival: Arrival) {
        self.advance(arrival.at);
        if is_lost(self.loss, &mut self.loss_rng) {
            self.comparison.settle(row, REPLAYED, Fate::Dropped(DropCause::Path));
            return;
        }
        let mut cx = Cx { now: arrival.at, rng: &mut self.queue_rng, probe: &mut self.comparison };
        self.link.send(Replayed { number: row, arrival }, &mut cx);
    }

    /// Does all that is due up to `until`.
    pub fn advance(&mut self, until: Time) {
        let mut cx = Cx { now: until, rng: &mut self.queue_rng, probe: &mut self.comparison };
        while self.link.poll_at().is_some_and(|due| due <= until) {
            self.link.poll(&mut cx);
        }
    }

    /// The live queue has decided about a packet.
    pub fn live(&mut self, row: u32, fate: Fate) {
        self.comparison.settle(row, LIVE, fate);
    }

    /// The live queue has marked a packet.
    pub fn live_mark(&mut self, row: u32) {
        self.comparison.mark(row, LIVE);
    }

    /// How far both agree at the end of the run. Packets that still wait in both are no decisions.
    pub fn finish(mut self, end: Time) -> Agreement {
        self.advance(end);
        for both in std::mem::take(&mut self.comparison.rows) {
            if both.iter().any(|told| told.fate.is_some()) {
                self.comparison.agreement.add(both);
            }
        }
        self.comparison.agreement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_counted() {
        let mut comparison = Comparison::default();
        let (left, dropped) = (Fate::Left(Time(5)), Fate::Dropped(DropCause::Full));
        comparison.mark(2, LIVE);
        for (row, live, replayed) in [
            (0, left, left),
            (1, dropped, left),
            (2, left, left),
            (3, dropped, dropped),
            (4, left, Fate::Left(Time(6))),
        ] {
            comparison.settle(row, REPLAYED, replayed);
            comparison.settle(row, LIVE, live);
        }
        let found = comparison.agreement;
        assert_eq!((found.decisions, found.equal), (5, 2));
        assert_eq!((found.drops, found.equal_drops, found.marks, found.equal_marks), (2, 1, 1, 0));
        assert!(comparison.rows.is_empty());
    }
}
