//! When to probe, and how fast.
//!
//! Source: libwebrtc `probe_controller.cc`. At the start three and six times the first rate, then twice the result
//! while it is more than 0.7 of the last probe. Every five seconds of an application-limited region twice the estimate.
//! After a drop to less than 0.66 in or just after such a region, 0.85 of what was before, within five seconds. Limited
//! by loss: 1.5 times the estimate at most. Nothing while it falls by loss, while the queue grows or drains, or while
//! round trips are too long. Never more than 5 Mbit/s if the call has no limit, nor more than twice the highest rate of
//! its streams.

use super::feedback::Probe;
use sojourn_net::{Span, Time};

const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const FURTHER_THRESHOLD: f64 = 0.7;
const IN_ALR: f64 = 2.0;
const LOSS_LIMITED: f64 = 1.5;
const RESULT_WITHIN: Span = Span::from_secs(1);
const ALR_INTERVAL: Span = Span::from_secs(5);
const ALR_ENDED: Span = Span::from_secs(3);
const DROP: f64 = 0.66;
const AFTER_DROP: f64 = 0.85;
const DROP_WITHIN: Span = Span::from_secs(5);
const UNCERTAINTY: f64 = 0.05;
/// A probe takes at least so long, in at least so many sendings of at least so much time's bytes. Longer ones at the
/// start are for pages that let libwebrtc probe before there is media.
const DURATION: Span = Span::from_millis(15);
const SENDINGS: u32 = 5;
const SPACING: Span = Span::from_millis(2);

/// What limits the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LimitedBy {
    /// Delays, or nothing.
    #[default]
    Delay,
    /// A queue that grows or drains, round trips that are too long, or losses, and it falls.
    Held,
    /// Losses, and it grows.
    LossIncreasing,
}

/// The controller; probes that it asks for are taken with [`ProbeController::take`].
#[derive(Debug, Default)]
pub(super) struct ProbeController {
    /// Most that is ever probed, in bit/s.
    most: f64,
    estimate: f64,
    limited_by: LimitedBy,
    /// A result above this is followed by a faster probe.
    further_above: f64,
    waiting: bool,
    last_probe: Time,
    alr_ended: Option<Time>,
    large_drop: Option<(Time, f64)>,
    drop_probe: Option<Time>,
    probes: Vec<Probe>,
    clusters: u32,
}

impl ProbeController {
    /// Starts at a rate, with the limit of the call and the highest rate of its streams.
    pub(super) fn new(start: f64, most: f64, streams: f64, now: Time) -> Self {
        let most = most.min(2.0 * streams);
        let mut controller =
            Self { most, estimate: start, further_above: f64::INFINITY, last_probe: now, ..Self::default() };
        controller.probe(&FIRST.map(|factor| factor * start), true, now);
        controller
    }

    /// The probes asked for since the last time.
    pub(super) fn take(&mut self) -> Vec<Probe> {
        std::mem::take(&mut self.probes)
    }

    /// The application-limited region ended.
    pub(super) fn alr_ended(&mut self, now: Time) {
        self.alr_ended = Some(now);
    }

    /// The target is now this.
    pub(super) fn set_estimate(&mut self, rate: f64, limited_by: LimitedBy, now: Time) {
        self.limited_by = limited_by;
        if rate < DROP * self.estimate {
            self.large_drop = Some((now, self.estimate));
        }
        self.estimate = rate;
        if self.waiting && rate > self.further_above {
            self.probe(&[FURTHER * rate], true, now);
        }
    }

    /// Time passes; `alr` is when the present application-limited region began.
    pub(super) fn process(&mut self, alr: Option<Time>, now: Time) {
        if now.since(self.last_probe) > RESULT_WITHIN {
            self.waiting = false;
        }
        if !self.waiting && alr.is_some_and(|since| now >= since.max(self.last_probe) + ALR_INTERVAL) {
            self.probe(&[IN_ALR * self.estimate], true, now);
        }
    }

