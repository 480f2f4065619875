//! PackMime's tables of sizes: inverse distribution functions measured at a link of Bell Labs.
//!
//! Source: ns-2.35, `packmime/packmime_HTTP_rng.cc` (the numbers only). Each table is a list of places and of values
//! there; the functions are straight lines between them, and the first and the last line go on.

use crate::document;
use serde::Deserialize;
use std::sync::LazyLock;

/// A function given at 100 places in rising order.
#[derive(Deserialize)]
pub(super) struct Table {
    places: Vec<f64>,
    values: Vec<f64>,
}

/// Sizes of requests and of responses.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Tables {
    /// Bytes of a response that a cache answered, at uniform p.
    pub(super) response_cached: Table,
    /// log2 of the bytes of a response that was downloaded, at log2 of a uniform 1 − p.
    pub(super) response_download: Table,
    /// Bytes of the smaller half of the requests, at uniform p.
    pub(super) request_low: Table,
    /// log2 of the bytes of the larger half of the requests, at log2 of a uniform 1 − p.
    pub(super) request_high: Table,
}

pub(super) static TABLES: LazyLock<Tables> =
    LazyLock::new(|| document::shipped(include_str!("../../../data/packmime.toml")));

impl Table {
    /// The value at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let i = self.places.partition_point(|place| *place <= x).clamp(1, 99);
        let (x0, y0) = (self.places[i - 1], self.values[i - 1]);
        y0 + (x - x0) * self.slope(i)
    }

    /// The slope of the line that ends at place `i`, from 1.
    fn slope(&self, i: usize) -> f64 {
        (self.values[i] - self.values[i - 1]) / (self.places[i] - self.places[i - 1])
    }

    /// The mean of 2^value where 2^place is uniform on (0, 1]; without what lies before the first place, unless
    /// `whole`.
    pub(super) fn mean_of_powers(&self, whole: bool) -> f64 {
        // On a line y = a + b·x, ∫ 2^y d(2^x) = 2^(a + (b + 1)·x) / (b + 1).
        let upto = |i: usize, x: f64| {
            let b = self.slope(i);
            let a = self.values[i] - b * self.places[i];
            libm::exp2(a + (b + 1.0) * x) / (b + 1.0)
        };
        let ends = |i: usize| if i == 99 { 0.0 } else { self.places[i] };
        let before = if whole { upto(1, self.places[0]) } else { 0.0 };
        before + (1..100).map(|i| upto(i, ends(i)) - upto(i, self.places[i - 1])).sum::<f64>()
    }

    /// The mean of the values where the place is uniform on [0, 1].
    pub(super) fn mean(&self) -> f64 {
        let area = |i: usize, from: f64, to: f64| {
            let middle = (from + to) / 2.0;
            (self.values[i] + (middle - self.places[i]) * self.slope(i)) * (to - from)
        };
        let from = |i: usize| if i == 1 { 0.0 } else { self.places[i - 1] };
        let to = |i: usize| if i == 99 { 1.0 } else { self.places[i] };
        (1..100).map(|i| area(i, from(i), to(i))).sum()
    }
}
