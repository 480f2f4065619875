//! Round trips that others tell, where they may be one.
//!
//! What a host's base holds of a queue is told by others to within a few per cent ([`super::queue`], [`super::level`]).
//! Hosts that have one round trip then seem to have several, and it matters: flows of the very same round trip lose
//! packets together (Floyd and Jacobson, 1992). So one that is as near as that to a round trip that was seen is taken
//! for that. The rule is sojourn's own.

/// Two round trips that differ by less than one part in so many cannot be told apart.
const NEAR: i64 = 16;

/// The shortest round trip that was `seen` of each host, and what others `told` of it, no longer: which it is.
pub(super) fn settle(hosts: &[(i64, i64)]) -> Vec<i64> {
    let near = |one: i64, other: i64| one.saturating_sub(other).saturating_abs() < other / NEAR;
    let seen = || hosts.iter().filter(|(seen, told)| near(*told, *seen)).map(|(seen, _)| *seen);
    let of = |&(own, told): &(i64, i64)| {
        if near(told, own) { own } else { seen().filter(|seen| near(told, *seen)).min().unwrap_or(told) }
    };
    hosts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_that_others_tell_is_one_that_was_seen_if_it_is_near() {
        // Seen, and told by others; the third lacks a part of the queue, the fourth too, but it is elsewhere.
        let hosts = [(400, 390), (402, 402), (970, 415), (970, 430), (i64::MAX, 380), (i64::MAX, i64::MAX)];
        assert_eq!(settle(&hosts), [400, 402, 400, 430, 400, i64::MAX]);
        assert_eq!(settle(&[(970, 415), (800, 410)]), [415, 410], "none of them was seen");
        assert_eq!(settle(&[(0, 0), (-5, -9)]), [0, -9]);
    }
}
