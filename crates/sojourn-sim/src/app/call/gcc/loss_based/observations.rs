//! What was sent and lost in the last 15 periods of at least 250 ms, and how likely that was.
//!
//! Source: libwebrtc `loss_based_bwe_v2.cc`, counted in kilobytes; a period counts 0.9 of the one after it. The mean
//! loss leaves out the periods with most and least loss, unless the one with most was sent at twice the median rate.

use super::super::feedback::PacketResult;
use sojourn_net::{Span, Time};
use std::collections::VecDeque;

const WINDOW: usize = 15;
const SHORTEST: Span = Span::from_millis(250);
const FORGET: f64 = 0.9;
const MEDIAN_FACTOR: f64 = 2.0;

#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    bytes: f64,
    lost: f64,
    /// Bit/s.
    rate: f64,
}

/// The periods, the newest first, and the one that is not over.
#[derive(Debug, Default)]
pub(super) struct Observations {
    periods: VecDeque<Observation>,
    present: Observation,
    /// When the last packet of the last period was sent.
    last_sent: Option<Time>,
    count: u32,
    average_loss: f64,
}

impl Observations {
    /// Periods so far, forgotten ones counted.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Mean loss of the bytes of the periods.
    pub(super) fn average_loss(&self) -> f64 {
        self.average_loss
    }

    /// Takes a report; if it ends a period, when the last packet of that was sent.
    pub(super) fn add(&mut self, results: &[PacketResult]) -> Option<Time> {
        let first = results.iter().map(|result| result.sent).min()?;
        let last = results.iter().map(|result| result.sent).max()?;
        for result in results {
            self.present.bytes += f64::from(result.bytes);
            if result.arrived.is_none() {
                self.present.lost += f64::from(result.bytes);
            }
        }
        let since = *self.last_sent.get_or_insert(first);
        let length = last.since(since);
        if length < SHORTEST {
            return None;
        }
        self.last_sent = Some(last);
        let period = std::mem::take(&mut self.present);
        self.periods.push_front(Observation { rate: period.bytes * 8.0 / length.as_secs(), ..period });
        self.periods.truncate(WINDOW);
        self.count += 1;
        self.average_loss = self.mean_loss();
        Some(last)
    }

    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        self.periods.iter().scan(1.0 / FORGET, |weight, period| {
            *weight *= FORGET;
            Some((*weight, period))
        })
    }

    fn mean_loss(&self) -> f64 {
        let (mut bytes, mut lost) = (0.0, 0.0);
        let (mut least, mut most) = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0));
        let mut rate_of_most = 0.0;
        for (weight, period) in self.weighted() {
            bytes += weight * period.bytes;
            lost += weight * period.lost;
            let loss = if period.bytes > 0.0 { period.lost / period.bytes } else { 0.0 };
            if self.count > 3 {
                if loss > most.0 {
                    most = (loss, weight * period.lost, weight * period.bytes);
                    rate_of_most = period.rate;
                }
                if loss < least.0 {
                    least = (loss, weight * period.lost, weight * period.bytes);
                }
            }
        }
        let left = bytes - most.2 - least.2;
        if self.median_rate() * MEDIAN_FACTOR <= rate_of_most || left <= 0.0 {
            return if bytes > 0.0 { lost / bytes } else { 0.0 };
        }
        ((lost - most.1 - least.1) / left).max(0.0)
    }

    fn median_rate(&self) -> f64 {
        let mut rates: Vec<f64> = self.periods.iter().map(|period| period.rate).filter(|rate| *rate > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        match rates.len() {
            0 => 0.0,
            n if n % 2 == 0 => (rates[n / 2 - 1] + rates[n / 2]) / 2.0,
            n => rates[n / 2],
        }
    }

    /// First and second derivative of the likelihood by the inherent loss.
    pub(super) fn derivatives(&self, inherent_loss: f64, rate: f64) -> (f64, f64) {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, period) in self.weighted() {
            let p = probability(inherent_loss, rate, period.rate);
            let (lost, received) = (period.lost / 1e3, (period.bytes - period.lost) / 1e3);
            first += weight * (lost / p - received / (1.0 - p));
            second -= weight * (lost / (p * p) + received / ((1.0 - p) * (1.0 - p)));
        }
        (first, second.min(-1e-6))
    }

    /// Logarithm of the likelihood, with a bias for each kilobyte.
    pub(super) fn likelihood(&self, inherent_loss: f64, rate: f64, bias: f64) -> f64 {
        let each = self.weighted().map(|(weight, period)| {
            let p = probability(inherent_loss, rate, period.rate);
            let (lost, received) = (period.lost / 1e3, (period.bytes - period.lost) / 1e3);
            weight * (lost * libm::log(p) + received * libm::log(1.0 - p) + bias * period.bytes / 1e3)
        });
        each.sum()
    }
}

/// That a packet sent at this rate is lost: by the path, or by a link of a lower rate.
fn probability(inherent_loss: f64, link: f64, sent: f64) -> f64 {
    let by_link = if sent > link { (1.0 - inherent_loss) * (sent - link) / sent } else { 0.0 };
    (inherent_loss + by_link).clamp(1e-6, 1.0 - 1e-6)
}
