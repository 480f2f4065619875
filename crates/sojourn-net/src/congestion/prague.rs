//! TCP Prague: the scalable controller of L4S.
//!
//! How it works: DCTCP made fit for the Internet.
//! - Data carries ECT(1), which asks an L4S queue to mark early; accurate ECN feedback counts every mark.
//! - α averages the share of marked packets; a round trip with marks takes α/2 of the window.
//! - Each unmarked segment adds its share of one segment a window, whatever the state.
//! - It is paced at window / round trip, in small bursts, since an L4S queue answers bursts of a millisecond.
//! - Flows with a short round trip come to behave as if theirs were 25 ms, so that they do not starve longer ones.
//! - A loss halves the window, as in Reno.
//!
//! Use it when: you study L4S: with `dualpi2` or another queue that marks ECT(1) at a shallow threshold. Through a
//! queue that marks as for classic ECN it would win over Reno and CUBIC.
//!
//! Source: the draft draft-briscoe-iccrg-prague-congestion-control and the rules of Linux's `tcp_prague`:
//! - ECT(1) and accurate feedback; α in 2⁻²⁰, 1 at first, moved by g = 1/16 with its remainder kept; a mark takes α/2
//!   of the window; growth by a segment a window for each that arrived unmarked, whatever the state;
//! - paced at window / round trip, at twice that below half of ssthresh, in bursts of at most a quarter of a
//!   millisecond or one segment; a loss halves;
//! - flows with a round trip below 25 ms come to grow, reduce and average as if it were 25 ms: so that rates, not
//!   windows, converge.
//!
//! Differences:
//! - the change begins four rounds after slow start (Linux: 500, later versions 4), and reductions are 25 ms apart
//!   (Linux: the next round trip's end after that);
//! - the window moves in fractions of a byte (Linux: by whole segments, the rest carried over, at most one an ACK);
//! - no fallback for classic ECN queues.

use super::control::{Ack, Congestion, CongestionControl, Needs, Round, Window};
use super::reno::slow_start;
use super::variables::Variables;
use crate::{Ecn, Rate, Span, Time};

/// α = 1.
const ONE: u64 = 1 << 20;
/// log₂ of 1/g; α is kept multiplied by this, so that nothing is lost in averaging.
const SHIFT_G: u32 = 4;
const TARGET_RTT: Span = Span::from_millis(25);
/// Rounds after slow start before the round trip no longer counts.
const TRANSITION: u32 = 4;
/// Least window in segments.
const LEAST_WINDOW: u64 = 2;

/// Prague congestion control.
#[derive(Default)]
pub struct Prague {
    mss: u64,
    /// Bytes, and the part of a byte beyond.
    cwnd: u64,
    fraction: f64,
    ssthresh: u64,
    /// α × 2²⁴.
    upscaled_alpha: u64,
    saw_mark: bool,
    repairing: bool,
    round: Round,
    /// Rounds since slow start was left.
    rounds: u32,
    averaged_at: Time,
    reduced_at: Time,
    /// Bytes delivered, and of them marked, since α was last averaged.
    delivered: u64,
    marked: u64,
    srtt: Span,
    pacing: Option<Rate>,
}

