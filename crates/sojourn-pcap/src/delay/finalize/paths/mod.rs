//! Whether local hosts have one path to a remote host, or some a longer one: two uplinks, a tunnel, a relay.
//!
//! Round trips of one path are all compared with the shortest of the remote host. That of a local host whose shortest
//! is longer met a queue whenever it was seen, or its path is longer. The order of its packets among those of other
//! local hosts tells which ([`packet_order`]). Only answers that were given at once count. Where no length fits, nor
//! most packets lie as on the same path, its queues are not the others'.
//!
//! A connection that began after a silence of all hosts met empty queues: if its round trip is the shortest of its
//! local host, this is its path's, where the order of packets says nothing else.
//!
//! Where neither is seen, the path is taken to be the same.
//!
//! Round trips of the log pass into the [`Path`] of each pair of hosts, which hosts keep; from there it is handed to
//! every track of the pair.

mod packet_order;

use crate::delay::estimate::Estimator;
use crate::delay::finalize::paths::packet_order::{Found, Order, Round};
use crate::delay::finalize::queueing_delay::PAUSE;
use crate::delay::host::Hosts;
use crate::delay::host::path::Path;
use crate::delay::host::silence::SILENCE;
use crate::delay::log::Log;
use crate::delay::log::entry::{ECHOED, IDLE, LONE, TOWARD};
use crate::delay::parallel::for_each;
use crate::delay::protocol::Protocol;
use crate::delay::track::Track;
use std::collections::BTreeMap;

/// Packets that were sent nearer to each other tell the same, ns.
const NEAR: i64 = 1_000_000;
/// Those that were compared with some are compared with others, so many times at most.
const ROUNDS: usize = 3;

/// Set `path` of all tracks.
pub(crate) fn find(log: &Log, tracks: &mut [Track], hosts: &mut Hosts, threads: usize) {
    let of_remote = several(tracks, hosts).into_iter().map(|(host, locals)| (host, locals, Vec::new()));
    let (mut of_remote, known): (Vec<_>, _) = (of_remote.collect(), &*hosts);
    for_each(
        threads,
        &mut of_remote,
        |_, (_, locals, _)| locals.values().flatten().map(|&i| log.len_of(i)).sum(),
        |_, (host, locals, told)| *told = tell(log, tracks, known, *host, locals),
    );
    for (host, locals, told) in of_remote {
        for (local, path) in locals.into_keys().zip(told) {
            if path.told && !path.apart {
                // What nobody else met empty, who is further away did.
                let least_sum = &mut hosts.all[host as usize].least_sum;
                *least_sum = least_sum.min((path.shortest - path.longer) as f64);
            }
            hosts.paths.insert([host, local], path);
        }
    }
    for track in tracks {
        track.path = hosts.paths.get(&track.host).copied().unwrap_or_default();
    }
}

/// Tracks of remote hosts that several local hosts speak with, by both.
fn several(tracks: &[Track], hosts: &Hosts) -> BTreeMap<u32, BTreeMap<u32, Vec<usize>>> {
    let of = |track: &Track| {
        let timed = track.estimator == Estimator::Observer && track.protocol == Protocol::Tcp && track.timed();
        (timed && hosts.remote(track.host[0], track.host[1])).then_some(track.host)
    };
    let mut first = vec![None; hosts.all.len()];
    let mut found: BTreeMap<u32, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for [host, local] in tracks.iter().filter_map(of) {
        if *first[host as usize].get_or_insert(local) != local {
            found.entry(host).or_default();
        }
    }
    for (i, [host, local]) in tracks.iter().enumerate().filter_map(|(i, track)| Some((i, of(track)?))) {
        if let Some(locals) = found.get_mut(&host) {
            locals.entry(local).or_default().push(i);
        }
    }
    found
}

