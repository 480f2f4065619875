//! The retransmission timeout (RTO), and the round-trip estimate behind it.
//!
//! Source: RFC 6298 (2011): RTO = SRTT + max(G, 4·RTTVAR), doubled by each expiry. Parameters are the least timeout
//! (200 ms is what Linux, ns-2 and ns-3 use; the RFC says 1 s), and the timeout before the first sample (the RFC says
//! 1 s, RFC 2988 before it 3 s). Samples come from timestamps (RFC 7323) or from segments sent only once (Karn's
//! rule).
//!
//! By default any sample ends the back-off, as in Linux: with timestamps the acknowledgement of a retransmission is
//! one. By Karn's rule (`karn_backoff`; RFC 6298 §5.7, ns-2) only data that was first sent after the timeout ends it.
//!
//! Differences: the term 4·RTTVAR has a least value, 200 ms by default (or the least timeout, if that is less), as in
//! Linux, whose `tcp_rtt_estimator` keeps it at `tcp_rto_min`. Without that a queue that fills slowly, so that RTTVAR
//! is almost nothing, makes every fast recovery a race against the timer. With a least value of zero it is the RFC to
//! the letter, for a clock of no granularity (G = 0). What else Linux does is in [`super::rttvar`].

use super::config::{Config, Stack};
use super::rttvar::LinuxRttvar;
use crate::jiffies::expiry;
use crate::{Span, Time};

const MAX: Span = Span::from_secs(60);

/// The estimator of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Rto {
    srtt: u64,
    rttvar: u64,
    min_rtt: u64,
    /// The round trip that the last acknowledgement measured; zero if it measured none.
    pub(super) latest: Span,
    /// Least timeout, timeout before the first sample, least 4·RTTVAR.
    min_rto: u64,
    initial: u64,
    min_rttvar: u64,
    backoff: u32,
    /// The back-off outlasts samples of what had been sent before `backed_off_at`.
    karn: bool,
    backed_off_at: u64,
    /// The oldest data outstanding when the timer last expired.
    expired_at: Option<u64>,
    sum: u64,
    samples: u64,
    /// Linux's 4·RTTVAR; its timer ends at ticks besides.
    linux: Option<LinuxRttvar>,
    /// The present timeout, its back-off included.
    timeout: Span,
}

impl Rto {
    pub(super) fn new(config: &Config) -> Self {
        let min_rttvar = config.min_rttvar.0;
        let mut rto = Self {
            min_rtt: u64::MAX,
            min_rto: config.min_rto.0,
            initial: config.initial_rto.0,
            min_rttvar,
            karn: config.karn_backoff,
            linux: (config.stack == Stack::Linux).then(|| LinuxRttvar::new(min_rttvar)),
            ..Self::default()
        };
        rto.set_timeout();
        rto
    }

