//! Mean and maximum of a quantity over time, in at most 512 bins whose width doubles as the capture grows.

use crate::delay::total::Total;

const MOST: usize = 512;
const FIRST_NS: i64 = 100_000_000;
const NOTHING: Bin = (0, Total::NOTHING, 0.0);

type Bin = (u32, Total, f64);

#[inline]
fn count(bin: &mut Bin, value: f64) {
    bin.0 += 1;
    bin.1.add(value);
    bin.2 = if value > bin.2 { value } else { bin.2 };
}

/// Bins of equal width since the first packet of the capture.
#[derive(Debug, Clone)]
pub struct Series {
    width: i64,
    bins: Vec<Bin>,
    /// Start and place of the bin of the last value: most values fall into it again.
    current: (i64, usize),
}

impl Default for Series {
    fn default() -> Self {
        Self { width: FIRST_NS, bins: Vec::new(), current: (0, 0) }
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
            return count(bin, value);
        }
        self.elsewhere(time, value);
    }

    #[inline(never)]
    fn elsewhere(&mut self, time: i64, value: f64) {
        let mut at = (time.max(0) / self.width) as usize;
        while at >= MOST {
            self.width *= 2;
            at /= 2;
            let halved = self
                .bins
                .chunks(2)
                .map(|pair| pair.iter().fold(NOTHING, |a, b| (a.0 + b.0, a.1.with(b.1), libm::fmax(a.2, b.2))));
            self.bins = halved.collect();
        }
        if self.bins.len() <= at {
            self.bins.resize(at + 1, NOTHING);
        }
        self.current = (at as i64 * self.width, at);
        count(&mut self.bins[at], value);
    }

    /// Start (s), mean (ms) and maximum (ms) of the bins that have values.
    pub fn rows(&self) -> Vec<[f64; 3]> {
        let rows = self.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0);
        rows.map(|(i, bin)| [(i as i64 * self.width) as f64 / 1e9, bin.1.ns() / f64::from(bin.0) / 1e6, bin.2 / 1e6])
            .collect()
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
}
