//! What a packet waited that was sent beside others of which it is told, to the same host: a queue that is first in,
//! first out keeps their order, and drains.

/// A queue is another one so much later, ns.
const FAR: i64 = 100_000_000;

/// When a packet was sent, and the number of its frame, which tells the order of those of one burst.
pub(crate) type Sent = (i64, u64);

/// What a packet waited that was sent then, ns.
pub(super) type Told = (Sent, f64);

/// How far from a packet another was sent, ns, and what that waited.
pub(super) type Beside = Option<(i64, f64)>;

pub(super) fn in_order(told: &mut [Told]) {
    told.sort_unstable_by(|a, b| a.0.1.cmp(&b.0.1).then(a.1.total_cmp(&b.1)));
}

/// How long before a packet the one before it was sent, ns, and after it the one after it, each with what it waited.
pub(super) fn beside(told: &[Told], (time, frame): Sent) -> (Beside, Beside) {
    let after = told.partition_point(|((_, other), _)| *other < frame);
    // Round trips are told in microseconds: the one before may seem to have been sent after it.
    let apart = |&((other, _), delay): &Told| ((other - time).abs(), delay);
    (after.checked_sub(1).map(|at| apart(&told[at])), told.get(after).map(apart))
}

/// What a packet waited at the most, which left before the one after it did.
pub(super) fn latest(later: Beside) -> f64 {
    later.map_or(f64::INFINITY, |(until, delay)| until as f64 + delay)
}

/// The delay of a packet from those of the one before it and of the one after it, each with the time to it: between
/// them, if neither is far; none if both are. If these two did not leave in order, each has a queue of its own
/// (FQ-CoDel), and it may be of either: still between them, since no bound of the one holds for the other.
pub(super) fn between(earlier: Beside, later: Beside) -> Option<f64> {
    let drained = earlier.map(|(since, delay)| (delay - since as f64).max(0.0));
    let bounded = |delay: f64| delay.min(latest(later)).max(drained.unwrap_or(0.0));
    match [earlier, later].map(|at| at.filter(|(apart, _)| *apart <= FAR)) {
        [Some((0, before)), Some((0, after))] => Some(f64::midpoint(before, after)),
        [Some((since, before)), Some((until, after))] => {
            Some(before + (after - before) * since as f64 / (since + until) as f64)
        }
        [Some(_), None] => drained.map(bounded),
        [None, Some((_, after))] => Some(bounded(after)),
        [None, None] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn of_two_that_did_not_leave_in_order_each_had_a_queue_of_its_own() {
        // What was sent 9 ms later left 34 ms earlier.
        assert_eq!(between(Some((5 * MS, 50e6)), Some((4 * MS, 7e6))).map(|ns| (ns / 1e6 * 9.0).round()), Some(235.0));
        assert_eq!(between(Some((0, 50e6)), Some((0, 7e6))), Some(28.5e6));
    }

    #[test]
    fn a_queue_keeps_the_order_of_its_packets_and_drains() {
        let at = |ms: i64, delay: f64| Some((ms * MS, delay * 1e6));
        let ms = |earlier, later| between(earlier, later).map(|delay| delay / 1e6);
        // What was there 30 ms before has left since; what came 10 ms later says how long it was.
        assert_eq!((ms(at(30, 50.0), None), ms(at(60, 50.0), None)), (Some(20.0), Some(0.0)));
        assert_eq!((ms(None, at(10, 7.0)), ms(at(30, 1.0), at(10, 7.0))), (Some(7.0), Some(5.5)));
        assert_eq!((ms(at(101, 50.0), at(9, 7.0)), ms(at(9, 7.0), at(101, 50.0))), (Some(7.0), Some(0.0)));
        assert_eq!((ms(at(5, 30.0), at(5, 20.0)), ms(at(101, 120.0), at(9, 7.0))), (Some(25.0), Some(19.0)));
        assert_eq!(ms(at(101, 50.0), at(102, 50.0)), None);
    }
}
