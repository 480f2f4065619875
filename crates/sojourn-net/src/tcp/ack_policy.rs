//! Which acknowledgements Linux's receiver sends sooner, and which later, than RFC 5681 asks.
//!
//! Source: Linux's `tcp_input.c` and `tcp.c`, by their rules, as seen on Linux 6.18:
//! - quick ACKs: the first sixteen acknowledgements of a connection, and sixteen after a duplicate or a pause, are not
//!   delayed; a pause is one of data in order, and data beyond a hole does not end it. A segment with which the receive
//!   window grows ([`WindowGrowth`]) is acknowledged at once, and the sixteen do not become fewer meanwhile;
//! - PSH: such a segment is acknowledged as soon as the application has read it, unless there is a hole; a sender's
//!   second of a pair has PSH;
//! - second segments: more than one full segment is not delayed, be the second short (`__tcp_ack_snd_check`): 1448 and
//!   612 bytes of an answer are told at once, 1448 alone with the next request;
//! - reading: that acknowledgement, and that of every second segment (`tcp_cleanup_rbuf`, since data that is not read
//!   yet takes from the window), leaves when the application has run, and what came after the data has been answered
//!   by then. Where data goes both ways this parts the clusters of segments and acknowledgements that form otherwise
//!   (Zhang, Shenker and Clark, 1991): simulated delays behind CoDel were 1.4 to 1.9 times real ones without it. How
//!   long that takes is the `reader`'s;
//! - pingpong: neither holds on an interactive connection, one whose end has answered data within the delay below,
//!   until an acknowledgement waits to its end or a duplicate arrives;
//! - delayed ACKs: the delay of others follows the gaps of arrivals, from 40 ms up to a round trip, and doubles when
//!   it ran out;
//! - SACK compression (`tcp_comp_sack_delay_ns`, `tcp_comp_sack_nr`): only the first three duplicate ACKs of a hole
//!   leave at once; later ones are held for a millisecond, or until 44 have been, and leave as one.
//!
//! Difference: the millisecond does not shrink on paths of less than 20 ms.

use super::reader::Reader;
use super::window_growth::WindowGrowth;
use crate::jiffies::{TICK, expiry, ticks};
use crate::{Span, Time};

const QUICK: u32 = 16;
const AT_ONCE: u32 = 3;
const MOST_HELD: u32 = 44;
const HELD_FOR: Span = Span::from_millis(1);
/// Most ticks that an acknowledgement is delayed.
const MOST_DELAY: u64 = 50;

/// What one receiver knows of its acknowledgements.
#[derive(Debug, Default)]
pub(super) struct AckPolicy {
    quick: u32,
    /// Where the hole begins that duplicates were counted for, and how many left at once.
    hole: u64,
    at_once: u32,
    held: u32,
    /// The tick in which data arrived last.
    last: Option<u64>,
    /// Data was answered in time, so that an answer may take the next acknowledgement with it.
    interactive: bool,
    /// How long an acknowledgement may be delayed, in ticks: from `least` on, by how far apart data arrives.
    least: u64,
    delay: u64,
    /// Smoothed round trip and retransmission timeout of this end.
    round_trip: Span,
    rto: Span,
    pub(super) window: WindowGrowth,
    /// The application, if it takes time to read.
    pub(super) reader: Option<Reader>,
    /// When what is held leaves; `NEVER` if nothing is.
    pub(super) at: Time,
}

impl AckPolicy {
    /// Acknowledgements are delayed by `least` at least.
    pub(super) fn new(least: Span, window: WindowGrowth) -> Self {
        let least = ticks(least);
        Self { quick: QUICK, hole: u64::MAX, least, delay: least, window, at: Time::NEVER, ..Self::default() }
    }

    /// A segment of data arrived. After a pause longer than the retransmission timeout (of this end) the other end may
    /// have begun anew with a small window.
    #[inline(never)]
    pub(super) fn on_data(&mut self, now: Time, (srtt, rto): (Span, Span)) {
        (self.round_trip, self.rto) = (srtt, rto);
        let tick = now.0 / TICK;
        let Some(last) = self.last.replace(tick) else {
            self.quick = QUICK;
            return;
        };
        let gap = tick - last;
        if gap <= self.least / 2 {
            self.delay = self.delay / 2 + self.least / 2;
        } else if gap < self.delay {
            self.delay = (self.delay / 2 + gap).min(ticks(rto));
        } else if gap > ticks(rto) {
            self.quick = self.quick.max(QUICK);
        }
    }

