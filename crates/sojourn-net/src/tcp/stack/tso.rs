//! How many segments of new data leave at once: TSO autosizing, and what waits so that as many can.
//!
//! Source: Linux's `tcp_output.c` (6.18): `tcp_tso_autosize`, `tcp_cwnd_test`, `tcp_tso_should_defer`, and
//! `tcp_update_pacing_rate` of `tcp_input.c`. A super-segment holds what a millisecond of the pacing rate carries (the
//! rate is reckoned also where nothing is paced: 1.2 windows in a smoothed round trip, 2 in early slow start), more in
//! the least round trips of data centres, two segments at least, half a window at most; it waits up to a millisecond
//! for the room. Its last segment carries PSH. At 16 Mb/s it is a pair, at 100 Mb/s nine.
//! Differences: a paced sender sends pairs at any rate; the rate is reckoned when it is needed, not at each ACK.

use crate::{Span, Time};

/// A sender waits for room this long after it last sent, and for an acknowledgement that is expected within this.
const DEFERRED_FOR: Span = Span::from_millis(1);
/// The pacing rate is shifted by so much for what a super-segment holds (`sk_pacing_shift`): 1/1024 s of it.
const PACING_SHIFT: u32 = 10;
/// A least round trip of more than 2^9 µs halves what is added to it again and again (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// The largest super-segment (`gso_max_size`) …
const GSO_MOST: u64 = 65_536;
/// … less its headers (`MAX_TCP_HEADER` and one).
const HEADERS: u64 = 321;
/// The least, in segments (`tcp_min_tso_segs`).
const LEAST: u64 = 2;

/// What the window leaves for new data.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Room {
    /// Bytes that may still be sent.
    pub(in crate::tcp) bytes: u64,
    /// Bytes written and not yet sent.
    pub(in crate::tcp) left: u64,
    /// Nothing will be written behind them.
    pub(in crate::tcp) ends: bool,
    pub(in crate::tcp) cwnd: u64,
    pub(in crate::tcp) ssthresh: u64,
    pub(in crate::tcp) mss: u64,
    pub(in crate::tcp) srtt: Span,
    /// Zero: not measured yet.
    pub(in crate::tcp) min_rtt: Span,
    /// When the oldest outstanding segment was sent.
    pub(in crate::tcp) first_sent: Time,
    /// When anything was.
    pub(in crate::tcp) last_sent: Time,
    /// Losses are being repaired.
    pub(in crate::tcp) repairing: bool,
    pub(in crate::tcp) paced: bool,
}

impl Room {
    /// Segments of a full super-segment.
    fn goal(&self) -> u64 {
        if self.paced || self.srtt == Span::ZERO {
            return LEAST;
        }
        let percent = if self.cwnd < self.ssthresh / 2 { 200 } else { 120 };
        let halvings = (self.min_rtt.0 / 1000) >> RTT_LOG;
        let near = if self.min_rtt > Span::ZERO && halvings < 32 { GSO_MOST >> halvings } else { 0 };
        // (rate >> shift) + near, in segments: rounding down once is rounding down thrice. Windows beyond 9 GB, for
        // which 64 bits are too few, fill the largest super-segment all the same.
        let scale = self.srtt.0 << PACING_SHIFT;
        let bytes = self.cwnd.saturating_mul(percent * 10_000_000).saturating_add(near.saturating_mul(scale));
        let segment = scale.saturating_mul(self.mss);
        if bytes < segment.saturating_mul(LEAST + 1) {
            return LEAST; // As most flows have it, without a division.
        }
        let segments = bytes / segment;
        if segments.saturating_mul(self.mss) <= GSO_MOST - HEADERS {
            segments
        } else {
            ((GSO_MOST - HEADERS) / self.mss).max(LEAST)
        }
    }
}

/// The super-segment that is leaving.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tso {
    /// When it began to.
    at: Time,
    /// Its segments that follow.
    left: u32,
}

impl Tso {
    pub(super) const fn new() -> Self {
        Self { at: Time::NEVER, left: 0 }
    }

    /// What leaves now is the last of several.
    #[inline]
    pub(super) fn is_last(&self, now: Time) -> bool {
        self.left == 1 && self.at == now
    }

    /// What leaves now is one of its segments.
    #[inline]
    pub(super) fn goes_on(&mut self, now: Time) -> bool {
        let goes_on = self.left > 0 && self.at == now;
        self.left -= u32::from(goes_on);
        goes_on
    }

