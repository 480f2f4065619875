//! Which ends of connections are BBR's: as they show it themselves ([`super::response`]), else as most connections of
//! their host do. Not of QUIC, whose acknowledgements nobody sees.

use super::entry::{Entry, Kept};
use super::response::Answers;
use super::sides::Sides;
use super::turns::Recorded;
use crate::decode::Address;
use std::collections::BTreeMap;

/// Sets it for all connections, which are in the order of their entries.
pub(super) fn settle(entries: &[Entry], connections: &mut [Recorded], sides: &Sides) {
    let shows = |entry: &Entry| {
        let hosts = [entry.opener.0, entry.acceptor.0];
        let Kept::Tcp(connection) = &entry.kept else { return hosts.map(|host| (host, None)) };
        [0, 1].map(|end| {
            let (way, host) = (&connection.ways[end], hosts[end]);
            (host, connection.responses.answers(end, way.again_pkts, way.in_vain(sides.is_far(host))))
        })
    };
    let ends: Vec<_> = entries.iter().map(shows).collect();
    let mut senders = Senders::default();
    ends.iter().flatten().for_each(|(host, shows)| senders.add(*host, *shows));
    for (row, ends) in connections.iter_mut().zip(ends).filter(|(row, _)| row.tcp) {
        row.bbr = ends.map(|(host, shows)| senders.is_bbr(host, shows));
    }
}

/// Of each host, how many of its connections answer losses by sending less, and how many are BBR's.
#[derive(Debug, Default)]
struct Senders(BTreeMap<Address, [u32; 2]>);

impl Senders {
    /// What a connection of a host shows.
    fn add(&mut self, host: Address, shows: Option<Answers>) {
        if let Some(answers) = shows {
            self.0.entry(host).or_default()[usize::from(answers == Answers::Bbr)] += 1;
        }
    }

    /// Whether a connection of it is BBR's.
    fn is_bbr(&self, host: Address, shows: Option<Answers>) -> bool {
        let most = || self.0.get(&host).is_some_and(|[less, bbr]| bbr > less);
        shows.map_or_else(most, |answers| answers == Answers::Bbr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_host_counts_what_most_connections_show() {
        let (host, other) = (Address(1), Address(2));
        let mut senders = Senders::default();
        let [less, bbr] = [Answers::Less, Answers::Bbr].map(Some);
        assert!(!senders.is_bbr(host, None));
        [bbr, less, None].into_iter().for_each(|shows| senders.add(host, shows));
        assert!(!senders.is_bbr(host, None), "as many");
        senders.add(host, bbr);
        assert_eq!([None, less, bbr].map(|shows| senders.is_bbr(host, shows)), [true, false, true]);
        assert_eq!([None, bbr].map(|shows| senders.is_bbr(other, shows)), [false, true]);
    }
}
