//! What of a long packet's delay is its own transmission ([`super::transmission`]), as one connection's packets tell.
//!
//! Bases are found by it, and it by least delays above a base. But packets of one connection have one base, whatever
//! it is. A connection that began while a queue stood has short packets that waited, one that never met the queue empty
//! has long ones: of several, the one is believed that agrees best with the spacing of long packets. Yet no long packet
//! is ever quicker than the link: where one exceeds by less what round trips leave for the path, there is no such link.
//! A connection whose round trips are not seen, as where one direction alone is captured, tells nothing by itself: of
//! many whose packets all waited, the one or other has a long packet that waited as much longer by chance.

use crate::delay::finalize::first_look::Looked;
use crate::delay::finalize::first_look::base_bounds::Bounds;
use crate::delay::finalize::first_look::least_delays::{LONG, LeastDelays, SHORT};
use crate::delay::finalize::transmission::dispersion::{LEAST, MOST_SPACINGS, Times, agreed, tolerance};
use crate::delay::host::Hosts;
use crate::delay::host::transmission::Transmission;
use crate::delay::log::Log;
use crate::delay::log::entry::TOWARD;
use crate::delay::parallel::for_each;
use crate::delay::track::Track;
use std::collections::BTreeMap;

/// The least delays of each track.
fn leasts(log: &Log, tracks: &[Track], first: &[Looked], threads: usize) -> Vec<LeastDelays> {
    let mut all = vec![LeastDelays::default(); tracks.len()];
    for_each(
        threads,
        &mut all,
        |i, _| log.len_of(i),
        |i, leasts| {
            let clocks = tracks[i].clock_model();
            if let Some(found) = first[i].as_ref().and_then(|look| look.leasts(&clocks)) {
                *leasts = found;
            } else if tracks[i].stamped() {
                let own = log.of(i).filter(|entry| !entry.is(TOWARD));
                own.for_each(|entry| leasts.add(clocks.observed(entry.time, entry.stamp), entry));
            }
        },
    );
    all
}

/// What was found before bases are.
pub(crate) struct WithinConnection {
    pub(super) leasts: Vec<LeastDelays>,
    /// Of which hosts connections tell it by themselves.
    pub(super) told: Vec<bool>,
}

/// Find the time on the slowest link from each remote host where one of its connections shows it.
pub(crate) fn find(
    log: &Log,
    tracks: &[Track],
    first: &[Looked],
    hosts: &mut Hosts,
    threads: usize,
) -> WithinConnection {
    let (leasts, mut told) = (leasts(log, tracks, first, threads), vec![false; hosts.all.len()]);
    let mut of_host: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for i in (0..tracks.len()).filter(|&i| leasts[i].longer().is_some_and(|longer| longer > LEAST)) {
        of_host.entry(tracks[i].host[0]).or_default();
    }
    for i in (0..tracks.len()).filter(|&i| leasts[i].long.is_some()) {
        if let Some(members) = of_host.get_mut(&tracks[i].host[0]) {
            members.push(i);
        }
    }
    let mut found: Vec<_> = of_host.into_iter().map(|(host, members)| (host, members, None)).collect();
    for_each(
        threads,
        &mut found,
        |_, (_, members, _)| members.len() * MOST_SPACINGS,
        |_, (_, members, found)| {
            let mut times = Times::default();
            times.of_tracks(log, members, MOST_SPACINGS);
            let floor = |i: usize| {
                let (track, look, echo_min) = (&tracks[i], first[i].as_deref(), tracks[i].shortest_round_trip(hosts));
                let bounds = look.and_then(|look| look.bounds(&track.clock_model(), echo_min));
                let bounds = bounds.unwrap_or_else(|| Bounds::seen(log, i, track, echo_min, &Transmission::default()));
                bounds.floor - track.tick_ns.unwrap_or(0.0)
            };
            let of: Vec<_> = members.iter().map(|&i| expected(log, i, &tracks[i], &leasts[i])).collect();
            let tick = members.iter().filter_map(|&i| tracks[i].tick_ns).fold(0.0, f64::max);
            *found = times.spacing().and_then(|spacing| of_one(&of, (spacing, tick), |at| floor(members[at])));
        },
    );
    for (host, _, found) in found {
        if let Some(found) = found {
            (hosts.all[host as usize].transmission[0], told[host as usize]) = (found, true);
        }
    }
    WithinConnection { leasts, told }
}

/// The least delays as they would be of packets that were all sent as their stamps ticked: those of n packets lie
/// anywhere in their ticks, so the least is so much later on average.
fn expected(log: &Log, i: usize, track: &Track, leasts: &LeastDelays) -> LeastDelays {
    let (clocks, mut near) = (track.clock_model(), [0u32; 2]);
    let Some(tick) = track.tick_ns.filter(|_| leasts.longer().is_some_and(|longer| longer > LEAST)) else {
        return *leasts;
    };
    let [short, long] =
        [leasts.short, leasts.long].map(|least| least.map_or(f64::INFINITY, |(least, ..)| least + tick));
    for entry in log.of(i).filter(|entry| !entry.is(TOWARD)) {
        let delay = clocks.observed(entry.time, entry.stamp);
        near[0] += u32::from(entry.length() <= SHORT && delay < short);
        near[1] += u32::from(entry.length() >= LONG && delay < long);
    }
    let [short, long] = near.map(|near| tick / (f64::from(near) + 1.0));
    leasts.less(short, long)
}

