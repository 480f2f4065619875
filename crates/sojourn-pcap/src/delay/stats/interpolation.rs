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
//! That a packet without data arrived, echoes alone say: one that is not echoed was lost, or others came before its
//! receiver had something to send. As many of them count as arrived of the data that was sent the same way, which is
//! sent again if it is lost. Where less data went there than such packets, nothing is known of them, and none counts:
//! the mean is a lower bound if it would be more with them.

use crate::delay::stats::beside::{Sent, Told, beside, between, in_order, latest};
use crate::delay::stats::quantiles::Quantiles;

/// Packets that were sent nearer to each other say the same if they waited alike, ns.
const NEAR: i64 = 1_000_000;
/// Who sends of its own accord no more than once in so many times that it may have waited is clocked by arrivals.
const CLOCKED: u64 = 20;

/// Packets of which nothing tells.
#[derive(Debug, Clone, Copy)]
struct Untold {
    sent: Sent,
    packets: u32,
    /// The time at which that was seen; those of one time belong together.
    seen: i64,
}

/// Packets that were answered after a pause.
#[derive(Debug, Clone, Copy)]
struct Paused {
    sent: Sent,
    packets: u32,
    /// The least and the most that the answer says they waited, ns.
    answer: [f64; 2],
    /// Who answered may have waited for their arrival; its stamps tick so often, ns.
    awaited: Option<f64>,
}

/// Packets of which nothing tells, and no others beside them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Alone {
    pub(crate) packets: u64,
    /// What they waited at the most, all together, ns: no more than their answers say, than leaves them before those
    /// that were sent later, and than anyone is known to have waited.
    pub(crate) most: f64,
    /// Others, of which nothing tells whether they arrived, and what all of them waited if they did, ns.
    pub(crate) doubted: (u64, f64),
}

impl Alone {
    pub(crate) fn join(&mut self, other: Self) {
        self.packets += other.packets;
        self.most += other.most;
        self.doubted.0 += other.doubted.0;
        self.doubted.1 += other.doubted.1;
    }
}

/// How much went to a host, since the capture began.
#[derive(Debug, Clone, Copy, Default)]
struct Went {
    /// Segments with data, all copies.
    data: u64,
    /// Those that were sent again.
    again: u64,
    /// Packets without data that nothing echoed.
    unproven: u64,
}

/// Packets to one host since the log was finalized last.
#[derive(Debug, Default)]
pub(crate) struct Interpolation {
    went: Went,
    told: [Vec<Told>; 2],
    untold: Vec<Untold>,
    /// Those that may have been lost.
    unproven: Vec<Untold>,
    /// Those that were answered after a pause.
    paused: Vec<Paused>,
    /// Those that senders waited for which are clocked by them, one connection's after another's.
    clocked: Vec<Vec<Paused>>,
    /// How many were answered after a pause in connections before this one.
    others: usize,
    /// How often the other end of this connection sent of its own accord after a pause.
    unprompted: u64,
}

impl Interpolation {
    /// A packet that was sent then waited for so many ns; `paused`: that is told because it was little.
    #[inline]
    pub(crate) fn told(&mut self, sent: Sent, delay: f64, paused: bool) {
        let told = &mut self.told[usize::from(paused)];
        let alike = |&((time, _), last): &Told| (sent.0 - time).abs() < NEAR && libm::fabs(delay - last) < NEAR as f64;
        if !told.last().is_some_and(alike) {
            told.push((sent, delay));
        }
    }

    /// Of so many packets, the last of which was sent then, nothing else tells, as is `seen` now.
    #[inline]
    pub(crate) fn untold(&mut self, sent: Sent, packets: u32, seen: i64) {
        join(&mut self.untold, Untold { sent, packets, seen });
    }

    /// Of so many without data, the last of which was sent then, nothing tells that they arrived.
    pub(crate) fn unproven(&mut self, sent: Sent, packets: u32) {
        self.went.unproven += u64::from(packets);
        join(&mut self.unproven, Untold { sent, packets, seen: 0 });
    }

    /// A segment with data left, perhaps `again`.
    #[inline]
    pub(crate) fn data(&mut self, again: bool) {
        self.went.data += 1;
        self.went.again += u64::from(again);
    }

    /// Of so many, an answer after a pause says no more than what they waited at the least and at the most, ns. Its
    /// sender's tick, ns, if that may have waited for their arrival.
    pub(crate) fn paused(&mut self, sent: Sent, packets: u32, answer: [f64; 2], awaited: Option<f64>) {
        self.paused.push(Paused { sent, packets, answer, awaited });
    }

    /// After a pause the other end sent what no arrival caused.
    pub(crate) fn unprompted(&mut self) {
        self.unprompted += 1;
    }

