//! Round-trip time and retransmission timeout.
//!
//! Source: RFC 6298 (2011), with the minimum as a parameter (200 ms is what Linux, ns-2 and ns-3 use; the RFC says 1 s), and the timeout before
//! the first sample (the RFC says 1 s, RFC 2988 before it 3 s).
//! Difference: the term 4 × RTTVAR is at least 200 ms (or the minimum, if that is less), as in Linux; without that a queue that
//! fills slowly, so that RTTVAR is almost nothing, makes every fast recovery a race against the timer. What else Linux does is in [`super::variance`]. Samples come from timestamps (RFC 7323) or from segments sent only once (Karn's rule).

use super::ticks::expiry;
use super::variance::Variance;
use crate::{Span, Time};

const MAX: Span = Span::from_secs(60);
const LEAST_SLACK: Span = Span::from_millis(200);

/// The estimator of one sender.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    srtt: u64,
    rttvar: u64,
    min: u64,
    floor: u64,
    initial: u64,
    slack: u64,
    backoff: u32,
    sum: u64,
    samples: u64,
    /// The term of Linux, whose timer ends at ticks besides.
    linux: Option<Variance>,
}

impl Rtt {
    /// `linux`: the timer expires when Linux's would.
    pub(super) fn new(min_rto: Span, initial_rto: Span, linux: bool) -> Self {
        let slack = min_rto.min(LEAST_SLACK).0;
        Self {
            srtt: 0,
            rttvar: 0,
            min: u64::MAX,
            floor: min_rto.0,
            initial: initial_rto.0,
            slack,
            backoff: 0,
            sum: 0,
            samples: 0,
            linux: linux.then(|| Variance::new(slack)),
        }
    }

    /// A round trip was measured by an acknowledgement of everything below `una`, with `next` to be sent next: updates the estimate and
    /// ends any back-off.
    pub(super) fn sample(&mut self, rtt: Span, una: u64, next: u64) {
        let r = rtt.0.max(1);
        match &mut self.linux {
            Some(variance) if self.srtt == 0 => variance.begin(r, next),
            Some(variance) => variance.sample(r, self.srtt, una, next),
            None => {}
        }
        if self.srtt == 0 {
            self.srtt = r;
            self.rttvar = r / 2;
        } else {
            self.rttvar = self.rttvar - self.rttvar / 4 + self.srtt.abs_diff(r) / 4;
            self.srtt = self.srtt - self.srtt / 8 + r / 8;
        }
        self.min = self.min.min(r);
        self.backoff = 0;
        self.sum += r;
        self.samples += 1;
    }

    /// The timer expired: the next timeout is twice as long.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// More than one timeout since the last sample.
    pub(super) fn backed_off_before(&self) -> bool {
        self.backoff > 1
    }

    pub(super) fn rto(&self) -> Span {
        let term = self.linux.map_or((4 * self.rttvar).max(self.slack), |variance| variance.term);
        let base = if self.srtt == 0 { self.initial } else { (self.srtt + term).max(self.floor) };
        Span(base.saturating_mul(1 << self.backoff.min(10)).min(MAX.0.max(self.floor)))
    }

    pub(super) fn deadline(&self, now: Time) -> Time {
        self.expiry(now, self.rto())
    }

    /// When a timer expires that is set at `now` for `wait`.
    pub(super) fn expiry(&self, now: Time, wait: Span) -> Time {
        if self.linux.is_some() { expiry(now, wait) } else { now + wait }
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub(super) fn smoothed(&self) -> Span {
        Span(self.srtt)
    }

    /// Mean of all samples; zero before the first.
    pub(super) fn mean(&self) -> Span {
        Span(self.sum / self.samples.max(1))
    }

    /// Smallest sample; zero before the first.
    pub(super) fn min(&self) -> Span {
        Span(if self.min == u64::MAX { 0 } else { self.min })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtos(floor_ms: u64, samples: &[f64]) -> Vec<f64> {
        let mut rtt = Rtt::new(Span::from_millis(floor_ms), Span::from_secs(1), false);
        samples
            .iter()
            .map(|s| {
                rtt.sample(Span::from_secs_f64(*s), 0, 0);
                rtt.rto().as_secs()
            })
            .collect()
    }

    #[test]
    fn the_timeouts_of_rfc_6298() {
        let got = rtos(200, &[0.2, 0.25, 0.18, 0.2, 0.4, 0.2]);
        for (got, want) in got.iter().zip([0.6, 0.55625, 0.491719, 0.422129, 0.589324, 0.522675]) {
            assert!((got - want).abs() < 1e-6, "{got} is not {want}");
        }
        assert_eq!(rtos(1000, &[0.2, 0.25, 0.18, 0.2, 0.4, 0.2]), [1.0; 6]);
        let got = rtos(1000, &[1.0, 1.2, 3.0]);
        for (got, want) in got.iter().zip([3.0, 2.725, 4.521875]) {
            assert!((got - want).abs() < 1e-6, "{got} is not {want}");
        }
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_ends_with_a_sample() {
        let mut rtt = Rtt::new(Span::from_millis(200), Span::from_secs(1), false);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        for want in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Span::from_secs(want));
        }
        rtt.sample(Span::from_millis(100), 0, 0);
        assert_eq!(rtt.rto(), Span::from_millis(300));
        assert_eq!(Rtt::new(Span::from_millis(200), Span::from_secs(3), false).rto(), Span::from_secs(3));
    }

    #[test]
    fn a_steady_round_trip_leaves_room_for_a_repair() {
        let mut rtt = Rtt::new(Span::from_millis(200), Span::from_secs(1), false);
        (0..100).for_each(|_| rtt.sample(Span::from_millis(250), 0, 0));
        assert!(rtt.rto() >= Span::from_millis(449), "{:?}", rtt.rto());
    }
}
