//! The rate of a link and what its queue held, by packets that stood in the queue one behind the other.
//!
//! A queue that is first in, first out does not empty between two packets if the second came before the first began to
//! leave. So long the link sent without a pause, and what left meanwhile over that time is its rate: packet pairs and
//! trains (S. Keshav, "A control-theoretic approach to flow control", SIGCOMM 1991; C. Dovrolis, P. Ramanathan,
//! D. Moore, "Packet-dispersion techniques and a capacity-estimation methodology", IEEE/ACM ToN 12(6), 2004), for
//! traffic that nobody sent to measure: that packets stood behind each other is told by their inferred waits. The rule
//! is sojourn's own.

use std::collections::BTreeMap;

/// Packets that are kept, 16 bytes each; of a longer capture its beginning tells.
const MOST: usize = 1 << 20;
/// Who waited for less may not have waited, ns: as much as inferred waits are off.
const LITTLE: i64 = 2_000_000;
/// So much later packets leave in another order, ns, and if more of so many do, each flow has a queue of its own.
const APART: i64 = 1_000_000;
const ONE_IN: u64 = 20;
/// What a link carries at most is what it does in nearly the busiest of pieces of this length, ns.
const RATE_BIN: i64 = 100_000_000;
/// A link that is as busy as this does not pause, but for so long, ns.
const BUSY: f64 = 0.9;
const MOMENT: f64 = 10e6;

/// What stood in the queue of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stood {
    /// Pairs of packets between which the link did not pause; the time between them, and the bytes that left meanwhile.
    pub pairs: u64,
    /// Nanoseconds.
    pub time_ns: u64,
    /// Bytes; of a direction away from the capture those that were lost are among them.
    pub bytes: u64,
    /// The longest wait that two packets in a row had.
    pub longest_ns: u64,
}

/// The packets that passed, with the time, the size, and the sides of their senders by each sign.
#[derive(Debug, Default)]
pub(super) struct Passed(Vec<(i64, u32, [bool; 2])>);

impl Passed {
    pub(super) fn add(&mut self, at: i64, size: u64, near: [bool; 2]) {
        if self.0.len() < MOST {
            self.0.push((at, size.min(u64::from(u32::MAX)) as u32, near));
        }
    }

    /// Of packets from hosts beside the capture (`ahead`: they were seen before they waited) or towards it. `told`:
    /// when packets were seen, in order, and what they waited; `sign`: the one that tells the sides apart.
    pub(super) fn stood(&self, told: impl Iterator<Item = (i64, i64)>, sign: usize, ahead: bool) -> Stood {
        let mut sizes: Vec<(i64, u64)> =
            self.0.iter().filter(|(.., near)| near[sign] == ahead).map(|of| (of.0, u64::from(of.1))).collect();
        sizes.sort_by_key(|(at, _)| *at);
        let mut sizes = sizes.into_iter().peekable();
        let mut bytes = 0;
        let mut before = |at: i64| {
            while let Some((_, size)) = sizes.next_if(|(time, _)| *time < at || (!ahead && *time == at)) {
                bytes += size;
            }
            bytes
        };
        let mut told = told.map(|(at, wait)| (at, wait, before(at)));
        let Some(mut last) = told.next() else { return Stood::default() };
        let kept_until = if self.0.len() < MOST { i64::MAX } else { self.0[MOST - 1].0 };
        let (mut found, mut disorder) = (Stood::default(), 0);
        for next in told {
            let ((first, one, sent), (second, other, then)) = (last, next);
            last = next;
            let apart = second.saturating_sub(first);
            // Seen as they leave, the second waited for longer than the first is gone; before, the first for longer.
            let waited = if ahead { one } else { other };
            if apart > waited {
                continue;
            }
            found.longest_ns = found.longest_ns.max(one.min(other).max(0) as u64);
            let took = if ahead { apart.saturating_add(other).saturating_sub(one) } else { apart };
            if waited < LITTLE || second > kept_until {
                continue;
            }
            disorder += u64::from(took < -APART);
            found.pairs += 1;
            found.time_ns = found.time_ns.saturating_add_signed(took);
            found.bytes += then - sent;
        }
        if disorder * ONE_IN > found.pairs { Stood { longest_ns: found.longest_ns, ..Stood::default() } } else { found }
    }
}

/// Bytes that came towards the capture, up to each time.
#[derive(Debug, Default)]
pub(super) struct Bytes(Vec<(i64, u64)>);

