//! What each track alone says of its base delay, over all packets of its sender.
//!
//! The base is what the delay would be with empty queues. It is no more than the least delay seen. Where packets echo
//! stamps of the near side, it is also no less than what the round trips leave: a packet's queueing delay is at most
//! its round trip less the shortest round trip of the *host*, over all its flows. Round trips are told by the capture's
//! clock alone, so that they can be compared between flows whose stamps start at random offsets.
//!
//! A round trip is the sum of both directions, and so is its least: where the two bounds meet, both queues were empty
//! while the track lasted (at one time or another), and both bases are known. Where they leave a gap, one of the queues
//! stood all the while, or both did; which, the round trips cannot tell. [`super::cross_flow`] asks the other
//! flows, and [`crate::delay::track::empty_queue`] the delays themselves.
//!
//! Where both directions are loaded, no packet may have met both queues empty. But one connection's least delays,
//! met at different times, add up to a round trip of two empty queues, too: where that is shorter than any that was
//! seen, it is the shortest of the host.

use crate::delay::estimate::Estimator;
use crate::delay::estimate::utp_observer::PATH_JITTER;
use crate::delay::finalize::base_delay::whole_steps;
use crate::delay::finalize::first_look::Looked;
use crate::delay::finalize::first_look::base_bounds::Bounds;
use crate::delay::host::Hosts;
use crate::delay::host::silence::{IDLE_SPREAD, SILENCE};
use crate::delay::log::Log;
use crate::delay::log::entry::{DATA, IDLE, TOWARD};
use crate::delay::parallel::for_each;
use crate::delay::prefetch::{self, ENTRIES_AHEAD};
use crate::delay::protocol::Protocol;
use crate::delay::track::Track;
use crate::delay::track::empty_queue::SPREAD;

/// What the shortest round trip of a host is expected to be off by, ns.
const ROUND_TRIP_JITTER: f64 = 150_000.0;
/// A sender that keeps time sends in few phases of its tick, however many packets it sends.
const PHASES: usize = 8;
/// So many of the least delays are averaged where stamps are fine, of those within the path's jitter of the least.
const LEAST: usize = 8;
/// Bounds that lie further apart than a tick and this, ns, do not both hold.
const SLACK: f64 = 1e6;

/// Find the base of every track from its log and from what earlier logs left.
pub(crate) fn finalize(log: &Log, tracks: &mut [Track], looks: &[Looked], hosts: &mut Hosts, threads: usize) {
    let mut found: Vec<(&mut Track, Option<Found>)> = tracks.iter_mut().map(|track| (track, None)).collect();
    for_each(
        threads,
        &mut found,
        |i, _| log.len_of(i),
        |i, (track, found)| {
            let shortest = track.shortest_round_trip(hosts);
            let first = looks[i].as_ref().filter(|_| !track.transmission.known());
            let seen = first.and_then(|look| look.bounds(&track.clock_model(), shortest));
            let seen = seen.unwrap_or_else(|| Bounds::seen(log, i, track, shortest, &track.transmission));
            let seen = Found::look(log, i, track, hosts, seen);
            let from = track.evidence[0];
            if from.data && !from.idle && from.piles_up() && track.stamped() {
                track.evidence[0].in_steps |= whole_steps::found(log, i, track, seen.least);
            }
            seen.settle(track, shortest as f64);
            *found = Some(seen);
        },
    );
    for (track, _) in &found {
        let (least_sum, longer) = track.least_sum(hosts);
        if track.round_trip_base > 0.0 {
            *least_sum = least_sum.min(track.round_trip_base - longer);
        }
    }
    for (track, found) in found {
        let shortest = track.shortest_round_trip(hosts) as f64;
        let (least_sum, longer) = track.least_sum(hosts);
        let round_trip = *least_sum + longer;
        if let (Some(found), true) = (found, round_trip < shortest - track.tick_ns.unwrap_or(0.0) - SLACK) {
            found.settle(track, round_trip);
        }
    }
}

/// What the packets of a track tell of its base.
struct Found {
    least: f64,
    /// What round trips leave, where the shortest of the host is of two empty queues.
    floor: f64,
    echo_min: f64,
    lift: f64,
    lucky: f64,
}

impl Found {
    fn look(log: &Log, i: usize, track: &mut Track, hosts: &Hosts, bounds: Bounds) -> Self {
        bounds.leave(track);
        let (least, floor) = (bounds.least(), bounds.floor);
        let (lift, near_least) = match track.transmission.known() {
            true => second_look::<true>(log, i, track, [least, floor], hosts),
            false => second_look::<false>(log, i, track, [least, floor], hosts),
        };
        // Stamps of n packets lie anywhere in their ticks, so the luckiest is expected this far above the base.
        // Differences of two coarse stamps are off both ways, and their least by as much as any.
        let lucky = match track.estimator {
            Estimator::Observer => track.tick_ns.unwrap_or(0.0) / (f64::from(near_least) + 1.0),
            Estimator::Reported => 0.0,
        };
        let echo_min = track.shortest_round_trip(hosts) as f64;
        Self { least, floor, echo_min, lift: lift.max(track.lift), lucky }
    }

