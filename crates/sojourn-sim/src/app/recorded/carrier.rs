//! What carries a recorded connection here: a connection of TCP or of QUIC, or nothing that reacts.

use crate::app::quic::{Owner, QuicConnection};
use crate::engine::{ConnectionId, End, Network, Packet};
use sojourn_net::Packet as _;
use sojourn_net::congestion::CongestionControl;
use sojourn_net::quic::{Endpoint, Role};

/// All that an end sends over QUIC is one stream: what an application waits for is told in bytes, not in streams. Nor
/// does it wait for their order, as those of several streams come.
const STREAM: u32 = 1;
/// More than any stream has, and small enough to be counted beyond.
const ENDLESS: u64 = 1 << 60;

pub(super) enum Carrier {
    Tcp(ConnectionId),
    Quic(Box<Quic>),
    Datagrams,
}

/// A connection of QUIC, and who owns it.
pub(super) struct Quic {
    connection: QuicConnection,
    owner: Owner,
}

impl Quic {
    /// A client that acknowledges as Chromium does, and a server as the RFCs have it. Keys are agreed on in turns as
    /// all else is, so both know from the start that the other is there.
    pub(super) fn new(ends: [Endpoint; 2], opener: End, flow: u32, owner: Owner) -> Box<Self> {
        let [mut a, mut b] = ends;
        a.confirm();
        b.confirm();
        Box::new(Self { connection: QuicConnection::new([a, b], opener, flow), owner })
    }

    /// A packet of it arrived.
    pub(super) fn on_packet(&mut self, packet: &Packet, network: &mut Network) {
        if self.connection.on_packet(packet.seq as usize, packet.ecn(), network.now()).is_some() {
            self.connection.flush(self.owner, network);
        }
    }

    /// A timer of an end has come.
    pub(super) fn on_timeout(&mut self, accepted: bool, network: &mut Network) {
        if self.connection.on_timeout(accepted, network.now()) {
            self.connection.flush(self.owner, network);
        }
    }
}

/// The ends of a connection of QUIC, with datagrams of so many bytes; `ecn` says of each whether it uses that.
pub(super) fn ends(datagram: u64, ecn: [bool; 2], control: impl Fn() -> Box<dyn CongestionControl>) -> [Endpoint; 2] {
    let end = |role, ecn| {
        let end = Endpoint::new(role, control()).in_datagrams_of(datagram);
        if ecn { end.with_ecn() } else { end }
    };
    [end(Role::Client, ecn[0]).like_chromium(), end(Role::Server, ecn[1])]
}

impl Carrier {
    /// Bytes that an end has of the other, over TCP in order; none of a connection that has ended.
    pub(super) fn delivered(&self, accepted: bool, end: End, network: &Network) -> Option<u64> {
        match self {
            Self::Tcp(id) => network.endpoint(*id, end).map(|own| own.receiver().delivered()),
            Self::Quic(quic) => Some(quic.connection.arrived(accepted)),
            Self::Datagrams => None,
        }
    }

    /// All that an end has sent was acknowledged.
    pub(super) fn is_idle(&self, accepted: bool, end: End, network: &Network) -> bool {
        match self {
            Self::Tcp(id) => network.endpoint(*id, end).is_some_and(|own| own.sender().is_idle()),
            Self::Quic(quic) => quic.connection.is_idle(accepted),
            Self::Datagrams => true,
        }
    }

    /// An end has heard that the other has closed.
    pub(super) fn is_finished(&self, end: End, network: &Network) -> bool {
        match self {
            Self::Tcp(id) => network.endpoint(*id, end).is_some_and(|own| own.receiver().is_finished()),
            Self::Quic(_) | Self::Datagrams => true,
        }
    }

    /// An end writes so many bytes; `u64::MAX` is an endless stream.
    pub(super) fn write(&mut self, accepted: bool, end: End, bytes: u64, network: &mut Network) {
        match self {
            Self::Tcp(id) => network.write(*id, end, bytes),
            Self::Quic(quic) => {
                quic.connection.ends()[usize::from(accepted)].write(STREAM, bytes.min(ENDLESS), 0);
                quic.connection.flush(quic.owner, network);
            }
            Self::Datagrams => {}
        }
    }

    /// An end closes. QUIC's falls silent (RFC 9000 §10.1).
    pub(super) fn close(&self, end: End, network: &mut Network) {
        if let Self::Tcp(id) = self {
            network.close(*id, end);
        }
    }

    /// Nothing is left to be done here when both ends have closed: what is left is TCP's.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Quic(quic) => [false, true].into_iter().all(|accepted| quic.connection.is_idle(accepted)),
            Self::Tcp(_) | Self::Datagrams => true,
        }
    }
}
