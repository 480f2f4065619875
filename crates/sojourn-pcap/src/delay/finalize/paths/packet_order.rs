//! What the order of packets tells of two paths that share their queues.
//!
//! A queue that is first in, first out keeps the order of its packets. Where the path of one host to the place where
//! queues are shared is longer than another's, its packets reach them so much later, and their answers come back later
//! by all that the path is longer, there and back. Each of its packets then lies between two others that reached the
//! queues just before it and after it. Of a length that is not its path's, many do not.

use crate::delay::finalize::base_delay::comparison::{TOLERANCE, within};

/// Comparisons without which nothing is told, and those that are made.
const FEWEST: usize = 8;
const MOST: usize = 512;
/// Packets that reached the queues further apart bound nothing, ns.
const APART: i64 = 150_000_000;
/// Of what a path is longer by, what may be on the way to the remote host: half of it, unless another fits better.
const SHARES: [f64; 3] = [0.5, 0.0, 1.0];
/// Steps to a length by which packets lie as it says itself.
const STEPS: usize = 5;

/// When a packet was sent to a remote host, and when its answer came.
pub(super) type Round = (i64, i64);

/// Packets of one host among those of others, by when they were sent.
pub(super) struct Order<'a> {
    pub(super) known: &'a [Round],
    pub(super) of: &'a [Round],
}

/// What is found of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// It is longer than the others' by so much, ns, part of it on the way there.
    Longer { by: f64, there: f64 },
    /// Most packets deny that it is as long, and no length fits: queues are not shared, or keep no order.
    Nothing,
    /// Too few packets tell, or several lengths fit.
    Open,
}

impl Order<'_> {
    /// What the path is longer by, whose shortest round trip is so much `over` that of the others.
    pub(super) fn longer(&self, over: f64) -> Found {
        let same = self.bounds(0.0);
        if same.len() < FEWEST {
            return Found::Open;
        }
        if fits(&same, 0.0) {
            let longer = SHARES.iter().any(|share| fits(&self.bounds(over * share), over));
            return if longer { Found::Open } else { Found::Longer { by: 0.0, there: 0.0 } };
        }
        let denied = 2 * off(&same, 0.0) > same.len();
        let none = if denied { Found::Nothing } else { Found::Open };
        let found = SHARES.iter().filter_map(|&share| self.with(over, share));
        found.min_by_key(|(off, _)| *off).map_or(none, |(_, found)| found)
    }

    /// The same if that share of it is on the way there, and how many bounds do not hold then. That its shortest round
    /// trip met empty queues is preferred.
    fn with(&self, over: f64, share: f64) -> Option<(usize, Found)> {
        let own = self.bounds(over * share);
        if fits(&own, over) {
            return Some((off(&own, over), Found::Longer { by: over, there: over * share }));
        }
        let mut by = over;
        for _ in 0..STEPS {
            let (low, high) = between(&self.bounds(by * share))?;
            by = (low + high) / 2.0;
        }
        let bounds = self.bounds(by * share);
        let (low, _) = between(&bounds)?;
        // The others' shortest round trip met a queue then: by no more than is certain.
        let least = if by > over { low.clamp(over, by) } else { by };
        let found = (off(&bounds, by), Found::Longer { by: least, there: by * share });
        (by > 0.0 && fits(&bounds, by)).then_some(found)
    }

    /// What its answers come later by, at least and at most, than those of packets that reached the queues just before
    /// and just after, if its own reach them so much later than they would from there.
    fn bounds(&self, there: f64) -> Vec<[f64; 2]> {
        let there = there as i64;
        let bound = |&(sent, back): &Round| {
            let after = self.known.partition_point(|(time, _)| *time < sent + there);
            let (first, last) = (self.known.get(after.checked_sub(1)?)?, self.known.get(after)?);
            let near = last.0 - first.0 <= APART;
            near.then_some([last, first].map(|(_, theirs)| (back + there - theirs) as f64))
        };
        self.of.iter().step_by(self.of.len().div_ceil(MOST).max(1)).filter_map(bound).collect()
    }
}

/// How many bounds do not hold.
fn off(bounds: &[[f64; 2]], longer: f64) -> usize {
    bounds.iter().filter(|[low, high]| *low > longer + TOLERANCE || *high < longer - TOLERANCE).count()
}

/// Whether nearly all do.
fn fits(bounds: &[[f64; 2]], longer: f64) -> bool {
    bounds.len() >= FEWEST && off(bounds, longer) * 10 <= bounds.len()
}

