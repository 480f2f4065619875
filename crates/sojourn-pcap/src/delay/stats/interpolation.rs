//! What packets to a host waited that nothing timely tells of: what others to it did that were sent beside them.
//!
//! An acknowledgement tells of one packet and covers others; the last acknowledgements of a burst are echoed when the
//! next one begins, after a pause that says nothing of them. They met the queue that the data of other connections
//! filled: without them, a direction's mean would be that of the packets that somebody answered at once. A queue that
//! is first in, first out keeps their order, so that one that was sent between two others left between them; and what
//! no packet that is told of was sent after has drained.
//!
//! Whether a packet that was answered after a pause is told of depends on what it waited: if that was little, the
//! answer says so. Those of which it says nothing are placed beside others alone that would have been told of anyhow,
//! within what their own answers leave.
//!
//! But a sender that is clocked by acknowledgements pauses because they wait, so that those of which an answer after a
//! pause tells would be those that waited longest. One that had data on its way, and after pauses sends hardly ever
//! without an arrival that it had not echoed yet, waited for the arrival that it then echoes: its answers tell, however
//! long it paused. One that keeps a pace of its own now and then sends two in turn that echo the same. Or it seems that
//! what it echoes left after packets which were sent later and answered at once: a queue's order denies it.
//!
//! What was answered after a pause and is placed beside others may have waited longer, as long as its answer says: a
//! burst in a fair queue waits a round of it for each packet, and looks like acknowledgements that were held back. How
//! much longer all may have waited is handed on, and decides whether the mean is a lower bound.
//!
//! How many of those arrived that nothing echoed, [`super::arrivals`] says.

use crate::delay::estimate::SentAt;
use crate::delay::estimate::tcp_observer::Estimate;
use crate::delay::stats::alone::Alone;
use crate::delay::stats::arrivals::{Untold, Went};
use crate::delay::stats::beside::{Queues, Told, between, doubtful, latest};
use crate::delay::stats::quantiles::Quantiles;

/// Packets that were sent nearer to each other say the same if they waited alike, ns.
const NEAR: i64 = 1_000_000;
/// Who sends of its own accord no more than once in so many times that it may have waited is clocked by arrivals.
const CLOCKED: u64 = 20;

/// Packets that were answered after a pause.
#[derive(Debug, Clone, Copy)]
struct Paused {
    connection: u32,
    sent: SentAt,
    packets: u32,
    /// The least and the most that the answer says they waited, ns.
    answer: [f64; 2],
    /// Who answered may have waited for their arrival; its stamps tick so often, ns.
    awaited: Option<f64>,
}

/// Packets to one host since the log was finalized last.
#[derive(Debug, Default)]
pub(crate) struct Interpolation {
    went: Went,
    told: [Vec<Told>; 2],
    /// Data whose acknowledgement tells of another.
    covered: Vec<Untold>,
    untold: Vec<Untold>,
    /// Those that may have been lost.
    unproven: Vec<Untold>,
    /// Those that were answered after a pause.
    paused: Vec<Paused>,
    /// Those that senders waited for which are clocked by them, one connection's after another's.
    clocked: Vec<Vec<Paused>>,
    /// The connection that is given now.
    connection: u32,
    /// How many were answered after a pause in connections before it.
    others: usize,
    /// How often its other end sent of its own accord after a pause.
    unprompted: u64,
}

impl Interpolation {
    /// What is [told](Self::told), or [answered after a pause](Self::paused), is of this connection from now on.
    pub(crate) fn connection(&mut self, number: u32) {
        self.connection_given();
        self.connection = number;
    }

    /// A packet that was sent then waited so long, and took so long, ns, by its own transmission; `paused`: that is
    /// told because it was little.
    #[inline]
    pub(crate) fn told(&mut self, sent: SentAt, own: f64, Estimate { delay, error }: Estimate, paused: bool) {
        let (told, connection) = (&mut self.told[usize::from(paused)], self.connection);
        let alike = |last: &Told| {
            let together = last.connection == connection && (sent.0 - last.sent.0).abs() < NEAR;
            together && libm::fabs(delay - last.delay) < NEAR as f64
        };
        if !told.last().is_some_and(alike) {
            told.push(Told { connection, own: own as f32, sent, delay, error });
        }
    }

    /// Of so many packets of a connection, the last of which was sent then, nothing else tells, as is `seen` now.
    #[inline]
    pub(crate) fn untold(&mut self, connection: u32, sent: SentAt, packets: u32, seen: i64) {
        join(&mut self.untold, Untold { connection, sent, packets, seen });
    }

