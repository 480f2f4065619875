//! RACK: a segment is lost if one sent later has arrived, and enough time for reordering has passed.
//!
//! Source: RFC 8985 §6 (2021) with Linux's rules where it differs: no time for reordering is given while none has been
//! seen and three segments are SACKed or a repair is under way; otherwise a quarter of the smallest round trip, at
//! most a smoothed one. Transmissions are kept in the order of time, and each is looked at once or twice. As in Linux
//! the round trip that counts is that of the segment reported last, be it older than another of the same
//! acknowledgement. Difference: duplicate reports (DSACK) never widen the window for reordering. A lost retransmission
//! is found like any other loss.

use crate::{Span, Time};
use std::collections::VecDeque;

/// What one sender knows of the order of arrivals.
#[derive(Debug, Default)]
pub(in crate::tcp) struct Rack {
    /// Transmissions in the order of time, by the end of their segment; those that were overtaken by events are
    /// dropped at the front.
    pub(in crate::tcp) sent: VecDeque<(Time, u64)>,
    /// Of the segments that arrived, the one sent last: when it was sent, where it ends, its round trip.
    latest: (Time, u64),
    rtt: Span,
    /// Something arrived since losses were last looked for.
    advanced: bool,
    reordering: bool,
    /// Where the highest segment that arrived ends; now, and before the present acknowledgement.
    highest: u64,
    highest_before: u64,
    /// Where the lowest segment ends that this acknowledgement delivers and that was sent only once; `MAX` if none.
    pub(in crate::tcp) original: u64,
    now: Time,
    min_rtt: Span,
}

impl Rack {
    /// A segment is sent, for the first time or again. Returns when: transmissions at one instant are told apart by a
    /// nanosecond each.
    #[inline]
    pub(in crate::tcp) fn on_send(&mut self, now: Time, end: u64) -> Time {
        let at = self.sent.back().map_or(now, |last| now.max(last.0 + Span(1)));
        self.sent.push_back((at, end));
        at
    }

    /// An acknowledgement begins.
    pub(in crate::tcp) fn begin(&mut self, now: Time, min_rtt: Span) {
        (self.now, self.min_rtt, self.highest_before) = (now, min_rtt, self.highest);
        self.original = u64::MAX;
    }

    /// It delivers a segment.
    #[inline]
    pub(in crate::tcp) fn arrived(&mut self, sent: Time, end: u64, resent: bool) {
        self.highest = self.highest.max(end);
        if !resent {
            self.original = self.original.min(end);
        }
        self.reordering |= !resent && end < self.highest_before;
        let rtt = self.now.since(sent);
        if resent && rtt < self.min_rtt {
            return; // It must have been the original.
        }
        self.advanced = true;
        self.rtt = rtt;
        self.latest = self.latest.max((sent, end));
    }

