//! When a call's pictures get fewer or more lines: by the quantiser and by pictures that the coder left out.
//!
//! Source: libwebrtc `quality_scaler.cc` with the settings of `quality_scaling_experiment.cc`, which are its defaults
//! for VP8: fewer lines if the quantiser, smoothed with 0.9995 a millisecond, is above 95, or if of the last 150
//! pictures three fifths were left out; more if it, smoothed with 0.9999, is at most 29. Judged every two seconds until
//! lines were taken away for the first time, then every five, or each second while there are fewer than 60 pictures
//! since the last change.

use sojourn_net::{Span, Time};

const LOW: f64 = 29.0;
const HIGH: f64 = 95.0;
const ALPHA_LOW: f64 = 0.9999;
const ALPHA_HIGH: f64 = 0.9995;
const WINDOW: usize = 150;
const MOST_LEFT_OUT_PERCENT: usize = 60;
const LEAST_PICTURES: usize = 60;
const FIRST_PERIOD: Span = Span::from_secs(2);
const PERIOD: Span = Span::from_secs(5);
const TOO_FEW_PERIOD: Span = Span::from_secs(1);

/// What is to become of the lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Fewer,
    More,
}

/// The scaler of one sender.
#[derive(Debug)]
pub(super) struct QualityScaler {
    next: Time,
    /// No lines were taken away yet.
    begins: bool,
    /// The quantiser, smoothed for a step up and for a step down, and when.
    smoothed: Option<(f64, f64, Time)>,
    /// Of the last pictures, whether each was left out.
    left_out: [bool; WINDOW],
    pictures: usize,
}

impl QualityScaler {
    /// Judges from now on.
    pub(super) fn new(now: Time) -> Self {
        Self { next: now + FIRST_PERIOD, begins: true, smoothed: None, left_out: [false; WINDOW], pictures: 0 }
    }

    /// A picture was coded with this quantiser, or left out.
    pub(super) fn picture(&mut self, quantiser: Option<usize>, now: Time) {
        self.left_out[self.pictures % WINDOW] = quantiser.is_none();
        self.pictures += 1;
        if let Some(quantiser) = quantiser.map(|quantiser| quantiser as f64) {
            let (low, high, before) = self.smoothed.unwrap_or((quantiser, quantiser, now));
            let ms = now.since(before).as_millis();
            let smooth = |old: f64, alpha: f64| quantiser + libm::pow(alpha, ms) * (old - quantiser);
            self.smoothed = Some((smooth(low, ALPHA_LOW), smooth(high, ALPHA_HIGH), now));
        }
    }

    /// Asked before each picture.
    pub(super) fn step(&mut self, now: Time) -> Option<Step> {
        if now < self.next {
            return None;
        }
        let enough = self.pictures >= LEAST_PICTURES;
        let step = self.judge().filter(|_| enough);
        self.begins &= step != Some(Step::Fewer);
        self.next = now
            + match (self.begins, enough) {
                (true, _) => FIRST_PERIOD,
                (false, true) => PERIOD,
                (false, false) => TOO_FEW_PERIOD,
            };
        if step.is_some() {
            self.clear();
        }
        step
    }

    fn judge(&self) -> Option<Step> {
        let window = self.pictures.min(WINDOW);
        let left_out = self.left_out[..window].iter().filter(|left_out| **left_out).count();
        if left_out * 100 / window.max(1) >= MOST_LEFT_OUT_PERCENT {
            return Some(Step::Fewer);
        }
        let (low, high, _) = self.smoothed?;
        if high.floor() > HIGH { Some(Step::Fewer) } else { (low.floor() <= LOW).then_some(Step::More) }
    }

    fn clear(&mut self) {
        (self.smoothed, self.pictures) = (None, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of some seconds at 30 pictures a second, by the time in ms.
    fn run(seconds: u64, quantiser: impl Fn(u64) -> Option<usize>) -> Vec<(u64, Step)> {
        let mut scaler = QualityScaler::new(Time::ZERO);
        let mut steps = Vec::new();
        for i in 0..30 * seconds {
            let now = Time(i * 33_333_334);
            steps.extend(scaler.step(now).map(|step| (now.0 / 1_000_000, step)));
            scaler.picture(quantiser(i), now);
        }
        steps
    }

    #[test]
    fn steps_up_come_every_two_seconds_and_steps_down_every_five() {
        let times = |quantiser| run(20, |_| Some(quantiser));
        let up: Vec<u64> = times(29).iter().map(|(ms, _)| ms / 100).collect();
        assert_eq!(up[..3], [20, 40, 60]);
        assert!(times(29).iter().all(|(_, step)| *step == Step::More));
        let down = times(96);
        assert_eq!(down.iter().map(|(ms, _)| ms / 100).collect::<Vec<_>>(), [20, 70, 120, 170]);
        assert!(down.iter().all(|(_, step)| *step == Step::Fewer));
        assert_eq!((times(30), times(95)), (vec![], vec![]));
    }

    #[test]
    fn three_fifths_left_out_take_lines_away() {
        let of_five = |left_out: u64| run(10, |i| (i % 5 >= left_out).then_some(60));
        assert_eq!(of_five(3)[0].1, Step::Fewer);
        assert_eq!(of_five(2), []);
    }

    #[test]
    fn the_step_up_looks_further_back_than_the_step_down() {
        // From 60 to 20 after 3 s: 29 is reached by e^(-t / 10 s) = 9/40, 15 s later; from 60 to 127 by a step down
        // 1.5 s later, at the next look.
        let up = run(30, |i| Some(if i < 90 { 60 } else { 20 }));
        assert_eq!((up[0].0 / 1000, up[0].1), (18, Step::More));
        let down = run(30, |i| Some(if i < 90 { 60 } else { 127 }));
        assert_eq!((down[0].0 / 1000, down[0].1), (6, Step::Fewer));
    }
}
