//! How fast a link serves: a constant rate, one that changes at given times, or opportunities of a trace.
//!
//! A transmission that spans a change of rate is served at each rate for its part: the finishing time solves
//! ∫ rate dt = bits. (ns-2 and ns-3 let the packet in service finish at the old rate.)

mod opportunities;

pub use opportunities::Opportunities;

use crate::{Rate, Span, Time};
use opportunities::Taken;
use std::sync::Arc;

/// The rate of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub enum RateProfile {
    /// Always the same.
    Constant(Rate),
    /// Transmission takes no time: no bottleneck at all.
    Unlimited,
    /// Rates in force from given instants on, in order, the first at time zero; starts again after `repeat` if given.
    Steps {
        /// `(from, rate)`; a rate of zero stops the link.
        steps: Vec<(Span, Rate)>,
        /// Length of the cycle.
        repeat: Option<Span>,
    },
    /// Bytes that may leave at given instants only.
    Opportunities(Arc<Opportunities>),
}

impl RateProfile {
    /// The rate in force at `now`, or the mean of opportunities; `None` if unlimited.
    pub fn at(&self, now: Time) -> Option<Rate> {
        match self {
            Self::Constant(rate) => Some(*rate),
            Self::Unlimited => None,
            Self::Steps { steps, repeat } => Some(segment(steps, *repeat, now).0),
            Self::Opportunities(trace) => Some(trace.mean()),
        }
    }

    /// The mean rate between two instants; `None` if unlimited.
    pub fn mean_between(&self, from: Time, to: Time) -> Option<Rate> {
        let Self::Steps { steps, repeat } = self else { return self.at(from) };
        let (mut now, mut work) = (from, 0u128);
        while now < to {
            let (rate, until) = segment(steps, *repeat, now);
            let until = until.min(to);
            work += u128::from(rate.0) * u128::from(until.since(now).0);
            now = until;
        }
        Some(Rate((work / u128::from(to.since(from).0.max(1))) as u64))
    }

    /// The mean rate over a cycle (or of the last step, without one); `None` if unlimited.
    pub fn mean(&self) -> Option<Rate> {
        match self {
            Self::Steps { steps, repeat: Some(cycle) } if cycle.0 > 0 => {
                let ends = steps.iter().skip(1).map(|s| s.0).chain([*cycle]);
                let bits: u128 =
                    steps.iter().zip(ends).map(|((from, r), to)| u128::from((to - *from).0) * u128::from(r.0)).sum();
                Some(Rate((bits / u128::from(cycle.0)) as u64))
            }
            Self::Steps { steps, .. } => steps.last().map(|s| s.1),
            other => other.at(Time::ZERO),
        }
    }
}

/// The rate at `now` and when it next changes.
fn segment(steps: &[(Span, Rate)], repeat: Option<Span>, now: Time) -> (Rate, Time) {
    let (cycle_start, phase) = match repeat {
        Some(cycle) if cycle.0 > 0 => (now.0 - now.0 % cycle.0, now.0 % cycle.0),
        _ => (0, now.0),
    };
    let i = steps.partition_point(|(from, _)| from.0 <= phase).max(1) - 1;
    let end = match (steps.get(i + 1), repeat) {
        (Some((next, _)), _) => Time(cycle_start + next.0),
        (None, Some(cycle)) if cycle.0 > 0 => Time(cycle_start + cycle.0),
        _ => Time::NEVER,
    };
    (steps[i].1, end)
}

/// A rate at work: turns sizes into finishing times, exact over a busy period (the part of a nanosecond that one
/// transmission leaves over is given to the next).
#[derive(Clone, Debug)]
pub struct Service {
    profile: RateProfile,
    /// Constant rate only: nanoseconds × rate still owed, below `rate`.
    carry: u64,
    /// The size asked for last, its whole nanoseconds and what is over: most packets of a link have one size.
    memo: (u32, u64, u64),
    /// Opportunities only: what of them is used.
    taken: Taken,
}

impl Service {
    /// A link at rest.
    pub fn new(profile: RateProfile) -> Self {
        Self { profile, carry: 0, memo: (0, 0, 0), taken: Taken::default() }
    }

    /// The rate over time.
    pub fn profile(&self) -> &RateProfile {
        &self.profile
    }

    /// When a transmission that could start at `now` does: at once, but for opportunities, which must be waited for.
    /// `back_to_back`: the link was busy, or waited for this opportunity, until `now`.
    #[inline]
    pub fn opening(&mut self, now: Time, back_to_back: bool) -> Time {
        match &self.profile {
            RateProfile::Opportunities(trace) => self.taken.opening(trace, now, back_to_back),
            _ => now,
        }
    }

    /// When `bytes` whose transmission starts at `start` have left. `back_to_back`: the link was busy until `start`.
    #[inline]
    pub fn finish(&mut self, start: Time, bytes: u32, back_to_back: bool) -> Time {
        let RateProfile::Constant(rate) = &self.profile else { return self.finish_otherwise(start, bytes) };
        if self.memo.0 != bytes {
            let work = u64::from(bytes) * 8_000_000_000;
            self.memo = (bytes, work / rate.0, work % rate.0);
        }
        let (_, whole, over) = self.memo;
        let owed = if back_to_back { self.carry + over } else { over };
        let more = u64::from(owed >= rate.0);
        self.carry = owed - more * rate.0;
        start + Span(whole + more)
    }

