//! The tick of a sender's timestamp clock.
//!
//! Least squares of stamps on time, snapped to the rates that systems use. The slope against capture time is low while
//! a queue grows (1.1 % when it grows by 2.9 s in 90 s), and 1 % is 10 ms of false delay per second of flow; hence the
//! snapping. Where both directions are seen, stamps are fitted against the time at which the packet that they echo
//! passed the observer, which has no queue in it.

/// Rates in use, per second: 10 ms (old Windows), 4 ms and others (old Linux), 1 ms, 1 µs (Linux since 6.7, on
/// request).
pub(crate) const RATES: [f64; 8] = [2.0, 10.0, 100.0, 250.0, 500.0, 1000.0, 10_000.0, 1e6];
/// A flow's own tick is believed from this time on, s; shorter flows take their host's.
pub(crate) const OWN_TICK_S: f64 = 20.0;
/// A measured rate further from a real one than this factor is not taken for it.
const NEAR: f64 = 1.25;

/// Running least squares of stamps on time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fit {
    n: f64,
    t: f64,
    y: f64,
    tt: f64,
    ty: f64,
    first_s: f64,
    last_s: f64,
}

impl Fit {
    /// Count one stamp (ticks) at a time (seconds).
    #[inline]
    pub(crate) fn add(&mut self, seconds: f64, ticks: f64) {
        if self.n == 0.0 {
            self.first_s = seconds;
        }
        self.last_s = seconds;
        self.n += 1.0;
        self.t += seconds;
        self.y += ticks;
        self.tt += seconds * seconds;
        self.ty += seconds * ticks;
    }

    /// Time between the first stamp and the last, seconds.
    pub(crate) fn span_s(&self) -> f64 {
        self.last_s - self.first_s
    }

    /// Ticks per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        let spread = self.n * self.tt - self.t * self.t;
        let rate = (self.n * self.ty - self.t * self.y) / spread;
        (self.n >= 4.0 && spread > 0.0 && rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

/// The real rate next to a measured one.
pub(crate) fn snap(rate: f64) -> Option<f64> {
    RATES.into_iter().find(|&real| rate < real * NEAR && real < rate * NEAR)
}

/// The rate that two fits of a flow speak for, against capture time and against the time of what was echoed, and how
/// many seconds that one spans. Over a long time no queue grows so much that it hides the rate, while what a sender
/// echoes that had nothing to send may be as old as its silence; over a short one it is the other way round.
pub(crate) fn decide(capture: &Fit, echo: &Fit) -> Option<(f64, f64)> {
    let told = |fit: &Fit| Some((fit.rate().and_then(snap)?, fit.span_s()));
    let long = [capture, echo].into_iter().filter(|fit| fit.span_s() >= OWN_TICK_S).find_map(told);
    long.or_else(|| [echo, capture].into_iter().filter(|fit| fit.span_s() >= 0.05).find_map(told))
}

/// A rate that is none of the known, trusted only after a long time.
pub(crate) fn unusual(capture: &Fit, echo: &Fit) -> Option<f64> {
    [echo, capture].into_iter().find(|fit| fit.span_s() >= 60.0).and_then(Fit::rate).filter(|&rate| rate >= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_queue_does_not_change_the_tick() {
        let mut fit = Fit::default();
        for i in 0..9000 {
            let sent = f64::from(i) * 0.01;
            fit.add(sent * (1.0 + 2.9 / 90.0), libm::floor(sent * 1000.0));
        }
        let rate = fit.rate().unwrap();
        assert!((960.0..985.0).contains(&rate), "{rate}");
        assert_eq!(decide(&fit, &Fit::default()).map(|(rate, _)| rate), Some(1000.0));
    }

    #[test]
    fn capture_time_speaks_of_a_long_flow_and_what_was_echoed_of_a_short_one() {
        let of = |seconds: f64, rate: f64| {
            let mut fit = Fit::default();
            (0..5).map(|i| f64::from(i) * seconds / 4.0).for_each(|at| fit.add(at, at * rate));
            fit
        };
        let decided = |capture, echo| decide(&capture, &echo);
        assert_eq!(decided(of(25.0, 1000.0), of(0.1, 500.0)), Some((1000.0, 25.0)));
        assert_eq!(decided(of(25.0, 1000.0), of(21.0, 500.0)), Some((1000.0, 25.0)));
        assert_eq!(decided(of(25.0, 700.0), of(21.0, 500.0)), Some((500.0, 21.0)));
        assert_eq!(decided(of(12.0, 1000.0), of(0.1, 500.0)), Some((500.0, 0.1)));
        assert_eq!(decided(of(12.0, 1000.0), of(0.04, 500.0)), Some((1000.0, 12.0)));
    }

    #[test]
    fn rates_between_the_real_ones_are_refused() {
        assert_eq!(snap(160.0), None);
        assert_eq!(snap(246.8), Some(250.0));
        assert_eq!(snap(103.0), Some(100.0));
        assert_eq!(snap(999_800.0), Some(1e6));
    }
}
