//! The packet log: one row for every packet that arrived at a link, in order of arrival.
//!
//! A row is settled once its packet has left the queue or been dropped. Settled rows can be taken out at the front
//! while the run goes on, so that a log of any length needs no more memory than the packets that wait.

use crate::engine::packet::Packet;
use crate::stats::table::table;
use sojourn_net::log::{DropCause, NOT_DROPPED};
use sojourn_net::{Packet as _, Time};

table! {
    /// The packet log of one link, or a part of it.
    Log of LogRow {
        /// The flow's number.
        flow: u32,
        /// Code of the [`Kind`](sojourn_net::log::Kind).
        kind: u8,
        /// Bytes at IP.
        size_bytes: u32,
        /// Arrival at the queue.
        arrive_ns: u64,
        /// Start of transmission; −1 if it was dropped or still waits at the end.
        depart_ns: i64,
        /// Code of the [`DropCause`], or [`NOT_DROPPED`].
        drop_cause: u8,
        /// Packets waiting when it arrived.
        backlog_pkts: u32,
        /// Bytes waiting when it arrived.
        backlog_bytes: u32,
        /// Sequence number.
        seq: u64,
        /// Number of the packet in the run, the same at every link that it crosses; 0 where there is one link each way.
        journey: u32,
    }
}

impl Log {
    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.flow.len() as u32
    }
}

/// The log while it is written.
#[derive(Default)]
pub(crate) struct LogRecord {
    /// Number of the first row that is still here: those before it have been taken out.
    pub(crate) first: u32,
    pub(crate) log: Log,
    /// Number in the run of the packet that arrives next.
    pub(super) journey: u32,
}

impl LogRecord {
    /// The number that the next row will have.
    pub(super) fn next(&self) -> u32 {
        self.first + self.log.rows()
    }

    /// Takes the settled rows at the front out, if there are at least `least` of them; and the number of the first.
    pub(crate) fn take_settled(&mut self, least: usize) -> Option<(u32, Log)> {
        let log = &mut self.log;
        if log.flow.len() < least {
            return None;
        }
        let waits = |(departed, cause): (&i64, &u8)| *departed < 0 && *cause == NOT_DROPPED;
        let settled = log.depart_ns.iter().zip(&log.drop_cause).position(waits).unwrap_or(log.flow.len());
        if settled < least {
            return None;
        }
        let first = self.first;
        self.first += settled as u32;
        Some((first, log.take_front(settled)))
    }

    pub(super) fn arrived(&mut self, now: Time, packet: &Packet, packets: u32, bytes: u64) {
        debug_assert_eq!(packet.id, self.next());
        self.log.push(LogRow {
            flow: packet.flow,
            kind: packet.kind() as u8,
            size_bytes: packet.size(),
            arrive_ns: now.0,
            depart_ns: -1,
            drop_cause: NOT_DROPPED,
            backlog_pkts: packets,
            backlog_bytes: bytes as u32,
            seq: packet.seq,
            journey: self.journey,
        });
    }

    pub(super) fn journey_of(&self, row: u32) -> u32 {
        self.log.journey[(row - self.first) as usize]
    }

    pub(super) fn departed(&mut self, now: Time, packet: &Packet) {
        self.log.depart_ns[(packet.id - self.first) as usize] = now.0 as i64;
    }

    pub(super) fn dropped(&mut self, packet: &Packet, cause: DropCause) {
        self.log.drop_cause[(packet.id - self.first) as usize] = cause as u8;
    }
}
