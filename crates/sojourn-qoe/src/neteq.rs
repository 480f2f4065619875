//! Playout after libwebrtc's NetEq: it aims at a percentile of the delays, and stretches time to get there.
//!
//! Source: libwebrtc of January 2026, `modules/audio_coding/neteq`: `delay_manager.cc`, `underrun_optimizer.cc` and
//! `histogram.cc` (relative delays, the longest of each 500 ms, in buckets of 20 ms; forgotten by 0.983 with a start
//! weight of 2; the target is one bucket more than the 95th percentile, 80 ms before the first) and `decision_logic.cc`
//! (sound is drawn out below the target, cut short from the target and the longest delay and 20 ms on, at most every
//! 50 ms). Delays are relative to the shortest of the last 2 s.
//!
//! Differences: a stretch is 10 ms (NetEq's are pitch periods, where speech allows), 20 ms at four times the upper
//! limit, once in three frames; a packet that comes too late is concealed, and what follows is played behind it, later
//! by as many periods of 10 ms as it takes (NetEq draws sound out until the packet is there, and plays it). Its
//! reordering optimiser is left out: packets of one call are not reordered here.

use crate::playout::{DROPPED, Frames, Played, outcome, times};
use std::collections::VecDeque;

const MS: i64 = 1_000_000;
const BUCKETS: usize = 100;
const BUCKET_NS: i64 = 20 * MS;
const QUANTILE: f64 = 0.95;
const FORGET: f64 = 0.983;
const START_WEIGHT: f64 = 2.0;
const RESAMPLE_NS: i64 = 500 * MS;
const HISTORY_NS: i64 = 2000 * MS;
const START_NS: i64 = 80 * MS;
const APART_NS: i64 = 20 * MS;
const STRETCH_NS: i64 = 10 * MS;
const FAST_NS: i64 = 20 * MS;
const EVERY: i64 = 3;

/// Plays frames as NetEq does.
pub fn neteq(frames: Frames<'_>) -> Played {
    let mut turns = vec![DROPPED; frames.sent_ns.len()];
    let mut target = Target::new();
    let (mut shortest, mut longest) = (Extreme::new(1), Extreme::new(-1));
    // The playout time of a frame minus its sending time; nothing is played before the first arrival.
    let mut playing = None;
    let mut rest = 0;
    for (i, (at, delay)) in times(frames).enumerate() {
        if delay >= 0 {
            shortest.add(at, delay);
            longest.add(at, delay);
            target.update(at + delay, delay - shortest.value());
            playing.get_or_insert(delay);
        }
        let Some(offset) = &mut playing else { continue };
        rest -= 1;
        let by = stretch(*offset - shortest.value(), target.ns, longest.value() - shortest.value());
        if by != 0 && (rest <= 0 || by == -FAST_NS) {
            *offset += by;
            rest = EVERY;
        }
        turns[i] = at + *offset;
        if delay > *offset {
            *offset -= (*offset - delay).div_euclid(STRETCH_NS) * STRETCH_NS;
        }
    }
    outcome(frames, &turns, START_NS)
}

/// The level that is aimed at: a percentile of relative delays.
struct Target {
    ns: i64,
    buckets: [f64; BUCKETS],
    added: u32,
    since: Option<i64>,
    longest: i64,
}

impl Target {
    fn new() -> Self {
        Self { ns: START_NS, buckets: [0.0; BUCKETS], added: 0, since: None, longest: 0 }
    }

    /// Takes the relative delay of a packet that arrived.
    fn update(&mut self, at_ns: i64, relative_ns: i64) {
        let since = *self.since.get_or_insert(at_ns);
        if at_ns - since > RESAMPLE_NS {
            self.add(self.longest);
            (self.since, self.longest) = (Some(at_ns), 0);
        }
        self.longest = self.longest.max(relative_ns);
    }

    fn add(&mut self, relative_ns: i64) {
        // The first two samples count alone, each later one for less, down to what is usual.
        let later = (1.0 - START_WEIGHT / (f64::from(self.added) + 1.0)).clamp(0.0, FORGET);
        let keep = if self.added > 0 { later } else { 0.0 };
        let bucket = (relative_ns / BUCKET_NS) as usize;
        if bucket < BUCKETS {
            self.buckets.iter_mut().for_each(|share| *share *= keep);
            self.buckets[bucket] += 1.0 - keep;
            self.added += 1;
        }
        let mut sum = 0.0;
        let reached = self.buckets.iter().position(|share| {
            sum += share;
            sum >= QUANTILE
        });
        self.ns = reached.map_or(BUCKETS, |bucket| bucket + 1) as i64 * BUCKET_NS;
    }
}

/// The shortest (sign 1) or longest (-1) delay of the last 2 s.
struct Extreme {
    sign: i64,
    kept: VecDeque<(i64, i64)>,
}

impl Extreme {
    fn new(sign: i64) -> Self {
        Self { sign, kept: VecDeque::new() }
    }

