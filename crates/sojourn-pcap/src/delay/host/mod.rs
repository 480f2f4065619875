//! Hosts: what is known of an address, and which are near the observer.
//!
//! A host is *near* if it was ever seen to answer within [`NEAR_NS`] of the packet that it answers: no queue worth
//! measuring lies between it and the observer, and its side of a flow is the local one. Between two near hosts the
//! slower is the remote one.
//!
//! Flows tell hosts of answers and round trips as packets pass. Finalizing a log adds what each step finds: the
//! [`path`] to each local host, the [`transmission`] of long packets, and the [`statistics`] of samples.

pub(super) mod path;
pub(super) mod silence;
pub mod statistics;
pub(crate) mod transmission;

use crate::decode::Address;
use crate::delay::host::path::Path;
use crate::delay::host::silence::{SILENCE, THIN};
use crate::delay::host::statistics::Stats;
use crate::delay::host::transmission::{Transmission, Unproven};
use crate::delay::protocol::Protocol;
use std::collections::BTreeMap;

const NEAR_NS: i64 = 1_000_000;

/// An address and what is known of it.
#[derive(Debug)]
pub struct Host {
    /// The address.
    pub address: Address,
    /// Quickest answer, ns.
    pub response_min: i64,
    /// Shortest time from a packet to the stamp's echo, ns.
    pub echo_min: i64,
    /// Length of the packet that came back then.
    pub(crate) echo_length: u16,
    /// Shortest round trip that one connection's least delays in both directions add up to, ns.
    pub least_sum: f64,
    /// The user said whether it is local.
    pub told: Option<bool>,
    /// What long packets take longer than short ones, from it and to it.
    pub transmission: [Transmission; 2],
    /// What they may take longer, where that is not known.
    pub(crate) unproven: [Unproven; 2],
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

    /// What is left out of delays from it and to it, and what they lack, ns, if that was none.
    pub(crate) fn left_out(&self) -> ([Transmission; 2], [f64; 2]) {
        let ways = [0, 1].map(|way| match (self.transmission[way], &self.unproven[way]) {
            (known, _) if known.known() => (known, 0.0),
            (_, Unproven { transmission, lacks }) => (*transmission, *lacks),
        });
        (ways.map(|(transmission, _)| transmission), ways.map(|(_, lacks)| lacks))
    }

    /// A packet of this length came back after so long, ns.
    #[inline]
    pub(crate) fn answered(&mut self, after: i64, length: u16) {
        if after < self.echo_min {
            (self.echo_min, self.echo_length) = (after, length);
        }
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

/// What is known of a packet's sender and of its receiver, a bit each: four numbers would fill four registers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Ends(u8);

impl Ends {
    /// Which are near, and which were seen to answer at once, the sender first.
    fn new(near: [bool; 2], beside: [bool; 2]) -> Self {
        let [a, b, c, d] = [near[0], near[1], beside[0], beside[1]].map(u8::from);
        Self(a | b << 1 | c << 2 | d << 3)
    }

    /// Its sender is near.
    #[inline]
    pub(crate) fn sender_near(self) -> bool {
        self.0 & 1 != 0
    }

    /// Its receiver is near.
    #[inline]
    pub(crate) fn receiver_near(self) -> bool {
        self.0 & 2 != 0
    }

    /// Both are.
    #[inline]
    pub(crate) fn both_near(self) -> bool {
        self.0 & 3 == 3
    }

    /// Its receiver is near, and was seen to answer at once.
    #[inline]
    pub(crate) fn to_near_at_once(self) -> bool {
        self.0 & 10 == 10
    }

    /// Its receiver is not near, and its sender was seen to answer at once.
    #[inline]
    pub(crate) fn at_once_to_far(self) -> bool {
        self.0 & 6 == 4
    }
}

/// Which ends of a flow are near, kept until that may have changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Near {
    /// Of the packets of each side, as of [`Hosts::near_ends`].
    of: [Ends; 2],
    /// Changes of any host's nearness that had been seen; 0 before the first look.
    changes: u64,
}

impl Near {
    /// Of a packet of this side, as it is now.
    #[inline]
    pub(crate) fn ends(&mut self, hosts: &Hosts, of: [u32; 2], side: usize) -> Ends {
        if self.changes != hosts.changes {
            self.renew(hosts, of);
        }
        self.of[side]
    }

