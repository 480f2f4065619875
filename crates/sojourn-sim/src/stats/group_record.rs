//! What the hosts of one group did: their connections, the packets that they sent, the round trips that they measured.

use super::histogram::Histogram;
use crate::engine::connection::FlowTotals;
use sojourn_net::{Span, Time};

/// The record of one group of hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupRecord {
    /// Packets sent since the last reset, by direction.
    pub(crate) sent: [u64; 2],
    /// Round-trip times measured since then, at both ends.
    pub(crate) rtt: Histogram,
    /// Counts of the connections that have ended, from the beginning of the run.
    ended: FlowTotals,
    open: u32,
    open_changed: Time,
}

impl GroupRecord {
    /// The measured period starts: forgets packets and round trips.
    pub(crate) fn reset(&mut self) {
        self.sent = [0; 2];
        self.rtt = Histogram::default();
    }

    /// A round trip was measured, or none with a time of zero.
    #[inline]
    pub(crate) fn measured(&mut self, rtt: Span) {
        if rtt > Span::ZERO {
            self.rtt.add(rtt.0);
        }
    }

    /// A connection was opened.
    pub(crate) fn opened(&mut self, now: Time) {
        self.count_open(now);
        self.open += 1;
    }

    /// A connection has ended, having done `counts`.
    pub(crate) fn ended(&mut self, now: Time, counts: &FlowTotals) {
        self.count_open(now);
        self.open -= 1;
        self.ended.add(counts);
        self.ended.completed += 1;
    }

    fn count_open(&mut self, now: Time) {
        self.ended.open += u128::from(self.open) * u128::from(now.since(self.open_changed).0);
        self.open_changed = now;
    }

    /// Counts of the connections that have ended, and the time of those that are open, up to `now`.
    pub(crate) fn totals(&self, now: Time) -> FlowTotals {
        let open = u128::from(self.open) * u128::from(now.since(self.open_changed).0);
        FlowTotals { open: self.ended.open + open, ..self.ended }
    }
}
