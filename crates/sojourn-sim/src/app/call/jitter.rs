//! How long frames are held so that late ones are still in time.
//!
//! Source: libwebrtc `jitter_estimator.cc`, `frame_delay_variation_kalman_filter.cc`. A Kalman filter fits the
//! variation of the frames' delay to that of their sizes; what is left is noise, whose 2.33 deviations less 30 ms (at
//! least 1 ms) are added to the delay of the largest frame, and 10 ms for the system. Three frames that needed a packet
//! twice within a minute add 0.9 of a round trip, at most 200 ms. Below ten frames a second it fades, below five it is
//! nothing.

use sojourn_net::{Span, Time, with_defaults};
use std::collections::VecDeque;

const STARTUP: u32 = 30;
const SIZE_STARTUP: u32 = 5;
const PHI: f64 = 0.97;
const PSI: f64 = 0.9999;
const DELAY_CLAMP: f64 = 3.5;
const DELAY_OUTLIER: f64 = 15.0;
const SIZE_OUTLIER: f64 = 3.0;
const CONGESTED: f64 = -0.25;
const MOST_ALPHA: u32 = 400;
const NOISE_DEVIATIONS: f64 = 2.33;
const NOISE_OFFSET: f64 = 30.0;
const LEAST: f64 = 1.0;
const SYSTEM_MS: f64 = 10.0;
const NACK_LIMIT: u32 = 3;
const NACK_TIMEOUT: Span = Span::from_secs(60);
const RTT_SHARE: f64 = 0.9;
const MOST_RTT_MS: f64 = 200.0;

with_defaults! {
    /// The estimator of one receiver; times in ms, sizes in bytes.
    #[derive(Debug)]
    pub(super) struct JitterEstimator {
        filter: DelayVariation,
        mean_size: f64 = 500.0,
        largest: f64 = 500.0,
        size_variance: f64 = 100.0,
        sizes: u32,
        first_sizes: f64,
        previous_size: Option<f64>,
        noise_mean: f64,
        noise_variance: f64 = 4.0,
        alpha_count: u32 = 1,
        updated: Option<Time>,
        intervals: VecDeque<f64> = VecDeque::with_capacity(STARTUP as usize + 1),
        startup: u32,
        previous: f64 = LEAST,
        filtered: f64,
        nacks: u32,
        last_nack: Time,
    }
}

impl JitterEstimator {
    /// A frame of so many bytes took `delay_ms` longer than the one before it.
    pub(super) fn update(&mut self, delay_ms: f64, bytes: u32, now: Time) {
        let size = f64::from(bytes);
        let difference = size - self.previous_size.unwrap_or(0.0);
        if self.sizes < SIZE_STARTUP {
            self.first_sizes += size;
            self.sizes += 1;
        } else if self.sizes == SIZE_STARTUP {
            self.mean_size = self.first_sizes / f64::from(self.sizes);
            self.sizes += 1;
        }
        let mean = PHI * self.mean_size + (1.0 - PHI) * size;
        if size < self.mean_size + 2.0 * libm::sqrt(self.size_variance) {
            self.mean_size = mean;
        }
        let from_mean = size - mean;
        self.size_variance = (PHI * self.size_variance + (1.0 - PHI) * from_mean * from_mean).max(1.0);
        self.largest = (PSI * self.largest).max(size);
        if self.previous_size.replace(size).is_none() {
            return;
        }
        let deviation = libm::sqrt(self.noise_variance);
        let most = DELAY_CLAMP * deviation + 0.5;
        let delay = delay_ms.clamp(-most, most);
        let unexplained = delay - self.filter.total(difference);
        let large = size > self.mean_size + SIZE_OUTLIER * libm::sqrt(self.size_variance);
        if unexplained.abs() < DELAY_OUTLIER * deviation || large {
            self.noise(unexplained, now);
            // A frame that came right behind a much larger one says nothing of the link.
            if difference > CONGESTED * self.largest {
                self.filter.update(delay, difference, self.largest, self.noise_variance);
            }
        } else {
            self.noise(DELAY_OUTLIER.copysign(unexplained) * deviation, now);
        }
        if self.startup >= STARTUP {
            self.filtered = self.calculate();
        } else {
            self.startup += 1;
        }
    }

