//! Finalizing a log: clocks, then bases, then each packet's queueing delay.
//!
//! A capture whose packets fit the log is finalized once, at its end, so that every sample profits from all that was
//! seen. Of longer ones the log is finalized whenever it is full, with what is known so far; ticks, skews and bases are
//! carried over.

use crate::decode::Address;
use crate::delay::course::{Course, follow};
use crate::delay::host::{Discard, Hosts, Stats};
use crate::delay::log::{Entry, Sampled};
use crate::delay::meter::{Flow, Meter};
use crate::delay::share::each;
use crate::delay::state::{Choice, MeterState, NONE};
use crate::delay::track::{Estimator, Protocol, Track};
use crate::delay::{base_delay, clocks, cross_flow_base, paths, transmission, within};
use std::collections::BTreeMap;

/// A flow that is silent for so long gets a new track when it goes on, ns.
const IDLE: i64 = 600_000_000_000;

/// The queueing delay of one packet.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Frame number of the packet that was delayed.
    pub frame: u64,
    /// Its capture time, nanoseconds since 1970.
    pub time_ns: i64,
    /// Number of its flow, for [`Finalized::flow`]; only as long as the log is.
    pub flow: u32,
    /// Protocol.
    pub protocol: Protocol,
    /// It went to the remote host, and not from it.
    pub toward: bool,
    /// Queueing delay, ns.
    pub delay_ns: f64,
    /// How far it may be off, ns; the base's own error is not in it.
    pub error_ns: f64,
}

/// A finalized log: an iterator over samples. Dropping it clears the log.
pub struct Finalized<'a> {
    meter: &'a mut Meter,
    /// Place of the next sample, once somebody asked for samples.
    at: Option<usize>,
}

impl Meter {
    /// Finalize the log.
    pub fn finalize(&mut self) -> Finalized<'_> {
        let MeterState { hosts, tracks, log, options, .. } = &mut self.state;
        let threads = options.threads;
        let looks = clocks::finalize(log, tracks, hosts, threads);
        choose_estimator(tracks, hosts, options.estimator);
        paths::find(log, tracks, hosts, threads);
        let within = within::find(log, tracks, &looks, hosts, threads);
        base_delay::finalize(log, tracks, &looks, hosts, threads);
        cross_flow_base::finalize(log, tracks, threads);
        transmission::finalize(log, tracks, within, hosts, threads);
        for track in tracks.iter().filter(|track| track.cross_flow_base > 0.0) {
            hosts.all[track.host[0] as usize].stats(track.protocol).bases_taken_over += 1;
        }
        for track in tracks.iter().filter(|track| track.entries > 0) {
            let [host, peer] = track.host;
            let address = track.key.address;
            if hosts.remote(host, peer) {
                hosts.all[host as usize].stats(track.protocol).with(address[1 - track.side]);
            } else if track.estimator == Estimator::Reported && hosts.remote(peer, host) {
                hosts.all[peer as usize].stats(track.protocol).with(address[track.side]);
            }
        }
        Finalized { meter: self, at: None }
    }

    /// Forget the log, and the tracks of flows that are over.
    fn clear(&mut self) {
        let MeterState { hosts, tracks, log, .. } = &mut self.state;
        log.clear();
        for track in tracks.iter_mut() {
            let given = std::mem::take(&mut track.before.given);
            if given != [0; 2]
                && let Some(course) = Course::of(track, hosts)
            {
                let stats = hosts.all[course.owner as usize].stats(course.protocol);
                course.count(given, stats);
                stats.flows += u64::from(given[0] > 0 && !std::mem::replace(&mut track.counted, true));
            }
            let left_out = std::mem::take(&mut track.before.left_out);
            for (why, count) in [Discard::TickUnknown, Discard::Implausible].into_iter().zip(left_out) {
                if count > 0 {
                    hosts.all[track.host[0] as usize].stats(track.protocol).discarded[why as usize] += count;
                }
            }
        }
        let mut map = vec![NONE; tracks.len()];
        let mut kept = 0;
        for (old, track) in tracks.iter_mut().enumerate() {
            track.closed |= self.last_time - track.last_time > IDLE;
            if !track.closed {
                map[old] = kept;
                kept += 1;
            }
        }
        tracks.retain(|track| !track.closed);
        self.tracks_kept = tracks.len();
        for (_, flow) in self.flows.iter_mut() {
            match flow {
                Flow::Tcp(flow) => flow.renumber(&map),
                Flow::Utp(flow) => flow.renumber(&map),
                _ => {}
            }
        }
    }
}

impl Drop for Finalized<'_> {
    fn drop(&mut self) {
        // Where nobody asked for the samples, they still count for the hosts.
        if self.at.is_none() {
            count(&mut self.meter.state, |_, _| ());
        }
        self.meter.clear();
    }
}

