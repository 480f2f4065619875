//! What losses and marks bound: BBR's short-term and long-term limits.
//!
//! Source: draft-ietf-ccwg-bbr §5.5.6–5.5.10: bandwidth and flight fall to 0.7 of what they were, or to what was
//! delivered, in each round with a loss outside of probing, and are freed by the next probe; the most that may be in
//! flight is what was in flight when 2 % of it were lost, less 15 % between probes. ECN as in Linux's third version:
//! flight falls by a third of α, the averaged share of marks; a flight of which half was marked was too high.
//! Difference: ECN counts at all round-trip times (Linux: up to 5 ms).

use super::super::control::{Ack, RateSample};
use super::super::variables::Variables;
use crate::{Rate, with_defaults};

/// What a bound falls to at a loss.
const BETA: (u64, u64) = (7, 10);
const LOSS_PERCENT: u64 = 2;
const HEADROOM_PERCENT: u64 = 15;
/// One in so many marked is too many.
const ECN_THRESHOLD: u64 = 2;
const ECN_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
/// Doublings of the slope at which the long-term bound is raised.
const MOST_UP_ROUNDS: u32 = 30;
pub(super) const NONE: u64 = u64::MAX;

/// `value` × 0.7.
pub(super) fn beta(value: u64) -> u64 {
    (u128::from(value) * u128::from(BETA.0) / u128::from(BETA.1)) as u64
}

with_defaults! {
    /// The bounds, in bytes and bit/s; [`NONE`] is no bound.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Bounds {
        /// Long-term: the most that was in flight without too much loss.
        pub(super) inflight_hi: u64 = NONE,
        /// Short-term.
        pub(super) inflight_lo: u64 = NONE,
        pub(super) bw_lo: u64 = NONE,
        /// The best of this round.
        bw_latest: u64,
        pub(super) inflight_latest: u64,
        loss_in_round: bool,
        /// Of this round.
        delivered: u64,
        marked: u64,
        pub(super) ecn_alpha: f64 = 1.0,
        mark_in_round: bool,
        /// Bytes acknowledged for one more segment in the long-term bound, those so far, and for how many rounds.
        up_cost: u64 = NONE,
        up_acked: u64,
        up_rounds: u32,
    }
}

impl Bounds {
    /// Hears of an acknowledgement that shows `lost` bytes to be lost.
    pub(super) fn observe(&mut self, ack: &Ack, sample: &RateSample, rate: Rate, lost: u64) {
        self.bw_latest = self.bw_latest.max(rate.0);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_in_round |= lost > 0;
        self.mark_in_round |= ack.ce_bytes > 0;
        self.delivered += ack.delivered;
        self.marked += ack.ce_bytes;
    }

    /// A round is over: adapts the short-term bounds unless the flow is `probing`. Then begins with the news of the
    /// last acknowledgement.
    pub(super) fn end_round(&mut self, probing: bool, max_bw: u64, cwnd: u64, sample: &RateSample, rate: Rate) {
        if self.delivered > 0 {
            self.ecn_alpha += ECN_GAIN * (self.marked as f64 / self.delivered as f64 - self.ecn_alpha);
        }
        if !probing && (self.loss_in_round || self.mark_in_round) {
            let inflight = if self.inflight_lo == NONE { cwnd } else { self.inflight_lo };
            let mut lowered = inflight;
            if self.loss_in_round {
                let bw = if self.bw_lo == NONE { max_bw } else { self.bw_lo };
                self.bw_lo = beta(bw).max(self.bw_latest);
                lowered = beta(inflight).max(self.inflight_latest);
            }
            if self.mark_in_round {
                lowered = lowered.min((inflight as f64 * (1.0 - self.ecn_alpha * ECN_FACTOR)) as u64);
            }
            self.inflight_lo = lowered;
        }
        self.start_round();
        (self.bw_latest, self.inflight_latest) = (rate.0, sample.delivered);
    }

    pub(super) fn variables(&mut self, mss: u64, show: &mut Variables<'_>) {
        show.window("inflight_hi", &mut self.inflight_hi, mss);
        show.window("inflight_lo", &mut self.inflight_lo, mss);
        show.tell("bw_lo", if self.bw_lo == NONE { f64::INFINITY } else { self.bw_lo as f64 });
        show.see("ecn_alpha", &mut self.ecn_alpha);
    }

    /// Forgets what this round saw.
    pub(super) fn start_round(&mut self) {
        (self.bw_latest, self.inflight_latest) = (0, 0);
        (self.loss_in_round, self.mark_in_round) = (false, false);
        (self.delivered, self.marked) = (0, 0);
    }

    /// Half of what arrived in this round was marked.
    pub(super) fn is_mostly_marked(&self) -> bool {
        self.marked > 0 && self.marked * ECN_THRESHOLD >= self.delivered
    }

    /// Probing begins: the short-term bounds no longer hold.
    pub(super) fn free(&mut self) {
        (self.bw_lo, self.inflight_lo) = (NONE, NONE);
        (self.up_rounds, self.up_acked) = (0, 0);
    }

    /// Raises the long-term bound while a window as large is used up.
    pub(super) fn probe_upward(&mut self, ack: &Ack, cwnd: u64, mss: u64, round_start: bool) {
        if ack.app_limited || cwnd < self.inflight_hi {
            return;
        }
        self.up_acked += ack.delivered;
        if self.up_acked >= self.up_cost {
            self.inflight_hi += self.up_acked / self.up_cost * mss;
            self.up_acked %= self.up_cost;
        }
        if round_start {
            self.raise_slope(cwnd, mss);
        }
    }