impl Prague {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64) -> Self {
        Self { mss, cwnd: initial, ssthresh: u64::MAX, upscaled_alpha: ONE << SHIFT_G, ..Self::default() }
    }

    fn alpha(&self) -> u64 {
        self.upscaled_alpha >> SHIFT_G
    }

    /// The round trip is short, and no longer counts.
    fn is_rtt_independent(&self) -> bool {
        self.rounds >= TRANSITION && self.cwnd >= self.ssthresh && self.srtt < TARGET_RTT
    }

    /// Less than a target round trip has passed since `since`, where that is what counts.
    fn too_soon(&self, now: Time, since: Time) -> bool {
        self.is_rtt_independent() && now.since(since) < TARGET_RTT
    }

    /// Segments that a window adds.
    fn increase(&self) -> f64 {
        if self.is_rtt_independent() {
            let ratio = self.srtt.as_secs() / TARGET_RTT.as_secs();
            ratio * ratio
        } else {
            1.0
        }
    }

    /// Sets the window, in bytes.
    fn set_window(&mut self, cwnd: f64) {
        let cwnd = cwnd.max((LEAST_WINDOW * self.mss) as f64);
        self.cwnd = cwnd as u64;
        self.fraction = cwnd - self.cwnd as f64;
    }

    fn grow(&mut self, ack: &Ack) {
        let unmarked = ack.delivered - ack.ce_bytes.min(ack.delivered);
        if self.repairing || ack.app_limited {
            return;
        }
        let left = slow_start(&mut self.cwnd, self.ssthresh, unmarked);
        let cwnd = self.cwnd as f64 + self.fraction;
        self.set_window(cwnd + left as f64 / cwnd * self.increase() * self.mss as f64);
    }

    fn average(&mut self, now: Time) {
        if self.saw_mark {
            let share = (u128::from(self.marked) << 20) / u128::from(self.delivered.max(1));
            let kept = self.upscaled_alpha - (self.upscaled_alpha >> SHIFT_G);
            self.upscaled_alpha = (kept + share as u64).min(ONE << SHIFT_G);
            self.averaged_at = now;
        }
        (self.delivered, self.marked) = (0, 0);
        if self.cwnd >= self.ssthresh {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn pace(&mut self, ack: &Ack) {
        let bits = u128::from(self.cwnd.max(ack.left_in_flight)) * 8_000_000_000;
        let factor = if self.cwnd < self.ssthresh / 2 { 2 } else { 1 };
        self.pacing = bits.checked_div(u128::from(self.srtt.0)).map(|rate| Rate((rate * factor) as u64));
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.srtt = ack.srtt;
        self.delivered += ack.delivered;
        self.marked += ack.ce_bytes;
        self.saw_mark |= ack.ce_bytes > 0;
        self.grow(ack);
        if !self.too_soon(now, self.averaged_at) && self.round.ends(ack) {
            self.average(now);
        }
        // Senders tell of marks once a round trip, which is not when 25 ms have passed.
        if ack.ce_bytes > 0 && self.is_rtt_independent() {
            self.on_congestion(now, Congestion::Mark, ack.in_flight);
        }
        self.pace(ack);
    }

    fn on_congestion(&mut self, now: Time, what: Congestion, _: u64) {
        let cwnd = self.cwnd as f64 + self.fraction;
        match what {
            Congestion::Mark if self.too_soon(now, self.reduced_at) => return,
            Congestion::Mark => {
                self.reduced_at = now;
                self.set_window(cwnd - cwnd * self.alpha() as f64 / (2 * ONE) as f64);
            }
            Congestion::Loss | Congestion::Timeout => {
                self.repairing = true;
                self.set_window(cwnd / 2.0);
            }
        }
        self.ssthresh = self.cwnd;
        if what == Congestion::Timeout {
            (self.cwnd, self.fraction) = (self.mss, 0.0);
        }
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart);
    }

    fn on_recovered(&mut self, _: Time) {
        self.repairing = false;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh, pacing: self.pacing }
    }

    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }

    fn needs(&self) -> Needs {
        Needs { no_prr: true, fine_pacing: true, ..Needs::default() }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        if let Some(cwnd) = show.changed("cwnd", (self.cwnd as f64 + self.fraction) / self.mss as f64) {
            self.set_window(cwnd * self.mss as f64);
        }
        show.window("ssthresh", &mut self.ssthresh, self.mss);
        if let Some(alpha) = show.changed("alpha", self.alpha() as f64) {
            self.upscaled_alpha = (alpha as u64).min(ONE) << SHIFT_G;
        }
        show.see("rounds", &mut self.rounds);
        show.tell("increase", self.increase());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MSS, Path};
    use super::*;

    fn at(segments: u64, rtt_ms: u64) -> Prague {
        let mut prague = Prague::new(MSS, segments * MSS);
        prague.ssthresh = segments * MSS;
        prague.srtt = Span::from_millis(rtt_ms);
        prague
    }

    /// Windows of `segments` ACKs a round, none of them marked.
    fn rounds(prague: &mut Prague, rounds: u64, rtt_ms: u64) {
        let mut una = 0;
        for round in 0..rounds {
            for _ in 0..prague.cwnd / MSS {
                una += MSS;
                let now = Time::ZERO + Span::from_millis(rtt_ms * (round + 1));
                let ack =
                    Ack { una, next: una + prague.cwnd, left_in_flight: 0, ..Ack::of(MSS, Span::from_millis(rtt_ms)) };
                prague.on_ack(now, &ack);
            }
        }
    }

    #[test]
    fn alpha_keeps_what_averaging_would_round_away() {
        let mut prague = at(100, 50);
        for (marked, want) in [(10, 1 << 20), (0, 983_040), (1, 928_153), (0, 870_144)] {
            (prague.delivered, prague.marked, prague.saw_mark) = (10, marked, true);
            prague.average(Time::ZERO);
            assert_eq!(prague.alpha(), want);
        }
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        let mut prague = at(100, 50);
        prague.upscaled_alpha = (ONE / 10) << SHIFT_G;
        prague.on_congestion(Time::ZERO, Congestion::Mark, 0);
        assert!((prague.cwnd as f64 / MSS as f64 - 95.0).abs() < 0.01, "{}", prague.cwnd);
        prague.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert!((prague.cwnd as f64 / MSS as f64 - 47.5).abs() < 0.01, "{}", prague.cwnd);
    }

    #[test]
    fn short_round_trips_come_to_grow_as_if_they_took_25_ms() {
        for (rtt_ms, grown) in [(5, 0.04), (10, 0.16), (25, 1.0), (50, 1.0)] {
            let mut prague = at(100, rtt_ms);
            prague.rounds = TRANSITION;
            rounds(&mut prague, 10, rtt_ms);
            let got = (prague.cwnd as f64 + prague.fraction) / MSS as f64 - 100.0;
            assert!((got / 10.0 - grown).abs() < 0.05 * grown, "{rtt_ms} ms: {got} in ten rounds");
        }
    }

    #[test]
    fn marks_are_averaged_every_25_ms_where_round_trips_are_shorter() {
        let mut prague = Prague::new(MSS, 100 * MSS);
        let acknowledge = |prague: &mut Prague, round: u64, ce_bytes: u64| {
            let una = (round + 1) * MSS;
            let now = Time::ZERO + Span::from_millis(5 * round);
            let ack = Ack { una, next: una, left_in_flight: 0, ce_bytes, ..Ack::of(MSS, Span::from_millis(5)) };
            prague.on_ack(now, &ack);
        };
        // A first mark, in slow start; from then on α falls whenever it is averaged.
        acknowledge(&mut prague, 0, MSS);
        (prague.cwnd, prague.ssthresh, prague.rounds) = (100 * MSS, 100 * MSS, 4);
        let mut averaged = Vec::new();
        for round in 1..=20 {
            let before = prague.alpha();
            acknowledge(&mut prague, round, 0);
            if prague.alpha() < before {
                averaged.push(5 * round);
            }
        }
        assert_eq!(averaged, [25, 50, 75, 100]);
    }

    #[test]
    fn it_paces_its_window_over_a_round_trip() {
        let mut prague = at(100, 50);
        rounds(&mut prague, 1, 50);
        assert!((prague.pacing.expect("it does").0 as f64 / 16.16e6 - 1.0).abs() < 0.01, "{:?}", prague.pacing);
    }

    #[test]
    fn marks_at_one_millisecond_hold_the_queue_there() {
        let mut path = Path::new(Rate(16_000_000), Span::from_millis(30), 1000);
        path.mark_above = Span::from_millis(1);
        let mut prague = Prague::new(MSS, 10 * MSS);
        path.run(&mut prague, 10.0);
        let (share, waited) = path.run(&mut prague, 20.0);
        assert!(share > 0.95 && waited < Span::from_millis(2), "{share}, {waited}");
    }
}
