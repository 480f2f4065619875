//! Compound TCP: Reno's window plus one that grows fast while there is no queue.
//!
//! How it works: The sender may have cwnd + dwnd in flight.
//! - The loss window `cwnd` is Reno's: one segment more a round trip, halved by a loss.
//! - The delay window `dwnd` grows by α·window^k − 1 segments a round trip while fewer than γ segments are queued.
//! - Segments queued are estimated as in TCP Vegas: window · (1 − smallest RTT / RTT).
//! - With γ or more queued, `dwnd` shrinks by ζ segments for each; at zero the flow is plain Reno.
//! - A loss reduces the sum as Reno would.
//!
//! Use it when: you model Windows servers before 2017, or mixes of loss-based and delay-based flows.
//!
//! Source: draft-sridharan-tcpm-ctcp-02 (2008): window = cwnd + dwnd; cwnd grows by a segment a round trip, dwnd by
//! α·window^k − 1 while fewer than γ segments are queued, and shrinks by ζ segments for each that is queued beyond
//! that. Segments queued are estimated as in TCP Vegas from the smallest round-trip time of each round, and only from
//! more than two samples, as ns-2's module does. [`Arithmetic::Linux`] is that module's: queue and growth rounded
//! down to whole segments, which makes both windows grow more slowly. Differences: γ is 30 (the draft adapts it
//! between 5 and 30, ns-2's module does not); no least window is asked for, since α·window^k − 1 is positive only
//! beyond 16 segments.

use super::control::{Ack, Congestion, CongestionControl, Round, Window};
use super::reno::{Counting, Reno};
use super::variables::Variables;
use crate::{Span, Time};

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
const K: f64 = 0.75;
const GAMMA: f64 = 30.0;
const ZETA: f64 = 1.0;
/// Fewer samples than this say nothing about a round.
const LEAST_SAMPLES: u32 = 3;

/// How windows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// In fractions of segments, as the draft writes it.
    Exact,
    /// In whole segments, as Linux's and ns-2's module does.
    Linux,
}

/// Compound TCP congestion control.
pub struct Compound {
    arithmetic: Arithmetic,
    mss: u64,
    /// The loss-based window …
    reno: Reno,
    /// … and the delay-based one, in segments.
    dwnd: f64,
    round: Round,
    /// Of this round: its smallest round-trip time, and how many were measured.
    rtt: Span,
    samples: u32,
    /// Segments queued, as last estimated.
    diff: f64,
}

