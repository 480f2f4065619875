//! Packets that have arrived, and when to acknowledge them.
//!
//! Source: RFC 9000 §13.2: at once every second packet that asks for it, and those out of order; else within 25 ms. The
//! last 32 ranges are told.

use crate::{Span, Time};

/// `max_ack_delay`, the default.
pub(super) const MOST_ACK_DELAY: Span = Span::from_millis(25);
const RANGES: usize = 32;

/// The ranges, the highest first.
#[derive(Debug, Default)]
pub(super) struct Received {
    ranges: Vec<(u64, u64)>,
    largest_at: Time,
    unacknowledged: u32,
    due: Option<Time>,
}

impl Received {
    /// A packet arrived; false if it had before.
    pub(super) fn arrived(&mut self, number: u64, eliciting: bool, now: Time) -> bool {
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
            let at_once = self.unacknowledged >= 2 || !in_order;
            let due = if at_once { now } else { now + MOST_ACK_DELAY };
            self.due = Some(self.due.map_or(due, |before| before.min(due)));
        }
        true
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
        assert!(received.arrived(0, true, at(0)));
        assert_eq!(received.due(), Some(at(25)));
        assert!(received.arrived(1, true, at(3)));
        assert_eq!(received.due(), Some(at(3)));
        assert_eq!(received.acknowledge(at(5)), Some((vec![(0, 1)], Span::from_millis(2))));
        received.arrived(3, true, at(6));
        assert_eq!(received.due(), Some(at(6)));
        assert_eq!(received.acknowledge(at(6)).unwrap().0, [(3, 3), (0, 1)]);
        received.arrived(2, false, at(7));
        assert_eq!(received.due(), None, "an acknowledgement is not acknowledged");
        received.arrived(4, true, at(8));
        assert_eq!(received.acknowledge(at(9)).unwrap().0, [(0, 4)]);
        assert!(!received.arrived(2, true, at(9)));
    }
}
