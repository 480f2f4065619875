//! A connection or a flow of datagrams while a capture is read.

use super::connection::Connection;
use super::datagrams::Datagrams;
use super::sides::Hosts;
use super::way::Way;
use crate::decode::Address;

/// An end: address and port.
pub(super) type Host = (Address, u16);

/// What is kept of it, packet by packet.
#[derive(Debug)]
pub(super) enum Kept {
    Tcp(Box<Connection>),
    Udp(Datagrams),
}

impl Kept {
    /// Bytes of data that passed, and one. A number that was damaged is not believed: a packet has 64 KiB at most.
    fn bytes(&self) -> i64 {
        let of = |way: &Way| way.end.saturating_sub(way.begin).clamp(0, way.data_pkts as i64 * (1 << 16));
        1 + match self {
            Self::Tcp(connection) => connection.ways.iter().map(of).sum::<i64>(),
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
}

impl Entry {
    pub(super) fn hosts(&self) -> Hosts {
        (self.opener.0, self.acceptor.0)
    }

    /// Of how many bytes each host is the server, less than none if the other is. Who alone has a well-known port is,
    /// else who accepted; of datagrams between other ports it is not known.
    pub(super) fn serves(&self) -> [(Address, i64); 2] {
        let known = [self.opener, self.acceptor].map(|(_, port)| port < 1024);
        let acceptors = match (known, &self.kept) {
            ([true, false], kept) => -kept.bytes(),
            ([false, true], kept) | (_, kept @ Kept::Tcp(_)) => kept.bytes(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_well_known_port_serves_else_who_accepted() {
        let of = |ports: [u16; 2], tcp: bool, end: i64| {
            let [opener, acceptor] = [0, 1].map(|n| (Address(n), ports[n as usize]));
            let kept = if tcp {
                let mut connection = Connection::new(0, true);
                connection.ways[1].data((0, end), 1, 5);
                Kept::Tcp(Box::new(connection))
            } else {
                let mut datagrams = Datagrams::new(0);
                datagrams.add(true, 1000, 5);
                Kept::Udp(datagrams)
            };
            Entry { opener, acceptor, numbers: [0, 1], kept }.serves().map(|(_, bytes)| bytes)
        };
        let serves = |ports, tcp| of(ports, tcp, 1000);
        assert_eq!(of([40_000, 443], true, 1 << 30), [-65_537, 65_537], "a number that was damaged");
        for tcp in [true, false] {
            assert_eq!(serves([40_000, 443], tcp), [-1001, 1001]);
            assert_eq!(serves([20, 40_000], tcp), [1001, -1001], "a server opens, as of FTP");
        }
        for ports in [[40_000, 8080], [53, 53]] {
            assert_eq!([true, false].map(|tcp| serves(ports, tcp)), [[-1001, 1001], [0, 0]]);
        }
    }
}