    /// A round trip was measured by an acknowledgement of everything below `una`, with `next` to be sent next: updates
    /// the estimate, and ends any back-off that does not wait for newer data.
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
        self.min_rtt = self.min_rtt.min(r);
        if !self.karn || una > self.backed_off_at {
            self.backoff = 0;
        }
        self.sum += r;
        self.samples += 1;
        self.set_timeout();
    }

    /// The timer expired for the data at `una`, with `next` to be sent next: the next timeout is twice as long. True
    /// if it has expired for the same data before (RFC 5681 §3.1, Linux's `icsk_retransmits`), whatever was measured
    /// since.
    pub(super) fn back_off(&mut self, una: u64, next: u64) -> bool {
        self.backoff += 1;
        self.backed_off_at = next;
        self.set_timeout();
        self.expired_at.replace(una) == Some(una)
    }

    /// The estimate or the back-off has changed (RFC 6298 §2.3, §5.5).
    fn set_timeout(&mut self) {
        let term = self.linux.map_or((4 * self.rttvar).max(self.min_rttvar), |variance| variance.term);
        let base = if self.srtt == 0 { self.initial } else { self.srtt.saturating_add(term).max(self.min_rto) };
        self.timeout = Span(base.saturating_mul(1 << self.backoff.min(10)).min(MAX.0.max(self.min_rto)));
    }

    /// The present timeout, its back-off included.
    pub(super) fn timeout(&self) -> Span {
        self.timeout
    }

    /// When the timer expires that is started at `now`.
    pub(super) fn deadline(&self, now: Time) -> Time {
        self.expiry(now, self.timeout())
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
        Span(if self.min_rtt == u64::MAX { 0 } else { self.min_rtt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rto(min_rto_ms: u64, min_rttvar_ms: u64) -> Rto {
        let [min_rto, min_rttvar] = [min_rto_ms, min_rttvar_ms].map(Span::from_millis);
        Rto::new(&Config { min_rto, min_rttvar, ..Config::default() })
    }

    fn rtos(mut rto: Rto, samples: &[f64]) -> Vec<f64> {
        samples
            .iter()
            .map(|s| {
                rto.sample(Span::from_secs_f64(*s), 0, 0);
                rto.timeout().as_secs()
            })
            .collect()
    }

    /// RFC 6298 §2.2 and §2.3, G being zero.
    fn rfc_6298(samples: &[f64]) -> Vec<f64> {
        let (mut srtt, mut rttvar) = (0.0, 0.0);
        samples
            .iter()
            .map(|r| {
                if srtt == 0.0 {
                    (srtt, rttvar) = (*r, r / 2.0);
                } else {
                    rttvar = 0.75 * rttvar + 0.25 * f64::abs(srtt - r);
                    srtt = 0.875 * srtt + 0.125 * r;
                }
                srtt + 4.0 * rttvar
            })
            .collect()
    }

    #[test]
    fn with_no_least_variance_it_is_rfc_6298_to_the_letter() {
        let steady = [0.25; 60];
        let varied = [0.2, 0.25, 0.18, 0.2, 0.4, 0.2, 0.21, 0.19, 0.9, 0.3];
        for samples in [&steady[..], &varied] {
            for (got, want) in rtos(rto(1, 0), samples).iter().zip(rfc_6298(samples)) {
                assert!((got - want).abs() < 1e-6, "{got} is not {want}");
            }
        }
        assert!(rtos(rto(1, 0), &steady)[59] < 0.2501, "a steady round trip leaves no room at all");
        assert!(rtos(rto(1, 200), &steady)[59] >= 0.45, "as in Linux");
    }

    #[test]
    fn the_timeouts_of_rfc_6298() {
        let got = rtos(rto(200, 200), &[0.2, 0.25, 0.18, 0.2, 0.4, 0.2]);
        for (got, want) in got.iter().zip([0.6, 0.55625, 0.491719, 0.422129, 0.589324, 0.522675]) {
            assert!((got - want).abs() < 1e-6, "{got} is not {want}");
        }
        assert_eq!(rtos(rto(1000, 200), &[0.2, 0.25, 0.18, 0.2, 0.4, 0.2]), [1.0; 6]);
        let got = rtos(rto(1000, 200), &[1.0, 1.2, 3.0]);
        for (got, want) in got.iter().zip([3.0, 2.725, 4.521875]) {
            assert!((got - want).abs() < 1e-6, "{got} is not {want}");
        }
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_ends_with_a_sample() {
        let mut rtt = rto(200, 200);
        assert_eq!(rtt.timeout(), Span::from_secs(1));
        for want in [2, 4, 8, 16, 32, 60, 60] {
            rtt.back_off(1, 1);
            assert_eq!(rtt.timeout(), Span::from_secs(want));
        }
        rtt.sample(Span::from_millis(100), 0, 0);
        assert_eq!(rtt.timeout(), Span::from_millis(300));
        assert_eq!(
            Rto::new(&Config { initial_rto: Span::from_secs(3), ..Config::default() }).timeout(),
            Span::from_secs(3)
        );
    }

    #[test]
    fn a_steady_round_trip_leaves_room_for_a_repair() {
        let mut rtt = rto(200, 200);
        (0..100).for_each(|_| rtt.sample(Span::from_millis(250), 0, 0));
        assert!(rtt.timeout() >= Span::from_millis(449), "{:?}", rtt.timeout());
    }

    #[test]
    fn the_smallest_and_the_mean_are_of_all_samples() {
        let mut rto = rto(200, 200);
        assert_eq!((rto.min(), rto.mean(), rto.smoothed()), (Span::ZERO, Span::ZERO, Span::ZERO));
        for ms in [80, 100, 60, 120] {
            rto.sample(Span::from_millis(ms), 0, 0);
        }
        assert_eq!((rto.min(), rto.mean()), (Span::from_millis(60), Span::from_millis(90)));
    }

    #[test]
    fn only_a_second_expiry_for_the_same_data_is_one_in_a_row_whatever_was_measured() {
        let mut rto = rto(200, 200);
        assert!(!rto.back_off(1, 5000));
        assert!(rto.back_off(1, 5000));
        assert!(!rto.back_off(1001, 5000), "without a sample data has got through");
        rto.sample(Span::from_millis(100), 1001, 5000);
        assert!(rto.back_off(1001, 5000), "with one none has");
    }

    #[test]
    fn by_karns_rule_only_data_that_is_newer_than_the_timeout_ends_the_back_off() {
        for (karn_backoff, kept) in [(false, 300), (true, 600)] {
            let mut rto = Rto::new(&Config { karn_backoff, ..Config::default() });
            rto.sample(Span::from_millis(100), 1, 5000);
            rto.back_off(1, 5000);
            for (una, ms) in [(1000, kept), (5000, kept), (5001, 300)] {
                rto.sample(Span::from_millis(100), una, 6000);
                assert_eq!(rto.timeout(), Span::from_millis(ms), "{karn_backoff}, {una} acknowledged");
            }
        }
    }

    #[test]
    fn the_least_timeout_and_the_least_variance_are_two_things() {
        let long = |min_rto, min_rttvar| rtos(rto(min_rto, min_rttvar), &[0.05; 50])[49];
        assert!((long(200, 0) - 0.2).abs() < 1e-9, "the least timeout");
        assert!((long(200, 300) - 0.35).abs() < 1e-9, "round trip and least variance");
        assert!((long(1000, 300) - 1.0).abs() < 1e-9);
        let linux = Config { stack: Stack::Linux, min_rttvar: Span::from_millis(300), ..Config::default() };
        assert!((rtos(Rto::new(&linux), &[0.05; 50])[49] - 0.35).abs() < 1e-9, "as with Linux's own variance");
    }
}
