//! Normal variates that remember: a sum of fractional noise and of white noise, of mean 0 and variance 1.
//!
//! Source: Cao, Cleveland, Gao, Jeffay, Smith, Weigle, "Stochastic models for generating synthetic HTTP source
//! traffic" (INFOCOM 2004), as ns-2.35 has it: y = s_e (x_t + x_{t−1}) + s_n z, x a fractional noise (ARIMA(0, d, 0),
//! Hosking 1981), z white, s_n² = v. x is made by the Durbin-Levinson recursion (partial correlations d / (t − d));
//! from the 1000th value on the last 1000 coefficients stay.

use crate::app::source::normal;
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// Values of the past that count.
const TERMS: usize = 1000;

/// A correlated sequence of standard normal variates.
pub(super) struct Noise {
    d: f64,
    white: f64,
    fractional: f64,
    /// Coefficients of the past values, the latest first.
    phi: Vec<f64>,
    scratch: Vec<f64>,
    variance: f64,
    /// Past values of x, the latest first.
    past: VecDeque<f64>,
}

impl Noise {
    /// Fractional noise of parameter `d`, with a share `v` of the variance white.
    pub(super) fn new(d: f64, v: f64) -> Self {
        let variance = libm::exp(libm::lgamma(1.0 - 2.0 * d) - 2.0 * libm::lgamma(1.0 - d));
        let fractional = libm::sqrt((1.0 - v) / (variance * (2.0 + 2.0 * d / (1.0 - d))));
        let (phi, scratch) = (Vec::with_capacity(TERMS), Vec::with_capacity(TERMS));
        Self { d, white: libm::sqrt(v), fractional, phi, scratch, variance, past: VecDeque::with_capacity(TERMS + 1) }
    }

    #[cfg(test)]
    pub(super) fn white_share(&self) -> f64 {
        self.white * self.white
    }

    /// The next value of x.
    fn step(&mut self, rng: &mut Pcg64Mcg) -> f64 {
        let t = self.past.len();
        if (1..=TERMS).contains(&t) && self.phi.len() < t {
            let last = self.d / (t as f64 - self.d);
            self.scratch.clone_from(&self.phi);
            for (j, phi) in self.phi.iter_mut().enumerate() {
                *phi -= last * self.scratch[t - 2 - j];
            }
            self.phi.push(last);
            self.variance *= 1.0 - last * last;
        }
        let expected: f64 = self.phi.iter().zip(&self.past).map(|(phi, x)| phi * x).sum();
        let x = expected + libm::sqrt(self.variance) * normal(rng);
        self.past.truncate(TERMS - 1);
        self.past.push_front(x);
        x
    }

    /// The next variate.
    pub(super) fn next(&mut self, rng: &mut Pcg64Mcg) -> f64 {
        let before = if let Some(x) = self.past.front() { *x } else { self.step(rng) };
        let x = self.step(rng);
        self.fractional * (x + before) + self.white * normal(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    /// Mean, variance and correlation with the value `lag` before.
    fn moments(values: &[f64], lag: usize) -> (f64, f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let pairs = values.iter().zip(&values[lag..]);
        (mean, variance, pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n / variance)
    }

    #[test]
    fn fractional_noise_has_its_correlations() {
        // Of ARIMA(0, d, 0): Γ(1−2d)/Γ(1−d)² and ρ_k = Π (j−1+d)/(j−d), Hosking 1981.
        let (mut noise, mut rng) = (Noise::new(0.33, 0.5), stream(1, 0, "noise"));
        let values: Vec<f64> = (0..100_000).map(|_| noise.step(&mut rng)).collect();
        let variance = libm::tgamma(0.34) / (libm::tgamma(0.67) * libm::tgamma(0.67));
        let (_, found, lag_1) = moments(&values, 1);
        assert!((found / variance - 1.0).abs() < 0.05, "{found} against {variance}");
        let mut expected = 1.0;
        let mut checked = 0;
        for k in 1..=10 {
            let j = f64::from(k);
            expected *= (j - 1.0 + 0.33) / (j - 0.33);
            let (.., rho) = moments(&values, k as usize);
            assert!((rho - expected).abs() < 0.04, "lag {k}: {rho} against {expected}");
            checked += 1;
        }
        assert_eq!(checked, 10);
        assert!((lag_1 - 0.4925).abs() < 0.04);
    }

    #[test]
    fn the_sum_has_mean_zero_and_variance_one() {
        let (mut noise, mut rng) = (Noise::new(0.33, 0.8285), stream(2, 0, "noise"));
        let values: Vec<f64> = (0..50_000).map(|_| noise.next(&mut rng)).collect();
        let (mean, variance, lag_1) = moments(&values, 1);
        assert!(mean.abs() < 0.1, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        // (1−v) (1 + 2ρ₁ + ρ₂) / (2 + 2ρ₁) with ρ₁ = 0.49254, ρ₂ = 0.39227.
        assert!((lag_1 - 0.1366).abs() < 0.02, "{lag_1}");
    }
}
