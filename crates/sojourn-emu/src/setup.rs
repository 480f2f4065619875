//! What the emulator is told: the scenario whose path it is, and what runs at the ends of it.

use crate::linux::netlink::RouteMetrics;
use serde::{Deserialize, Deserializer};
use sojourn_net::Rate;
use sojourn_sim::scenario::Scenario;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::ffi::OsStringExt;

/// A run of the emulator.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Whose path is emulated; its flows and users are not started.
    pub document: Scenario,
    /// Chooses the queues' random streams, with the replication.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u32,
    /// What runs at the client's end; its words are bytes, which need not be text.
    #[serde(deserialize_with = "words")]
    pub command: Vec<OsString>,
    /// What runs at the server's end, for a shell; `None`: nothing.
    #[serde(default, deserialize_with = "line")]
    pub server: Option<OsString>,
    /// The server's end is the network of this machine.
    pub host: bool,
    /// Largest packet at IP.
    pub mtu: u32,
    /// Hosts hand over super-packets, as to a network card.
    pub offload: bool,
    /// The rate of the hosts' network cards; `None`: see [`Setup::access`].
    pub access: Option<Rate>,
    /// The congestion control of TCP at both ends; `None`: as the system has it.
    pub congestion: Option<String>,
    /// Variables of the kernel to set in both networks, such as `net.ipv4.tcp_ecn`.
    pub variables: Vec<(String, String)>,
    /// After this time the command is ended.
    pub duration_s: Option<f64>,
    /// Who the command runs as, where that can be chosen.
    pub user: Option<User>,
    /// The user and group that call.
    pub caller: (u32, u32),
    /// Idle round trips that are measured before the command starts.
    pub probes: u16,
    /// Time between two looks for the live view.
    pub every_s: f64,
    /// Further pairs of addresses, one at each end.
    #[serde(default)]
    pub pairs: Vec<Pair>,
    /// The records are of this part of the run, in seconds; `None`: of all of it.
    pub measured_s: Option<(f64, f64)>,
    /// Descriptors of this process.
    pub descriptors: Descriptors,
}

/// Who the command runs as.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct User {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Further groups.
    pub groups: Vec<u32>,
}

/// The least MTU of IPv6 (RFC 8200 §5).
const IPV6_MTU: u32 = 1280;
/// Network cards are at least this fast …
const CARD: Rate = Rate(1_000_000_000);
/// … and so many times faster than the path, or it would be no bottleneck.
const FASTER: u64 = 4;

impl Setup {
    /// The rate of the hosts' network cards, at which super-packets go onto the wire.
    pub fn access(&self) -> Rate {
        let fastest = self.document.path.links().filter_map(|link| link.spec.rate.mean()).map(|rate| rate.0).max();
        self.access.unwrap_or(Rate(fastest.unwrap_or(0).saturating_mul(FASTER).max(CARD.0)))
    }
}

fn words<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<OsString>, D::Error> {
    let words = Vec::<Vec<u8>>::deserialize(given)?;
    Ok(words.into_iter().map(OsString::from_vec).collect())
}

fn line<'de, D: Deserializer<'de>>(given: D) -> Result<Option<OsString>, D::Error> {
    Ok(Option::<Vec<u8>>::deserialize(given)?.map(OsString::from_vec))
}

/// Descriptors that the starting process has left open for this one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptors {
    /// Ends when the starting process does.
    pub parent: i32,
    /// Takes looks at the queues, a line each.
    pub live: Option<i32>,
    /// Takes rows of the packet log.
    pub log: Option<i32>,
    /// Takes a capture.
    pub capture: Option<i32>,
    /// The command writes a byte to its other end when it is ready. Then the run begins, and it can read what
    /// `CLOCK_MONOTONIC` shows at time zero (eight bytes, nanoseconds). `None`: the run begins with the command.
    pub begin: Option<i32>,
}

/// Two addresses that packets go between, with settings of their own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// The last two bytes of both addresses; 256 and more.
    pub number: u16,
    /// One-way delay between these hosts and the path, both ends together; `None`: the path's.
    pub delay_ns: Option<u64>,
    /// What routes between them say to TCP.
    pub metrics: RouteMetrics,
}