impl Iterator for Finalized<'_> {
    type Item = Sample;

    #[inline]
    fn next(&mut self) -> Option<Sample> {
        let mut next = None;
        self.hand_on(|sample| {
            next = Some(sample);
            false
        });
        next
    }
}

impl Finalized<'_> {
    /// Put the next samples, at most so many, in the place of those that are there; false if there are none.
    pub fn fill(&mut self, samples: &mut Vec<Sample>, most: usize) -> bool {
        samples.clear();
        samples.reserve(most);
        self.hand_on(|sample| {
            samples.push(sample);
            samples.len() < most
        });
        !samples.is_empty()
    }

    /// Hand on samples as long as `take` wants more.
    #[inline]
    fn hand_on(&mut self, mut take: impl FnMut(Sample) -> bool) {
        let Self { meter, at } = self;
        let Meter { state, start_ns, .. } = &mut **meter;
        let at = at.get_or_insert_with(|| {
            state.log.put_in_order();
            count(state, Entry::settle);
            0
        });
        let (MeterState { tracks, log, .. }, start_ns) = (&*state, start_ns.unwrap_or(0));
        while let Some((flow, entry)) = log.get(*at) {
            *at += 1;
            if let Some(sampled) = entry.sampled()
                && !take(told((flow, entry), tracks[flow as usize].protocol, start_ns, sampled))
            {
                return;
            }
        }
    }
}

/// Count all samples, those of one host after another's: sums do not depend on the order. `keep` is given each entry
/// and its sample.
fn count(state: &mut MeterState, keep: impl Fn(&mut Entry, Option<Sampled>) + Sync) {
    struct Share<'a> {
        owner: u32,
        tracks: Vec<(&'a mut Track, Vec<&'a mut [Entry]>)>,
        stats: [Option<Box<Stats>>; 3],
    }
    let MeterState { hosts, tracks, log, options, .. } = state;
    let mut entries: Vec<Vec<&mut [Entry]>> = Vec::new();
    entries.resize_with(tracks.len(), Vec::new);
    log.all_mut().for_each(|(track, row)| entries[track as usize].push(row));
    let mut place = vec![usize::MAX; hosts.all.len()];
    let mut shares: Vec<Share<'_>> = Vec::new();
    for (track, entries) in tracks.iter_mut().zip(entries) {
        let Some(course) = Course::of(track, hosts) else {
            // Entries that give no samples still tell where the receiver's stamps stand.
            for entry in entries.into_iter().flatten() {
                if track.lines() {
                    follow(&mut track.extra_line, entry);
                }
                keep(entry, None);
            }
            continue;
        };
        let (owner, place) = (course.owner, &mut place[course.owner as usize]);
        if *place == usize::MAX {
            *place = shares.len();
            let stats = std::mem::take(&mut hosts.all[owner as usize].stats);
            shares.push(Share { owner, tracks: Vec::new(), stats });
        }
        shares[*place].tracks.push((track, entries));
    }
    let weight = |share: &Share<'_>| share.tracks.iter().flat_map(|(_, rows)| rows).map(|row| row.len()).sum();
    each(
        options.threads,
        &mut shares,
        |_, share| weight(share),
        |_, share| {
            for (track, entries) in &mut share.tracks {
                // Made anew: kept for all tracks at once, they would take more memory than these.
                let Some(course) = Course::of(track, hosts) else { continue };
                let stats = share.stats[track.protocol as usize].get_or_insert_default();
                let (mut line, mut before) = (track.extra_line, track.before);
                for row in entries {
                    let (line, before) = (&mut line, &mut before);
                    if course.plain() {
                        for entry in row.iter_mut() {
                            let sampled = course.sample::<true>(entry, line, before, stats);
                            keep(entry, sampled);
                        }
                    } else {
                        for entry in row.iter_mut() {
                            let sampled = course.sample::<false>(entry, line, before, stats);
                            keep(entry, sampled);
                        }
                    }
                }
                (track.extra_line, track.before) = (line, before);
            }
            for stats in share.stats.iter_mut().flatten() {
                stats.beside.settle(&mut stats.to.delay);
            }
        },
    );
    for share in shares {
        hosts.all[share.owner as usize].stats = share.stats;
    }
}

