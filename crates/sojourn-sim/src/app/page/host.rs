//! A host as the page sees it, whatever the protocol.

use super::io::Io;
use crate::engine::{ConnectionId, End, Network};
use sojourn_net::Ecn;

/// A host. What only TCP has, or only QUIC, comes to nothing over the other.
pub(super) trait Host {
    /// An object is wanted.
    fn ask(&mut self, object: usize, io: &mut Io<'_>);

    /// Whether a TCP connection is one of its.
    fn has(&self, _: ConnectionId) -> bool {
        false
    }

    /// Its TCP connections.
    fn ids(&self) -> Vec<ConnectionId> {
        Vec::new()
    }

    /// Bytes arrived in order at an end of a TCP connection: the objects that are complete now.
    fn received(&mut self, _: ConnectionId, _: End, _bytes: u64, _: &mut Io<'_>) -> Vec<usize> {
        Vec::new()
    }

    /// A QUIC packet arrived, with its ECN field: the objects that are complete now.
    fn on_packet(&mut self, _place: u32, _: Ecn, _: &mut Io<'_>) -> Vec<usize> {
        Vec::new()
    }

    /// A QUIC endpoint's timer is due.
    fn on_timeout(&mut self, _end: u32, _: &mut Io<'_>) {}

    /// Whether the browser knows by now that it sends the most urgent first: Chromium does of a host that has agreed on
    /// HTTP/2, or has answered over HTTP/3 (whose answers announce it, by `Alt-Svc`).
    fn is_known_to_prioritise(&self) -> bool {
        false
    }

    /// Connections opened so far.
    fn opened(&self) -> u32;

    /// Connections that have carried a request: those that a browser tells of.
    fn used(&self) -> u32 {
        self.opened()
    }

    /// Packets that its servers sent again.
    fn retransmits(&self, network: &Network) -> u64 {
        let of = |id| network.endpoint(id, End::Server).map_or(0, |end| end.sender().statistics().retransmits);
        self.ids().into_iter().map(of).sum()
    }

    /// Ends its connections: in order if the page is complete, at once if not.
    fn end(&self, complete: bool, network: &mut Network) {
        for id in self.ids() {
            if complete {
                network.close(id, End::Client);
            } else {
                network.abort(id);
            }
        }
    }
}
