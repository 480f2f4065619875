//! LEDBAT: a background transport that keeps its own queueing delay at a target.
//!
//! How it works: The one-way delay of every segment is measured by timestamps.
//! - Base delay: the smallest of the last ten minutes; what lies above it is queueing delay.
//! - The window moves in proportion to (target − queueing delay) / target, by at most one segment a round trip.
//! - Above the target it shrinks: so it yields to TCP, whose queue is usually longer than the target.
//! - A loss halves the window, once a round trip; a timeout leaves one segment.
//!
//! Use it when: you want bulk transfers that should not be noticed (updates, backups, BitTorrent). In queues kept
//! shorter than the target by an AQM it never sees its target, and competes as Reno does.
//!
//! Source: RFC 6817 (2012) §2.4.2 with GAIN 1 unless told otherwise, ALLOWED_INCREASE 1, MIN_CWND 2, a base of ten
//! one-minute minima (§3.4) and a filter of the smallest of four recent delays (§3.4.2). The delay is one-way: the
//! stamp of the acknowledgement less the stamp that it echoes (both ends share the run's clock), so it contains the
//! time that the receiver held the acknowledgement back. Differences:
//! - the first window is the sender's `initial` one (the RFC says 2 segments);
//! - no slow start, neither at first nor after a timeout (the RFC leaves that open);
//! - the timer is TCP's, not the RFC's CTO.

use super::control::{Ack, Congestion, CongestionControl, Window};
use super::variables::Variables;
use crate::{Span, Time};
use std::collections::VecDeque;

/// Segments that the window may exceed what is in flight.
const ALLOWED_INCREASE: u64 = 1;
/// Least window in segments, but for one after a timeout.
pub(super) const MIN_CWND: u64 = 2;
const BASE_INTERVAL: Span = Span::from_secs(60);
/// Intervals of the base, and recent delays of which the least counts.
pub(super) const BASE_MINUTES: usize = 10;
pub(super) const CURRENT: usize = 4;

/// What delays say about the queue.
#[derive(Debug)]
pub(super) struct Delays {
    /// How many intervals and how many recent delays are kept.
    intervals: usize,
    recent: usize,
    /// Smallest delay of each of the last intervals, the present one last.
    base: VecDeque<Span>,
    /// The number of the present interval.
    interval: u64,
    /// The last delays and when they were measured.
    current: VecDeque<(Time, Span)>,
}

impl Delays {
    /// Keeps the minima of `intervals` minutes, and `recent` delays.
    pub(super) fn new(intervals: usize, recent: usize) -> Self {
        Self { intervals, recent, base: VecDeque::new(), interval: 0, current: VecDeque::new() }
    }

    pub(super) fn add(&mut self, now: Time, delay: Span) {
        let interval = now.0 / BASE_INTERVAL.0;
        match self.base.back_mut() {
            Some(least) if interval == self.interval => *least = delay.min(*least),
            _ => self.base.push_back(delay),
        }
        self.interval = interval;
        if self.base.len() > self.intervals {
            self.base.pop_front();
        }
        if self.current.len() == self.recent {
            self.current.pop_front();
        }
        self.current.push_back((now, delay));
    }

    /// The delay above the base: the least of the last few, but of none older than a round trip.
    pub(super) fn queueing(&self, now: Time, rtt: Span) -> Span {
        let recent = self.current.iter().rev().enumerate().filter(|(i, (at, _))| *i == 0 || now.since(*at) <= rtt);
        let current = recent.map(|(_, (_, delay))| *delay).min().unwrap_or_default();
        current - self.base()
    }

    pub(super) fn variables(&mut self, show: &mut Variables<'_>) {
        if let Some(base) = show.asked("base_delay") {
            self.base.push_back(Span::from_secs_f64(base));
        }
        let Some((now, _)) = self.current.back() else { return };
        show.tell("base_delay", self.base().as_secs());
        show.tell("queueing", self.queueing(*now, Span(u64::MAX)).as_secs());
    }

    /// The least delay of the last intervals.
    pub(super) fn base(&self) -> Span {
        self.base.iter().copied().min().unwrap_or_default()
    }
}

/// LEDBAT congestion control.
pub struct Ledbat {
    target: Span,
    /// How many segments the window moves in a round trip at most.
    gain: f64,
    mss: u64,
    /// Congestion window in bytes.
    cwnd: f64,
    delays: Delays,
}

impl Ledbat {
    /// Starts with `initial` bytes of window and segments of `mss` bytes, aims at a queueing delay of `target`,
    /// and has a gain of 1.
    pub fn new(mss: u64, initial: u64, target: Span) -> Self {
        Self { target, gain: 1.0, mss, cwnd: initial as f64, delays: Delays::new(BASE_MINUTES, CURRENT) }
    }

    /// The same with another gain.
    pub fn with_gain(self, gain: f64) -> Self {
        Self { gain, ..self }
    }