    /// All of a connection were given.
    pub(crate) fn connection(&mut self) {
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
        let Self { went, told: [mut told, paused], untold, paused: mut late, clocked, unproven, .. } =
            std::mem::take(self);
        self.went = went;
        let (unproven, doubted) = if went.arrives() > 0.0 { (unproven, Vec::new()) } else { (Vec::new(), unproven) };
        let mut alone = Alone::default();
        if [&untold, &unproven, &doubted].iter().all(|of| of.is_empty()) && late.is_empty() && clocked.is_empty() {
            return alone;
        }
        let arrived = arrived(unproven, went.arrives());
        in_order(&mut told);
        let (waited, paced): (Vec<_>, Vec<_>) = clocked.into_iter().partition(|of| in_turn(of, &told));
        late.extend(paced.into_iter().flatten());
        for Paused { sent, packets, answer: [_, most], .. } in waited.into_iter().flatten() {
            delays.add_times(most, packets);
            told.push((sent, most));
        }
        in_order(&mut told);
        let longest = told.iter().map(|(_, delay)| *delay).fold(0.0, f64::max);
        for Paused { sent, packets, answer: [least, most], .. } in late {
            let (earlier, later) = beside(&told, sent);
            match between(earlier, later) {
                Some(delay) => delays.add_times(delay.clamp(least, most), packets),
                None => {
                    alone.packets += u64::from(packets);
                    alone.most += f64::from(packets) * most.min(latest(later)).min(longest);
                }
            }
        }
        told.extend(paused);
        in_order(&mut told);
        for Untold { sent, packets, .. } in untold.into_iter().chain(arrived) {
            let (earlier, later) = beside(&told, sent);
            if let Some(delay) = between(earlier, later) {
                delays.add_times(delay, packets);
            }
        }
        for Untold { sent, packets, .. } in doubted {
            let (earlier, later) = beside(&told, sent);
            if let Some(delay) = between(earlier, later) {
                alone.doubted.0 += u64::from(packets);
                alone.doubted.1 += f64::from(packets) * delay;
            }
        }
        alone
    }
}

/// Whether hardly any of one connection's answers say that what they echo left after what was sent later.
fn in_turn(answered: &[Paused], told: &[Told]) -> bool {
    let late = |paused: &&Paused| {
        let tolerance = paused.awaited.unwrap_or(0.0) + NEAR as f64;
        paused.answer[1] > latest(beside(told, paused.sent).1) + tolerance
    };
    answered.iter().filter(late).count() as u64 * CLOCKED <= answered.len() as u64
}

impl Went {
    /// The share of packets that arrives, as data tell; 0 if they are too few.
    fn arrives(&self) -> f64 {
        if self.data == 0 || self.data < self.unproven { 0.0 } else { 1.0 - self.again as f64 / self.data as f64 }
    }
}

/// Add packets to those that were seen at the same time and sent beside them.
#[inline]
fn join(all: &mut Vec<Untold>, one: Untold) {
    match all.last_mut() {
        Some(last) if last.seen == one.seen && (one.sent.0 - last.sent.0).abs() < NEAR => {
            last.packets = last.packets.saturating_add(one.packets);
        }
        _ => all.push(one),
    }
}

