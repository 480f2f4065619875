//! How the delays of a track are worked out: by which clocks, at which ticks and skews.

use crate::delay::estimate::Estimator;
use crate::delay::protocol::Protocol;
use crate::delay::track::Track;

/// What a packet's delay is worked out by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockModel {
    estimator: Estimator,
    pub(crate) protocol: Protocol,
    start: i64,
    pub(crate) tick: f64,
    peer_tick: f64,
    /// Of the sender's clock and of the receiver's: one less the skew. `drift`: how much faster the receiver's is.
    rate: f64,
    peer_rate: f64,
    drift: f64,
}

impl ClockModel {
    /// One-way delay of a packet up to the track's constant, ns. `line` is where the receiver's stamp stands.
    #[inline]
    pub(crate) fn delay(&self, time: i64, stamp: i64, line: i64) -> f64 {
        match (self.estimator, self.protocol) {
            (Estimator::Observer, _) => self.observed(time, stamp),
            (Estimator::Reported, Protocol::Tcp) => {
                line as f64 * self.peer_tick * self.peer_rate - stamp as f64 * self.tick * self.rate
            }
            (Estimator::Reported, _) => stamp as f64 * 1000.0 - self.drift * (time - self.start) as f64,
        }
    }

    /// The same but for the tick.
    pub(crate) fn ticking(self, tick: f64) -> Self {
        Self { tick, ..self }
    }

    /// Whether the observer's clock tells the same by both.
    pub(crate) fn observes_as(&self, other: &Self) -> bool {
        (self.start, self.tick, self.rate) == (other.start, other.tick, other.rate)
    }

    /// [`Self::delay`] by the observer's clock.
    #[inline]
    pub(crate) fn observed(&self, time: i64, stamp: i64) -> f64 {
        (time - self.start) as f64 - stamp as f64 * self.tick * self.rate
    }
}

impl Track {
    /// By what delays are worked out now.
    #[inline]
    pub(crate) fn clock_model(&self) -> ClockModel {
        ClockModel {
            estimator: self.estimator,
            protocol: self.protocol,
            start: self.start,
            tick: self.tick_ns.unwrap_or(0.0),
            peer_tick: self.peer_tick_ns.unwrap_or(0.0),
            rate: 1.0 - self.skew,
            peer_rate: 1.0 - self.peer_skew,
            drift: self.peer_skew - self.skew,
        }
    }

    /// [`ClockModel::delay`] of one packet.
    #[inline]
    pub(crate) fn delay(&self, time: i64, stamp: i64, line: i64) -> f64 {
        self.clock_model().delay(time, stamp, line)
    }

    /// Whether its delays can be worked out.
    pub(crate) fn timed(&self) -> bool {
        self.tick_ns.is_some() && (self.estimator == Estimator::Observer || self.peer_tick_ns.is_some())
    }

    /// Whether they are those of the sender's stamps by the observer's clock.
    pub(crate) fn stamped(&self) -> bool {
        self.estimator == Estimator::Observer && self.timed()
    }
}
