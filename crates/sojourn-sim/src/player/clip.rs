//! Clips: segment sizes at every level, and the tables that ship.

/// Tables that ship: name, seconds of video in a segment, segments at the end that are cut short, and sizes. Origins
/// and licences are in `data/clips/README.md`.
const TABLES: [(&str, f64, usize, &str); 3] = [
    ("bbb-x264-4s", 4.0, 1, include_str!("../../data/clips/bbb-x264-4s.csv")),
    ("bbb-3s", 3.0, 0, include_str!("../../data/clips/bbb-3s.csv")),
    ("envivio-4s", 4.0, 1, include_str!("../../data/clips/envivio-4s.csv")),
];

/// Names of the clips that ship.
pub const SHIPPED: [&str; TABLES.len()] = [TABLES[0].0, TABLES[1].0, TABLES[2].0];

/// Most segments, and most levels, of a clip.
const MOST: (usize, usize) = (100_000, 100);
/// Largest segment in bytes.
const LARGEST: u64 = 1_000_000_000;

/// A clip at several levels: segments of equal duration, each of its own size.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    segment_s: f64,
    rates_kbps: Vec<f64>,
    /// Bytes, levels of the first segment first.
    sizes: Vec<u64>,
}

impl Clip {
    /// A clip of segments of `segment_s` seconds at nominal rates (lowest first), and the sizes of each segment at each
    /// level, in bytes. The error is a sentence.
    pub fn new<S: AsRef<[u64]>>(segment_s: f64, rates_kbps: Vec<f64>, segments: &[S]) -> Result<Self, String> {
        if !(0.1..=60.0).contains(&segment_s) {
            return Err(format!("a segment of {segment_s} s: expected 0.1 to 60 s"));
        }
        check_rates(&rates_kbps)?;
        if segments.is_empty() || segments.len() > MOST.0 {
            return Err(format!("{} segments: expected 1 to {}", segments.len(), MOST.0));
        }
        let mut sizes = Vec::with_capacity(segments.len() * rates_kbps.len());
        for (k, segment) in segments.iter().enumerate() {
            let segment = segment.as_ref();
            if segment.len() != rates_kbps.len() {
                return Err(format!(
                    "segment {} has {} sizes, but there are {} rates",
                    k + 1,
                    segment.len(),
                    rates_kbps.len()
                ));
            }
            if let Some(size) = segment.iter().find(|size| !(1..=LARGEST).contains(*size)) {
                return Err(format!("segment {} has a size of {size} bytes: expected 1 to {LARGEST}", k + 1));
            }
            sizes.extend_from_slice(segment);
        }
        Ok(Self { segment_s, rates_kbps, sizes })
    }

    /// The same sizes under other nominal rates.
    pub fn with_rates(self, rates_kbps: Vec<f64>) -> Result<Self, String> {
        check_rates(&rates_kbps)?;
        if rates_kbps.len() != self.levels() {
            return Err(format!("{} rates for a clip of {} levels", rates_kbps.len(), self.levels()));
        }
        Ok(Self { rates_kbps, ..self })
    }

    /// `segments` segments from number `first` on, starting over at the end.
    pub fn looped(&self, first: usize, segments: usize) -> Self {
        let sizes = (first..first + segments).flat_map(|k| self.sizes_of(k % self.len())).copied().collect();
        Self { segment_s: self.segment_s, rates_kbps: self.rates_kbps.clone(), sizes }
    }

    /// Seconds of video in a segment.
    pub fn segment_s(&self) -> f64 {
        self.segment_s
    }

    /// Number of segments.
    #[allow(clippy::len_without_is_empty, reason = "a clip is never empty")]
    pub fn len(&self) -> usize {
        self.sizes.len() / self.levels()
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.rates_kbps.len()
    }

    /// Nominal rates in kb/s, lowest first.
    pub fn rates_kbps(&self) -> &[f64] {
        &self.rates_kbps
    }

