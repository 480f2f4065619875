//! Freezes of the picture, as libwebrtc counts them for `getStats`.
//!
//! Source: libwebrtc `video_quality_observer2.cc`: a gap between two frames of at least three times the mean of the
//! last 30 gaps, itself among them, and of at least that mean and 150 ms, once there are five.

use sojourn_net::{Span, Time};
use std::collections::VecDeque;

const GAPS: usize = 30;
const LEAST_GAPS: usize = 5;
const LEAST_INCREASE: Span = Span::from_millis(150);

/// The last gaps.
#[derive(Debug, Default)]
pub(super) struct FreezeDetector {
    last: Option<Time>,
    gaps: VecDeque<Span>,
}

impl FreezeDetector {
    /// A frame is shown: the time since the one before it, and whether the picture was frozen.
    pub(super) fn shown(&mut self, now: Time) -> Option<(Span, bool)> {
        let gap = now.since(self.last.replace(now)?);
        self.gaps.push_back(gap);
        if self.gaps.len() > GAPS {
            self.gaps.pop_front();
        }
        let mean = Span(self.gaps.iter().map(|gap| gap.0).sum::<u64>() / self.gaps.len() as u64);
        let frozen = self.gaps.len() >= LEAST_GAPS && gap >= (mean * 3).max(mean + LEAST_INCREASE);
        Some((gap, frozen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_of_three_means_and_150_ms_more_is_a_freeze() {
        let shown = |gap_ms: u64, before: u64| {
            let mut detector = FreezeDetector::default();
            let at = |ms: u64| Time(ms * 1_000_000);
            (0..=before).for_each(|i| {
                detector.shown(at(30 * i));
            });
            detector.shown(at(30 * before + gap_ms)).unwrap().1
        };
        // 29 gaps of 30 ms and one of g: a mean of 29 + g/30, and 150 ms more are reached at 185.2 ms.
        assert!(!shown(185, 29) && shown(186, 29));
        // Too few gaps.
        assert!(!shown(1000, 3) && shown(1000, 4));
    }
}