    /// Takes note that losses are being looked for: true if something has arrived since the last time.
    pub(in crate::tcp) fn take_advance(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// These transmissions, and all others, are to be looked at again.
    pub(in crate::tcp) fn look_again(&mut self, transmissions: Vec<(Time, u64)>) {
        let mut sent: Vec<_> = self.sent.drain(..).chain(transmissions).collect();
        sent.sort_unstable();
        sent.dedup();
        self.sent = sent.into();
        self.advanced = true;
    }

    /// True if the transmission took place before that of the latest-sent segment that arrived.
    pub(in crate::tcp) fn is_overtaken(&self, transmission: (Time, u64)) -> bool {
        transmission < self.latest
    }

    /// When a transmission that was overtaken is lost, with so much time for reordering.
    pub(in crate::tcp) fn deadline(&self, sent: Time, window: Span) -> Time {
        sent + self.rtt + window
    }

    /// Time to allow for reordering. `sure`: none needs to be expected of a path that has shown none.
    pub(in crate::tcp) fn window(&self, sure: bool, min_rtt: Span, srtt: Span) -> Span {
        if sure && !self.reordering { Span::ZERO } else { Span(min_rtt.0 / 4).min(srtt) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;
    use crate::tcp::segment::{Block, Sack};

    const MSS: u32 = 1000;
    const RTT: Span = Span::from_millis(100);

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    fn sack(segment: u64) -> Sack {
        let mut sack = Sack::default();
        sack.push(Block { start: (segment - 1) * 1000, end: segment * 1000 });
        sack
    }

    /// Segments 1–4 sent at 0, 10, 20 and 30 ms; if `reordering`, after two that arrived in the wrong order.
    fn four(reordering: bool) -> (Scoreboard, u64) {
        let mut board = Scoreboard::new(false, true);
        let before = if reordering { 2 } else { 0 };
        if reordering {
            board.push(MSS, ms(0));
            board.push(MSS, ms(0));
            board.begin(ms(0), Span::ZERO);
            board.sack(&sack(2));
            board.begin(ms(0), Span::ZERO);
            board.acknowledge(2000);
            board.take_advance();
        }
        for at in [0, 10, 20, 30] {
            board.push(MSS, ms(at));
        }
        (board, before)
    }

    #[test]
    fn with_reordering_seen_what_was_overtaken_has_a_quarter_of_a_round_trip_more() {
        let (mut board, before) = four(true);
        board.begin(ms(125), RTT);
        board.sack(&sack(before + 3));
        assert!(board.take_advance());
        assert_eq!(board.mark_overdue(ms(125), false, MSS, RTT, RTT), ms(140));
        assert_eq!(board.pipe(), 3000);
        assert_eq!(board.mark_overdue(ms(131), false, MSS, RTT, RTT), ms(140));
        assert_eq!(board.pipe(), 2000, "the first is overdue");
        assert_eq!(board.mark_overdue(ms(140), false, MSS, RTT, RTT), Time::NEVER);
        assert_eq!(board.pipe(), 1000, "the fourth was sent later than the third");
    }

    #[test]
    fn on_a_path_that_has_shown_none_two_are_lost_at_once_while_repairing() {
        for (repairing, pipe) in [(true, 1000), (false, 3000)] {
            let (mut board, _) = four(false);
            board.begin(ms(125), RTT);
            board.sack(&sack(3));
            board.mark_overdue(ms(125), repairing, MSS, RTT, RTT);
            assert_eq!(board.pipe(), pipe);
        }
    }

    #[test]
    fn a_lost_retransmission_is_found_and_an_original_that_answers_too_soon_is_no_news() {
        let (mut board, _) = four(false);
        board.begin(ms(125), RTT);
        board.sack(&sack(3));
        board.mark_overdue(ms(125), true, MSS, RTT, RTT);
        board.resent(0, ms(125));
        board.resent(1000, ms(126));
        // Ten milliseconds after its retransmission it must be the original that arrived.
        board.take_advance();
        board.begin(ms(136), RTT);
        board.acknowledge(1000);
        assert!(!board.take_advance());
        // A fifth segment, sent after the retransmission, arrives: the retransmission is overdue.
        board.push(MSS, ms(127));
        board.begin(ms(230), RTT);
        board.sack(&sack(5));
        assert_eq!(board.mark_overdue(ms(230), true, MSS, RTT, RTT), Time::NEVER);
        let again = board.next_waiting().map(|r| r.seq);
        assert_eq!(again, Some(1000));
    }

    #[test]
    fn after_a_needless_timeout_only_what_the_timer_alone_had_marked_is_found_again() {
        let (mut board, _) = four(false);
        for segment in 5..=8 {
            board.push(MSS, ms(35 + segment));
        }
        // The first two are overtaken by the third; then the timer takes the rest but the sixth, which is SACKed.
        board.begin(ms(125), RTT);
        board.sack(&sack(3));
        board.mark_overdue(ms(125), true, MSS, RTT, RTT);
        board.mark_old_lost(ms(400));
        assert_eq!(board.pipe(), 0);
        board.begin(ms(401), RTT);
        board.sack(&sack(6));
        board.mark_overdue(ms(401), true, MSS, RTT, RTT);
        board.forget_lost();
        assert_eq!(board.pipe(), 6000, "all but the two that were SACKed");
        assert!(board.take_advance());
        board.mark_overdue(ms(401), true, MSS, RTT, RTT);
        assert_eq!(board.pipe(), 4000, "the fourth and the fifth, which the sixth overtook");
        assert_eq!(board.next_waiting().map(|resend| resend.seq), Some(3000));
    }

    #[test]
    fn the_timer_spares_what_was_sent_less_than_a_round_trip_ago() {
        let (mut board, _) = four(false);
        board.begin(ms(125), RTT);
        board.sack(&sack(3));
        board.push(MSS, ms(330));
        board.mark_old_lost(ms(340));
        assert_eq!(board.pipe(), 1000);
    }

    #[test]
    fn the_window_for_reordering_is_a_quarter_of_the_smallest_round_trip_and_at_most_a_smoothed_one() {
        let ms = Span::from_millis;
        let seen = Rack { reordering: true, ..Rack::default() };
        assert_eq!([true, false].map(|sure| seen.window(sure, ms(100), ms(120))), [ms(25); 2]);
        assert_eq!(seen.window(false, ms(100), ms(20)), ms(20));
        let unseen = Rack::default();
        assert_eq!([true, false].map(|sure| unseen.window(sure, ms(100), ms(120))), [ms(0), ms(25)]);
    }
}
