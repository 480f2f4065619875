//! Third part of a finalization: base delays taken over between the flows of a host.
//!
//! Flows of one host share its uplink, and a queue that is first in, first out keeps their order: a packet that
//! arrives between two packets of another flow entered the queue between them too. The flow with the most packets is
//! the reference; what it says of when its packets entered bounds the delays of the others, and where a flow's own
//! delays are outside these bounds, its base is wrong by that: it began when the queue stood. Bases that were found
//! from round trips are all too high by the same (the least queue that any round trip met), so they are corrected
//! together.

use crate::delay::log::{Entry, Estimator, Track};
use std::collections::BTreeMap;

/// Packets of the reference that entered further apart than this bound nothing, ns.
const APART: f64 = 150e6;
/// Comparisons kept for each flow.
const MOST: usize = 512;
/// Differences below this, ns, are what packets of one queue differ by anyhow.
const TOLERANCE: f64 = 3e6;

#[derive(Default)]
struct Host {
    reference: Option<u32>,
    last: Option<(i64, f64)>,
    pending: Vec<(u32, i64, f64)>,
}

/// Set `cross_flow_base` of every track. What an earlier log told stays where this one tells nothing.
pub(crate) fn finalize(log: &[Entry], tracks: &mut [Track]) {
    let compared = compare(log, tracks);
    for (track, compared) in tracks.iter_mut().zip(compared) {
        if !compared {
            track.cross_flow_base = track.last_base.map_or(0.0, |known| (track.base - known).max(0.0));
        }
        track.last_base = Some(track.base - track.cross_flow_base);
    }
}

/// Set `cross_flow_base` of the tracks that were compared with others, and tell which they were.
fn compare(log: &[Entry], tracks: &mut [Track]) -> Vec<bool> {
    let mut hosts: BTreeMap<u32, Host> = BTreeMap::new();
    let mut flows: BTreeMap<u32, u32> = BTreeMap::new();
    for (i, track) in tracks.iter().enumerate().filter(|(_, track)| usable(track)) {
        let host = hosts.entry(track.host[0]).or_default();
        *flows.entry(track.host[0]).or_default() += 1;
        let longest = host.reference.map_or(0, |best| tracks[best as usize].entries);
        if track.entries > longest {
            host.reference = Some(i as u32);
        }
    }
    hosts.retain(|host, _| flows[host] > 1);
    let mut compared = vec![false; tracks.len()];
    if hosts.is_empty() {
        return compared;
    }
    let mut host_of: Vec<Option<Host>> = Vec::new();
    host_of.resize_with(hosts.keys().max().map_or(0, |&most| most as usize + 1), || None);
    for (index, host) in hosts {
        host_of[index as usize] = Some(host);
    }
    let mut bounds: Vec<Vec<[f64; 2]>> = vec![Vec::new(); tracks.len()];
    for entry in log {
        let track = &tracks[entry.track as usize];
        let Some(Some(host)) = host_of.get_mut(track.host[0] as usize) else { continue };
        if !usable(track) {
            continue;
        }
        // A stamp lies anywhere in its tick: half of it on average.
        let delay = track.delay(entry.time, entry.stamp, 0) - track.base - track.tick_ns.unwrap_or(0.0) / 2.0;
        if host.reference != Some(entry.track) {
            if host.pending.len() < MOST {
                host.pending.push((entry.track, entry.time, delay));
            }
            continue;
        }
        let before = host.last.replace((entry.time, delay));
        for (of, time, theirs) in host.pending.drain(..) {
            let Some((then, was)) = before else { continue };
            // When the reference's packets before and after this one entered the queue.
            let [first, last] = [then as f64 - was, entry.time as f64 - delay];
            let list = &mut bounds[of as usize];
            if list.len() < MOST && (0.0..APART).contains(&(last - first)) {
                list.push([last, first].map(|entered| time as f64 - entered - theirs));
            }
        }
    }
    for (of, bounds) in bounds.iter().enumerate() {
        compared[of] = !bounds.is_empty();
    }
    for (index, host) in host_of.into_iter().enumerate() {
        if let Some(reference) = host.and_then(|host| host.reference) {
            compared[reference as usize] = true;
            correct(index as u32, reference, tracks, &mut bounds);
        }
    }
    compared
}

fn correct(host: u32, reference: u32, tracks: &mut [Track], bounds: &mut [Vec<[f64; 2]>]) {
    let mine = |track: &Track| track.host[0] == host && usable(track);
    let mut own: BTreeMap<u32, f64> = BTreeMap::new();
    let mut together = Vec::new();
    for (i, track) in tracks.iter().enumerate().filter(|(i, track)| mine(track) && *i as u32 != reference) {
        if track.by_round_trip {
            together.append(&mut bounds[i]);
        } else {
            own.insert(i as u32, difference(&bounds[i]));
        }
    }
    let by_round_trip = tracks[reference as usize].by_round_trip;
    // The reference's own base came from the same round trips as theirs.
    let common = if by_round_trip { 0.0 } else { difference(&together) };
    let lowest = own.values().copied().fold(common.min(0.0), f64::min);
    for (i, track) in tracks.iter_mut().enumerate().filter(|(_, track)| mine(track)) {
        let by = match own.get(&(i as u32)) {
            Some(&difference) => difference,
            None if i as u32 == reference => 0.0,
            None => common,
        };
        track.cross_flow_base = (by - lowest).max(0.0);
    }
}

fn usable(track: &Track) -> bool {
    track.estimator == Estimator::Observer && track.timed() && !track.silent
}

/// What delays have to be raised by to lie within nearly all of their bounds; 0 if they do.
fn difference(bounds: &[[f64; 2]]) -> f64 {
    if bounds.is_empty() {
        return 0.0;
    }
    let [mut lows, mut highs] = [0, 1].map(|side| bounds.iter().map(|bound| bound[side]).collect::<Vec<_>>());
    lows.sort_unstable_by(f64::total_cmp);
    highs.sort_unstable_by(f64::total_cmp);
    // Some may be out of order by jitter: as few as leaves bounds that do not contradict each other.
    let at = |share: f64| {
        let skip = ((lows.len() - 1) as f64 * share) as usize;
        (lows[lows.len() - 1 - skip], highs[skip])
    };
    let Some((low, high)) = [0.02, 0.1, 0.25].into_iter().map(at).find(|(low, high)| low <= high) else {
        // Their queues are not the same: each flow has its own, or there are several hosts behind the address.
        return 0.0;
    };
    let middle = (low + high) / 2.0;
    if (low <= 0.0 && high >= 0.0) || middle.abs() <= TOLERANCE { 0.0 } else { middle }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn delays_within_their_bounds_are_left_alone() {
        assert_eq!(difference(&[[-20e6, 5e6], [-3e6, 30e6]]), 0.0);
        assert_eq!(difference(&[[80e6, 120e6], [90e6, 110e6], [70e6, 112e6]]), 100e6);
        assert_eq!(difference(&[]), 0.0);
    }
}