    fn add(&mut self, at_ns: i64, delay_ns: i64) {
        while self.kept.back().is_some_and(|(_, delay)| self.sign * (delay - delay_ns) >= 0) {
            self.kept.pop_back();
        }
        self.kept.push_back((at_ns, delay_ns));
        while self.kept.front().is_some_and(|(at, _)| *at < at_ns - HISTORY_NS) {
            self.kept.pop_front();
        }
    }

    /// It is asked when something has arrived.
    fn value(&self) -> i64 {
        self.kept.front().map_or(0, |(_, delay)| *delay)
    }
}

/// By how much the next frame is drawn out, or cut short (negative).
fn stretch(level_ns: i64, target_ns: i64, longest_ns: i64) -> i64 {
    let high = target_ns + longest_ns + APART_NS;
    match level_ns {
        level if level < target_ns => STRETCH_NS,
        level if level >= 4 * high => -FAST_NS,
        level if level >= high => -STRETCH_NS,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(delays_ms: impl Iterator<Item = i64>) -> Played {
        let delay_ns: Vec<_> = delays_ms.map(|delay| if delay < 0 { -1 } else { delay * MS }).collect();
        let sent_ns: Vec<_> = (0..delay_ns.len() as u64).map(|i| i * 20_000_000).collect();
        neteq(Frames { sent_ns: &sent_ns, delay_ns: &delay_ns })
    }

    fn count(flags: &[bool]) -> usize {
        flags.iter().filter(|flag| **flag).count()
    }

    /// The target in ms after the longest relative delays of so many half seconds.
    fn after(relative_ms: &[i64]) -> i64 {
        let (mut target, mut at) = (Target::new(), 0);
        for each in relative_ms {
            for _ in 0..26 {
                target.update(at, each * MS);
                at += 20 * MS;
            }
        }
        target.update(at, 0);
        target.ns / MS
    }

    #[test]
    fn the_target_is_one_bucket_more_than_the_percentile() {
        assert_eq!(Target::new().ns, 80 * MS);
        assert_eq!((after(&[0]), after(&[45])), (20, 60));
        // The first two count alone; of two equal samples 45 ms is more than 5 %.
        assert_eq!(after(&[0, 0, 45, 0]), 60);
        // One in forty is less than 5 %: forgotten.
        let late: Vec<_> = [45].into_iter().chain([0; 60]).collect();
        assert_eq!(after(&late), 20);
    }

    #[test]
    fn what_cannot_be_registered_leaves_the_target_alone() {
        assert_eq!(after(&[0, 2500]), after(&[0]));
    }

    #[test]
    fn a_quiet_path_waits_for_one_frame_and_loses_none() {
        let found = heard([30; 500].into_iter());
        assert_eq!(count(&found.erased), 0);
        // Playing begins at once and is drawn out towards 80 ms; then 20 ms would do, up to 40 are let be.
        assert!(20e6 < found.wait_ns && found.wait_ns < 45e6, "{}", found.wait_ns);
    }

    #[test]
    fn jitter_below_the_target_makes_nothing_late_and_beyond_it_little() {
        // Multiplication by a primitive root scatters.
        let scattered = |spread: i64| {
            (0..500i64)
                .scan(1, |x, _| {
                    *x = *x * 263 % 499;
                    Some(*x)
                })
                .map(move |x| 30 + x % spread)
        };
        let (small, large) = (heard(scattered(18)), heard(scattered(90)));
        assert_eq!(count(&small.late), 0);
        assert!(count(&large.late) < 10, "{}", count(&large.late));
        // From sending to playing: mean delays of 75 and 39 ms, and the wait.
        assert!(large.wait_ns + 75e6 > small.wait_ns + 39e6 + 20e6);
    }

    #[test]
    fn a_growing_queue_is_followed_up_and_an_emptying_one_down() {
        let ramp = |i: i64| 30 + i * 400 / 499;
        let (up, down) = (heard((0..500).map(ramp)), heard((0..500).rev().map(ramp)));
        assert!(count(&up.late) < 10);
        assert_eq!(count(&down.late), 0);
        assert!(down.wait_ns < 200e6, "what was waited for when the queue was full is caught up");
    }

    #[test]
    fn losses_are_losses_and_nobody_waits_for_them() {
        let found = heard((0..500).map(|i| if [0, 100, 101].contains(&i) { -1 } else { 30 }));
        let erased: Vec<_> = (0..500).filter(|i| found.erased[*i]).collect();
        assert_eq!((erased, count(&found.late)), (vec![0, 100, 101], 0));
        assert!(heard([-1; 500].into_iter()).erased.iter().all(|erased| *erased));
    }

    #[test]
    fn a_delay_beyond_the_last_bucket_is_not_counted() {
        let (mut within, mut beyond) = (Target::new(), Target::new());
        within.add((BUCKETS as i64 * BUCKET_NS) - 1);
        beyond.add(BUCKETS as i64 * BUCKET_NS);
        assert_eq!((within.added, within.ns / MS), (1, 2000));
        assert_eq!(beyond.added, 0);
    }
}