impl Bytes {
    /// What came after one time and up to another; `None` if that is beyond the packets that are kept.
    pub(super) fn between(&self, after: i64, until: i64) -> Option<u64> {
        let upto =
            |time: i64| self.0.partition_point(|(at, _)| *at <= time).checked_sub(1).map_or(0, |last| self.0[last].1);
        (self.0.last()?.0 >= until).then(|| upto(until) - upto(after))
    }
}

/// Since when a link towards the capture had not paused, at the times at which packets came.
#[derive(Debug, Default)]
pub(super) struct Busy(Vec<(i64, i64)>);

impl Busy {
    /// For how long it had not when a packet came `at`: no longer can that packet have stood in the queue.
    pub(super) fn before(&self, at: i64) -> i64 {
        let next = self.0.partition_point(|(time, _)| *time <= at);
        let last = next.checked_sub(1).and_then(|last| self.0.get(last));
        last.filter(|(time, _)| *time == at).map_or(0, |(time, since)| time.saturating_sub(*since))
    }
}

impl Passed {
    /// Bytes that came from hosts away from the capture, by the sign that tells the sides apart.
    pub(super) fn bytes(&self, sign: usize) -> Bytes {
        let mut came: Vec<(i64, u64)> =
            self.0.iter().filter(|(.., near)| !near[sign]).map(|of| (of.0, u64::from(of.1))).collect();
        came.sort_by_key(|(at, _)| *at);
        let mut sum = 0;
        came.iter_mut().for_each(|(_, bytes)| {
            sum += *bytes;
            *bytes = sum;
        });
        Bytes(came)
    }

