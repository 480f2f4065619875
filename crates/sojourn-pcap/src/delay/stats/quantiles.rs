//! Quantiles of very many durations in little memory: exact while they are few, then counts in bins of 0.2 % width.

use sojourn_net::with_defaults;

const EXACT: usize = 512;
/// Bins in each doubling.
const BINS: usize = 512;

with_defaults! {
    /// A distribution of durations in nanoseconds; negative ones count as 0.
    #[derive(Debug, Clone)]
    pub struct Quantiles {
        few: Vec<u64>,
        octaves: Vec<Option<Box<[u32; BINS]>>>,
        count: u64,
        sum: f64,
        max: u64,
        min: u64 = u64::MAX,
    }
}

impl Quantiles {
    /// Count one.
    #[inline]
    pub fn add(&mut self, ns: f64) {
        self.add_times(ns, 1);
    }

    /// Count one as often as `times` says.
    #[inline]
    pub fn add_times(&mut self, ns: f64, times: u32) {
        // Through signed numbers, which processors convert at once.
        self.add_whole(ns as i64, times);
    }

    /// Count whole nanoseconds as often as `times` says.
    #[inline]
    pub fn add_whole(&mut self, ns: i64, times: u32) {
        let whole = ns.max(0);
        let ns = whole as u64;
        self.count += u64::from(times);
        self.sum += (whole * i64::from(times)) as f64;
        // By branches that are seldom taken: nothing is written for the others.
        if ns < self.min {
            self.min = ns;
        }
        if ns > self.max {
            self.max = ns;
        }
        let (octave, bin) = place(ns);
        match self.octaves.get_mut(octave) {
            Some(Some(bins)) => bins[bin] = bins[bin].saturating_add(times),
            _ => (0..times).for_each(|_| self.first(ns)),
        }
    }

    /// Count one that is among the first, or the first of its octave.
    #[inline(never)]
    fn first(&mut self, ns: u64) {
        if !self.octaves.is_empty() {
            return self.bin(ns);
        }
        self.few.push(ns);
        if self.few.len() == EXACT {
            self.octaves = vec![None; 65];
            for ns in std::mem::take(&mut self.few) {
                self.bin(ns);
            }
        }
    }

    fn bin(&mut self, ns: u64) {
        let (octave, bin) = place(ns);
        let bins = self.octaves[octave].get_or_insert_with(|| Box::new([0; BINS]));
        bins[bin] = bins[bin].saturating_add(1);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, ns.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The largest, ns.
    pub fn max(&self) -> f64 {
        self.max as f64
    }

    /// The smallest, ns.
    pub fn min(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.min as f64 }
    }

    /// The value (ns) that a share `q` of them does not exceed.
    pub fn quantile(&self, q: f64) -> f64 {
        let rank = (libm::ceil(q * self.count as f64) as u64).max(1);
        if self.octaves.is_empty() {
            let mut sorted = self.few.clone();
            sorted.sort_unstable();
            return sorted.get(rank as usize - 1).map_or(f64::NAN, |&ns| ns as f64);
        }
        let mut seen = 0;
        for (octave, bins) in self.octaves.iter().enumerate() {
            let Some(bins) = bins else { continue };
            let within: u64 = bins.iter().map(|&count| u64::from(count)).sum();
            if seen + within < rank {
                seen += within;
                continue;
            }
            for (bin, &count) in bins.iter().enumerate() {
                seen += u64::from(count);
                if seen >= rank {
                    return middle(octave, bin).min(self.max as f64).max(self.min as f64);
                }
            }
        }
        self.max as f64
    }
}

#[inline]
fn place(ns: u64) -> (usize, usize) {
    // Values under 1024 ns are their own bins in the first two places.
    let shift = (64 - (ns | 1 << 9).leading_zeros() as usize) - 10;
    let place = (shift * BINS) + (ns >> shift) as usize;
    (place / BINS, place % BINS)
}

fn middle(octave: usize, bin: usize) -> f64 {
    if octave == 0 {
        return bin as f64;
    }
    let width = (1u64 << (octave - 1)) as f64;
    (BINS + bin) as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_one_often_is_counting_it_again_and_again() {
        let [mut once, mut often] = [Quantiles::default(), Quantiles::default()];
        for i in 0..2000u32 {
            let (ns, times) = (f64::from(i * i % 977) * 1e6, i % 4 + 1);
            (0..times).for_each(|_| once.add(ns));
            often.add_times(ns, times);
        }
        assert_eq!(format!("{once:?}"), format!("{often:?}"));
    }

    #[test]
    fn a_quantile_is_within_a_bin_of_the_exact() {
        let mut all = Quantiles::default();
        let mut exact = Vec::new();
        for i in 0..100_000u64 {
            let ns = (i * i * 7919) % 6_000_000_000;
            all.add(ns as f64);
            exact.push(ns);
        }
        exact.sort_unstable();
        for q in [0.01, 0.5, 0.95, 0.99] {
            let is = exact[(q * 100_000.0) as usize - 1] as f64;
            assert!((all.quantile(q) - is).abs() <= 0.002 * is, "{q}: {} for {is}", all.quantile(q));
        }
        assert_eq!(all.max(), *exact.last().unwrap() as f64);
    }

    #[test]
    fn a_quantile_of_a_few_is_the_least_that_the_share_does_not_exceed() {
        let mut few = Quantiles::default();
        (1..=10).for_each(|ns| few.add(f64::from(ns)));
        assert_eq!([0.0, 0.1, 0.11, 0.5, 0.95, 1.0].map(|q| few.quantile(q)), [1.0, 1.0, 2.0, 5.0, 10.0, 10.0]);
    }

    #[test]
    fn of_one_all_are_the_same_and_of_none_the_least_is_nothing() {
        let mut one = Quantiles::default();
        assert_eq!((one.count(), one.min(), one.max()), (0, 0.0, 0.0));
        one.add(7e6);
        assert_eq!((one.min(), one.max(), one.mean(), one.quantile(0.5)), (7e6, 7e6, 7e6, 7e6));
        one.add_times(3e6, 3);
        assert_eq!((one.count(), one.min(), one.max(), one.mean()), (4, 3e6, 7e6, 4e6));
    }
}
