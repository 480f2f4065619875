//! What was sent and lost on its way to the capture: when.

use super::raw_turn::LOST;
use super::turns::{Recorded, Turn};
use crate::decode::Address;
use std::collections::BTreeMap;

/// What was sent and lost was sent when its end had waited as it does: as long as the median of what it is known to
/// wait.
pub(super) fn settle(connections: &mut [Recorded]) {
    let end = |row: &Recorded, turn: &Turn| if turn.accepted { row.acceptor.0 } else { row.opener.0 };
    let mut known: BTreeMap<Address, Vec<u64>> = BTreeMap::new();
    for row in connections.iter().filter(|row| row.tcp && !row.concurrent) {
        let before = std::iter::once(None).chain(row.turns.iter().map(|turn| Some(turn.accepted)));
        for (turn, before) in row.turns.iter().zip(before) {
            if turn.wait_ns != LOST && before != Some(turn.accepted) {
                known.entry(end(row, turn)).or_default().push(turn.wait_ns);
            }
        }
    }
    let medians: BTreeMap<Address, u64> = known
        .into_iter()
        .map(|(host, mut waits)| {
            let middle = (waits.len() - 1) / 2;
            (host, *waits.select_nth_unstable(middle).1)
        })
        .collect();
    for row in connections {
        let hosts = [row.opener.0, row.acceptor.0];
        for turn in row.turns.iter_mut().filter(|turn| turn.wait_ns == LOST) {
            turn.wait_ns = medians.get(&hosts[usize::from(turn.accepted)]).copied().unwrap_or(0);
        }
    }
}
