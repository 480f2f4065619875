//! Finalizing a log: clocks, then bases, then each packet's queueing delay.
//!
//! A capture whose packets fit the log is finalized once, at its end, so that every sample profits from all that was
//! seen. Of longer ones the log is finalized whenever it is full, with what is known so far; ticks, skews and bases are
//! carried over.

use crate::decode::Address;
use crate::delay::course::{Course, Sampled, follow};
use crate::delay::host::{Discard, Hosts, Stats};
use crate::delay::log::Entry;
use crate::delay::meter::{Flow, Meter};
use crate::delay::share::each;
use crate::delay::state::{Choice, MeterState, NONE};
use crate::delay::track::{Estimator, Protocol, Track};
use crate::delay::{base_delay, clocks, cross_flow_base, transmission};
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
    at: usize,
    /// By track, once somebody asks for samples.
    courses: Vec<Option<Course>>,
}

impl Meter {
    /// Finalize the log.
    pub fn finalize(&mut self) -> Finalized<'_> {
        let MeterState { hosts, tracks, log, options, .. } = &mut self.state;
        let threads = options.threads;
        clocks::finalize(log, tracks, hosts, threads);
        choose_estimator(tracks, hosts, options.estimator);
        base_delay::finalize(log, tracks, hosts, threads);
        cross_flow_base::finalize(log, tracks, hosts);
        transmission::finalize(log, tracks, hosts, threads);
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
        Finalized { meter: self, at: 0, courses: Vec::new() }
    }

    /// Forget the log, and the tracks of flows that are over.
    fn clear(&mut self) {
        let MeterState { hosts, tracks, log, .. } = &mut self.state;
        log.clear();
        for track in tracks.iter_mut() {
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
        if self.at == 0 {
            count(&mut self.meter.state);
        }
        while self.at > 0 && self.next().is_some() {}
        self.meter.clear();
    }
}

impl Iterator for Finalized<'_> {
    type Item = Sample;

    #[inline]
    fn next(&mut self) -> Option<Sample> {
        let Self { meter, at, courses } = self;
        let Meter { state: MeterState { hosts, tracks, log, .. }, start_ns, .. } = &mut **meter;
        if *at == 0 {
            *courses = tracks.iter().map(|track| Course::of(track, hosts)).collect();
        }
        while let Some(entry) = log.get(*at) {
            *at += 1;
            let track = &mut tracks[entry.track as usize];
            let Some(course) = &courses[entry.track as usize] else {
                leave_out(track, [entry]);
                continue;
            };
            let stats = hosts.all[course.owner as usize].stats(course.protocol);
            if let Some(sampled) = course.sample(entry, &mut track.extra_line, &mut track.before, stats) {
                let (_, toward) = sampled;
                stats.flows += u64::from(!toward && !std::mem::replace(&mut track.counted, true));
                return Some(told(entry, course, start_ns.unwrap_or(0), sampled));
            }
        }
        None
    }
}

/// Entries that give no samples still tell where the receiver's stamps stand.
fn leave_out<'a>(track: &mut Track, entries: impl IntoIterator<Item = &'a Entry>) {
    if track.lines() {
        entries.into_iter().for_each(|entry| _ = follow(&mut track.extra_line, entry));
    }
}

/// Count all samples, those of one host after another's: sums do not depend on the order.
fn count(state: &mut MeterState) {
    struct Share<'a> {
        owner: u32,
        tracks: Vec<(usize, &'a mut Track, Course)>,
        stats: [Option<Box<Stats>>; 3],
    }
    let MeterState { hosts, tracks, log, options, .. } = state;
    let mut place = vec![usize::MAX; hosts.all.len()];
    let mut shares: Vec<Share<'_>> = Vec::new();
    for (i, track) in tracks.iter_mut().enumerate() {
        let Some(course) = Course::of(track, hosts) else {
            leave_out(track, log.of(i));
            continue;
        };
        let place = &mut place[course.owner as usize];
        if *place == usize::MAX {
            *place = shares.len();
            let stats = std::mem::take(&mut hosts.all[course.owner as usize].stats);
            shares.push(Share { owner: course.owner, tracks: Vec::new(), stats });
        }
        shares[*place].tracks.push((i, track, course));
    }
    each(options.threads, &mut shares, |_, share| {
        for (i, track, course) in &mut share.tracks {
            let stats = share.stats[track.protocol as usize].get_or_insert_default();
            let (mut line, mut before, mut any) = (track.extra_line, track.before, false);
            for chunk in log.chunks(*i) {
                for entry in chunk {
                    any |= matches!(course.sample(entry, &mut line, &mut before, stats), Some((_, false)));
                }
            }
            (track.extra_line, track.before) = (line, before);
            stats.flows += u64::from(any && !std::mem::replace(&mut track.counted, true));
        }
    });
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
}

fn told(entry: &Entry, course: &Course, start_ns: i64, ((time, estimate), toward): Sampled) -> Sample {
    let (time_ns, delay_ns, error_ns) = (start_ns.wrapping_add(time), estimate.delay, estimate.error);
    Sample { frame: entry.frame(), time_ns, flow: entry.track, protocol: course.protocol, toward, delay_ns, error_ns }
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
