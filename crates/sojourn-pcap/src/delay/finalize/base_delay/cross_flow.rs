//! Base delays taken over between the flows of a host.
//!
//! What is known of one flow's base bounds the delays of the others of its host at the same time
//! ([`super::comparison`]). Where a flow's own delays are outside these bounds, its base is wrong by that: it began
//! when the queue stood.
//!
//! Flows whose base the round trips settle (see [`super::single_flow`]) are the references; flows that were compared
//! with them are references for the next, those that are known best first. Where no flow of a host is settled, the one
//! with the most packets stands for the others: then all are known relative to each other, and what they leave open is
//! decided together.
//!
//! Round trips may all be too long: no flow that they were measured on met both queues empty. A flow that did meet its
//! own empty, and is no such flow (uTP), then says that all others' bases are too high by the same, and so is the
//! shortest round trip. By how much, all others' packets say, each between two packets of that flow. A queue keeps
//! order whoever is asked: where these say that it cannot be, a reference was wrong, and nothing is known of that flow.
//!
//! What the two directions' least delays exceed the shortest round trip by belongs to a queue that never emptied. If
//! one direction is seen to be empty at its least ([`crate::delay::track::empty_queue`]), it belongs to the other. If
//! neither is, it is charged to neither: both delays are lower bounds. What a flow does not show the others of its host
//! may, unless its own packets mostly waited that way. So are those of a flow whose comparisons leave
//! its base too wide.

use crate::delay::estimate::Estimator;
use crate::delay::finalize::base_delay::comparison::{FEWEST, TOLERANCE, compare, difference, within};
use crate::delay::log::Log;
use crate::delay::protocol::Protocol;
use crate::delay::track::empty_queue::Evidence;
use crate::delay::track::{Queues, Track};
use std::collections::{BTreeMap, BTreeSet};

/// Packets of which a flow has as many if it tells that the bases of all others are too high.
const MANY: u64 = 50;
/// Bases that are known no better than this, ns, and than this share of the delays that they decide, are not known.
const WIDE: (f64, f64) = (2e6, 0.1);
/// What a base may be off by to be taken over, ns, by round: what is known best is a reference for the rest.
const ROUNDS: [f64; 5] = [1e6, 2e6, 4e6, 8e6, f64::INFINITY];

/// Set of every track `cross_flow_base` (what its base is too high by), `unassigned` and `empty`. What an earlier log
/// told stays where this one tells nothing.
pub(crate) fn finalize(log: &Log, tracks: &mut [Track], threads: usize) {
    let mut of_host: BTreeMap<Queues, Vec<usize>> = BTreeMap::new();
    for (i, _) in tracks.iter().enumerate().filter(|(_, track)| usable(track)) {
        of_host.entry(tracks[i].queues()).or_default().push(i);
    }
    let mut known: Vec<bool> = tracks.iter().map(|track| usable(track) && track.by_round_trip).collect();
    let mut raise = vec![0.0; tracks.len()];
    let mut relative: BTreeSet<Queues> = BTreeSet::new();
    for (queues, members) in &of_host {
        // Who sent nothing while this log lasted is no reference for those who did.
        let here: Vec<usize> = members.iter().copied().filter(|&i| log.len_of(i) > 0).collect();
        if here.len() > 1 && !here.iter().any(|&i| known[i]) {
            let longest = here.into_iter().max_by_key(|&i| (tracks[i].entries, std::cmp::Reverse(i)));
            longest.into_iter().for_each(|i| known[i] = true);
            relative.insert(*queues);
        }
    }
    let mut taken = vec![false; tracks.len()];
    for most in ROUNDS {
        let open: Vec<bool> = (0..tracks.len()).map(|i| usable(&tracks[i]) && !known[i]).collect();
        let with_reference = |i: usize| of_host[&tracks[i].queues()].iter().any(|&other| known[other]);
        if !(0..tracks.len()).any(|i| open[i] && with_reference(i)) {
            break;
        }
        let bounds = compare(log, tracks, &of_host, [&known, &open], &raise, threads);
        for (i, bounds) in bounds.iter().enumerate().filter(|(_, bounds)| bounds.len() >= FEWEST) {
            let relative = relative.contains(&tracks[i].queues());
            let found = difference(bounds, &tracks[i], relative);
            let told =
                |&(by, error): &(f64, f64)| error <= most && (by >= 0.0 || relative || tracks[i].entries >= MANY);
            let Some((by, error)) = found.filter(told) else { continue };
            (raise[i], tracks[i].base_error) = (by, error);
            (known[i], taken[i]) = (true, true);
        }
    }
    shift_to_lowest(log, tracks, &of_host, (&mut known, &relative), &mut raise, threads);
    for (queues, members) in &of_host {
        settle(tracks, members, (&known, &taken), &mut raise, relative.contains(queues));
    }
    for (i, track) in tracks.iter_mut().enumerate() {
        let own = known[i] || raise[i] > 0.0;
        let before = track.last_base.map_or(0.0, |known| (track.base - known).max(0.0));
        track.cross_flow_base = if own { raise[i].max(0.0) } else { before };
        track.last_base = Some(track.base - track.cross_flow_base);
        if track.estimator == Estimator::Reported {
            track.empty = [track.protocol == Protocol::Utp && track.evidence[0].empty(); 2];
        }
    }
}

