//! A connection or a flow of datagrams while a capture is read.

use super::connection::Connection;
use super::datagrams::Datagrams;
use super::level::Data;
use super::sides::Hosts;
use super::way::Way;
use crate::decode::Address;
use std::collections::BTreeMap;

/// An end: address and port.
pub(super) type Host = (Address, u16);

/// Bytes of data that passed one way. A number that was damaged is not believed: a packet has 64 KiB at most.
fn bytes(way: &Way) -> i64 {
    way.end.saturating_sub(way.begin).clamp(0, way.data_pkts as i64 * (1 << 16))
}

/// What is kept of it, packet by packet.
#[derive(Debug)]
pub(super) enum Kept {
    Tcp(Box<Connection>),
    Udp(Datagrams),
}

impl Kept {
    /// Who opened it is known: of TCP, and of QUIC whose handshake was seen.
    fn opens(&self) -> bool {
        match self {
            Self::Tcp(_) => true,
            Self::Udp(datagrams) => datagrams.looks.opens(),
        }
    }

    /// Bytes of data that passed, and one.
    fn bytes(&self) -> i64 {
        1 + match self {
            Self::Tcp(connection) => connection.ways.iter().map(bytes).sum::<i64>(),
            Self::Udp(datagrams) => datagrams.turns.iter().map(|datagram| datagram.bytes as i64).sum(),
        }
    }
}

/// A connection, or a flow of datagrams.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) opener: Host,
    pub(super) acceptor: Host,
    /// Numbers of the two hosts.
    pub(super) numbers: [u32; 2],
    pub(super) kept: Kept,
    /// Frames with payload by end, and of them those that may be marked.
    pub(super) ecn: [[u64; 2]; 2],
}

impl Entry {
    /// A frame with so much payload passed, with this ECN field.
    pub(super) fn marks(&mut self, end: usize, payload: u32, ecn: u8) {
        if payload > 0 {
            self.ecn[end][0] += 1;
            self.ecn[end][1] += u64::from(ecn != 0);
        }
    }

    /// By end: most of what it sends may be marked. What TCP sends again may not (RFC 3168 §6.1.5).
    pub(super) fn uses_ecn(&self) -> [bool; 2] {
        self.ecn.map(|[all, capable]| 2 * capable > all)
    }

    pub(super) fn hosts(&self) -> Hosts {
        (self.opener.0, self.acceptor.0)
    }

    /// Of how many bytes each host is the server, less than none if the other is. Who alone has a well-known port is,
    /// else who accepted; of other datagrams between such ports it is not known.
    pub(super) fn serves(&self) -> [(Address, i64); 2] {
        let known = [self.opener, self.acceptor].map(|(_, port)| port < 1024);
        let acceptors = match (known, &self.kept) {
            ([true, false], kept) => -kept.bytes(),
            ([false, true], kept) => kept.bytes(),
            (_, kept) if kept.opens() => kept.bytes(),
            _ => 0,
        };
        [(self.opener.0, -acceptors), (self.acceptor.0, acceptors)]
    }

    /// The segment size that an end offered to the other.
    pub(super) fn offered(&self, end: usize) -> Option<u16> {
        match &self.kept {
            Kept::Tcp(connection) => connection.ways[end].mss,
            Kept::Udp(_) => None,
        }
    }
}

/// What came from each host by TCP, and went to it.
pub(super) fn data(entries: &[Entry]) -> BTreeMap<Address, [Data; 2]> {
    let mut found: BTreeMap<Address, [Data; 2]> = BTreeMap::new();
    for entry in entries {
        let Kept::Tcp(connection) = &entry.kept else { continue };
        for (way, ends) in
            connection.ways.iter().zip([[entry.opener.0, entry.acceptor.0], [entry.acceptor.0, entry.opener.0]])
        {
            for (host, to) in ends.into_iter().zip([0, 1]) {
                let data = &mut found.entry(host).or_default()[to];
                data.packets += way.data_pkts;
                data.bytes += bytes(way) as u64;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_well_known_port_serves_else_who_accepted() {
        let of = |ports: [u16; 2], protocol: &str, end: i64| {
            let [opener, acceptor] = [0, 1].map(|n| (Address(n), ports[n as usize]));
            let kept = if protocol == "tcp" {
                let mut connection = Connection::new(0, true);
                connection.ways[1].data((0, end), 1, 5);
                Kept::Tcp(Box::new(connection))
            } else {
                let mut datagrams = Datagrams::new(0);
                datagrams.add(true, 1000, 5);
                datagrams.looks.add(if protocol == "quic" { &[0xc0, 0, 0, 0, 1] } else { &[0] });
                Kept::Udp(datagrams)
            };
            Entry { opener, acceptor, numbers: [0, 1], kept, ecn: Default::default() }.serves().map(|(_, bytes)| bytes)
        };
        let serves = |ports, protocol| of(ports, protocol, 1000);
        assert_eq!(of([40_000, 443], "tcp", 1 << 30), [-65_537, 65_537], "a number that was damaged");
        for protocol in ["tcp", "quic", "udp"] {
            assert_eq!(serves([40_000, 443], protocol), [-1001, 1001]);
            assert_eq!(serves([20, 40_000], protocol), [1001, -1001], "a server opens, as of FTP");
        }
        for ports in [[40_000, 8080], [53, 53]] {
            let found = ["tcp", "quic", "udp"].map(|protocol| serves(ports, protocol));
            assert_eq!(found, [[-1001, 1001], [-1001, 1001], [0, 0]]);
        }
    }

    #[test]
    fn what_one_end_sent_came_from_it_and_went_to_the_other() {
        let entry = |bytes: [i64; 2]| {
            let mut connection = Connection::new(0, true);
            bytes.iter().zip(&mut connection.ways).for_each(|(bytes, way)| _ = way.data((0, *bytes), 2, 5));
            let (kept, [opener, acceptor]) = (Kept::Tcp(Box::new(connection)), [0, 1].map(|n| (Address(n), 443)));
            Entry { opener, acceptor, numbers: [0, 1], kept, ecn: Default::default() }
        };
        let found = data(&[entry([300, 9000]), entry([200, 1000])]);
        let of = |host| found[&Address(host)].map(|data| (data.packets, data.bytes));
        assert_eq!([of(0), of(1)], [[(4, 500), (4, 10_000)], [(4, 10_000), (4, 500)]]);
    }

    #[test]
    fn an_end_uses_ecn_if_most_of_its_frames_with_payload_may_be_marked() {
        let kept = Kept::Udp(Datagrams::new(0));
        let [opener, acceptor] = [0, 1].map(|n| (Address(n), 443));
        let mut entry = Entry { opener, acceptor, numbers: [0, 1], kept, ecn: Default::default() };
        assert_eq!(entry.uses_ecn(), [false; 2]);
        // What is sent again may not be, nor may bare acknowledgements.
        for (payload, ecn) in [(1000, 2), (1000, 3), (1000, 0), (0, 0), (0, 0)] {
            entry.marks(0, payload, ecn);
            entry.marks(1, payload, 0);
        }
        assert_eq!(entry.uses_ecn(), [true, false]);
        entry.marks(0, 1000, 0);
        assert_eq!(entry.uses_ecn(), [false; 2], "half of them");
    }
}
