//! Which of the near side's segments an acknowledgement speaks of, seen beside their sender.
//!
//! The time from a segment to the acknowledgement that its arrival caused is a round trip of both queues, and of
//! nothing else. The segment is found by sequence numbers (RFC 9293, RFC 2018): without a hole, the last that is
//! covered; in a hole, the one that the first SACK block adds; when the hole is filled, the retransmission whose stamp
//! is echoed (RFC 7323 §4.3). What stays ambiguous (Karn) gives no delay: the next segment that is told of stands for
//! it.
//!
//! An acknowledgement of one segment may have been delayed by its receiver: such are marked.

use crate::decode::tcp::Segment;
use crate::delay::estimate::tcp_report::before;
use crate::delay::log::entry::MOST_COVERED;
use std::collections::VecDeque;

/// Segments that are remembered; what is further in flight is not timed.
const MOST_WAITING: usize = 4096;
/// Retransmissions that are remembered.
const MOST_AGAIN: usize = 64;

/// A data segment of the near side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departed {
    seq: u32,
    end: u32,
    stamp: u32,
    told: bool,
    /// It arrived, and nothing tells which copy of it, or when.
    ambiguous: bool,
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
    /// Others arrived with it, which are acknowledged together.
    pub together: bool,
    /// Segments that nothing else tells of: this one, and those since the last that are known to have arrived. Without
    /// them times of loss would count for less: acknowledgements are lost then, and segments sent twice.
    pub stands_for: u32,
}

/// Segments of one near sender that are in flight.
#[derive(Debug, Default)]
pub struct InFlight {
    /// Sent for the first time, in the order of their sequence numbers.
    fresh: VecDeque<Departed>,
    again: VecDeque<Departed>,
    highest: Option<u32>,
    last_ack: Option<u32>,
    hole: bool,
    /// Segments that arrived, and of which nothing tells when, since the last of which something does.
    untold: u32,
}

impl InFlight {
    /// Places of its queues.
    #[inline]
    pub fn places(&self) -> usize {
        self.fresh.capacity() + self.again.capacity()
    }

    /// A segment with data left.
    #[inline]
    pub fn sent(&mut self, segment: &Segment, stamp: u32, (frame, time): (u64, i64), length: u16) {
        let (seq, end) = (segment.seq, segment.end());
        let departed = Departed { seq, end, stamp, told: false, ambiguous: false, frame, time, length };
        if self.highest.is_some_and(|highest| before(seq, highest)) {
            // Of a segment that was sent twice, which copy arrived is not known: the first tells nothing any more.
            let at = self.fresh.partition_point(|other| before(other.seq, seq));
            self.fresh.range_mut(at..).take_while(|other| before(other.seq, end)).for_each(Departed::repeated);
            if self.again.len() == MOST_AGAIN {
                self.again.pop_front();
            }
            return self.again.push_back(departed);
        }
        self.highest = Some(end);
        if self.fresh.len() < MOST_WAITING {
            self.fresh.push_back(departed);
        }
    }

    /// An acknowledgement came back, which echoes the stamp `echo`.
    #[inline]
    pub fn acknowledged(&mut self, ack: &Segment, echo: u32) -> Option<Arrival> {
        let last = self.last_ack.unwrap_or(ack.ack);
        if before(ack.ack, last) {
            return None;
        }
        self.last_ack = Some(ack.ack);
        let block = ack.sack().filter(|&(left, right)| before(ack.ack, left) && before(left, right));
        if self.fresh.is_empty() && self.again.is_empty() {
            self.hole = block.is_some();
            return None;
        }
        // What was sent twice and is now covered: the stamp that is echoed tells which copy, if any does.
        let resent = |departed: &Departed| !before(departed.seq, last) && before(departed.seq, ack.ack);
        let filled = ack.ack != last && (self.hole || self.again.iter().any(resent));
        let told = if filled {
            self.again.iter().rev().find(|&departed| resent(departed) && departed.stamp == echo).copied()
        } else {
            block.and_then(|block| self.selected(block))
        };
        self.hole = block.is_some();
        let (mut covered, mut together, mut found) = (0, 0, None);
        // An acknowledgement that echoes an older stamp than all that it covers was caused by another segment: one that
        // left before the capture began, and that the one here was sent again for.
        let older = self.fresh.front().is_some_and(|first| before(echo, first.stamp));
        while let Some(front) = self.fresh.front()
            && !before(ack.ack, front.end)
        {
            covered += 1;
            together += u32::from(!front.told);
            self.untold += u32::from(!front.told || front.ambiguous);
            found = self.fresh.pop_front();
        }
        if covered > 0 {
            self.again.retain(|departed| before(ack.ack, departed.end));
        }
        let alone = !filled && !self.hole;
        let last = found.filter(|departed| departed.end == ack.ack && !departed.told && !older);
        let departed = if alone { last } else { told }?;
        let stands_for = self.untold.clamp(1, MOST_COVERED);
        self.untold = self.untold.saturating_sub(stands_for);
        Some(Arrival { departed, lone: alone && covered == 1, together: alone && together > 1, stands_for })
    }

