//! Whether the path is overused: the slope of the delay over the last groups, against a threshold that adapts.
//!
//! Source: libwebrtc `trendline_estimator.cc`. The delay added by each group is summed and smoothed (0.9, 0.1); the
//! slope is that of least squares over the last 20 groups against their times of arrival. It is multiplied by four and
//! by the number of groups, at most 60. Above the threshold for more than 10 ms and more than once, and not falling:
//! overuse. Below its negative: underuse. The threshold begins at 12.5 and follows the slope by 0.0087 per ms upwards
//! and 0.039 downwards, between 6 and 600, unless the slope is more than 15 beyond it.

use super::inter_arrival::Deltas;
use sojourn_net::{Time, with_defaults};
use std::collections::VecDeque;

const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MOST_GROUPS: u32 = 60;
const OVERUSE_MS: f64 = 10.0;
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
const BEYOND: f64 = 15.0;
const LONGEST_STEP_MS: f64 = 100.0;

/// How the path is used, as far as delays tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    /// The delay does not change.
    #[default]
    Normal,
    /// It grows.
    Over,
    /// It falls.
    Under,
}

with_defaults! {
    /// The estimator of the slope, and the detector.
    #[derive(Debug)]
    pub(super) struct Trendline {
        groups: u32,
        first_ms: Option<f64>,
        accumulated: f64,
        smoothed: f64,
        /// Time of arrival and smoothed delay of the last groups.
        window: VecDeque<(f64, f64)> = VecDeque::with_capacity(WINDOW + 1),
        threshold: f64 = 12.5,
        updated_ms: Option<f64>,
        trend: f64,
        over_ms: Option<f64>,
        over_count: u32,
        usage: Usage,
    }
}

impl Trendline {
    /// How the path is used.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes the deltas of two groups, the later of which was complete at `arrived`.
    pub(super) fn update(&mut self, deltas: Deltas, arrived: Time) {
        let now_ms = arrived.as_secs() * 1e3;
        self.groups += 1;
        let first = *self.first_ms.get_or_insert(now_ms);
        self.accumulated += deltas.arrived_ms - deltas.sent_ms;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        self.window.push_back((now_ms - first, self.smoothed));
        if self.window.len() > WINDOW {
            self.window.pop_front();
        }
        let mut trend = self.trend;
        if self.window.len() == WINDOW {
            trend = slope(&self.window).unwrap_or(trend);
        }
        self.detect(trend, deltas.sent_ms, now_ms);
    }

    fn detect(&mut self, trend: f64, sent_ms: f64, now_ms: f64) {
        if self.groups < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let modified = f64::from(self.groups.min(MOST_GROUPS)) * trend * GAIN;
        if modified > self.threshold {
            let over = self.over_ms.map_or(sent_ms / 2.0, |over| over + sent_ms);
            self.over_ms = Some(over);
            self.over_count += 1;
            if over > OVERUSE_MS && self.over_count > 1 && trend >= self.trend {
                self.over_ms = Some(0.0);
                self.over_count = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.over_ms = None;
            self.over_count = 0;
            self.usage = if modified < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.trend = trend;
        self.adapt(modified, now_ms);
    }

    fn adapt(&mut self, modified: f64, now_ms: f64) {
        let since = now_ms - self.updated_ms.replace(now_ms).unwrap_or(now_ms);
        let size = modified.abs();
        if size > self.threshold + BEYOND {
            return;
        }
        let k = if size < self.threshold { K_DOWN } else { K_UP };
        self.threshold += k * (size - self.threshold) * since.min(LONGEST_STEP_MS);
        self.threshold = self.threshold.clamp(6.0, 600.0);
    }
}

/// Slope by least squares; `None` if all x are the same.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for (x, y) in points {
        numerator += (x - mean_x) * (y - mean_y);
        denominator += (x - mean_x) * (x - mean_x);
    }
    (denominator != 0.0).then(|| numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usage after groups sent every 20 ms, each of which takes so much longer to arrive than the one before.
    fn after(groups: u32, longer_ms: f64) -> (Usage, f64) {
        let mut trendline = Trendline::default();
        let mut at = 0.0;
        for _ in 0..groups {
            at += 20.0 + longer_ms;
            let deltas = Deltas { sent_ms: 20.0, arrived_ms: 20.0 + longer_ms };
            trendline.update(deltas, Time((at * 1e6) as u64));
        }
        (trendline.usage(), trendline.threshold)
    }

    #[test]
    fn a_growing_delay_is_overuse_and_a_falling_one_underuse() {
        // A queue that grows by 2 ms every 22 ms: a rate of 1.1 times the capacity.
        assert_eq!(after(40, 2.0).0, Usage::Over);
        assert_eq!(after(40, -2.0).0, Usage::Under);
        assert_eq!(after(40, 0.0).0, Usage::Normal);
        // No slope before the window is full.
        assert_eq!(after(19, 2.0).0, Usage::Normal);
    }

    #[test]
    fn the_threshold_falls_to_six_in_a_quiet_path_and_ignores_what_is_far_beyond() {
        assert_eq!(after(200, 0.0).1, 6.0);
        // 60 groups × a slope of 0.0909 × 4 = 21.8: within 15 of the threshold, which follows upwards.
        let risen = after(400, 2.0).1;
        assert!(risen > 12.5 && risen < 22.0, "{risen}");
        // Twenty times steeper: the threshold stays what it had become before the window was full.
        assert_eq!(after(400, 40.0).1, after(60, 40.0).1);
    }

    #[test]
    fn the_slope_is_that_of_least_squares() {
        let points: VecDeque<_> = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)].into();
        assert_eq!(slope(&points), Some(2.0));
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)].into()), None);
    }

    #[test]
    fn the_threshold_follows_by_its_two_gains_between_six_and_six_hundred() {
        let follow = |threshold: f64, size: f64, steps: usize, step_ms: f64| {
            let mut trendline = Trendline { threshold, updated_ms: Some(0.0), ..Trendline::default() };
            for step in 1..=steps {
                trendline.adapt(size, step as f64 * step_ms);
            }
            trendline.threshold
        };
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} for {wanted}");
        near(follow(20.0, 30.0, 1, 10.0), 20.0 + 0.0087 * 10.0 * 10.0);
        near(follow(20.0, 10.0, 1, 10.0), 20.0 - 0.039 * 10.0 * 10.0);
        near(follow(20.0, -30.0, 1, 10.0), follow(20.0, 30.0, 1, 10.0));
        // No step is longer than 100 ms, and what is more than 15 beyond is not followed.
        near(follow(20.0, 30.0, 1, 5000.0), follow(20.0, 30.0, 1, 100.0));
        near(follow(20.0, 35.0, 1, 10.0), 20.0 + 0.0087 * 15.0 * 10.0);
        near(follow(20.0, 35.1, 1, 10.0), 20.0);
        near(follow(595.0, 610.0, 400, 100.0), 600.0);
        near(follow(300.0, 310.0, 400, 100.0), 310.0);
        near(follow(20.0, 0.0, 400, 100.0), 6.0);
    }
}
