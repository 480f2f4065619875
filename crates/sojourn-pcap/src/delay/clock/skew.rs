//! Clock skew of a sender against the capture's clock, from the direction that has no queue.
//!
//! A packet from B that answers a packet of A at once left B one quiet path after A's packet passed the observer. So
//! B's stamp minus the time of A's packet is constant but for skew and for waits, which only lengthen it: the slope of
//! its minima over windows is the skew. For uTP, B reports that difference itself. The queue between B and the
//! observer plays no part, and so it does not have to be empty ever, which a lower hull of the delays themselves would
//! need.
//!
//! A sender that does not answer at once (one packet every 0.2 s) gives minima that wander; such fits are refused, as
//! is anything beyond [`MOST_PPM`].

use sojourn_net::with_defaults;

const WINDOW_NS: i64 = 5_000_000_000;
const MOST_WINDOWS: usize = 256;
/// Packets without which a window's minimum is not believed.
const LEAST_IN_WINDOW: u32 = 8;
/// Share of the minima's variance that a clock's line leaves unexplained at most.
const UNEXPLAINED: f64 = 0.03;
/// No clock of a computer drifts by more.
pub(crate) const MOST_PPM: f64 = 500.0;

#[derive(Debug, Clone, Copy)]
struct Minimum {
    t: f64,
    low: f64,
    count: u32,
}

with_defaults! {
    /// Minima of a quantity over windows of equal length; windows are merged when there are too many.
    #[derive(Debug, Clone)]
    pub struct Minima {
        window_ns: i64 = WINDOW_NS,
        windows: Vec<Minimum>,
        index: i64 = i64::MIN,
        /// End of the last window.
        end: i64 = i64::MIN,
    }
}

impl Minima {
    /// Count a value (ns) at a time (ns).
    #[inline]
    pub(crate) fn add(&mut self, t: i64, value: f64) {
        if t >= self.end {
            self.begin(t, value);
        } else if let Some(last) = self.windows.last_mut() {
            last.count += 1;
            if value < last.low {
                (last.t, last.low) = (t as f64, value);
            }
        }
    }

    /// The first value of a window.
    #[cold]
    fn begin(&mut self, t: i64, value: f64) {
        self.index = t.div_euclid(self.window_ns);
        if self.windows.len() == MOST_WINDOWS {
            self.halve();
        }
        self.end = (self.index + 1).saturating_mul(self.window_ns);
        self.windows.push(Minimum { t: t as f64, low: value, count: 1 });
    }

    fn halve(&mut self) {
        let merged = self.windows.chunks(2).map(|pair| {
            let low = pair.iter().copied().min_by(|a, b| a.low.total_cmp(&b.low)).unwrap_or(pair[0]);
            Minimum { count: pair.iter().map(|window| window.count).sum(), ..low }
        });
        self.windows = merged.collect();
        self.window_ns *= 2;
        self.index = self.index.div_euclid(2);
    }

    /// The slope of the minima, if they lie on a line to within `grain` (ns), the resolution of the stamps.
    pub(crate) fn skew(&self, grain: f64) -> Option<Skew> {
        let good: Vec<_> = self.windows.iter().filter(|window| window.count >= LEAST_IN_WINDOW).collect();
        let n = good.len() as f64;
        if n < 5.0 {
            return None;
        }
        let (t_mean, y_mean) = (good.iter().map(|w| w.t).sum::<f64>() / n, good.iter().map(|w| w.low).sum::<f64>() / n);
        let tt: f64 = good.iter().map(|w| (w.t - t_mean) * (w.t - t_mean)).sum();
        let slope = good.iter().map(|w| (w.t - t_mean) * (w.low - y_mean)).sum::<f64>() / tt;
        let rest = |w: &&Minimum| w.low - y_mean - slope * (w.t - t_mean);
        let error = libm::sqrt(good.iter().map(|w| rest(w) * rest(w)).sum::<f64>() / (n - 2.0).max(1.0) / tt);
        let worst = good.iter().map(|w| libm::fabs(rest(w))).fold(0.0, f64::max);
        let span = good[good.len() - 1].t - good[0].t;
        let skew = Skew { ppm: slope * 1e6, error_ppm: error * 1e6, span_s: span / 1e9 };
        // Coarse stamps spread by themselves; anything more means that the minima are not of a quiet path.
        let straight = worst <= 1.5 * grain + 2e6;
        // Nor are they where a line that rises is not all that they do: a queue that grows bends, a clock does not.
        let yy: f64 = good.iter().map(|w| (w.low - y_mean) * (w.low - y_mean)).sum();
        let left: f64 = good.iter().map(|w| rest(w) * rest(w)).sum();
        let clock = !skew.matters(grain) || left <= UNEXPLAINED * yy;
        (tt > 0.0 && straight && clock && libm::fabs(skew.ppm) <= MOST_PPM).then_some(skew)
    }
}