    fn noise(&mut self, unexplained: f64, now: Time) {
        if let Some(updated) = self.updated.replace(now) {
            self.intervals.push_back(now.since(updated).as_secs());
            if self.intervals.len() > STARTUP as usize {
                self.intervals.pop_front();
            }
        }
        let mut alpha = f64::from(self.alpha_count - 1) / f64::from(self.alpha_count);
        self.alpha_count = (self.alpha_count + 1).min(MOST_ALPHA);
        if let Some(fps) = self.frame_rate() {
            let mut scale = 30.0 / fps;
            if self.alpha_count < STARTUP {
                let count = f64::from(self.alpha_count);
                scale = (count * scale + (f64::from(STARTUP) - count)) / f64::from(STARTUP);
            }
            alpha = libm::pow(alpha, scale);
        }
        let from_mean = unexplained - self.noise_mean;
        self.noise_mean = alpha * self.noise_mean + (1.0 - alpha) * unexplained;
        self.noise_variance = (alpha * self.noise_variance + (1.0 - alpha) * from_mean * from_mean).max(1.0);
    }

    /// A frame needed a packet twice.
    pub(super) fn nacked(&mut self, now: Time) {
        self.nacks = (self.nacks + 1).min(NACK_LIMIT);
        self.last_nack = now;
    }

    /// How long to hold frames.
    pub(super) fn estimate(&mut self, rtt: Option<Span>, now: Time) -> Span {
        let mut jitter = (self.calculate() + SYSTEM_MS).max(self.filtered);
        if now.since(self.last_nack) > NACK_TIMEOUT {
            self.nacks = 0;
        }
        if let (true, Some(rtt)) = (self.nacks >= NACK_LIMIT, rtt) {
            jitter += (RTT_SHARE * rtt.as_millis()).min(MOST_RTT_MS);
        }
        let fade = self.frame_rate().map_or(1.0, |fps| ((fps - 5.0) / 5.0).clamp(0.0, 1.0));
        Span::from_secs_f64(jitter * fade * 1e-3)
    }

    fn calculate(&mut self) -> f64 {
        let threshold = (NOISE_DEVIATIONS * libm::sqrt(self.noise_variance) - NOISE_OFFSET).max(LEAST);
        let found = self.filter.by_size(self.largest - self.mean_size) + threshold;
        self.previous = if found < LEAST { self.previous } else { found.min(10_000.0) };
        self.previous
    }

    fn frame_rate(&self) -> Option<f64> {
        let sum: f64 = self.intervals.iter().sum();
        (sum > 0.0).then(|| (self.intervals.len() as f64 / sum).min(200.0))
    }
}

with_defaults! {
    /// The Kalman filter of the delay's variation: ms a byte, and ms.
    #[derive(Debug)]
    struct DelayVariation {
        slope: f64 = 1.0 / (512e3 / 8.0),
        offset: f64,
        covariance: [[f64; 2]; 2] = [[1e-4, 0.0], [0.0, 1e2]],
    }
}

impl DelayVariation {
    fn by_size(&self, difference: f64) -> f64 {
        self.slope * difference
    }

    fn total(&self, difference: f64) -> f64 {
        self.by_size(difference) + self.offset
    }

