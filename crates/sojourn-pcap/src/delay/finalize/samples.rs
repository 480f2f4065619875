//! The samples of a finalized log, in the order of the capture, and what hosts count of them.

use crate::decode::Address;
use crate::delay::discard::Discard;
use crate::delay::finalize::queueing_delay::{Sampler, follow};
use crate::delay::host::statistics::Stats;
use crate::delay::log::entry::{Entry, Sampled};
use crate::delay::meter::Meter;
use crate::delay::meter_state::{MeterState, NONE};
use crate::delay::parallel::for_each;
use crate::delay::protocol::Protocol;
use crate::delay::sighting::flow_table::Key;
use crate::delay::track::Track;

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
    /// Forget the log, and the tracks of flows that are over.
    fn clear(&mut self) {
        let MeterState { hosts, tracks, log, .. } = &mut self.state;
        log.clear();
        for track in tracks.iter_mut() {
            let given = std::mem::take(&mut track.before.given);
            if given != [0; 2]
                && let Some(sampler) = Sampler::of(track, hosts)
            {
                let stats = hosts.all[sampler.owner as usize].stats(sampler.protocol);
                sampler.count(given, stats);
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
            flow.renumber(&map);
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

impl<'a> Finalized<'a> {
    /// Of a log that was finalized.
    pub(super) fn of(meter: &'a mut Meter) -> Self {
        Self { meter, at: None }
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
        tracks: Vec<(u32, &'a mut Track, Vec<&'a mut [Entry]>)>,
        stats: [Option<Box<Stats>>; 3],
    }
    let MeterState { hosts, tracks, log, options, .. } = state;
    let mut entries: Vec<Vec<&mut [Entry]>> = Vec::new();
    entries.resize_with(tracks.len(), Vec::new);
    log.all_mut().for_each(|(track, row)| entries[track as usize].push(row));
    let mut place = vec![usize::MAX; hosts.all.len()];
    let mut shares: Vec<Share<'_>> = Vec::new();
    for (number, (track, entries)) in (0..).zip(tracks.iter_mut().zip(entries)) {
        let Some(sampler) = Sampler::of(track, hosts) else {
            // Entries that give no samples still tell where the receiver's stamps stand.
            for entry in entries.into_iter().flatten() {
                if track.lines() {
                    follow(&mut track.extra_line, entry);
                }
                keep(entry, None);
            }
            continue;
        };
        let (owner, place) = (sampler.owner, &mut place[sampler.owner as usize]);
        if *place == usize::MAX {
            *place = shares.len();
            let stats = std::mem::take(&mut hosts.all[owner as usize].stats);
            shares.push(Share { owner, tracks: Vec::new(), stats });
        }
        shares[*place].tracks.push((number, track, entries));
    }
    let weight = |share: &Share<'_>| share.tracks.iter().flat_map(|(_, _, rows)| rows).map(|row| row.len()).sum();
    for_each(
        options.threads,
        &mut shares,
        |_, share| weight(share),
        |_, share| {
            for (number, track, entries) in &mut share.tracks {
                // Made anew: kept for all tracks at once, they would take more memory than these.
                let Some(sampler) = Sampler::of(track, hosts) else { continue };
                let stats = share.stats[track.protocol as usize].get_or_insert_default();
                stats.interpolation.connection(*number);
                let (mut line, mut before) = (track.extra_line, track.before);
                for row in entries {
                    let (line, before) = (&mut line, &mut before);
                    if sampler.plain() {
                        for entry in row.iter_mut() {
                            let sampled = sampler.sample::<true>(entry, line, before, stats);
                            keep(entry, sampled);
                        }
                    } else {
                        for entry in row.iter_mut() {
                            let sampled = sampler.sample::<false>(entry, line, before, stats);
                            keep(entry, sampled);
                        }
                    }
                }
                (track.extra_line, track.before) = (line, before);
            }
            for stats in share.stats.iter_mut().flatten() {
                let alone = stats.interpolation.settle(&mut stats.to.delay);
                stats.to.untold.join(alone);
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
        let (key, remote) = self.key(flow);
        let local = 1 - remote;
        (key.address[remote], key.address[local], key.name(if toward { local } else { remote }))
    }

    /// Remote address of a sample's flow, for its number.
    pub fn remote(&self, flow: u32) -> Address {
        let (key, remote) = self.key(flow);
        key.address[remote]
    }

    /// The key of a flow, and which end of it is remote.
    fn key(&self, flow: u32) -> (&Key, usize) {
        let track = &self.meter.state.tracks[flow as usize];
        // Reports of the way to a host are logged in a track of the near sender's.
        let sender_is_far = self.meter.state.hosts.remote(track.host[0], track.host[1]);
        (&track.key, if sender_is_far { track.side } else { 1 - track.side })
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

    /// What the delays of a sample's flow and direction may lack, ns: 0 where its base is that of an empty queue and
    /// its own transmission is known, infinite where nothing bounds it.
    pub fn missing(&self, flow: u32, toward: bool) -> f64 {
        self.sampler(flow).map_or(f64::INFINITY, |sampler| sampler.lacks(toward))
    }

    /// Whether its delays and its packets' own transmission are all that they took longer than through empty queues.
    pub(crate) fn is_whole(&self, flow: u32, toward: bool) -> bool {
        self.sampler(flow).is_some_and(|sampler| sampler.base_lacks(toward) == 0.0)
    }

    fn sampler(&self, flow: u32) -> Option<Sampler> {
        let MeterState { hosts, tracks, .. } = &self.meter.state;
        Sampler::of(&tracks[flow as usize], hosts)
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
