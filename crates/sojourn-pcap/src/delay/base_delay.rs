//! Second part of a finalization: what each track alone says of its base delay, over all packets of its sender.
//!
//! The base is what the delay would be with empty queues. It is no more than the least delay seen. Where packets echo
//! stamps of the near side, it is also no less than what the round trips leave: a packet's queueing delay is at most
//! its round trip less the shortest round trip of the *host*, over all its flows. Round trips are told by the capture's
//! clock alone, so that they can be compared between flows whose stamps start at random offsets.
//!
//! A round trip is the sum of both directions, and so is its least: where the two bounds meet, both queues were empty
//! while the track lasted (at one time or another), and both bases are known. Where they leave a gap, one of the queues
//! stood all the while, or both did; which, the round trips cannot tell. [`super::cross_flow_base`] asks the
//! other flows,
//! and [`super::evidence`] the delays themselves.

use crate::delay::estimate::utp_observer::PATH_JITTER;
use crate::delay::evidence::{IDLE_SPREAD, SPREAD};
use crate::delay::host::Hosts;
use crate::delay::log::{Bound, DATA, ECHOED, Entry, Estimator, IDLE, Protocol, TOWARD, Track};
use crate::delay::tcp_flow::SILENCE;

/// What the shortest round trip of a host is expected to be off by, ns.
const ROUND_TRIP_JITTER: f64 = 150_000.0;
/// A sender that keeps time sends in few phases of its tick, however many packets it sends.
const PHASES: usize = 8;
/// So many of the least delays are averaged where stamps are fine, of those within the path's jitter of the least.
const LEAST: usize = 8;
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
pub(crate) fn finalize(log: &[Entry], tracks: &mut [Track], hosts: &Hosts) {
    let mut lines: Vec<_> = tracks.iter().map(|track| track.extra_line).collect();
    let echo_min: Vec<i64> = tracks.iter().map(|track| hosts.all[track.host[0] as usize].echo_min).collect();
    let over = |track: u32, bound: &Bound| (bound.extra * 1000 - echo_min[track as usize]) as f64;
    // Least delay and highest lower bound: as they stand.
    let mut now: Vec<[f64; 2]> = tracks
        .iter()
        .enumerate()
        .map(|(i, track)| {
            let by_round_trip = |bound: &Bound| track.delay_at(bound) - over(i as u32, bound);
            [
                track.least.as_ref().map_or(f64::INFINITY, |bound| track.delay_at(bound)),
                track.floor.as_ref().map_or(f64::NEG_INFINITY, by_round_trip),
            ]
        })
        .collect();
    for entry in log {
        let at = entry.track as usize;
        let track = &mut tracks[at];
        let [least, floor] = &mut now[at];
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
        }
    }
    let seen = second_look(log, tracks, &now, hosts);
    for (i, (track, [least, floor])) in tracks.iter_mut().zip(now).enumerate() {
        let tick = track.tick_ns.unwrap_or(0.0);
        let (lift, near_least) = (seen[i].0.max(track.lift), seen[i].1);
        let high = least;
        let low = floor - tick;
        // Stamps of n packets lie anywhere in their ticks, so the luckiest is expected this far above the base.
        // Differences of two coarse stamps are off both ways, and their least by as much as any.
        let lucky = match track.estimator {
            Estimator::Observer => tick / (f64::from(near_least) + 1.0),
            Estimator::Reported => 0.0,
        };
        let from_above = high - lucky + lift;
        track.by_round_trip = (low - high).abs() <= tick + SLACK;
        track.gap = (high - low).max(0.0);
        track.unassigned = 0.0;
        track.base = if track.by_round_trip {
            // Each is as good as its spread is small.
            let (above, below) = (lucky * lucky, ROUND_TRIP_JITTER * ROUND_TRIP_JITTER);
            ((from_above * below + low * above) / (above + below)).min(high)
        } else {
            from_above
        };
        track.lift = lift;
        // No round trip is so short that a delay would exceed it.
        let echo_min = echo_min[i] as f64;
        track.round_trip_base = if floor.is_finite() { echo_min.min(echo_min + track.base - low) } else { echo_min };
    }
}

