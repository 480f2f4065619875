//! The first look at a log: all that one pass can find of a track, by its sender's clock as it probably is.
//!
//! Every entry of a track passes [`tick_fits`] (fits of its clock), [`base_bounds`] (its least delay, and what round
//! trips leave) and [`least_delays`] (of short packets and of long ones), each kept for the step that asks for it.
//!
//! Tick, skew and base are settled one after another, between all tracks of a host, and each of these steps asks
//! something of every packet. But nearly every clock turns out to be the one that it was before, or that the first and
//! the last stamp of the log tell. So what the steps ask is answered in one pass by that clock. A step that settles on
//! another asks again ([`super::clocks`], [`super::base_delay`], [`super::transmission`]): what is found is the same.

pub(super) mod base_bounds;
pub(super) mod least_delays;
pub(super) mod tick_fits;

use crate::delay::clock::skew::Minima;
use crate::delay::clock::tick::snap;
use crate::delay::estimate::Estimator;
use crate::delay::finalize::first_look::base_bounds::Bounds;
use crate::delay::finalize::first_look::least_delays::LeastDelays;
use crate::delay::finalize::first_look::tick_fits::TickFits;
use crate::delay::log::Log;
use crate::delay::log::entry::{ECHOED, Entry, TOWARD};
use crate::delay::prefetch::{self, ENTRIES_AHEAD};
use crate::delay::protocol::Protocol;
use crate::delay::track::Track;
use crate::delay::track::clock_model::ClockModel;

/// What was found of a track, if anything was.
pub(crate) type Looked = Option<Box<FirstLook>>;

/// What was found by a clock.
#[derive(Debug)]
pub(crate) struct FirstLook {
    tick: f64,
    minima: Minima,
    clocks: ClockModel,
    echo_min: i64,
    bounds: Bounds,
    leasts: LeastDelays,
}

impl FirstLook {
    /// Look at what the log has of a track, whose fits are made besides. `echo_min`: its host's shortest round trip.
    /// None where the clock cannot be guessed, or matters in other ways, or of so few packets that to look again is as
    /// quick.
    pub(crate) fn at(log: &Log, i: usize, track: &mut Track, echo_min: i64) -> Option<Box<Self>> {
        let few = log.chunks(i).nth(1).is_none();
        if few || track.estimator != Estimator::Observer || track.protocol != Protocol::Tcp {
            return None;
        }
        let tick = track.tick_ns.or_else(|| guess(log, i))?;
        let clocks = track.clock_model().ticking(tick);
        let (mut fits, mut minima) = (TickFits::of(track), track.minima.clone());
        let (mut bounds, mut leasts) = (Bounds::of(track, &clocks, echo_min), LeastDelays::default());
        let (start, mut last, mut toward, mut pace) = (track.start, None, false, track.pace);
        for chunk in log.chunks(i) {
            for entry in chunk {
                prefetch::behind(entry, ENTRIES_AHEAD);
                let delay = clocks.observed(entry.time, entry.stamp);
                bounds.add(entry, delay);
                if entry.is(TOWARD) {
                    toward |= !entry.is(ECHOED);
                    continue;
                }
                leasts.add(delay, entry);
                fits.add(entry, start);
                pace.add(entry);
                if let Some(extra) = entry.extra() {
                    let echoed = entry.time - start - i64::from(extra) * 1000;
                    minima.add(echoed, entry.stamp as f64 * tick - echoed as f64);
                }
                last = Some(entry.time);
            }
        }
        track.last_time = last.unwrap_or(track.last_time);
        (track.toward, track.pace) = (toward, pace);
        fits.leave(track);
        Some(Box::new(Self { tick, minima, clocks, echo_min, bounds, leasts }))
    }

    /// The minima of the clock, if this is its tick.
    pub(crate) fn minima(&mut self, tick: Option<f64>) -> Option<Minima> {
        (tick == Some(self.tick)).then(|| std::mem::take(&mut self.minima))
    }

    /// The bounds of the base, if these are the clock and the shortest round trip.
    pub(crate) fn bounds(&self, clocks: &ClockModel, echo_min: i64) -> Option<Bounds> {
        (self.clocks.observes_as(clocks) && self.echo_min == echo_min).then_some(self.bounds)
    }

    /// The least delays by length, if this is the clock.
    pub(crate) fn leasts(&self, clocks: &ClockModel) -> Option<LeastDelays> {
        self.clocks.observes_as(clocks).then_some(self.leasts)
    }
}

/// The tick (ns) that the first and the last stamp of the log tell.
pub(super) fn guess(log: &Log, i: usize) -> Option<f64> {
    let (mut first, mut last): (Option<&Entry>, Option<&Entry>) = (None, None);
    for chunk in log.chunks(i) {
        first = first.or(chunk.first());
        last = chunk.last();
    }
    let (first, last) = first.zip(last)?;
    let seconds = (last.time - first.time) as f64 / 1e9;
    snap((last.stamp - first.stamp) as f64 / seconds).map(|rate| 1e9 / rate)
}