/// Where a flow that was compared met its own empty queue below the bases that round trips tell, measure by how much
/// these are too high: one flow's packets between those of all others bound it loosely, all others' packets between its
/// own bound it well. If they contradict it, nothing is known of that flow.
fn shift_to_lowest(
    log: &Log,
    tracks: &mut [Track],
    of_host: &BTreeMap<Queues, Vec<usize>>,
    (known, relative): (&mut [bool], &BTreeSet<Queues>),
    raise: &mut [f64],
    threads: usize,
) {
    let below = |members: &[usize]| {
        let lowest = members.iter().copied().filter(|&i| known[i] && raise[i] < 0.0);
        lowest.min_by(|&a, &b| raise[a].total_cmp(&raise[b]))
    };
    let lowest: Vec<(&Vec<usize>, usize)> = of_host
        .iter()
        .filter(|(queues, _)| !relative.contains(queues))
        .filter_map(|(_, members)| Some((members, below(members)?)))
        .collect();
    if lowest.is_empty() {
        return;
    }
    let mut sets = [vec![false; tracks.len()], vec![false; tracks.len()]];
    for (members, own) in &lowest {
        members.iter().for_each(|&i| sets[usize::from(i != *own)][i] = known[i]);
    }
    // Of all others together, as they stand relative to each other; the lowest flow's own delays are its base's.
    let before: Vec<f64> = lowest.iter().map(|&(_, own)| std::mem::take(&mut raise[own])).collect();
    let bounds = compare(log, tracks, of_host, [&sets[0], &sets[1]], raise, threads);
    for ((members, own), before) in lowest.into_iter().zip(before) {
        let all: Vec<[f64; 2]> = members.iter().flat_map(|&i| bounds[i].iter().copied()).collect();
        let (error, near) = (tracks[own].base_error, tracks[own].tick_ns.unwrap_or(0.0) + TOLERANCE);
        let (by, error) = match within(&all) {
            Some((low, high)) if (-before - high).max(low + before) > error + near => {
                known[own] = false;
                continue;
            }
            Some((low, high)) if (high - low) / 2.0 < error => (f64::midpoint(low, high), (high - low) / 2.0),
            _ => (-before, error),
        };
        raise[own] = -by.max(0.0);
        members.iter().filter(|&&i| known[i]).for_each(|&i| tracks[i].base_error += error);
        tracks[own].base_error = 0.0;
    }
}

