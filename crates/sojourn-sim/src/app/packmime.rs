//! PackMime-HTTP: web connections that start whatever becomes of the earlier ones, each with a request and an answer.
//!
//! Source: Cao, Cleveland, Gao, Jeffay, Smith, Weigle, "Stochastic models for generating synthetic HTTP source
//! traffic", INFOCOM 2004, and its implementation in ns-2.35 (`packmime/`), whose constants and tables these are. The
//! client connects and sends its request; the server answers after a delay of its own; after the last answer both
//! close. With HTTP/1.1 some connections are persistent.
//!
//! Differences: TCP is this engine's and not ns-2's `FullTcp`; round trips and losses of the model (its `DelayBox`)
//! are left out; sizes of responses can be scaled to a mean (`response-mean`).

mod model;
mod noise;
mod tables;
#[cfg(test)]
mod tests;

pub use model::Model;

use model::Exchange;

use super::source::Source;
use crate::engine::{ConnectionId, End, Event, Network};
use sojourn_net::Time;
use std::collections::BTreeMap;

/// One stream of web connections.
pub struct Packmime {
    /// Number of this source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// The end that asks.
    pub client: End,
    /// When it starts.
    pub start: Time,
    /// What it draws from.
    pub model: Model,
    /// Connections under way, by flow number.
    pub open: BTreeMap<u32, Visit>,
}

/// A connection under way.
pub struct Visit {
    connection: ConnectionId,
    exchanges: Vec<Exchange>,
    /// Requests sent, requests that the server has received, and answers that the client has received.
    asked: usize,
    heard: usize,
    answered: usize,
}

impl Visit {
    fn requests(&self, upto: usize) -> u64 {
        self.exchanges[..upto].iter().map(|exchange| exchange.request).sum()
    }

    fn responses(&self, upto: usize) -> u64 {
        self.exchanges[..upto].iter().map(|exchange| exchange.response).sum()
    }
}

/// The token of the next connection; those of an end of a connection are twice the flow number, and one more for the
/// server.
const NEXT: u64 = u64::MAX;

impl Packmime {
    fn begin(&mut self, network: &mut Network) {
        let exchanges = self.model.connection();
        let connection = network.connect(self.group, self.client, self.number, true);
        network.write(connection, self.client, exchanges[0].request);
        self.open.insert(connection.flow(), Visit { connection, exchanges, asked: 1, heard: 0, answered: 0 });
        network.wake_at(network.now() + self.model.gap(), self.number, NEXT);
    }

    fn received(&mut self, connection: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        let flow = u64::from(connection.flow());
        let Some(visit) = self.open.get_mut(&connection.flow()) else { return };
        if at != self.client {
            if visit.heard < visit.asked && bytes >= visit.requests(visit.asked) {
                let delay = visit.exchanges[visit.heard].delay;
                visit.heard += 1;
                network.wake_at(network.now() + delay, self.number, 2 * flow + 1);
            }
        } else if visit.answered < visit.heard && bytes >= visit.responses(visit.heard) {
            visit.answered += 1;
            if let Some(next) = visit.exchanges.get(visit.answered) {
                network.wake_at(network.now() + next.gap, self.number, 2 * flow);
            } else {
                self.open.remove(&connection.flow());
                network.close(connection, at);
            }
        }
    }

    /// An end of a connection writes what it has waited for.
    fn write(&mut self, token: u64, network: &mut Network) {
        let Some(visit) = self.open.get_mut(&((token / 2) as u32)) else { return };
        if token.is_multiple_of(2) {
            network.write(visit.connection, self.client, visit.exchanges[visit.asked].request);
            visit.asked += 1;
        } else {
            let server = self.client.other();
            network.write(visit.connection, server, visit.exchanges[visit.heard - 1].response);
            if visit.heard == visit.exchanges.len() {
                network.close(visit.connection, server);
            }
        }
    }
}

impl Source for Packmime {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                let first = self.start + self.model.gap();
                network.wake_at(first, self.number, NEXT);
            }
            Event::Wake(NEXT) => self.begin(network),
            Event::Wake(token) => self.write(token, network),
            Event::Received { connection, at, bytes } => self.received(connection, at, bytes, network),
            _ => {}
        }
    }
}