    fn update(&mut self, delay: f64, difference: f64, largest: f64, noise_variance: f64) {
        if largest < 1.0 {
            return;
        }
        let c = &mut self.covariance;
        c[0][0] += 2.5e-10;
        c[1][1] += 1e-10;
        let innovation = delay - (self.slope * difference + self.offset);
        let observed = [c[0][0] * difference + c[0][1], c[1][0] * difference + c[1][1]];
        let spread = 300.0 * libm::exp(-difference.abs() / largest) + 1.0;
        let noise = (spread * libm::sqrt(noise_variance)).max(1.0);
        let variance = difference * observed[0] + observed[1] + noise;
        if variance.abs() < 1e-9 {
            return;
        }
        let gain = observed.map(|of| of / variance);
        self.slope = (self.slope + gain[0] * innovation).max(1e-6);
        self.offset += gain[1] * innovation;
        let (t00, t01) = (c[0][0], c[0][1]);
        c[0][0] = (1.0 - gain[0] * difference) * t00 - gain[0] * c[1][0];
        c[0][1] = (1.0 - gain[0] * difference) * t01 - gain[0] * c[1][1];
        c[1][0] = c[1][0] * (1.0 - gain[1]) - gain[1] * difference * t00;
        c[1][1] = c[1][1] * (1.0 - gain[1]) - gain[1] * difference * t01;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::source::normal;
    use crate::stream::stream;

    /// The estimate in ms after 300 frames, 30 a second, over a link of this rate in bytes a ms with some noise in ms.
    fn after(link: f64, noise_ms: f64) -> f64 {
        let mut rng = stream(1, 0, "jitter");
        let mut estimator = JitterEstimator::default();
        let mut before = 0.0;
        for i in 0..300_u64 {
            let bytes = if i % 50 == 0 { 12_000 } else { 4_000 + (i % 7 * 100) as u32 };
            let delay = f64::from(bytes) / link + noise_ms * normal(&mut rng);
            estimator.update(delay - before, bytes, Time(i * 33_333_333));
            before = delay;
        }
        estimator.estimate(None, Time(10_000_000_000)).as_millis()
    }

    #[test]
    fn it_grows_with_the_time_of_the_largest_frame_and_with_noise() {
        // 11 ms at least. The largest frame takes 6 ms longer than the mean at 10 Mbit/s, and 62 ms at 1 Mbit/s, of
        // which the clamp at 3.5 deviations lets little through.
        let (fast, slow) = (after(1250.0, 0.0), after(125.0, 0.0));
        assert!(fast >= 11.0 && fast < slow && slow < 73.0, "{fast}, {slow}");
        // Differences of 28 ms: 2.33 times those less 30 ms.
        let noisy = after(1250.0, 20.0);
        assert!((40.0..80.0).contains(&noisy), "{noisy}");
    }

    #[test]
    fn what_comes_right_behind_a_large_frame_is_noise() {
        // Frames of 4 and 8 kB in turn, at once behind one another every 66 ms: the smaller ones are more than a
        // quarter of the largest smaller than those before.
        let mut estimator = JitterEstimator::default();
        for i in 0..300_u64 {
            let (bytes, delay) = if i % 2 == 0 { (8_000, 33.0) } else { (4_000, -33.0) };
            estimator.update(delay, bytes, Time(i * 33_333_333));
        }
        let deviation = libm::sqrt(estimator.noise_variance);
        let mut same = JitterEstimator::default();
        (0..300_u64).for_each(|i| same.update(0.0, 4_000, Time(i * 33_333_333)));
        assert!(deviation > 5.0 && libm::sqrt(same.noise_variance) < 1.01, "{deviation}");
    }

    #[test]
    fn three_frames_repaired_add_most_of_a_round_trip_for_a_minute() {
        let mut estimator = JitterEstimator::default();
        let rtt = Some(Span::from_millis(100));
        let plain = estimator.estimate(rtt, Time::ZERO);
        (0..3).for_each(|_| estimator.nacked(Time::ZERO));
        assert_eq!(estimator.estimate(rtt, Time::ZERO), plain + Span::from_millis(90));
        assert_eq!(estimator.estimate(Some(Span::from_secs(1)), Time::ZERO), plain + Span::from_millis(200));
        assert_eq!(estimator.estimate(rtt, Time(60_000_000_001)), plain);
    }
}