/// Decide what the flows of one host leave open.
fn settle(tracks: &mut [Track], members: &[usize], known: (&[bool], &[bool]), raise: &mut [f64], relative: bool) {
    let (known, taken) = known;
    let (together, alone): (Vec<usize>, Vec<usize>) = members.iter().partition(|&&i| known[i]);
    let mut groups: Vec<Vec<usize>> = alone.into_iter().map(|i| vec![i]).collect();
    // The shortest round trip itself was met after a silence: both queues were empty then.
    let settled = !relative && together.iter().any(|&i| !taken[i] && tracks[i].evidence.iter().all(|way| way.idle));
    if relative {
        groups.push(together);
    } else {
        let seen = joined(tracks, &together, raise);
        let common = together.iter().map(|&i| -raise[i]).fold(0.0, f64::max);
        for &i in members {
            tracks[i].round_trip_base -= common;
            tracks[i].gap += common;
        }
        for i in together {
            raise[i] += common;
            tracks[i].empty = seen.map(|way| settled || way.empty());
        }
    }
    // What a few packets do not show, those of the host's other flows may, if they show it of one way alone, and hardly
    // ever waited there: what was empty now and then may have stood at another time.
    let of_all = joined(tracks, members, raise).map(|way| way.hardly_waits() && (!relative || way.piles_up()));
    let of_all = if of_all == [true; 2] { [false; 2] } else { of_all };
    for group in groups.iter().filter(|group| !group.is_empty()) {
        let ways = joined(tracks, group, raise);
        let own = ways.map(|way| way.empty());
        // Whose own packets mostly waited were there at another time.
        let of_all = [0, 1].map(|way| of_all[way] && !ways[way].mostly_waits());
        let seen = match own {
            [false, false] => of_all,
            // What it shows of one way, the host's others show of the other one.
            [from, to] if [to, from] == of_all => [false; 2],
            own => own,
        };
        // No base is above the least delay of its flow, nor below what round trips leave; the flow decides that says
        // most for certain.
        let error = |i: usize| if known[i] { tracks[i].base_error } else { 0.0 };
        let surest = |of: &dyn Fn(usize) -> f64| {
            let of = group.iter().map(|&i| (of(i), error(i)));
            of.max_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1))).map_or(f64::NEG_INFINITY, |(by, _)| by)
        };
        let [least, most] = [surest(&|i| -raise[i]), -surest(&|i| raise[i] - tracks[i].gap)];
        let gap = (most - least).max(0.0);
        let tick = group.iter().map(|&i| tracks[i].tick_ns.unwrap_or(0.0)).fold(0.0, f64::max);
        let (by, unassigned, empty) = match seen {
            _ if gap <= tick + TOLERANCE => (least, 0.0, seen),
            [true, _] => (least, 0.0, [true, settled]),
            [false, true] if gap.is_finite() => (most, 0.0, [settled, true]),
            _ => (least, gap, seen),
        };
        for &i in group {
            raise[i] = (raise[i] + by).max(0.0);
            tracks[i].unassigned = unassigned;
            tracks[i].empty = empty;
        }
    }
    for protocol in Protocol::ALL {
        let of: Vec<usize> = members.iter().copied().filter(|&i| tracks[i].protocol == protocol).collect();
        let mean = |value: &dyn Fn(usize) -> f64| {
            let packets = of.iter().map(|&i| tracks[i].entries as f64).sum::<f64>().max(1.0);
            of.iter().map(|&i| value(i) * tracks[i].entries as f64).sum::<f64>() / packets
        };
        if mean(&|i| tracks[i].base_error) <= WIDE.0.max(WIDE.1 * mean(&|i| raise[i])) {
            continue;
        }
        for i in of {
            // The other direction has what this one has not: together they are what the round trips leave.
            let track = &mut tracks[i];
            let lower = track.base_error.min(raise[i].max(0.0));
            raise[i] -= lower;
            track.unassigned += track.base_error + lower;
            if track.base_error > WIDE.0 {
                track.empty = [false; 2];
            }
        }
    }
}

/// What some flows show of an empty queue, from their host and to it: those whose least delay is the least of all. The
/// others' packets met a queue whenever theirs was least, however many did.
fn joined(tracks: &[Track], members: &[usize], raise: &[f64]) -> [Evidence; 2] {
    let least_of = |way: usize, i: usize| if way == 0 { raise[i] } else { tracks[i].gap - raise[i] };
    [0, 1].map(|way| {
        let least = members.iter().map(|&i| least_of(way, i)).fold(f64::INFINITY, f64::min);
        let near = |i: usize| tracks[i].tick_ns.unwrap_or(0.0) + TOLERANCE + tracks[i].base_error;
        let lowest = members.iter().filter(|&&i| least_of(way, i) - least <= near(i));
        let mut all = Evidence::default();
        lowest.for_each(|&i| all.join(&tracks[i].evidence[way]));
        all
    })
}

