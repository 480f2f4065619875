//! Quantiles of a stream of durations in bounded memory.
//!
//! Log-linear buckets (as in HdrHistogram, G. Tene): 512 to an octave, so a quantile is within 0.1 % of an exact one.
//! Sum, count and maximum are exact.

const SUB_BITS: u32 = 9;
const SUB: u64 = 1 << SUB_BITS;

/// Counts of values in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

fn bucket(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let octave = value.ilog2() - SUB_BITS;
    ((u64::from(octave) << SUB_BITS) + (value >> octave)) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < 2 * SUB {
        return bucket as f64;
    }
    let octave = (bucket >> SUB_BITS) - 1;
    let low = (bucket - (octave << SUB_BITS)) << octave;
    low as f64 + ((1u64 << octave) - 1) as f64 / 2.0
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.begin(bucket),
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// The first value of a bucket beyond all others.
    #[cold]
    fn begin(&mut self, bucket: usize) {
        self.counts.resize(bucket, 0);
        self.counts.push(1);
    }

    /// Counts all values of another.
    pub fn add_all(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; zero without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Largest value.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The value below or at which a share `q` of all lies; zero without values.
    pub fn quantile(&self, q: f64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let rank = ((q * self.count as f64) as u64).min(self.count - 1);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below > rank {
                return middle(bucket).min(self.max as f64);
            }
        }
        self.max as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_few_values() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value));
            histogram
        };
        let ten = of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!([0.0, 0.05, 0.5, 0.95, 1.0].map(|q| ten.quantile(q)), [1.0, 1.0, 6.0, 10.0, 10.0]);
        assert_eq!((ten.mean(), ten.max(), ten.count()), (5.5, 10, 10));
        assert_eq!(of(&[1, 2, 3]).quantile(0.5), 2.0);
        assert_eq!(of(&[7]).quantile(0.5), 7.0);
        assert_eq!(of(&[]).quantile(0.5), 0.0);
        // The middle of a bucket, but never above the largest value.
        assert_eq!(of(&[4096, 4103]).quantile(0.0), 4099.5);
        assert_eq!(of(&[4096]).quantile(0.0), 4096.0);
    }

    #[test]
    fn two_added_are_one_of_all_values() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value));
            histogram
        };
        for (a, b) in [(&[3, 5000][..], &[7_000_000][..]), (&[9_000_000], &[1, 2]), (&[], &[4]), (&[4], &[])] {
            let mut sum = of(a);
            sum.add_all(&of(b));
            let whole = of(&[a, b].concat());
            assert_eq!(format!("{sum:?}"), format!("{whole:?}"));
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth(mut values in prop::collection::vec(0u64..5_000_000_000, 1..300), q in 0.0f64..1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|v| histogram.add(*v));
            values.sort_unstable();
            let exact = values[((q * values.len() as f64) as usize).min(values.len() - 1)] as f64;
            prop_assert!((histogram.quantile(q) - exact).abs() <= 0.001 * exact + 0.5, "{} {}", histogram.quantile(q), exact);
            prop_assert_eq!(histogram.max(), values[values.len() - 1]);
        }
    }
}
