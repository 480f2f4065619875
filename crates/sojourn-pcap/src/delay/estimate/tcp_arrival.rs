//! Which of the near side's segments an acknowledgement speaks of, seen beside their sender.
//!
//! The time from a segment to the acknowledgement that its arrival caused is a round trip of both queues, and of
//! nothing else. The segment is found by sequence numbers (RFC 9293, RFC 2018): without a hole, the last that is
//! covered; in a hole, the one that the first SACK block adds; when the hole is filled, the retransmission whose stamp
//! is echoed (RFC 7323 §4.3). What stays ambiguous (Karn) gives nothing, nor does what an acknowledgement covers that a
//! duplicate caused (RFC 2883 §4: its first block lies below what it acknowledges): it had arrived before, and what
//! said so was lost.
//!
//! An acknowledgement of one segment may have been delayed by its receiver: such are marked. A receiver acknowledges
//! every second full-sized segment at once (RFC 5681 §4.2), and echoes the stamp of the first that it had not
//! acknowledged (RFC 7323 §4.3). So where an acknowledgement was lost, what the next one covers beyond an even number
//! came alone, as did the last if its stamp is echoed; one that echoes a later stamp than all that it covers was held
//! back until then. A last segment that is not full ends no delay, though Linux counts bytes and lets it.

use crate::decode::tcp::Segment;
use crate::delay::estimate::SentAt;
use crate::delay::estimate::tcp_report::before;
use std::collections::VecDeque;
use std::ops::Range;

/// Segments that are remembered; what is further in flight is not timed.
const MOST_WAITING: usize = 32_768;
/// Retransmissions that are remembered.
const MOST_AGAIN: usize = 4096;
/// No segment of an Ethernet is longer; what is may be several that the sender's adapter will cut.
const ETHERNET_MSS: u32 = 1460;

/// A data segment of the near side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed {
    seq: u32,
    end: u32,
    stamp: u32,
    told: bool,
    /// It was sent once more, so that this copy of what was sent again need not have arrived.
    superseded: bool,
    /// Frame number.
    pub frame: u64,
    /// Capture time, ns.
    pub time: i64,
    /// Length of the frame on the wire.
    pub length: u16,
}

/// What an acknowledgement tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The segment whose arrival caused it.
    pub departed: Departed,
    /// It may have waited for a second segment that never came.
    pub lone: bool,
    /// The segment had been sent before.
    pub again: bool,
    /// Segments that nothing else tells of: this one, and those before it that were acknowledged with it.
    pub covered: u32,
}

/// Segments of one near sender that are in flight.
#[derive(Debug, Default)]
pub struct InFlight {
    /// Sent for the first time, in the order of their sequence numbers.
    fresh: VecDeque<Departed>,
    /// Sent again, and not known to have arrived, in the same order; copies of one segment in that of their times.
    again: VecDeque<Departed>,
    highest: Option<u32>,
    /// The longest segment, that of an Ethernet at most: shorter ones are not full.
    full: u32,
    last_ack: Option<u32>,
    hole: bool,
    /// The first block of the last acknowledgement.
    block: Option<(u32, u32)>,
}

impl InFlight {
    /// Places of its queues.
    #[inline]
    pub fn places(&self) -> usize {
        self.fresh.capacity() + self.again.capacity()
    }

    /// A segment with data left; whether any of it had left before. `untold` as of [`Self::acknowledged`].
    #[inline]
    pub fn sent(
        &mut self,
        segment: &Segment,
        stamp: u32,
        (frame, time): (u64, i64),
        length: u16,
        untold: impl FnOnce(SentAt),
    ) -> bool {
        let (seq, end) = (segment.seq, segment.end());
        let departed = Departed { seq, end, stamp, told: false, superseded: false, frame, time, length };
        if self.highest.is_some_and(|highest| before(seq, highest)) {
            // Of a segment that was sent twice, which copy arrived is not known: the first tells nothing any more.
            let at = self.fresh.partition_point(|other| before(other.seq, seq));
            self.fresh.range_mut(at..).take_while(|other| before(other.seq, end)).for_each(|other| other.told = true);
            if self.again.len() == MOST_AGAIN {
                let first = self.again.pop_front().filter(|departed| !departed.superseded);
                if let Some(departed) = first {
                    untold((departed.time, departed.frame));
                }
            }
            let at = self.again.partition_point(|other| !before(seq, other.seq));
            let copies = self.again.range_mut(..at).rev().take_while(|other| other.seq == seq);
            copies.for_each(|other| other.superseded = true);
            self.again.insert(at, departed);
            return true;
        }
        self.highest = Some(end);
        self.full = self.full.max(segment.payload.min(ETHERNET_MSS));
        if self.fresh.len() < MOST_WAITING {
            self.fresh.push_back(departed);
        }
        false
    }

