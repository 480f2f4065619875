//! VP8's choice of a quantiser: what a picture is expected to take, and what the pictures before it teach of that.
//!
//! Source: libvpx (August 2026) `ratectrl.c`, for one pass in real time. A macroblock is expected to take bits in
//! inverse proportion to the quantiser's step (RFC 6386 §14.1: that of DC in key frames, of AC in others), times a
//! factor of correction that each kind of picture has. The quantiser is that whose expectation is the nearest to the
//! target. The factor begins at 1; each picture moves it by a quarter of what it deviates from its expectation, in
//! whole percent, but for less than 1 % below it and 2 % above it. After 150 pictures the quantiser stays near the mean
//! of all of them: at most that while the buffer has what is wanted, and what goes beyond by steps down to a quarter of
//! it; at least what libvpx lists for the largest (`onyx_if.c`, here a curve through it, within 1). A buffer above what
//! is wanted takes up to a quarter off the largest, and lets go of the least.
//! Differences: key frames have no least quantiser.

use super::sizes::{self, LEAST, MOST};
use std::ops::RangeInclusive;

/// Bits of a macroblock times the step.
const KEY: f64 = 4_500_000.0 / 512.0;
const INTER: f64 = 2_850_000.0 / 512.0;
const FACTORS: (f64, f64) = (0.01, 50.0);
const LEARNED: f64 = 0.25;
const ENOUGH: (f64, f64) = (99.0, 102.0);
/// So many pictures settle the mean.
const SETTLED: usize = 150;
/// Share of the wanted level below which nothing holds the quantiser.
const NEVER_HELD: f64 = 0.25;
/// How much of the largest quantiser a full buffer takes off.
const OFF_WHEN_FULL: f64 = 0.25;

/// What pictures of one kind and size are expected to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    steps: &'static [f64],
    /// Bits of a whole picture times the step, uncorrected.
    bits: f64,
    factor: f64,
}

impl Expected {
    /// Of key frames of so many lines.
    pub(super) fn key(lines: u16) -> Self {
        Self { steps: sizes::dc_steps(), bits: KEY * macroblocks(lines), factor: 1.0 }
    }

    /// Of other pictures.
    pub(super) fn inter(lines: u16) -> Self {
        Self { steps: sizes::ac_steps(), bits: INTER * macroblocks(lines), factor: 1.0 }
    }

    fn at(&self, quantiser: usize) -> f64 {
        self.factor * self.bits / self.steps[quantiser]
    }

    /// The quantiser of these at which a picture of so many bits is expected.
    pub(super) fn choose(&self, bits: f64, of: &RangeInclusive<usize>) -> usize {
        let (best, worst) = (*of.start(), *of.end());
        let below = best + self.steps[best..worst].partition_point(|step| self.factor * self.bits / step > bits);
        let nearer = below > best && self.at(below) < bits && self.at(below - 1) - bits < bits - self.at(below);
        below - usize::from(nearer)
    }

    /// A picture took so many bits at a quantiser.
    pub(super) fn learn(&mut self, quantiser: usize, bits: f64) {
        let percent = (100.0 * bits / self.at(quantiser)).floor();
        if !(ENOUGH.0..=ENOUGH.1).contains(&percent) {
            let moved = (100.5 + LEARNED * (percent - 100.0)).floor();
            self.factor = (self.factor * moved / 100.0).clamp(FACTORS.0, FACTORS.1);
        }
    }
}

/// The quantisers of the pictures that are no key frames.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    pictures: usize,
    sum: usize,
    mean: usize,
}

impl Recent {
    /// A picture had this one.
    pub(super) fn picture(&mut self, quantiser: usize) {
        self.pictures += 1;
        self.sum += quantiser;
        self.mean = self.sum / self.pictures;
        if !self.settled() {
            self.mean = (self.mean + MOST).div_ceil(2);
        }
        if quantiser > self.mean {
            self.mean = quantiser - 1;
        }
    }

    fn settled(&self) -> bool {
        self.pictures > SETTLED
    }

