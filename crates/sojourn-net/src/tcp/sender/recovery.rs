//! Loss recovery: when a segment is declared lost, and what the sender then does.
//!
//! Source: RFC 6675 §5 with SACK, its window reduced in proportion (RFC 6937, [`prr`](crate::tcp::loss::prr)); RFC
//! 6582 §3.2 without (the "impatient" variant does not apply: the timer restarts with every advancing ACK); RFC 6298
//! §5.4–5.7 after a timeout. What Linux does after a timeout is in [`stack`](crate::tcp::stack). Differences:
//! - without SACK, duplicate ACKs are taken off `pipe` instead of being added to the window, which sends the same
//!   packets;
//! - after a timeout SACK information is kept (as in Linux), and the timeout's retransmissions run in slow start
//!   against `pipe`;
//! - by RFC 6675 a lost retransmission is found by the timer only; losses found by time
//!   ([`rack`](crate::tcp::loss::rack)) enter and leave the same recovery.

use super::Sender;
use super::ack::News;
use crate::congestion::{Congestion, Window};
use crate::tcp::loss::frto::{LossAck, Verdict};
use crate::tcp::loss::state::{State, TimeoutResponse};
use crate::tcp::loss::tlp::Tlp;
use crate::tcp::segment::AckHeader;
use crate::{Span, Time};

const DUP_THRESH: u32 = 3;
/// The reordering timer expires this much late, as in Linux.
const TIMER_SLACK: Span = Span::from_millis(2);

impl Sender {
    /// Moves between the states of recovery, as an acknowledgement asks, and looks for losses.
    #[inline]
    pub(super) fn update_recovery(&mut self, now: Time, news: &News, header: &AckHeader) {
        let was_recovering = self.state.is_recovery();
        if news.advanced() {
            self.on_advance(now, news.acked);
        } else if news.sacked > 0 || (!self.sack && header.pure) {
            self.on_duplicate_ack();
        }
        match self.state {
            State::Loss { point } => self.on_loss_ack(now, news, header.echo, point),
            State::Open if was_recovering && news.advanced() => self.undo(header.echo),
            _ => {}
        }
        if self.rack {
            if self.board.take_advance() {
                self.rack_detect_loss(now, news.in_flight);
            }
            return;
        }
        if news.sacked > 0 {
            self.board.mark_lost(self.mss);
        }
        let found = self.dupacks >= DUP_THRESH || (self.sack && self.board.is_head_lost());
        if found && self.state.has_no_loss() {
            self.board.mark_head_lost();
            self.enter_recovery(now, news.in_flight);
        }
    }

    #[inline]
    fn on_advance(&mut self, now: Time, acked: u64) {
        self.dupacks = 0;
        self.left_network = self.left_network.saturating_sub(acked.saturating_sub(u64::from(self.mss)));
        self.left_network = self.left_network.min(self.board.outstanding());
        match self.state {
            State::Open => self.left_network = 0,
            State::Recovery { point } if self.una >= point => self.recovered(now),
            // What was sent next says that the window was reduced: earlier echoes are of the same marks.
            State::Reduced { point } if self.una > point => {
                self.state = State::Open;
                self.refresh_window();
            }
            State::Recovery { .. } => self.partial_ack(now),
            State::Loss { .. } | State::Reduced { .. } => {}
        }
    }

    fn on_duplicate_ack(&mut self) {
        self.dupacks += 1;
        if !self.sack {
            let left = self.left_network + u64::from(self.mss);
            self.left_network = left.min(self.board.outstanding().saturating_sub(u64::from(self.mss)));
        }
    }

