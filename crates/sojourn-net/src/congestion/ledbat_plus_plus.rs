//! LEDBAT++: LEDBAT on round-trip times, which gives way sooner and looks at the empty path now and then.
//!
//! How it works: LEDBAT with these changes.
//! - It measures round-trip times, which need no help from the receiver; the target is 60 ms.
//! - Growth is slower than Reno's by the factor GAIN, which depends on target and base delay.
//! - Above the target the decrease is multiplicative, by half at most: so that several flows come to share equally.
//! - Slow start is slower by GAIN too, and ends at three quarters of the target.
//! - Slowdown: now and then it sends two segments a round trip only, so that the queue drains and the base is seen.
//!
//! Use it when: you model background transfers of Windows, or want LEDBAT without the advantage of late comers.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus-06 §4:
//! - round-trip instead of one-way delays;
//! - growth by GAIN = 1/min(16, ⌈2·target/base⌉) segments a round trip up to the target and beyond it a decrease in
//!   proportion to window and excess, by half at most;
//! - slow start slower by GAIN, and left at ¾ of the target;
//! - a slowdown two round trips after the first slow start, and again nine times as long after each as it took: two
//!   segments for two round trips, then slow start up to the former window.
//!
//! The draft's text was known through its implementations only. Differences: the first window is the sender's
//! `initial` one (the draft says 2 segments); a loss while the window is held at two segments halves the window to
//! return to.

use super::control::{Ack, Congestion, CongestionControl, Window};
use super::ledbat::{BASE_MINUTES, CURRENT, Delays, MIN_CWND};
use super::reno::slow_start;
use super::variables::{Variables, bytes};
use crate::{Span, Time};

/// GAIN is at least one in this.
const LEAST_GAIN: f64 = 16.0;
/// Slow start ends at this part of the target.
const SLOW_START_TARGET: f64 = 0.75;
/// Round trips before the first slowdown, and for which a slowdown holds the window down.
const SLOWDOWN_ROUND_TRIPS: u64 = 2;
/// From the end of a slowdown to the next one, in lengths of the former.
const SLOWDOWN_PERIOD: u64 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Avoidance { slowdown: Time },
    Held { since: Time, until: Time },
    Return { since: Time },
}

/// LEDBAT++ congestion control.
pub struct LedbatPlusPlus {
    target: Span,
    mss: u64,
    /// Congestion window in bytes …
    cwnd: u64,
    ssthresh: u64,
    /// … and the part of a byte beyond it.
    fraction: f64,
    phase: Phase,
    delays: Delays,
}

fn gain(target: Span, base: Span) -> f64 {
    1.0 / (2.0 * target.as_secs() / base.as_secs()).ceil().clamp(1.0, LEAST_GAIN)
}

/// Segments by which a window of `window` segments changes in a round trip, where the delay is `ratio` times its
/// target.
fn change(gain: f64, window: f64, ratio: f64) -> f64 {
    (gain - window * (ratio - 1.0).max(0.0)).max(-window / 2.0)
}

impl LedbatPlusPlus {
    /// Starts with `initial` bytes of window and segments of `mss` bytes, and aims at a queueing delay of `target`.
    pub fn new(mss: u64, initial: u64, target: Span) -> Self {
        Self {
            target,
            mss,
            cwnd: initial,
            ssthresh: u64::MAX,
            fraction: 0.0,
            phase: Phase::SlowStart,
            delays: Delays::new(BASE_MINUTES, CURRENT),
        }
    }

    fn least(&self) -> u64 {
        MIN_CWND * self.mss
    }

    fn next_phase(&mut self, now: Time, rtt: Span, ratio: f64) {
        let wait = rtt * SLOWDOWN_ROUND_TRIPS;
        let risen = self.cwnd >= self.ssthresh;
        self.phase = match self.phase {
            Phase::SlowStart if risen || ratio > SLOW_START_TARGET => Phase::Avoidance { slowdown: now + wait },
            Phase::Avoidance { slowdown } if now >= slowdown => {
                self.ssthresh = self.cwnd;
                self.cwnd = self.least();
                Phase::Held { since: now, until: now + wait }
            }
            Phase::Held { since, until } if now >= until => Phase::Return { since },
            Phase::Return { since } if risen => Phase::Avoidance { slowdown: now + now.since(since) * SLOWDOWN_PERIOD },
            same => same,
        };
    }

