//! Whose packets tell what those of a host waited between its own: another host's of the same queue.
//!
//! Few packets of a short connection say what they waited. Those of a long one beside it, that passed the same queue,
//! say it all the time. Who shares one is told as in [`super::queue`]; the rule is sojourn's own.

use super::queue::{LEAST, Told, began, lacks};

/// Hosts with most packets, one of which tells.
const MOST_REFERENCES: usize = 8;

/// What another host's packets waited, and by how much these wait more than this one's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside<'a> {
    pub(super) told: &'a [(i64, i64)],
    pub(super) more: i64,
    /// How long before they are seen the transmission of that one's packets begins.
    pub(super) earlier: i64,
}

/// By host, of all of which is `told` in order what their packets waited, and how much earlier than seen their
/// transmission begins: who tells more often of its queue, and by how much that one waits more.
pub(super) fn find(told: &[(&[(i64, i64)], i64)], ahead: bool) -> Vec<Option<(usize, i64)>> {
    let mut most: Vec<usize> = (0..told.len()).filter(|host| told[*host].0.len() >= LEAST).collect();
    most.sort_by_key(|host| std::cmp::Reverse(told[*host].0.len()));
    most.truncate(MOST_REFERENCES);
    let mut found = vec![None; told.len()];
    for other in most {
        let (others, earlier) = told[other];
        let known: Told = began(others, earlier).collect();
        for (host, found) in found.iter_mut().enumerate().filter(|(host, _)| told[*host].0.len() < others.len()) {
            *found = found.or_else(|| Some((other, lacks(told[host], &known, ahead)?)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A queue that rises and falls, as a packet says every so many ms.
    fn sawtooth(every: i64, more: i64) -> Vec<(i64, i64)> {
        (0..4000).step_by(every as usize).map(|at| (at * MS, (20 + more + at % 600 / 10) * MS)).collect()
    }

    #[test]
    fn the_longest_of_its_queue_tells_of_a_host() {
        let still: Vec<_> = (0..500).map(|at| (at * 8 * MS + 7, 12 * MS)).collect();
        let all = [sawtooth(70, 0), sawtooth(10, 6), sawtooth(20, 0), still, sawtooth(220, 0)];
        let told = all.each_ref().map(|told| (told.as_slice(), 0));
        for ahead in [false, true] {
            let found = find(&told, ahead);
            assert_eq!(found, [Some((1, 6 * MS)), None, Some((1, 6 * MS)), None, None], "few, or another queue");
        }
    }
}
