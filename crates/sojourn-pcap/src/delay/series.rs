//! Mean and maximum of a quantity over time, in at most 512 bins whose width doubles as the capture grows.

const MOST: usize = 512;
const FIRST_NS: i64 = 100_000_000;

/// Bins of equal width since the first packet of the capture.
#[derive(Debug, Clone)]
pub struct Series {
    width: i64,
    bins: Vec<(u32, f64, f64)>,
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
    pub fn add(&mut self, time: i64, value: f64) {
        let within = time - self.current.0;
        let mut at =
            if (0..self.width).contains(&within) { self.current.1 } else { (time.max(0) / self.width) as usize };
        while at >= MOST {
            self.width *= 2;
            at /= 2;
            let halved = self
                .bins
                .chunks(2)
                .map(|pair| pair.iter().fold((0, 0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, libm::fmax(a.2, b.2))));
            self.bins = halved.collect();
        }
        if self.bins.len() <= at {
            self.bins.resize(at + 1, (0, 0.0, 0.0));
        }
        self.current = (at as i64 * self.width, at);
        let bin = &mut self.bins[at];
        *bin = (bin.0 + 1, bin.1 + value, libm::fmax(bin.2, value));
    }

    /// Start (s), mean (ms) and maximum (ms) of the bins that have values.
    pub fn rows(&self) -> Vec<[f64; 3]> {
        let rows = self.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0);
        rows.map(|(i, bin)| [(i as i64 * self.width) as f64 / 1e9, bin.1 / f64::from(bin.0) / 1e6, bin.2 / 1e6])
            .collect()
    }

    /// Width of a bin, s.
    pub fn width_s(&self) -> f64 {
        self.width as f64 / 1e9
    }
}
