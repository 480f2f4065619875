//! How large VP8's pictures are: by their lines and the quantiser, as measured (`data/vp8.toml`).
//!
//! Key frames, the pictures that come soon after one, in which libvpx refreshes the background, and those after them.
//! Between measured quantisers and lines the logarithm of the size is interpolated, over the quantiser and over the
//! logarithm of the lines; beyond the measured lines it goes on as between the two nearest.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::document;

/// The least and the largest quantiser of a call (`libvpx_vp8_encoder.cc`, `media_constants.cc`: 2 and 56 of VP8's 64
/// levels), as indices.
pub(super) const LEAST: usize = 2;
pub(super) const MOST: usize = 106;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Measured {
    quantisers: Vec<usize>,
    dc_steps: Vec<f64>,
    ac_steps: Vec<f64>,
    sizes: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    lines: f64,
    key: Vec<f64>,
    fresh: Vec<f64>,
    inter: Vec<f64>,
}

static MEASURED: LazyLock<Measured> = LazyLock::new(|| document::shipped(include_str!("../../../../data/vp8.toml")));

/// A quantiser's steps of DC and of AC by its index.
pub(super) fn dc_steps() -> &'static [f64] {
    &MEASURED.dc_steps
}

pub(super) fn ac_steps() -> &'static [f64] {
    &MEASURED.ac_steps
}

/// Logarithm of the mean bits of a kind of picture at each quantiser.
#[derive(Clone, Debug)]
pub(super) struct Sizes([f64; MOST + 1]);

impl Sizes {
    /// Of key frames of so many lines.
    pub(super) fn key(lines: u16) -> Self {
        Self::of(lines, |row| &row.key)
    }

    /// Of pictures soon after a key frame.
    pub(super) fn fresh(lines: u16) -> Self {
        Self::of(lines, |row| &row.fresh)
    }

    /// Of all other pictures.
    pub(super) fn inter(lines: u16) -> Self {
        Self::of(lines, |row| &row.inter)
    }

    fn of(lines: u16, kind: impl Fn(&Row) -> &[f64]) -> Self {
        let rows = &MEASURED.sizes;
        let upper = rows.partition_point(|row| row.lines < f64::from(lines)).clamp(1, rows.len() - 1);
        let (below, above) = (&rows[upper - 1], &rows[upper]);
        let share = libm::log(f64::from(lines) / below.lines) / libm::log(above.lines / below.lines);
        let quantisers = &MEASURED.quantisers;
        Self(std::array::from_fn(|quantiser| {
            let next = quantisers.partition_point(|measured| *measured < quantiser).clamp(1, quantisers.len() - 1);
            let (from, to) = (quantisers[next - 1], quantisers[next]);
            let along = (quantiser.max(from) - from) as f64 / (to - from) as f64;
            let log = |row: &Row| {
                let (a, b) = (libm::log(kind(row)[next - 1]), libm::log(kind(row)[next]));
                a + along * (b - a)
            };
            libm::log(8.0) + log(below) + share * (log(above) - log(below))
        }))
    }

    /// Bits of a picture at a quantiser.
    pub(super) fn bits(&self, quantiser: usize) -> f64 {
        libm::exp(self.0[quantiser])
    }

    /// Bits of a picture that is by a share one of these, for the rest one of others.
    pub(super) fn mixed(&self, share: f64, others: &Self, quantiser: usize) -> f64 {
        let rest = others.0[quantiser];
        libm::exp(rest + share * (self.0[quantiser] - rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_measured_ones_and_fall_with_the_quantiser() {
        let near = |found: f64, bytes: f64| (found / 8.0 / bytes - 1.0).abs() < 1e-9;
        for row in &MEASURED.sizes {
            let lines = row.lines as u16;
            let kinds = [Sizes::key(lines), Sizes::fresh(lines), Sizes::inter(lines)];
            for (sizes, measured) in kinds.iter().zip([&row.key, &row.fresh, &row.inter]) {
                let mut each = MEASURED.quantisers.iter().zip(measured);
                assert!(each.all(|(quantiser, bytes)| near(sizes.bits(*quantiser), *bytes)));
                assert!(sizes.0[LEAST..].is_sorted_by(|a, b| *a >= b - 1e-9));
            }
            let mixed = kinds[1].mixed(0.25, &kinds[2], 70);
            assert!((mixed / kinds[2].bits(70) - libm::pow(kinds[1].bits(70) / kinds[2].bits(70), 0.25)).abs() < 1e-9);
        }
        // Between lines, and beyond the measured ones.
        let at = |lines| Sizes::inter(lines).bits(MOST);
        assert!(at(90) < at(180) && at(180) < at(202) && at(202) < at(270) && at(1080) < at(2160));
    }
}