/// What a clock gains on the capture's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// Parts per million; positive if the sender's clock is fast.
    pub ppm: f64,
    /// Standard error of it.
    pub error_ppm: f64,
    /// Time over which it was seen.
    pub span_s: f64,
}

impl Skew {
    /// The skew to correct by: none where it cannot be told from none, or makes less than half a `grain` (ns) of
    /// difference.
    pub fn significant(&self, grain: f64) -> f64 {
        let told = libm::fabs(self.ppm) > 3.0 * self.error_ppm;
        if told && self.matters(grain) { self.ppm / 1e6 } else { 0.0 }
    }

    /// Whether it makes more than half a `grain` (ns) of difference.
    fn matters(&self, grain: f64) -> bool {
        libm::fabs(self.ppm) * self.span_s * 1e3 > (0.5 * grain).max(50_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_slope_under_waits() {
        let mut minima = Minima::default();
        for i in 0..9000i64 {
            let wait = (i * 7919 % 1000) as f64 * 20_000.0;
            minima.add(i * 10_000_000, i as f64 * 10_000_000.0 * 100e-6 + wait);
        }
        let skew = minima.skew(1000.0).unwrap();
        assert!((skew.ppm - 100.0).abs() < 3.0, "{skew:?}");
        assert!((skew.significant(1000.0) - 100e-6).abs() < 3e-6);
    }

    #[test]
    fn refuses_what_wanders() {
        let mut minima = Minima::default();
        for i in 0..450i64 {
            minima.add(i * 200_000_000, (i * i % 977) as f64 * 300_000.0 + 1e6 * i as f64);
        }
        assert_eq!(minima.skew(1e6), None);
    }

    #[test]
    fn a_queue_that_grows_is_no_clock_that_drifts() {
        // The least waits (ms) in windows of a small buffer that more and more flows share lie within 2 ms of a line.
        let of = |lows: [f64; 7]| {
            let mut minima = Minima::default();
            for (window, low) in (0i64..).zip(lows) {
                (0..8).for_each(|i| minima.add(window * WINDOW_NS + i, low * 1e6));
            }
            minima.skew(1e6)
        };
        assert_eq!(of([0.0, 5.22, 4.46, 5.63, 4.62, 5.9, 9.07]), None);
        let skew = of([0.0, 0.8, 1.5, 2.2, 3.1, 3.75, 4.4]).unwrap();
        assert!((skew.significant(1e6) - 150e-6).abs() < 5e-6, "{skew:?}");
        // What makes no difference is told as it is.
        assert!(of([0.0, 0.1, 0.05, 0.15, 0.02, 0.1, 0.2]).is_some_and(|skew| skew.significant(1e6) == 0.0));
    }

    #[test]
    fn windows_of_a_few_packets_say_nothing() {
        const SECOND: i64 = 1_000_000_000;
        let mut minima = Minima::default();
        (0..9000).for_each(|i| minima.add(i * SECOND / 100, 0.0));
        // Afterwards seven packets in every window, which all waited 1 ms: no slope of 10 ppm.
        (0..70).for_each(|i| minima.add(90 * SECOND + i * SECOND * 5 / 7 + 1, 1e6));
        let skew = minima.skew(1000.0).unwrap();
        assert!(skew.ppm.abs() < 1e-9 && skew.span_s < 90.0, "{skew:?}");
    }

    #[test]
    fn windows_of_a_long_capture_are_merged_in_pairs_and_twice_as_long() {
        const SECOND: i64 = 1_000_000_000;
        let mut minima = Minima::default();
        // A packet a second, of a clock that is 100 ppm fast: of 256 windows of 5 s become 128 of 10 s, then of 20 s.
        (0..4000).for_each(|second| minima.add(second * SECOND, second as f64 * 100e3));
        let kept: Vec<_> = minima.windows.iter().map(|w| (w.t, w.low, w.count)).collect();
        let expected = (0..200).map(|k| (f64::from(k) * 20e9, f64::from(k) * 2e6, 20));
        assert_eq!(kept, expected.collect::<Vec<_>>());
        let skew = minima.skew(1000.0).unwrap();
        assert!((skew.ppm - 100.0).abs() < 1e-6 && (skew.span_s - 3980.0).abs() < 1e-6, "{skew:?}");
    }

    #[test]
    fn a_skew_is_corrected_where_it_can_be_told_and_makes_a_difference() {
        let corrected =
            |ppm: f64, error_ppm: f64, span_s: f64, grain: f64| Skew { ppm, error_ppm, span_s }.significant(grain);
        assert_eq!([3.0, 4.0].map(|error| corrected(10.0, error, 60.0, 1e3)), [10e-6, 0.0], "not told from none");
        assert_eq!([4.0, 6.0].map(|span| corrected(10.0, 1.0, span, 1e3)), [0.0, 10e-6], "40 us and 60 us");
        assert_eq!([100.0, 300.0].map(|span| corrected(-10.0, 1.0, span, 4e6)), [0.0, -10e-6], "half of 4 ms");
    }
}
