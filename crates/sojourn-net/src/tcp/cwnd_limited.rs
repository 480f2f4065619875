//! How far the window was used lately: only a window that limited the sender may grow.
//!
//! Source: the concern of RFC 7661, in Linux's form (`tcp_is_cwnd_limited`): the observation of a round trip holds
//! until that has been acknowledged, and slow start also grows a window that was more than half used.

use crate::congestion::Window;

/// One sender's observation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CwndLimited {
    /// Sending stopped at the window.
    limited: bool,
    /// Most bytes in flight.
    most: u64,
    /// The observation holds until this has been acknowledged.
    until: u64,
}

impl CwndLimited {
    /// Sending stopped for want of data when all below `next` had been acknowledged.
    pub(crate) fn none(next: u64) -> Self {
        Self { limited: false, most: 0, until: next }
    }

    /// Sending stops with `in_flight` bytes in flight, all below `next`: at the window or for want of data.
    pub(crate) fn observe(&mut self, limited: bool, in_flight: u64, una: u64, next: u64) {
        if limited || una >= self.until || (!self.limited && in_flight > self.most) {
            *self = Self { limited, most: in_flight, until: next };
        }
    }

    /// True if the window was used up; in slow start, if `half` is enough, more than half of it.
    pub(crate) fn is_limited(&self, window: Window, half: bool) -> bool {
        let Window { cwnd, ssthresh, .. } = window;
        self.limited || (half && cwnd < ssthresh && cwnd < 2 * self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        Window { cwnd, ssthresh, pacing: None }
    }

    #[test]
    fn a_window_that_stopped_the_sender_was_used_up_until_that_has_been_acknowledged() {
        let mut seen = CwndLimited::default();
        seen.observe(true, 10, 0, 10);
        seen.observe(false, 3, 9, 12);
        assert!(seen.is_limited(window(100, 0), false), "the observation holds for a round trip");
        seen.observe(false, 3, 10, 13);
        assert!(!seen.is_limited(window(100, 0), false));
        seen.observe(true, 3, 11, 14);
        assert!(seen.is_limited(window(100, 0), false), "at once");
    }

    #[test]
    fn more_than_half_is_enough_in_slow_start_only() {
        let mut seen = CwndLimited::default();
        seen.observe(false, 51, 0, 51);
        assert!(seen.is_limited(window(101, 102), true));
        assert!(!seen.is_limited(window(102, 103), true), "half is not more than half");
        assert!(!seen.is_limited(window(101, 101), true), "congestion avoidance");
        assert!(!seen.is_limited(window(101, 102), false));
        seen.observe(false, 60, 5, 65);
        assert!(seen.is_limited(window(119, 200), true), "the most of the round trip counts");
        seen.observe(false, 20, 6, 66);
        assert!(seen.is_limited(window(119, 200), true));
        assert!(!CwndLimited::none(66).is_limited(window(1, 2), true));
    }
}
