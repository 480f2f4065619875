//! Tracks: what is known of one direction of a flow, and what tells one from another.
//!
//! A track begins with the first packet that a flow logs in it, and ends with the flow, or where clock or route change.
//! Its delays are worked out by its [`clock_model`], up to its base; whether the least of them are those of an empty
//! queue, [`empty_queue`] says; whether its sender keeps a pace of its own, [`own_pace`]. Each step of a finalization
//! fills in more of it.

pub(super) mod clock_model;
pub(super) mod empty_queue;
pub(super) mod own_pace;

use crate::delay::clock::skew::Minima;
use crate::delay::clock::tick::Fit;
use crate::delay::clock::unwrapped::Unwrapped;
use crate::delay::estimate::Estimator;
use crate::delay::host::Hosts;
use crate::delay::host::path::Path;
use crate::delay::host::transmission::Transmission;
use crate::delay::protocol::Protocol;
use crate::delay::sighting::flow_table::Key;
use crate::delay::track::empty_queue::Evidence;
use crate::delay::track::own_pace::OwnPace;
use sojourn_net::with_defaults;

/// The smallest delay seen, so that it can be worked out anew when the tick or the skew is known better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    pub(crate) time: i64,
    pub(crate) stamp: i64,
    pub(crate) extra: i64,
    /// What of the delay is a long packet's own transmission, ns, where the time does not leave it out.
    pub(crate) own: f64,
}

/// What tells one track from another: a direction of a flow under an estimator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackRef<'a> {
    pub(crate) key: &'a Key,
    /// Which end of the key sends.
    pub(crate) side: usize,
    pub(crate) protocol: Protocol,
    pub(crate) estimator: Estimator,
    /// Hosts at the two ends of the key.
    pub(crate) hosts: [u32; 2],
}

impl<'a> TrackRef<'a> {
    /// A direction of a TCP connection.
    pub(crate) fn tcp(key: &'a Key, side: usize, estimator: Estimator, hosts: [u32; 2]) -> Self {
        Self { key, side, protocol: Protocol::Tcp, estimator, hosts }
    }
}

with_defaults! {
    /// What the packets of a track before one tell of its delay.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Before {
        /// When the last packet to the sender was sent that was told of, and what it waited, ns; how many since seem
        /// acknowledged late, though the next one, sent soon after, would have ended that.
        pub(crate) toward: (i64, f64, u8),
        /// When the last of those that may have been acknowledged late was sent, ns.
        pub(crate) alone: i64 = i64::MIN,
        /// Stamps of the last packet and of the one before.
        pub(crate) sent_at: [i64; 2] = [i64::MIN; 2],
        /// Stamp of the last packet, and how long after it the packet was sent, ns.
        pub(crate) phase: Option<(i64, f64)>,
        /// Entries without a sample: its tick is unknown; the delay is one that no queue has.
        pub(crate) left_out: [u64; 2],
        /// Samples from its sender and to it.
        pub(crate) given: [u64; 2],
    }
}

/// Whose queues a packet meets: those from a host, or from it to one other.
pub(crate) type Queues = (u32, Option<u32>);

/// One direction of one flow under one estimator, as long as its clock and its route stay the same.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) key: Key,
    pub(crate) side: usize,
    pub(crate) protocol: Protocol,
    pub(crate) estimator: Estimator,
    /// Host that sends, host that receives.
    pub(crate) host: [u32; 2],
    pub(crate) start: i64,
    pub(crate) entries: u64,
    pub(crate) closed: bool,
    pub(crate) last_time: i64,
    pub(crate) fit: Fit,
    pub(crate) echo_fit: Fit,
    /// Of the receiver's stamps (TCP reported only).
    pub(crate) peer_fit: Fit,
    pub(crate) tick_ns: Option<f64>,
    pub(crate) peer_tick_ns: Option<f64>,
    pub(crate) skew: f64,
    pub(crate) peer_skew: f64,
    pub(crate) minima: Minima,
    /// Where `extra` stood at the last finalization.
    pub(crate) extra_line: Unwrapped,
    pub(crate) least: Option<Bound>,
    pub(crate) floor: Option<Bound>,
    /// What the base lies above the least delay because that was a lucky packet's, ns.
    pub(crate) lift: f64,
    /// What its base leaves out of long packets' delays.
    pub(crate) transmission: Transmission,
    /// Base delay, ns on the track's own scale.
    pub(crate) base: f64,
    /// Round trip without a queue, ns.
    pub(crate) round_trip_base: f64,
    /// What the least delays of both directions exceed the shortest round trip by, ns.
    pub(crate) gap: f64,
    /// Of that, what neither direction can be charged with.
    pub(crate) unassigned: f64,
    /// How well the base is known, ns, where it was taken over.
    pub(crate) base_error: f64,
    /// What the track shows of an empty queue, from its sender and to it.
    pub(crate) evidence: [Evidence; 2],
    /// Whether the base is known to be that of an empty queue, from its sender and to it.
    pub(crate) empty: [bool; 2],
    /// What the packets before tell of the next.
    pub(crate) before: Before,
    /// What neighbouring flows say that the base is too high by, ns.
    pub(crate) cross_flow_base: f64,
    /// The base as it was used last, taken over or not.
    pub(crate) last_base: Option<f64>,
    /// The base was bounded by round trips, so that it can be compared between flows.
    pub(crate) by_round_trip: bool,
    /// How its path differs from others' to the same remote host.
    pub(crate) path: Path,
    /// Another track of the same direction says more: this one gives no samples.
    pub(crate) silent: bool,
    /// It gave a sample.
    pub(crate) counted: bool,
    /// Whether its sender keeps a pace of its own.
    pub(crate) pace: OwnPace,
    /// The log has delays of packets to its sender, by what their arrival caused.
    pub(crate) toward: bool,
}

impl Track {
    pub(crate) fn new(of: &TrackRef<'_>, start: i64) -> Self {
        Self {
            key: *of.key,
            side: of.side,
            protocol: of.protocol,
            estimator: of.estimator,
            host: [of.hosts[of.side], of.hosts[1 - of.side]],
            start,
            last_time: start,
            gap: f64::INFINITY,
            ..Self::default()
        }
    }

    /// The tracks whose packets share its queues have the same: those of the same sender, unless the path is apart.
    pub(crate) fn queues(&self) -> Queues {
        (self.host[0], self.path.apart.then_some(self.host[1]))
    }

    /// Whether `extra` of its entries is on a line without end.
    #[inline]
    pub(crate) fn lines(&self) -> bool {
        self.estimator == Estimator::Reported || self.protocol == Protocol::Utp
    }

    /// The shortest round trip on its path, ns.
    #[inline]
    pub(crate) fn shortest_round_trip(&self, hosts: &Hosts) -> i64 {
        let host = &hosts.all[self.host[0] as usize];
        let own = host.transmission[0].of(host.echo_length) as i64;
        host.echo_min.saturating_sub(own).saturating_add(self.path.longer)
    }

    /// The shortest round trip on its path that one connection's least delays add up to, ns, and what the path is
    /// longer by than the one of which it is kept.
    pub(crate) fn least_sum<'a>(&self, hosts: &'a mut Hosts) -> (&'a mut f64, f64) {
        match hosts.paths.get_mut(&self.host).filter(|path| path.apart) {
            Some(path) => (&mut path.least_sum, 0.0),
            None => (&mut hosts.all[self.host[0] as usize].least_sum, self.path.longer as f64),
        }
    }
}
