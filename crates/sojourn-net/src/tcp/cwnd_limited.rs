//! How far the window was used lately: only a window that limited the sender may grow.
//!
//! Source: the concern of RFC 7661, in Linux's form (`tcp_is_cwnd_limited`): the observation of a round trip holds until
//! that has been acknowledged, and slow start also grows a window that was more than half used.

use crate::congestion::Window;

/// One sender's observation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CwndLimited {
    /// Sending stopped at the window.
    limited: bool,
    /// Most bytes in flight.
    most: u64,
    /// The observation holds until this has been acknowledged.
    until: u64,
}

impl CwndLimited {
    /// Sending stopped for want of data when all below `next` had been acknowledged.
    pub(super) fn none(next: u64) -> Self {
        Self { limited: false, most: 0, until: next }
    }

    /// Sending stops with `in_flight` bytes in flight, all below `next`: at the window or for want of data.
    pub(super) fn observe(&mut self, limited: bool, in_flight: u64, una: u64, next: u64) {
        if limited || una >= self.until || (!self.limited && in_flight > self.most) {
            *self = Self { limited, most: in_flight, until: next };
        }
    }

    /// True if the window was used up; in slow start, if `half` is enough, more than half of it.
    pub(super) fn is_limited(&self, window: Window, half: bool) -> bool {
        let Window { cwnd, ssthresh, .. } = window;
        self.limited || (half && cwnd < ssthresh && cwnd < 2 * self.most)
    }
}
