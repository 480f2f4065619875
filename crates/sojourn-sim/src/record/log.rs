//! The packet log: one row for every packet that arrived at a link, in order of arrival, in columns.
//!
//! A row is settled once its packet has left the queue or been dropped. Settled rows can be taken out at the front while the run goes on,
//! so that a log of any length needs no more memory than the packets that wait.

use crate::packet::Packet;
use sojourn_net::log::{DropCause, NOT_DROPPED};
use sojourn_net::{Packet as _, Time};

/// Columns of the packet log of one link. All have the same length.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Number of the first row: so many have been taken out before.
    pub first: u32,
    /// The flow's number.
    pub flow: Vec<u32>,
    /// Code of the [`sojourn_net::log::Kind`].
    pub kind: Vec<u8>,
    /// Bytes at IP.
    pub size_bytes: Vec<u32>,
    /// Arrival at the queue.
    pub arrive_ns: Vec<u64>,
    /// Start of transmission; −1 if it was dropped or still waits at the end.
    pub depart_ns: Vec<i64>,
    /// Code of the [`DropCause`], or [`NOT_DROPPED`].
    pub drop_cause: Vec<u8>,
    /// Packets waiting when it arrived.
    pub backlog_pkts: Vec<u32>,
    /// Bytes waiting when it arrived.
    pub backlog_bytes: Vec<u32>,
    /// Sequence number.
    pub seq: Vec<u64>,
}

impl Log {
    /// Number of rows.
    pub fn rows(&self) -> u32 {
        self.flow.len() as u32
    }

    /// The number that the next row will have.
    pub(super) fn next(&self) -> u32 {
        self.first + self.rows()
    }

    /// Takes the settled rows at the front out, if there are at least `least` of them.
    pub(crate) fn take_settled(&mut self, least: usize) -> Option<Self> {
        if self.flow.len() < least {
            return None;
        }
        let waits = |row: &(&i64, &u8)| *row.0 < 0 && *row.1 == NOT_DROPPED;
        let settled = self.depart_ns.iter().zip(&self.drop_cause).position(|row| waits(&row));
        let settled = settled.unwrap_or(self.flow.len());
        (settled >= least).then(|| self.take(settled))
    }

    fn take(&mut self, rows: usize) -> Self {
        let first = self.first;
        self.first += rows as u32;
        Self {
            first,
            flow: front(&mut self.flow, rows),
            kind: front(&mut self.kind, rows),
            size_bytes: front(&mut self.size_bytes, rows),
            arrive_ns: front(&mut self.arrive_ns, rows),
            depart_ns: front(&mut self.depart_ns, rows),
            drop_cause: front(&mut self.drop_cause, rows),
            backlog_pkts: front(&mut self.backlog_pkts, rows),
            backlog_bytes: front(&mut self.backlog_bytes, rows),
            seq: front(&mut self.seq, rows),
        }
    }

    /// Puts the rows of another log behind these.
    pub fn append(&mut self, mut other: Self) {
        self.flow.append(&mut other.flow);
        self.kind.append(&mut other.kind);
        self.size_bytes.append(&mut other.size_bytes);
        self.arrive_ns.append(&mut other.arrive_ns);
        self.depart_ns.append(&mut other.depart_ns);
        self.drop_cause.append(&mut other.drop_cause);
        self.backlog_pkts.append(&mut other.backlog_pkts);
        self.backlog_bytes.append(&mut other.backlog_bytes);
        self.seq.append(&mut other.seq);
    }

    pub(super) fn arrived(&mut self, now: Time, packet: &Packet, packets: u32, bytes: u64) {
        debug_assert_eq!(packet.id, self.next());
        self.flow.push(packet.flow);
        self.kind.push(packet.kind() as u8);
        self.size_bytes.push(packet.size());
        self.arrive_ns.push(now.0);
        self.depart_ns.push(-1);
        self.drop_cause.push(NOT_DROPPED);
        self.backlog_pkts.push(packets);
        self.backlog_bytes.push(bytes as u32);
        self.seq.push(packet.seq);
    }

    pub(super) fn departed(&mut self, now: Time, packet: &Packet) {
        self.depart_ns[(packet.id - self.first) as usize] = now.0 as i64;
    }

    pub(super) fn dropped(&mut self, packet: &Packet, cause: DropCause) {
        self.drop_cause[(packet.id - self.first) as usize] = cause as u8;
    }
}

/// Takes the first `rows` values out of a column.
fn front<T: Clone>(column: &mut Vec<T>, rows: usize) -> Vec<T> {
    let mut taken = Vec::with_capacity(column.capacity());
    taken.extend_from_slice(&column[rows..]);
    column.truncate(rows);
    std::mem::replace(column, taken)
}
