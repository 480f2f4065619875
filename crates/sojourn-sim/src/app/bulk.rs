//! A bulk transfer: as much as TCP lets through, endless or of a given size.
//!
//! Source: the greedy sender of the literature, ns-2's `FTP`. Difference: connection set-up is part of the transfer,
//! and one of a given size closes at both ends.

use super::source::Source;
use crate::engine::{End, Event, Network};
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
}

impl Source for Bulk {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => network.wake_at(self.start, self.number, 0),
            Event::Wake(_) => {
                let connection = network.connect(self.group, self.sender, self.number, false);
                network.write(connection, self.sender, self.size.unwrap_or(u64::MAX));
                if self.size.is_some() {
                    network.close(connection, self.sender);
                    network.close(connection, self.sender.other());
                }
            }
            _ => {}
        }
    }
}