    /// The same at a rate that is not constant.
    fn finish_otherwise(&mut self, start: Time, bytes: u32) -> Time {
        match &self.profile {
            RateProfile::Constant(_) | RateProfile::Unlimited => start,
            RateProfile::Opportunities(trace) => self.taken.take(trace, bytes),
            RateProfile::Steps { steps, repeat } => {
                let mut work = u128::from(bytes) * 8_000_000_000;
                let mut now = start;
                loop {
                    let (rate, until) = segment(steps, *repeat, now);
                    let room = u128::from(rate.0) * u128::from(until.0 - now.0);
                    if work <= room {
                        return now + Span((work / u128::from(rate.0.max(1))) as u64);
                    }
                    if until == Time::NEVER {
                        return Time::NEVER;
                    }
                    work -= room;
                    now = until;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_period_loses_no_fraction_of_a_nanosecond() {
        let rate = Rate(149_760_000);
        let mut service = Service::new(RateProfile::Constant(rate));
        let mut now = Time::ZERO;
        for i in 0..10_000 {
            now = service.finish(now, 1500, i > 0);
        }
        assert_eq!(now.0, 10_000 * 1500 * 8_000_000_000 / rate.0);
    }

    #[test]
    fn a_transmission_across_a_change_is_served_at_both_rates() {
        let steps = vec![(Span::ZERO, Rate(8_000)), (Span::from_secs(1), Rate(16_000))];
        let mut service = Service::new(RateProfile::Steps { steps, repeat: None });
        // 1500 bytes: 1000 in the first second, 500 in the next quarter.
        assert_eq!(service.finish(Time::ZERO, 1500, false), Time(1_250_000_000));
    }

    #[test]
    fn the_mean_over_a_time_weighs_each_rate_by_its_part() {
        let steps = vec![(Span::ZERO, Rate(8_000)), (Span::from_secs(1), Rate(16_000))];
        let profile = RateProfile::Steps { steps, repeat: Some(Span::from_secs(4)) };
        assert_eq!(profile.mean_between(Time::ZERO, Time(2_000_000_000)), Some(Rate(12_000)));
        assert_eq!(profile.mean_between(Time(500_000_000), Time(5_000_000_000)), profile_mean(0.5 + 1.0, 3.0));
        assert_eq!(RateProfile::Unlimited.mean_between(Time::ZERO, Time(1)), None);
    }

    /// The mean over so many seconds at 8 and at 16 kbit/s.
    fn profile_mean(slow: f64, fast: f64) -> Option<Rate> {
        Some(Rate(((slow * 8_000.0 + fast * 16_000.0) / (slow + fast)) as u64))
    }

    #[test]
    fn steps_repeat() {
        let steps = vec![(Span::ZERO, Rate(8_000)), (Span::from_secs(1), Rate(0))];
        let profile = RateProfile::Steps { steps, repeat: Some(Span::from_secs(2)) };
        assert_eq!(profile.at(Time(5_500_000_000)), Some(Rate(0)));
        assert_eq!(profile.mean(), Some(Rate(4_000)));
        let mut service = Service::new(profile);
        assert_eq!(service.finish(Time(500_000_000), 1000, false), Time(2_500_000_000));
    }

    #[test]
    fn sizes_may_change_in_a_busy_period_and_rest_ends_it() {
        let rate = Rate(7);
        let mut service = Service::new(RateProfile::Constant(rate));
        let mut now = Time::ZERO;
        let mut bytes = 0;
        for (i, size) in [1500, 40, 40, 1500, 701].into_iter().enumerate() {
            now = service.finish(now, size, i > 0);
            bytes += u64::from(size);
            assert_eq!(now.0, bytes * 8_000_000_000 / rate.0, "packet {i}");
        }
        assert_eq!(
            service.finish(now, 40, false).since(now).0,
            40 * 8_000_000_000 / rate.0,
            "nothing is owed after a rest"
        );
    }

    #[test]
    fn a_step_is_in_force_from_its_instant_on() {
        let steps = vec![(Span::ZERO, Rate(1)), (Span(10), Rate(2)), (Span(30), Rate(3))];
        let once = RateProfile::Steps { steps: steps.clone(), repeat: None };
        let again = RateProfile::Steps { steps, repeat: Some(Span(40)) };
        let at = |profile: &RateProfile, ns| profile.at(Time(ns)).unwrap().0;
        assert_eq!([0, 9, 10, 29, 30, 1000].map(|ns| at(&once, ns)), [1, 1, 2, 2, 3, 3]);
        assert_eq!([39, 40, 49, 50, 70].map(|ns| at(&again, ns)), [3, 1, 1, 2, 3]);
        assert_eq!((once.mean(), again.mean()), (Some(Rate(3)), Some(Rate((10 + 40 + 30) / 40))));
    }
}
