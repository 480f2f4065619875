//! Hosts: what is known of an address, and which are near the observer.
//!
//! A host is *near* if it was ever seen to answer within [`NEAR_NS`] of the packet that it answers: no queue worth
//! measuring lies between it and the observer, and its side of a flow is the local one. Between two near hosts the
//! slower is the remote one.

use crate::decode::Address;
use crate::delay::beside::Beside;
use crate::delay::estimate::tcp_observer::Estimate;
use crate::delay::path::Path;
use crate::delay::quantiles::Quantiles;
use crate::delay::series::Series;
use crate::delay::skew::Skew;
use crate::delay::tick::RATES;
use crate::delay::total::Total;
use crate::delay::track::{Protocol, Track};
use sojourn_net::named;
use std::collections::BTreeMap;

const NEAR_NS: i64 = 1_000_000;
/// Silence of all hosts after which their packets no longer wait anywhere, ns.
pub(crate) const SILENCE: i64 = 2_000_000_000;

named! {
    /// Why a packet gave no sample.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Discard {
        /// TCP without the timestamps option.
        NoTimestamps = "no_timestamps",
        /// Its options were cut by the snap length.
        OptionsCut = "options_cut_by_snap_length",
        /// It was overtaken: its stamp is older than one that came before.
        Reordered = "reordered",
        /// The same packet again, as captures on several interfaces have it.
        Duplicate = "duplicate",
        /// The tick of the sender's clock could not be found.
        TickUnknown = "tick_unknown",
        /// uTP: it reported nothing yet (difference 0).
        NoReport = "no_report_yet",
        /// Acknowledged while a hole was open, so that its arrival is not known.
        DuringHole = "during_hole",
        /// Acknowledged together with a later one.
        CoveredByLater = "acknowledged_with_a_later_one",
        /// Its flow had one packet only.
        Alone = "only_packet_of_its_flow",
        /// Its capture time was years from the first.
        TimeOutOfRange = "time_out_of_range",
        /// The estimator gave a delay that no queue has.
        Implausible = "implausible_delay",
        /// To the host: its acknowledgement may have been a delayed one.
        DelayedAck = "acknowledgement_perhaps_delayed",
        /// To the host: it paused before it echoed the packet's stamp.
        Paused = "echoed_after_a_pause",
    }
}

/// What was found of the way to a host, or from it.
#[derive(Debug, Default)]
pub struct Way {
    /// Queueing delay, over packets.
    pub delay: Quantiles,
    /// Packets whose delay was told. Where the receiver acknowledges several at a time, it is told of one of them,
    /// which stands for the others: else times of loss, when each is acknowledged, would count for more.
    pub samples: u64,
    /// Sum of the uncertainties of the samples.
    pub uncertainty: Total,
    /// Samples whose base is known to be that of an empty queue.
    pub certain: u64,
    /// Largest delay that could be missing from the others, ns; infinite if nothing bounds it.
    pub missing: f64,
    /// Packets without a sample, by reason.
    pub discarded: [u64; Discard::ALL.len()],
}

impl Way {
    /// Take in a delay that so many `packets` met.
    #[inline]
    pub(crate) fn add(&mut self, estimate: Estimate, packets: u32) {
        self.delay.add_times(estimate.delay, packets);
        self.uncertainty.add(estimate.error);
    }

    /// Count samples of one base; `missing` is what they may lack if the queue was not `empty` when it was met, ns.
    pub(crate) fn count(&mut self, samples: u64, empty: bool, missing: f64) {
        self.samples += samples;
        if empty {
            self.certain += samples;
        } else if samples > 0 {
            self.missing = self.missing.max(missing);
        }
    }

    /// Whether its delays are only lower bounds.
    pub fn lower_bound(&self) -> bool {
        lower_bound(self.samples, self.samples - self.certain, self.discarded[Discard::Paused as usize])
    }

    /// How much more its delays may be, ns, where that is known: not if what makes them lower bounds was left out.
    pub fn missing(&self) -> Option<f64> {
        let all_told = !lower_bound(self.samples, 0, self.discarded[Discard::Paused as usize]);
        (all_told && self.missing.is_finite()).then_some(self.missing)
    }
}

