//! Sessions: a user between whose connections random times pass, each connection fetching one file of random size.
//!
//! Source: Harpoon (J. Sommers, P. Barford, "Self-configuring network traffic generation", IMC 2004; the behaviour of
//! its TCP plug-in). A session waits U(0, 1 s) (`start-within`), then starts a connection every inter-connection time,
//! measured from start to start without waiting for the transfer: open loop. A connection is a handshake, a one-byte
//! request, four bytes of length and the file. With `closed_loop` the time runs from the end of a transfer. `parallel`
//! runs so many of these loops in one session. Differences: sizes and times are drawn from the distribution rather than
//! read from a list, and the client closes with FIN, not with RST.

use super::source::Source;
use crate::distribution::Distribution;
use crate::engine::{ConnectionId, End, Event, Network};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Bytes, Span, Time};
use std::collections::BTreeMap;

const REQUEST: u64 = 1;
const LENGTH_FIELD: u64 = 4;

/// One session.
pub struct Sessions {
    /// Number of this source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// The end that fetches.
    pub client: End,
    /// Sizes of files.
    pub sizes: Distribution<Bytes>,
    /// Time between connections.
    pub interconnection: Distribution<Span>,
    /// Wait for a transfer to end before the next time is drawn.
    pub closed_loop: bool,
    /// Loops that run at once.
    pub parallel: u32,
    /// Starts are spread over this time.
    pub start_within: Span,
    /// Its random stream.
    pub rng: Pcg64Mcg,
    /// Transfers under way: flow number → loop and file size.
    pub transfers: BTreeMap<u32, (u64, u64)>,
}

impl Sessions {
    fn fetch(&mut self, in_loop: u64, network: &mut Network) {
        let size = self.sizes.draw(&mut self.rng).0;
        let connection = network.connect(self.group, self.client, self.number, true);
        self.transfers.insert(connection.flow(), (in_loop, size));
        network.write(connection, self.client, REQUEST);
        if !self.closed_loop {
            self.next(in_loop, network);
        }
    }

    fn next(&mut self, in_loop: u64, network: &mut Network) {
        let gap = self.interconnection.draw(&mut self.rng);
        network.wake_at(network.now() + gap, self.number, in_loop);
    }

    fn received(&mut self, connection: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        let Some(&(in_loop, size)) = self.transfers.get(&connection.flow()) else { return };
        if at != self.client {
            if bytes == REQUEST {
                network.write(connection, at, LENGTH_FIELD + size);
                network.close(connection, at);
            }
        } else if bytes >= LENGTH_FIELD + size {
            self.transfers.remove(&connection.flow());
            network.close(connection, at);
            if self.closed_loop {
                self.next(in_loop, network);
            }
        }
    }
}

impl Source for Sessions {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                for in_loop in 0..u64::from(self.parallel) {
                    let wait = self.rng.random::<f64>() * self.start_within.0 as f64;
                    network.wake_at(Time(wait as u64), self.number, in_loop);
                }
            }
            Event::Wake(in_loop) => self.fetch(in_loop, network),
            Event::Received { connection, at, bytes } => self.received(connection, at, bytes, network),
            _ => {}
        }
    }
}
