//! Between which delays the base of a track lies: the least delay seen, and what round trips leave
//! ([`crate::delay::finalize::base_delay`]).
//!
//! What was sent again may have a stamp of a time to come, and seems to have been quicker than the path: it is the
//! least where nothing else was seen.

use crate::delay::estimate::Estimator;
use crate::delay::host::transmission::Transmission;
use crate::delay::log::Log;
use crate::delay::log::entry::{AGAIN, Entry, TOWARD};
use crate::delay::protocol::Protocol;
use crate::delay::track::clock_model::ClockModel;
use crate::delay::track::{Bound, Track};

/// Least delay and highest lower bound of a track.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    least: f64,
    pub(crate) floor: f64,
    least_of: Option<Bound>,
    /// The least of what was sent again.
    again: f64,
    again_of: Option<Bound>,
    floor_of: Option<Bound>,
    echo_min: i64,
}

impl Bounds {
    /// As earlier logs left them. `echo_min` is the host's shortest round trip.
    #[inline]
    pub(crate) fn of(track: &Track, clocks: &ClockModel, echo_min: i64) -> Self {
        let delay_at = |bound: &Bound| clocks.delay(bound.time, bound.stamp, bound.extra) - bound.own;
        let mut bounds = Self {
            least: f64::INFINITY,
            floor: f64::NEG_INFINITY,
            least_of: track.least,
            again: f64::INFINITY,
            again_of: None,
            floor_of: track.floor,
            echo_min,
        };
        bounds.least = track.least.as_ref().map_or(bounds.least, delay_at);
        bounds.floor = track.floor.as_ref().map_or(bounds.floor, |bound| delay_at(bound) - bounds.over(bound.extra));
        bounds
    }

    /// The bounds of all packets of a track, as if all were short.
    pub(crate) fn seen(log: &Log, i: usize, track: &Track, echo_min: i64, transmission: &Transmission) -> Self {
        let (clocks, mut line) = (track.clock_model(), track.extra_line);
        let mut bounds = Self::of(track, &clocks, echo_min);
        let observed = track.estimator == Estimator::Observer;
        for entry in log.of(i) {
            if observed {
                if track.protocol == Protocol::Tcp {
                    bounds.floor(entry, clocks.observed(entry.time, entry.stamp));
                }
                let short = if entry.is(TOWARD) { *entry } else { entry.shorter(transmission.of(entry.length())) };
                bounds.above(&short, clocks.observed(short.time, short.stamp), 0, 0.0);
            } else {
                let extra = entry.extra().map_or(0, |extra| line.follow(extra));
                let own = transmission.of(entry.length());
                bounds.above(entry, clocks.delay(entry.time, entry.stamp, extra) - own, extra, own);
            }
        }
        bounds
    }

    /// What later logs have of them.
    pub(crate) fn leave(&self, track: &mut Track) {
        (track.least, track.floor) = (self.least_of.or(self.again_of), self.floor_of);
    }

    /// The least delay.
    pub(crate) fn least(&self) -> f64 {
        if self.least.is_finite() { self.least } else { self.again }
    }

    /// What a round trip of so many µs is longer than the shortest, ns.
    #[inline]
    fn over(&self, extra: i64) -> f64 {
        (extra * 1000 - self.echo_min) as f64
    }

    /// Count a TCP packet of such a delay by the observer's clock.
    #[inline]
    pub(crate) fn add(&mut self, entry: &Entry, delay: f64) {
        self.above(entry, delay, 0, 0.0);
        self.floor(entry, delay);
    }

    /// Count the lower bound of a TCP packet, which holds for any length: its round trip took as much longer.
    #[inline]
    fn floor(&mut self, entry: &Entry, delay: f64) {
        if let Some(extra) = entry.extra() {
            let low = delay - self.over(i64::from(extra));
            if low > self.floor {
                let extra = i64::from(extra);
                let of = Bound { time: entry.time, stamp: entry.stamp, extra, own: 0.0 };
                (self.floor, self.floor_of) = (low, Some(of));
            }
        }
    }

    /// Count a packet that tells no lower bound.
    #[inline]
    fn above(&mut self, entry: &Entry, delay: f64, extra: i64, own: f64) {
        // What tells of a packet to the sender was counted as one from it.
        if delay < self.least && !entry.is(TOWARD) {
            let of = Some(Bound { time: entry.time, stamp: entry.stamp, extra, own });
            if !entry.is(AGAIN) {
                (self.least, self.least_of) = (delay, of);
            } else if delay < self.again {
                (self.again, self.again_of) = (delay, of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    /// The least delay, ms, of packets that are seen and stamped at such times, ms, and the stamp that is kept of it.
    fn least(packets: &[(i64, i64, u64)]) -> (f64, Option<i64>) {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        track.tick_ns = Some(1e6);
        let clocks = track.clock_model();
        let mut bounds = Bounds::of(&track, &clocks, 40_000_000);
        for &(ms, stamp, flags) in packets {
            let entry = Entry::new(1, ms * 1_000_000, stamp, flags, None);
            bounds.add(&entry, clocks.observed(entry.time, entry.stamp));
        }
        bounds.leave(&mut track);
        (bounds.least() / 1e6, track.least.map(|bound| bound.stamp))
    }

    #[test]
    fn what_was_sent_again_with_a_stamp_of_a_time_to_come_sets_no_base() {
        let again = (200, 310, AGAIN);
        assert_eq!(least(&[(100, 75, 0), again, (300, 280, 0)]), (20.0, Some(280)));
        // An answer that tells of a packet to its sender was seen as a packet of its own before.
        assert_eq!(least(&[(100, 75, 0), again, (200, 310, TOWARD)]), (25.0, Some(75)));
        // Nothing else was seen.
        assert_eq!(least(&[again, (300, 280, AGAIN)]), (-110.0, Some(310)));
    }
}
