//! Linux after a timeout: was it called for, and what if not.
//!
//! Source: Linux's `tcp_input.c`, by its rules: F-RTO with SACK (RFC 5682 §3.1), the Eifel detection by timestamps (RFC 3522) and by reports of
//! duplicates (RFC 3708), the response to both (RFC 4015: window and threshold return). A timeout leaves one segment more than is in flight; one that comes while
//! losses are being repaired does not reduce ssthresh again. After the first retransmission, if that is acknowledged, two new segments
//! are sent before any other is sent again: what was never sent again and yet arrives then shows that the timeout was needless.
//! Differences: a needless fast recovery is undone when it ends or later, not while it lasts; reports of duplicates are counted without asking
//! which segment they are of.

use super::outgoing::Out;
use super::recovery::State;
use super::sender::Sender;
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

#[cfg(test)]
mod tests {
    use super::super::ack::Heard;
    use super::super::endpoint::{Config, Recovery};
    use super::super::{Block, Sack};
    use super::*;
    use crate::Span;
    use crate::congestion::{Counting, Reno};

    const MSS: u64 = 1000;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Ten segments are out, the last ten milliseconds after the SYN's round trip of 100 ms, and the timer has expired.
    fn timed_out() -> (Sender, Time) {
        let config = Config { mss: 1000, recovery: Recovery::RackTlp, linux: true, ..Config::default() };
        let mut sender = Sender::new(&config, Box::new(Reno::new(MSS, 10 * MSS, Counting::Bytes)));
        sender.open();
        sender.write(u64::MAX);
        sender.next_out(ms(0));
        hear(&mut sender, 100, 1, 0, None);
        while sender.next_out(ms(100)).is_some() {}
        assert_eq!(sender.nxt, 10 * MSS + 1);
        // The probe, and then the timer.
        let mut sent = Vec::new();
        for _ in 0..2 {
            let at = sender.timer_at();
            sender.on_timeout(at);
            while let Some(out) = sender.next_out(at) {
                sent.push((at, out));
            }
        }
        let (at, head) = sent.pop().expect("the head of the line is sent again");
        assert_eq!((head.seq, head.retransmission, sender.statistics.timeouts), (1, true, 1));
        assert_eq!(sender.window.cwnd, MSS);
        (sender, at)
    }

    fn hear(sender: &mut Sender, at: u64, ack: u64, echo: u64, block: Option<(u64, u64)>) {
        let mut sack = Sack::default();
        if let Some((start, end)) = block {
            sack.push(Block { start, end });
        }
        let heard = Heard { ack, echo: ms(echo), stamp: ms(at), pure: true, feedback: 0 };
        sender.on_ack(ms(at), heard, &sack);
    }

    fn outs(sender: &mut Sender, at: u64) -> Vec<bool> {
        std::iter::from_fn(|| sender.next_out(ms(at)).map(|out| out.retransmission)).collect()
    }

    #[test]
    fn an_echo_from_before_the_retransmission_brings_the_window_back() {
        let (mut sender, at) = timed_out();
        let now = at.0 / 1_000_000 + 20;
        hear(&mut sender, now, MSS + 1, 100, None);
        assert_eq!(sender.state, State::Open);
        assert!(sender.window.cwnd >= 10 * MSS && sender.window.ssthresh > 1000 * MSS);
        assert!(outs(&mut sender, now).iter().all(|again| !again), "nothing is held for lost any more");
    }

    #[test]
    fn after_the_first_repair_new_data_comes_first_and_its_arrival_shows_that_the_loss_was_real() {
        let (mut sender, at) = timed_out();
        let (now, then) = (at.0 / 1_000_000 + 100, at.0 / 1_000_000 + 200);
        hear(&mut sender, now, MSS + 1, now - 100, None);
        assert_eq!(outs(&mut sender, now), [false, false], "two new segments, and no repair yet");
        let end = sender.nxt;
        hear(&mut sender, then, MSS + 1, now, Some((end - MSS, end)));
        assert!(outs(&mut sender, then).iter().all(|again| *again));
        assert_eq!(sender.window.ssthresh, 5 * MSS);
    }

    #[test]
    fn what_was_never_sent_again_and_arrives_shows_that_the_timeout_was_needless() {
        let (mut sender, at) = timed_out();
        let now = at.0 / 1_000_000 + 100;
        hear(&mut sender, now, 6 * MSS + 1, now - 100, None);
        assert_eq!(sender.state, State::Open);
        assert!(sender.window.cwnd >= 10 * MSS);
    }

    #[test]
    fn a_report_of_a_duplicate_for_every_retransmission_brings_the_window_back_once() {
        let before = Window { cwnd: 10 * MSS, ssthresh: u64::MAX, pacing: None };
        let mut undo = Undo::of(before, 0);
        assert!(!undo.is_needless(Time::NEVER), "nothing was sent again yet");
        undo.resent(ms(5));
        undo.resent(ms(6));
        undo.begin(true);
        assert!(!undo.is_needless(ms(5)));
        assert!(undo.is_needless(ms(4)));
        undo.begin(true);
        assert!(undo.is_needless(Time::NEVER));
        undo.before = None;
        assert!(!undo.is_needless(ms(4)));
    }

    #[test]
    fn a_timeout_during_a_repair_does_not_reduce_again() {
        let (mut sender, at) = timed_out();
        assert_eq!(sender.window.ssthresh, 5 * MSS);
        sender.state = State::Recovery { point: sender.nxt };
        sender.time_out_as_linux(at + Span::from_millis(1), 5 * MSS);
        assert_eq!(sender.window.ssthresh, 5 * MSS);
    }
}