    /// The last segment that the first SACK block adds to what is known to have arrived. Those before it whose own
    /// acknowledgements were lost are added by it, too.
    fn selected(&mut self, (left, right): (u32, u32)) -> Option<Departed> {
        let at = self.fresh.partition_point(|departed| before(departed.end, right));
        let departed = *self.fresh.get(at)?;
        if departed.end != right || before(departed.seq, left) || departed.told {
            self.fresh[at].repeated();
            return None;
        }
        for other in self.fresh.range_mut(..=at).rev().take_while(|other| !before(other.seq, left)) {
            if other.told && !other.ambiguous {
                break;
            }
            self.untold += u32::from(!std::mem::replace(&mut other.told, true));
        }
        Some(departed)
    }
}

impl Departed {
    /// It was sent again, or a part of it: its arrival tells nothing any more, if none has been told.
    fn repeated(&mut self) {
        self.ambiguous |= !std::mem::replace(&mut self.told, true);
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
            flight.sent(&segment(100 * n, 0, 100), n, (u64::from(n), 0), 166);
        }
        flight
    }

    fn frame(arrival: Option<Arrival>) -> Option<(u64, bool)> {
        arrival.map(|arrival| (arrival.departed.frame, arrival.lone))
    }

    #[test]
    fn an_acknowledgement_times_the_last_segment_that_it_covers() {
        let mut flight = five();
        assert_eq!(frame(flight.acknowledged(&segment(0, 200, 0), 0)), Some((1, false)));
        assert_eq!(frame(flight.acknowledged(&segment(0, 200, 0), 0)), None);
        assert_eq!(frame(flight.acknowledged(&segment(0, 250, 0), 0)), None, "no segment ends there");
        assert_eq!(frame(flight.acknowledged(&segment(0, 400, 0), 2)), Some((3, false)));
        assert_eq!(frame(flight.acknowledged(&segment(0, 500, 0), 4)), Some((4, true)), "it may have been delayed");
    }

    #[test]
    fn an_acknowledgement_stands_for_what_it_covers_and_nothing_else_tells_of() {
        let mut flight = five();
        let beyond = segment(0, 0, 0).with(None, Some((100, 200)));
        let acks = [(beyond, 0), (segment(0, 100, 0), 0), (segment(0, 500, 0), 2)];
        let told = acks.map(|(ack, echo)| flight.acknowledged(&ack, echo));
        let stands_for = told.map(|arrival| arrival.map(|arrival| (arrival.departed.frame, arrival.stands_for)));
        // The second was acknowledged selectively. What filled the hole is not known; then three came together, which
        // stand for the first, too.
        assert_eq!(stands_for, [Some((1, 1)), None, Some((4, 4))]);
    }

    #[test]
    fn where_acknowledgements_are_lost_the_next_stands_for_what_they_would_have_told_of() {
        let mut flight = five();
        let stands_for = |arrival: Option<Arrival>| {
            arrival.map(|arrival| (arrival.departed.frame, arrival.stands_for, arrival.together))
        };
        // The first segment was lost. Those of the second and the third, and then that of the fourth.
        let beyond = |right| segment(0, 0, 0).with(None, Some((100, right)));
        assert_eq!(stands_for(flight.acknowledged(&beyond(300), 9)), Some((2, 2, false)));
        assert_eq!(stands_for(flight.acknowledged(&beyond(200), 9)), None, "that is known");
        // The first and the fourth are sent again, and arrive, the fourth when it had arrived before.
        flight.sent(&segment(0, 0, 100), 7, (50, 0), 166);
        flight.sent(&segment(300, 0, 100), 8, (51, 0), 166);
        assert_eq!(stands_for(flight.acknowledged(&beyond(400), 9)), None, "of two copies");
        assert_eq!(stands_for(flight.acknowledged(&segment(0, 400, 0), 7)), Some((50, 2, false)));
        assert_eq!(stands_for(flight.acknowledged(&segment(0, 500, 0), 4)), Some((4, 1, false)));
        // Nothing was lost: those that are acknowledged together are two.
        assert_eq!(stands_for(five().acknowledged(&segment(0, 200, 0), 0)), Some((1, 2, true)));
        // Between two whose acknowledgements are lost, one was sent again.
        let mut flight = five();
        flight.sent(&segment(200, 0, 100), 7, (50, 0), 166);
        assert_eq!(stands_for(flight.acknowledged(&beyond(400), 9)), Some((3, 2, false)));
        // One of two copies arrived; the next, which is acknowledged alone, stands for it and came by itself.
        let mut flight = five();
        flight.sent(&segment(0, 0, 100), 7, (50, 0), 166);
        let acks = [(0, 9), (100, 9), (200, 1)].map(|(ack, echo)| flight.acknowledged(&segment(0, ack, 0), echo));
        assert_eq!(acks.map(stands_for), [None, None, Some((1, 2, false))]);
    }

    #[test]
    fn an_arrival_stands_for_so_many_and_leaves_the_rest_to_the_next() {
        let mut flight = InFlight::default();
        for n in 0..30u32 {
            flight.sent(&segment(100 * n, 0, 100), n, (u64::from(n), 0), 166);
        }
        let stands_for = [2000, 2900, 3000].map(|ack| flight.acknowledged(&segment(0, ack, 0), ack / 100 - 1));
        assert_eq!(stands_for.map(|arrival| arrival.map(|arrival| arrival.stands_for)), [Some(15), Some(14), Some(1)]);
    }

    #[test]
    fn what_was_sent_again_for_a_segment_before_the_capture_is_not_timed() {
        let mut flight = InFlight::default();
        flight.sent(&segment(0, 0, 100), 50, (1, 0), 166);
        assert_eq!(frame(flight.acknowledged(&segment(0, 100, 0), 20)), None, "the stamp is that of the first copy");
        // Two that are acknowledged together echo the stamp of the first of them (RFC 7323 §4.3).
        flight.sent(&segment(100, 0, 100), 60, (2, 0), 166);
        flight.sent(&segment(200, 0, 100), 61, (3, 0), 166);
        assert_eq!(frame(flight.acknowledged(&segment(0, 300, 0), 60)), Some((3, false)));
    }

    #[test]
    fn in_a_hole_the_selective_acknowledgement_tells_which() {
        let mut flight = five();
        let beyond = |right| segment(0, 0, 0).with(None, Some((100, right)));
        assert_eq!(frame(flight.acknowledged(&beyond(200), 9)), Some((1, false)));
        assert_eq!(frame(flight.acknowledged(&beyond(300), 9)), Some((2, false)));
        assert_eq!(frame(flight.acknowledged(&beyond(300), 9)), None, "each is told once");
        flight.sent(&segment(0, 0, 100), 7, (50, 0), 166);
        let mut other = five();
        std::mem::swap(&mut other, &mut flight);
        // The hole is filled by the retransmission, whose stamp is echoed.
        assert_eq!(frame(other.acknowledged(&segment(0, 300, 0), 7)), Some((50, false)));
        assert_eq!(frame(other.acknowledged(&segment(0, 500, 0), 3)), Some((4, false)));
        // The original that was only late: the stamp is not the retransmission's.
        flight.acknowledged(&beyond(200), 9);
        flight.sent(&segment(0, 0, 100), 7, (50, 0), 166);
        assert_eq!(frame(flight.acknowledged(&segment(0, 200, 0), 0)), None);
    }
}