    /// An acknowledgement while lost segments are sent again after a timeout.
    fn on_loss_ack(&mut self, now: Time, news: &News, echo: Time, point: u64) {
        let verdict = self.stack.on_loss_ack(echo, || LossAck {
            advanced: news.advanced(),
            sacked: news.sacked > 0,
            original: self.board.has_original(point),
            repaired: self.una >= point,
            sent_new: self.nxt > point,
        });
        match verdict {
            Verdict::Spurious => {
                self.board.forget_lost();
                self.state = State::Open;
                self.force = false;
                if let Some(window) = self.stack.undo_timeout() {
                    self.restore(window);
                }
            }
            Verdict::Probe => self.state = State::Loss { point: self.nxt },
            Verdict::Repair if self.una >= point => self.recovered(now),
            Verdict::Repair => {}
        }
    }

    /// A repair has ended, or nothing is being repaired: the reduction may still turn out to have been needless.
    #[inline]
    pub(super) fn undo(&mut self, echo: Time) {
        if let Some(window) = self.stack.undo(echo) {
            self.restore(window);
        }
    }

    /// The last reduction was needless: the window and the threshold return to what they were, unless they are larger.
    #[cold]
    fn restore(&mut self, before: Window) {
        self.control.restore(self.window.cwnd.max(before.cwnd), self.window.ssthresh.max(before.ssthresh));
        self.refresh_window();
    }

    /// Looks for losses by time, and says when to look again.
    #[inline(never)]
    pub(super) fn rack_detect_loss(&mut self, now: Time, in_flight: u64) {
        let repairing = !self.state.has_no_loss();
        let (min_rtt, srtt) = (self.rto.min(), self.rto.smoothed());
        let next = self.board.mark_overdue(now, repairing, self.mss, min_rtt, srtt);
        self.reorder_at =
            if next == Time::NEVER { next } else { self.rto.expiry(now, (next + TIMER_SLACK).since(now)) };
        if self.state.has_no_loss() && self.board.has_lost() {
            self.enter_recovery(now, in_flight);
        }
    }

    /// The receiver echoes a mark: one reduction for each window, and none while a loss is being repaired.
    #[cold]
    pub(super) fn on_ece(&mut self, now: Time, in_flight: u64) {
        if self.state == State::Open {
            self.state = State::Reduced { point: self.next() };
            self.statistics.marks += 1;
            self.reduce(now, Congestion::Mark, in_flight);
        }
    }

    fn reduce(&mut self, now: Time, what: Congestion, in_flight: u64) {
        self.prr = self.stack.prr(self.window, self.board.outstanding());
        self.ecn.on_reduction();
        self.control.on_congestion(now, what, in_flight);
        self.refresh_window();
    }

    #[cold]
    fn enter_recovery(&mut self, now: Time, in_flight: u64) {
        let reduced = self.state != State::Open;
        self.stack.on_recovery(self.window, self.in_doubt());
        self.state = State::Recovery { point: self.next() };
        self.force = true;
        self.rescue = true;
        self.statistics.recoveries += 1;
        self.tlp = Tlp::default();
        // What answers marks in proportion has hardly reduced yet (RFC 8257 §3.5).
        if !reduced || self.ecn.is_proportional() {
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

    fn recovered(&mut self, now: Time) {
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
        let again = self.rto.back_off(self.una, self.nxt);
        let in_flight = self.in_flight();
        if self.rack {
            self.board.mark_old_lost(now);
            self.tlp = Tlp::default();
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
        let response = self.stack.on_timeout(self.state, again, self.window, self.in_doubt());
        if response != TimeoutResponse::Keep {
            self.ecn.on_reduction();
            self.control.on_congestion(now, Congestion::Timeout, in_flight);
        }
        if let TimeoutResponse::OneMore { ssthresh } = response {
            let ssthresh = ssthresh.unwrap_or(self.control.window().ssthresh);
            self.control.restore(self.in_flight() + u64::from(self.mss), ssthresh);
            self.force = true;
        }
        self.refresh_window(); // The rate of a recovery that was under way ends with it.
        self.state = State::Loss { point: self.next() };
    }

    /// Retransmitted segments that are in flight.
    fn in_doubt(&self) -> u64 {
        self.board.resent_bytes() / u64::from(self.mss)
    }
}