/// The path of each local host to one remote host.
fn tell(log: &Log, tracks: &[Track], hosts: &Hosts, host: u32, locals: &BTreeMap<u32, Vec<usize>>) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::with_capacity(locals.len());
    for (local, members) in locals {
        let mut path = hosts.paths.get(&[host, *local]).copied().unwrap_or_default();
        members.iter().for_each(|&i| look(&mut path, log, i, hosts.midstream));
        paths.push(path);
    }
    let shortest = hosts.all[host as usize].echo_min;
    let over: Vec<i64> = paths.iter().map(|path| path.shortest.saturating_sub(shortest).max(0)).collect();
    let mut open: Vec<usize> = (0..paths.len()).filter(|&at| paths[at].asks(over[at])).collect();
    let rounds = |members: &Vec<usize>| if open.is_empty() { Vec::new() } else { rounds(log, tracks, members) };
    let rounds: Vec<Vec<Round>> = locals.values().map(rounds).collect();
    for _ in 0..ROUNDS {
        let mut known: Vec<Round> = Vec::new();
        for (at, path) in paths.iter().enumerate().filter(|(at, path)| !open.contains(at) && !path.apart) {
            known.extend(rounds[at].iter().map(|&(sent, back)| (sent + path.there, back - (path.longer - path.there))));
        }
        known.sort_unstable();
        let before = open.len();
        open.retain(|&at| {
            let (path, over) = (&mut paths[at], over[at] as f64);
            let found = Order { known: &known, of: &rounds[at] }.longer(over);
            path.refuted = matches!(found, Found::Nothing);
            let Found::Longer { by, there } = found else { return true };
            (path.longer, path.there, path.told) = (by as i64, there as i64, by > 0.0);
            false
        });
        if open.is_empty() || open.len() == before {
            break;
        }
    }
    for (at, path) in paths.iter_mut().enumerate() {
        path.settle(over[at], open.contains(&at));
    }
    paths
}

/// Take in the round trips of a track.
fn look(path: &mut Path, log: &Log, i: usize, midstream: i64) {
    for entry in log.of(i) {
        let Some(extra) = entry.extra() else { continue };
        let round_trip = i64::from(extra) * 1000;
        path.shortest = path.shortest.min(round_trip);
        if entry.is(IDLE) && !(entry.time..entry.time.saturating_add(SILENCE)).contains(&midstream) {
            path.idle = path.idle.min(round_trip);
        }
    }
}

