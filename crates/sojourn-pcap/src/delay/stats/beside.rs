//! What a packet waited that was sent beside others of which it is told, to the same host: a queue that is first in,
//! first out keeps their order, and drains.
//!
//! Where packets of several connections do not leave in the order in which they were sent, each connection has a queue
//! of its own (FQ-CoDel, RFC 8290): those of others say nothing then.

use crate::delay::estimate::SentAt;
use std::cell::Cell;

/// A queue is another one so much later, ns.
const FAR: i64 = 100_000_000;
/// Packets that were sent beside each other seem to leave out of their order by no more, ns, and what is told of them.
const NEAR: f64 = 1e6;
/// Connections are in one queue if no more than one in so many packets leaves before one of another that was sent
/// before it; one alone shows nothing.
const IN_ORDER: usize = 20;

/// A packet of which it is told what it waited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// The number of its connection.
    pub(crate) connection: u32,
    /// What its transmission took longer than a short one's, ns, where that is known.
    pub(crate) own: f32,
    pub(crate) sent: SentAt,
    /// What it waited, ns.
    pub(crate) delay: f64,
    /// How far that may be off, ns.
    pub(crate) error: f64,
}

/// How far from a packet another was sent, ns, and what that waited.
pub(super) type Beside = Option<(i64, f64)>;

/// All packets to a host of which it is told what they waited.
pub(super) struct Queues {
    told: Vec<Told>,
    /// All connections are in one queue.
    shared: bool,
    /// Where the last packet was looked for: the next is mostly near it.
    last: Cell<usize>,
}

impl Queues {
    pub(super) fn of(mut told: Vec<Told>) -> Self {
        told.sort_by_key(|one| one.sent.1);
        let mut queues = Self { shared: one_queue(&told), told: Vec::new(), last: Cell::default() };
        queues.add(told);
        queues
    }

    pub(super) fn add(&mut self, more: impl IntoIterator<Item = Told>) {
        let shared = self.shared;
        self.told
            .extend(more.into_iter().map(|one| Told { connection: if shared { 0 } else { one.connection }, ..one }));
        in_order(&mut self.told);
    }

    /// How long before a packet of a connection the one before it in its queue was sent, ns, and after it the one after
    /// it, each with what it waited.
    pub(super) fn beside(&self, connection: u32, (time, frame): SentAt) -> (Beside, Beside) {
        let queue = if self.shared { 0 } else { connection };
        let after = self.first_from((queue, frame));
        // Round trips are told in microseconds: the one before may seem to have been sent after it.
        let apart = |other: &Told| ((other.sent.0 - time).abs(), other.delay);
        let at = |place: Option<usize>| self.told.get(place?).filter(|other| other.connection == queue).map(apart);
        (at(after.checked_sub(1)), at(Some(after)))
    }

    /// What one waited at the most, ns, if it is as long as the one after it in its queue: that waited for it to pass.
    pub(super) fn most(&self, connection: u32, (time, frame): SentAt) -> f64 {
        let queue = if self.shared { 0 } else { connection };
        let after = self.told.get(self.first_from((queue, frame))).filter(|after| after.connection == queue);
        after.map_or(f64::INFINITY, |after| {
            ((after.sent.0 - time).abs() as f64 + after.delay - f64::from(after.own)).max(0.0)
        })
    }

    /// Place of the first that is not before this connection and frame: by steps that double, from where the last one
    /// was found.
    fn first_from(&self, key: (u32, u64)) -> usize {
        let before = |other: &Told| (other.connection, other.sent.1) < key;
        let (told, from) = (self.told.as_slice(), self.last.get().min(self.told.len()));
        let (mut low, mut high, mut step) = (from, from, 1);
        while told.get(high).is_some_and(before) {
            (low, high, step) = (high + 1, high + step, 2 * step);
        }
        while low > 0 && !before(&told[low - 1]) {
            (low, high, step) = (low.saturating_sub(step), low - 1, 2 * step);
        }
        let high = high.min(told.len());
        let place = low + told[low..high].partition_point(before);
        self.last.set(place);
        place
    }

    /// What any is known to have waited at the most, ns.
    pub(super) fn longest(&self) -> f64 {
        self.told.iter().map(|one| one.delay).fold(0.0, f64::max)
    }
}

/// Whether packets of different connections left as they were sent: `told` is in the order of sending.
fn one_queue(told: &[Told]) -> bool {
    let (mut pairs, mut overtaken) = (0, 0);
    for pair in told.windows(2) {
        if let [earlier, later] = pair
            && earlier.connection != later.connection
        {
            let apart = (later.sent.0 - earlier.sent.0) as f64 + later.delay - earlier.delay;
            pairs += 1;
            overtaken += usize::from(apart < -(earlier.error + later.error + NEAR));
        }
    }
    overtaken <= 1 || overtaken * IN_ORDER <= pairs
}

