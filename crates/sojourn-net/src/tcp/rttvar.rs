//! How far Linux's retransmission timeout lies above the round trip: its version of 4·RTTVAR.
//!
//! Source: Linux's `tcp_input.c` (`tcp_rtt_estimator`), by its rules:
//! - the deviation (`mdev_us`) follows each sample as in RFC 6298, but less readily when the round trip is shorter
//!   than expected;
//! - the term that the timeout adds (`rttvar_us`) rises with it at once, and falls only once in a round trip, by a
//!   quarter of the way to the largest deviation of that round (`mdev_max_us`);
//! - it is `tcp_rto_min`, 200 ms, at least.
//!
//! The deviation is kept fourfold, as the timeout has it. Difference: nanoseconds, not microseconds.

/// The estimator of one sender. Nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinuxRttvar {
    deviation: u64,
    /// The largest deviation of the present round, which ends with what was sent before it began.
    largest: u64,
    round_end: u64,
    least: u64,
    /// What the timeout adds.
    pub(super) term: u64,
}

impl LinuxRttvar {
    pub(super) fn new(least: u64) -> Self {
        Self { deviation: 0, largest: 0, round_end: 0, least, term: 0 }
    }

    /// The first round trip was measured.
    pub(super) fn begin(&mut self, rtt: u64, next: u64) {
        self.deviation = 2 * rtt;
        self.term = self.deviation.max(self.least);
        (self.largest, self.round_end) = (self.term, next);
    }

    /// Another one was, with `srtt` expected; everything below `una` is acknowledged, and `next` is sent next.
    pub(super) fn sample(&mut self, rtt: u64, srtt: u64, una: u64, next: u64) {
        let (error, known) = (rtt.abs_diff(srtt), self.deviation / 4);
        self.deviation = match error.checked_sub(known) {
            Some(more) if rtt < srtt => self.deviation + more / 8,
            Some(more) => self.deviation + more,
            None => self.deviation - (known - error),
        };
        self.largest = self.largest.max(self.deviation);
        self.term = self.term.max(self.largest);
        if una > self.round_end {
            self.term -= (self.term - self.largest) / 4;
            (self.largest, self.round_end) = (self.least, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The term after each sample, in milliseconds; a round is four samples.
    fn terms(samples_ms: &[u64]) -> Vec<u64> {
        let mut variance = LinuxRttvar::new(200 * MS);
        variance.begin(100 * MS, 4);
        let (mut srtt, mut terms) = (100 * MS, vec![variance.term / MS]);
        for (i, ms) in samples_ms.iter().enumerate() {
            let una = i as u64 + 2;
            variance.sample(ms * MS, srtt, una, una + 3);
            srtt = srtt - srtt / 8 + ms * MS / 8;
            terms.push(variance.term / MS);
        }
        terms
    }

    #[test]
    fn it_is_at_least_200_ms() {
        assert_eq!(terms(&[100; 40]).last(), Some(&200));
    }

    #[test]
    fn one_long_round_trip_raises_it_at_once_and_it_falls_by_a_quarter_each_round() {
        let mut samples = vec![100; 40];
        samples[20] = 3000;
        let terms = terms(&samples);
        assert_eq!(terms[20], 200);
        assert_eq!(terms[21], 2900, "the error less what was left of the deviation");
        let steps: Vec<_> = terms[21..].windows(2).filter(|pair| pair[0] != pair[1]).collect();
        assert!(steps.len() <= 5, "once in four samples: {terms:?}");
        assert!(steps.iter().all(|pair| pair[1] < pair[0] && pair[1] >= pair[0] * 3 / 4), "{terms:?}");
    }

    #[test]
    fn shorter_round_trips_than_expected_hardly_count() {
        let mut variance = LinuxRttvar::new(200 * MS);
        variance.begin(1000 * MS, 0);
        variance.deviation = 0;
        let mut other = variance;
        variance.sample(200 * MS, 1000 * MS, 0, 0);
        other.sample(1800 * MS, 1000 * MS, 0, 0);
        assert_eq!((variance.deviation, other.deviation), (100 * MS, 800 * MS));
    }

    #[test]
    fn the_deviation_comes_to_four_times_an_error_that_stays() {
        for (first, error) in [(2000, 30), (2, 30), (400, 1)] {
            let mut variance = LinuxRttvar::new(0);
            variance.begin(first * MS, 0);
            (0..200).for_each(|_| variance.sample((100 + error) * MS, 100 * MS, 0, 0));
            assert!(variance.deviation.abs_diff(4 * error * MS) <= 4, "{} {error}", variance.deviation);
        }
    }
}
