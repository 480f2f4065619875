//! Finalizing a log: clocks, then bases, then each packet's queueing delay.
//!
//! A capture whose packets fit the log is finalized once, at its end, so that every sample profits from all that was
//! seen. Of longer ones the log is finalized whenever it is full, with what is known so far; ticks, skews and bases are
//! carried over.

use crate::decode::Address;
use crate::delay::base_delay::Scale;
use crate::delay::estimate::{tcp_observer, utp_observer};
use crate::delay::host::{Discard, Hosts, Stats, Transmission};
use crate::delay::log::{ECHOED, Entry, LONE, TOWARD};
use crate::delay::meter::{Flow, Meter};
use crate::delay::share::each;
use crate::delay::state::{Choice, MeterState, NONE};
use crate::delay::track::{Estimator, Protocol, Track};
use crate::delay::{base_delay, clocks, cross_flow_base, transmission};
use std::collections::BTreeMap;

/// A flow that is silent for so long gets a new track when it goes on, ns.
const IDLE: i64 = 600_000_000_000;
/// A receiver's delayed acknowledgement waits for no less, ns (40 ms in Linux): a queue grows less from one to the
/// next.
const DELAYED_ACK: f64 = 25e6;
/// After so many in a row that seem delayed the queue did grow.
const MOST_DELAYED: u8 = 8;
/// Echoes by senders that paused for no longer than this, ns, tell when the packet that they echo arrived.
const PAUSE: f64 = 3e6;
/// No queue holds a packet for longer, ns.
const LONGEST_DELAY: f64 = 300e9;

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
        Finalized { meter: self, at: 0 }
    }

    /// Forget the log, and the tracks of flows that are over.
    fn clear(&mut self) {
        let MeterState { hosts, tracks, log, .. } = &mut self.state;
        log.clear();
        for track in tracks.iter_mut() {
            let left_out = std::mem::take(&mut track.left_out);
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
        let Meter { state: MeterState { hosts, tracks, log, .. }, start_ns, .. } = &mut *self.meter;
        while let Some(entry) = log.get(self.at) {
            self.at += 1;
            let track = &mut tracks[entry.track as usize];
            let line = follow(track, entry);
            let Some(course) = Course::of(track, hosts) else { continue };
            let stats = hosts.all[course.owner as usize].stats(track.protocol);
            if let Some((sample, toward)) = sample(track, &course, stats, (entry, line)) {
                return Some(told(entry, track, (start_ns.unwrap_or(0).wrapping_add(sample.0), toward), sample.1));
            }
        }
        None
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
            if track.lines() {
                log.of(i).for_each(|entry| _ = follow(track, entry));
            }
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
            for entry in log.of(*i) {
                let line = follow(track, entry);
                sample(track, course, stats, (entry, line));
            }
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

/// Which way a track's packets go, and whose delays they are.
struct Course {
    /// They come from a remote host; otherwise they go to one.
    from: bool,
    owner: u32,
    transmission: [Transmission; 2],
    scale: Scale,
}

impl Course {
    /// None of a track that gives no samples.
    #[inline]
    fn of(track: &Track, hosts: &Hosts) -> Option<Self> {
        let [host, peer] = track.host;
        let from = hosts.remote(host, peer);
        let to = track.estimator == Estimator::Reported && hosts.remote(peer, host);
        let transmission = hosts.all[host as usize].transmission;
        let owner = if from { host } else { peer };
        (!track.silent && (from || to)).then(|| Self { from, owner, transmission, scale: track.scale() })
    }
}

/// Where the receiver's stamps stand after this entry.
#[inline]
fn follow(track: &mut Track, entry: &Entry) -> i64 {
    match entry.extra() {
        Some(extra) if track.lines() => {
            track.extra_line.follow(extra);
            track.extra_line.highest()
        }
        _ => 0,
    }
}

/// Time since the first packet, ns, and delay of the packet of an entry, and whether it went to the remote host.
#[inline]
fn sample(
    track: &mut Track,
    course: &Course,
    stats: &mut Stats,
    (entry, line): (&Entry, i64),
) -> Option<((i64, tcp_observer::Estimate), bool)> {
    let [unknown, implausible] = [0, 1];
    if !track.timed() {
        track.left_out[unknown] += 1;
        return None;
    }
    let excess = course.scale.delay(entry.time, entry.stamp, line) - track.base + track.cross_flow_base;
    let tick = track.tick_ns.unwrap_or(0.0);
    let own = course.transmission[usize::from(entry.is(TOWARD))].of(entry.length());
    if entry.is(TOWARD) {
        let round_trip = entry.extra().map_or(0.0, |micros| f64::from(micros) * 1000.0);
        let over = round_trip - track.round_trip_base - own;
        return match toward(track, entry, excess, over) {
            Ok(estimate) => {
                stats.add_to(estimate, track);
                Some(((entry.time - round_trip as i64, estimate), true))
            }
            Err(why) => {
                stats.to.discarded[why as usize] += 1;
                None
            }
        };
    }
    track.sent_at = [entry.stamp, track.sent_at[0]];
    let estimate = match (track.estimator, track.protocol) {
        (Estimator::Observer, Protocol::Tcp) => {
            let round_trip = entry.extra().map(|micros| i64::from(micros) * 1000);
            let over = round_trip.map(|ns| ns as f64 - track.round_trip_base);
            let phase = track.phase.filter(|(stamp, _)| *stamp == entry.stamp).map(|(_, phase)| phase);
            let estimate = tcp_observer::estimate(excess, tick, over, phase);
            track.phase = Some((entry.stamp, (excess - estimate.delay).clamp(0.0, tick)));
            if let (Some(ns), true) = (round_trip, over == Some(estimate.delay)) {
                stats.rtt.add(ns as f64);
            }
            estimate
        }
        (Estimator::Reported, Protocol::Tcp) => {
            let error = (tick + track.peer_tick_ns.unwrap_or(0.0)) / 2.0;
            tcp_observer::Estimate { delay: excess.max(0.0), error }
        }
        _ => utp_observer::estimate(excess),
    };
    let own = if (track.estimator, track.protocol) == (Estimator::Observer, Protocol::Tcp) { own } else { 0.0 };
    let (delay, error) = ((estimate.delay - own).max(0.0), estimate.error + track.base_error);
    let estimate = tcp_observer::Estimate { delay, error };
    if !(estimate.delay.is_finite() && estimate.delay < LONGEST_DELAY) {
        track.left_out[implausible] += 1;
        return None;
    }
    if !course.from {
        stats.add_to(estimate, track);
        return Some(((entry.time, estimate), true));
    }
    stats.flows += u64::from(!std::mem::replace(&mut track.counted, true));
    stats.add_from(estimate, track);
    stats.by_estimator[usize::from(track.estimator == Estimator::Reported)] += 1;
    stats.series.add(entry.time, estimate.delay);
    Some(((entry.time, estimate), false))
}

fn told(entry: &Entry, track: &Track, (time_ns, toward): (i64, bool), estimate: tcp_observer::Estimate) -> Sample {
    let (delay_ns, error_ns) = (estimate.delay, estimate.error);
    Sample { frame: entry.frame(), time_ns, flow: entry.track, protocol: track.protocol, toward, delay_ns, error_ns }
}

/// The delay of a packet to the remote host: the round trip `over` the shortest, less what of it the packet that came
/// back waited, whose delay is `excess` but for its stamp's tick.
fn toward(track: &mut Track, entry: &Entry, excess: f64, over: f64) -> Result<tcp_observer::Estimate, Discard> {
    let tick = track.tick_ns.unwrap_or(0.0);
    let phase = track.phase.filter(|(stamp, _)| *stamp == entry.stamp).map(|(_, phase)| phase);
    let back = tcp_observer::estimate(excess, tick, None, phase);
    let delay = (over - track.unassigned - back.delay).max(0.0);
    if delay.is_nan() || delay >= LONGEST_DELAY {
        return Err(Discard::Implausible);
    }
    let (before, delayed) = track.toward_before;
    if entry.is(LONE) && delay > before + DELAYED_ACK && delayed < MOST_DELAYED {
        track.toward_before.1 += 1;
        return Err(Discard::DelayedAck);
    }
    let mut error = back.error;
    if entry.is(ECHOED) {
        // It arrived after the sender's packet before this one, and before this one.
        let pause = entry.stamp.saturating_sub(track.sent_at[1]) as f64 * tick;
        if pause > PAUSE + tick && delay > PAUSE + tick {
            return Err(Discard::Paused);
        }
        error += pause.min(delay) / 2.0;
    }
    track.toward_before = (delay, 0);
    Ok(tcp_observer::Estimate { delay, error: error + track.base_error })
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