    /// New data that fits the window and [goes on](Self::goes_on) nothing waits, so that more leaves at once; if not, a
    /// super-segment begins.
    #[inline]
    pub(super) fn should_defer(&mut self, now: Time, room: &Room) -> bool {
        let Room { bytes, left, ends, cwnd, mss, srtt, first_sent, last_sent, repairing, .. } = *room;
        let full = room.goal();
        let whole = bytes >= full * mss || bytes >= cwnd / 3 || left < 2 * mss || (ends && bytes >= left);
        let near = DEFERRED_FOR.min(Span(srtt.0 / 2));
        if !whole && !repairing && now.since(last_sent) <= DEFERRED_FOR && first_sent + srtt <= now + near {
            return true;
        }
        // Never more than half a window at once.
        let most = bytes.min(cwnd / 2).min(left);
        let segments = if most >= full * mss { full } else { most / mss };
        *self = Self { at: now, left: segments.saturating_sub(1) as u32 };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Room for one segment of ten; the last left half a millisecond ago, and the oldest is about to be acknowledged.
    fn room() -> Room {
        Room {
            bytes: 1000,
            left: 50_000,
            ends: false,
            cwnd: 10_000,
            ssthresh: 10_000,
            mss: 1000,
            srtt: Span::from_millis(100),
            min_rtt: Span::from_millis(100),
            first_sent: Time(0),
            last_sent: Time(99_500_000),
            repairing: false,
            paced: false,
        }
    }

    #[test]
    fn one_segment_waits_a_millisecond_for_room_for_two() {
        let now = Time(99_900_000);
        let defers = |now, room: Room| Tso::new().should_defer(now, &room);
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
            let mut tso = Tso::new();
            assert!(!tso.should_defer(now, &Room { bytes: 2000, cwnd, ..room() }));
            assert_eq!(tso.is_last(now), pairs);
            // With room for one left, the second of a pair leaves, any other waits.
            assert_eq!(tso.goes_on(now), pairs);
            assert!(tso.should_defer(now, &room()));
            assert!(!tso.is_last(now));
        }
    }

    /// 100 Mb/s and 20 ms, 13 ms of queue: 287 segments of 1448 bytes.
    fn fast() -> Room {
        let (mss, srtt) = (1448, Span::from_millis(33));
        Room { bytes: 13_000, left: u64::MAX, cwnd: 287 * mss, mss, srtt, min_rtt: Span::from_millis(20), ..room() }
    }

    #[test]
    fn a_super_segment_holds_a_millisecond_of_the_pacing_rate() {
        // 287 · 1448 · 1.2 / 33 ms = 15.1 MB/s, in 1/1024 s 14.8 kB: ten segments. Twice the window: 24.6 kB, 17.
        let slow_start = Room { ssthresh: u64::MAX, ..fast() };
        assert_eq!((fast().goal(), slow_start.goal()), (10, 16));
        assert_eq!(Room { min_rtt: Span::ZERO, ..fast() }.goal(), 10, "how near the receiver is, is not known yet");
        assert_eq!(Room { paced: true, ..fast() }.goal(), 2);
        // 16 Mb/s: 2.34 kB, and never less than two.
        assert_eq!(Room { cwnd: 46 * 1448, ..fast() }.goal(), 2);
        // 40 Gb/s: as much as fits.
        assert_eq!(Room { cwnd: 100_000 * 1448, ..fast() }.goal(), (65_536 - 321) / 1448);
        // Least round trips of 2 ms (>> 9: 3) and of 9 ms (17): 65536 / 8 more, and none.
        let near = |ms| Room { min_rtt: Span::from_millis(ms), ..fast() }.goal();
        assert_eq!((near(2), near(9)), ((14_757 + 8192) / 1448, 10));
    }

    #[test]
    fn one_division_is_as_linuxs_three() {
        for (cwnd, us, near_us) in (2..400).flat_map(|n| [(n, 1777, 300), (n, 33_333, 8191), (n * n, 20_011, 20_000)]) {
            let (cwnd, srtt, min_rtt) = (cwnd * 1448 + 7, Span(us * 1000), Span(near_us * 1000));
            let near = if near_us < 20_000 { GSO_MOST >> (near_us >> RTT_LOG) } else { 0 };
            let bytes = ((cwnd * 1_200_000_000 / srtt.0) >> PACING_SHIFT) + near;
            let goal = Room { cwnd, ssthresh: 0, srtt, min_rtt, ..fast() }.goal();
            assert_eq!(goal, (bytes.min(GSO_MOST - HEADERS) / 1448).max(LEAST), "{cwnd} {us} {near_us}");
        }
    }

    #[test]
    fn room_for_nine_waits_for_a_tenth_and_ten_leave_together() {
        let now = Time(33_000_000);
        let fast = || Room { first_sent: Time(0), last_sent: Time(32_500_000), ..fast() };
        let mut tso = Tso::new();
        assert!(tso.should_defer(now, &fast()));
        assert!(!tso.should_defer(now, &Room { repairing: true, ..fast() }), "repairs do not wait");
        let mut tso = Tso::new();
        let ten = || Room { bytes: 14_480, ..fast() };
        assert!(!tso.should_defer(now, &ten()));
        for _ in 0..8 {
            assert!(!tso.is_last(now));
            assert!(tso.goes_on(now));
        }
        assert!(tso.is_last(now));
        assert!(tso.goes_on(now));
        assert!(!tso.goes_on(now) && tso.should_defer(now, &fast()), "the next one waits");
        // All that is left, and nothing behind it, has no reason to wait.
        assert!(!Tso::new().should_defer(now, &Room { left: 5000, ends: true, ..fast() }));
        assert!(Tso::new().should_defer(now, &Room { left: 5000, ..fast() }));
    }
}