/// What a second look at the log tells of the least delays of each track: how far the mean of the least lies above the
/// very least where stamps are fine (the least of many packets is a lucky one), and how many packets lie within a tick
/// of it where they are coarse. Counts what shows empty queues besides.
fn second_look(log: &[Entry], tracks: &mut [Track], now: &[[f64; 2]], hosts: &Hosts) -> Vec<(f64, u32)> {
    struct Least {
        below: f64,
        reach: f64,
        fine: bool,
        count: usize,
        above: [f64; LEAST],
        spread: f64,
        /// Shortest round trip of the host, and when flows of it that were under way appeared, ns.
        echo_min: i64,
        midstream: i64,
    }
    let mut all: Vec<Least> = tracks
        .iter()
        .zip(now)
        .map(|(track, [least, _])| {
            let tick = track.tick_ns.unwrap_or(0.0);
            let reported = track.estimator == Estimator::Reported;
            let fine = track.protocol == Protocol::Utp || (!reported && tick < PATH_JITTER);
            let reach = if fine { PATH_JITTER } else { tick };
            let below = if reported && !fine { f64::NEG_INFINITY } else { *least };
            let spread = tick + SPREAD;
            let host = &hosts.all[track.host[0] as usize];
            let (echo_min, midstream) = (host.echo_min, host.midstream);
            Least { below, reach, fine, count: 0, above: [0.0; LEAST], spread, echo_min, midstream }
        })
        .collect();
    for entry in log {
        let (least, track) = (&mut all[entry.track as usize], &mut tracks[entry.track as usize]);
        let delay = track.delay(entry.time, entry.stamp, 0);
        let above = delay - least.below;
        let toward = entry.is(TOWARD);
        if track.estimator == Estimator::Observer || track.protocol == Protocol::Utp {
            let idle = entry.is(IDLE) && !(entry.time..entry.time.saturating_add(SILENCE)).contains(&least.midstream);
            let [from, to] = &mut track.evidence;
            if !toward {
                from.add(above, least.spread);
                from.data |= entry.is(DATA);
                from.idle |= idle && above < least.spread + IDLE_SPREAD;
            }
            if let (Protocol::Tcp, Some(extra)) = (track.protocol, entry.extra()) {
                let over = (i64::from(extra) * 1000 - least.echo_min) as f64;
                let above = now[entry.track as usize][1] - (delay - over);
                to.add(above, least.spread);
                to.data |= toward && !entry.is(ECHOED);
                to.idle |= idle && above < least.spread + IDLE_SPREAD;
            }
        }
        if above >= least.reach || toward {
            continue;
        }
        if least.fine {
            if least.count < LEAST || above < least.above[LEAST - 1] {
                let end = least.count.min(LEAST - 1);
                least.above[end] = above;
                least.count = end + 1;
                least.above[..=end].sort_unstable_by(f64::total_cmp);
            }
        } else {
            least.count += 1;
        }
    }
    all.iter()
        .map(|least| match least.fine {
            true => (least.above[..least.count].iter().sum::<f64>() / least.count.max(1) as f64, 0),
            false => (0.0, least.count.min(PHASES) as u32),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::flow::Key;
    use crate::delay::log::TrackRef;

    fn track(estimator: Estimator, protocol: Protocol) -> Track {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        (track.tick_ns, track.peer_tick_ns) = (Some(1e6), Some(1e6));
        track
    }

    #[test]
    fn the_stamps_of_a_fast_clock_are_set_back() {
        // A clock that gains 100 ppm has ticked 1,000,100 times in 1000 s; the path is as long at the end as before.
        let mut fast = track(Estimator::Observer, Protocol::Tcp);
        fast.skew = 100e-6;
        let end = fast.delay(1_000_000_000_000, 1_000_100, 0);
        assert!((end - fast.delay(0, 0, 0)).abs() < 20_000.0, "{end}");
        // The same of a receiver whose clock loses 50 ppm: 1000 s are 999,950 ticks of it.
        let mut slow = track(Estimator::Reported, Protocol::Tcp);
        slow.peer_skew = -50e-6;
        let end = slow.delay(1_000_000_000_000, 1_000_000, 999_950);
        assert!(end.abs() < 20_000.0, "{end}");
        // uTP reports the receiver's clock minus the sender's (µs), which grows by 150 ppm.
        let mut utp = track(Estimator::Reported, Protocol::Utp);
        (utp.skew, utp.peer_skew) = (100e-6, 250e-6);
        let end = utp.delay(1_000_000_000_000, 150_000, 0);
        assert!(end.abs() < 20_000.0, "{end}");
    }
}
