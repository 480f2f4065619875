//! Mean and maximum of a quantity over time, in at most 512 bins whose width doubles as the capture grows. Only those
//! that have values are kept: most hosts of a large capture are there for a moment.

use crate::delay::stats::fixed_point_sum::FixedPointSum;
use sojourn_net::with_defaults;

const MOST: usize = 512;
const FIRST_NS: i64 = 100_000_000;

/// What fell into a bin.
#[derive(Debug, Clone, Copy)]
struct Bin {
    /// Its place among all that there may be.
    at: u32,
    count: u32,
    sum: FixedPointSum,
    max: f64,
}

impl Bin {
    #[inline]
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum.add(value);
        self.max = if value > self.max { value } else { self.max };
    }
}

with_defaults! {
    /// Bins of equal width since the first packet of the capture.
    #[derive(Debug, Clone)]
    pub struct Series {
        width: i64 = FIRST_NS,
        /// In the order of their places.
        bins: Vec<Bin>,
        /// Start of the bin of the last value, and where it is kept: most values fall into it again.
        current: (i64, usize) = (0, usize::MAX),
    }
}

impl Series {
    /// Count a value (ns) at a time (ns since the first packet).
    #[inline]
    pub fn add(&mut self, time: i64, value: f64) {
        let within = time - self.current.0;
        if (0..self.width).contains(&within)
            && let Some(bin) = self.bins.get_mut(self.current.1)
        {
            return bin.add(value);
        }
        self.elsewhere(time, value);
    }

    #[inline(never)]
    fn elsewhere(&mut self, time: i64, value: f64) {
        let mut at = (time.max(0) / self.width) as usize;
        while at >= MOST {
            at /= 2;
            self.widen();
        }
        let at = at as u32;
        let kept = self.bins.binary_search_by_key(&at, |bin| bin.at).unwrap_or_else(|kept| {
            self.bins.insert(kept, Bin { at, count: 0, sum: FixedPointSum::NOTHING, max: 0.0 });
            kept
        });
        self.current = (i64::from(at) * self.width, kept);
        self.bins[kept].add(value);
    }

    /// Put every two bins together.
    fn widen(&mut self) {
        self.width *= 2;
        self.bins.iter_mut().for_each(|bin| bin.at /= 2);
        self.bins.dedup_by(|next, kept| {
            let same = next.at == kept.at;
            if same {
                *kept = Bin {
                    at: kept.at,
                    count: kept.count + next.count,
                    sum: kept.sum.with(next.sum),
                    max: libm::fmax(kept.max, next.max),
                };
            }
            same
        });
    }

    /// Start (s), mean (ms) and maximum (ms) of the bins that have values.
    pub fn rows(&self) -> Vec<[f64; 3]> {
        let row = |bin: &Bin| {
            let start = (i64::from(bin.at) * self.width) as f64 / 1e9;
            [start, bin.sum.ns() / f64::from(bin.count) / 1e6, bin.max / 1e6]
        };
        self.bins.iter().map(row).collect()
    }

    /// Width of a bin, s.
    pub fn width_s(&self) -> f64 {
        self.width as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_the_mean_and_the_maximum_of_what_fell_into_them_however_often_they_were_widened() {
        // 3 values a bin of 100 ms; 512 bins are 51.2 s.
        for (seconds, width_s) in [(3, 0.1), (51, 0.1), (52, 0.2), (200, 0.4), (3000, 6.4)] {
            let mut series = Series::default();
            let values = (0..seconds * 30).map(|k: i64| (k * 100_000_000 / 3, (k * 7919 % 1000) as f64 * 1e6));
            values.clone().for_each(|(at, value)| series.add(at, value));
            assert_eq!(series.width_s(), width_s);
            let rows = series.rows();
            assert_eq!(rows.len(), (seconds as f64 / width_s).ceil() as usize);
            for (place, row) in rows.iter().enumerate() {
                let start = place as f64 * width_s;
                let within = |at: i64| (at / (width_s * 1e9) as i64) as usize == place;
                let of: Vec<f64> = values.clone().filter(|(at, _)| within(*at)).map(|(_, ms)| ms / 1e6).collect();
                let mean = of.iter().sum::<f64>() / of.len() as f64;
                let most = of.iter().copied().fold(0.0, f64::max);
                assert!((row[0] - start).abs() < 1e-6 && (row[1] - mean).abs() < 1e-3, "{row:?} {mean}");
                assert_eq!(row[2], most);
            }
        }
    }

    #[test]
    fn bins_without_values_have_no_row() {
        let mut series = Series::default();
        [(0, 1e6), (950_000_000, 3e6), (10, 5e6)].into_iter().for_each(|(at, value)| series.add(at, value));
        assert_eq!(series.rows(), [[0.0, 3.0, 5.0], [0.9, 3.0, 3.0]]);
    }

    #[test]
    fn bins_are_the_same_whichever_order_they_are_filled_in_and_empty_ones_are_not_kept() {
        // Every seventh second of 200, backwards and in turns.
        let values: Vec<(i64, f64)> = (0..203).map(|i| (i * 7 % 203 / 7 * 7_000_000_000, i as f64 * 1e6)).collect();
        let of = |values: &mut dyn Iterator<Item = &(i64, f64)>| {
            let mut series = Series::default();
            values.for_each(|&(time, value)| series.add(time, value));
            series
        };
        let (forward, back) = (of(&mut values.iter()), of(&mut values.iter().rev()));
        assert_eq!((forward.rows(), forward.width_s()), (back.rows(), back.width_s()));
        assert_eq!((forward.bins.len(), forward.width_s()), (29, 0.4));
    }
}