impl Pair {
    /// The client's address (1), and the server's (2).
    pub fn address(&self, end: u8) -> IpAddr {
        let [high, low] = self.number.to_be_bytes();
        Ipv4Addr::new(198, 17 + end, high, low).into()
    }
}

/// The addresses of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// IPv4.
    pub v4: Ipv4Addr,
    /// IPv6.
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Of the client (1) or the server (2) of the bed with this number; one in a network of its own has the number 0.
    pub fn of(bed: u32, end: u8) -> Self {
        let bed = bed as u16;
        Self {
            v4: Ipv4Addr::new(198, 18 + (bed >> 8 & 1) as u8, bed as u8, end),
            v6: Ipv6Addr::new(0xfd50, 0x6a6f, 0x7572, bed, 0, 0, 0, u16::from(end)),
        }
    }

    /// Those that an interface with this MTU has: IPv6 where it is what that needs.
    pub fn within(self, mtu: u32) -> impl Iterator<Item = IpAddr> {
        [IpAddr::from(self.v4)].into_iter().chain((mtu >= IPV6_MTU).then(|| self.v6.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_an_address_of_ipv6_from_its_least_mtu_on() {
        let of = |mtu| Addresses::of(0, 1).within(mtu).map(|address| address.is_ipv6()).collect::<Vec<_>>();
        assert_eq!([1279, 1280, 1281].map(of), [vec![false], vec![false, true], vec![false, true]]);
    }

    #[test]
    fn a_card_is_four_times_faster_than_the_fastest_link_and_a_gigabit_at_least() {
        let of = |down: &str, up: &str, more: &str| {
            let link = |rate| format!(r#"{{{rate}"queue": {{"kind": "fifo", "limit": "9pkt"}}}}"#);
            let path = format!(r#"{{"rtt": "9ms", "down": {}, "up": {}}}"#, link(down), link(up));
            crate::tests::setup(&path, more).access().0
        };
        let (slow, fast) = (r#""rate": "1Mbit", "#, r#""rate": "300Mbit", "#);
        assert_eq!(
            [of(slow, slow, ""), of(slow, fast, ""), of(fast, slow, "")],
            [1_000_000_000, 1_200_000_000, 1_200_000_000]
        );
        assert_eq!(of(slow, r#""rate": "unlimited", "#, ""), 1_000_000_000);
        assert_eq!(of(fast, fast, r#", "access": "10Mbit""#), 10_000_000, "as it is asked for");
    }

    #[test]
    fn the_ends_of_a_bed_have_addresses_of_a_network_for_measurements_and_pairs_have_more() {
        let of = |bed, end| Addresses::of(bed, end).within(1500).map(|address| address.to_string()).collect::<Vec<_>>();
        assert_eq!(of(0, 1), ["198.18.0.1", "fd50:6a6f:7572::1"]);
        assert_eq!(of(0, 2), ["198.18.0.2", "fd50:6a6f:7572::2"]);
        // RFC 2544: 198.18.0.0/15, which 512 beds share.
        assert_eq!((of(255, 1)[0].as_str(), of(256, 2)[0].as_str()), ("198.18.255.1", "198.19.0.2"));
        assert_eq!((of(513, 1)[0].as_str(), of(0x1234, 1)[1].as_str()), ("198.18.1.1", "fd50:6a6f:7572:1234::1"));
        let pair = Pair { number: 0x102, ..Pair::default() };
        assert_eq!([1, 2].map(|end| pair.address(end).to_string()), ["198.18.1.2", "198.19.1.2"]);
    }

    #[test]
    fn what_a_setup_does_not_say_is_none_of_it() {
        let setup = crate::tests::setup(&crate::tests::one_hop(crate::tests::LINK), "");
        assert!(setup.pairs.is_empty() && setup.measured_s.is_none() && setup.server.is_none() && setup.user.is_none());
        let Descriptors { parent, live, log, capture, begin } = setup.descriptors;
        assert_eq!((parent, live, log, capture, begin), (0, None, None, None, None));
    }
}