/// Whether more than a few of the `samples` may lack something, or many were left out that seemed to have waited:
/// echoed after a pause, they may have been answered late.
pub fn lower_bound(samples: u64, lacking: u64, paused: u64) -> bool {
    lacking * 20 > samples || paused * 6 > samples + paused
}

/// What was found of a host under one protocol.
#[derive(Debug, Default)]
pub struct Stats {
    /// A host at the other end, and whether there are more.
    pub local: Option<(Address, bool)>,
    /// The way from it.
    pub from: Way,
    /// The way to it.
    pub to: Way,
    /// Round trips between the observer and it.
    pub rtt: Quantiles,
    /// Samples by estimator: observer, reported.
    pub by_estimator: [u64; 2],
    /// Packets without a sample, by reason.
    pub discarded: [u64; Discard::ALL.len()],
    /// For how long (s) its flows spoke for each of [`RATES`].
    pub tick_votes: [f64; RATES.len()],
    /// Skew of its clock.
    pub skew: Option<Skew>,
    /// Changes of route: its packets arrived with another hop limit from then on.
    pub route_changes: u32,
    /// Times at which its clock was set.
    pub clock_steps: u32,
    /// Flows whose base was taken over from other flows.
    pub bases_taken_over: u32,
    /// Flows that gave samples.
    pub flows: u64,
    /// Mean and maximum over time.
    pub series: Series,
    /// Packets to it, since the log was finalized last.
    pub(crate) beside: Beside,
}

impl Stats {
    /// A flow with this local host was seen.
    pub(crate) fn with(&mut self, local: Address) {
        let (first, more) = self.local.unwrap_or((local, false));
        self.local = Some((first, more || first != local));
    }

    /// Tick of its clock, ns: the one that its flows spoke for longest.
    pub fn tick_ns(&self) -> Option<f64> {
        let votes = self.tick_votes.iter().zip(RATES).filter(|(votes, _)| **votes > 0.0);
        votes.max_by(|a, b| a.0.total_cmp(b.0)).map(|(_, rate)| 1e9 / rate)
    }
}

/// Time on the slowest link of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Transmission {
    pub(crate) short: u16,
    pub(crate) ns_per_byte: f64,
}

impl Transmission {
    /// What a frame of this length takes longer than the short ones that set the base, ns.
    #[inline]
    pub fn of(&self, length: u16) -> f64 {
        f64::from(length.saturating_sub(self.short)) * self.ns_per_byte
    }

    /// Whether length makes any difference.
    pub(crate) fn known(&self) -> bool {
        self.ns_per_byte > 0.0
    }
}

/// An address and what is known of it.
#[derive(Debug)]
pub struct Host {
    /// The address.
    pub address: Address,
    /// Quickest answer, ns.
    pub response_min: i64,
    /// Shortest time from a packet to the stamp's echo, ns.
    pub echo_min: i64,
    /// Shortest round trip that one connection's least delays in both directions add up to, ns.
    pub least_sum: f64,
    /// The user said whether it is local.
    pub told: Option<bool>,
    /// What long packets take longer than short ones, from it and to it.
    pub transmission: [Transmission; 2],
    /// Packets that it sent, by protocol: beside what else each packet changes.
    pub packets: [u64; 3],
    /// By protocol.
    pub stats: [Option<Box<Stats>>; 3],
}

impl Host {
    /// Statistics of a protocol, there from now on.
    #[inline]
    pub fn stats(&mut self, protocol: Protocol) -> &mut Stats {
        self.stats[protocol as usize].get_or_insert_default()
    }

    /// Whether it is known to be near.
    #[inline]
    pub fn near(&self) -> bool {
        self.told.unwrap_or(self.response_min < NEAR_NS)
    }

    /// Whether it was seen to answer at once.
    #[inline]
    pub fn answers_at_once(&self) -> bool {
        self.response_min < NEAR_NS
    }
}

/// Which ends of a flow are near, kept until that may have changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Near {
    /// As of [`Hosts::near_ends`].
    pub(crate) ends: [bool; 2],
    /// Which were seen to answer at once.
    pub(crate) beside: [bool; 2],
    /// Changes of any host's nearness that had been seen; 0 before the first look.
    changes: u64,
}