    #[cold]
    fn renew(&mut self, hosts: &Hosts, of: [u32; 2]) {
        let beside = of.map(|host| hosts.all.get(host as usize).is_some_and(Host::answers_at_once));
        let ([a, b], [c, d]) = (hosts.near_ends(of[0], of[1]), beside);
        *self = Self { of: [Ends::new([a, b], [c, d]), Ends::new([b, a], [d, c])], changes: hosts.changes };
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

    /// A host sent a datagram that is not measured: streams of large ones fill queues, too.
    #[inline]
    pub(crate) fn sent_besides(&mut self, now: i64, length: u32) {
        if length > THIN {
            self.last_sent = now;
        }
    }

    /// A flow began, or was under way already. Whether nobody had sent for long: others' packets are in the queue of a
    /// host that was silent, too.
    pub(crate) fn begins(&mut self, at: i64, opened: bool) -> bool {
        if !opened {
            self.midstream = self.midstream.min(at);
        }
        opened && self.last_sent < at.saturating_sub(SILENCE)
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
            echo_length: 0,
            least_sum: f64::INFINITY,
            told,
            transmission: Default::default(),
            unproven: Default::default(),
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
    use crate::delay::meter::Meter;
    use crate::delay::options::Options;
    use crate::read::Frame;
    use crate::write::{Datagram, End, Header};
    use std::net::Ipv4Addr;

    #[test]
    fn what_is_known_to_be_transmission_lacks_nothing() {
        let mut hosts = Hosts::new(Vec::new());
        let at = hosts.of(Address(1)) as usize;
        let of = |ns_per_byte| Transmission { short: 66, ns_per_byte };
        hosts.all[at].unproven = [3.0, 4.0].map(|each| Unproven { transmission: of(each), lacks: each * 1e6 });
        hosts.all[at].transmission[1] = of(5.0);
        let (transmission, lacks) = hosts.all[at].left_out();
        assert_eq!((transmission.map(|each| each.of(67)), lacks), ([3.0, 5.0], [3e6, 0.0]));
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
    fn a_stream_of_large_datagrams_breaks_a_silence_and_voice_or_the_lookup_of_a_name_does_not() {
        // Nine of one flow, the eighth of which tells that they are not uTP.
        for (datagrams, payload, silent) in [(2, 1200, true), (9, 172, true), (9, 1200, false)] {
            let mut meter = Meter::new(Options::default());
            for number in 1..=datagrams {
                let [source, destination] = [1, 2].map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: 5004 });
                let datagram = Datagram { source, destination, id: 0, ttl: 60, ecn: 0, payload, header: Header::Udp };
                let (data, wire_len) = datagram.frame();
                let (dropped, interface) = (false, None);
                meter.frame(&Frame { number, time_ns: 0, link: 1, wire_len, data: &data, dropped, interface });
            }
            assert_eq!([SILENCE, SILENCE + 1].map(|at| meter.state.hosts.begins(at, true)), [silent, true]);
        }
    }

    #[test]
    fn what_is_kept_of_nearness_follows_the_hosts() {
        let mut hosts = Hosts::new(Vec::new());
        let both = [hosts.of(Address(1)), hosts.of(Address(2))];
        let mut near = Near::default();
        assert_eq!(near.ends(&hosts, both, 0), Ends::default());
        // The second answers at once, then the first does, and quicker: of two that are near the slower is remote.
        for (host, after, ends) in [(1, 900_000, [false, true]), (0, 2_000_000, [false, true]), (0, 100, [true, false])]
        {
            hosts.responded(both[host], after);
            let seen = [0, 1].map(|side| near.ends(&hosts, both, side));
            assert_eq!(seen.map(Ends::sender_near), ends);
            assert_eq!([seen[1], seen[0]].map(Ends::receiver_near), ends, "the other side's receiver");
            assert_eq!((ends, seen[0].both_near()), (hosts.near_ends(both[0], both[1]), false));
        }
        // Both were seen to answer at once.
        let told =
            [0, 1].map(|side| near.ends(&hosts, both, side)).map(|of| (of.to_near_at_once(), of.at_once_to_far()));
        assert_eq!(told, [(false, true), (true, false)]);
    }
}