    /// Settle the base of the track, where a round trip through empty queues takes so long.
    fn settle(&self, track: &mut Track, round_trip: f64) {
        let &Self { least: high, lift, lucky, .. } = self;
        let tick = track.tick_ns.unwrap_or(0.0);
        let low = self.floor - (self.echo_min - round_trip) - tick;
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
        let tracked = if self.floor.is_finite() { round_trip + track.base - low } else { round_trip };
        track.round_trip_base = round_trip.min(tracked);
    }
}

/// What a second look at the log tells of the least delays of a track: how far the mean of the least lies above the
/// very least where stamps are fine (the least of many packets is a lucky one), and how many packets lie within a tick
/// of it where they are coarse. Counts what shows empty queues besides.
/// `SLOW`: long packets take longer by their own transmission.
fn second_look<const SLOW: bool>(
    log: &Log,
    i: usize,
    track: &mut Track,
    [least, floor]: [f64; 2],
    hosts: &Hosts,
) -> (f64, u32) {
    let (transmission, echo_min) = (track.transmission, track.shortest_round_trip(hosts));
    let clocks = track.clock_model();
    let reported = track.estimator == Estimator::Reported;
    let fine = track.protocol == Protocol::Utp || (!reported && clocks.tick < PATH_JITTER);
    let reach = if fine { PATH_JITTER } else { clocks.tick };
    let below = if reported && !fine { f64::NEG_INFINITY } else { least };
    let spread = clocks.tick + SPREAD;
    let shows = !reported || track.protocol == Protocol::Utp;
    let tcp = clocks.protocol == Protocol::Tcp;
    let mut near = NearLeast { fine, count: 0, lowest: [0.0; LEAST] };
    let ([mut from, mut to], mut looked) = (track.evidence, [i64::MIN / 2; 2]);
    for chunk in log.chunks(i) {
        for entry in chunk {
            prefetch::behind(entry, ENTRIES_AHEAD);
            let delay = clocks.delay(entry.time, entry.stamp, 0);
            let above = delay - below - if SLOW { transmission.of(entry.length()) } else { 0.0 };
            let toward = entry.is(TOWARD);
            if above < reach && !toward {
                near.add(above);
            }
            if !shows {
                continue;
            }
            if !toward {
                // What is sent together looks at the queue once.
                if entry.time - looked[0] >= spread as i64 {
                    from.add(above, spread);
                    looked[0] = entry.time;
                }
                from.data |= entry.is(DATA);
            }
            let mut above_to = f64::INFINITY;
            if let (true, Some(extra)) = (tcp, entry.extra()) {
                above_to = floor - (delay - (i64::from(extra) * 1000 - echo_min) as f64);
                let sent = entry.time - i64::from(extra) * 1000;
                if (sent - looked[1]).abs() >= spread as i64 {
                    to.add(above_to, spread);
                    looked[1] = sent;
                }
                to.data |= toward && entry.is(DATA);
            }
            // When a flow that was under way appeared after it, the silence was none.
            if entry.is(IDLE) && !(entry.time..entry.time.saturating_add(SILENCE)).contains(&hosts.midstream) {
                from.idle |= !toward && above < spread + IDLE_SPREAD;
                to.idle |= above_to < spread + IDLE_SPREAD;
            }
        }
    }
    track.evidence = [from, to];
    near.told()
}

/// The least delays of a track: their mean where stamps are fine, their number where they are coarse.
struct NearLeast {
    fine: bool,
    count: usize,
    lowest: [f64; LEAST],
}

impl NearLeast {
    /// Count a delay so far above the least.
    #[inline(never)]
    fn add(&mut self, above: f64) {
        if !self.fine {
            self.count += 1;
        } else if self.count < LEAST || above < self.lowest[LEAST - 1] {
            let end = self.count.min(LEAST - 1);
            self.lowest[end] = above;
            self.count = end + 1;
            self.lowest[..=end].sort_unstable_by(f64::total_cmp);
        }
    }