    /// The queue has drained after an overuse.
    pub(super) fn recovered(&mut self, alr: Option<Time>, now: Time) {
        let limited = alr.is_some() || self.alr_ended.is_some_and(|ended| now.since(ended) < ALR_ENDED);
        let Some((at, before)) = self.large_drop.filter(|_| limited && !self.waiting) else { return };
        let rate = AFTER_DROP * before;
        let lately = self.drop_probe.is_some_and(|last| now.since(last) <= ALR_INTERVAL);
        if (1.0 - UNCERTAINTY) * rate > self.estimate && now.since(at) < DROP_WITHIN && !lately {
            self.drop_probe = Some(now);
            self.probe(&[rate], false, now);
        }
    }

    fn probe(&mut self, rates: &[f64], further: bool, now: Time) {
        let most = match self.limited_by {
            LimitedBy::Delay => self.most,
            LimitedBy::LossIncreasing => self.most.min(self.estimate * LOSS_LIMITED),
            LimitedBy::Held => return,
        };
        let mut further = further;
        let mut last = 0.0;
        for rate in rates {
            if *rate >= most {
                further = false;
            }
            last = rate.min(most);
            self.clusters += 1;
            self.probes.push(Probe {
                id: self.clusters,
                rate: last,
                bytes: last / 8.0 * DURATION.as_secs(),
                sendings: SENDINGS,
                spacing: SPACING,
                asked: now,
            });
        }
        self.last_probe = now;
        self.waiting = further;
        self.further_above = if further { FURTHER_THRESHOLD * last } else { f64::INFINITY };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(controller: &mut ProbeController) -> Vec<f64> {
        controller.take().iter().map(|probe| probe.rate).collect()
    }

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn it_starts_with_three_and_six_times_and_doubles_what_is_found() {
        let mut controller = ProbeController::new(300e3, 5e6, 5e6, at(0));
        let first = controller.take();
        assert_eq!(first.iter().map(|probe| probe.rate).collect::<Vec<_>>(), [900e3, 1800e3]);
        assert!((first[0].bytes - 1687.5).abs() < 1e-6 && first[0].spacing == Span::from_millis(2));
        controller.set_estimate(1250e3, LimitedBy::Delay, at(200));
        assert!(rates(&mut controller).is_empty());
        controller.set_estimate(1700e3, LimitedBy::Delay, at(300));
        assert_eq!(rates(&mut controller), [3400e3]);
        controller.set_estimate(3300e3, LimitedBy::Delay, at(400));
        assert_eq!(rates(&mut controller), [5e6]);
        // The limit is reached: no further probe.
        controller.set_estimate(4900e3, LimitedBy::Delay, at(500));
        assert!(rates(&mut controller).is_empty());
    }

    #[test]
    fn an_application_limited_region_is_probed_every_five_seconds() {
        let mut controller = ProbeController::new(300e3, 5e6, 5e6, at(0));
        controller.take();
        let mut probed = Vec::new();
        for ms in (0..20_000).step_by(25) {
            controller.process(Some(at(1000)), at(ms));
            if !controller.take().is_empty() {
                probed.push(ms);
            }
        }
        assert_eq!(probed, [6000, 11_000, 16_000]);
    }

    #[test]
    fn a_held_estimate_is_not_probed_and_one_that_grows_after_losses_by_half_again() {
        let mut controller = ProbeController::new(300e3, 5e6, 5e6, at(0));
        controller.take();
        controller.set_estimate(300e3, LimitedBy::Held, at(1));
        controller.process(Some(at(0)), at(6000));
        assert!(rates(&mut controller).is_empty());
        controller.set_estimate(300e3, LimitedBy::LossIncreasing, at(6100));
        controller.process(Some(at(0)), at(6200));
        assert_eq!(rates(&mut controller), [450e3]);
    }
}
