//! Linux after a timeout: was it called for, and what if not.
//!
//! Source: Linux's `tcp_input.c`, by its rules: F-RTO with SACK (RFC 5682 §3.1), the Eifel detection by timestamps (RFC 3522) and by reports of
//! duplicates (RFC 3708), the response to both (RFC 4015: window and threshold return). A timeout leaves one segment more than is in flight; one that comes while
//! losses are being repaired does not reduce ssthresh again. After the first retransmission, if that is acknowledged, two new segments
//! are sent before any other is sent again: what was never sent again and yet arrives then shows that the timeout was needless.
//! Differences: a needless fast recovery is undone when it ends or later, not while it lasts; reports of duplicates are counted without asking
//! which segment they are of.

use super::recovery::State;
use super::sender::{Out, Sender};
use crate::Time;
use crate::congestion::{Congestion, Window};

/// What may be sent in answer to one acknowledgement after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// What was lost, then new data.
    #[default]
    Repair,
    /// New data first.
    New,
    /// New data was sent: nothing else until the next acknowledgement.
    Wait,
}

/// What one sender remembers of its last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The window before; none once that was brought back.
    before: Option<Window>,
    /// Retransmissions since that no duplicate was reported for; none before the first.
    resent: Option<u64>,
    /// The first of them.
    first: Option<Time>,
    /// The timeout is still under suspicion.
    suspect: bool,
    turn: Turn,
}

impl Undo {
    fn of(window: Window, in_doubt: u64) -> Self {
        Self { before: Some(window), resent: (in_doubt > 0).then_some(in_doubt), ..Self::default() }
    }

    /// A segment was sent again.
    pub(super) fn resent(&mut self, now: Time) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.first.get_or_insert(now);
    }

    /// New data comes before repairs.
    #[inline]
    pub(super) fn has_turned(&self) -> bool {
        self.turn != Turn::Repair
    }

    /// An acknowledgement begins; it may report that something arrived twice.
    pub(super) fn begin(&mut self, duplicate: bool) {
        self.turn = Turn::Repair;
        if duplicate {
            self.resent = self.resent.map(|count| count.saturating_sub(1));
        }
    }

    /// Every retransmission was one too many.
    fn is_repaid(&self) -> bool {
        self.before.is_some() && self.resent == Some(0)
    }

    /// The same, or the segment that this acknowledgement echoes left before the first of them.
    fn is_needless(&self, echo: Time) -> bool {
        let earlier = echo != Time::NEVER && self.first.is_some_and(|first| echo < first);
        self.is_repaid() || (self.before.is_some() && earlier)
    }
}

impl Sender {
    /// Fast recovery begins.
    pub(super) fn remember(&mut self) {
        self.undo = Undo::of(self.window, self.board.resent_bytes() / u64::from(self.mss));
    }

    /// The timer expired, and what was lost has been marked; `in_flight` was before.
    pub(super) fn time_out_as_linux(&mut self, now: Time, in_flight: u64) {
        let again = self.rtt.backed_off_before();
        let fresh = self.state.has_no_loss();
        let old = self.window;
        let reduces = fresh || (matches!(self.state, State::Loss { .. }) && !again);
        if reduces {
            self.remember();
        }
        self.marking.on_reduction();
        self.control.on_congestion(now, Congestion::Timeout, in_flight);
        let ssthresh = if reduces { self.control.window().ssthresh } else { old.ssthresh };
        self.control.restore(self.in_flight() + u64::from(self.mss), ssthresh);
        self.refresh_window();
        self.undo.suspect = fresh || again;
        self.undo.turn = Turn::Repair;
        self.force = true;
        self.state = State::Loss { point: self.nxt };
    }

    /// An acknowledgement while lost segments are sent again after a timeout.
    pub(super) fn judge_timeout(&mut self, now: Time, (acked, sacked): (u64, u64), echo: Time, point: u64) {
        if acked > 0 && self.undo.is_needless(echo) {
            return self.reopen();
        }
        if self.undo.suspect {
            if self.board.has_original(point) {
                return self.reopen();
            }
            if self.nxt > point {
                self.undo.suspect &= sacked == 0;
            } else if acked > 0 && self.una < point {
                self.state = State::Loss { point: self.nxt };
                self.undo.turn = Turn::New;
                return;
            }
        }
        if self.una >= point {
            self.recovered(now);
        }
    }

    /// A repair has ended, or nothing is being repaired: the reduction may still turn out to have been needless.
    pub(super) fn undo_if_needless(&mut self, echo: Time) {
        if self.undo.is_needless(echo) {
            self.bring_back();
        }
    }

    /// The timeout was needless.
    fn reopen(&mut self) {
        self.board.forget_lost();
        self.state = State::Open;
        self.force = false;
        self.bring_back();
    }

    fn bring_back(&mut self) {
        if let Some(Window { cwnd, ssthresh, .. }) = self.undo.before.take() {
            self.control.restore(self.window.cwnd.max(cwnd), self.window.ssthresh.max(ssthresh));
            self.refresh_window();
        }
    }

    /// What goes out while new data comes before repairs; `None` if repairs are next, `Some(None)` if nothing is.
    pub(super) fn before_repairs(&mut self, now: Time) -> Option<Option<Out>> {
        match self.undo.turn {
            Turn::Repair => None,
            Turn::Wait => Some(None),
            Turn::New => {
                if let Some(out) = self.new_data_if_any(now) {
                    return Some(Some(out));
                }
                let State::Loss { point } = self.state else { return None };
                if self.nxt > point {
                    self.undo.turn = Turn::Wait;
                    return Some(None);
                }
                self.undo.suspect = false;
                self.undo.turn = Turn::Repair;
                None
            }
        }
    }
}