/// Of all packets so large a share, evenly.
fn arrived(mut all: Vec<Untold>, share: f64) -> Vec<Untold> {
    all.sort_unstable_by_key(|untold| untold.sent.1);
    let mut owed = 0.5;
    for untold in &mut all {
        owed += f64::from(untold.packets) * share;
        untold.packets = owed as u32;
        owed -= f64::from(untold.packets);
    }
    all.retain(|untold| untold.packets > 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_nothing_tells_of_waited_what_those_beside_it_did() {
        let mut interpolation = Interpolation::default();
        // Of two connections, one after the other.
        for (sent, delay) in [(0, 1e6), (300, 40e6), (200, 20e6), (210, 30e6)] {
            interpolation.told((sent * MS, sent as u64), delay, false);
        }
        let mut delays = Quantiles::default();
        for (sent, packets) in [(204, 1), (206, 4), (301, 8), (401, 16), (150, 32)] {
            interpolation.untold((sent * MS, sent as u64), packets, 0);
        }
        // None was sent within a tenth of a second of the last but one.
        assert_eq!(interpolation.settle(&mut delays), Alone::default());
        assert_eq!(delays.count(), 1 + 4 + 8 + 32);
        let sum = 24.0 + 26.0 * 4.0 + 39.0 * 8.0 + 20.0 * 32.0;
        assert!((delays.mean() / 1e6 - sum / 45.0).abs() < 1e-6, "{}", delays.mean());
        // Each log has its own.
        interpolation.untold((204 * MS, 204), 1, 0);
        interpolation.paused((204 * MS, 204), 3, [0.0, 5e6], None);
        assert_eq!(interpolation.settle(&mut delays).packets, 3);
        assert_eq!(delays.count(), 45);
    }

    #[test]
    fn of_a_burst_that_is_sent_at_once_each_waits_for_those_before_it() {
        let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
        // Every other one is acknowledged; each takes 10 ms on the link.
        for frame in 0..10u64 {
            match frame % 2 {
                0 => interpolation.untold((0, frame), 1, frame as i64),
                _ => interpolation.told((0, frame), frame as f64 * 10e6, false),
            }
        }
        assert_eq!(interpolation.settle(&mut delays), Alone::default());
        let sum = 10.0 + 20.0 + 40.0 + 60.0 + 80.0;
        assert!((delays.mean() / 1e6 - sum / 5.0).abs() < 1e-6, "{}", delays.mean());
    }

    #[test]
    fn the_order_of_frames_tells_who_was_first_where_round_trips_in_microseconds_do_not() {
        let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
        interpolation.told((900, 0), 10e6, false);
        interpolation.untold((0, 1), 1, 0);
        interpolation.told((900, 2), 30e6, false);
        assert_eq!((interpolation.settle(&mut delays).packets, delays.mean()), (0, 20e6));
    }

    #[test]
    fn what_a_pause_hides_is_not_placed_beside_what_is_told_because_it_was_little() {
        let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
        interpolation.told((0, 0), 1e6, true);
        interpolation.paused((MS, 1), 4, [0.0, 9e6], None);
        interpolation.untold((2 * MS, 2), 2, 0);
        assert_eq!((interpolation.settle(&mut delays).packets, delays.count()), (4, 2));
        interpolation.told((0, 0), 9e6, false);
        interpolation.paused((MS, 1), 4, [0.0, 9e6], None);
        assert_eq!((interpolation.settle(&mut delays).packets, delays.max()), (0, 8e6));
    }

    #[test]
    fn what_is_placed_beside_others_lies_within_what_its_own_answer_leaves() {
        for (answer, placed) in [([0.0, 90e6], 10e6), ([30e6, 90e6], 30e6), ([0.0, 4e6], 4e6)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            interpolation.told((0, 0), 10e6, false);
            interpolation.paused((0, 1), 4, answer, None);
            interpolation.told((0, 2), 10e6, false);
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
            interpolation.connection();
            (0..awaited).for_each(|i| interpolation.paused((500 * MS, 100 + i), 1, [0.0, 50e6], Some(1e6)));
            interpolation.paused((500 * MS, 200), 1, [0.0, 90e6], None);
            (0..unprompted).for_each(|_| interpolation.unprompted());
            interpolation.connection();
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
                    interpolation.told((sent + 3 * MS, 2 * i + 1), waited * 1e6, false);
                }
            }
            interpolation.connection();
            interpolation.settle(&mut delays);
            assert_eq!(delays.mean() / 1e6, mean, "{others} {waited}");
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
            interpolation.told((0, 0), 5e6, false);
            (1..=packets).for_each(|i| interpolation.unproven((i * 2 * NEAR, i as u64), 1));
            interpolation.told((packets * 2 * NEAR, 1000), 5e6, false);
            let alone = interpolation.settle(&mut delays);
            assert_eq!((alone.packets, delays.count()), (0, counted), "{data} {again}");
            // Those that do not count may have arrived, and waited no longer than the others.
            let (doubted, waited) = alone.doubted;
            assert_eq!(doubted, if counted > 0 { 0 } else { packets as u64 }, "{data} {again}");
            assert!(waited <= doubted as f64 * 5e6 && (waited > 0.0) == (doubted > 0), "{waited}");
        }
    }

    #[test]
    fn those_that_arrived_lie_evenly_among_those_that_may_have() {
        let of = |frame| Untold { sent: (0, frame), packets: 3, seen: 0 };
        let packets =
            |share| arrived((0..4).rev().map(of).collect(), share).iter().map(|of| of.packets).collect::<Vec<_>>();
        assert_eq!((packets(1.0), packets(0.5), packets(0.1)), (vec![3; 4], vec![2, 1, 2, 1], vec![1]));
        let frames: Vec<_> = arrived((0..4).rev().map(of).collect(), 1.0).iter().map(|of| of.sent.1).collect();
        assert_eq!(frames, [0, 1, 2, 3]);
    }

    #[test]
    fn what_a_pause_hides_waited_no_more_than_its_answer_says_nor_longer_than_what_was_sent_later() {
        for (answer, later, most) in [(9e6, 40e6, 9e6), (80e6, 40e6, 50e6), (200e6, 0.0, 140e6)] {
            let (mut interpolation, mut delays) = (Interpolation::default(), Quantiles::default());
            // The longest that is known, long before; and one that was sent 140 ms later.
            interpolation.told((0, 0), 50e6, false);
            interpolation.paused((360 * MS, 1), 3, [0.0, answer], None);
            interpolation.told((500 * MS, 2), later, false);
            if later == 0.0 {
                interpolation.told((900 * MS, 3), 300e6, false);
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
        (0..10_000).for_each(|i| interpolation.told((i * 1000, i as u64), 1e6, false));
        assert_eq!(interpolation.told[0].len(), 10);
        (0..10).for_each(|i| interpolation.told((0, i as u64), i as f64 * 1e6, true));
        assert_eq!(interpolation.told[1].len(), 10);
        // Those that one acknowledgement covers.
        (0..10_000).for_each(|i| interpolation.untold((i * 1000, i as u64), 1, i / 5000));
        assert_eq!(interpolation.untold.len(), 10);
    }
}
