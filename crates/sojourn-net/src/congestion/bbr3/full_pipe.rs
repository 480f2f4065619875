//! When BBR takes the pipe for full: the bandwidth stops growing, or too much of a round is lost or marked.
//!
//! Source: draft-ietf-ccwg-bbr §5.3.1.2–5.3.1.3: three rounds without a quarter more, or more than 2 % of a round lost
//! in at least six places during a recovery; as in Linux's third version, two rounds in a row of which half was
//! marked.

use super::super::control::{Ack, RateSample};
use crate::Rate;

/// Growth that counts.
const GROWTH: (u64, u64) = (5, 4);
const ROUNDS: u32 = 3;
const LOSSES: u32 = 6;
/// One lost in so many.
const LOSS_DIVISOR: u64 = 50;
const MARKED_ROUNDS: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    bandwidth: u64,
    rounds: u32,
    /// The bandwidth does not grow.
    pub(super) now: bool,
    /// It did not, once.
    pub(super) reached: bool,
    /// Of this round: acknowledgements that showed losses, and the totals at its beginning.
    losses: u32,
    delivered: u64,
    lost: u64,
    marked_rounds: u32,
}

impl FullPipe {
    pub(super) fn update(&mut self, sample: &RateSample, rate: Rate, round_start: bool) {
        if self.now || sample.app_limited {
            return;
        }
        if u128::from(rate.0) * u128::from(GROWTH.1) >= u128::from(self.bandwidth) * u128::from(GROWTH.0) {
            (self.bandwidth, self.rounds) = (rate.0, 0);
        } else if round_start {
            self.rounds += 1;
            self.now = self.rounds >= ROUNDS;
            self.reached |= self.now;
        }
    }

    /// Watches for growth from this rate on.
    pub(super) fn reset(&mut self, rate: Rate) {
        (self.bandwidth, self.rounds, self.now) = (rate.0, 0, false);
    }

    /// A round of losses and marks is over.
    pub(super) fn end_loss_round(&mut self, mostly_marked: bool) {
        self.marked_rounds = if mostly_marked { self.marked_rounds + 1 } else { 0 };
    }

    /// True if losses or marks show that the pipe is full; asked on each acknowledgement of STARTUP.
    pub(super) fn is_lossy(&mut self, ack: &Ack, lost: u64, round_start: bool) -> bool {
        self.losses += u32::from(lost > 0);
        if !round_start {
            return false;
        }
        let lost = ack.total_lost - self.lost;
        let all = ack.total_delivered - self.delivered + lost;
        let lossy = ack.recovering && self.losses >= LOSSES && lost * LOSS_DIVISOR > all;
        (self.losses, self.lost, self.delivered) = (0, ack.total_lost, ack.total_delivered);
        let full = lossy || self.marked_rounds >= MARKED_ROUNDS;
        self.reached |= full;
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn three_rounds_without_a_quarter_more() {
        let sample = RateSample {
            delivered: 1,
            interval: Span(1),
            prior_delivered: 0,
            lost: 0,
            tx_in_flight: 1,
            app_limited: false,
        };
        let mut full = FullPipe::default();
        let seen = [100, 125, 156, 157, 190, 190, 190].map(|rate| {
            full.update(&sample, Rate(rate), true);
            full.reached
        });
        assert_eq!(seen, [false, false, false, false, false, false, true]);
        full.reset(Rate(100));
        assert!(full.reached && !full.now);
    }

    #[test]
    fn six_losses_of_more_than_two_percent_in_a_recovery() {
        for (losses, lost, recovering, want) in
            [(6, 3, true, true), (5, 3, true, false), (6, 2, true, false), (6, 3, false, false)]
        {
            let mut full = FullPipe::default();
            let mut ack = Ack { recovering, total_delivered: 98, total_lost: 0, ..Ack::of(1, Span(1)) };
            for _ in 0..losses {
                assert!(!full.is_lossy(&ack, 1, false));
            }
            ack.total_lost = lost;
            assert_eq!(full.is_lossy(&ack, 0, true), want, "{losses} losses, {lost} lost");
        }
    }
}
