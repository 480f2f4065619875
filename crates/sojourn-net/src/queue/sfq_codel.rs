//! SFQ-CoDel: bins of flows that take turns, new bins first, each with a CoDel.
//!
//! Source: ns-2.35 `sfqcodel.cc`, by the authors of CoDel. A bin that becomes active joins the schedule ahead of the bins
//! that have been served and behind other new ones. With `quantum` 0 each bin sends one packet per turn, otherwise bins
//! share by bytes. A full queue makes room by dropping the newest packet of the longest bin (in packets); among equals
//! another bin than last time. CoDel's test of a short queue sees the bytes of all bins, and spares the last packet of
//! each.
//!
//! Differences: flows are told apart by [`Packet::flow`] and spread by the hash of FQ-CoDel instead of Jenkins'; an
//! empty bin leaves the schedule when its turn comes, also with a quantum; a packet larger than the byte limit is
//! refused; constant-rate packets have no bin of their own. As there, a single served bin stays ahead of a new one.

use super::codel::{self, Law, State, Variant};
use super::inspect::Inspector;
use super::lines::{Lines, Short};
use super::spread::{Hash, Spread};
use super::{Backlog, Cx, QueueDiscipline};
use crate::Packet;
use crate::probe::DropCause;
use std::collections::VecDeque;

/// What SFQ-CoDel is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The CoDel of each bin.
    pub codel: codel::Settings,
    /// Number of bins that flows are spread over.
    pub bins: u32,
    /// Bytes that a bin may send in each round; 0 means one packet.
    pub quantum: u32,
    /// How flows are spread over the bins.
    pub hash: Hash,
}

impl Default for Settings {
    fn default() -> Self {
        let codel = codel::Settings { variant: Variant::Ns2Sfq, ..codel::Settings::default() };
        Self { codel, bins: 1024, quantum: 0, hash: Hash::Salted }
    }
}

#[derive(Clone, Copy, Default)]
struct Bin {
    codel: State,
    deficit: i64,
    scheduled: bool,
    new: bool,
}

/// The SFQ-CoDel queue.
pub struct SfqCodel<P> {
    lines: Lines<P>,
    bins: Vec<Bin>,
    /// Bins in the order of their turns. Holds at most each of them once.
    schedule: VecDeque<u32>,
    spread: Spread,
    law: Law,
    quantum: i64,
    longest: u32,
}