    /// The long-term bound grows by 1, 2, 4 … segments a round.
    pub(super) fn raise_slope(&mut self, cwnd: u64, mss: u64) {
        self.up_cost = (cwnd >> self.up_rounds).max(mss);
        self.up_rounds = (self.up_rounds + 1).min(MOST_UP_ROUNDS);
    }

    pub(super) fn stop_probing(&mut self) {
        self.up_cost = NONE;
    }

    /// Room below the long-term bound for other flows.
    pub(super) fn with_headroom(&self, mss: u64, least: u64) -> u64 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let headroom = (self.inflight_hi * HEADROOM_PERCENT / 100).max(mss);
        self.inflight_hi.saturating_sub(headroom).max(least)
    }
}

/// The flight that a sample was taken in lost too much.
pub(super) fn lost_too_much(sample: &RateSample) -> bool {
    u128::from(sample.lost) * 100 > u128::from(sample.tx_in_flight) * u128::from(LOSS_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const SAMPLE: RateSample = RateSample {
        delivered: 40_000,
        interval: Span::from_millis(40),
        prior_delivered: 0,
        lost: 0,
        tx_in_flight: 50_000,
        app_limited: false,
    };

    fn round(bounds: &mut Bounds, lost: u64, marked: u64, probing: bool) {
        let ack = Ack { ce_bytes: marked, ..Ack::of(10_000, Span::from_millis(50)) };
        bounds.observe(&ack, &SAMPLE, Rate(8_000_000), lost);
        bounds.end_round(probing, 20_000_000, 100_000, &SAMPLE, Rate(8_000_000));
    }

    #[test]
    fn a_lossy_round_lowers_to_seven_tenths_or_to_what_was_delivered() {
        let mut bounds = Bounds::default();
        round(&mut bounds, 0, 0, false);
        assert_eq!((bounds.bw_lo, bounds.inflight_lo), (NONE, NONE));
        let seen = [(); 4].map(|()| {
            round(&mut bounds, 1, 0, false);
            (bounds.bw_lo, bounds.inflight_lo)
        });
        assert_eq!(seen, [(14_000_000, 70_000), (9_800_000, 49_000), (8_000_000, 40_000), (8_000_000, 40_000)]);
        round(&mut bounds, 1, 0, true);
        bounds.free();
        assert_eq!((bounds.bw_lo, bounds.inflight_lo), (NONE, NONE));
    }

    #[test]
    fn marks_lower_the_flight_by_a_third_of_alpha() {
        let mut bounds = Bounds { ecn_alpha: 1.0, ..Bounds::default() };
        round(&mut bounds, 0, 10_000, false);
        assert_eq!((bounds.bw_lo, bounds.inflight_lo), (NONE, 66_666));
        round(&mut bounds, 0, 0, false);
        assert!((bounds.ecn_alpha - 15.0 / 16.0).abs() < 1e-9);
        assert_eq!(bounds.inflight_lo, 66_666, "no marks in this one");
    }

    #[test]
    fn two_percent_lost_is_as_much_as_there_may_be() {
        assert!(!lost_too_much(&RateSample { lost: 1000, ..SAMPLE }));
        assert!(lost_too_much(&RateSample { lost: 1001, ..SAMPLE }));
    }

    #[test]
    fn the_long_term_bound_rises_ever_faster() {
        let mut bounds = Bounds { inflight_hi: 10_000, ..Bounds::default() };
        bounds.raise_slope(16_000, 1000);
        let ack = Ack::of(1000, Span::from_millis(50));
        let rises = [(); 4].map(|()| {
            let before = bounds.inflight_hi;
            for i in 0..16 {
                bounds.probe_upward(&ack, 16_000, 1000, i == 15);
            }
            (bounds.inflight_hi - before) / 1000
        });
        assert_eq!(rises, [1, 2, 4, 0], "then the window no longer fills it");
    }

    #[test]
    fn headroom_is_fifteen_percent() {
        let bounds = Bounds { inflight_hi: 100_000, ..Bounds::default() };
        assert_eq!(bounds.with_headroom(1000, 4000), 85_000);
        assert_eq!(Bounds::default().with_headroom(1000, 4000), NONE);
    }

    #[test]
    fn of_a_loss_and_a_mark_in_one_round_the_lower_bound_holds() {
        for (ecn_alpha, lowered) in [(1.0, 66_666), (0.1, 70_000)] {
            let mut bounds = Bounds { ecn_alpha, ..Bounds::default() };
            round(&mut bounds, 1, 10_000, false);
            assert_eq!((bounds.bw_lo, bounds.inflight_lo), (14_000_000, lowered), "{ecn_alpha}");
        }
    }

    #[test]
    fn a_round_is_mostly_marked_from_half_on() {
        for (delivered, marked, mostly) in [(10_000, 4999, false), (10_000, 5000, true), (3, 1, false), (1, 1, true)] {
            let mut bounds = Bounds::default();
            assert!(!bounds.is_mostly_marked(), "nothing arrived");
            let ack = Ack { ce_bytes: marked, ..Ack::of(delivered, Span::from_millis(50)) };
            bounds.observe(&ack, &SAMPLE, Rate(8_000_000), 0);
            assert_eq!(bounds.is_mostly_marked(), mostly, "{marked} of {delivered}");
            bounds.start_round();
            assert!(!bounds.is_mostly_marked());
        }
    }
}
