//! Second part of a settlement: the base delay of every track, over all packets of its sender.
//!
//! The base is what the delay would be with an empty queue. It is no more than the least delay seen. Where packets echo stamps of the
//! near side, it is also no less than what the round trips leave: a packet's queueing delay is at most its round trip less the shortest
//! round trip of the *host*, over all its flows. Round trips are told by the capture's clock alone, so that they can be compared between flows whose
//! stamps start at random offsets: a flow that begins in a standing queue has its base from the other flows of its host in this way.
//! The answers of the handshake are sent at once, and bound the base from above too.

use crate::host::Hosts;
use crate::log::{Bound, Entry, Estimator, PROMPT, Protocol, Track};

/// Bounds that lie further apart than a tick and this, ns, do not both hold.
const SLACK: f64 = 1e6;

impl Track {
    /// One-way delay of a packet up to the track's constant, ns. `line` is where the receiver's stamp stands.
    #[inline]
    pub(crate) fn delay(&self, time: i64, stamp: i64, line: i64) -> f64 {
        let tick = self.tick_ns.unwrap_or(0.0);
        let sent = stamp as f64 * tick * (1.0 - self.skew);
        match (self.estimator, self.protocol) {
            (Estimator::Observer, _) => (time - self.start) as f64 - sent,
            (Estimator::Reported, Protocol::Tcp) => {
                line as f64 * self.peer_tick_ns.unwrap_or(0.0) * (1.0 - self.peer_skew) - sent
            }
            (Estimator::Reported, _) => {
                stamp as f64 * 1000.0 - (self.peer_skew - self.skew) * (time - self.start) as f64
            }
        }
    }

    fn delay_at(&self, bound: &Bound) -> f64 {
        self.delay(bound.time, bound.stamp, bound.extra)
    }

    /// Whether its delays can be worked out.
    pub(crate) fn timed(&self) -> bool {
        self.tick_ns.is_some() && (self.estimator == Estimator::Observer || self.peer_tick_ns.is_some())
    }
}

/// Find the base of every track from its log and from what earlier logs left.
pub(crate) fn settle(log: &[Entry], tracks: &mut [Track], hosts: &Hosts) {
    let mut lines: Vec<_> = tracks.iter().map(|track| track.extra_line).collect();
    let echo_min: Vec<i64> = tracks.iter().map(|track| hosts.all[track.host[0] as usize].echo_min).collect();
    let over = |track: u32, bound: &Bound| (bound.extra * 1000 - echo_min[track as usize]) as f64;
    // Least delay, highest lower bound, lowest prompt bound: as they stand.
    let mut now: Vec<[f64; 3]> = tracks
        .iter()
        .enumerate()
        .map(|(i, track)| {
            let by_round_trip = |bound: &Bound| track.delay_at(bound) - over(i as u32, bound);
            [
                track.least.as_ref().map_or(f64::INFINITY, |bound| track.delay_at(bound)),
                track.floor.as_ref().map_or(f64::NEG_INFINITY, by_round_trip),
                track.prompt.as_ref().map_or(f64::INFINITY, by_round_trip),
            ]
        })
        .collect();
    for entry in log {
        let at = entry.track as usize;
        let track = &mut tracks[at];
        let [least, floor, prompt] = &mut now[at];
        let mut bound = Bound { time: entry.time, stamp: entry.stamp, extra: 0 };
        if let (Estimator::Reported, Some(extra)) = (track.estimator, entry.extra()) {
            bound.extra = lines[at].follow(extra);
        }
        let delay = track.delay_at(&bound);
        if delay < *least {
            *least = delay;
            track.least = Some(bound);
        }
        if let (Estimator::Observer, Protocol::Tcp, Some(extra)) = (track.estimator, track.protocol, entry.extra()) {
            bound.extra = i64::from(extra);
            let low = delay - over(entry.track, &bound);
            if low > *floor {
                *floor = low;
                track.floor = Some(bound);
            }
            if entry.is(PROMPT) && low < *prompt {
                *prompt = low;
                track.prompt = Some(bound);
            }
        }
    }
    for (track, [least, floor, prompt]) in tracks.iter_mut().zip(now) {
        let tick = track.tick_ns.unwrap_or(0.0);
        let high = least.min(prompt);
        let low = floor - tick;
        track.by_round_trip = high - low <= tick + SLACK;
        if track.by_round_trip && low < high {
            // A long flow meets both bounds, a short one lies anywhere between them.
            (track.base, track.base_error) = ((high + low) / 2.0, (high - low) / 2.0);
        } else {
            (track.base, track.base_error) = (high, tick / 2.0);
        }
    }
}