impl<P: Packet> SfqCodel<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, settings: &Settings) -> Self {
        let bins = settings.bins.max(1);
        Self {
            lines: Lines::new(bins, max_packets, max_bytes),
            bins: vec![Bin::default(); bins as usize],
            schedule: VecDeque::with_capacity(bins as usize),
            spread: Spread::new(bins, 1, settings.hash),
            law: Law::new(&settings.codel),
            quantum: i64::from(settings.quantum),
            longest: 0,
        }
    }

    /// Drops the newest packet of the longest bin.
    #[cold]
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        let last = self.longest;
        for bin in 0..self.lines.count() {
            let longer = self.lines.held(bin).packets >= self.lines.held(self.longest).packets;
            if bin != last && self.bins[bin as usize].scheduled && longer {
                self.longest = bin;
            }
        }
        if let Some((arrived, packet)) = self.lines.pop_newest(self.longest) {
            cx.probe.dropped(cx.now, packet, DropCause::Full, Some(cx.now.since(arrived)));
        }
    }

    /// Puts a bin that became active behind the new bins at the front and ahead of the others.
    fn schedule(&mut self, line: u32) {
        let bins = &mut self.bins;
        let place = self.schedule.iter().position(|b| !bins[*b as usize].new).unwrap_or(usize::MAX);
        // ns-2 looks no further than the bin before the last: what follows that goes behind the last.
        let place = if place.saturating_add(1) >= self.schedule.len() { self.schedule.len() } else { place };
        let bin = &mut bins[line as usize];
        (bin.scheduled, bin.new, bin.deficit) = (true, true, self.quantum);
        self.schedule.insert(place, line);
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for SfqCodel<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let size = packet.size();
        if self.lines.never_holds(size) {
            cx.probe.dropped(cx.now, packet, DropCause::Full, None);
            return;
        }
        while self.lines.is_full_for(size) {
            self.shrink(cx);
        }
        let line = self.spread.line(packet.flow(), cx.rng, |_| false);
        self.law.arrives(size);
        cx.probe.enqueued(cx.now, &packet);
        self.lines.push(line, cx.now, packet);
        if !self.bins[line as usize].scheduled {
            self.schedule(line);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let line = *self.schedule.front()?;
            let bin = &mut self.bins[line as usize];
            if self.lines.held(line).packets == 0 {
                (bin.scheduled, bin.new) = (false, false);
                bin.codel.leave();
                self.schedule.pop_front();
                continue;
            }
            if self.quantum > 0 && bin.deficit <= 0 {
                bin.deficit += self.quantum;
                self.schedule.rotate_left(1);
                continue;
            }
            bin.new = false;
            let packet = self.law.dequeue(&mut bin.codel, &mut self.lines.line(line, Short::AllUnlessEmpty), cx);
            let Some(packet) = packet else { continue };
            if self.quantum > 0 {
                bin.deficit -= i64::from(packet.size());
            } else {
                self.schedule.rotate_left(1);
            }
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.lines.total()
    }

    fn minds_emptiness(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        inspector.of_flow();
        let Some(line) = self.spread.known(inspector.flow()) else { return };
        self.lines.inspect(line, inspector);
        let bin = &mut self.bins[line as usize];
        inspector.see("deficit", &mut bin.deficit);
        inspector.tell("active", f64::from(u8::from(bin.scheduled)));
        inspector.tell("new", f64::from(u8::from(bin.new)));
        self.law.inspect(&mut bin.codel, inspector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::check::{self, Desk, Numbered};
    use crate::{Ecn, Span, Time};
    use proptest::prelude::*;

    fn desk(limit: u32, quantum: u32, flows: &[(u32, u32)]) -> Desk<SfqCodel<Numbered>> {
        let mut desk = Desk::new(SfqCodel::new(limit, u64::MAX, &Settings { quantum, ..Settings::default() }));
        for (flow, size) in flows {
            desk.arrive(Time::ZERO, *flow, *size, Ecn::NotEct);
        }
        desk
    }

    #[test]
    fn bins_take_turns_by_packets_and_a_new_one_goes_first() {
        let mut desk = desk(100, 0, &[(0, 900), (0, 900), (0, 900), (1, 100), (1, 100)]);
        assert_eq!([0; 3].map(|_| desk.serve(Time::ZERO)), [0, 3, 1].map(Some));
        desk.arrive(Time::ZERO, 2, 100, Ecn::NotEct);
        assert_eq!([0; 4].map(|_| desk.serve(Time::ZERO)), [Some(5), Some(4), Some(2), None]);
    }

    #[test]
    fn bins_share_by_bytes_with_a_quantum() {
        let mut desk = desk(100, 300, &[(0, 600), (0, 600), (1, 200), (1, 200), (1, 200)]);
        // After 600 bytes bin 0 owes 300, and waits while bin 1 spends 300 and then another 300.
        assert_eq!([0; 6].map(|_| desk.serve(Time::ZERO)), [Some(0), Some(2), Some(3), Some(4), Some(1), None]);
    }

    #[test]
    fn a_full_queue_drops_the_newest_of_the_longest_bin() {
        let desk = desk(4, 0, &[(0, 100), (0, 100), (0, 100), (1, 100), (1, 100)]);
        assert_eq!(desk.fates.dropped, [(2, DropCause::Full)]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, bins in 1u32..8, quantum in 0u32..2000,
        ) {
            let codel = codel::Settings {
                target: Span::from_millis(1),
                interval: Span::from_millis(8),
                ..Settings::default().codel
            };
            check::conserves(&mut SfqCodel::new(packets, bytes, &Settings { codel, bins, quantum, ..Settings::default() }), &events)?;
        }
    }
}
