//! How much less a call's coder is asked for than its pictures may take, since it takes more.
//!
//! Source: libwebrtc `encoder_bitrate_adjuster.cc`, `encoder_overshoot_detector.cc`, `rate_utilization_tracker.cc`: the
//! target is divided by how much of it the pictures of the last three seconds took, as a pacer at the target sees them:
//! each picture counts 1, and what of those before it is still unsent beyond its own place, over its share. At least 1,
//! at most 2, and 1.2 for the first thirty pictures of a coder. Where the link has more than the coder may take, its
//! pictures may exceed their pace by as much, but not their rate: what was produced over what was allowed in those
//! seconds.
//! Differences: none known.

use sojourn_net::{Span, Time};
use std::collections::VecDeque;

const WINDOW: Span = Span::from_secs(3);
const FIRST_PICTURES: u32 = 30;
const FIRST: f64 = 1.2;
const MOST: f64 = 2.0;
const MOST_POINTS: usize = 100;

/// What a coder is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    /// What its pictures may take, and what the link would give them, in bit/s.
    pub(super) target: f64,
    pub(super) link: f64,
    /// What it is never asked for less than.
    pub(super) least: f64,
}

/// Adjusts the rate of one coder.
#[derive(Debug)]
pub(super) struct Adjuster {
    pictures: u32,
    pace: Pace,
    production: Production,
}

impl Adjuster {
    /// Of a coder of so many pictures a second.
    pub(super) fn new(fps: f64) -> Self {
        Self { pictures: 0, pace: Pace::new(fps), production: Production::default() }
    }

    /// The coder made a picture of so many bits.
    pub(super) fn picture(&mut self, bits: f64, now: Time) {
        self.pictures += 1;
        self.pace.picture(bits, now);
        self.production.point(bits, now);
    }

    /// What it is asked for now, in bit/s.
    pub(super) fn adjust(&mut self, asked: &Asked, now: Time) -> f64 {
        self.production.rate = asked.target;
        self.production.point(0.0, now);
        let (mut taken, mut produced) = (FIRST, FIRST);
        if self.pictures >= FIRST_PICTURES {
            taken = self.pace.taken(now).unwrap_or(FIRST);
            produced = self.production.share(now).unwrap_or(FIRST);
        }
        let taken = taken.clamp(1.0, MOST);
        let wanted = (taken - produced.max(1.0)).max(0.0) * asked.target;
        let granted = wanted.min(asked.link - asked.target).max(0.0);
        let adjusted = (asked.target / taken * (1.0 + granted / asked.target)).min(asked.target).max(asked.least);
        self.pace.set_rate(adjusted, now);
        adjusted
    }
}

/// A pacer at the coder's rate, and what it says of each picture.
#[derive(Debug)]
struct Pace {
    fps: f64,
    rate: f64,
    unsent: f64,
    at: Time,
    counts: VecDeque<(Time, f64)>,
    sum: f64,
}

impl Pace {
    fn new(fps: f64) -> Self {
        Self { fps, rate: 0.0, unsent: 0.0, at: Time::ZERO, counts: VecDeque::new(), sum: 0.0 }
    }

    fn set_rate(&mut self, rate: f64, now: Time) {
        self.send(now);
        self.rate = rate;
    }

    fn send(&mut self, now: Time) {
        self.unsent = (self.unsent - self.rate * now.since(self.at).as_secs()).max(0.0);
        self.at = now;
    }

    fn picture(&mut self, bits: f64, now: Time) {
        self.send(now);
        let share = self.rate / self.fps;
        let over = (self.unsent + bits - share).clamp(0.0, self.unsent);
        let count = if self.counts.is_empty() { (bits / share).max(1.0) } else { 1.0 + over / share };
        self.unsent += bits - over;
        self.counts.push_back((now, count));
        self.sum += count;
    }

    /// The mean of the window; `None` without a picture.
    fn taken(&mut self, now: Time) -> Option<f64> {
        while let Some((at, count)) = self.counts.front()
            && now.since(*at) > WINDOW
        {
            self.sum -= count;
            self.counts.pop_front();
        }
        (!self.counts.is_empty()).then(|| self.sum / self.counts.len() as f64)
    }
}