    fn update(&mut self, queueing: Span, ack: &Ack) {
        let off = 1.0 - queueing.as_secs() / self.target.as_secs();
        let grown = self.cwnd + self.gain * off * ack.delivered as f64 * self.mss as f64 / self.cwnd;
        let allowed = ack.in_flight.saturating_add(ALLOWED_INCREASE * self.mss);
        self.cwnd = grown.min(allowed as f64).max((MIN_CWND * self.mss) as f64);
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(delay) = ack.one_way else { return };
        self.delays.add(now, delay);
        if !ack.recovering {
            self.update(self.delays.queueing(now, ack.srtt), ack);
        }
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        self.cwnd = match what {
            Congestion::Loss | Congestion::Mark => self.cwnd.min((self.cwnd / 2.0).max((MIN_CWND * self.mss) as f64)),
            Congestion::Timeout => self.mss as f64,
        };
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart as f64);
    }

    fn window(&self) -> Window {
        let cwnd = self.cwnd as u64;
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        show.fractional("cwnd", &mut self.cwnd, self.mss);
        show.tell("ssthresh", self.cwnd / self.mss as f64);
        self.delays.variables(show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Span = Span::from_millis(100);

    fn updated(target: Span, mss: u64, cwnd: f64, delivered: u64, queueing: Span, in_flight: u64) -> f64 {
        let mut ledbat = Ledbat { cwnd, ..Ledbat::new(mss, 0, target) };
        ledbat.update(queueing, &Ack { in_flight, ..Ack::of(delivered, Span::ZERO) });
        ledbat.cwnd
    }

    #[test]
    fn the_windows_of_ns_3() {
        for (queueing_ms, in_flight, want) in [(40, 8676, 8965), (120, 8676, 8579), (40, 4338, 5784)] {
            let got = updated(TARGET, 1446, 8676.0, 2892, Span::from_millis(queueing_ms), in_flight);
            assert_eq!(got as u64, want);
        }
        assert_eq!(updated(TARGET, 1446, 2892.0, 1446, Span::from_millis(300), 2892), 2892.0);
    }

    #[test]
    fn windows_move_in_proportion_to_the_distance_from_the_target() {
        for (target_ms, cwnd, acked, queueing, want) in [
            (100, 6, 2, 0.04, 6.2),
            (100, 6, 2, 0.12, 5.9333),
            (100, 10, 1, 0.1, 10.0),
            (100, 10, 1, 0.3, 9.8),
            (100, 2, 1, 0.4, 2.0),
            (25, 10, 1, 0.0, 10.1),
            (25, 10, 1, 0.0125, 10.05),
            (25, 10, 1, 0.025, 10.0),
            (25, 10, 1, 0.05, 9.9),
        ] {
            let target = Span::from_millis(target_ms);
            let queueing = Span::from_secs_f64(queueing);
            let got = updated(target, 1000, f64::from(cwnd) * 1000.0, acked * 1000, queueing, cwnd as u64 * 1000);
            assert!((got / 1000.0 - want).abs() < 1e-4, "{cwnd}, {queueing:?}: {got}");
        }
    }

    #[test]
    fn a_gain_of_ten_moves_ten_times_as_far() {
        let off = |gain: f64| {
            let mut ledbat = Ledbat { cwnd: 100_000.0, ..Ledbat::new(1000, 0, TARGET).with_gain(gain) };
            ledbat.update(Span::from_millis(150), &Ack { in_flight: 100_000, ..Ack::of(10_000, Span::ZERO) });
            ledbat.cwnd - 100_000.0
        };
        // Half of the target above it: 10 000 acknowledged bytes of 100 000 take off half of a tenth of a segment.
        assert_eq!((off(1.0), off(10.0)), (-50.0, -500.0));
    }

    #[test]
    fn the_base_is_the_least_of_ten_minutes_and_the_current_delay_the_least_of_four() {
        let mut delays = Delays::new(BASE_MINUTES, CURRENT);
        let at = |s| Time::ZERO + Span::from_secs(s);
        let ms = Span::from_millis;
        delays.add(at(0), ms(20));
        for (s, delay) in [(1, 90), (2, 70), (3, 80), (4, 85)] {
            delays.add(at(s), ms(delay));
        }
        assert_eq!(delays.queueing(at(4), Span::from_secs(10)), ms(50));
        assert_eq!(
            delays.queueing(at(4), Span::from_secs(1)),
            ms(60),
            "what is older than a round trip does not count"
        );
        assert_eq!(delays.queueing(at(9), Span::from_secs(1)), ms(65), "but the latest does");
        for minute in 1..=9 {
            delays.add(at(60 * minute), ms(60));
        }
        assert_eq!(delays.queueing(at(540), ms(1)), ms(40));
        delays.add(at(600), ms(60));
        assert_eq!(delays.queueing(at(600), ms(1)), Span::ZERO, "the first minute is forgotten");
    }

    #[test]
    fn a_loss_halves_the_window_and_a_timeout_leaves_one_segment() {
        let mut ledbat = Ledbat::new(1000, 10_000, TARGET);
        for want in [5000, 2500, 2000, 2000] {
            ledbat.on_congestion(Time::ZERO, Congestion::Loss, 0);
            assert_eq!(ledbat.window().cwnd, want);
        }
        ledbat.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!(ledbat.window().cwnd, 1000);
        ledbat.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!(ledbat.window().cwnd, 1000);
    }
}