    /// A segment of data arrived that may let the receive window grow.
    pub(super) fn on_room(&mut self, payload: u32, held: impl FnOnce() -> u64) {
        let grows = self.window.on_data(payload, held);
        self.quick |= u32::from(grows && !self.interactive);
    }

    /// When an acknowledgement leaves that is delayed from `now` on: no later than after a smoothed round trip, if one
    /// is known.
    pub(super) fn ack_at(&self, now: Time) -> Time {
        let srtt = self.round_trip;
        let most = if srtt == Span::ZERO { MOST_DELAY } else { (srtt.0 / TICK).clamp(self.least, MOST_DELAY) };
        expiry(now, Span(self.delay.clamp(self.least, most) * TICK))
    }

    /// A delayed acknowledgement leaves, since nothing else came.
    pub(super) fn on_delayed(&mut self) {
        self.interactive = false;
        self.delay = (self.delay * 2).min(ticks(self.rto));
    }

    /// A duplicate arrived.
    pub(super) fn on_duplicate(&mut self) {
        self.quick = self.quick.max(QUICK);
        self.delay = self.least;
        self.interactive = false;
    }

    /// This end sends data.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        self.interactive |= self.last.is_some_and(|last| now.0 / TICK - last < self.delay);
    }

    /// True if a segment with PSH is acknowledged as soon as it is read.
    pub(super) fn hears_push(&self) -> bool {
        !self.interactive
    }

    /// True if an acknowledgement may not be delayed.
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// A segment arrived out of order, `next` being expected. True if that is to be told at once.
    #[inline(never)]
    pub(super) fn on_gap(&mut self, now: Time, next: u64) -> bool {
        if self.is_quick() || self.held >= MOST_HELD {
            return true;
        }
        if self.hole != next {
            (self.hole, self.at_once) = (next, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return true;
        }
        self.held += 1;
        self.at = self.at.min(now + HELD_FOR);
        false
    }

    /// True if the acknowledgement of data in order waits until it is read.
    pub(super) fn waits_for_reader(&mut self, now: Time) -> bool {
        let quick = self.is_quick();
        let Some(reader) = self.reader.as_mut().filter(|_| !quick) else { return false };
        // A reader who has been woken takes what comes meanwhile too.
        if self.at == Time::NEVER || self.held > 0 {
            self.at = self.at.min(reader.reads(now));
        }
        true
    }

    /// An acknowledgement leaves, with a segment of data or alone. It costs a quick one if anything had arrived that no
    /// other had told of: `owed`.
    pub(super) fn on_acknowledge(&mut self, owed: bool) {
        if owed || self.held > 0 {
            if self.quick == 1 {
                self.delay = self.least;
            }
            self.quick = self.quick.saturating_sub(1);
        }
        (self.held, self.at) = (0, Time::NEVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_are_quick_then_three_of_a_hole_leave_at_once_and_the_rest_once_a_millisecond() {
        let mut policy = policy();
        for _ in 0..16 {
            assert!(policy.on_gap(Time(0), 1000));
            policy.on_acknowledge(true);
        }
        let mut told = |now, hole| {
            let told = policy.on_gap(Time(now), hole);
            if told {
                policy.on_acknowledge(true);
            }
            (told, policy.at)
        };
        for _ in 0..3 {
            assert_eq!(told(5, 1000), (true, Time::NEVER));
        }
        assert_eq!(told(7, 1000), (false, Time(1_000_007)));
        for i in 1..44 {
            assert_eq!(told(7 + i, 1000), (false, Time(1_000_007)));
        }
        assert_eq!(told(99, 1000), (true, Time::NEVER), "44 were held");
        assert!(!told(100, 1000).0);
        assert!(told(101, 2000).0, "another hole");
    }

    const MS: u64 = 1_000_000;

    /// A new policy whose window does not grow.
    fn policy() -> AckPolicy {
        AckPolicy::new(Span::from_millis(40), WindowGrowth::new(1000, 0, 0))
    }

    #[test]
    fn what_the_window_grows_with_is_told_at_once_and_costs_none_of_the_sixteen() {
        let mut policy = AckPolicy::new(Span::from_millis(40), WindowGrowth::new(1448, 128 << 10, 128 << 10));
        let told = |policy: &mut AckPolicy| {
            policy.on_room(1448, || 0);
            let quick = policy.is_quick();
            policy.on_acknowledge(true);
            quick
        };
        assert_eq!((0..100).take_while(|_| told(&mut policy)).count(), 6 + 16, "as seen");
        policy.window.on_round_trip(Span::from_millis(30));
        policy.window.on_read(Time(30 * MS), 1 + 28_960, || 0);
        // 2 × 28,960 × (1 + 2) of 128 KiB: 17 segments more, of which each is the only one that is quick.
        assert_eq!((0..100).take_while(|_| told(&mut policy)).count(), 17);
    }

    /// A policy past its quick ACKs, data having arrived at time zero; round trip 100 ms, timeout 300 ms.
    fn patient() -> AckPolicy {
        let mut policy = policy();
        policy.on_data(Time(0), (Span::from_millis(100), Span::from_millis(300)));
        (0..16).for_each(|_| policy.on_acknowledge(true));
        assert!(!policy.is_quick());
        policy
    }

    fn data(policy: &mut AckPolicy, ms: u64) {
        policy.on_data(Time(ms * MS), (Span::from_millis(100), Span::from_millis(300)));
    }

    #[test]
    fn the_delay_follows_the_gaps_of_arrivals_between_40_ms_and_the_round_trip() {
        let wait = |policy: &AckPolicy| policy.ack_at(Time(0)).0 / (4 * MS) - 1;
        let mut policy = patient();
        assert_eq!(wait(&policy), 10, "40 ms");
        policy.on_delayed();
        assert_eq!(wait(&policy), 20, "twice as long after it ran out");
        data(&mut policy, 60);
        assert_eq!((policy.delay, wait(&policy)), (25, 25), "half of it and the gap of 15 ticks, 100 ms");
        data(&mut policy, 60 + 72);
        assert_eq!((policy.delay, wait(&policy)), (30, 25), "at most the round trip");
        data(&mut policy, 60 + 72 + 20);
        assert_eq!((policy.delay, wait(&policy)), (20, 20), "a short gap: half way back");
        policy.on_delayed();
        policy.on_delayed();
        assert_eq!(policy.delay, 75, "at most the timeout");
        policy.on_duplicate();
        assert_eq!(policy.delay, 10);
        assert!(policy.is_quick());
    }

    #[test]
    fn a_pause_longer_than_the_timeout_brings_quick_acknowledgements_back() {
        for (pause, quick) in [(300, false), (304, true)] {
            let mut policy = patient();
            data(&mut policy, pause);
            assert_eq!(policy.is_quick(), quick, "{pause} ms");
        }
    }

    #[test]
    fn growth_is_told_at_once_unless_the_end_answers_until_an_acknowledgement_waited_or_a_duplicate_came() {
        let grown = |policy: &mut AckPolicy| {
            policy.quick = 0;
            policy.on_room(1448, || 0);
            policy.is_quick()
        };
        let mut policy = AckPolicy::new(Span::from_millis(40), WindowGrowth::new(1448, 4 << 20, u64::MAX));
        policy.on_sent(Time(0));
        assert!(grown(&mut policy), "nothing had come that it could answer");
        data(&mut policy, 400);
        policy.on_sent(Time(440 * MS));
        assert!(grown(&mut policy), "40 ms later is no answer");
        policy.on_sent(Time(439 * MS));
        assert!(!grown(&mut policy));
        policy.on_delayed();
        assert!(grown(&mut policy));
        policy.on_sent(Time(479 * MS));
        assert!(!grown(&mut policy), "the delay is 80 ms now");
        policy.on_duplicate();
        assert!(grown(&mut policy));
    }

    #[test]
    fn an_end_that_answers_has_no_quick_acknowledgements_and_hears_no_push_until_a_duplicate_comes() {
        let mut policy = policy();
        data(&mut policy, 0);
        assert!(policy.is_quick() && policy.hears_push());
        policy.on_sent(Time(MS));
        assert!(!policy.is_quick() && !policy.hears_push());
        assert!((0..3).all(|_| policy.on_gap(Time(2 * MS), 1000)) && !policy.on_gap(Time(2 * MS), 1000));
        policy.on_duplicate();
        assert!(policy.is_quick() && policy.hears_push());
    }

    #[test]
    fn without_a_round_trip_an_acknowledgement_waits_for_200_ms_at_most() {
        let mut policy = policy();
        policy.on_data(Time(0), (Span::ZERO, Span::from_secs(1)));
        (0..4).for_each(|_| policy.on_delayed());
        assert_eq!(policy.ack_at(Time(0)), Time(204 * MS));
    }
}