    /// An acknowledgement came back, which echoes the stamp `echo`.
    /// `untold` is given each other segment that it says arrived, of which nothing else tells.
    #[inline]
    pub fn acknowledged(&mut self, ack: &Segment, echo: u32, mut untold: impl FnMut(SentAt)) -> Option<Arrival> {
        let last = self.last_ack.unwrap_or(ack.ack);
        if before(ack.ack, last) {
            return None;
        }
        self.last_ack = Some(ack.ack);
        let duplicate = ack.sack().is_some_and(|(_, right)| !before(ack.ack, right));
        let block = ack.sack().filter(|&(left, right)| before(ack.ack, left) && before(left, right));
        // What lies beyond a duplicate is in blocks that are not read: the hole may be there as before.
        let hole = block.is_some() || (duplicate && self.hole);
        if self.fresh.is_empty() && self.again.is_empty() {
            self.hole = hole;
            return None;
        }
        // What was sent twice and is now covered: the stamp that is echoed tells which copy, if any does.
        let resent = self.again_within(last, ack.ack);
        let filled = ack.ack != last && (self.hole || !resent.is_empty());
        // A block that changed holds what caused this one (RFC 2018 §4); the one that the filling caused was lost.
        let before_it = std::mem::replace(&mut self.block, block).filter(|&(_, right)| before(ack.ack, right));
        let by_another = self.hole && block.is_some() && before_it.is_some() && before_it != block;
        let told = if duplicate || (filled && by_another) {
            None
        } else if filled {
            let again = self.again.range(resent).rev().find(|departed| departed.stamp == echo).copied();
            again.map(|departed| {
                // Beyond a hole, or with what lies there, it is acknowledged at once (RFC 5681 §4.2).
                let beyond = self.hole || block.is_some() || ack.ack != departed.end || last != departed.seq;
                Arrival { departed, lone: !beyond, again: true, covered: 1 }
            })
        } else if let Some(block) = block {
            self.selected(block, &mut untold).map(|departed| Arrival {
                departed,
                lone: false,
                again: false,
                covered: 1,
            })
        } else {
            None
        };
        self.hole = hole;
        let (mut covered, mut fresh, mut found) = (0, 0, None::<Departed>);
        // An acknowledgement that echoes an older stamp than all that it covers was caused by another segment: one that
        // left before the capture began, and that the one here was sent again for.
        let older = self.fresh.front().is_some_and(|first| before(echo, first.stamp));
        while let Some(front) = self.fresh.front()
            && !before(ack.ack, front.end)
        {
            covered += u32::from(!before(front.stamp, echo));
            fresh += u32::from(!front.told);
            let (last, departed) = (found, self.fresh.pop_front());
            last.filter(|last| !last.told).inspect(|last| untold((last.time, last.frame)));
            found = departed;
        }
        while let Some(front) = self.again.front()
            && !before(ack.ack, front.end)
        {
            // Of several copies of one segment one arrived.
            let counted = front.superseded || told.is_some_and(|told| told.departed.seq == front.seq);
            let departed = self.again.pop_front();
            departed.filter(|_| !counted).inspect(|departed| untold((departed.time, departed.frame)));
        }
        let last = found.filter(|departed| !departed.told);
        let found = last.filter(|departed| departed.end == ack.ack && !filled && !self.hole && !older && !duplicate);
        if let (Some(last), None) = (last, found) {
            untold((last.time, last.frame));
        }
        if filled || self.hole || duplicate {
            return told;
        }
        found.map(|departed| {
            let whole = departed.end.wrapping_sub(departed.seq) >= self.full;
            Arrival { departed, lone: covered == 0 || covered % 2 == 1 || !whole, again: false, covered: fresh }
        })
    }

    /// Places of what was sent again and begins there.
    fn again_within(&self, left: u32, right: u32) -> Range<usize> {
        let [from, to] = [left, right].map(|end| self.again.partition_point(|departed| before(departed.seq, end)));
        from..to.max(from)
    }

