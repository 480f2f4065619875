//! A queue that the packets of several hosts share, and what it tells of those that never met it empty.
//!
//! Who first sends when a queue is filled has a base that holds a part of it, and its packets seem to wait for so much
//! less. But packets that pass a queue one right after the other wait for the same time. Where what a host's packets
//! wait differs by a constant from what packets beside them do whose base is known, while that rises and falls, they
//! share a queue, and the constant is what the base holds of it. They share its link, too: what a long packet takes on
//! it.

use crate::delay::host::Transmission;

/// When packets were seen, and what they waited, ns.
pub(super) type Told = Vec<(i64, i64)>;

/// Packets beside others without which nothing is a constant.
const LEAST: usize = 50;
/// Of a hundred waits or differences, in order, most lie between the tenth and the ninetieth.
const OUTER: usize = 10;
/// What is known rises and falls by so many times more than what is to be constant.
const STEADY: i64 = 2;

/// What is told of a host's packets of one direction: of those that met, or did not meet, an empty queue; what the
/// transmission of long ones takes.
#[derive(Debug)]
pub(super) struct Way<'a> {
    pub(super) known: Told,
    pub(super) lacking: Told,
    pub(super) own: &'a mut Transmission,
}

impl Way<'_> {
    /// All that is told.
    pub(super) fn told(self) -> Told {
        let mut told = self.known;
        told.extend(self.lacking);
        told.sort_unstable();
        told
    }
}

/// Raise what lacks something of those that share a queue with others of which all is known; then it is known too.
/// `ahead`: packets were seen before they waited.
pub(super) fn settle(ways: &mut [Way<'_>], ahead: bool) {
    let mut known = Told::new();
    let mut links: Vec<Transmission> = ways.iter().map(|way| *way.own).filter(Transmission::known).collect();
    links.sort_unstable_by(|a, b| a.ns_per_byte.total_cmp(&b.ns_per_byte));
    let link = links.get(links.len() / 2).copied();
    let mut open: Vec<&mut Way<'_>> = Vec::new();
    for way in ways {
        way.known.sort_unstable();
        way.lacking.sort_unstable();
        if link.is_none() || way.own.known() {
            known.extend_from_slice(&way.known);
        }
        if !way.lacking.is_empty() || link.is_some() && !way.own.known() {
            open.push(way);
        }
    }
    known.sort_unstable();
    loop {
        let (before, mut raised) = (open.len(), Told::new());
        open.retain_mut(|way| {
            let told = if way.lacking.is_empty() { &way.known } else { &way.lacking };
            let Some(lacks) = lacks(told, &known, ahead) else { return true };
            way.lacking.iter_mut().for_each(|(_, wait)| *wait = wait.saturating_add(lacks));
            raised.extend_from_slice(&way.lacking);
            if let Some(link) = link.filter(|_| !way.own.known()) {
                *way.own = link;
                raised.extend_from_slice(&way.known);
            }
            false
        });
        if open.is_empty() || open.len() == before {
            return;
        }
        known.append(&mut raised);
        known.sort_unstable();
    }
}

/// What `told` lacks, if it is of the same queue as what is `known`.
fn lacks(told: &[(i64, i64)], known: &[(i64, i64)], ahead: bool) -> Option<i64> {
    let beside = |&(at, wait): &(i64, i64)| between(known, at, ahead).map(|other| (other, other.saturating_sub(wait)));
    let (mut others, mut differences): (Vec<i64>, Vec<i64>) = told.iter().filter_map(beside).unzip();
    if differences.len() < LEAST {
        return None;
    }
    let spread = |values: &mut Vec<i64>| {
        values.sort_unstable();
        let outer = values.len() / OUTER;
        values[values.len() - 1 - outer].saturating_sub(values[outer])
    };
    let shared = spread(&mut differences).saturating_mul(STEADY) <= spread(&mut others);
    Some(differences[differences.len() / 2].max(0)).filter(|_| shared)
}

/// What a packet seen `at` waited if others tell: one that was seen with it, or one before it and one after it between
/// which the queue cannot have emptied; it is taken to have changed evenly. `ahead`: they were seen before they waited.
pub(super) fn between(told: &[(i64, i64)], at: i64, ahead: bool) -> Option<i64> {
    let next = told.partition_point(|(time, _)| *time < at);
    let &(second, other) = told.get(next)?;
    if second == at {
        return Some(other);
    }
    let &(first, one) = told.get(next.checked_sub(1)?)?;
    let apart = second.saturating_sub(first);
    let share = at.saturating_sub(first) as f64 / apart as f64;
    (apart < if ahead { one } else { other }).then(|| one + ((other - one) as f64 * share) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A queue that rises and falls, as packets say every 10 ms from `first` on that lack something of what they wait.
    fn sawtooth(first: i64, lacking: i64) -> Told {
        (0..200).map(|at| first + 10 * at).map(|at| (at * MS, (20 + at % 600 / 10 - lacking) * MS)).collect()
    }

    #[test]
    fn who_shares_a_queue_waits_as_the_others_do() {
        for ahead in [false, true] {
            let link = Transmission { short: 66, ns_per_byte: 1000.0 };
            let mut own = [link, Transmission::default(), Transmission::default(), Transmission::default()];
            let [first, late, last, other] = &mut own;
            let still: Told = (0..200).map(|at| (at * 10 * MS + 7, 12 * MS)).collect();
            let mut ways = [
                Way { known: sawtooth(0, 0), lacking: Told::new(), own: first },
                // Which the next one makes known, and that the first.
                Way { known: Told::new(), lacking: sawtooth(2407, 15), own: last },
                Way { known: Told::new(), lacking: sawtooth(1003, 8), own: late },
                Way { known: still.clone(), lacking: Told::new(), own: other },
            ];
            settle(&mut ways, ahead);
            let [_, last, late, other] = ways.map(|way| (way.own.ns_per_byte, way.told()));
            let whole = |told: &Told, first| lacks(told, &sawtooth(first, 0), ahead).is_some_and(|lacks| lacks < MS);
            assert!(whole(&late.1, 0) && whole(&last.1, 2400), "{ahead}");
            assert_eq!([last.0, late.0, other.0], [1000.0, 1000.0, 0.0]);
            assert_eq!(other.1, still);
        }
    }

    #[test]
    fn another_queue_tells_nothing() {
        let known = sawtooth(0, 0);
        let still: Told = (0..200).map(|at| (at * 10 * MS + 7, 12 * MS)).collect();
        assert_eq!(lacks(&still, &known, true), None, "it does not rise and fall with this one");
        assert_eq!(lacks(&known, &still, true), None, "nor is this one at rest");
        assert_eq!(lacks(&known[..LEAST - 1], &sawtooth(0, 0), true), None, "they are few");
        assert_eq!(lacks(&sawtooth(0, -8), &known, true), Some(0), "who waited longer lacks nothing");
        assert_eq!(lacks(&sawtooth(5000, 8), &known, true), None, "it was at another time");
    }
}
