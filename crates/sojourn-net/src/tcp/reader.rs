//! The application behind a receiver of Linux: how long it takes to read what has arrived.
//!
//! Source: measured between Linux hosts in namespaces of one machine (docs/testbed.md, "Data both ways"). A process is
//! woken, and that takes another time each time: what acknowledgements of every second segment take beyond what a host
//! takes to answer an acknowledgement with data had medians of 5 to 39 µs, 20 µs in the middle, and a long tail.
//! Exponential times have it. A fixed time would not do: acknowledgements that follow each other by more than it never
//! overtake one that waits, so that a little slower line would have quite other queues.
//!
//! Differences: real times are longer where little arrives, and a processor sleeps meanwhile; here one mean is said
//! (`path.reading`).

use crate::{Span, Time};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// An application that reads.
#[derive(Debug)]
pub(super) struct Reader {
    mean: Span,
    rng: Pcg64Mcg,
}

impl Reader {
    /// It takes `mean` on average; its times follow from `seed`.
    pub(super) fn new(mean: Span, seed: u64) -> Self {
        Self { mean, rng: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// When it has read what arrives `now`.
    pub(super) fn reads(&mut self, now: Time) -> Time {
        let share = -libm::log1p(-self.rng.random::<f64>());
        now + Span((share * self.mean.0 as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_its_times_are_shorter_than_ln_2_of_the_mean_and_one_in_ten_longer_than_ln_10() {
        let mut reader = Reader::new(Span(29_000), 1);
        let mut times: Vec<u64> = (0..20_000).map(|_| reader.reads(Time(5)).0 - 5).collect();
        times.sort_unstable();
        assert!(times[10_000].abs_diff(20_101) < 600, "{}", times[10_000]);
        assert!(times[18_000].abs_diff(66_775) < 2_000, "{}", times[18_000]);
    }

    #[test]
    fn its_times_follow_from_the_seed() {
        let times = |seed| {
            let mut reader = Reader::new(Span(29_000), seed);
            [(); 5].map(|()| reader.reads(Time(0)))
        };
        assert_eq!(times(7), times(7));
        assert_ne!(times(7), times(8));
    }
}
