//! Connections: two endpoints each, in places that are used again.

use crate::engine::bottleneck::Entry;
use sojourn_net::tcp::Endpoint;
use sojourn_net::{Span, Time};
use std::ops::Range;

/// A connection, by place and flow number: a place is used again, a number never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId {
    pub(crate) slot: u32,
    pub(crate) flow: u32,
}

impl ConnectionId {
    /// The flow's number, unique in the run.
    pub fn flow(self) -> u32 {
        self.flow
    }
}

/// Two endpoints and what the network keeps of them, which lies before them, where every packet finds it together.
#[repr(C)]
pub(crate) struct Connection {
    /// Zero if the place is free.
    pub(crate) flow: u32,
    pub(crate) group: u16,
    /// Its group counts in the summary of flows.
    pub(crate) background: bool,
    pub(crate) closing: bool,
    /// Its segments have timestamps.
    pub(crate) timestamps: bool,
    /// The source is told of what happens.
    pub(crate) told: bool,
    /// The source that opened it.
    pub(crate) owner: u32,
    /// By direction, the route of its packets and where these enter the path: its group's.
    pub(crate) routes: [(u16, Entry); 2],
    /// When the pending entry of each end's retransmission timer is due.
    pub(crate) armed: [Time; 2],
    pub(crate) ack_armed: [bool; 2],
    /// The same of pacing.
    pub(crate) send_armed: [Time; 2],
    pub(crate) ends: [Endpoint; 2],
}

/// Counts over background connections, those that have ended included.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowTotals {
    /// Connections that have ended.
    pub completed: u64,
    /// Payload bytes delivered in order.
    pub delivered: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Time for which nothing had been sent when it expired.
    pub waited: Span,
    /// Connections open × nanoseconds.
    pub open: u128,
}

impl FlowTotals {
    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.delivered += other.delivered;
        self.retransmits += other.retransmits;
        self.timeouts += other.timeouts;
        self.waited = self.waited + other.waited;
        self.open += other.open;
    }

    /// Adds what a connection has done.
    pub(crate) fn add_connection(&mut self, ends: &[Endpoint; 2]) {
        self.delivered += delivered(ends);
        for end in ends {
            let statistics = end.sender().statistics();
            self.retransmits += statistics.retransmits;
            self.timeouts += statistics.timeouts;
            self.waited = self.waited + statistics.waited;
        }
    }
}

/// Payload bytes that a connection has delivered in order, both ways.
pub(crate) fn delivered(ends: &[Endpoint; 2]) -> u64 {
    ends.iter().map(|end| end.receiver().delivered()).sum()
}

/// Counts from the beginning of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Background connections by group of hosts.
    pub(crate) groups: Vec<FlowTotals>,
    /// Payload bytes that have arrived of each source.
    pub(crate) delivered: Vec<u64>,
}

impl Totals {
    /// All background connections.
    pub(crate) fn flows(&self) -> FlowTotals {
        self.of_groups(0..self.groups.len())
    }

    /// The background connections of some groups of hosts.
    pub(crate) fn of_groups(&self, groups: Range<usize>) -> FlowTotals {
        self.groups[groups].iter().fold(FlowTotals::default(), |mut sum, group| {
            sum.add(group);
            sum
        })
    }
}