fn usable(track: &Track) -> bool {
    track.estimator == Estimator::Observer && track.timed() && !track.silent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::log::entry::Entry;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    fn track(gap: f64) -> Track {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        (track.tick_ns, track.gap, track.entries) = (Some(1e6), gap, 100);
        track
    }

    #[test]
    fn a_base_known_too_widely_gives_a_lower_bound() {
        for (raise, error, lower) in [(6.5e6, 6e6, true), (6.5e6, 1.5e6, false), (90e6, 6e6, false), (90e6, 20e6, true)]
        {
            let mut tracks = vec![track(200e6)];
            (tracks[0].base_error, tracks[0].evidence[0].idle) = (error, true);
            let mut raises = [raise];
            settle(&mut tracks, &[0], (&[true], &[true]), &mut raises, false);
            let (shift, missing) = if lower { (error, 2.0 * error) } else { (0.0, 0.0) };
            assert_eq!((raises[0], tracks[0].unassigned), (raise - shift, missing));
            assert_eq!(tracks[0].empty[0], !lower);
        }
    }

    #[test]
    fn of_a_few_packets_others_say_which_way_waited_if_one_alone_was_seen_empty() {
        let shows = |empty| if empty { 20 } else { 0 };
        for (seen, raised, lacks, empty) in [
            ([true, false], 0.0, 0.0, [true, false]),
            ([false, true], 15e6, 0.0, [false, true]),
            // Both were, now and then: this flow may have waited either way.
            ([true, true], 0.0, 15e6, [false, false]),
        ] {
            // The second's handshake took 15 ms longer than the shortest round trip.
            let mut tracks = vec![track(0.0), track(15e6)];
            tracks[0].evidence = seen.map(|empty| Evidence { at_least: shows(empty), all: 100, ..Evidence::default() });
            tracks[1].evidence = [Evidence { at_least: 2, all: 2, ..Evidence::default() }; 2];
            let mut raise = [0.0; 2];
            settle(&mut tracks, &[0, 1], (&[true, false], &[false; 2]), &mut raise, false);
            assert_eq!((raise[1], tracks[1].unassigned, tracks[1].empty), (raised, lacks, empty), "{seen:?}");
            // Nor do others tell that often waited themselves: at another time it may have stood.
            tracks.iter_mut().for_each(|track| track.unassigned = 0.0);
            tracks[0].evidence.iter_mut().for_each(|way| way.far = 6);
            let mut raise = [0.0; 2];
            settle(&mut tracks, &[0, 1], (&[true, false], &[false; 2]), &mut raise, false);
            assert_eq!((raise[1], tracks[1].unassigned, tracks[1].empty), (0.0, 15e6, [false; 2]), "{seen:?}");
        }
    }

    #[test]
    fn others_do_not_tell_of_a_flow_whose_own_packets_mostly_waited() {
        for (far, raised, lacks, empty) in [(10, 15e6, 0.0, [false, true]), (11, 0.0, 15e6, [false; 2])] {
            // The first was there before an upload that fills the way to the host, and the second beside it.
            let mut tracks = vec![track(0.0), track(15e6)];
            tracks[0].evidence[1] = Evidence { at_least: 20, all: 100, ..Evidence::default() };
            tracks[1].evidence[1] = Evidence { at_least: 1, all: 20, far, ..Evidence::default() };
            let mut raise = [0.0; 2];
            settle(&mut tracks, &[0, 1], (&[true, false], &[false; 2]), &mut raise, false);
            assert_eq!((raise[1], tracks[1].unassigned, tracks[1].empty), (raised, lacks, empty), "{far}");
        }
    }

    #[test]
    fn what_a_flow_shows_of_one_way_and_all_others_of_the_other_one_is_open() {
        let way = |at_least, all, far| Evidence { at_least, all, far, data: true, ..Evidence::default() };
        for (others_waited, raised, lacks, empty) in [(0, 0.0, 15e6, [false; 2]), (40, 15e6, 0.0, [false, true])] {
            // The second's own packets pile up on the way to the host, in the valley of a queue that others met there.
            let mut tracks = vec![track(0.0), track(15e6)];
            tracks[0].evidence = [way(60, 100, others_waited), way(20, 100, 80)];
            tracks[1].evidence = [way(20, 20, 0), way(20, 30, 10)];
            let mut raise = [0.0; 2];
            settle(&mut tracks, &[0, 1], (&[true, false], &[false; 2]), &mut raise, false);
            assert_eq!((raise[1], tracks[1].unassigned, tracks[1].empty), (raised, lacks, empty), "{others_waited}");
        }
    }

    #[test]
    fn a_flow_whose_least_delay_is_above_others_shows_no_empty_queue() {
        // Both end while a queue stands; the one that piles up met 500 ms at the least, the other a valley of it.
        let piled = Evidence { at_least: 10, far: 2356, all: 2366, data: true, ..Evidence::default() };
        let valley = Evidence { at_least: 2, all: 1956, far: 1952, data: true, ..Evidence::default() };
        for (gap, raised, empty) in
            [(500e6, 0.0, [true, false]), (500e6, 500e6, [false, true]), (0.4e6, 0.0, [true, true])]
        {
            let mut tracks = vec![track(gap), track(0.4e6)];
            for (track, to) in tracks.iter_mut().zip([piled, valley]) {
                (track.evidence, track.by_round_trip) = ([piled, to], track.gap < 1e6);
            }
            tracks[1].evidence[0] = valley;
            let mut raise = [raised, 0.0];
            settle(&mut tracks, &[0, 1], (&[true; 2], &[true, false]), &mut raise, false);
            assert_eq!(tracks.iter().map(|track| track.empty).collect::<Vec<_>>(), [empty; 2], "{gap} {raised}");
        }
    }

    #[test]
    fn of_flows_that_are_known_relative_to_each_other_the_surest_decides() {
        let mut tracks = vec![track(0.0), track(2e6), track(24e6)];
        (tracks[1].base_error, tracks[2].base_error) = (0.25e6, 5.1e6);
        let mut raise = [0.0, -0.9e6, -5.3e6];
        settle(&mut tracks, &[0, 1, 2], (&[true; 3], &[false, true, true]), &mut raise, true);
        assert_eq!(raise, [0.9e6, 0.0, 0.0]);
    }

    #[test]
    fn a_few_packets_do_not_tell_that_all_others_bases_are_too_high() {
        for (entries, lowered) in [(MANY - 1, 0.0), (MANY, 6e6)] {
            // Packets of the second flow come between those of the first, and seem to have waited 6 ms longer.
            let (mut log, mut tracks) = (Log::default(), vec![track(0.0), track(14e6)]);
            (tracks[0].base, tracks[0].by_round_trip) = (20e6, true);
            (tracks[1].base, tracks[1].entries) = (20e6, entries);
            for i in 0..1000i64 {
                log.push(0, Entry::new(1, i * 1_000_000 + 20_000_000, i, 0, None));
                if i % 10 == 5 && i / 10 < entries as i64 {
                    log.push(1, Entry::new(1, i * 1_000_000 + 20_500_000, i - 6, 0, None));
                }
            }
            finalize(&log, &mut tracks, 1);
            assert!((tracks[0].cross_flow_base - lowered).abs() < 1.1e6, "{entries} {}", tracks[0].cross_flow_base);
        }
    }

    #[test]
    fn a_flow_does_not_tell_that_all_others_bases_are_too_high_if_their_packets_contradict_it() {
        for (wrong, taken) in [(0.0, true), (6e6, false)] {
            // None waited. The third's base is wrong: its packets beside those of the second seem to enter later.
            let (mut log, mut tracks) = (Log::default(), vec![track(0.0), track(14e6), track(0.0)]);
            tracks.iter_mut().for_each(|track| track.base = 20e6);
            (tracks[0].by_round_trip, tracks[2].by_round_trip, tracks[2].base) = (true, true, 20e6 + wrong);
            for i in 0..500i64 {
                let arrived = i * 1_000_000 + 20_000_000;
                log.push(0, Entry::new(1, arrived, i, 0, None));
                if i % 10 == 5 {
                    for (track, later) in [(2, 400_000), (1, 500_000), (2, 600_000)] {
                        log.push(track, Entry::new(1, arrived + later, i, 0, None));
                    }
                }
            }
            finalize(&log, &mut tracks, 1);
            assert!(tracks[0].cross_flow_base < 1.1e6, "{}", tracks[0].cross_flow_base);
            assert_eq!(tracks[1].unassigned == 0.0, taken, "which way it waited is open");
        }
    }
}
