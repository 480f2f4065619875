//! What one side of a call sends and what arrives of it, in each 200 ms.
//!
//! Implements the intervals of RFC 8868 §3, which counts goodput in so long.
//! A direction in which a call never came as far as media has rows of nothing from the call's beginning on, so that
//! whoever counts calls counts it too.

use super::sender::PROCESS;
use crate::app::tables::{CallRateRow, CallRateTable};
use crate::engine::Direction;
use sojourn_net::{Span, Time};

const BIN: Span = Span::from_millis(200);

/// The rates of one direction.
#[derive(Debug)]
pub(super) struct Rates {
    user: u32,
    direction: Direction,
    rows: CallRateTable,
    sent: u64,
    received: u64,
    looks: u64,
}

impl Rates {
    /// Of a user's call.
    pub(super) fn new(user: u32, direction: Direction) -> Self {
        Self { user, direction, rows: CallRateTable::default(), sent: 0, received: 0, looks: 0 }
    }

    /// Of a call that began at a time and in which nothing was ever sent this way.
    pub(super) fn nothing(user: u32, direction: Direction, began: Time, end: Time) -> CallRateTable {
        let mut rates = Self::new(user, direction);
        for bin in 1..=end.since(began).0 / BIN.0 {
            rates.end_bin(0.0, began + BIN * bin);
        }
        rates.rows
    }

    /// So many bytes are sent.
    pub(super) fn sent(&mut self, bytes: u32) {
        self.sent += u64::from(bytes);
    }

    /// So many bytes arrived.
    pub(super) fn received(&mut self, bytes: u32) {
        self.received += u64::from(bytes);
    }

    /// Told at each look at the controller, with its target.
    pub(super) fn look(&mut self, target: f64, now: Time) {
        self.looks += 1;
        if (self.looks * PROCESS.0).is_multiple_of(BIN.0) {
            self.end_bin(target, now);
        }
    }

    fn end_bin(&mut self, target: f64, now: Time) {
        self.rows.push(CallRateRow {
            user: self.user,
            direction: u8::from(self.direction == Direction::Down),
            time_ns: now.0,
            target_bps: target,
            sent_bytes: std::mem::take(&mut self.sent),
            received_bytes: std::mem::take(&mut self.received),
        });
    }

    /// The rows, up to now.
    pub(super) fn take(&mut self) -> CallRateTable {
        std::mem::take(&mut self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fifth_of_a_second_has_its_bytes() {
        let mut rates = Rates::new(3, Direction::Down);
        for look in 1..=24 {
            rates.sent(100);
            rates.received(60);
            rates.look(1e6, Time(look * PROCESS.0));
        }
        let rows = rates.take();
        assert_eq!((rows.sent_bytes, rows.received_bytes), (vec![800; 3], vec![480; 3]));
        assert_eq!((rows.time_ns, rows.direction), (vec![200_000_000, 400_000_000, 600_000_000], vec![1; 3]));
    }

    #[test]
    fn a_call_that_never_came_as_far_has_rows_of_nothing() {
        let ms = |at: u64| Time(at * 1_000_000);
        let rows = Rates::nothing(3, Direction::Up, ms(1100), ms(2000));
        assert_eq!(rows.time_ns, [1300, 1500, 1700, 1900].map(|at| ms(at).0));
        assert_eq!((rows.received_bytes, rows.user), (vec![0; 4], vec![3; 4]));
    }
}