    /// The segment that the first SACK block adds to what is known to have arrived.
    fn selected(&mut self, (left, right): (u32, u32), mut untold: impl FnMut(SentAt)) -> Option<Departed> {
        // If something was sent again and lies there, that may be what it adds.
        let again = self.again_within(left, right);
        let alone = again.is_empty();
        let arrived = self.again.drain(again).filter(|departed| !departed.superseded);
        arrived.for_each(|departed| untold((departed.time, departed.frame)));
        let at = self.fresh.partition_point(|departed| before(departed.end, right));
        let departed = self.fresh.get_mut(at)?;
        let new = departed.end == right && !before(departed.seq, left) && !departed.told && alone;
        departed.told = true;
        new.then_some(*departed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, ack: u32, payload: u32) -> Segment {
        Segment::new([seq, ack], 16, payload)
    }

    fn five() -> InFlight {
        let mut flight = InFlight::default();
        for n in 0..5u32 {
            flight.sent(&segment(100 * n, 0, 100), n, (u64::from(n), 0), 166, |_| ());
        }
        flight
    }

    fn frame(arrival: Option<Arrival>) -> Option<(u64, bool)> {
        arrival.map(|arrival| (arrival.departed.frame, arrival.lone))
    }

    #[test]
    fn a_long_flight_is_timed_to_its_end() {
        let mut flight = InFlight::default();
        for n in 0..20_000u32 {
            flight.sent(&segment(100 * n, 0, 100), 1, (u64::from(n), 0), 166, |_| ());
        }
        let last = flight.acknowledged(&segment(0, 2_000_000, 0), 1, |_| ());
        assert_eq!(frame(last), Some((19_999, false)));
    }

    #[test]
    fn an_acknowledgement_times_the_last_segment_that_it_covers() {
        let mut flight = five();
        assert_eq!(frame(flight.acknowledged(&segment(0, 200, 0), 0, |_| ())), Some((1, false)));
        assert_eq!(frame(flight.acknowledged(&segment(0, 200, 0), 0, |_| ())), None);
        assert_eq!(frame(flight.acknowledged(&segment(0, 250, 0), 0, |_| ())), None, "no segment ends there");
        assert_eq!(frame(flight.acknowledged(&segment(0, 400, 0), 2, |_| ())), Some((3, false)));
        assert_eq!(
            frame(flight.acknowledged(&segment(0, 500, 0), 4, |_| ())),
            Some((4, true)),
            "it may have been delayed"
        );
    }

    #[test]
    fn of_an_odd_number_or_after_a_lost_acknowledgement_the_last_may_have_been_alone() {
        // Stamps of five segments; what is acknowledged and echoed.
        for (stamps, ack, echo, lone) in [
            ([7; 5], 200, 7, false),
            ([7; 5], 300, 7, true),
            ([7; 5], 400, 7, false),
            ([7, 8, 9, 9, 9], 200, 7, false),
            ([7, 8, 9, 9, 9], 200, 8, true),
            ([7, 8, 9, 9, 9], 300, 8, false),
            // A packet without data came after it, and was sent later.
            ([7, 8, 9, 9, 9], 200, 9, true),
        ] {
            let mut flight = InFlight::default();
            for (n, stamp) in (0..).zip(stamps) {
                flight.sent(&segment(100 * n, 0, 100), stamp, (u64::from(n), 0), 166, |_| ());
            }
            let told = flight.acknowledged(&segment(0, ack, 0), echo, |_| ());
            assert_eq!(frame(told), Some((u64::from(ack) / 100 - 1, lone)), "{stamps:?} {ack} {echo}");
        }
    }

    #[test]
    fn a_last_segment_that_is_not_full_ends_no_delay() {
        // Payloads of two that are acknowledged together, after a full one; several in one frame may be cut later.
        for (payloads, lone) in [
            ([1448, 1448, 1448], false),
            ([1448, 1448, 1447], true),
            ([1448, 1447, 1448], false),
            ([200, 200, 200], false),
            ([14_480, 1448, 2000], false),
            ([14_480, 14_480, 1459], true),
        ] {
            let (mut flight, mut seq) = (InFlight::default(), 0);
            for (n, payload) in (0..).zip(payloads) {
                flight.sent(&segment(seq, 0, payload), 1, (n, 0), 66, |_| ());
                seq += payload;
            }
            flight.acknowledged(&segment(0, payloads[0], 0), 1, |_| ());
            let told = flight.acknowledged(&segment(0, seq, 0), 1, |_| ());
            assert_eq!(frame(told), Some((2, lone)), "{payloads:?}");
        }
    }

    #[test]
    fn an_acknowledgement_stands_for_what_it_covers_and_nothing_else_tells_of() {
        let mut flight = five();
        let beyond = segment(0, 0, 0).with(None, Some((100, 200)));
        let acks = [(beyond, 0), (segment(0, 100, 0), 0), (segment(0, 500, 0), 2)];
        let told = acks.map(|(ack, echo)| flight.acknowledged(&ack, echo, |_| ()));
        let covered = told.map(|arrival| arrival.map(|arrival| (arrival.departed.frame, arrival.covered)));
        // The second was acknowledged selectively. What filled the hole is not known; then three came together.
        assert_eq!(covered, [Some((1, 1)), None, Some((4, 3))]);
    }

    #[test]
    fn what_was_sent_again_for_a_segment_before_the_capture_is_not_timed() {
        let mut flight = InFlight::default();
        flight.sent(&segment(0, 0, 100), 50, (1, 0), 166, |_| ());
        assert_eq!(
            frame(flight.acknowledged(&segment(0, 100, 0), 20, |_| ())),
            None,
            "the stamp is that of the first copy"
        );
        // Two that are acknowledged together echo the stamp of the first of them (RFC 7323 §4.3).
        flight.sent(&segment(100, 0, 100), 60, (2, 0), 166, |_| ());
        flight.sent(&segment(200, 0, 100), 61, (3, 0), 166, |_| ());
        assert_eq!(frame(flight.acknowledged(&segment(0, 300, 0), 60, |_| ())), Some((3, false)));
    }

    #[test]
    fn what_a_duplicate_causes_tells_of_no_arrival() {
        // What is sent again arrives, but its acknowledgement is lost; a copy is acknowledged later, which echoes the
        // stamp of the one that arrived first. Beyond it the hole is filled, or not yet.
        for hole in [false, true] {
            let (mut flight, mut untold) = (five(), Vec::new());
            if hole {
                flight.acknowledged(&segment(0, 0, 0).with(None, Some((100, 300))), 9, |_| ());
            }
            for (stamp, frame) in [(7, 50), (8, 60)] {
                flight.sent(&segment(0, 0, 100), stamp, (frame, 0), 166, |_| ());
            }
            let duplicate = segment(0, 300, 0).with(None, Some((0, 100)));
            assert_eq!(frame(flight.acknowledged(&duplicate, 7, |(_, frame)| untold.push(frame))), None);
            untold.sort_unstable();
            assert_eq!(untold, if hole { vec![1, 60] } else { vec![1, 2, 60] }, "one of several copies counts");
            let next = frame(flight.acknowledged(&segment(0, 500, 0), 3, |_| ()));
            assert_eq!(next, (!hole).then_some((4, false)), "a hole may be there as before");
        }
    }

    #[test]
    fn in_a_hole_the_selective_acknowledgement_tells_which() {
        let mut flight = five();
        let beyond = |right| segment(0, 0, 0).with(None, Some((100, right)));
        assert_eq!(frame(flight.acknowledged(&beyond(200), 9, |_| ())), Some((1, false)));
        assert_eq!(frame(flight.acknowledged(&beyond(300), 9, |_| ())), Some((2, false)));
        assert_eq!(frame(flight.acknowledged(&beyond(300), 9, |_| ())), None, "each is told once");
        flight.sent(&segment(0, 0, 100), 7, (50, 0), 166, |_| ());
        let mut other = five();
        std::mem::swap(&mut other, &mut flight);
        // The hole is filled by the retransmission, whose stamp is echoed.
        assert_eq!(frame(other.acknowledged(&segment(0, 300, 0), 7, |_| ())), Some((50, false)));
        assert_eq!(frame(other.acknowledged(&segment(0, 500, 0), 3, |_| ())), Some((4, false)));
        // The original that was only late: the stamp is not the retransmission's.
        flight.acknowledged(&beyond(200), 9, |_| ());
        flight.sent(&segment(0, 0, 100), 7, (50, 0), 166, |_| ());
        assert_eq!(frame(flight.acknowledged(&segment(0, 200, 0), 0, |_| ())), None);
    }

    #[test]
    fn of_what_was_acknowledged_together_each_other_one_is_untold() {
        let (mut flight, mut untold) = (five(), Vec::new());
        let beyond = segment(0, 0, 0).with(None, Some((200, 300)));
        for (ack, echo) in [(beyond, 0), (segment(0, 0, 0), 0), (segment(0, 500, 0), 0)] {
            flight.acknowledged(&ack, echo, |(_, frame)| untold.push(frame));
        }
        assert_eq!(untold, [0, 1, 3], "the third was told of, and the last caused it");
    }

    #[test]
    fn of_several_copies_of_one_segment_one_arrived() {
        for (echo, counted) in [(9, vec![52]), (7, vec![])] {
            let (mut flight, mut untold) = (five(), Vec::new());
            for (stamp, frame) in [(7, 51), (8, 52)] {
                flight.sent(&segment(0, 0, 100), stamp, (frame, 0), 166, |_| ());
            }
            flight.acknowledged(&segment(0, 0, 0), 9, |_| ());
            let told = flight.acknowledged(&segment(0, 100, 0), echo, |(_, frame)| untold.push(frame));
            assert_eq!((frame(told), untold), (counted.is_empty().then_some((51, true)), counted), "{echo}");
        }
    }

    #[test]
    fn each_of_thousands_that_were_sent_again_counts_however_it_arrives() {
        let (mut flight, mut untold) = (InFlight::default(), Vec::new());
        let of = |n: u32| segment(100 * n, 0, 100);
        let all = MOST_AGAIN as u32 + 10;
        (0..all + 5).for_each(|n| _ = flight.sent(&of(n), 1, (0, 0), 166, |_| ()));
        // The last of all was lost again before.
        for n in [all - 1].into_iter().chain(0..all) {
            flight.sent(&of(n), 2, (u64::from(n), 0), 166, |(_, frame)| untold.push(frame));
        }
        // Those are too many to wait for; a block holds some; the others are acknowledged.
        assert_eq!(untold, (0..11).collect::<Vec<_>>());
        let end = 100 * (all + 5);
        let block = segment(0, 0, 0).with(None, Some((100 * (all - 20), end)));
        assert_eq!(
            frame(flight.acknowledged(&block, 1, |(_, frame)| untold.push(frame))),
            None,
            "one of them, or the end"
        );
        assert_eq!(untold.len(), 11 + 20);
        flight.acknowledged(&segment(0, end, 0), 1, |(_, frame)| untold.push(frame));
        let again: Vec<_> = untold.into_iter().filter(|&frame| frame > 0).collect();
        assert_eq!(again.len() as u32, all - 1, "each once");
    }

    #[test]
    fn what_was_sent_again_in_order_may_be_acknowledged_late() {
        for (hole, lone) in [(false, true), (true, false)] {
            let mut flight = five();
            let block = hole.then_some((200, 300));
            flight.acknowledged(&segment(0, 0, 0).with(None, block), 9, |_| ());
            flight.sent(&segment(0, 0, 100), 7, (50, 0), 166, |_| ());
            assert_eq!(frame(flight.acknowledged(&segment(0, 100, 0), 7, |_| ())), Some((50, lone)));
        }
    }

    #[test]
    fn where_acknowledgements_are_lost_a_changed_block_tells_what_caused_one() {
        for (block, told) in [((200, 300), Some((50, false))), ((200, 400), None)] {
            let mut flight = five();
            flight.acknowledged(&segment(0, 0, 0).with(None, Some((200, 300))), 9, |_| ());
            flight.sent(&segment(0, 0, 100), 7, (50, 0), 166, |_| ());
            let filled = segment(0, 100, 0).with(None, Some(block));
            assert_eq!(frame(flight.acknowledged(&filled, 7, |_| ())), told);
        }
    }

    #[test]
    fn a_block_that_something_sent_again_joined_tells_nothing_of_its_end() {
        let mut flight = five();
        flight.sent(&segment(200, 0, 100), 7, (50, 0), 166, |_| ());
        let joined = segment(0, 0, 0).with(None, Some((100, 500)));
        assert_eq!(frame(flight.acknowledged(&joined, 9, |_| ())), None);
        let mut flight = five();
        assert_eq!(frame(flight.acknowledged(&joined, 9, |_| ())), Some((4, false)));
    }
}
