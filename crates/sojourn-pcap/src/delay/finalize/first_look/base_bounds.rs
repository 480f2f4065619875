//! Between which delays the base of a track lies: the least delay seen, and what round trips leave
//! ([`crate::delay::finalize::base_delay`]).

use crate::delay::estimate::Estimator;
use crate::delay::host::transmission::Transmission;
use crate::delay::log::Log;
use crate::delay::log::entry::{Entry, TOWARD};
use crate::delay::protocol::Protocol;
use crate::delay::track::clock_model::ClockModel;
use crate::delay::track::{Bound, Track};

/// Least delay and highest lower bound of a track.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) least: f64,
    pub(crate) floor: f64,
    least_of: Option<Bound>,
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
        (track.least, track.floor) = (self.least_of, self.floor_of);
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
        if delay < self.least {
            (self.least, self.least_of) = (delay, Some(Bound { time: entry.time, stamp: entry.stamp, extra, own }));
        }
    }
}