impl Finalized<'_> {
    /// Remote address, local address and name (`sender>receiver`) of a sample's flow, for its number and direction.
    pub fn flow(&self, flow: u32, toward: bool) -> (Address, Address, String) {
        let track = &self.meter.state.tracks[flow as usize];
        // Reports of the way to a host are logged in a track of the near sender's.
        let sender_is_far = self.meter.state.hosts.remote(track.host[0], track.host[1]);
        let (remote, local) = if sender_is_far { (track.side, 1 - track.side) } else { (1 - track.side, track.side) };
        (track.key.address[remote], track.key.address[local], track.key.name(if toward { local } else { remote }))
    }

    /// What the delays of a sample's flow, from the remote host and to it, leave of its round trips, ns; none where
    /// they are told otherwise.
    pub(crate) fn round_trip(&self, flow: u32) -> Option<f64> {
        let MeterState { hosts, tracks, .. } = &self.meter.state;
        let track = &tracks[flow as usize];
        let [host, peer] = track.host;
        let echoed = track.protocol == Protocol::Tcp && hosts.all[host as usize].echo_min < i64::MAX;
        (echoed && hosts.remote(host, peer)).then_some(track.round_trip_base + track.unassigned)
    }

    /// What the delays of a sample's flow and direction may lack, ns: 0 where its base is that of an empty queue,
    /// infinite where nothing bounds it.
    pub fn missing(&self, flow: u32, toward: bool) -> f64 {
        let MeterState { hosts, tracks, .. } = &self.meter.state;
        Course::of(&tracks[flow as usize], hosts).map_or(f64::INFINITY, |course| course.lacks(toward))
    }
}

fn told(
    (flow, entry): (u32, &Entry),
    protocol: Protocol,
    start_ns: i64,
    ((time, estimate), toward): Sampled,
) -> Sample {
    let (time_ns, delay_ns, error_ns) = (start_ns.wrapping_add(time), estimate.delay, estimate.error);
    Sample { frame: entry.frame(), time_ns, flow, protocol, toward, delay_ns, error_ns }
}

/// One estimator for each direction: the receiver's reports where they were asked for, or where the receiver is far
/// and they are many.
fn choose_estimator(tracks: &mut [Track], hosts: &Hosts, choice: Choice) {
    let reported: BTreeMap<_, u64> = tracks
        .iter()
        .filter(|track| track.estimator == Estimator::Reported)
        .map(|track| ((track.key, track.side), track.entries))
        .collect();
    for track in tracks {
        let far = !hosts.all[track.host[1] as usize].near();
        let reports = reported.get(&(track.key, track.side)).copied().unwrap_or(0);
        let by_reports = match choice {
            Choice::Auto => far && reports * 4 >= track.entries.min(200) && reports > 0,
            Choice::Observer => false,
            Choice::Reported => true,
        };
        track.silent = by_reports != (track.estimator == Estimator::Reported);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::bounds::Bounds;
    use crate::delay::first_look::{FirstLook, guess};
    use crate::delay::flow::Key;
    use crate::delay::log::{ECHOED, Log, TOWARD};
    use crate::delay::track::TrackRef;
    use proptest::prelude::*;

    fn track() -> Track {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0)
    }

    proptest! {
        /// Two logs of a clock of milliseconds, whose packets wait, and tell or not of round trips and of others.
        #[test]
        fn what_is_found_at_first_sight_is_what_each_step_finds(
            packets in prop::collection::vec((0i64..300, 0i64..9, 0u32..90_000, 60u16..1600, 0u8..8), 2..700),
            (echo_min, skew) in (1i64..5_000_000, prop_oneof![Just(0.0), -1e-4..1e-4]),
        ) {
            let [mut one, mut other] = [track(), track()];
            let mut sent = 0;
            for part in packets.chunks(packets.len().div_ceil(2)) {
                let mut log = Log::default();
                for (i, &(pause, wait, round_trip, length, kind)) in part.iter().enumerate() {
                    sent += pause;
                    let flag = [TOWARD, TOWARD | ECHOED].get(usize::from(kind)).copied().unwrap_or(0);
                    let extra = (kind < 5).then_some(round_trip);
                    let time = (sent + wait) * 1_000_000 + i64::from(length);
                    log.push(0, Entry::new(i as u64, time, sent, flag, extra).long(length));
                }
                (one.skew, other.skew) = (skew, skew);
                (one.tick_ns, other.tick_ns) = (one.tick_ns.or(guess(&log, 0)), one.tick_ns.or(guess(&log, 0)));
                let Some(mut look) = FirstLook::at(&log, 0, &mut one, echo_min) else { return Ok(()) };
                clocks::fit(&log, 0, &mut other);
                let fits = |track: &Track| format!("{:?}", (track.fit, track.echo_fit, track.entries, track.last_time));
                prop_assert_eq!((fits(&one), one.toward), (fits(&other), other.toward));
                clocks::minima(&log, 0, &mut other);
                prop_assert!(look.minima(Some(1.0)).is_none());
                one.minima = look.minima(other.tick_ns).unwrap();
                prop_assert_eq!(format!("{:?}", one.minima), format!("{:?}", other.minima));
                let bounds = Bounds::seen(&log, 0, &other, echo_min, &Default::default());
                prop_assert!(look.bounds(&other.scale(), echo_min + 1).is_none());
                prop_assert_eq!(look.bounds(&other.scale(), echo_min), Some(bounds));
                bounds.leave(&mut one);
                bounds.leave(&mut other);
                other.skew += 1e-6;
                prop_assert!(look.leasts(&other.scale()).is_none() && look.bounds(&other.scale(), echo_min).is_none());
            }
        }
    }
}
