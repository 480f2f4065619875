//! Pacing: packets leave in small quanta at a rate, not as fast as the window opens.
//!
//! Source: Linux's pacing in the socket (`tcp_output.c`), by its rules: after a quantum the next one waits for as long
//! as its payload takes at the rate; a sender that is late makes up for it by at most half of each wait; the first ten
//! segments of a connection are not paced. A quantum is what the rate sends in about a millisecond, but two segments
//! at least (one below 1.2 Mbit/s if the controller itself asked for the rate) and 64 kB at most; for controllers that
//! ask for smooth sending, what it sends in 1/4096 s, one segment at least, as Linux's `tcp_prague` has it. The rate
//! of a window that has none of its own is a multiple of window / smoothed round trip: 2 while the window is below
//! half of ssthresh, 1.2 later. Retransmissions that a timer caused do not wait.

use crate::congestion::Window;
use crate::{Rate, Span, Time};

/// Whether a sender paces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// If its controller asks for it.
    #[default]
    AsAsked,
    /// Never.
    Off,
    /// Always: at a rate that follows from the window if its controller has none.
    On,
}

impl Pacing {
    /// The rate at which to send; `None` if not paced.
    #[inline]
    pub(super) fn rate(self, window: Window, srtt: Span) -> Option<Rate> {
        match self {
            Self::AsAsked => window.pacing,
            Self::Off => None,
            Self::On => window.pacing.or_else(|| from_window(window, srtt)),
        }
    }
}

#[cold]
fn from_window(Window { cwnd, ssthresh, .. }: Window, srtt: Span) -> Option<Rate> {
    if srtt == Span::ZERO {
        return None;
    }
    let percent = if cwnd < ssthresh / 2 { 200 } else { 120 };
    let bits = u128::from(cwnd) * 8 * 1_000_000_000 * percent / 100;
    Some(Rate((bits / u128::from(srtt.0)).clamp(1, u128::from(u64::MAX)) as u64))
}

/// Segments of a connection that are not paced.
const FREE_SEGMENTS: u64 = 10;
const LARGEST_QUANTUM: u64 = 64_000;
const SLOW: Rate = Rate(1_200_000);

/// When a sender may send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// When the next quantum may leave.
    pub(super) next: Time,
    /// When the present one left …
    begun: Time,
    /// … what of it is left to send at that instant …
    left: u64,
    /// … and how late it was.
    late: Span,
    /// Quanta are as small as the controller of an L4S flow wants them.
    smooth: bool,
}

impl Pacer {
    /// A pacer that has sent nothing; `smooth` if its controller asks for that.
    pub(super) fn new(smooth: bool) -> Self {
        Self { smooth, ..Self::default() }
    }

    /// True if nothing may leave at `now`.
    pub(super) fn holds(&self, now: Time) -> bool {
        now < self.next && (now != self.begun || self.left == 0)
    }

    /// A segment of `bytes` leaves at `now`, as number `segments` of its connection.
    #[inline(never)]
    pub(super) fn sent(&mut self, now: Time, bytes: u64, mss: u64, rate: Rate, asked: bool, segments: u64) {
        if segments <= FREE_SEGMENTS || rate.0 == 0 {
            self.next = now;
            return;
        }
        if now != self.begun || self.left == 0 {
            let least = if self.smooth || (asked && rate < SLOW) { 1 } else { 2 };
            let parts = if self.smooth { 4096 } else { 1024 };
            let quantum = (rate.0 / 8 / parts).min(LARGEST_QUANTUM) / mss;
            (self.begun, self.left) = (now, quantum.max(least));
            self.late = now.since(self.next);
            self.next = self.next.max(now);
        }
        self.left -= 1;
        let wait = Span((u128::from(bytes) * 8_000_000_000 / u128::from(rate.0)).min(u128::from(u64::MAX / 4)) as u64);
        let saved = self.late.min(Span(wait.0 / 2));
        self.late = self.late - saved;
        self.next = self.next + wait - saved;
    }

