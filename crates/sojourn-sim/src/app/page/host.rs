//! A host as the page sees it, whatever the protocol.

use super::http1::Http1;
use super::http2::Http2;
use super::http3::Http3;
use super::io::Io;
use crate::engine::{ConnectionId, End, Network};
use crate::scenario::HttpOfPage;

/// A host.
pub(super) enum Host {
    Http1(Http1),
    Http2(Http2),
    Http3(Box<Http3>),
}

impl Host {
    pub(super) fn new(version: HttpOfPage) -> Self {
        match version {
            HttpOfPage::Http1 => Self::Http1(Http1::default()),
            HttpOfPage::Http2 => Self::Http2(Http2::default()),
            HttpOfPage::Http3 => Self::Http3(Box::default()),
        }
    }

    /// An object is wanted.
    pub(super) fn ask(&mut self, object: usize, io: &mut Io<'_>) {
        match self {
            Self::Http1(host) => host.ask(object, io),
            Self::Http2(host) => host.ask(object, io),
            Self::Http3(host) => host.ask(object, io),
        }
    }

    /// Whether a TCP connection is one of its.
    pub(super) fn has(&self, connection: ConnectionId) -> bool {
        match self {
            Self::Http1(host) => host.has(connection),
            Self::Http2(host) => host.has(connection),
            Self::Http3(_) => false,
        }
    }

    /// Bytes arrived in order at an end of a TCP connection: the objects that are complete now.
    pub(super) fn received(&mut self, id: ConnectionId, at: End, bytes: u64, io: &mut Io<'_>) -> Vec<usize> {
        match self {
            Self::Http1(host) => host.received(id, at, bytes, io),
            Self::Http2(host) => host.received(at, bytes, io),
            Self::Http3(_) => Vec::new(),
        }
    }

    /// A QUIC packet arrived: the objects that are complete now.
    pub(super) fn on_packet(&mut self, place: u32, io: &mut Io<'_>) -> Vec<usize> {
        if let Self::Http3(host) = self { host.on_packet(place, io) } else { Vec::new() }
    }

    /// A QUIC endpoint's timer is due.
    pub(super) fn on_timeout(&mut self, place: u32, io: &mut Io<'_>) -> Vec<usize> {
        if let Self::Http3(host) = self {
            host.on_timeout(place, io);
        }
        Vec::new()
    }

    /// Connections opened.
    pub(super) fn connections(&self) -> u32 {
        match self {
            Self::Http1(host) => host.connections(),
            Self::Http2(host) => host.connections(),
            Self::Http3(host) => host.connections(),
        }
    }

    /// Packets sent again by the server.
    pub(super) fn retransmits(&self, network: &Network) -> u64 {
        let of_tcp =
            |id: ConnectionId| network.endpoint(id, End::Server).map_or(0, |end| end.sender().statistics().retransmits);
        match self {
            Self::Http1(host) => host.ids().map(of_tcp).sum(),
            Self::Http2(host) => host.id().map_or(0, of_tcp),
            Self::Http3(host) => host.retransmits(),
        }
    }

    /// The page is complete, or given up.
    pub(super) fn end(&mut self, complete: bool, network: &mut Network) {
        let mut end = |id: ConnectionId| {
            if complete {
                network.close(id, End::Client);
            } else {
                network.abort(id);
            }
        };
        match self {
            Self::Http1(host) => host.ids().for_each(&mut end),
            Self::Http2(host) => host.id().into_iter().for_each(&mut end),
            Self::Http3(_) => {}
        }
    }
}