    fn told(&self) -> (f64, u32) {
        match self.fine {
            true => (self.lowest[..self.count].iter().sum::<f64>() / self.count.max(1) as f64, 0),
            false => (0.0, self.count.min(PHASES) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::log::entry::Entry;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

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

    #[test]
    fn many_packets_that_answer_one_are_one_arrival() {
        let arrivals = |answers: i64| {
            let (mut log, mut hosts) = (Log::default(), Hosts::new(Vec::new()));
            let mut tracks = vec![track(Estimator::Observer, Protocol::Tcp)];
            tracks[0].key.address.into_iter().for_each(|address| _ = hosts.of(address));
            hosts.all[0].echo_min = 40_000_000;
            for (i, answer) in (0..10i64).flat_map(|i| (0..answers).map(move |answer| (i, answer))) {
                // One is sent every 100 ms; its answers leave a millisecond apart.
                let after = 40_000 + answer * 1000;
                let time = i * 100_000_000 + after * 1000;
                log.push(0, Entry::new(1, time, (time - 20_000_000) / 1_000_000, DATA, Some(after as u32)));
            }
            finalize(&log, &mut tracks, &[None], &mut hosts, 1);
            tracks[0].evidence[1].all
        };
        assert_eq!([1, 5].map(arrivals), [10, 10]);
    }

    #[test]
    fn what_is_sent_together_looks_at_the_queue_once() {
        // Thirty packets in three bursts; stamps tell milliseconds. Each answers one that was sent 40 ms before.
        let looks = |apart: i64| {
            let (mut log, mut hosts) = (Log::default(), Hosts::new(Vec::new()));
            let mut tracks = vec![track(Estimator::Observer, Protocol::Tcp)];
            tracks[0].key.address.into_iter().for_each(|address| _ = hosts.of(address));
            hosts.all[0].echo_min = 40_000_000;
            for (burst, i) in (0..3i64).flat_map(|burst| (0..10).map(move |i| (burst, i))) {
                let time = burst * 100_000_000 + i * apart;
                log.push(0, Entry::new(1, time + 20_000_000, time / 1_000_000, DATA, Some(40_000)));
            }
            finalize(&log, &mut tracks, &[None], &mut hosts, 1);
            tracks[0].evidence.map(|way| way.all)
        };
        assert_eq!([20_000, 1_300_000].map(looks), [[3; 2], [30; 2]]);
    }

    #[test]
    fn delays_that_lie_in_whole_steps_show_no_empty_queue() {
        // Packets that leave 12 ms apart, and then some that waited for so many ms more than the least.
        let piles_up = |waited: [i64; 3]| {
            let (mut log, mut hosts, mut time) = (Log::default(), Hosts::new(Vec::new()), 0);
            let mut tracks = vec![track(Estimator::Observer, Protocol::Tcp)];
            tracks[0].key.address.into_iter().for_each(|address| _ = hosts.of(address));
            for i in 0..100i64 {
                let (after, waited) = if i < 40 { (12, 36) } else { (40, waited[i as usize % 3]) };
                time += after * 1_000_000;
                log.push(0, Entry::new(1, time, time / 1_000_000 - waited, DATA, None).long(1514));
            }
            finalize(&log, &mut tracks, &[None], &mut hosts, 1);
            tracks[0].evidence[0].piles_up()
        };
        assert_eq!([[0, 9, 21], [0, 12, 24]].map(piles_up), [true, false]);
    }

    #[test]
    fn the_shortest_round_trip_lacks_what_a_long_packet_took_on_the_link() {
        let (track, mut hosts) = (track(Estimator::Observer, Protocol::Tcp), Hosts::new(Vec::new()));
        track.key.address.into_iter().for_each(|address| _ = hosts.of(address));
        hosts.all[0].transmission[0] =
            crate::delay::host::transmission::Transmission { short: 66, ns_per_byte: 1000.0 };
        for (after, length) in [(42_000_000, 66), (41_000_000, 1066), (43_000_000, 66)] {
            hosts.all[0].answered(after, length);
        }
        assert_eq!(track.shortest_round_trip(&hosts), 40_000_000);
    }

    #[test]
    fn the_least_delays_of_one_connection_add_up_to_a_round_trip_of_empty_queues() {
        // A path of 20 ms each way, whose queues are in turn 100 ms and empty, so that each round trip takes 140 ms.
        // The second connection sees one such time only, and a round trip of 140 ms is no empty one to it either.
        let (mut log, mut hosts) = (Log::default(), Hosts::new(Vec::new()));
        let mut tracks = vec![track(Estimator::Observer, Protocol::Tcp), track(Estimator::Observer, Protocol::Tcp)];
        tracks[0].key.address.into_iter().for_each(|address| _ = hosts.of(address));
        hosts.all[0].echo_min = 140_000_000;
        for i in 0..1000i64 {
            let (sent, waits) = (i * 10_300_000, if i % 200 < 100 { 100_000_000 } else { 0 });
            let entry = Entry::new(1, sent + 20_000_000 + waits, sent / 1_000_000, 0, Some(140_000));
            log.push(0, entry);
            if i < 100 {
                log.push(1, entry);
            }
        }
        finalize(&log, &mut tracks, &[None, None], &mut hosts, 1);
        for (track, by_round_trip, gap) in [(&tracks[0], true, 0.0), (&tracks[1], false, 100e6)] {
            let found = format!("{} {} {}", track.by_round_trip, track.gap, track.round_trip_base);
            assert_eq!(track.by_round_trip, by_round_trip, "{found}");
            assert!((track.gap - gap).abs() < 2.5e6, "{found}");
            assert!((track.round_trip_base - 40e6).abs() < 2.5e6, "{found}");
        }
    }
}
