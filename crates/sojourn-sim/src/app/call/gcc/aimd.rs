//! Additive increase, multiplicative decrease: the target rate from how the path is used and what arrives.
//!
//! Source: libwebrtc `aimd_rate_control.cc`. Overuse: 0.85 of what arrives less 5 kbit/s, never upwards, and hold until
//! the queue has drained. Then, while nothing is known of the link's capacity, 8 % a second and at least 1 kbit/s a
//! time; near it half a packet for each round trip and 100 ms, at least 4 kbit/s a second. Never above 1.5 times what
//! arrives and 10 kbit/s.

use super::link_capacity::LinkCapacity;
use super::trendline::Usage;
use sojourn_net::{Span, Time};

/// Share of what arrives that is kept at overuse.
const BETA: f64 = 0.85;
const INCREASE_PER_S: f64 = 1.08;
const LEAST_INCREASE: f64 = 1_000.0;
const LEAST_ADDITIVE_PER_S: f64 = 4_000.0;
const FRAMES_PER_S: f64 = 30.0;
const PACKET_BITS: f64 = 1200.0 * 8.0;
const RESPONSE: Span = Span::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// The rate control.
#[derive(Debug)]
pub(super) struct Aimd {
    rate: f64,
    least: f64,
    latest_arriving: f64,
    capacity: LinkCapacity,
    state: State,
    changed: Option<Time>,
    rtt: Span,
}

impl Aimd {
    /// Starts at a rate in bit/s, and never goes below another.
    pub(super) fn new(start: f64, least: f64) -> Self {
        let rtt = Span::from_millis(200);
        let capacity = LinkCapacity::default();
        Self { rate: start, least, latest_arriving: start, capacity, state: State::Hold, changed: None, rtt }
    }