    /// Changes the window by so many bytes.
    fn add(&mut self, bytes: f64) {
        let new = (self.cwnd as f64 + self.fraction + bytes).max(self.least() as f64);
        self.cwnd = new as u64;
        self.fraction = new - self.cwnd as f64;
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.delays.add(now, rtt);
        if ack.recovering {
            return;
        }
        let ratio = self.delays.queueing(now, ack.srtt).as_secs() / self.target.as_secs();
        self.next_phase(now, ack.srtt, ratio);
        let gain = gain(self.target, self.delays.base());
        match self.phase {
            Phase::SlowStart | Phase::Return { .. } if !ack.app_limited => {
                slow_start(&mut self.cwnd, self.ssthresh, (gain * ack.delivered as f64) as u64);
            }
            Phase::Avoidance { .. } => {
                let change = change(gain, self.cwnd as f64 / self.mss as f64, ratio);
                if change < 0.0 || !ack.app_limited {
                    self.add(change * self.mss as f64 * ack.delivered as f64 / self.cwnd as f64);
                }
            }
            _ => {}
        }
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        let held = matches!(self.phase, Phase::Held { .. });
        self.ssthresh = (if held { self.ssthresh } else { self.cwnd } / 2).max(self.least());
        match what {
            Congestion::Loss | Congestion::Mark => self.cwnd = self.cwnd.min(self.ssthresh),
            Congestion::Timeout => {
                self.cwnd = self.mss;
                self.phase = Phase::SlowStart;
            }
        }
        self.fraction = 0.0;
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart);
    }

    fn window(&self) -> Window {
        let ssthresh = match self.phase {
            Phase::SlowStart | Phase::Return { .. } => self.ssthresh,
            Phase::Avoidance { .. } | Phase::Held { .. } => self.cwnd,
        };
        Window { cwnd: self.cwnd, ssthresh, pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        if let Some(cwnd) = show.changed("cwnd", (self.cwnd as f64 + self.fraction) / self.mss as f64) {
            self.cwnd = bytes(cwnd, self.mss);
        }
        show.window("ssthresh", &mut self.ssthresh, self.mss);
        let phase = match self.phase {
            Phase::SlowStart => 0.0,
            Phase::Avoidance { .. } => 1.0,
            Phase::Held { .. } => 2.0,
            Phase::Return { .. } => 3.0,
        };
        show.tell("phase", phase);
        self.delays.variables(show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const TARGET: Span = Span::from_millis(60);

    #[test]
    fn the_gain_falls_with_the_path() {
        for (base_us, divisor) in
            [(1000, 16.0), (7500, 16.0), (8000, 15.0), (20_000, 6.0), (60_000, 2.0), (120_000, 1.0), (200_000, 1.0)]
        {
            assert_eq!(gain(TARGET, Span(base_us * 1000)), 1.0 / divisor, "{base_us} µs");
        }
    }

    #[test]
    fn growth_is_steady_up_to_the_target_and_shrinking_in_proportion_beyond() {
        let gain = 1.0 / 6.0;
        for (ratio, want) in
            [(0.0, gain), (0.5, gain), (1.0, gain), (1.1, gain - 10.0), (1.5, -50.0 + gain), (10.0, -50.0)]
        {
            assert!((change(gain, 100.0, ratio) - want).abs() < 1e-9, "{ratio}");
        }
    }

    fn hear(control: &mut LedbatPlusPlus, at_ms: u64, rtt_ms: u64) {
        control.on_ack(Time::ZERO + Span::from_millis(at_ms), &Ack::of(MSS, Span::from_millis(rtt_ms)));
    }

    #[test]
    fn slow_start_ends_at_three_quarters_of_the_target() {
        let mut control = LedbatPlusPlus::new(MSS, 16 * MSS, TARGET);
        hear(&mut control, 0, 20);
        assert_eq!(control.cwnd, 16 * MSS + MSS / 6, "a sixth of what Reno adds");
        hear(&mut control, 100, 50);
        assert_eq!(control.phase, Phase::SlowStart);
        hear(&mut control, 200, 68);
        assert_eq!(control.phase, Phase::Avoidance { slowdown: Time(336_000_000) });
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time() {
        let mut control = LedbatPlusPlus::new(MSS, 64 * MSS, TARGET);
        control.phase = Phase::Avoidance { slowdown: Time::ZERO + Span::from_millis(40) };
        hear(&mut control, 20, 120);
        assert!(control.cwnd > 64 * MSS);
        let before = control.cwnd;
        hear(&mut control, 40, 120);
        assert_eq!(control.window(), Window { cwnd: 2 * MSS, ssthresh: 2 * MSS, pacing: None });
        assert_eq!(control.ssthresh, before);
        hear(&mut control, 279, 120);
        assert_eq!(control.cwnd, 2 * MSS, "held for two round trips");
        let mut at = 280;
        while control.cwnd < before {
            hear(&mut control, at, 120);
            at += 1;
        }
        hear(&mut control, at, 120);
        let took = at - 40;
        assert_eq!(control.phase, Phase::Avoidance { slowdown: Time((at + 9 * took) * 1_000_000) });
    }

    #[test]
    fn a_loss_halves_the_window_or_what_it_will_return_to() {
        let mut control = LedbatPlusPlus::new(MSS, 64 * MSS, TARGET);
        control.phase = Phase::Avoidance { slowdown: Time::ZERO };
        control.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!(control.cwnd, 32 * MSS);
        hear(&mut control, 0, 20);
        assert_eq!((control.cwnd, control.ssthresh), (2 * MSS, 32 * MSS));
        control.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!((control.cwnd, control.ssthresh), (2 * MSS, 16 * MSS));
        control.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!((control.window().cwnd, control.phase), (MSS, Phase::SlowStart));
    }
}
