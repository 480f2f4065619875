//! The loss-based estimate, version 2: the rate and the inherent loss under which the losses seen are likeliest.
//!
//! Source: libwebrtc `loss_based_bwe_v2.cc` with its default settings. A packet is lost with the path's inherent loss,
//! or because more is sent than the link carries. Of a few candidates for the link's rate, each with the inherent loss
//! after one step of Newton's method, the likeliest is taken, a higher rate being preferred while the mean loss is
//! below 20 %. What arrives is the lower bound. While losses limit it, it grows to at most 1.5 times what arrives and
//! by 1.3 in 300 ms; after each decrease it holds for 300 ms, then twice as long, up to a minute.
//! Differences: all losses are final, since no report of a packet comes later than one that calls it lost.

mod observations;

use super::feedback::{LOWEST_RATE, PacketResult};
use observations::Observations;
use sojourn_net::{Span, Time, with_defaults};

const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
const FIRST_INHERENT_LOSS: f64 = 0.01;
const LEAST_INHERENT_LOSS: f64 = 1e-3;
/// Bound of the inherent loss, and of the loss that calls for an upper bound of the rate …
const LOSS_OFFSET: f64 = 0.05;
/// … both with this rate in bit/s.
const BALANCE: f64 = 100_000.0;
const NEWTON_STEP: f64 = 0.75;
const BIAS: f64 = 0.0002;
const LOG_BIAS: f64 = 0.02;
const PREFERENCE: f64 = 0.2;
const PREFERENCE_SMOOTHING: f64 = 0.002;
const RAMP_UP: f64 = 1.5;
const RAMP_UP_IN_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
const MOST_INCREASE: f64 = 1.3;
const INCREASE_WINDOW: Span = Span::from_millis(300);
const FIRST_HOLD: Span = Span::from_millis(300);
const LONGEST_HOLD: Span = Span::from_secs(60);
const LEAST_OBSERVATIONS: u32 = 3;

/// What the estimate does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Losses do not limit it.
    #[default]
    DelayBased,
    /// They do, and it falls or holds.
    Decreasing,
    /// They do, and it grows.
    Increasing,
}

/// The path as a candidate describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Channel {
    inherent_loss: f64,
    rate: f64,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Time,
    length: Span,
    rate: f64,
}

impl Hold {
    const NONE: Self = Self { until: Time::ZERO, length: FIRST_HOLD, rate: f64::INFINITY };
}

with_defaults! {
    /// The estimator.
    #[derive(Debug)]
    pub(super) struct LossBased {
        observations: Observations,
        best: Option<Channel>,
        state: State = State::DelayBased,
        rate: f64 = f64::INFINITY,
        least: f64,
        most: f64,
        arriving: Option<f64>,
        hold: Hold = Hold::NONE,
        /// When the present window of growth began, and the most in it.
        window: Option<(Time, f64)>,
    }
}

impl LossBased {
    /// Never aims at less than `least` or more than `most` bit/s.
    pub(super) fn new(least: f64, most: f64) -> Self {
        Self { least, most, ..Self::default() }
    }

    /// The estimate in bit/s and its state, once there is enough to tell.
    pub(super) fn result(&self) -> Option<(f64, State)> {
        let ready = self.best.is_some() && self.observations.count() >= LEAST_OBSERVATIONS;
        ready.then_some((self.rate, self.state))
    }

    /// The rate that arrives.
    pub(super) fn set_arriving(&mut self, rate: f64) {
        self.arriving = Some(rate);
    }

    /// Takes a report, beside the delay-based estimate.
    pub(super) fn report(&mut self, results: &[PacketResult], delay_based: f64, in_alr: bool) {
        let Some(now) = self.observations.add(results) else { return };
        let current = *self.best.get_or_insert_with(|| {
            self.rate = delay_based;
            Channel { inherent_loss: FIRST_INHERENT_LOSS, rate: delay_based }
        });
        let mut best = self.likeliest(current, delay_based, in_alr);
        let loss = self.observations.average_loss();
        if loss > best.inherent_loss && current.rate < best.rate {
            best.rate = current.rate;
        }
        if self.is_limited() {
            best.rate = self.bounded_growth(current.rate, best.rate, now);
        }
        let lower = self.arriving.unwrap_or(0.0).max(self.least);
        let upper = if loss > LOSS_OFFSET { BALANCE / (loss - LOSS_OFFSET) } else { self.most };
        let bounded = best.rate.min(upper).min(delay_based).max(lower);
        self.best = Some(if bounded < best.rate {
            Channel { inherent_loss: 0.0, rate: bounded }
        } else {
            Channel { rate: best.rate.max(lower), ..best }
        });
        self.settle(bounded, delay_based, lower, now);
    }

