//! Packets that have arrived, and when to acknowledge them.
//!
//! Source: RFC 9000 §13.2: at once every second packet that asks for it, and those out of order; else within 25 ms. The
//! last 32 ranges are told. [`Received::decimating`] is Chromium's (quiche, `QuicReceivedPacketManager`): behind the
//! first hundred packets every tenth is, or after a quarter of the least round trip; and so are the first four behind a
//! hole, for the sender to see that it is one.

use crate::{Ecn, Span, Time, with_defaults};

/// `max_ack_delay`, the default.
pub(super) const MOST_ACK_DELAY: Span = Span::from_millis(25);
const RANGES: usize = 32;
/// Packets that ask for an acknowledgement until one leaves; and those of who decimates, behind its first hundred.
const EVERY: u32 = 2;
const DECIMATED: u32 = 10;
const BEFORE_DECIMATION: u64 = 100;
/// No timer of who decimates is shorter.
const GRANULARITY: Span = Span::from_millis(1);
/// Packets behind a hole that are acknowledged at once: one tells nothing more than the third, and one may be lost.
const BEHIND_A_HOLE: u64 = 4;

with_defaults! {
    /// The ranges, the highest first.
    #[derive(Debug)]
    pub(super) struct Received {
        ranges: Vec<(u64, u64)>,
        largest_at: Time,
        unacknowledged: u32,
        due: Option<Time>,
        decimates: bool,
        /// Packets that came marked, once any were seen that could be.
        marked: Option<u64>,
    }
}

impl Received {
    /// Acknowledges as Chromium does.
    pub(super) fn decimating() -> Self {
        Self { decimates: true, ..Self::default() }
    }

    /// A packet came with this ECN field.
    pub(super) fn came_with(&mut self, ecn: Ecn) {
        if ecn != Ecn::NotEct {
            self.marked = Some(self.marked.unwrap_or(0) + u64::from(ecn == Ecn::Ce));
        }
    }

    /// How many came marked, if any could be.
    pub(super) fn marked(&self) -> Option<u64> {
        self.marked
    }

    /// A packet arrived; false if it had before. The least round trip is what it is known to be so far.
    pub(super) fn arrived(&mut self, number: u64, eliciting: bool, now: Time, least_rtt: Span) -> bool {
        if self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&number)) {
            return false;
        }
        let largest = self.ranges.first().map(|(_, to)| *to);
        let in_order = largest.map_or(number == 0, |largest| number == largest + 1);
        if largest.is_none_or(|largest| number > largest) {
            self.largest_at = now;
        }
        let place = self.ranges.iter().position(|(from, _)| *from < number).unwrap_or(self.ranges.len());
        self.ranges.insert(place, (number, number));
        if place + 1 < self.ranges.len() && self.ranges[place + 1].1 + 1 == number {
            self.ranges[place].0 = self.ranges.remove(place + 1).0;
        }
        if place > 0 && self.ranges[place - 1].0 == number + 1 {
            self.ranges[place - 1].0 = self.ranges.remove(place).0;
        }
        self.ranges.truncate(RANGES);
        if eliciting {
            self.unacknowledged += 1;
            let decimated = self.decimates && number >= BEFORE_DECIMATION;
            let every = if decimated { DECIMATED } else { EVERY };
            let at_once = self.unacknowledged >= every || !in_order || (self.decimates && self.is_behind_a_hole());
            let wait =
                if decimated { MOST_ACK_DELAY.min(Span(least_rtt.0 / 4)).max(GRANULARITY) } else { MOST_ACK_DELAY };
            let due = if at_once { now } else { now + wait };
            self.due = Some(self.due.map_or(due, |before| before.min(due)));
        }
        true
    }

    fn is_behind_a_hole(&self) -> bool {
        matches!(self.ranges[..], [(from, to), _, ..] if to - from < BEHIND_A_HOLE)
    }

    /// Acknowledge at once.
    pub(super) fn hurry(&mut self, now: Time) {
        if self.due.is_some() {
            self.due = Some(now);
        }
    }

    /// When an acknowledgement is due.
    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// What an acknowledgement says now; none if nothing waits for one.
    pub(super) fn acknowledge(&mut self, now: Time) -> Option<(Vec<(u64, u64)>, Span)> {
        self.due.take()?;
        self.unacknowledged = 0;
        Some((self.ranges.clone(), now.since(self.largest_at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once_and_a_gap_too() {
        let mut received = Received::default();
        assert!(received.arrived(0, true, at(0), Span::ZERO));
        assert_eq!(received.due(), Some(at(25)));
        assert!(received.arrived(1, true, at(3), Span::ZERO));
        assert_eq!(received.due(), Some(at(3)));
        assert_eq!(received.acknowledge(at(5)), Some((vec![(0, 1)], Span::from_millis(2))));
        received.arrived(3, true, at(6), Span::ZERO);
        assert_eq!(received.due(), Some(at(6)));
        assert_eq!(received.acknowledge(at(6)).unwrap().0, [(3, 3), (0, 1)]);
        received.arrived(2, false, at(7), Span::ZERO);
        assert_eq!(received.due(), None, "an acknowledgement is not acknowledged");
        received.arrived(4, true, at(8), Span::ZERO);
        assert_eq!(received.acknowledge(at(9)).unwrap().0, [(0, 4)]);
        assert!(!received.arrived(2, true, at(9), Span::ZERO));
    }

    #[test]
    fn who_decimates_acknowledges_every_tenth_behind_the_first_hundred_and_four_behind_a_hole() {
        let mut received = Received::decimating();
        let least = Span::from_millis(40);
        let mut told = |number: u64, at: Time| {
            received.arrived(number, true, at, least);
            let due = received.due().expect("it asks for one");
            if due == at {
                received.acknowledge(at);
            }
            due.since(at).0 / 1_000_000
        };
        let waits: Vec<u64> = (0..100).map(|number| told(number, at(number))).collect();
        assert_eq!(waits, [25, 0].repeat(50), "every second");
        let waits: Vec<u64> = (100..110).map(|number| told(number, at(100))).collect();
        assert_eq!(waits, [vec![10; 9], vec![0]].concat(), "a quarter of 40 ms, and the tenth at once");
        let waits: Vec<u64> = (111..117).map(|number| told(number, at(200))).collect();
        assert_eq!(waits, [0, 0, 0, 0, 10, 10], "110 is missing");
        assert_eq!(told(110, at(201)), 0, "it has come");
        assert_eq!(told(117, at(202)), 10);
    }
}