    /// The present rate in bit/s.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The round-trip time.
    pub(super) fn set_rtt(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    /// Sets the rate, as the result of a probe does.
    pub(super) fn set(&mut self, rate: f64, now: Time) {
        self.rate = rate.max(self.least);
        self.changed = Some(now);
    }

    /// Whether overuse may lower the rate again: after a round trip (10 to 200 ms), or at once if less than half
    /// arrives.
    pub(super) fn may_reduce(&self, now: Time, arriving: f64) -> bool {
        let interval = self.rtt.clamp(Span::from_millis(10), Span::from_millis(200));
        self.changed.is_none_or(|changed| now.since(changed) >= interval) || arriving < 0.5 * self.rate
    }

    /// The rate after this usage, `arriving` being the rate that arrives, if it is known.
    pub(super) fn update(&mut self, usage: Usage, arriving: Option<f64>, now: Time) -> f64 {
        self.latest_arriving = arriving.unwrap_or(self.latest_arriving);
        match usage {
            Usage::Over => self.decrease(self.latest_arriving, now),
            Usage::Under => self.state = State::Hold,
            Usage::Normal => {
                if self.state == State::Hold {
                    self.changed = Some(now);
                    self.state = State::Increase;
                }
                self.increase(self.latest_arriving, now);
            }
        }
        self.rate
    }

    fn decrease(&mut self, arriving: f64, now: Time) {
        let mut lower = BETA * arriving;
        if lower > 5_000.0 {
            lower -= 5_000.0;
        }
        if lower > self.rate {
            lower = self.capacity.estimate().map_or(lower, |capacity| BETA * capacity);
        }
        self.rate = self.rate.min(lower).max(self.least);
        if arriving < self.capacity.lower() {
            self.capacity.reset();
        }
        self.capacity.overused_at(arriving);
        self.state = State::Hold;
        self.changed = Some(now);
    }

    fn increase(&mut self, arriving: f64, now: Time) {
        if arriving > self.capacity.upper() {
            self.capacity.reset();
        }
        let limit = 1.5 * arriving + 10_000.0;
        let since = now.since(self.changed.unwrap_or(now)).as_secs();
        if self.rate < limit {
            let more = match self.capacity.estimate() {
                Some(_) => self.additive_per_s() * since,
                None => (self.rate * (libm::pow(INCREASE_PER_S, since.min(1.0)) - 1.0)).max(LEAST_INCREASE),
            };
            self.rate = (self.rate + more).min(limit).max(self.least);
        }
        self.changed = Some(now);
    }

    /// How much the rate grows in a second near the capacity: half a packet of the mean size in each response time.
    fn additive_per_s(&self) -> f64 {
        let frame = self.rate / FRAMES_PER_S;
        let packet = frame / (frame / PACKET_BITS).ceil();
        (packet / (2.0 * (self.rtt + RESPONSE).as_secs())).max(LEAST_ADDITIVE_PER_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn overuse_leaves_85_percent_of_what_arrives_less_5_kbps_and_never_raises() {
        let mut aimd = Aimd::new(2e6, 5e3);
        assert_eq!(aimd.update(Usage::Over, Some(1e6), at(1000)), 845e3);
        // More arrives than is aimed at: 0.85 of the capacity then, if that is lower, else nothing changes.
        assert_eq!(aimd.update(Usage::Over, Some(1.2e6), at(2000)), 845e3);
    }

    #[test]
    fn without_a_capacity_it_grows_by_8_percent_a_second() {
        let mut aimd = Aimd::new(1e6, 5e3);
        aimd.update(Usage::Normal, Some(1e6), at(0));
        let begin = aimd.rate();
        for step in 1..=20 {
            aimd.update(Usage::Normal, Some(1e6), at(50 * step));
        }
        assert!((aimd.rate() / begin - 1.08).abs() < 1e-6, "{}", aimd.rate() / begin);
        // At low rates by 1 kbit/s each time.
        let mut aimd = Aimd::new(50e3, 5e3);
        (0..=20).for_each(|step| {
            aimd.update(Usage::Normal, Some(50e3), at(50 * step));
        });
        assert_eq!(aimd.rate(), 71e3);
    }

    #[test]
    fn near_the_capacity_it_grows_by_half_a_packet_in_each_response_time() {
        let mut aimd = Aimd::new(1e6, 5e3);
        aimd.set_rtt(Span::from_millis(100));
        aimd.update(Usage::Over, Some(1e6), at(0));
        aimd.update(Usage::Normal, Some(1e6), at(100));
        let begin = aimd.rate();
        aimd.update(Usage::Normal, Some(1e6), at(1100));
        // A frame of 845 kbit/s has 28.2 kbit: three packets of 9389 bit, in twice 200 ms.
        assert!((aimd.rate() - begin - 845e3 / 30.0 / 3.0 / 0.4).abs() < 1.0, "{}", aimd.rate() - begin);
    }

    #[test]
    fn it_never_aims_at_more_than_half_again_what_arrives() {
        let mut aimd = Aimd::new(1e6, 5e3);
        (0..100).for_each(|step| {
            aimd.update(Usage::Normal, Some(700e3), at(1000 * step));
        });
        assert_eq!(aimd.rate(), 1.5 * 700e3 + 10e3);
    }

    #[test]
    fn a_second_reduction_waits_for_a_round_trip_unless_half_is_lost() {
        let mut aimd = Aimd::new(1e6, 5e3);
        aimd.update(Usage::Over, Some(1e6), at(1000));
        assert!(!aimd.may_reduce(at(1199), 800e3));
        assert!(aimd.may_reduce(at(1200), 800e3));
        assert!(aimd.may_reduce(at(1001), 400e3));
    }

    #[test]
    fn the_capacity_is_what_arrived_at_overuse_and_forgotten_when_far_from_it() {
        let mut aimd = Aimd::new(2e6, 5e3);
        aimd.update(Usage::Over, Some(1e6), at(1000));
        assert_eq!(aimd.capacity.estimate(), Some(1e6));
        // Near it, the average of both; far below, the new one alone; far above, none.
        aimd.update(Usage::Over, Some(990e3), at(2000));
        assert!(aimd.capacity.estimate().is_some_and(|rate| 990e3 < rate && rate < 1e6));
        aimd.update(Usage::Over, Some(500e3), at(3000));
        assert_eq!(aimd.capacity.estimate(), Some(500e3));
        aimd.update(Usage::Normal, Some(2e6), at(4000));
        assert_eq!(aimd.capacity.estimate(), None);
    }
}