/// What one of several connections tells that agrees with the spacing, unless one of them denies it; their stamps have
/// this tick, and `floor` is what round trips leave for the path of each, if there are any.
fn of_one(leasts: &[LeastDelays], (spacing, tick): (f64, f64), floor: impl Fn(usize) -> f64) -> Option<Transmission> {
    let floors: Vec<f64> = (0..leasts.len()).map(floor).collect();
    let off = |(leasts, floor): (&LeastDelays, &f64)| {
        let ((_, _, short), (_, _, long)) = leasts.short.zip(leasts.long)?;
        agreed(leasts.longer()?, spacing, [short, long], tick).filter(|_| floor.is_finite())
    };
    let (_, found) = leasts.iter().zip(&floors).filter_map(off).min_by(|a, b| a.0.total_cmp(&b.0))?;
    // Where a short packet was quicker than what they leave, the shortest round trip is no shortest by as much.
    let beyond = |(leasts, floor): (&LeastDelays, &f64)| leasts.short.map_or(0.0, |(short, ..)| floor - short);
    let beyond = leasts.iter().zip(&floors).map(beyond).fold(0.0, f64::max);
    let denied = |(leasts, floor): (&LeastDelays, &f64)| {
        leasts.long.is_some_and(|(least, _, long)| {
            let expected = found.of(long);
            least - (floor - beyond) < expected - tolerance(expected)
        })
    };
    (!leasts.iter().zip(&floors).any(denied)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::estimate::Estimator;
    use crate::delay::log::entry::Entry;
    use crate::delay::protocol::Protocol;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    #[test]
    fn one_of_several_connections_tells_it_and_any_denies_it() {
        // Least delays of short packets and of long ones above the path, and what round trips leave for it, ms.
        let of = |connections: &[[f64; 3]]| {
            let at = |value, length| Some((value * 1e6, 0, length));
            let leasts: Vec<_> = connections
                .iter()
                .map(|[short, long, _]| LeastDelays { short: at(short, 66), long: at(long, 1514) })
                .collect();
            of_one(&leasts, (1.514e6, 0.0), |at| connections[at][2] * 1e6).map(|found| found.of(1514) / 1e6)
        };
        let close =
            |found: Option<f64>, expected: f64| assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9));
        close(of(&[[0.0, 1.4, 0.0]]), 1.4);
        // The second began while a queue stood, the third never met it empty: what agrees best is believed.
        close(of(&[[0.0, 1.2, 0.0], [12.0, 1.4, 0.0], [0.5, 1.9, -1.0], [0.0, 30.0, 0.0]]), 1.4);
        assert_eq!(of(&[[12.0, 1.4, 0.0]]), None, "no other tells");
        // A link that is shared lets no long packet pass sooner.
        assert_eq!(of(&[[0.0, 1.4, 0.0], [12.0, 0.4, 0.2]]), None);
        close(of(&[[0.0, 1.4, 0.0], [12.0, 0.4, f64::NEG_INFINITY]]), 1.4);
        // One direction is seen: what two of them show, long packets that waited 1.4 ms longer show as well.
        let waited = [[12.0, 12.0, f64::NEG_INFINITY], [7.0, 8.4, f64::NEG_INFINITY], [9.0, 10.5, f64::NEG_INFINITY]];
        assert_eq!(of(&waited), None);
        close(of(&[waited[0], waited[1], [0.0, 1.5, 0.0]]), 1.5);
        // The shortest round trip was that of a long packet: it leaves more than a short one took.
        close(of(&[[0.0, 1.4, 1.4], [12.0, 1.4, 1.3]]), 1.4);
    }

    #[test]
    fn the_least_of_two_stamps_is_later_than_that_of_many() {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        track.tick_ns = Some(1e6);
        // Sent at any time of a tick of 1 ms; a long packet takes 2 ms longer.
        let mut log = Log::default();
        let packet = |i: i64, phase: i64, length: u16| {
            let time = i * 1_000_000 + phase + if length > 1000 { 2_000_000 } else { 0 };
            Entry::new(1, time, i, 0, None).long(length)
        };
        log.push(0, packet(0, 300_000, 66));
        log.push(0, packet(1, 700_000, 66));
        (2..1000).for_each(|i| log.push(0, packet(i, i * 7919 % 1000 * 1000, 1514)));
        let mut leasts = LeastDelays::default();
        log.of(0).for_each(|entry| leasts.add(track.clock_model().observed(entry.time, entry.stamp), entry));
        let longer = expected(&log, 0, &track, &leasts).longer().unwrap();
        assert!(leasts.longer().is_some_and(|longer| longer < 1.71e6));
        assert!((longer - 2.0e6).abs() < 0.05e6, "{longer}");
    }
}
