//! A bulk transfer: as much as TCP lets through, endless, of a given size, or until a given time.
//!
//! Source: the greedy sender of the literature, ns-2's `FTP`. Difference: connection set-up is part of the transfer,
//! and one of a given size closes at both ends; one that is stopped ends at both ends at once, and what is on its way
//! arrives nowhere.

use super::source::Source;
use crate::engine::{ConnectionId, End, Event, Network};
use sojourn_net::Time;

/// One bulk flow. The sending end opens the connection.
pub struct Bulk {
    /// Number of this source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// The end that sends.
    pub sender: End,
    /// Bytes to send; endless if `None`.
    pub size: Option<u64>,
    /// When it starts.
    pub start: Time,
    /// When it is cut off, if it is.
    pub stop: Option<Time>,
    /// Its connection, once started.
    pub connection: Option<ConnectionId>,
}

/// Tokens of its wake-ups.
const BEGIN: u64 = 0;
const STOP: u64 = 1;

impl Source for Bulk {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => network.wake_at(self.start, self.number, BEGIN),
            Event::Wake(STOP) => {
                if let Some(connection) = self.connection {
                    network.abort(connection);
                }
            }
            Event::Wake(_) => {
                let connection = network.connect(self.group, self.sender, self.number, false);
                network.write(connection, self.sender, self.size.unwrap_or(u64::MAX));
                if self.size.is_some() {
                    network.close(connection, self.sender);
                    network.close(connection, self.sender.other());
                }
                self.connection = Some(connection);
                if let Some(stop) = self.stop {
                    network.wake_at(stop, self.number, STOP);
                }
            }
            _ => {}
        }
    }
}
