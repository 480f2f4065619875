//! Undoing a reduction of the window that turns out to have been needless, as Linux does.
//!
//! Source: the Eifel detection by timestamps (RFC 3522), detection by duplicate reports (DSACK, RFC 3708), the
//! response to both (RFC 4015: window and threshold return); Linux's `tcp_input.c`, by its rules. Differences:
//! - a needless fast recovery is undone when it ends or later, not while it lasts;
//! - DSACKs are counted without asking which segment they are of.

use crate::Time;
use crate::congestion::Window;

/// What one sender remembers of its last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Undo {
    /// The window before; none once that was brought back.
    before: Option<Window>,
    /// Retransmissions since that no DSACK was received for (Linux's `undo_retrans`); none before the first.
    unreported: Option<u64>,
    /// When the first of them left (Linux's `retrans_stamp`).
    first: Option<Time>,
}

impl Undo {
    /// The window is about to be reduced while `in_doubt` retransmitted segments are in flight.
    pub(in crate::tcp) fn of(window: Window, in_doubt: u64) -> Self {
        Self { before: Some(window), unreported: (in_doubt > 0).then_some(in_doubt), first: None }
    }

    /// A segment was sent again.
    pub(in crate::tcp) fn on_resend(&mut self, now: Time) {
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
        self.first.get_or_insert(now);
    }

    /// The receiver reports that something arrived twice.
    pub(in crate::tcp) fn on_dsack(&mut self) {
        self.unreported = self.unreported.map(|count| count.saturating_sub(1));
    }

    /// True if the reduction was needless: every retransmission was one too many, or the segment that this
    /// acknowledgement echoes left before the first of them.
    pub(in crate::tcp) fn is_needless(&self, echo: Time) -> bool {
        let earlier = echo != Time::NEVER && self.first.is_some_and(|first| echo < first);
        self.before.is_some() && (self.unreported == Some(0) || earlier)
    }

    /// The window to return to, handed out once.
    pub(in crate::tcp) fn take(&mut self) -> Option<Window> {
        self.before.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn a_dsack_for_every_retransmission_brings_the_window_back_once() {
        let before = Window { cwnd: 10_000, ssthresh: u64::MAX, pacing: None };
        let mut undo = Undo::of(before, 0);
        assert!(!undo.is_needless(Time::NEVER), "nothing was sent again yet");
        undo.on_resend(ms(5));
        undo.on_resend(ms(6));
        undo.on_dsack();
        assert!(!undo.is_needless(ms(5)));
        assert!(undo.is_needless(ms(4)));
        undo.on_dsack();
        assert!(undo.is_needless(Time::NEVER));
        assert_eq!(undo.take(), Some(before));
        assert!(!undo.is_needless(ms(4)));
    }

    #[test]
    fn copies_that_were_in_flight_when_it_began_need_a_dsack_too() {
        let mut undo = Undo::of(Window { cwnd: 10_000, ssthresh: u64::MAX, pacing: None }, 2);
        undo.on_dsack();
        assert!(!undo.is_needless(Time::NEVER));
        undo.on_dsack();
        assert!(undo.is_needless(Time::NEVER));
    }
}
