//! Estimates of throughput from the segments that have arrived.
//!
//! Sources: [`Ewma`] is the estimator of dash.js and of the simulator sabre (K. Spiteri, R. Sitaraman, D. Sparacio,
//! MMSys 2018): two exponential averages of half-lives of 3 and 8 s of transfer time, started at zero and corrected for
//! it, of which the smaller counts; latency likewise, weighted by segments, of which the larger counts. [`Window`]
//! holds the last samples for the harmonic means of FESTIVE and MPC.

use super::rule::Segment;
use std::collections::VecDeque;

/// Half-lives of the two averages, in seconds.
const HALF_LIVES: [f64; 2] = [3.0, 8.0];

/// Two exponential averages of throughput and latency.
#[derive(Clone, Debug)]
pub(super) struct Ewma {
    segment_s: f64,
    throughput: [f64; 2],
    latency: [f64; 2],
    transferred_s: f64,
    segments: f64,
}

impl Ewma {
    pub(super) fn new(segment_s: f64) -> Self {
        Self { segment_s, throughput: [0.0; 2], latency: [0.0; 2], transferred_s: 0.0, segments: 0.0 }
    }

    pub(super) fn segment_done(&mut self, segment: &Segment) {
        let (time, kbps) = (segment.transfer_s(), segment.transfer_kbps());
        let latency = segment.first_byte_s - segment.request_s;
        for (i, half_life) in HALF_LIVES.iter().enumerate() {
            let keep = halved(time / half_life);
            self.throughput[i] = keep * self.throughput[i] + (1.0 - keep) * kbps;
            let keep = halved(self.segment_s / half_life);
            self.latency[i] = keep * self.latency[i] + (1.0 - keep) * latency;
        }
        self.transferred_s += time;
        self.segments += 1.0;
    }

    /// Throughput in kb/s; none before the first segment.
    pub(super) fn kbps(&self) -> Option<f64> {
        let corrected = |i: usize| self.throughput[i] / (1.0 - halved(self.transferred_s / HALF_LIVES[i]));
        (self.segments > 0.0).then(|| corrected(0).min(corrected(1)))
    }

    /// Time from a request to the first byte, in seconds.
    pub(super) fn latency_s(&self) -> f64 {
        if self.segments == 0.0 {
            return 0.0;
        }
        let corrected = |i: usize| self.latency[i] / (1.0 - halved(self.segments * self.segment_s / HALF_LIVES[i]));
        corrected(0).max(corrected(1))
    }
}

/// An exponential average with one half-life, started at zero and corrected for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HalfLife {
    half_life: f64,
    estimate: f64,
    weight: f64,
}

impl HalfLife {
    pub(super) fn new(half_life: f64) -> Self {
        Self { half_life, estimate: 0.0, weight: 0.0 }
    }

    /// A sample that counts as much as this weight, in the unit of the half-life.
    pub(super) fn sample(&mut self, weight: f64, value: f64) {
        let keep = halved(weight / self.half_life);
        self.estimate = (1.0 - keep) * value + keep * self.estimate;
        self.weight += weight;
    }

    /// The average; none before the first sample.
    pub(super) fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.estimate / (1.0 - halved(self.weight / self.half_life)))
    }
}

/// What is left after so many half-lives.
fn halved(half_lives: f64) -> f64 {
    libm::exp2(-half_lives)
}

/// The last samples.
#[derive(Clone, Debug)]
pub(super) struct Window {
    samples: VecDeque<f64>,
    size: usize,
}

impl Window {
    pub(super) fn new(size: usize) -> Self {
        Self { samples: VecDeque::with_capacity(size), size }
    }

    pub(super) fn push(&mut self, sample: f64) {
        if self.samples.len() == self.size {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Number of samples held.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Harmonic mean; infinite without samples.
    pub(super) fn harmonic_mean(&self) -> f64 {
        self.len() as f64 / self.samples.iter().map(|sample| 1.0 / sample).sum::<f64>()
    }

    /// The largest sample, at least zero.
    pub(super) fn max(&self) -> f64 {
        self.samples.iter().copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_of_equal_samples_are_the_sample_from_the_first_on() {
        let mut ewma = Ewma::new(3.0);
        assert_eq!(ewma.kbps(), None);
        for k in 0..5 {
            let start = 10.0 * f64::from(k);
            ewma.segment_done(&Segment {
                index: k as usize,
                level: 0,
                bytes: 125_000,
                request_s: start,
                first_byte_s: start + 0.04,
                arrive_s: start + 1.04,
                buffer_s: 3.0,
            });
            assert!((ewma.kbps().unwrap() - 1000.0).abs() < 1e-9);
            assert!((ewma.latency_s() - 0.04).abs() < 1e-12);
        }
    }

    #[test]
    fn a_window_forgets() {
        let mut window = Window::new(2);
        for sample in [9.0, 1.0, 3.0] {
            window.push(sample);
        }
        assert_eq!((window.len(), window.harmonic_mean(), window.max()), (2, 1.5, 3.0));
    }

    #[test]
    fn the_smaller_throughput_and_the_larger_latency_count() {
        // Half-lives of 3 and 8 s: after two samples of 3 s each, the weights of the older are these.
        let fast = 0.5 / 1.5;
        let k = libm::exp2(-3.0 / 8.0);
        let slow = k / (1.0 + k);
        let mix = |weight: f64, first: f64, second: f64| weight * first + (1.0 - weight) * second;
        for (first, second, by_throughput, by_latency) in [(1000.0, 2000.0, slow, fast), (2000.0, 1000.0, fast, slow)] {
            let mut ewma = Ewma::new(3.0);
            for (i, kbps) in [first, second].into_iter().enumerate() {
                let (request_s, latency_s) = (10.0 * i as f64, kbps * 1e-4);
                ewma.segment_done(&Segment {
                    index: i,
                    level: 0,
                    bytes: (kbps * 3.0 * 125.0) as u64,
                    request_s,
                    first_byte_s: request_s + latency_s,
                    arrive_s: request_s + latency_s + 3.0,
                    buffer_s: 9.0,
                });
            }
            assert!((ewma.kbps().unwrap() - mix(by_throughput, first, second)).abs() < 1e-9);
            assert!((ewma.latency_s() - mix(by_latency, first, second) * 1e-4).abs() < 1e-12);
        }
    }
}
