//! Chirps and heartbeats: an application that writes on one long connection by the clock.
//!
//! A chirp is a series of bursts of 1, 2, 4, … segments, one `gap` after another, again and again: it fills and
//! empties a queue over its whole range. A heartbeat is a small message at a steady pace: it samples what others fill.
//! Source: the test traffic of a study of passive measurement of queueing delay (bursts every 30 s that grow
//! exponentially; 64 bytes every 0.2 s). With `idle-restart`, TCP begins every chirp with the initial window.

use super::source::Source;
use crate::engine::{ConnectionId, End, Event, Network};
use sojourn_net::{Span, Time};

/// Bytes written by the clock.
pub struct Chirp {
    /// Number of this source.
    pub number: u32,
    /// Its hosts.
    pub group: u16,
    /// The end that sends.
    pub sender: End,
    /// Bytes of the first burst of a chirp.
    pub first: u64,
    /// Bursts of a chirp, each twice the one before.
    pub bursts: u32,
    /// Time between bursts.
    pub gap: Span,
    /// Time between the beginnings of chirps.
    pub every: Span,
    /// When it starts.
    pub start: Time,
    /// The connection, once open.
    pub connection: Option<ConnectionId>,
}

impl Source for Chirp {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => network.wake_at(self.start, self.number, 0),
            Event::Wake(burst) => {
                let connection = *self
                    .connection
                    .get_or_insert_with(|| network.connect(self.group, self.sender, self.number, false));
                network.write(connection, self.sender, self.first << burst);
                let next = burst + 1;
                let (pause, next) = if next < u64::from(self.bursts) {
                    (self.gap, next)
                } else {
                    (Span(self.every.0 - self.gap.0 * burst), 0)
                };
                network.wake_at(network.now() + pause, self.number, next);
            }
            _ => {}
        }
    }
}