    /// Those that the next picture may have, by the buffer's level over what is wanted of it, and by how much of the
    /// rest it is above that.
    pub(super) fn range(&self, level: f64, above: f64) -> RangeInclusive<usize> {
        let mut worst = MOST;
        if self.settled() && level > NEVER_HELD {
            let held = ((level - NEVER_HELD) / (1.0 - NEVER_HELD)).min(1.0);
            worst = MOST - ((MOST - self.mean) as f64 * held) as usize;
        }
        let above = above.clamp(0.0, 1.0);
        worst -= (OFF_WHEN_FULL * worst as f64 * above) as usize;
        let mut best = LEAST;
        if self.settled() {
            let least = worst as f64 * (0.6 + 0.001_45 * worst as f64);
            best = best.max((least - (least - LEAST as f64) * above) as usize);
        }
        best..=worst.max(best)
    }
}

/// Of pictures of so many lines, 16:9.
fn macroblocks(lines: u16) -> f64 {
    let lines = f64::from(lines);
    (lines * 16.0 / 9.0 / 16.0).ceil() * (lines / 16.0).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_first_a_picture_is_expected_to_take_what_libvpx_says() {
        // In 40×23 macroblocks: 4500000/512 bits over the step of DC, 2850000/512 over that of AC.
        let (key, inter) = (Expected::key(360), Expected::inter(360));
        let near = |found: f64, bits: f64| (found / bits - 1.0).abs() < 1e-9;
        assert!(
            near(key.at(MOST), 920.0 * 4.5e6 / 512.0 / 108.0) && near(inter.at(MOST), 920.0 * 2.85e6 / 512.0 / 189.0)
        );
        assert!(near(key.at(7), 920.0 * 4.5e6 / 512.0 / 10.0) && near(inter.at(7), 920.0 * 2.85e6 / 512.0 / 11.0));
    }

    #[test]
    fn the_nearest_expectation_is_chosen_up_to_the_worst_quantiser() {
        let inter = Expected::inter(360);
        let between = |share: f64| inter.at(50) + share * (inter.at(49) - inter.at(50));
        assert_eq!([0.0, 0.4, 0.6, 1.0].map(|share| inter.choose(between(share), &(LEAST..=MOST))), [50, 50, 49, 49]);
        assert_eq!([1e9, 1.0].map(|bits| inter.choose(bits, &(LEAST..=MOST))), [LEAST, MOST]);
        assert_eq!([1e9, 1.0].map(|bits| inter.choose(bits, &(30..=80))), [30, 80]);
    }

    #[test]
    fn it_follows_a_quarter_of_what_a_picture_deviates() {
        let learned = |share: f64| {
            let mut inter = Expected::inter(360);
            inter.learn(70, share * inter.at(70));
            inter.factor
        };
        // 0.80 of the expectation: 20 % less, of which a quarter.
        let found = [0.8001, 0.9901, 1.0, 1.0201, 1.4001, 0.0].map(learned);
        assert_eq!(found, [0.95, 1.0, 1.0, 1.0, 1.1, 0.75]);
        // Pictures of a seventh of the expectation: after ten of them it still is a fifth and more.
        let mut inter = Expected::inter(360);
        let took = inter.at(MOST) / 7.0;
        (0..10).for_each(|_| inter.learn(MOST, took));
        assert!((0.15..0.25).contains(&inter.factor), "{}", inter.factor);
        (0..99).for_each(|_| inter.learn(MOST, took));
        assert!((inter.at(MOST) / took - 1.0).abs() < 0.03);
    }

    #[test]
    fn after_150_pictures_the_quantiser_stays_near_their_mean_while_the_buffer_lasts() {
        let after = |pictures: usize| {
            let mut recent = Recent::default();
            (0..pictures).for_each(|_| recent.picture(40));
            recent
        };
        assert_eq!(after(150).range(1.0, 0.0), LEAST..=MOST);
        // Of the mean of 40, libvpx lists 26; half way to a quarter of the level half way from 106, and there none.
        let worst = [1.0, 0.625, 0.25, -1.0].map(|level| *after(151).range(level, 0.0).end());
        assert_eq!(worst, [40, 73, 106, 106]);
        let best = [1.0, 0.25].map(|level| *after(151).range(level, 0.0).start());
        assert!(best[0].abs_diff(26) <= 1 && best[1].abs_diff(80) <= 1, "{best:?}");
        assert_eq!(after(151).range(1.0, 1.0), LEAST..=30);
        // A larger one than the mean moves it at once.
        let mut recent = after(200);
        recent.picture(90);
        assert_eq!(*recent.range(1.0, 0.0).end(), 89);
    }
}