impl Compound {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64, arithmetic: Arithmetic) -> Self {
        Self {
            arithmetic,
            mss,
            reno: Reno::new(mss, initial, Counting::Bytes),
            dwnd: 0.0,
            round: Round::default(),
            rtt: Span(u64::MAX),
            samples: 0,
            diff: 0.0,
        }
    }

    fn segments(&self) -> f64 {
        self.reno.cwnd as f64 / self.mss as f64 + self.dwnd
    }

    fn delay_window(&self) -> u64 {
        (self.dwnd * self.mss as f64) as u64
    }

    fn total(&self) -> u64 {
        self.reno.cwnd + self.delay_window()
    }

    /// The end of a round whose shortest round trip was `rtt`.
    fn adapt(&mut self, base: Span, rtt: Span) {
        let window = self.segments();
        let rounded = |x: f64| if self.arithmetic == Arithmetic::Linux { x.floor() } else { x };
        let queued = rounded(window * (1.0 - base.as_secs() / rtt.as_secs()));
        self.diff = queued;
        if queued < GAMMA {
            self.dwnd += (rounded(ALPHA * libm::pow(window, K)) - 1.0).max(0.0);
        } else {
            self.dwnd = (self.dwnd - ZETA * queued).max(0.0);
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt = self.rtt.min(rtt);
            self.samples += 1;
        }
        if self.round.ends(ack) {
            let usable = self.samples >= LEAST_SAMPLES && !ack.recovering && !ack.app_limited;
            if usable && self.reno.cwnd >= self.reno.ssthresh {
                self.adapt(ack.min_rtt, self.rtt);
            }
            (self.rtt, self.samples) = (Span(u64::MAX), 0);
        }
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, _: Time, ack: &Ack) {
        // The window that this acknowledgement is part of.
        let delay_window = self.delay_window();
        self.observe(ack);
        if ack.recovering || ack.app_limited {
            return;
        }
        self.reno.grow(ack.delivered, |cwnd| cwnd + delay_window);
    }

    fn on_congestion(&mut self, now: Time, what: Congestion, in_flight: u64) {
        match what {
            Congestion::Loss | Congestion::Mark => {
                let half = self.reno.cwnd as f64 / self.mss as f64 / 2.0;
                self.dwnd = (self.segments() * (1.0 - BETA) - half).max(0.0);
                self.reno.on_congestion(now, what, in_flight);
            }
            Congestion::Timeout => {
                let half = self.total() / 2;
                self.reno.reduce(|_| half);
                self.reno.cwnd = self.mss;
                self.dwnd = 0.0;
            }
        }
    }

    fn on_idle(&mut self, now: Time, restart: u64) {
        self.reno.on_idle(now, restart);
        self.dwnd = 0.0;
    }

    fn window(&self) -> Window {
        let ssthresh = self.reno.ssthresh.saturating_add(self.delay_window());
        Window { cwnd: self.total(), ssthresh, pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        self.reno.variables(show);
        show.see("dwnd", &mut self.dwnd);
        show.tell("diff", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(cwnd: u64, dwnd: f64) -> Compound {
        let mut compound = Compound { dwnd, ..Compound::new(MSS, cwnd * MSS, Arithmetic::Exact) };
        compound.reno.ssthresh = cwnd * MSS;
        compound
    }

    #[test]
    fn the_delay_window_follows_the_queue() {
        for (cwnd, dwnd, rtt_ms, want) in
            [(20, 0.0, 100, 0.182177), (30, 5.0, 150, 5.79871), (60, 30.0, 150, 0.0), (100, 60.0, 130, 23.0769)]
        {
            let mut compound = at(cwnd, dwnd);
            compound.adapt(Span::from_millis(100), Span::from_millis(rtt_ms));
            assert!((compound.dwnd - want).abs() < 1e-4, "{cwnd} + {dwnd}: {}", compound.dwnd);
        }
    }

    #[test]
    fn whole_segments_grow_more_slowly() {
        for (cwnd, exact, whole) in [(20, 20.18, 20.0), (40, 40.99, 40.0), (50, 51.35, 51.0), (500, 512.22, 512.0)] {
            for (arithmetic, want) in [(Arithmetic::Exact, exact), (Arithmetic::Linux, whole)] {
                let mut compound = Compound { arithmetic, ..at(cwnd, 0.0) };
                compound.adapt(Span::from_millis(100), Span::from_millis(100));
                assert!((cwnd as f64 + compound.dwnd - want).abs() < 0.01, "{cwnd}: {}", compound.dwnd);
            }
        }
    }

    #[test]
    fn both_windows_grow_once_a_round() {
        let mut compound = at(30, 5.0);
        for i in 1..=71 {
            let rtt = Span::from_millis(if i % 7 == 0 { 150 } else { 160 });
            let ack = Ack { min_rtt: Span::from_millis(100), next: (i + 34) * MSS, una: i * MSS, ..Ack::of(MSS, rtt) };
            compound.on_ack(Time::ZERO, &ack);
            if i == 36 {
                assert_eq!(compound.reno.cwnd, 31 * MSS);
                assert!((compound.dwnd - 5.83711).abs() < 1e-4, "{}", compound.dwnd);
            }
        }
        assert_eq!(compound.reno.cwnd, 31 * MSS, "36.8 segments a round by now");
        assert!((6.70..6.71).contains(&compound.dwnd), "{}", compound.dwnd);
    }

    #[test]
    fn a_loss_halves_the_sum() {
        let mut compound = at(60, 40.0);
        compound.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!((compound.reno.cwnd, compound.dwnd), (30 * MSS, 20.0));
        assert_eq!(compound.window(), Window { cwnd: 50 * MSS, ssthresh: 50 * MSS, pacing: None });
    }

    #[test]
    fn a_timeout_ends_the_delay_window() {
        let mut compound = at(60, 40.0);
        compound.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!(compound.window(), Window { cwnd: MSS, ssthresh: 50 * MSS, pacing: None });
    }
}