    /// Bytes of a segment at each level.
    pub fn sizes_of(&self, segment: usize) -> &[u64] {
        &self.sizes[segment * self.levels()..][..self.levels()]
    }

    /// Mean bytes of a segment at a level.
    pub fn mean_size(&self, level: usize) -> f64 {
        let sum: u64 = self.sizes.iter().skip(level).step_by(self.levels()).sum();
        sum as f64 / self.len() as f64
    }

    /// The highest level whose rate is below `kbps`, or the lowest.
    pub fn level_below(&self, kbps: f64) -> usize {
        self.rates_kbps.iter().rposition(|rate| *rate < kbps).unwrap_or(0)
    }
}

fn check_rates(rates_kbps: &[f64]) -> Result<(), String> {
    if rates_kbps.is_empty() || rates_kbps.len() > MOST.1 {
        return Err(format!("{} rates: expected 1 to {}", rates_kbps.len(), MOST.1));
    }
    if let Some(rate) = rates_kbps.iter().find(|rate| !(**rate > 0.0 && **rate < 1e9)) {
        return Err(format!("a rate of {rate} kb/s: expected more than 0"));
    }
    match rates_kbps.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("rates must rise, but {} kb/s comes before {}", pair[0], pair[1])),
        None => Ok(()),
    }
}

/// A clip that ships, by name; its last segment is left out if it is cut short.
pub fn shipped(name: &str) -> Option<Clip> {
    let (_, segment_s, stubs, text) = TABLES.iter().find(|table| table.0 == name)?;
    let mut lines = text.lines();
    let rate = |column: &str| column.strip_prefix("bytes_")?.strip_suffix("kbps")?.parse().ok();
    let rates = lines.next()?.split(',').skip(1).map(rate).collect::<Option<Vec<f64>>>()?;
    let row = |line: &str| line.split(',').skip(1).map(|size| size.parse().ok()).collect::<Option<Vec<u64>>>();
    let segments = lines.map(row).collect::<Option<Vec<_>>>()?;
    Clip::new(*segment_s, rates, &segments[..segments.len() - stubs]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_tables_are_whole() {
        let sizes: Vec<_> = SHIPPED.iter().map(|name| shipped(name).unwrap()).map(|c| (c.len(), c.levels())).collect();
        assert_eq!(sizes, [(149, 10), (199, 10), (48, 6)]);
        let clip = shipped("bbb-x264-4s").unwrap();
        // Means over the full segments: 232 350 b/s at the lowest level, 2 138 443 bytes at the highest.
        assert!((clip.mean_size(0) - 116_175.208_053_691_27).abs() < 1e-6);
        assert!((clip.mean_size(9) - 2_138_442.758_389_261_6).abs() < 1e-6);
        assert!(shipped("sintel").is_none());
    }

    #[test]
    fn a_looped_clip_starts_over() {
        let clip = Clip::new(4.0, vec![1.0, 2.0], &[[1, 2], [3, 4], [5, 6]]).unwrap().looped(1, 4);
        assert_eq!(clip.len(), 4);
        assert_eq!(clip.sizes_of(1), [5, 6]);
        assert_eq!(clip.sizes_of(3), [3, 4]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |s, rates: &[f64], sizes: &[[u64; 2]]| Clip::new(s, rates.to_vec(), sizes).unwrap_err();
        assert!(wrong(0.0, &[1.0, 2.0], &[[1, 2]]).contains("0.1 to 60"));
        assert!(wrong(f64::NAN, &[1.0, 2.0], &[[1, 2]]).contains("NaN"));
        assert!(wrong(4.0, &[2.0, 1.0], &[[1, 2]]).contains("must rise"));
        assert!(wrong(4.0, &[2.0], &[[1, 2]]).contains("2 sizes"));
        assert!(wrong(4.0, &[1.0, 2.0], &[[1, 0]]).contains("0 bytes"));
        assert!(wrong(4.0, &[1.0, 2.0], &[]).contains("0 segments"));
    }
}
