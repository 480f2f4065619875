//! One flow through the queue: what of its sequence space has left the queue, and which packets nobody has decided on.
//!
//! A segment that is missing behind the queue was lost, unless its receiver acknowledges bytes that no copy has
//! brought: then it did pass, and the capture behind the queue has missed it.

use super::parse_frame::{Seen, Tuple};
use std::collections::{BTreeMap, VecDeque};

/// Pending packets of one flow that are looked at when an acknowledgement comes.
const MOST_PENDING: usize = 1 << 12;

/// Of them those of which another may be a part.
const LATEST: usize = 1 << 8;

/// A flow and its counts.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) tuple: Tuple,
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) bytes: u64,
    pub(super) lost_bytes: u64,
    /// Row after the last one that was found behind the queue.
    pub(super) next_row: u64,
    /// The least time from in front of the queue to behind it that a packet took, ns.
    pub(super) shortest: Option<i64>,
    /// Undecided rows with payload: row, sequence range.
    pending: VecDeque<(u64, i64, i64)>,
    /// Ranges that have left the queue beyond what is acknowledged.
    delivered: BTreeMap<i64, i64>,
    acknowledged: i64,
    /// The sequence number seen last, unwrapped.
    last: Option<i64>,
}

impl Flow {
    pub(super) fn new(tuple: Tuple) -> Self {
        Self { tuple, acknowledged: i64::MIN, ..Self::default() }
    }

    /// A sequence number without wrap-around, near the one seen before.
    fn unwrapped(&mut self, seq: u32) -> i64 {
        let near = self.last.unwrap_or(i64::from(seq));
        let unwrapped = near + i64::from(seq.wrapping_sub(near as u32) as i32);
        self.last = Some(unwrapped);
        unwrapped
    }

    fn range(&mut self, seen: &Seen) -> (i64, i64) {
        let start = self.unwrapped(seen.seq);
        (start, start + i64::from(seen.length))
    }

    /// A packet came to the queue in row `row`.
    pub(super) fn arrived(&mut self, row: u64, seen: &Seen) {
        if seen.length == 0 {
            return;
        }
        let (start, end) = self.range(seen);
        // What was acknowledged before is no news, whatever becomes of this copy.
        if end > self.acknowledged {
            if self.pending.len() == MOST_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back((row, start, end));
        }
    }

    /// Whether a segment is a part of a longer one that came to the queue, or holds shorter ones that did: a host hands
    /// over several at once to its network card (TSO), or joins those that come together (GRO).
    pub(super) fn is_cut_otherwise(&mut self, seen: &Seen) -> bool {
        if seen.length == 0 {
            return false;
        }
        let (start, end) = self.range(seen);
        self.pending.iter().rev().take(LATEST).any(|&(_, from, to)| {
            (from, to) != (start, end) && (from <= start && end <= to || start <= from && to <= end)
        })
    }

    /// A packet left the queue.
    pub(super) fn left(&mut self, seen: &Seen) {
        if seen.length == 0 {
            return;
        }
        let (mut start, mut end) = self.range(seen);
        if end <= self.acknowledged {
            return;
        }
        while let Some((&from, &to)) = self.delivered.range(..=end).next_back().filter(|(_, to)| **to >= start) {
            self.delivered.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.delivered.insert(start, end);
    }

    /// The receiver acknowledged all before `ack`. Returns the rows of packets that it must have got although nobody
    /// saw them.
    pub(super) fn acknowledged(&mut self, ack: u32, is_open: impl Fn(u64) -> bool) -> Vec<u64> {
        let Some(last) = self.last else { return Vec::new() };
        let ack = last + i64::from(ack.wrapping_sub(last as u32) as i32);
        if ack <= self.acknowledged {
            return Vec::new();
        }
        self.acknowledged = ack;
        let delivered = &self.delivered;
        // Of several copies that nobody saw, the last is the one that passed: it was sent because the others did not.
        let mut unseen: BTreeMap<(i64, i64), u64> = BTreeMap::new();
        self.pending.retain(|&(row, start, end)| {
            let open = is_open(row);
            if open && end <= ack && delivered.range(..=start).next_back().is_none_or(|(_, to)| *to < end) {
                unseen.insert((start, end), row);
            }
            open && end > ack
        });
        while let Some(first) = self.delivered.first_entry().filter(|range| *range.get() <= ack) {
            first.remove();
        }
        unseen.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use sojourn_net::log::Kind;

    fn tuple() -> Tuple {
        Tuple { source: Address(1), destination: Address(2), ports: (1, 2), protocol: 6 }
    }

    fn data(seq: u32) -> Seen {
        let (time_ns, size, ttl, identity) = (0, 140, 64, 0);
        Seen {
            time_ns,
            tuple: tuple(),
            size,
            ttl,
            kind: Kind::Data,
            seq,
            length: 100,
            ack: None,
            identity,
            cut_at: None,
        }
    }

    #[test]
    fn what_is_acknowledged_though_no_copy_left_was_not_captured() {
        let mut flow = Flow::new(tuple());
        for (row, seq) in [(0, 1000), (1, 1100), (2, 1200)] {
            flow.arrived(row, &data(seq));
        }
        flow.left(&data(1000));
        flow.left(&data(1200));
        assert!(flow.acknowledged(1100, |row| row == 1).is_empty());
        assert_eq!(flow.acknowledged(1300, |row| row == 1), [1]);
    }

    #[test]
    fn a_copy_that_left_explains_the_acknowledgement() {
        let mut flow = Flow::new(tuple());
        flow.arrived(0, &data(1000));
        flow.arrived(1, &data(1100));
        flow.left(&data(1100));
        flow.arrived(2, &data(1000));
        flow.left(&data(1000));
        assert!(flow.acknowledged(1200, |row| row == 0).is_empty(), "row 0 was lost, row 2 repaired it");
    }

    #[test]
    fn of_two_copies_that_nobody_saw_the_repair_is_the_one_that_passed() {
        let mut flow = Flow::new(tuple());
        flow.arrived(0, &data(1000));
        flow.arrived(1, &data(1000));
        assert_eq!(flow.acknowledged(1100, |_| true), [1]);
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut flow = Flow::new(tuple());
        let last = u32::MAX - 49;
        flow.arrived(0, &data(last));
        flow.left(&data(last));
        flow.arrived(1, &data(50));
        assert!(flow.acknowledged(50, |row| row == 1).is_empty());
        assert_eq!(flow.acknowledged(150, |row| row == 1), [1]);
    }

    #[test]
    fn part_of_a_segment_that_left_does_not_explain_the_acknowledgement_of_all() {
        let mut flow = Flow::new(tuple());
        flow.arrived(0, &Seen { length: 200, ..data(1000) });
        flow.left(&data(1000));
        assert_eq!(flow.acknowledged(1200, |_| true), [0]);
        flow.arrived(1, &data(1250));
        flow.left(&Seen { length: 200, ..data(1200) });
        assert!(flow.acknowledged(1400, |_| true).is_empty(), "the whole of it left, in a longer one");
    }
}