/// What a local host sent to a remote one, as far as its answers were given at once.
fn rounds(log: &Log, tracks: &[Track], members: &[usize]) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for &i in members {
        let pause = (PAUSE / tracks[i].tick_ns.unwrap_or(PAUSE)) as i64 + 1;
        let mut stamps = [i64::MIN; 2];
        for entry in log.of(i) {
            if !entry.is(TOWARD) {
                stamps = [entry.stamp, stamps[0]];
                continue;
            }
            let paused = entry.is(ECHOED) && entry.stamp.saturating_sub(stamps[1]) > pause;
            if let (Some(extra), false) = (entry.extra(), paused || entry.is(LONE)) {
                rounds.push((entry.time - i64::from(extra) * 1000, entry.time));
            }
        }
    }
    rounds.sort_unstable();
    let mut last = i64::MIN;
    rounds.retain(|&(sent, _)| {
        let far = sent.saturating_sub(last) >= NEAR;
        last = if far { sent } else { last };
        far
    });
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::log::entry::{DATA, Entry};
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    const MS: i64 = 1_000_000;

    /// Local hosts beside the observer that speak with one remote host.
    struct Scene {
        log: Log,
        tracks: Vec<Track>,
        hosts: Hosts,
    }

    impl Scene {
        fn new(locals: u128) -> Self {
            let (mut hosts, mut tracks) = (Hosts::new(Vec::new()), Vec::new());
            let remote = hosts.of(Address(1));
            for local in 0..locals {
                let local = Address(2 + local);
                let (key, side) = Key::of((Address(1), 1), (local, 2), 6);
                let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
                let near = hosts.of(local);
                hosts.all[near as usize].response_min = 0;
                let of = if side == 0 { [remote, near] } else { [near, remote] };
                let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: of }, 0);
                track.tick_ns = Some(1e6);
                tracks.push(track);
            }
            Self { log: Log::default(), tracks, hosts }
        }

        /// Packets of a local host, sent every so many ms, for 20 s: a queue of 40 ms at the most and so many at the
        /// least comes and goes, and the path takes so many ms longer than 20, there and back.
        fn send(&mut self, local: usize, every: i64, longer: i64, least: i64, flags: u64) {
            for sent in (0..20_000).step_by(every as usize).map(|sent| sent * MS) {
                let reached = sent + longer * MS / 2;
                let waited = least * MS + reached.rem_euclid(400 * MS) / 10;
                self.answer(local, sent, 20 * MS + waited + longer * MS, flags);
            }
        }

        fn answer(&mut self, local: usize, sent: i64, round_trip: i64, flags: u64) {
            let host = &mut self.hosts.all[0];
            host.echo_min = host.echo_min.min(round_trip);
            let back = sent + round_trip;
            self.log.push(local as u32, Entry::new(1, back, back / MS, flags, Some((round_trip / 1000) as u32)));
        }

        /// What paths are longer by, ms, and whether they are apart.
        fn told(&mut self) -> Vec<(i64, bool)> {
            find(&self.log, &mut self.tracks, &mut self.hosts, 1);
            self.tracks.iter().map(|track| ((track.path.longer + MS / 2) / MS, track.path.apart)).collect()
        }
    }

    #[test]
    fn a_local_host_has_a_longer_path_or_met_a_queue_whenever_it_was_seen() {
        let mut scene = Scene::new(3);
        scene.send(0, 5, 0, 0, DATA | TOWARD);
        scene.send(1, 70, 40, 0, DATA | TOWARD);
        // Within the second half of each period only: its shortest round trip is longer by 20 ms.
        for sent in (200..20_000).step_by(400).flat_map(|at| [at, at + 67, at + 131]).map(|sent| sent * MS) {
            scene.answer(2, sent, 20 * MS + sent.rem_euclid(400 * MS) / 10, DATA | TOWARD);
        }
        assert_eq!(scene.told(), [(0, false), (40, false), (0, false)]);
        let shortest: Vec<_> = scene.tracks.iter().map(|track| track.shortest_round_trip(&scene.hosts) / MS).collect();
        assert_eq!(shortest, [20, 60, 20]);
    }

    #[test]
    fn what_is_told_of_a_path_stays_told() {
        let mut scene = Scene::new(2);
        scene.send(0, 5, 0, 0, DATA | TOWARD);
        scene.send(1, 70, 40, 0, DATA | TOWARD);
        assert_eq!(scene.told(), [(0, false), (40, false)]);
        scene.log.clear();
        scene.answer(0, 0, 20 * MS, TOWARD);
        scene.answer(1, 0, 70 * MS, TOWARD);
        assert_eq!(scene.told(), [(0, false), (40, false)]);
    }

    #[test]
    fn who_is_further_away_may_have_met_the_queue_empty_that_nobody_near_did() {
        let mut scene = Scene::new(2);
        scene.send(0, 5, 0, 25, DATA | TOWARD);
        scene.send(1, 70, 40, 25, DATA | TOWARD);
        scene.answer(1, 25_000 * MS, 60 * MS, DATA | TOWARD);
        scene.told();
        assert_eq!(scene.hosts.all[0].echo_min, 45 * MS);
        let (least_sum, longer) = scene.tracks[1].least_sum(&mut scene.hosts);
        // By no more than is certain: packets of who is near are 5 ms apart.
        assert!((20e6..25.1e6).contains(least_sum), "{least_sum} {longer}");
    }

    #[test]
    fn answers_that_may_have_been_held_back_tell_nothing_of_order() {
        // Acknowledged late, or echoed by a sender that keeps its own pace.
        for flags in [DATA | TOWARD | LONE, TOWARD | ECHOED] {
            let mut scene = Scene::new(2);
            scene.send(0, 5, 0, 0, DATA | TOWARD);
            scene.send(1, 70, 40, 0, flags);
            assert_eq!(scene.told(), [(0, false), (0, false)]);
        }
    }

    #[test]
    fn after_a_silence_of_all_hosts_a_round_trip_is_that_of_the_path() {
        for (flags, midstream, longer) in [(IDLE, i64::MAX, 30), (0, i64::MAX, 0), (IDLE, 600 * MS, 0)] {
            let mut scene = Scene::new(2);
            scene.hosts.midstream = midstream;
            scene.send(0, 5, 0, 0, DATA | TOWARD);
            scene.answer(1, 500 * MS, 50 * MS, flags);
            assert_eq!(scene.told(), [(0, false), (longer, false)], "{midstream}");
            // If it was no shortest, it was that of a queue.
            scene.answer(1, 900 * MS, 35 * MS, TOWARD | LONE);
            assert_eq!(scene.told()[1].0, if longer > 0 { 30 } else { 0 });
        }
        let mut scene = Scene::new(2);
        scene.send(0, 5, 0, 0, DATA | TOWARD);
        scene.answer(1, 500 * MS, 50 * MS, IDLE);
        scene.answer(1, 900 * MS, 35 * MS, TOWARD | LONE);
        assert_eq!(scene.told()[1].0, 0);
    }

    #[test]
    fn who_has_queues_of_its_own_is_compared_with_its_own_round_trips_alone() {
        let mut scene = Scene::new(2);
        scene.send(0, 5, 0, 0, DATA | TOWARD);
        for sent in (0..20_000).step_by(70).map(|sent| sent * MS) {
            let waited = (sent * 3 + 130 * MS).rem_euclid(400 * MS) / 10;
            scene.answer(1, sent, 50 * MS + waited, DATA | TOWARD);
        }
        assert_eq!(scene.told(), [(0, false), (30, true)]);
        *scene.tracks[1].least_sum(&mut scene.hosts).0 = 45e6;
        assert_eq!((scene.tracks[1].least_sum(&mut scene.hosts).1, scene.hosts.all[0].least_sum), (0.0, f64::INFINITY));
        assert_ne!(scene.tracks[0].queues(), scene.tracks[1].queues());
    }
}