    /// Of data that was sent then nothing else tells, as is `seen` now: what acknowledges it tells of another.
    #[inline]
    pub(crate) fn covered(&mut self, connection: u32, sent: SentAt, seen: i64) {
        join(&mut self.covered, Untold { connection, sent, packets: 1, seen });
    }

    /// Of so many without data, the last of which was sent then, nothing tells that they arrived.
    pub(crate) fn unproven(&mut self, connection: u32, sent: SentAt, packets: u32) {
        self.went.unproven += u64::from(packets);
        join(&mut self.unproven, Untold { connection, sent, packets, seen: 0 });
    }

    /// A segment with data left, perhaps `again`.
    #[inline]
    pub(crate) fn data(&mut self, again: bool) {
        self.went.data += 1;
        self.went.again += u64::from(again);
    }

    /// Of so many, an answer after a pause says no more than what they waited at the least and at the most, ns. Its
    /// sender's tick, ns, if that may have waited for their arrival.
    pub(crate) fn paused(&mut self, sent: SentAt, packets: u32, answer: [f64; 2], awaited: Option<f64>) {
        self.paused.push(Paused { connection: self.connection, sent, packets, answer, awaited });
    }

    /// After a pause the other end sent what no arrival caused.
    pub(crate) fn unprompted(&mut self) {
        self.unprompted += 1;
    }

    /// All of a connection were given.
    fn connection_given(&mut self) {
        let unprompted = std::mem::take(&mut self.unprompted);
        let awaited = self.paused[self.others..].iter().filter(|paused| paused.awaited.is_some()).count() as u64;
        // As if it had done so once more: a few that waited do not show that it never does.
        if awaited >= CLOCKED * (unprompted + 1) {
            let waited_for = self.paused.extract_if(self.others.., |paused| paused.awaited.is_some());
            self.clocked.push(waited_for.collect());
        }
        self.others = self.paused.len();
    }

    /// Count among the delays those that were waited for, as they were answered, and those that nothing else tells of;
    /// those that were answered after a pause, and sent beside none.
    pub(crate) fn settle(&mut self, delays: &mut Quantiles) -> Alone {
        self.connection_given();
        let Self { went, told: [told, paused], covered, untold, paused: mut late, clocked, unproven, .. } =
            std::mem::take(self);
        self.went = went;
        let (unproven, doubted) = if went.arrives() > 0.0 { (unproven, Vec::new()) } else { (Vec::new(), unproven) };
        let mut alone = Alone::default();
        if [&covered, &untold, &unproven, &doubted].iter().all(|of| of.is_empty())
            && late.is_empty()
            && clocked.is_empty()
        {
            return alone;
        }
        let arrived = went.arrived(unproven);
        let mut queues = Queues::of(told);
        let (waited, paced): (Vec<_>, Vec<_>) = clocked.into_iter().partition(|of| in_turn(of, &queues));
        late.extend(paced.into_iter().flatten());
        let waited =
            waited.into_iter().flatten().map(|Paused { connection, sent, packets, answer: [_, most], .. }| {
                delays.add_times(most, packets);
                Told { connection, own: 0.0, sent, delay: most, error: 0.0 }
            });
        queues.add(waited);
        let longest = queues.longest();
        for Paused { connection, sent, packets, answer: [least, most], .. } in late {
            let (earlier, later) = queues.beside(connection, sent);
            let most = most.min(latest(later)).min(longest);
            match between(earlier, later) {
                Some(delay) => {
                    let delay = delay.clamp(least, most.max(least));
                    delays.add_times(delay, packets);
                    alone.longer += f64::from(packets) * (most - delay).max(0.0);
                }
                None => alone.add(packets, most),
            }
        }
        queues.add(paused);
        for (untold, covered) in [(covered, true), (untold, false), (arrived, false)] {
            for Untold { connection, sent, packets, .. } in untold {
                let (earlier, later) = queues.beside(connection, sent);
                // Data that others follow of the same acknowledgement is as long as they are.
                let most = if covered { queues.most(connection, sent) } else { f64::INFINITY };
                match between(earlier, later) {
                    Some(delay) => delays.add_times(delay.min(most), packets),
                    None => alone.add(packets, latest(later).min(longest)),
                }
            }
        }
        for Untold { connection, sent, packets, .. } in doubted {
            let (earlier, later) = queues.beside(connection, sent);
            alone.doubted.0 += u64::from(packets);
            alone.doubted.1 += f64::from(packets) * doubtful(earlier, later).min(longest);
        }
        alone
    }
}

