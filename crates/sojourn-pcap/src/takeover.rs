//! Third part of a settlement: base delays taken over between the flows of a host.
//!
//! Flows of one host share its uplink. While two of them send, packets that arrive next to each other waited for about as long; if one flow's delays are
//! always lower by the same amount, its base is too high by that, because it began when the queue stood. The flow with the
//! most packets is the reference, the others' delays are compared with its own, interpolated in time. Bases that were found from round trips
//! are all too high by the same (the least queue that any round trip met), so they are corrected together.

use crate::log::{Entry, Estimator, Track};
use std::collections::BTreeMap;

/// Neighbours of the reference further apart than this say nothing, ns.
const APART: i64 = 60_000_000;
/// Comparisons kept for each flow, and how many are needed.
const MOST: usize = 512;
const LEAST: usize = 3;
/// Differences below this, ns, are what packets of one queue differ by anyhow.
const TOLERANCE: f64 = 3e6;

#[derive(Default)]
struct Host {
    reference: Option<u32>,
    last: Option<(i64, f64)>,
    pending: Vec<(u32, i64, f64)>,
}

/// Set `takeover` of every track.
pub(crate) fn settle(log: &[Entry], tracks: &mut [Track]) {
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
    if hosts.is_empty() {
        return;
    }
    let mut host_of: Vec<Option<Host>> = Vec::new();
    host_of.resize_with(hosts.keys().max().map_or(0, |&most| most as usize + 1), || None);
    for (index, host) in hosts {
        host_of[index as usize] = Some(host);
    }
    let mut differences: Vec<Vec<f64>> = vec![Vec::new(); tracks.len()];
    for entry in log {
        let track = &tracks[entry.track as usize];
        let Some(Some(host)) = host_of.get_mut(track.host[0] as usize) else { continue };
        if !usable(track) {
            continue;
        }
        // A stamp lies anywhere in its tick: half of it on average.
        let delay = track.delay(entry.time, entry.stamp, 0) - track.base - track.tick_ns.unwrap_or(0.0) / 2.0;
        if host.reference != Some(entry.track) {
            if host.pending.len() < 64 {
                host.pending.push((entry.track, entry.time, delay));
            }
            continue;
        }
        let before = host.last.replace((entry.time, delay));
        for (of, time, theirs) in host.pending.drain(..) {
            let Some((then, was)) = before.filter(|(then, _)| entry.time - then <= APART && time >= *then) else {
                continue;
            };
            let share = (time - then) as f64 / ((entry.time - then) as f64).max(1.0);
            let list = &mut differences[of as usize];
            if list.len() < MOST {
                list.push(was + (delay - was) * share - theirs);
            }
        }
    }
    for (index, host) in host_of.into_iter().enumerate() {
        if let Some(reference) = host.and_then(|host| host.reference) {
            correct(index as u32, reference, tracks, &mut differences);
        }
    }
}

fn correct(host: u32, reference: u32, tracks: &mut [Track], differences: &mut [Vec<f64>]) {
    let mine = |track: &Track| track.host[0] == host && usable(track);
    let mut own: BTreeMap<u32, f64> = BTreeMap::new();
    let mut together = Vec::new();
    for (i, track) in tracks.iter().enumerate().filter(|(_, track)| mine(track)) {
        let list = &mut differences[i];
        if list.len() < LEAST || i as u32 == reference {
            continue;
        }
        let difference = median(list);
        if track.by_round_trip {
            together.push(difference);
        } else {
            own.insert(i as u32, difference);
        }
    }
    let common = if together.is_empty() { 0.0 } else { significant(median(&mut together)) };
    let lowest = own.values().copied().map(significant).fold(common.min(0.0), f64::min);
    let shared_by_reference = tracks[reference as usize].by_round_trip;
    for (i, track) in tracks.iter_mut().enumerate().filter(|(_, track)| mine(track)) {
        let by = match own.get(&(i as u32)) {
            _ if i as u32 == reference => 0.0,
            _ if track.by_round_trip && shared_by_reference => 0.0,
            _ if track.by_round_trip => common,
            Some(&difference) => significant(difference),
            None => 0.0,
        };
        track.takeover = (by - lowest).max(0.0);
    }
}

fn usable(track: &Track) -> bool {
    track.estimator == Estimator::Observer && track.timed() && !track.silent
}

fn significant(difference: f64) -> f64 {
    if difference.abs() > TOLERANCE { difference } else { 0.0 }
}

fn median(list: &mut [f64]) -> f64 {
    list.sort_unstable_by(f64::total_cmp);
    list[list.len() / 2]
}
