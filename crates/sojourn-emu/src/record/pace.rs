//! How fast a direction was served while its queue was never empty: what the emulator is judged by.

use serde::Serialize;
use sojourn_net::{Span, Time};
use std::collections::VecDeque;

/// Bytes of a window in which the rate is measured, at least: ten full packets.
const WINDOW: u64 = 15_000;
/// And its time. A packet is written some microseconds late, the first of a busy period less than those that a
/// timer wakes the thread for: in half a millisecond, ten packets at 242 Mbit/s, 1.5 us would pass for a rate 0.3 %
/// too low.
const LONG: Span = Span::from_millis(10);
/// Later than this, a packet is no end of such a window.
const LATE: Span = Span::from_millis(1);

/// The rate at which one direction was served while its queue was never empty.
#[derive(Default)]
pub struct Pace {
    /// Of the packets that left the last link, whether the link was busy just before.
    pub busy: VecDeque<bool>,
    /// Bytes of the window, and when its first packet was due and written.
    window: Option<(u64, Time, Time)>,
    windows: u64,
    /// Time between the windows' ends, as due and as written.
    took: [Span; 2],
}

/// The rate got while the queue was backlogged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Paced {
    /// Windows of ten full packets and 10 ms in which the link was never idle.
    pub windows: u64,
    /// The rate got over the rate set, of all windows together. One that begins or ends more than 1 ms late is left
    /// out: how late a packet was is judged by itself.
    pub ratio: f64,
}

impl Pace {
    /// A packet was given to the host: when it was due, and when that was done.
    pub fn written(&mut self, due: Time, at: Time, size: u32) {
        let busy = self.busy.pop_front().unwrap_or(false);
        let (bytes, first_due, first_at) = match self.window.filter(|_| busy) {
            Some((bytes, first_due, first_at)) => (bytes + u64::from(size), first_due, first_at),
            None => (0, due, at),
        };
        self.window = Some((bytes, first_due, first_at));
        if bytes >= WINDOW && due.since(first_due) >= LONG {
            if first_at.since(first_due).max(at.since(due)) <= LATE {
                self.windows += 1;
                self.took = [self.took[0] + due.since(first_due), self.took[1] + at.since(first_at)];
            }
            self.window = Some((0, due, at));
        }
    }

    /// What came of it; `None` if there was no window.
    pub fn result(&self) -> Option<Paced> {
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
        // 50 us a packet, all but the first of a busy period 3 us late: 40 packets say nothing, 400 little.
        for (length, windows) in [(40, None), (400, Some(3))] {
            let mut fresh = Pace::default();
            for k in 0..length * 3u64 {
                let busy = k % length > 0;
                fresh.busy.push_back(busy);
                fresh.written(Time(k * 50_000), Time(k * 50_000 + if busy { 3_000 } else { 0 }), 1500);
            }
            assert_eq!(fresh.result().map(|found| found.windows), windows);
            assert!(fresh.result().is_none_or(|found| (found.ratio - 1.0 / 1.0003).abs() < 1e-6));
        }
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