/// Whether hardly any of one connection's answers say that what they echo left after what was sent later.
fn in_turn(answered: &[Paused], queues: &Queues) -> bool {
    let late = |paused: &&Paused| {
        let tolerance = paused.awaited.unwrap_or(0.0) + NEAR as f64;
        paused.answer[1] > latest(queues.beside(paused.connection, paused.sent).1) + tolerance
    };
    answered.iter().filter(late).count() as u64 * CLOCKED <= answered.len() as u64
}

/// Add packets to those that were seen at the same time and sent beside them.
#[inline]
fn join(all: &mut Vec<Untold>, one: Untold) {
    match all.last_mut() {
        Some(last)
            if last.connection == one.connection
                && last.seen == one.seen
                && (one.sent.0 - last.sent.0).abs() < NEAR =>
        {
            last.packets = last.packets.saturating_add(one.packets);
        }
        _ => all.push(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn exactly(delay: f64) -> Estimate {
        Estimate { delay, error: 0.0 }
    }

    #[test]
    fn what_nothing_tells_of_waited_what_those_beside_it_did() {
        let mut interpolation = Interpolation::default();
        // Of two connections, one after the other.
        for (sent, delay) in [(0, 1e6), (300, 40e6), (200, 20e6), (210, 30e6)] {
            interpolation.told((sent * MS, sent as u64), 0.0, exactly(delay), false);
        }
        let mut delays = Quantiles::default();
        for (sent, packets) in [(204, 1), (206, 4), (301, 8), (401, 16), (150, 32)] {
            interpolation.untold(0, (sent * MS, sent as u64), packets, 0);
        }
        // None was sent within a tenth of a second of the last but one, which waited no longer than any.
        let alone = interpolation.settle(&mut delays);
        assert_eq!(alone, Alone { packets: 16, most: 16.0 * 40e6, ..Alone::default() });
        assert_eq!(delays.count(), 1 + 4 + 8 + 32);
        let sum = 24.0 + 26.0 * 4.0 + 39.0 * 8.0 + 20.0 * 32.0;
        assert!((delays.mean() / 1e6 - sum / 45.0).abs() < 1e-6, "{}", delays.mean());
        // Each log has its own.
        interpolation.untold(0, (204 * MS, 204), 1, 0);
        interpolation.paused((204 * MS, 204), 3, [0.0, 5e6], None);
        assert_eq!(interpolation.settle(&mut delays).packets, 1 + 3);
        assert_eq!(delays.count(), 45);
    }

    #[test]
    fn of_a_burst_that_is_sent_at_once_each_waits_for_those_before_it() {
        let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
        // Every other one is acknowledged; each takes 10 ms on the link.
        for frame in 0..10u64 {
            match frame % 2 {
                0 => interpolation.untold(0, (0, frame), 1, frame as i64),
                _ => interpolation.told((0, frame), 0.0, exactly(frame as f64 * 10e6), false),
            }
        }
        assert_eq!(interpolation.settle(&mut delays), Alone::default());
        let sum = 10.0 + 20.0 + 40.0 + 60.0 + 80.0;
        assert!((delays.mean() / 1e6 - sum / 5.0).abs() < 1e-6, "{}", delays.mean());
    }

    #[test]
    fn what_one_acknowledgement_tells_of_waited_for_what_it_covers_to_pass() {
        // Pairs, the second of which is told of: it waited 18 ms, and took so many more by itself.
        for (apart, own, waited) in [(0, 8e6, 10.0), (3, 8e6, 13.0), (0, 0.0, 18.0), (0, 20e6, 0.0)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            interpolation.told((-90 * MS, 0), 0.0, exactly(0.0), false);
            interpolation.covered(0, (-apart * MS, 1), 5);
            interpolation.told((0, 2), own, exactly(18e6), false);
            assert_eq!(interpolation.settle(&mut delays), Alone::default());
            assert!((delays.mean() / 1e6 - f64::min(waited, 18.0 - 0.2 * apart as f64)).abs() < 1e-6, "{apart} {own}");
            // A packet without data may be shorter.
            interpolation.told((-90 * MS, 0), 0.0, exactly(18e6), false);
            interpolation.untold(0, (-apart * MS, 1), 1, 5);
            interpolation.told((0, 2), own, exactly(18e6), false);
            let mut other = Quantiles::default();
            assert_eq!((interpolation.settle(&mut other), other.mean()), (Alone::default(), 18e6));
        }
    }

    #[test]
    fn the_order_of_frames_tells_who_was_first_where_round_trips_in_microseconds_do_not() {
        let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
        interpolation.told((900, 0), 0.0, exactly(10e6), false);
        interpolation.untold(0, (0, 1), 1, 0);
        interpolation.told((900, 2), 0.0, exactly(30e6), false);
        assert_eq!((interpolation.settle(&mut delays).packets, delays.mean()), (0, 20e6));
    }

    #[test]
    fn what_a_pause_hides_is_not_placed_beside_what_is_told_because_it_was_little() {
        let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
        interpolation.told((0, 0), 0.0, exactly(1e6), true);
        interpolation.paused((MS, 1), 4, [0.0, 9e6], None);
        interpolation.untold(0, (2 * MS, 2), 2, 0);
        assert_eq!((interpolation.settle(&mut delays).packets, delays.count()), (4, 2));
        interpolation.told((0, 0), 0.0, exactly(9e6), false);
        interpolation.paused((MS, 1), 4, [0.0, 9e6], None);
        assert_eq!((interpolation.settle(&mut delays).packets, delays.max()), (0, 8e6));
    }

    #[test]
    fn what_is_placed_beside_others_lies_within_what_its_own_answer_leaves() {
        for (answer, placed) in [([0.0, 90e6], 10e6), ([30e6, 90e6], 30e6), ([0.0, 4e6], 4e6)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            interpolation.told((0, 0), 0.0, exactly(10e6), false);
            interpolation.paused((0, 1), 4, answer, None);
            interpolation.told((0, 2), 0.0, exactly(10e6), false);
            assert_eq!((interpolation.settle(&mut delays).packets, delays.mean()), (0, placed), "{answer:?}");
        }
    }

    #[test]
    fn what_a_sender_waited_for_counts_as_it_answered_unless_it_keeps_a_pace_of_its_own() {
        // Of two connections; the packets of the second that were waited for, and how often it sent by itself.
        for (awaited, unprompted, counted) in [(20, 0, 20), (19, 0, 0), (39, 1, 0), (40, 1, 40), (0, 0, 0)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            (0..19).for_each(|i| interpolation.paused((i * MS, i as u64), 1, [0.0, 7e6], Some(1e6)));
            (0..9).for_each(|_| interpolation.unprompted());
            interpolation.connection(1);
            (0..awaited).for_each(|i| interpolation.paused((500 * MS, 100 + i), 1, [0.0, 50e6], Some(1e6)));
            interpolation.paused((500 * MS, 200), 1, [0.0, 90e6], None);
            (0..unprompted).for_each(|_| interpolation.unprompted());
            // The last had nothing on its way: it is placed beside those that are told of.
            let alone = interpolation.settle(&mut delays).packets;
            let told = if counted > 0 { (19, counted + 1) } else { (20 + awaited, 0) };
            assert_eq!((alone, delays.count()), told, "{awaited} {unprompted}");
            assert!(counted == 0 || (delays.min(), delays.max()) == (50e6, 50e6));
        }
    }

    #[test]
    fn nothing_was_waited_for_that_would_have_left_after_what_was_sent_later() {
        // Of 40 answers of 50 ms so many deny it: another packet was sent 3 ms after, and waited so long.
        for (others, waited, mean) in [(2, 1.0, 50.0), (3, 1.0, 1.0), (3, 46.0, 50.0), (3, 44.0, 44.0)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            for i in 0..40u64 {
                let sent = i as i64 * 500 * MS;
                interpolation.paused((sent, 2 * i), 1, [0.0, 50e6], Some(1e6));
                if i < others {
                    interpolation.told((sent + 3 * MS, 2 * i + 1), 0.0, exactly(waited * 1e6), false);
                }
            }
            interpolation.settle(&mut delays);
            assert_eq!(delays.mean() / 1e6, mean, "{others} {waited}");
        }
    }

    #[test]
    fn where_each_connection_has_a_queue_only_its_own_packets_say_what_others_waited() {
        for (first, placed) in [(60.0, [60.0, 5.0]), (6.0, [5.5, 5.5])] {
            let mut delays = [Quantiles::default(), Quantiles::default()];
            for (connection, delays) in (0..).zip(&mut delays) {
                let mut interpolation = Interpolation::default();
                for (number, waited) in [(0, first), (1, 5.0)] {
                    interpolation.connection(number);
                    for i in 0..40 {
                        let frame = 4 * i + 2 * u64::from(number);
                        interpolation.told((frame as i64 * MS, frame), 0.0, exactly(waited * 1e6), false);
                    }
                }
                interpolation.untold(connection, (81 * MS, 81), 1, 0);
                interpolation.settle(delays);
            }
            assert_eq!(delays.map(|delays| delays.mean() / 1e6), placed, "{first}");
        }
    }

    #[test]
    fn what_was_answered_after_a_pause_may_have_waited_as_long_as_its_answer_and_the_next_allow() {
        // What the answer says at the most, and when the next was sent, which waited 10 ms.
        for (answer, next, longer) in [(30e6, 60, 20e6), (30e6, 12, 12e6 - 2e6), (9e6, 60, 0.0), (90e6, 99, 40e6)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            interpolation.told((-900 * MS, 0), 0.0, exactly(50e6), false);
            interpolation.told((0, 1), 0.0, exactly(10e6), false);
            interpolation.paused((2 * MS, 2), 2, [0.0, answer], None);
            interpolation.told((next * MS, 3), 0.0, exactly(10e6), false);
            let alone = interpolation.settle(&mut delays);
            assert_eq!((alone.packets, alone.longer), (0, 2.0 * longer), "{answer} {next}");
        }
    }

    #[test]
    fn of_packets_that_may_have_been_lost_as_many_arrived_as_of_the_data() {
        // So many segments, so many of them again; so many packets of which nothing tells; how many of them count.
        for (data, again, packets, counted) in
            [(100, 20, 100, 80), (100, 0, 100, 100), (99, 0, 100, 0), (0, 0, 100, 0), (1000, 1000, 100, 0)]
        {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            (0..data).for_each(|i| interpolation.data(i < again));
            interpolation.told((0, 0), 0.0, exactly(5e6), false);
            (1..=packets).for_each(|i| interpolation.unproven(0, (i * 2 * NEAR, i as u64), 1));
            interpolation.told((packets * 2 * NEAR, 1000), 0.0, exactly(5e6), false);
            let alone = interpolation.settle(&mut delays);
            assert_eq!((alone.packets, delays.count()), (0, counted), "{data} {again}");
            // Those that do not count may have arrived, and waited no longer than the others.
            let (doubted, waited) = alone.doubted;
            assert_eq!(doubted, if counted > 0 { 0 } else { packets as u64 }, "{data} {again}");
            assert!(waited <= doubted as f64 * 5e6 && (waited > 0.0) == (doubted > 0), "{waited}");
        }
    }

    #[test]
    fn what_a_pause_hides_waited_no_more_than_its_answer_says_nor_longer_than_what_was_sent_later() {
        for (answer, later, most) in [(9e6, 40e6, 9e6), (80e6, 40e6, 50e6), (200e6, 0.0, 140e6)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            // The longest that is known, long before; and one that was sent 140 ms later.
            interpolation.told((0, 0), 0.0, exactly(50e6), false);
            interpolation.paused((360 * MS, 1), 3, [0.0, answer], None);
            interpolation.told((500 * MS, 2), 0.0, exactly(later), false);
            if later == 0.0 {
                interpolation.told((900 * MS, 3), 0.0, exactly(300e6), false);
            }
            assert_eq!(
                interpolation.settle(&mut delays),
                Alone { packets: 3, most: 3.0 * most, ..Alone::default() },
                "{answer}"
            );
        }
    }

    #[test]
    fn of_those_that_were_sent_together_and_waited_alike_one_is_enough() {
        let mut interpolation = Interpolation::default();
        (0..10_000).for_each(|i| interpolation.told((i * 1000, i as u64), 0.0, exactly(1e6), false));
        assert_eq!(interpolation.told[0].len(), 10);
        (0..10).for_each(|i| interpolation.told((0, i as u64), 0.0, exactly(i as f64 * 1e6), true));
        assert_eq!(interpolation.told[1].len(), 10);
        // Those that one acknowledgement covers.
        (0..10_000).for_each(|i| interpolation.untold(0, (i * 1000, i as u64), 1, i / 5000));
        assert_eq!(interpolation.untold.len(), 10);
    }
}
