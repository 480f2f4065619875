//! How late things happened: distributions that are recorded without allocation.

use hdrhistogram::Histogram;
use serde::Serialize;
use sojourn_net::Span;

/// Longer than this counts as this.
const MOST: u64 = 60_000_000_000;

/// A distribution of lateness.
#[derive(Clone, Debug)]
pub struct Lateness(Histogram<u64>);

impl Default for Lateness {
    fn default() -> Self {
        // Three digits, from a nanosecond to a minute: the bounds are constants that it accepts.
        Self(Histogram::new_with_bounds(1, MOST, 3).unwrap_or_else(|_| unreachable!("the bounds are in order")))
    }
}

impl Lateness {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, late: Span) {
        self.0.saturating_record(late.0);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The distribution in numbers; `None` if there is nothing.
    pub fn summary(&self) -> Option<LatenessSummary> {
        let us = |ns: u64| (ns as f64 * 1e-3 * 10.0).round() / 10.0;
        let at = |q| us(self.0.value_at_quantile(q));
        (self.count() > 0).then(|| LatenessSummary {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: us(self.0.max()),
            packets: self.count(),
        })
    }
}

/// A distribution of lateness in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatenessSummary {
    /// Half are not later than this.
    pub p50: f64,
    /// 99 % are not.
    pub p99: f64,
    /// 99.9 % are not.
    pub p999: f64,
    /// The latest.
    pub max: f64,
    /// How many there are.
    pub packets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_in_microseconds_and_nothing_is_nothing() {
        let mut late = Lateness::default();
        assert_eq!(late.summary(), None);
        (1..=1000).for_each(|k| late.add(Span(k * 1000)));
        let found = late.summary().unwrap();
        for (found, exact) in [(found.p50, 500.0), (found.p99, 990.0), (found.p999, 999.0), (found.max, 1000.0)] {
            assert!((found - exact).abs() <= exact * 1e-3, "{found} for {exact}");
        }
        (0..1001).for_each(|_| late.add(Span::ZERO));
        let found = late.summary().unwrap();
        assert_eq!((found.packets, found.p50), (2001, 0.0), "who is on time counts");
        late.add(Span(u64::MAX));
        assert!(late.summary().unwrap().max >= 59e6, "far too late counts as a minute");
    }
}