    /// A timer caused a retransmission, which does not wait.
    pub(super) fn release(&mut self, now: Time) {
        self.next = self.next.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Times in microseconds at which a sender that always has something sends its segments after the tenth.
    fn departures(rate: Rate, asked: bool, count: usize) -> Vec<u64> {
        departures_of(Pacer::default(), rate, asked, count)
    }

    fn departures_of(mut pacer: Pacer, rate: Rate, asked: bool, count: usize) -> Vec<u64> {
        let (mut now, mut sent) = (Time(0), Vec::new());
        for number in 11..11 + count as u64 {
            if pacer.holds(now) {
                now = pacer.next;
            }
            pacer.sent(now, MSS, MSS, rate, asked, number);
            sent.push(now.0 / 1000);
        }
        sent
    }

    #[test]
    fn two_segments_leave_at_a_time_more_at_a_high_rate_one_at_a_low_rate_that_was_asked_for() {
        assert_eq!(departures(Rate(8_000_000), true, 6), [0, 0, 2000, 2000, 4000, 4000]);
        assert_eq!(departures(Rate(1_000_000), true, 3), [0, 8000, 16_000]);
        assert_eq!(departures(Rate(1_000_000), false, 3), [0, 0, 16_000]);
        let fast = departures(Rate(800_000_000), true, 98);
        assert_eq!((fast[63], fast[64]), (0, 640), "64 kB");
        assert_eq!(departures_of(Pacer::new(true), Rate(8_000_000), true, 3), [0, 1000, 2000], "smooth");
        let fast = departures_of(Pacer::new(true), Rate(80_000_000), true, 4);
        assert_eq!(fast, [0, 0, 200, 200], "a quarter of a millisecond");
    }

    #[test]
    fn a_late_sender_makes_up_for_half_a_wait_at_a_time() {
        let mut pacer = Pacer::default();
        let rate = Rate(8_000_000);
        pacer.sent(Time(0), MSS, MSS, rate, true, 11);
        pacer.sent(Time(0), MSS, MSS, rate, true, 12);
        assert_eq!(pacer.next, Time(2_000_000));
        pacer.sent(Time(2_600_000), MSS, MSS, rate, true, 13);
        assert!(!pacer.holds(Time(2_600_000)), "the quantum's second");
        assert_eq!(pacer.next, Time(2_600_000 + 500_000));
        pacer.sent(Time(2_600_000), MSS, MSS, rate, true, 14);
        assert_eq!(pacer.next, Time(2_600_000 + 500_000 + 900_000));
        assert!(pacer.holds(Time(2_600_000)));
    }

    #[test]
    fn the_first_ten_segments_are_free() {
        let mut pacer = Pacer::default();
        for number in 1..=10 {
            pacer.sent(Time(7), MSS, MSS, Rate(1000), true, number);
            assert!(!pacer.holds(Time(7)));
        }
    }

    #[test]
    fn the_rate_of_a_window_is_twice_or_a_fifth_above_window_per_round_trip() {
        let window = |cwnd, ssthresh| Window { cwnd, ssthresh, pacing: None };
        let srtt = Span::from_millis(100);
        assert_eq!(Pacing::On.rate(window(10_000, u64::MAX), srtt), Some(Rate(1_600_000)));
        assert_eq!(Pacing::On.rate(window(10_000, 10_000), srtt), Some(Rate(960_000)));
        assert_eq!(Pacing::On.rate(window(10_000, 10_000), Span::ZERO), None);
        let asked = Window { pacing: Some(Rate(5)), ..window(1, 1) };
        assert_eq!(
            [Pacing::On, Pacing::AsAsked, Pacing::Off].map(|p| p.rate(asked, srtt)),
            [Some(Rate(5)), Some(Rate(5)), None]
        );
    }

    #[test]
    fn a_timer_lets_the_next_segment_leave_and_a_rate_of_zero_holds_nothing() {
        let mut pacer = Pacer::default();
        (11..13).for_each(|number| pacer.sent(Time(0), MSS, MSS, Rate(8_000_000), true, number));
        assert!(pacer.holds(Time(1_999_999)));
        pacer.release(Time(5));
        assert!(!pacer.holds(Time(5)));
        pacer.sent(Time(7), MSS, MSS, Rate(0), true, 14);
        assert!(!pacer.holds(Time(7)));
    }

    #[test]
    fn the_window_is_paced_at_twice_its_rate_below_half_of_ssthresh_only() {
        let rate = |cwnd| Pacing::On.rate(Window { cwnd, ssthresh: 20_000, pacing: None }, Span::from_millis(100));
        assert_eq!([rate(9999), rate(10_000)], [Some(Rate(1_599_840)), Some(Rate(960_000))]);
    }
}