/// Bits that were produced, and the rates that were allowed.
#[derive(Debug, Default)]
struct Production {
    rate: f64,
    /// When, the rate from then on, and what was produced then: something by the first of them.
    points: VecDeque<(Time, f64, f64)>,
}

impl Production {
    /// A picture, or another rate.
    fn point(&mut self, bits: f64, now: Time) {
        match self.points.back_mut().filter(|(at, ..)| *at == now) {
            Some(last) => (last.1, last.2) = (self.rate, last.2 + bits),
            None => self.points.push_back((now, self.rate, bits)),
        }
        while let Some((at, _, bits)) = self.points.front()
            && (now.since(*at) > WINDOW || self.points.len() > MOST_POINTS || *bits == 0.0)
        {
            self.points.pop_front();
        }
    }

    /// What was produced over what was allowed; `None` without a picture. The last picture may take its time.
    fn share(&self, now: Time) -> Option<f64> {
        let (mut allowed, mut produced) = (0.0, 0.0);
        let mut last = (0.0, 0.0);
        for (point, before) in self.points.iter().zip(std::iter::once(None).chain(self.points.iter().map(Some))) {
            let since = before.map_or(0.0, |(at, rate, _)| rate * point.0.since(*at).as_secs());
            allowed += since;
            produced += point.2;
            last = if point.2 > 0.0 { (point.2, 0.0) } else { (last.0, f64::min(last.0, last.1 + since)) };
        }
        let (at, rate, _) = self.points.back()?;
        allowed += (rate * now.since(*at).as_secs()).max(last.0 - last.1);
        Some(produced / allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked = Asked { target: 300e3, link: 300e3, least: 30e3 };

    fn at(picture: u64) -> Time {
        Time(picture * 33_333_333)
    }

    /// What is asked for after pictures of so many bits, each as the rate before it asks.
    fn after(pictures: u64, asked: &Asked, bits: impl Fn(u64, f64) -> f64) -> f64 {
        let mut adjuster = Adjuster::new(30.0);
        (0..pictures).fold(adjuster.adjust(asked, at(0)), |rate, i| {
            adjuster.picture(bits(i, rate), at(i));
            adjuster.adjust(asked, at(i) + Span::from_millis(5))
        })
    }

    #[test]
    fn the_first_thirty_pictures_have_a_sixth_less() {
        let even = |pictures| after(pictures, &ASKED, |_, rate| rate / 30.0);
        assert_eq!([0, 29].map(even), [250e3, 250e3]);
        assert!((even(31) - 300e3).abs() < 300.0, "{}", even(31));
    }

    #[test]
    fn a_coder_that_takes_more_is_asked_for_less_down_to_half() {
        // Half as much again as is asked for, and ten times as much.
        assert!((after(200, &ASKED, |_, rate| 1.5 * rate / 30.0) - 200e3).abs() < 3e3);
        assert_eq!(after(200, &ASKED, |_, rate| rate / 3.0), 150e3);
        // Less is not made up for.
        assert_eq!(after(200, &ASKED, |_, rate| 0.5 * rate / 30.0), 300e3);
        assert_eq!(after(0, &Asked { least: 280e3, ..ASKED }, |_, _| 0.0), 280e3);
    }

    #[test]
    fn large_and_small_pictures_in_turn_count_as_a_pacer_sees_them() {
        // 1.5 and 0.5 of the share: half of it is unsent when the small one comes, and fits beside it.
        let turns = |i: u64, rate: f64| if i.is_multiple_of(2) { 0.05 * rate } else { rate / 60.0 };
        assert!(after(200, &ASKED, turns) > 290e3);
        // Three of 1.5 and three of 0.5: what is left of two comes in the way of the third.
        let threes = |i: u64, rate: f64| if i % 6 < 3 { 0.05 * rate } else { rate / 60.0 };
        let found = after(200, &ASKED, threes);
        assert!((240e3..290e3).contains(&found), "{found}");
        // A link with room lets them, and by half what exceeds their rate.
        assert!(after(200, &Asked { link: 600e3, ..ASKED }, threes) > 290e3);
        let more = after(200, &Asked { link: 600e3, ..ASKED }, |_, rate| 1.5 * rate / 30.0);
        assert!((more - 250e3).abs() < 10e3, "{more}");
    }
}