impl Near {
    /// As it is now.
    #[inline]
    pub(crate) fn renewed(&mut self, hosts: &Hosts, of: [u32; 2]) -> &Self {
        if self.changes != hosts.changes {
            let beside = of.map(|host| hosts.all.get(host as usize).is_some_and(Host::answers_at_once));
            *self = Self { ends: hosts.near_ends(of[0], of[1]), beside, changes: hosts.changes };
        }
        self
    }
}

/// Which addresses the user calls local: address and number of bits that count.
pub type Prefixes = Vec<(Address, u32)>;

/// All hosts, by index.
#[derive(Debug, Default)]
pub struct Hosts {
    /// The hosts.
    pub all: Vec<Host>,
    index: BTreeMap<Address, u32>,
    local: Prefixes,
    /// Of remote hosts and the local hosts that speak with them, where these are several.
    pub(crate) paths: BTreeMap<[u32; 2], Path>,
    /// When any of them last sent, and when the first flow appeared that was already under way, ns.
    last_sent: i64,
    pub(crate) midstream: i64,
    /// How often a host was found to answer quicker than before, of those that answer at once, and one.
    changes: u64,
}

/// Hosts beyond this number are not told apart.
const MOST_HOSTS: usize = 1 << 16;

impl Hosts {
    /// No hosts yet; `local` says which will be local, or nothing.
    pub fn new(local: Prefixes) -> Self {
        Self { local, changes: 1, last_sent: i64::MIN, midstream: i64::MAX, ..Self::default() }
    }

    /// A host sent packets, the last of them now.
    #[inline]
    pub(crate) fn sent(&mut self, host: u32, protocol: Protocol, packets: u64, now: i64) {
        self.last_sent = now;
        self.all[host as usize].packets[protocol as usize] += packets;
    }

    /// A flow began, or was under way already. Whether nobody had sent for long: others' packets are in the queue of a
    /// host that was silent, too.
    pub(crate) fn begins(&mut self, at: i64, opened: bool) -> bool {
        if !opened {
            self.midstream = self.midstream.min(at);
        }
        opened && self.last_sent < at.saturating_sub(SILENCE)
    }

    /// The shortest round trip on a track's path, ns.
    #[inline]
    pub(crate) fn shortest(&self, track: &Track) -> i64 {
        self.all[track.host[0] as usize].echo_min.saturating_add(track.path.longer)
    }

    /// The shortest round trip on a track's path that one connection's least delays add up to, ns, and what the path is
    /// longer by than the one of which it is kept.
    pub(crate) fn least_sum(&mut self, track: &Track) -> (&mut f64, f64) {
        match self.paths.get_mut(&track.host).filter(|path| path.apart) {
            Some(path) => (&mut path.least_sum, 0.0),
            None => (&mut self.all[track.host[0] as usize].least_sum, track.path.longer as f64),
        }
    }

    /// The index of an address. After [`MOST_HOSTS`] all new addresses share the last place.
    pub fn of(&mut self, address: Address) -> u32 {
        if let Some(&index) = self.index.get(&address) {
            return index;
        }
        let full = self.all.len() >= MOST_HOSTS;
        if full {
            return (MOST_HOSTS - 1) as u32;
        }
        let told = (!self.local.is_empty()).then(|| {
            self.local.iter().any(|&(prefix, bits)| bits == 0 || (address.0 ^ prefix.0) >> (128 - bits.min(128)) == 0)
        });
        let index = self.all.len() as u32;
        let stats = [const { None }; 3];
        self.all.push(Host {
            address,
            response_min: i64::MAX,
            echo_min: i64::MAX,
            least_sum: f64::INFINITY,
            told,
            transmission: Default::default(),
            packets: [0; 3],
            stats,
        });
        self.index.insert(address, index);
        index
    }

