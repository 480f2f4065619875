//! Linux's sender: where it departs from the standards.
//!
//! Source: Linux's `tcp_input.c` and `tcp_output.c`, by their rules:
//! - a timeout leaves one segment more than is in flight; one that comes while losses are being repaired does not
//!   reduce ssthresh again; whether it was called for is judged by F-RTO ([`frto`](crate::tcp::loss::frto)), and what
//!   was needless is undone ([`undo`](crate::tcp::loss::undo));
//! - new data leaves in super-segments ([`tso`](super::tso)).

use super::tso::Tso;
use crate::Time;
use crate::congestion::Window;
use crate::tcp::loss::frto::{Frto, LossAck, Verdict};
use crate::tcp::loss::state::{State, TimeoutResponse};
use crate::tcp::loss::undo::Undo;

/// What the habits of one sender remember.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Linux {
    pub(super) undo: Undo,
    pub(super) frto: Frto,
    pub(super) tso: Tso,
}

impl Linux {
    pub(super) fn new() -> Self {
        Self { undo: Undo::default(), frto: Frto::default(), tso: Tso::new() }
    }

    #[inline]
    pub(super) fn begin_ack(&mut self, dsack: bool) {
        self.frto.begin_ack();
        if dsack {
            self.undo.on_dsack();
        }
    }

    pub(super) fn on_recovery(&mut self, window: Window, in_doubt: u64) {
        self.undo = Undo::of(window, in_doubt);
        self.frto.clear();
    }

    pub(super) fn on_timeout(&mut self, state: State, again: bool, window: Window, in_doubt: u64) -> TimeoutResponse {
        let fresh = state.has_no_loss();
        let reduces = fresh || (matches!(state, State::Loss { .. }) && !again);
        if reduces {
            self.undo = Undo::of(window, in_doubt);
        }
        self.frto.on_timeout(fresh || again);
        TimeoutResponse::OneMore { ssthresh: (!reduces).then_some(window.ssthresh) }
    }

    /// What an acknowledgement after a timeout says of it.
    pub(super) fn on_loss_ack(&mut self, echo: Time, ack: LossAck) -> Verdict {
        if ack.advanced && self.undo.is_needless(echo) { Verdict::Spurious } else { self.frto.on_ack(ack) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { cwnd: 10_000, ssthresh: 7000, pacing: None };
    const REDUCES: TimeoutResponse = TimeoutResponse::OneMore { ssthresh: None };
    const KEEPS: TimeoutResponse = TimeoutResponse::OneMore { ssthresh: Some(7000) };

    #[test]
    fn a_timeout_reduces_ssthresh_unless_losses_are_being_repaired_or_it_is_the_second_in_a_row() {
        let states = [State::Open, State::Reduced { point: 1 }, State::Recovery { point: 1 }, State::Loss { point: 1 }];
        let responses = |again| states.map(|state| Linux::new().on_timeout(state, again, WINDOW, 0));
        assert_eq!(responses(false), [REDUCES, REDUCES, KEEPS, REDUCES]);
        assert_eq!(responses(true), [REDUCES, REDUCES, KEEPS, KEEPS]);
    }

    #[test]
    fn a_timeout_is_under_suspicion_unless_it_follows_another_after_which_a_round_trip_was_measured() {
        let original = LossAck { advanced: true, sacked: false, original: true, repaired: false, sent_new: false };
        for (state, again, verdict) in [
            (State::Open, false, Verdict::Spurious),
            (State::Loss { point: 1 }, true, Verdict::Spurious),
            (State::Loss { point: 1 }, false, Verdict::Repair),
            (State::Recovery { point: 1 }, false, Verdict::Repair),
        ] {
            let mut linux = Linux::new();
            linux.on_timeout(state, again, WINDOW, 0);
            assert_eq!(linux.on_loss_ack(Time::NEVER, original), verdict, "{state:?} {again}");
        }
    }
}