    /// Of the candidates, the one under which what was seen is likeliest.
    fn likeliest(&self, current: Channel, delay_based: f64, in_alr: bool) -> Channel {
        let most = self.window.filter(|_| self.is_limited()).map_or(self.most, |(_, most)| most);
        let factors = CANDIDATES.iter().map(|factor| factor * current.rate);
        let arriving = self.arriving.filter(|_| !in_alr);
        let delay_based = Some(delay_based).filter(|rate| *rate > current.rate);
        let mut best = (current, f64::NEG_INFINITY);
        for rate in factors.chain(arriving).chain(delay_based) {
            let rate = rate.min(current.rate.max(most));
            let mut candidate = Channel { rate, inherent_loss: feasible(current.inherent_loss, rate) };
            let (first, second) = self.observations.derivatives(candidate.inherent_loss, rate);
            candidate.inherent_loss = feasible(candidate.inherent_loss - NEWTON_STEP * first / second, rate);
            let objective = self.observations.likelihood(candidate.inherent_loss, rate, self.bias(rate));
            if objective > best.1 {
                best = (candidate, objective);
            }
        }
        best.0
    }

    /// How much a kilobyte speaks for a higher rate.
    fn bias(&self, rate: f64) -> f64 {
        let below = PREFERENCE - self.observations.average_loss();
        let weight = below / (PREFERENCE_SMOOTHING + below.abs());
        let kbps = rate / 1e3;
        weight * (BIAS * kbps + LOG_BIAS * libm::log(1.0 + kbps))
    }

    fn bounded_growth(&self, current: f64, best: f64, now: Time) -> f64 {
        let mut rate = best;
        if let Some((since, most)) = self.window.filter(|(since, _)| *since + INCREASE_WINDOW > now) {
            debug_assert!(since <= now);
            rate = rate.min(most);
        }
        let grows = current < rate || (current == rate && self.state == State::Increasing);
        if let Some(arriving) = self.arriving.filter(|_| grows) {
            let held = self.hold.rate.is_finite() && arriving < HOLD_THRESHOLD * self.hold.rate;
            let factor = if held { RAMP_UP_IN_HOLD } else { RAMP_UP };
            rate = rate.min(factor * arriving).max(current);
            if self.state == State::Decreasing && rate == current {
                rate += 1.0;
            }
        }
        rate
    }

    /// The state and the rate that follow from the bounded estimate.
    fn settle(&mut self, bounded: f64, delay_based: f64, lower: f64, now: Time) {
        let below = bounded < delay_based;
        if self.state == State::Decreasing && self.hold.until > now && below {
            self.hold.rate = self.hold.rate.max(lower);
            self.rate = self.hold.rate.min(bounded);
            return;
        }
        let grows =
            self.is_limited() && (self.rate < bounded || (self.rate == bounded && self.state == State::Increasing));
        if grows && below && bounded < self.most {
            self.state = State::Increasing;
        } else if below && bounded < self.most {
            if self.state != State::Decreasing {
                let length = self.hold.length;
                self.hold = Hold { until: now + length, length: (length * 2).min(LONGEST_HOLD), rate: bounded };
            }
            self.state = State::Decreasing;
        } else {
            self.hold = Hold::NONE;
            self.state = State::DelayBased;
        }
        self.rate = bounded;
        let over = self.window.is_none_or(|(since, _)| since + INCREASE_WINDOW < now);
        if let (true, true, Some(best)) = (self.is_limited(), over, self.best) {
            self.window = Some((now, (best.rate * MOST_INCREASE).max(LOWEST_RATE)));
        }
    }

    fn is_limited(&self) -> bool {
        self.state != State::DelayBased
    }
}

/// An inherent loss that a path of this rate may have.
fn feasible(loss: f64, rate: f64) -> f64 {
    loss.max(LEAST_INHERENT_LOSS).min((LOSS_OFFSET + BALANCE / rate).min(1.0))
}

#[cfg(test)]
mod tests;
