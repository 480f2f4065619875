//! Application-limited regions: whether less is sent than the target allows.
//!
//! Source: libwebrtc `alr_detector.cc`, `interval_budget.cc`: a budget of 65 % of the target over 500 ms, of which what
//! is sent is taken. The region begins when more than 80 % of it is left over, and ends below 50 %.

use sojourn_net::{Span, Time};

const SHARE: f64 = 0.65;
const WINDOW: Span = Span::from_millis(500);
const START: f64 = 0.80;
const STOP: f64 = 0.50;

/// The budget in bytes, and when the present region began.
#[derive(Debug, Default)]
pub(super) struct AlrDetector {
    rate: f64,
    left: f64,
    last: Option<Time>,
    since: Option<Time>,
}

impl AlrDetector {
    /// When the present region began, if this is one.
    pub(super) fn since(&self) -> Option<Time> {
        self.since
    }

    /// The target is now this, in bit/s.
    pub(super) fn set_target(&mut self, rate: f64) {
        self.rate = rate * SHARE;
        let most = self.most();
        self.left = self.left.clamp(-most, most);
    }

    /// So many bytes were sent.
    pub(super) fn sent(&mut self, now: Time, bytes: u32) {
        let Some(last) = self.last.replace(now) else { return };
        let most = self.most();
        self.left = (self.left - f64::from(bytes)).max(-most);
        self.left = (self.left + self.rate / 8.0 * now.since(last).as_secs()).min(most);
        let level = if most > 0.0 { self.left / most } else { 0.0 };
        if level > START && self.since.is_none() {
            self.since = Some(now);
        } else if level < STOP {
            self.since = None;
        }
    }

    fn most(&self) -> f64 {
        self.rate / 8.0 * WINDOW.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_target_is_a_region_and_most_of_it_is_none() {
        let mut detector = AlrDetector::default();
        detector.set_target(1e6);
        let mut now = Time::ZERO;
        let mut send = |detector: &mut AlrDetector, share: f64| {
            for _ in 0..400 {
                now += Span::from_millis(10);
                detector.sent(now, (1250.0 * share) as u32);
            }
            detector.since().is_some()
        };
        assert!(send(&mut detector, 0.5));
        assert!(!send(&mut detector, 0.9));
        assert!(send(&mut detector, 0.5));
    }
}
