//! Telling a policer from a bottleneck: BBR's long-term bandwidth.
//!
//! Source: Linux's `tcp_bbr` (2016), after Flach et al., "An Internet-wide analysis of traffic policing" (SIGCOMM
//! 2016). Intervals of 4 to 16 rounds begin and end with losses; where two in a row lose 20 % or more at nearly the
//! same rate (1/8, or 4 kbit/s), that rate is a policer's, and it is used for 48 rounds. The 20 % are 50/256.

use crate::{Rate, Span, Time};

const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Lost over delivered.
const LOSSY: (u64, u64) = (50, 256);
const RATIO_DIVISOR: u64 = 8;
const SAME: u64 = 4_000;
const ROUNDS_IN_USE: u32 = 48;
const SHORTEST: Span = Span::from_millis(1);

/// What an acknowledgement tells about losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    pub(super) now: Time,
    /// Totals of the connection, in bytes.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// This acknowledgement shows losses.
    pub(super) losing: bool,
    /// It begins a round.
    pub(super) round: bool,
    pub(super) app_limited: bool,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    since: Time,
    delivered: u64,
    lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    interval: Option<Interval>,
    rounds: u32,
    /// The rate of the last lossy interval.
    last: Option<u64>,
    in_use: bool,
}

impl Policer {
    /// The rate of the policer, if there is one.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.last.filter(|_| self.in_use).map(Rate)
    }

    /// Returns true when a policer's rate has been used long enough: probing is to begin anew.
    pub(super) fn on_ack(&mut self, news: &News, probing: bool) -> bool {
        if self.in_use {
            self.rounds += u32::from(news.round && probing);
            let over = self.rounds >= ROUNDS_IN_USE;
            if over {
                *self = Self::default();
            }
            return over;
        }
        let Some(interval) = self.interval else {
            if news.losing {
                self.begin(news);
            }
            return false;
        };
        self.rounds += u32::from(news.round);
        if news.app_limited || self.rounds > MOST_ROUNDS {
            *self = Self::default();
        } else if self.rounds >= LEAST_ROUNDS && news.losing {
            self.end(news, interval);
        }
        false
    }

    fn begin(&mut self, news: &News) {
        self.interval = Some(Interval { since: news.now, delivered: news.delivered, lost: news.lost });
        self.rounds = 0;
    }

    fn end(&mut self, news: &News, interval: Interval) {
        let (delivered, lost) = (news.delivered - interval.delivered, news.lost - interval.lost);
        let took = news.now.since(interval.since);
        if delivered == 0 || lost * LOSSY.1 < delivered * LOSSY.0 || took < SHORTEST {
            return;
        }
        let rate = (u128::from(delivered) * 8_000_000_000 / u128::from(took.0)) as u64;
        match self.last {
            Some(last) if rate.abs_diff(last) <= (last / RATIO_DIVISOR).max(SAME) => {
                *self = Self { interval: None, rounds: 0, last: Some(u64::midpoint(rate, last)), in_use: true };
            }
            _ => {
                self.last = Some(rate);
                self.begin(news);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms, 100 kB delivered in each: (kB lost in the round) → the round in which the policer's rate is
    /// used first.
    fn found(lost_kb: impl Fn(u64) -> u64, rate_of: impl Fn(u64) -> u64) -> Option<(u64, Rate)> {
        let mut policer = Policer::default();
        let (mut delivered, mut lost) = (0, 0);
        for round in 1..=60 {
            delivered += rate_of(round) * 1000;
            lost += lost_kb(round) * 1000;
            let now = Time::ZERO + Span::from_millis(100 * round);
            let losing = lost_kb(round) > 0;
            policer.on_ack(&News { now, delivered, lost, losing, round: true, app_limited: false }, true);
            if let Some(rate) = policer.rate() {
                return Some((round, rate));
            }
        }
        None
    }

    #[test]
    fn two_intervals_of_heavy_loss_at_the_same_rate_are_a_policer() {
        assert_eq!(found(|_| 25, |_| 100), Some((9, Rate(8_000_000))), "begun in round 1, measured in 5 and 9");
        assert_eq!(found(|_| 19, |_| 100), None, "too little loss");
        assert!(found(|_| 196, |_| 1000).is_some_and(|_| found(|_| 195, |_| 1000).is_none()), "50/256");
        assert_eq!(found(|_| 50, |round| 100 * round), None, "no steady rate");
        assert_eq!(
            found(|round| if round % 20 == 1 { 400 } else { 0 }, |_| 100),
            None,
            "an interval is at most 16 rounds"
        );
    }

    #[test]
    fn its_rate_is_used_for_48_rounds() {
        let mut policer = Policer { last: Some(1), in_use: true, ..Policer::default() };
        let news = News { now: Time::ZERO, delivered: 0, lost: 0, losing: true, round: true, app_limited: false };
        assert!((1..48).all(|_| !policer.on_ack(&news, true)));
        assert!(policer.rate().is_some() && policer.on_ack(&news, true) && policer.rate().is_none());
    }
}
