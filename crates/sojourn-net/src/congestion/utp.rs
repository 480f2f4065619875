//! µTP: the controller of BitTorrent's transport, as its library has it.
//!
//! How it works: LEDBAT's idea with the constants of libutp.
//! - Queueing delay is the one-way delay above the smallest of thirteen minutes, from the smallest of three samples.
//! - The window moves by up to 3000 bytes a round trip, in proportion to the distance from 100 ms.
//! - Slow start runs until a loss, or until the delay is at 90 % of the target.
//! - A loss halves the window, at most once in 100 ms; a timeout leaves one segment.
//!
//! Use it when: you model BitTorrent. For the standard take `ledbat`.
//!
//! Source: libutp (BitTorrent, Inc., 2010–) after BEP 29:
//! - the window moves by at most 3000 bytes a round trip, in proportion to the distance of the queueing delay from
//!   100 ms;
//! - the delay is the smallest of three recent ones above the smallest of thirteen minutes, and never more than the
//!   round trip;
//! - slow start by a segment a window acknowledged, left at ssthresh or at 90 % of the target;
//! - a loss halves the window at most every 100 ms; a timeout leaves one segment, and slow start.
//!
//! Differences:
//! - both ends share the run's clock, so libutp's correction for drifting clocks has nothing to do;
//! - packets have one size (libutp: 373–1400 bytes, smaller at low rates);
//! - a window below one segment (10 bytes at least) lets one segment out, where libutp waits;
//! - the first window is the sender's.

use super::control::{Ack, Congestion, CongestionControl, Needs, Window};
use super::ledbat::Delays;
use super::variables::Variables;
use crate::{Span, Time};

const TARGET: Span = Span::from_millis(100);
/// Bytes that a round trip adds when there is no queue.
const GAIN: f64 = 3000.0;
const LEAST_WINDOW: f64 = 10.0;
const BASE_MINUTES: usize = 13;
const CURRENT: usize = 3;
/// Slow start ends at this part of the target.
const SLOW_START_TARGET: f64 = 0.9;
const DECAY_INTERVAL: Span = Span::from_millis(100);
/// A window that was not filled for so long does not grow.
const IDLE: Span = Span::from_secs(1);

/// µTP's congestion control.
pub struct Utp {
    mss: u64,
    /// Bytes.
    cwnd: f64,
    ssthresh: f64,
    slow_start: bool,
    delays: Delays,
    /// When the window was last filled, and when it was last halved.
    filled_at: Time,
    decayed_at: Option<Time>,
}

impl Utp {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64) -> Self {
        Self {
            mss,
            cwnd: initial as f64,
            ssthresh: f64::INFINITY,
            slow_start: true,
            delays: Delays::new(BASE_MINUTES, CURRENT),
            filled_at: Time::ZERO,
            decayed_at: None,
        }
    }

    fn update(&mut self, now: Time, delivered: u64, delay: Span) {
        let (acked, cwnd) = (delivered as f64, self.cwnd);
        let window_factor = acked.min(cwnd) / acked.max(cwnd);
        let delay_factor = 1.0 - delay.as_secs() / TARGET.as_secs();
        let mut gain = GAIN * window_factor * delay_factor;
        if now.since(self.filled_at) > IDLE {
            gain = gain.min(0.0);
        }
        let linear = (cwnd + gain).max(LEAST_WINDOW);
        if !self.slow_start {
            self.cwnd = linear;
            return;
        }
        let doubled = cwnd + window_factor * self.mss as f64;
        if doubled > self.ssthresh {
            self.slow_start = false;
        } else if delay.as_secs() > SLOW_START_TARGET * TARGET.as_secs() {
            self.slow_start = false;
            self.ssthresh = cwnd;
        } else {
            self.cwnd = doubled.max(linear);
        }
    }
}

