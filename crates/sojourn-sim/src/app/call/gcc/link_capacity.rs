//! What the link carried when it was overused, and how much that varied.
//!
//! Source: libwebrtc `link_capacity_estimator.cc`: an average of the acknowledged rate at overuse, weight 0.05, and its
//! variance over the average in kbit/s, between 0.4 and 2.5. The estimate holds within three deviations.

use sojourn_net::with_defaults;

const WEIGHT: f64 = 0.05;

with_defaults! {
    /// The average and its normalised variance.
    #[derive(Debug)]
    pub(super) struct LinkCapacity {
        kbps: Option<f64>,
        variance: f64 = 0.4,
    }
}

impl LinkCapacity {
    /// The estimate in bit/s, if there is one.
    pub(super) fn estimate(&self) -> Option<f64> {
        self.kbps.map(|kbps| kbps * 1e3)
    }

    /// Rates above this say that the link has changed.
    pub(super) fn upper(&self) -> f64 {
        self.kbps.map_or(f64::INFINITY, |kbps| (kbps + 3.0 * self.deviation(kbps)) * 1e3)
    }

    /// So do rates below this.
    pub(super) fn lower(&self) -> f64 {
        self.kbps.map_or(0.0, |kbps| (kbps - 3.0 * self.deviation(kbps)).max(0.0) * 1e3)
    }

    /// Forgets the average.
    pub(super) fn reset(&mut self) {
        self.kbps = None;
    }

    /// Takes the rate in bit/s that was acknowledged when overuse was found.
    pub(super) fn overused_at(&mut self, rate: f64) {
        let sample = rate / 1e3;
        let kbps = self.kbps.map_or(sample, |kbps| (1.0 - WEIGHT) * kbps + WEIGHT * sample);
        self.kbps = Some(kbps);
        let error = kbps - sample;
        let normalised = error * error / kbps.max(1.0);
        self.variance = ((1.0 - WEIGHT) * self.variance + WEIGHT * normalised).clamp(0.4, 2.5);
    }

    fn deviation(&self, kbps: f64) -> f64 {
        libm::sqrt(self.variance * kbps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_three_deviations_which_are_14_to_35_kbps_at_500() {
        let mut capacity = LinkCapacity::default();
        assert_eq!((capacity.estimate(), capacity.lower(), capacity.upper()), (None, 0.0, f64::INFINITY));
        capacity.overused_at(500e3);
        assert_eq!(capacity.estimate(), Some(500e3));
        assert!((capacity.upper() - 500e3 - 3.0 * 14.14e3).abs() < 10.0, "{}", capacity.upper());
        for _ in 0..100 {
            capacity.overused_at(300e3);
            capacity.overused_at(700e3);
        }
        let deviation = (capacity.upper() - capacity.estimate().unwrap()) / 3.0;
        assert!((deviation - 35.3e3).abs() < 2e3, "{deviation}");
    }
}