    /// What came from hosts away from the capture, by the sign that tells the sides apart: a link does not pause while
    /// it carries nine tenths of what it carries at most, and a little less for a moment.
    pub(super) fn busy(&self, sign: usize) -> Busy {
        let mut came: Vec<(i64, f64)> =
            self.0.iter().filter(|(.., near)| !near[sign]).map(|of| (of.0, f64::from(of.1))).collect();
        came.sort_by_key(|(at, _)| *at);
        let mut bins: BTreeMap<i64, f64> = BTreeMap::new();
        came.iter().for_each(|(at, size)| *bins.entry(at.div_euclid(RATE_BIN)).or_default() += size);
        let mut bins: Vec<f64> = bins.into_values().collect();
        bins.sort_by(f64::total_cmp);
        let Some(most) = bins.get((bins.len() * 99 / 100).min(bins.len().saturating_sub(1))) else {
            return Busy::default();
        };
        let rate = most / RATE_BIN as f64;
        let (mut last, mut since, mut ahead) = (i64::MIN, i64::MIN, 0.0);
        let found = came.into_iter().map(|(at, size)| {
            ahead -= BUSY * rate * at.saturating_sub(last) as f64;
            if ahead < 0.0 {
                (since, ahead) = (at.saturating_sub((size / rate) as i64), 0.0);
            }
            (last, ahead) = (at, (ahead + size).min(rate * MOMENT));
            (at, since)
        });
        Busy(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A burst of ten packets of 1500 bytes every 100 ms at a link that takes 2 ms for one: when each came, and what it
    /// waited.
    fn bursts() -> Vec<(i64, i64)> {
        (0..200).map(|n| (n / 10 * 100 * MS + n % 10, n % 10 * 2 * MS)).collect()
    }

    fn passed(at: impl Iterator<Item = i64>, ahead: bool) -> Passed {
        let mut passed = Passed::default();
        at.for_each(|at| passed.add(at, 1500, [ahead; 2]));
        // What goes the other way is no part of it.
        (0..5).for_each(|n| passed.add(n * 300 * MS, 9000, [!ahead; 2]));
        passed
    }

    fn rate(stood: Stood) -> u64 {
        stood.bytes * 8_000_000_000 / stood.time_ns
    }

    #[test]
    fn who_stood_behind_another_left_at_the_rate_of_the_link() {
        let came = bursts();
        let left: Vec<_> = came.iter().map(|(at, wait)| (at + wait + 2 * MS, *wait)).collect();
        let ahead = passed(came.iter().map(|(at, _)| *at), true).stood(came.iter().copied(), 0, true);
        let behind = passed(left.iter().map(|(at, _)| *at), false).stood(left.iter().copied(), 1, false);
        for stood in [ahead, behind] {
            assert!((5_990_000..=6_010_000).contains(&rate(stood)), "{stood:?}");
            assert!(stood.time_ns >= 300 * MS as u64 && stood.longest_ns == 16 * MS as u64, "{stood:?}");
        }
    }

    #[test]
    fn bytes_between_two_times_are_those_that_came_towards_the_capture() {
        let bytes = passed((1..=5).map(|n| n * 10), false).bytes(0);
        let between = |after, until| bytes.between(after, until);
        assert_eq!([between(0, 50), between(10, 30), between(30, 30), between(-9, 9)], [7500, 3000, 0, 0].map(Some));
        assert_eq!(between(0, 51), None, "more may have come by then");
        assert_eq!(Passed::default().bytes(0).between(0, 10), None);
    }

    #[test]
    fn who_came_to_an_empty_queue_tells_nothing() {
        let apart: Vec<_> = (0..200).map(|n| (n * 20 * MS, 3 * MS)).collect();
        for ahead in [false, true] {
            assert_eq!(
                passed(apart.iter().map(|(at, _)| *at), ahead).stood(apart.iter().copied(), 0, ahead),
                Stood::default()
            );
        }
        // That close packets waited a little is within what waits are off.
        let close: Vec<_> = (0..200).map(|n| (n * MS, LITTLE - 1)).collect();
        let stood = passed(close.iter().map(|(at, _)| *at), true).stood(close.iter().copied(), 0, true);
        assert_eq!((stood.pairs, stood.longest_ns), (0, LITTLE as u64 - 1));
    }

    #[test]
    fn a_wait_that_no_other_packet_had_is_not_the_longest() {
        let mut came = bursts();
        came[57].1 += 40 * MS;
        came[140].1 += 40 * MS;
        let stood = passed(came.iter().map(|(at, _)| *at), true).stood(came.iter().copied(), 0, true);
        assert_eq!(stood.longest_ns, 16 * MS as u64);
    }

    #[test]
    fn where_packets_leave_in_another_order_each_flow_has_its_queue() {
        // Every second packet is of a flow that waits for nothing.
        let came: Vec<_> = bursts().into_iter().map(|(at, wait)| (at, wait * (at & 1))).collect();
        let stood = passed(came.iter().map(|(at, _)| *at), true).stood(came.iter().copied(), 0, true);
        assert_eq!((stood.pairs, stood.time_ns, stood.bytes), (0, 0, 0));
    }

    /// What comes over a link of 1 ms a packet: when, and for how long the link had been busy.
    fn busy(came: &[i64]) -> Vec<(i64, i64)> {
        let mut passed = passed(came.iter().map(|at| at * MS), false);
        // What goes the other way at the same times is no part of it.
        came.iter().for_each(|at| passed.add(at * MS, 60, [true; 2]));
        let busy = passed.busy(0);
        came.iter().map(|at| (*at, busy.before(at * MS) / MS)).collect()
    }

    #[test]
    fn a_link_is_busy_since_it_last_paused() {
        // A second without a pause tells what it carries; then single packets, and ten in a row.
        let full: Vec<i64> = (0..1000).collect();
        let came = [&full[..], &[1200, 1300, 1400, 1401, 1402, 1403, 1404, 1405, 1406, 1407]].concat();
        let found = busy(&came);
        assert_eq!([found[0], found[500], found[999]], [(0, 1), (500, 501), (999, 1000)]);
        assert_eq!([found[1000], found[1001], found[1002]], [(1200, 1), (1300, 1), (1400, 1)]);
        assert_eq!(found.last(), Some(&(1407, 8)));
    }

    #[test]
    fn a_moment_is_no_pause_for_a_link_that_was_busy_for_long() {
        let mut came: Vec<i64> = (0..1000).collect();
        came.extend((0..200).map(|at| 1005 + at));
        assert_eq!(busy(&came).last(), Some(&(1204, 1205)), "5 ms");
        came.truncate(1000);
        came.extend((0..200).map(|at| 1015 + at));
        assert_eq!(busy(&came).last(), Some(&(1214, 200)), "15 ms");
    }

    #[test]
    fn of_what_was_not_seen_and_of_no_packet_at_all_no_link_is_known_to_be_busy() {
        assert_eq!(Passed::default().busy(1).before(5), 0);
        let passed = passed((0..100).map(|at| at * MS), false);
        assert_eq!([50 * MS, 50 * MS + 1].map(|at| passed.busy(0).before(at)), [51 * MS, 0]);
    }
}