    /// Whether the user said which hosts are local, and none of those that were seen is.
    pub(crate) fn nobody_local(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|host| host.told == Some(false))
    }

    /// A host answered after so long, ns: the quickest answer says whether it is near.
    #[inline]
    pub(crate) fn responded(&mut self, host: u32, after: i64) {
        if let Some(host) = self.all.get_mut(host as usize)
            && after < host.response_min
        {
            host.response_min = after.max(0);
            self.changes += u64::from(after < NEAR_NS);
        }
    }

    /// Whether `host` is the near end of a flow with `peer`: of two that are near, the quicker, unless the user said
    /// which are.
    #[inline]
    pub fn near(&self, host: u32, peer: u32) -> bool {
        let Some(host) = self.all.get(host as usize) else { return false };
        host.near()
            && match self.all.get(peer as usize) {
                Some(peer) if host.told.is_none() && peer.near() => host.response_min < peer.response_min,
                _ => true,
            }
    }

    /// [`Self::near`] of both ends of a flow.
    #[inline]
    pub fn near_ends(&self, host: u32, peer: u32) -> [bool; 2] {
        let (Some(a), Some(b)) = (self.all.get(host as usize), self.all.get(peer as usize)) else {
            return [self.near(host, peer), self.near(peer, host)];
        };
        match [a.near(), b.near()] {
            [true, true] => [
                a.told.is_some() || a.response_min < b.response_min,
                b.told.is_some() || b.response_min < a.response_min,
            ],
            near => near,
        }
    }

    /// Whether `host` is the remote end of a flow with `peer`.
    #[inline]
    pub fn remote(&self, host: u32, peer: u32) -> bool {
        !self.near(host, peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_few_that_lack_something_make_a_lower_bound() {
        for (samples, lacking, paused, bound) in
            [(100, 5, 0, false), (100, 6, 0, true), (50, 0, 10, false), (50, 0, 11, true), (0, 0, 0, false)]
        {
            assert_eq!(lower_bound(samples, lacking, paused), bound, "{samples} {lacking} {paused}");
        }
    }

    #[test]
    fn what_was_left_out_for_having_waited_makes_a_lower_bound() {
        let mut way = Way::default();
        way.count(500, true, 0.0);
        for (paused, bound) in [(100, false), (101, true)] {
            way.discarded[Discard::Paused as usize] = paused;
            assert_eq!(way.lower_bound(), bound, "{paused}");
            // What they waited nothing bounds.
            assert_eq!(way.missing(), if bound { None } else { Some(0.0) }, "{paused}");
        }
    }

    #[test]
    fn a_silence_is_one_of_all_hosts() {
        let mut hosts = Hosts::new(Vec::new());
        let [a, b] = [1, 2].map(|n| hosts.of(Address(n)));
        assert!(hosts.begins(0, true), "nobody was seen");
        hosts.sent(a, Protocol::Tcp, 2, 5);
        hosts.sent(b, Protocol::Utp, 1, 9);
        assert_eq!([9, 10].map(|at| hosts.begins(at + SILENCE, true)), [false, true], "since the last of any");
        assert_eq!(hosts.all.iter().map(|host| host.packets).collect::<Vec<_>>(), [[2, 0, 0], [0, 1, 0]]);
        // Who was under way already had not been silent.
        assert!(!hosts.begins(70 + SILENCE, false) && !hosts.begins(90 + SILENCE, false));
        assert_eq!(hosts.midstream, 70 + SILENCE);
    }

    #[test]
    fn what_is_kept_of_nearness_follows_the_hosts() {
        let mut hosts = Hosts::new(Vec::new());
        let both = [hosts.of(Address(1)), hosts.of(Address(2))];
        let mut near = Near::default();
        assert_eq!(near.renewed(&hosts, both).ends, [false; 2]);
        // The second answers at once, then the first does, and quicker: of two that are near the slower is remote.
        for (host, after, ends) in [(1, 900_000, [false, true]), (0, 2_000_000, [false, true]), (0, 100, [true, false])]
        {
            hosts.responded(both[host], after);
            assert_eq!(near.renewed(&hosts, both).ends, ends);
            assert_eq!(near.ends, hosts.near_ends(both[0], both[1]));
        }
        assert_eq!(near.beside, [true; 2]);
    }
}