fn in_order(told: &mut [Told]) {
    let key = |one: &Told| (one.connection, one.sent.1);
    told.sort_by(|a, b| key(a).cmp(&key(b)).then(a.delay.total_cmp(&b.delay)));
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

/// What a packet may have waited of which nothing tells whether it arrived: as those beside it did that were sent
/// before it and after it; if either is far, as long as the next one allows.
pub(super) fn doubtful(earlier: Beside, later: Beside) -> f64 {
    let near = [earlier, later].iter().all(|at| at.is_some_and(|(apart, _)| apart <= FAR));
    between(earlier, later).filter(|_| near).unwrap_or_else(|| latest(later))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn connections_share_a_queue_if_hardly_any_packet_overtakes_those_of_another() {
        // Two connections in turn, a packet a millisecond; so many of the first wait so long, the others 1 ms.
        for (late, waited, error, shared) in [
            (0, 1.0, 0.0, true),
            (1, 50.0, 0.0, true),
            (2, 50.0, 0.0, true),
            (5, 50.0, 0.0, false),
            (5, 2.9, 0.0, true),
            (5, 3.1, 0.0, false),
            (5, 3.1, 0.1e6, true),
        ] {
            let told = |frame: u32| {
                let (connection, delay) =
                    (frame % 2, if frame.is_multiple_of(16) && frame < 16 * late { waited } else { 1.0 });
                Told { connection, own: 0.0, sent: (i64::from(frame) * MS, frame.into()), delay: delay * 1e6, error }
            };
            let mut queues = Queues::of((0..80).rev().map(told).collect());
            assert_eq!(queues.shared, shared, "{late} {waited} {error}");
            queues.add([Told { connection: 0, own: 0.0, sent: (9 * MS, 9), delay: 7e6, error }]);
            let before = queues.beside(1, (10 * MS, 10)).0;
            assert_eq!(before, Some((MS, if shared { 7e6 } else { 1e6 })), "its own 9 is before the other's");
            assert_eq!(queues.beside(0, (80 * MS, 80)).1, None);
        }
        // One of a few that was overtaken shows nothing.
        let few = [(0, 50e6), (1, 1e6), (2, 52e6)].into_iter().zip(0..);
        let few =
            few.map(|((frame, delay), connection)| Told { connection, own: 0.0, sent: (0, frame), delay, error: 0.0 });
        assert!(Queues::of(few.collect()).shared);
        // One connection's packets say nothing of that.
        let alone = [(0, 50e6), (1, 1e6)].repeat(9).into_iter();
        let alone = alone.map(|(frame, delay)| Told { connection: 3, own: 0.0, sent: (0, frame), delay, error: 0.0 });
        assert!(Queues::of(alone.collect()).shared);
    }

    #[test]
    fn wherever_the_last_was_found_the_next_is_found_in_its_place() {
        for count in 0..40u64 {
            let told = |frame: u64| Told { connection: 0, own: 0.0, sent: (0, 2 * frame), delay: 0.0, error: 0.0 };
            let queues = Queues::of((0..count).map(told).collect());
            for last in 0..=count as usize + 1 {
                for frame in 0..2 * count + 2 {
                    queues.last.set(last);
                    let place = queues.first_from((0, frame));
                    assert_eq!((place as u64, queues.last.get()), (frame.div_ceil(2).min(count), place));
                }
                queues.last.set(last);
                assert_eq!(queues.first_from((1, 0)) as u64, count, "another connection");
            }
        }
    }

    #[test]
    fn of_two_that_did_not_leave_in_order_each_had_a_queue_of_its_own() {
        // What was sent 9 ms later left 34 ms earlier.
        assert_eq!(between(Some((5 * MS, 50e6)), Some((4 * MS, 7e6))).map(|ns| (ns / 1e6 * 9.0).round()), Some(235.0));
        assert_eq!(between(Some((0, 50e6)), Some((0, 7e6))), Some(28.5e6));
    }

    #[test]
    fn what_may_have_arrived_lies_between_two_others_or_waited_as_long_as_the_next_allows() {
        let at = |ms: i64, delay: f64| Some((ms * MS, delay * 1e6));
        let ms = |earlier, later| doubtful(earlier, later) / 1e6;
        assert_eq!((ms(at(5, 30.0), at(5, 20.0)), ms(at(101, 30.0), at(5, 20.0))), (25.0, 25.0));
        assert_eq!((ms(at(30, 50.0), at(90, 1.0)), ms(at(101, 50.0), at(90, 1.0))), (37.75, 91.0));
        assert_eq!((ms(at(5, 30.0), at(101, 20.0)), ms(at(5, 30.0), None)), (121.0, f64::INFINITY));
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
