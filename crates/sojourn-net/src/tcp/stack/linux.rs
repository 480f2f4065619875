//! Linux's sender: where it departs from the standards.
//!
//! Source: Linux's `tcp_input.c` and `tcp_output.c`, by their rules:
//! - a timeout leaves one segment more than is in flight; one that comes while losses are being repaired does not
//!   reduce ssthresh again; whether it was called for is judged by F-RTO ([`frto`](crate::tcp::loss::frto)), and what
//!   was needless is undone ([`undo`](crate::tcp::loss::undo));
//! - new data leaves two segments at a time if it can, and waits up to a millisecond for room for the second
//!   (`tcp_tso_should_defer`); the second of a pair carries PSH.

use crate::congestion::Window;
use crate::tcp::loss::frto::{Frto, LossAck, Verdict};
use crate::tcp::loss::state::{State, TimeoutResponse};
use crate::tcp::loss::undo::Undo;
use crate::{Span, Time};

/// A sender of pairs waits for room this long after it last sent, and for an acknowledgement that is expected within
/// this.
const DEFERRED_FOR: Span = Span::from_millis(1);

/// What the window leaves for new data.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Room {
    /// Bytes that may still be sent.
    pub(in crate::tcp) bytes: u64,
    /// Bytes written and not yet sent.
    pub(in crate::tcp) left: u64,
    pub(in crate::tcp) cwnd: u64,
    pub(in crate::tcp) mss: u64,
    pub(in crate::tcp) srtt: Span,
    /// When the oldest outstanding segment was sent.
    pub(in crate::tcp) first_sent: Time,
    /// When anything was.
    pub(in crate::tcp) last_sent: Time,
    /// Losses are being repaired.
    pub(in crate::tcp) repairing: bool,
}

/// What the habits of one sender remember.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Linux {
    pub(super) undo: Undo,
    pub(super) frto: Frto,
    /// When the first of a pair left whose second must follow.
    second_at: Time,
}

impl Linux {
    pub(super) fn new() -> Self {
        Self { undo: Undo::default(), frto: Frto::default(), second_at: Time::NEVER }
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

    #[inline]
    pub(super) fn is_second(&self, now: Time) -> bool {
        self.second_at == now
    }

    /// There is room for one segment only, and the acknowledgement that makes room for two is near.
    #[inline(never)]
    pub(super) fn tso_should_defer(&mut self, now: Time, room: impl FnOnce() -> Room) -> bool {
        if std::mem::replace(&mut self.second_at, Time::NEVER) == now {
            return false;
        }
        let Room { bytes, left, cwnd, mss, srtt, first_sent, last_sent, repairing } = room();
        let two = 2 * mss;
        // Never more than half a window at once.
        if bytes >= two && cwnd >= 2 * two && left >= two {
            self.second_at = now;
        }
        if bytes >= two.min(cwnd / 3) || left < two || repairing {
            return false;
        }
        let near = DEFERRED_FOR.min(Span(srtt.0 / 2));
        now.since(last_sent) <= DEFERRED_FOR && first_sent + srtt <= now + near
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

    /// Room for one segment of ten; the last left half a millisecond ago, and the oldest is about to be acknowledged.
    fn room() -> Room {
        Room {
            bytes: 1000,
            left: 50_000,
            cwnd: 10_000,
            mss: 1000,
            srtt: Span::from_millis(100),
            first_sent: Time(0),
            last_sent: Time(99_500_000),
            repairing: false,
        }
    }

    #[test]
    fn one_segment_waits_a_millisecond_for_room_for_two() {
        let now = Time(99_900_000);
        let defers = |now, room: Room| Linux::new().tso_should_defer(now, || room);
        assert!(defers(now, room()));
        assert!(!defers(now, Room { bytes: 2000, ..room() }), "room for two");
        assert!(!defers(now, Room { left: 1999, ..room() }), "no second to send");
        assert!(!defers(now, Room { repairing: true, ..room() }));
        assert!(!defers(now, Room { cwnd: 3000, ..room() }), "a third of the window is no more than one");
        assert!(!defers(Time(100_500_001), room()), "it has waited");
        assert!(!defers(now, Room { first_sent: Time(900_001), ..room() }), "the ACK is not near");
        assert!(defers(now, Room { first_sent: Time(900_000), ..room() }));
    }

    #[test]
    fn the_second_of_a_pair_follows_at_once_but_two_are_at_most_half_the_window() {
        let now = Time(99_900_000);
        for (cwnd, pairs) in [(4000, true), (3999, false)] {
            let mut linux = Linux::new();
            assert!(!linux.tso_should_defer(now, || Room { bytes: 2000, cwnd, ..room() }));
            assert_eq!(linux.is_second(now), pairs);
            // With room for one left, the second of a pair leaves, any other waits.
            assert_eq!(linux.tso_should_defer(now, room), !pairs);
            assert!(!linux.is_second(now));
        }
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
