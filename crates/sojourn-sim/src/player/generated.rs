//! Clips whose segment sizes are drawn, for a ladder of rates that no table at hand has.
//!
//! Source: statistics of real tables (`data/clips`): log sizes of consecutive segments are correlated 0.55, those of
//! neighbouring levels almost 1; their spread is 0.47 in an animation. A common factor f follows an autoregression of
//! order one, clipped to what tables show, each level adds a little noise of its own, and every level is scaled to its
//! exact mean. No table of another genre is known here, so any other spread is an assumption.

use super::clip::Clip;
use crate::stream::stream;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::f64::consts::TAU;

/// Correlation of the common factor between segments.
const CORRELATION: f64 = 0.55;
/// Where the common factor is clipped, at a spread of 0.47, and that spread.
const CLIP: (f64, f64, f64) = (-1.6, 0.9, 0.47);
/// Noise of a level's own: at the lowest, in the middle, at the top.
const NOISE: (f64, f64, f64) = (0.16, 0.06, 0.12);

/// A clip of so many seconds at these rates: always the same for the same arguments. The error is a sentence.
pub fn generated(spread: f64, number: u32, segment_s: f64, rates_kbps: &[f64], length_s: f64) -> Result<Clip, String> {
    if !(0.0..=2.0).contains(&spread) {
        return Err(format!("a spread of {spread}: expected 0 to 2"));
    }
    if !(0.1..=60.0).contains(&segment_s) {
        return Err(format!("a segment of {segment_s} s: expected 0.1 to 60 s"));
    }
    if rates_kbps.is_empty() {
        return Err("a generated clip needs rates-kbps".to_owned());
    }
    let segments = (length_s / segment_s + 1e-9).clamp(1.0, 100_000.0) as usize;
    let mut rng = stream(u64::from(number), 0, &format!("clip of spread {spread}"));
    let mut f = spread * normal(&mut rng);
    let scale = spread / CLIP.2;
    let factors: Vec<Vec<f64>> = (0..segments)
        .map(|_| {
            f = CORRELATION * f + libm::sqrt(1.0 - CORRELATION * CORRELATION) * spread * normal(&mut rng);
            f = f.clamp(CLIP.0 * scale, CLIP.1 * scale);
            let own = |i: usize| noise(i, rates_kbps.len()) * scale.min(1.0);
            (0..rates_kbps.len()).map(|i| libm::exp(f + own(i) * normal(&mut rng))).collect()
        })
        .collect();
    let means: Vec<f64> = (0..rates_kbps.len())
        .map(|i| factors.iter().map(|segment| segment[i]).sum::<f64>() / segments as f64)
        .collect();
    let bytes = |i: usize, factor: f64| (rates_kbps[i] * segment_s * 125.0 * factor / means[i]).max(1.0) as u64;
    let sizes: Vec<Vec<u64>> =
        factors.iter().map(|segment| segment.iter().enumerate().map(|(i, f)| bytes(i, *f)).collect()).collect();
    Clip::new(segment_s, rates_kbps.to_vec(), &sizes)
}

/// S.d. of a level's own noise.
fn noise(level: usize, levels: usize) -> f64 {
    let place = level as f64 / (levels.max(2) - 1) as f64;
    let (low, middle, top) = NOISE;
    if place < 0.5 { low + (middle - low) * place * 2.0 } else { middle + (top - middle) * (place * 2.0 - 1.0) }
}

/// A standard normal number (Box and Muller).
fn normal(rng: &mut Pcg64Mcg) -> f64 {
    let (u, v) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(TAU * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_exact_and_the_spread_is_near() {
        let rates = [235.0, 760.0, 1777.0, 4361.0];
        let clip = generated(0.47, 1, 4.0, &rates, 40_000.0).unwrap();
        for (level, rate) in rates.iter().enumerate() {
            assert!((clip.mean_size(level) * 8.0 / 4000.0 / rate - 1.0).abs() < 1e-4);
        }
        let logs: Vec<f64> = (0..clip.len()).map(|k| libm::log(clip.sizes_of(k)[2] as f64)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / logs.len() as f64;
        assert!((libm::sqrt(variance) - 0.46).abs() < 0.03, "{}", libm::sqrt(variance));
        let lagged = logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        assert!((lagged / logs.len() as f64 / variance - 0.53).abs() < 0.05);
        assert_eq!(clip, generated(0.47, 1, 4.0, &rates, 40_000.0).unwrap());
        assert_ne!(clip, generated(0.47, 2, 4.0, &rates, 40_000.0).unwrap());
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(generated(f64::NAN, 1, 4.0, &[1.0], 960.0).unwrap_err().contains("spread"));
        assert!(generated(0.1, 1, 4.0, &[], 960.0).unwrap_err().contains("rates-kbps"));
        assert!(generated(0.1, 1, 0.0, &[1.0], 960.0).unwrap_err().contains("0.1 to 60"));
    }

    #[test]
    fn the_ends_of_a_ladder_are_noisier_than_its_middle() {
        let found = [(0, 10), (9, 10), (1, 3), (0, 1), (1, 5), (3, 5)].map(|(level, levels)| noise(level, levels));
        for (found, expected) in found.into_iter().zip([0.16, 0.12, 0.06, 0.16, 0.11, 0.09]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
