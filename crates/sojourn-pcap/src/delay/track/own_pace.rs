//! Whether a sender keeps a pace of its own, or sends when acknowledgements arrive.
//!
//! BBR (draft-cardwell-iccrg-bbr-congestion-control) and whatever `SO_MAX_PACING_RATE` holds back send by a timer. What
//! they echo had arrived at any time since they sent last. Senders without a pace (RFC 5681) echo it as it comes. Both
//! send as often as acknowledgements arrive, by twos and threes, so that what tells them apart is when they do not keep
//! step: a pace that is a little quicker sends again before the next one came. It then echoes a stamp that it has
//! echoed before, and that one packet alone had.
//!
//! Source: this project's own rule, from captures of Linux's connections; no published estimator from one side asks it.

use crate::delay::log::entry::{AGAIN, DATA, Entry, UNCAUSED};

/// Stamps that are so many ticks apart are of different times.
const APART: i64 = 2;
/// A pace of its own is out of step more often than once in so many times. Of Linux's connections those with BBR were 5
/// to 62 times in a hundred, others at most 2.5 (`docs/measure-method.md`).
const SELDOM: u32 = 25;
/// Fewer times are chance.
const LEAST: u32 = 3;

/// How often data was sent after a pause, and how often of that nothing had arrived meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnPace {
    last: i64,
    pauses: u32,
    uncaused: u32,
}

impl Default for OwnPace {
    fn default() -> Self {
        Self { last: i64::MAX, pauses: 0, uncaused: 0 }
    }
}

impl OwnPace {
    /// Count the sender's next packet.
    #[inline]
    pub(crate) fn add(&mut self, entry: &Entry) {
        let apart = entry.stamp.saturating_sub(self.last) >= APART;
        self.last = entry.stamp;
        if apart && entry.is(DATA) && !entry.is(AGAIN) {
            self.pauses += 1;
            self.uncaused += u32::from(entry.is(UNCAUSED));
        }
    }

    /// Whether its sender keeps one.
    pub(crate) fn is_kept(&self) -> bool {
        self.uncaused >= LEAST && u64::from(self.uncaused) * u64::from(SELDOM) > u64::from(self.pauses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of data that is sent every so many ticks, each time that a multiple of `every` comes nothing had arrived.
    fn sent(ticks: i64, every: i64, flags: u64) -> OwnPace {
        let mut pace = OwnPace::default();
        for i in 0..200 {
            let uncaused = if i % every == 0 { UNCAUSED } else { 0 };
            pace.add(&Entry::new(i as u64, i * ticks * 1_000_000, i * ticks, flags | uncaused, None));
        }
        pace
    }

    #[test]
    fn who_sends_before_anything_arrived_now_and_then_keeps_a_pace() {
        assert!(sent(3, 20, DATA).is_kept() && sent(2, 4, DATA).is_kept());
        assert!(!sent(3, 40, DATA).is_kept() && !sent(3, 300, DATA).is_kept(), "others do it less often");
        assert!(!sent(1, 4, DATA).is_kept(), "stamps of one tick may be of one time");
        assert!(!sent(3, 4, DATA | AGAIN).is_kept() && !sent(3, 4, 0).is_kept(), "timers send again");
        let mut few = OwnPace::default();
        (0..3).for_each(|i| few.add(&Entry::new(i, 0, i as i64 * 9, DATA | UNCAUSED, None)));
        assert_eq!((few.pauses, few.is_kept()), (2, false));
    }
}