/// What lies within most bounds, or where half of them end if none does.
fn between(bounds: &[[f64; 2]]) -> Option<(f64, f64)> {
    let middle = |side: usize| {
        let mut all: Vec<f64> = bounds.iter().map(|bound| bound[side]).collect();
        let half = all.len() / 2;
        (half < all.len()).then(|| *all.select_nth_unstable_by(half, f64::total_cmp).1)
    };
    within(bounds).or_else(|| middle(0).zip(middle(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// What was in the queue at a time, ns: it rises by 40 ms in 400 ms, from so many ms on, and falls.
    fn queue(at: i64, least: i64) -> i64 {
        least * MS + at.rem_euclid(400 * MS) / 10
    }

    /// Packets of a host, one in so many ms, whose path is longer by so many ms there and back.
    fn rounds(every: i64, [there, back]: [i64; 2], least: i64) -> Vec<Round> {
        let sent = (0..20_000 / every).map(|i| i * every * MS);
        sent.map(|sent| {
            let reached = sent + there * MS;
            (sent, reached + 20 * MS + queue(reached, least) + back * MS)
        })
        .collect()
    }

    fn longer(known: &[Round], of: &[Round], over: i64) -> Found {
        Order { known, of }.longer((over * MS) as f64)
    }

    #[test]
    fn packets_lie_between_others_by_what_their_path_is_longer() {
        let known = rounds(5, [0, 0], 0);
        for (there, back) in [(15, 15), (0, 30), (30, 0), (2, 2), (60, 60)] {
            // It met the queue empty, or 25 ms of it at the least.
            for met in [0, 25] {
                let all = there + back;
                let found = longer(&known, &rounds(70, [there, back], 0), all + met);
                let Found::Longer { by, .. } = found else { panic!("{there} {back} {met} {found:?}") };
                assert!((by / 1e6 - all as f64).abs() < 3.0, "{there} {back} {met} {by}");
            }
        }
    }

    #[test]
    fn the_shortest_of_all_met_a_queue_if_what_is_longer_exceeds_its_own_shortest() {
        // The others never met the queue empty: this one's shortest round trip is over theirs by 20 ms less.
        let found = longer(&rounds(5, [0, 0], 0), &rounds(70, [25, 25], 0), 30);
        let Found::Longer { by, .. } = found else { panic!("{found:?}") };
        assert!((44e6..=50.5e6).contains(&by), "no more than is certain: {by}");
    }

    #[test]
    fn on_the_same_path_a_host_that_never_met_an_empty_queue_waited() {
        let known = rounds(5, [0, 0], 30);
        assert_eq!(longer(&known, &rounds(70, [0, 0], 30), 30), Found::Longer { by: 0.0, there: 0.0 });
    }

    #[test]
    fn a_few_packets_or_such_as_are_far_from_others_tell_nothing() {
        let (known, of) = (rounds(5, [0, 0], 0), rounds(70, [15, 15], 0));
        assert_eq!(longer(&known, &of[1..FEWEST], 30), Found::Open);
        assert!(matches!(longer(&known, &of[1..=FEWEST], 30), Found::Longer { .. }));
        let (seldom, near) = (rounds(130, [0, 0], 0), rounds(70, [4, 4], 0));
        assert_eq!(longer(&seldom, &near, 8), Found::Open, "on either path they lie between those");
        assert_eq!(longer(&rounds(200, [0, 0], 0), &of, 30), Found::Open);
    }

    #[test]
    fn packets_that_lie_between_others_by_no_length_have_queues_of_their_own() {
        let other: Vec<Round> = rounds(70, [15, 15], 0)
            .into_iter()
            .map(|(sent, back)| (sent, back - queue(sent, 0) + queue(sent * 3 + 130 * MS, 0)))
            .collect();
        assert_eq!(longer(&rounds(5, [0, 0], 0), &other, 30), Found::Nothing);
        // Unless most lie as on the same path.
        let (mut same, disturbed) = (rounds(70, [0, 0], 0), rounds(70, [15, 15], 0));
        let apart = same.iter_mut().zip(disturbed).enumerate().filter(|(i, _)| i % 3 == 0);
        apart.for_each(|(_, (round, other))| *round = other);
        assert_eq!(longer(&rounds(5, [0, 0], 0), &same, 30), Found::Open);
    }
}
