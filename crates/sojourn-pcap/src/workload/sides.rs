//! Where hosts stand: which are beside the capture, and on which side the clients are.

use crate::decode::Address;
use std::collections::BTreeMap;

/// The two hosts of a flow: who opened it, and who accepted.
pub(super) type Hosts = (Address, Address);

/// Votes on where a host stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stand {
    /// Packets that it sent beside the capture, and elsewhere, by each sign: hop limits, and the time that it takes to
    /// answer.
    pub(super) near: [u64; 2],
    pub(super) far: [u64; 2],
    /// Its quickest answer, ns.
    pub(super) answered: Option<i64>,
    /// Bytes of connections and flows in which it is the server less those in which its peer is.
    pub(super) serves: i64,
}

/// The sides of a capture.
#[derive(Debug)]
pub(super) struct Sides<'a> {
    hosts: &'a BTreeMap<Address, Stand>,
    /// The sign that tells them apart.
    pub(super) sign: usize,
    /// Whether one does: hop limits do not where no router is between the hosts.
    pub(super) are_told: bool,
    pub(super) near_are_clients: bool,
}

impl<'a> Sides<'a> {
    /// The sides of all flows. `known` says of a host whether it is a client, if that is known.
    pub(super) fn of(
        hosts: &'a BTreeMap<Address, Stand>,
        flows: impl ExactSizeIterator<Item = Hosts> + Clone,
        known: &dyn Fn(Address) -> Option<bool>,
    ) -> Self {
        let mut sides = Self { hosts, sign: 0, are_told: false, near_are_clients: false };
        // A sign tells the sides apart if it does so for nearly every flow.
        let told = [0, 1].into_iter().find(|sign| {
            let parted = flows.clone().filter(|flow| sides.opener_is_near(*sign, *flow).is_some()).count();
            parted > 0 && parted * 10 >= flows.len() * 9
        });
        (sides.sign, sides.are_told) = (told.unwrap_or(0), told.is_some());
        // By bytes, as a server that asks for names and for what it serves is a client in some connections.
        let serve = |near: bool| -> i64 {
            let of = hosts.iter().filter(|(host, _)| sides.is_near(sides.sign, **host).unwrap_or(false) == near);
            of.map(|(_, stand)| stand.serves).sum()
        };
        let side = |host: &Address| Some(known(*host)? == sides.is_near(sides.sign, *host)?);
        let sent = hosts.iter().map(|(host, stand)| (host, stand.near[sides.sign] + stand.far[sides.sign]));
        // Of what is known, who sends most.
        let told = sent.filter_map(|(host, sent)| Some((sent, side(host)?))).max();
        sides.near_are_clients = told.map_or_else(|| serve(true) <= serve(false), |(_, near)| near);
        sides
    }

    /// Whether the client opened a flow. `known` says of a host whether it is a client, if that is known.
    pub(super) fn client_opens(&self, flow: Hosts, known: &dyn Fn(Address) -> Option<bool>) -> bool {
        match (known(flow.0), known(flow.1)) {
            (Some(opener), _) => opener,
            (None, Some(acceptor)) => !acceptor,
            _ => match self.opener_is_near(self.sign, flow).filter(|_| self.are_told) {
                Some(near) => near == self.near_are_clients,
                None => self.serves(flow.0) <= self.serves(flow.1),
            },
        }
    }

    fn serves(&self, host: Address) -> i64 {
        self.hosts.get(&host).map_or(0, |stand| stand.serves)
    }

    /// Whether a host is known to be away from the capture.
    pub(super) fn is_far(&self, host: Address) -> bool {
        self.are_told && self.is_near(self.sign, host) == Some(false)
    }

    /// Of a host that was not seen to send, nothing is known.
    fn is_near(&self, sign: usize, host: Address) -> Option<bool> {
        let stand = self.hosts.get(&host).filter(|stand| stand.near[sign] + stand.far[sign] > 0)?;
        Some(stand.near[sign] > stand.far[sign])
    }

    /// A host that was not seen to send stands opposite its peer.
    fn opener_is_near(&self, sign: usize, flow: Hosts) -> Option<bool> {
        match (self.is_near(sign, flow.0), self.is_near(sign, flow.1)) {
            (Some(opener), Some(acceptor)) if opener == acceptor => None,
            (Some(opener), _) => Some(opener),
            (None, acceptor) => acceptor.map(|near| !near),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn who_is_known_to_be_a_client_says_on_which_side_they_are() {
        let [near, far] = [1, 2].map(|n| Address::from(IpAddr::from([10, 0, 0, n])));
        let stands = [
            (near, Stand { near: [9, 9], serves: -1, ..Stand::default() }),
            (far, Stand { far: [9, 9], serves: 1, ..Stand::default() }),
        ];
        let hosts = BTreeMap::from(stands);
        let near_are_clients = |known: &dyn Fn(Address) -> Option<bool>| {
            Sides::of(&hosts, [(near, far)].into_iter(), known).near_are_clients
        };
        assert!(near_are_clients(&|_| None), "they are served");
        assert!(near_are_clients(&|host| Some(host == near)) && !near_are_clients(&|host| Some(host == far)));
        assert!(near_are_clients(&|host| (host == far).then_some(false)));
    }
}
