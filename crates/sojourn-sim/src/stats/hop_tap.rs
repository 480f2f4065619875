//! A tap at a router: every packet that a capture at a hop's end towards the clients would show.
//!
//! Packets up are seen when their last bit has left the hop's link, those down when they have come through the hop.
//! Both have gone through the hop's queue then. Times are those of the routers' clocks, which all agree.

use super::host_tap::Captured;
use crate::engine::direction::Direction;
use crate::engine::packet::{Body, Packet};
use sojourn_net::tcp::Sack;
use sojourn_net::{Span, Time};

/// What was seen at a hop since it was last emptied.
pub(crate) struct HopTap {
    pub(crate) hop: usize,
    delay: Span,
    seen: Vec<Captured>,
    /// For each flow number of a connection, its place among the scenario's groups.
    origins: Vec<u16>,
}

impl HopTap {
    /// A tap at the hop in this place, which has this delay.
    pub(crate) fn new(hop: usize, delay: Span) -> Self {
        Self { hop, delay, seen: Vec::new(), origins: Vec::new() }
    }

    /// A connection of a group was opened.
    pub(crate) fn opened(&mut self, flow: u32, origin: u16) {
        let flow = flow as usize;
        if flow >= self.origins.len() {
            self.origins.resize(flow + 1, 0);
        }
        self.origins[flow] = origin;
    }

    /// The transmission of a packet ends at `end`.
    pub(crate) fn pass(&mut self, end: Time, direction: Direction, link: u16, packet: &Packet, sack: Sack) {
        let at = if direction == Direction::Up { end } else { end + self.delay };
        let group = match packet.body() {
            Body::Segment { .. } => self.origins.get(packet.flow as usize).copied().unwrap_or(0),
            // The number of the hosts; the network knows whose they are.
            Body::Datagram { group, .. } => group,
        };
        self.seen.push(Captured { at, direction, group, link, packet: packet.clone(), sack });
    }

    /// Takes out what was seen up to `now`, in order.
    pub(crate) fn take(&mut self, now: Time) -> Vec<Captured> {
        self.seen.sort_by_key(|seen| seen.at);
        let later = self.seen.partition_point(|seen| seen.at <= now);
        let rest = self.seen.split_off(later);
        std::mem::replace(&mut self.seen, rest)
    }
}