impl CongestionControl for Utp {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if !ack.app_limited {
            self.filled_at = now;
        }
        let Some(delay) = ack.one_way else { return };
        self.delays.add(now, delay);
        let queueing = self.delays.queueing(now, Span(u64::MAX));
        self.update(now, ack.delivered, ack.rtt.map_or(queueing, |rtt| queueing.min(rtt)));
    }

    fn on_congestion(&mut self, now: Time, what: Congestion, _: u64) {
        match what {
            Congestion::Loss | Congestion::Mark => {
                if self.decayed_at.is_none_or(|at| now.since(at) >= DECAY_INTERVAL) {
                    self.decayed_at = Some(now);
                    self.cwnd = (self.cwnd / 2.0).max(LEAST_WINDOW);
                    self.ssthresh = self.cwnd;
                    self.slow_start = false;
                }
            }
            Congestion::Timeout => {
                self.cwnd = self.mss as f64;
                self.slow_start = true;
            }
        }
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart as f64);
    }

    fn window(&self) -> Window {
        let cwnd = (self.cwnd as u64).max(self.mss);
        Window { cwnd, ssthresh: if self.slow_start { self.ssthresh as u64 } else { cwnd }, pacing: None }
    }

    fn needs(&self) -> Needs {
        Needs { no_prr: true, ..Needs::default() }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        show.fractional("cwnd", &mut self.cwnd, self.mss);
        show.fractional("ssthresh", &mut self.ssthresh, self.mss);
        show.see("slow_start", &mut self.slow_start);
        self.delays.variables(show);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MSS, Path};
    use super::*;
    use crate::Rate;

    fn at(cwnd: f64) -> Utp {
        Utp { cwnd, slow_start: false, ..Utp::new(MSS, 0) }
    }

    #[test]
    fn the_window_moves_by_3000_bytes_a_round_trip_at_most() {
        for (delay_ms, want) in [(0, 3000.0), (50, 1500.0), (100, 0.0), (150, -1500.0), (300, -6000.0)] {
            let mut utp = at(20_000.0);
            utp.update(Time::ZERO, 20_000, Span::from_millis(delay_ms));
            assert!((utp.cwnd - 20_000.0 - want).abs() < 1e-6, "{delay_ms} ms: {}", utp.cwnd);
        }
        let mut utp = at(20_000.0);
        utp.update(Time::ZERO, 2000, Span::ZERO);
        assert!((utp.cwnd - 20_300.0).abs() < 1e-6, "a tenth of the window");
        utp.update(Time::ZERO, 100_000, Span::from_secs(10));
        assert!((utp.cwnd - LEAST_WINDOW).abs() < 1e-6);
        assert_eq!(utp.window().cwnd, MSS);
    }

    #[test]
    fn slow_start_ends_at_the_threshold_or_at_ninety_percent_of_the_target() {
        let mut utp = Utp::new(MSS, 2 * MSS);
        utp.update(Time::ZERO, MSS, Span::from_millis(89));
        assert!((utp.cwnd - 2500.0).abs() < 1e-6, "half a window, half a segment");
        utp.update(Time::ZERO, MSS, Span::from_millis(91));
        assert!(!utp.slow_start && (utp.ssthresh - utp.cwnd).abs() < 1e-6);
    }

    #[test]
    fn losses_halve_it_every_100_ms_at_most() {
        let mut utp = at(20_000.0);
        for (ms, want) in [(10, 10_000), (50, 10_000), (109, 10_000), (110, 5000)] {
            utp.on_congestion(Time::ZERO + Span::from_millis(ms), Congestion::Loss, 0);
            assert_eq!(utp.window().cwnd, want, "{ms} ms");
        }
        utp.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!(utp.window(), Window { cwnd: MSS, ssthresh: 5000, pacing: None });
    }

    #[test]
    fn alone_it_settles_at_its_target() {
        let mut path = Path::new(Rate(8_000_000), Span::from_millis(50), 1000);
        let mut utp = Utp::new(MSS, 2 * MSS);
        path.run(&mut utp, 20.0);
        let (share, waited) = path.run(&mut utp, 20.0);
        assert!(share > 0.99 && (90.0..110.0).contains(&waited.as_millis()), "{share}, {waited}");
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        let mut utp = at(20_000.0);
        utp.update(Time::ZERO + Span::from_millis(1001), 20_000, Span::ZERO);
        assert!((utp.cwnd - 20_000.0).abs() < 1e-6);
    }
}
