//! Loss recovery: when a segment is held for lost, and what follows.
//!
//! Source: RFC 6675 §5 with SACK, its window reduced in proportion (RFC 6937, [`super::prr`]); RFC 6582 §3.2 without (the "impatient" variant does not apply: the timer restarts with every
//! advancing ACK), RFC 6298 §5.4–5.7 after a timeout. Differences: without SACK, duplicate ACKs are taken off `pipe` instead of
//! being added to the window, which sends the same packets; after a timeout SACK information is kept (as Linux does) and the
//! timeout's retransmissions run in slow start against `pipe`. By RFC 6675 a lost retransmission is found by the timer only; losses
//! found by time ([`super::rack`]) enter and leave the same recovery. What Linux does after a timeout is in [`super::undo`].

use super::prr::Prr;
use super::sender::Sender;
use crate::congestion::Congestion;
use crate::{Span, Time};

const DUP_THRESH: u32 = 3;
/// The timer for reordering expires so much late, as in Linux.
const TIMER_SLACK: Span = Span::from_millis(2);

/// What the sender is doing about losses. `point` is the highest sequence number sent when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No loss known.
    Open,
    /// Fast recovery.
    Recovery { point: u64 },
    /// Reducing the window for a mark, with no loss known.
    Reduced {
        /// As above.
        point: u64,
    },
    /// Retransmitting after a timeout.
    Loss { point: u64 },
}

impl State {
    pub(super) fn is_recovery(self) -> bool {
        matches!(self, Self::Recovery { .. })
    }

    /// No loss is being repaired.
    pub(super) fn has_no_loss(self) -> bool {
        matches!(self, Self::Open | Self::Reduced { .. })
    }

    /// The window is being brought down to ssthresh.
    pub(super) fn is_reducing(self) -> bool {
        matches!(self, Self::Recovery { .. } | Self::Reduced { .. })
    }
}

impl Sender {
    /// Draws the consequences of an acknowledgement: `acked` bytes cumulatively, `sacked` bytes selectively new.
    pub(super) fn judge(&mut self, now: Time, (acked, sacked): (u64, u64), pure: bool, in_flight: u64, echo: Time) {
        let was_recovering = self.state.is_recovery();
        if acked > 0 {
            self.dupacks = 0;
            self.left_network = self.left_network.saturating_sub(acked.saturating_sub(u64::from(self.mss)));
            self.left_network = self.left_network.min(self.board.outstanding());
            match self.state {
                State::Open => self.left_network = 0,
                State::Loss { .. } if self.linux => {}
                State::Recovery { point } | State::Loss { point } if self.una >= point => self.recovered(now),
                // What was sent next says that the window was reduced: earlier echoes are of the same marks.
                State::Reduced { point } if self.una > point => {
                    self.state = State::Open;
                    self.refresh_window();
                }
                State::Recovery { .. } => self.partial_ack(now),
                State::Loss { .. } | State::Reduced { .. } => {}
            }
        } else if sacked > 0 || (!self.sack && pure) {
            self.dupacks += 1;
            if !self.sack {
                let left = self.left_network + u64::from(self.mss);
                self.left_network = left.min(self.board.outstanding().saturating_sub(u64::from(self.mss)));
            }
        }
        if self.linux {
            match self.state {
                State::Loss { point } => self.judge_timeout(now, (acked, sacked), echo, point),
                State::Open if acked > 0 && was_recovering => self.undo_if_needless(echo),
                _ => {}
            }
        }
        if self.by_time {
            if self.board.take_advance() {
                self.find_overdue(now, in_flight);
            }
            return;
        }
        if sacked > 0 {
            self.board.mark_lost(self.mss);
        }
        let found = self.dupacks >= DUP_THRESH || (self.sack && self.board.is_head_lost());
        if found && self.state.has_no_loss() {
            self.board.mark_head_lost();
            self.enter_recovery(now, in_flight);
        }
    }

    /// Looks for losses by time, and says when to look again.
    #[inline(never)]
    pub(super) fn find_overdue(&mut self, now: Time, in_flight: u64) {
        let repairing = !self.state.has_no_loss();
        let (min_rtt, srtt) = (self.rtt.min(), self.rtt.smoothed());
        let next = self.board.mark_overdue(now, repairing, self.mss, min_rtt, srtt);
        self.reorder_at =
            if next == Time::NEVER { next } else { self.rtt.expiry(now, (next + TIMER_SLACK).since(now)) };
        if self.state.has_no_loss() && self.board.has_lost() {
            self.enter_recovery(now, in_flight);
        }
    }

    /// The receiver tells of a mark: one reduction for each window, and none while a loss is being repaired.
    #[cold]
    pub(super) fn on_mark(&mut self, now: Time, in_flight: u64) {
        if self.state == State::Open {
            self.state = State::Reduced { point: self.next() };
            self.statistics.marks += 1;
            self.reduce(now, Congestion::Mark, in_flight);
        }
    }

    fn reduce(&mut self, now: Time, what: Congestion, in_flight: u64) {
        self.prr = Prr::begin(if self.linux { self.window.cwnd } else { self.board.outstanding() }, self.linux);
        self.marking.on_reduction();
        self.control.on_congestion(now, what, in_flight);
        self.refresh_window();
    }

    #[cold]
    fn enter_recovery(&mut self, now: Time, in_flight: u64) {
        let reduced = self.state != State::Open;
        if self.linux {
            self.remember();
        }
        self.state = State::Recovery { point: self.next() };
        self.force = true;
        self.rescue = true;
        self.statistics.recoveries += 1;
        self.forget_probe();
        // What answers marks in proportion has hardly reduced yet (RFC 8257 §3.5).
        if !reduced || self.marking.is_proportional() {
            self.reduce(now, Congestion::Loss, in_flight);
        }
    }

    fn partial_ack(&mut self, now: Time) {
        if self.sack {
            return;
        }
        if self.partial_acks {
            self.board.mark_head_lost();
            self.force = true;
        } else {
            self.recovered(now);
        }
    }

    pub(super) fn recovered(&mut self, now: Time) {
        self.control.on_recovered(now);
        self.state = State::Open;
        self.left_network = 0;
        self.force = false;
        self.rescue = false;
        self.refresh_window();
    }

    /// The retransmission timer expired.
    pub(super) fn time_out(&mut self, now: Time) {
        self.statistics.timeouts += 1;
        self.statistics.waited = self.statistics.waited + now.since(self.last_sent);
        self.rtt.back_off();
        let in_flight = self.in_flight();
        if self.by_time {
            self.board.mark_old_lost(now);
            self.forget_probe();
            self.reorder_at = Time::NEVER;
        } else {
            self.board.mark_all_lost();
        }
        self.left_network = 0;
        self.dupacks = 0;
        self.force = false;
        if self.una == 0 {
            return; // A lost SYN says nothing about the window (RFC 5681 §3.1 restarts with one segment; see the docs).
        }
        if self.linux {
            return self.time_out_as_linux(now, in_flight);
        }
        // A segment that times out again leaves ssthresh alone (RFC 5681 §3.1, below equation 4).
        if !self.rtt.backed_off_before() {
            self.marking.on_reduction();
            self.control.on_congestion(now, Congestion::Timeout, in_flight);
        }
        self.refresh_window(); // The rate of a recovery that was under way ends with it.
        self.state = State::Loss { point: self.next() };
    }
}
