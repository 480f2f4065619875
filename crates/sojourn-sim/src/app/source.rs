//! What all sources and applications are, and the random numbers that several of them draw.

use super::tables::Tables;
use crate::engine::{Datagram, Direction, Event, Kind, Network};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Ecn, Span, Time};

/// A source of traffic or an application.
pub trait Source {
    /// Something happened.
    fn on(&mut self, event: Event, network: &mut Network);
    /// The run is over: add to the tables.
    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        let _ = (network, tables);
    }
}

/// One of those whose experience is scored, as the engine knows it.
pub struct User {
    /// Number of its source.
    pub source: u32,
    /// Its own number.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// What begins earlier is not reported.
    pub warmup: Time,
    /// Its random stream.
    pub rng: Pcg64Mcg,
}

impl User {
    /// It starts, which `token` tells it, uniformly within this time.
    pub(super) fn start_within(&mut self, within: Span, token: u64, network: &mut Network) {
        let start = Time((self.rng.random::<f64>() * within.0 as f64) as u64);
        network.wake_at(start, self.source, token);
    }

    /// A datagram from or to its hosts.
    pub(super) fn datagram(&self, direction: Direction, kind: Kind, flow: u32, seq: u64, size: u16) -> Datagram {
        Datagram { group: self.group, direction, kind, flow, owner: self.source, seq, size, ecn: Ecn::NotEct }
    }
}

/// Numbered datagrams of one flow, which nothing slows down. Their arrivals are counted at the link only.
pub struct Datagrams {
    /// Number of their source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// Which way they go.
    pub direction: Direction,
    flow: u32,
    sent: u64,
}

impl Datagrams {
    /// None yet.
    pub fn new(number: u32, group: u16, direction: Direction) -> Self {
        Self { number, group, direction, flow: 0, sent: 0 }
    }

    /// Their flow begins.
    pub(super) fn begin(&mut self, network: &mut Network) {
        self.flow = network.new_flow(self.group);
    }

    /// Sends one of so many bytes at IP.
    pub(super) fn send(&mut self, size: u16, network: &mut Network) {
        let Self { number: owner, group, direction, flow, sent: seq } = *self;
        let ecn = Ecn::NotEct;
        network.datagram(&Datagram { group, direction, kind: Kind::Datagram, flow, owner, seq, size, ecn });
        self.sent += 1;
    }
}

/// Uniform in (0, 1], so that its logarithm is finite.
pub(super) fn uniform(rng: &mut Pcg64Mcg) -> f64 {
    1.0 - rng.random::<f64>()
}

/// A standard normal variate (Box and Muller).
pub(super) fn normal(rng: &mut Pcg64Mcg) -> f64 {
    libm::sqrt(-2.0 * libm::log(uniform(rng))) * libm::cos(std::f64::consts::TAU * uniform(rng))
}
