//! What results say of many scores: median, mean and percentiles, rounded.

use serde::Serialize;

/// Statistics of the numbers that are there; null where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// The middle.
    pub median: Option<f64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// Below it is 5 %.
    pub p5: Option<f64>,
    /// Below it is 25 %.
    pub p25: Option<f64>,
    /// Below it is 75 %.
    pub p75: Option<f64>,
    /// Below it is 95 %.
    pub p95: Option<f64>,
}

impl Statistics {
    /// Without the percentiles that take many numbers.
    pub fn without_tails(self) -> Self {
        Self { p5: None, p95: None, ..self }
    }
}

/// Statistics of the numbers that are not NaN, to so many digits; percentiles interpolate linearly (Hyndman and Fan's
/// type 7, as NumPy's do).
pub fn statistics(numbers: impl Iterator<Item = f64>, digits: usize) -> Statistics {
    let mut known: Vec<f64> = numbers.filter(|number| !number.is_nan()).collect();
    if known.is_empty() {
        return Statistics::default();
    }
    let mean = sum(&known) / known.len() as f64;
    known.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let place = q / 100.0 * (known.len() - 1) as f64;
        let (below, t) = (known[place as usize], place.fract());
        let above = known[(place as usize + 1).min(known.len() - 1)];
        let between = if t < 0.5 { below + (above - below) * t } else { above - (above - below) * (1.0 - t) };
        Some(rounded(between, digits))
    };
    Statistics {
        median: at(50.0),
        mean: Some(rounded(mean, digits)),
        p5: at(5.0),
        p25: at(25.0),
        p75: at(75.0),
        p95: at(95.0),
    }
}

/// The sum, taken in pairs as NumPy takes it: halves are added, and in parts of up to 128 numbers every eighth.
fn sum(numbers: &[f64]) -> f64 {
    let count = numbers.len();
    if count < 8 {
        return numbers.iter().fold(0.0, |sum, number| sum + number);
    }
    if count > 128 {
        let (first, second) = numbers.split_at(count / 2 / 8 * 8);
        return sum(first) + sum(second);
    }
    let (eights, rest) = numbers.as_chunks::<8>();
    let mut r = eights[0];
    for eight in &eights[1..] {
        for (sum, number) in r.iter_mut().zip(eight) {
            *sum += number;
        }
    }
    let eights = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    rest.iter().fold(eights, |sum, number| sum + number)
}

/// The number with so many decimals, half to even in its exact value, as Python rounds.
pub fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.digits$}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_interpolate_and_absent_numbers_do_not_count() {
        let found = statistics([4.0, f64::NAN, 1.0, 2.0, 3.0].into_iter(), 4);
        assert_eq!((found.median, found.mean, found.p25, found.p95), (Some(2.5), Some(2.5), Some(1.75), Some(3.85)));
        assert_eq!(statistics([f64::NAN].into_iter(), 4), Statistics::default());
    }
}
