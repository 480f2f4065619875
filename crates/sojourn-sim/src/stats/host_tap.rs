//! A tap at the hosts: every packet that reaches or leaves one side of the dumbbell, as a capture there would show it.
//!
//! Times are by the clocks of the hosts on that side, which are shifted by their distance from the bottleneck (see
//! [`crate::engine::bottleneck`]): the same for all packets of a host.

use crate::engine::direction::{Direction, End};
use crate::engine::packet::Packet;
use sojourn_net::Time;
use sojourn_net::tcp::Sack;

/// A packet seen at a host.
#[derive(Clone, Debug)]
pub struct Captured {
    /// When.
    pub at: Time,
    /// Where it goes.
    pub direction: Direction,
    /// Group of hosts: first those of the scenario's flows, in order, then those of its users.
    pub group: u16,
    /// Code of the link whose packet log its row is of; of a packet that a host sends, the first that it will cross.
    pub link: u16,
    /// Its headers.
    pub packet: Packet,
    /// Its SACK blocks.
    pub sack: Sack,
}

/// What was seen since it was last emptied.
pub(crate) struct HostTap {
    end: End,
    pub(crate) seen: Vec<Captured>,
}

impl HostTap {
    pub(crate) fn new(end: End) -> Self {
        Self { end, seen: Vec::new() }
    }

    /// A packet is at one end of its way.
    #[inline]
    pub(crate) fn pass(&mut self, end: End, seen: Captured) {
        if end == self.end {
            self.seen.push(seen);
        }
    }
}
