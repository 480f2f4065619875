//! TCP timestamps of both ends: equations (3) and (4) of the method.
//!
//! The acknowledgement of a data segment carries the receiver's clock, the segment the sender's. The segment is found
//! by its sequence number, not by the echoed stamp, which is that of the earliest segment that a delayed
//! acknowledgement covers. Segments that arrive while something is missing are acknowledged at the wrong time: after a
//! gap every sample is dropped until the acknowledgement has passed the highest sequence number seen during the gap,
//! and the acknowledgement that passes it too. Where the observer is far from the receiver, gaps are seen by duplicate
//! acknowledgements.

use crate::decode::tcp::Segment;
use crate::delay::discard::Discard;
use std::collections::VecDeque;

/// A data segment that waits for its acknowledgement.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Sequence number after it.
    pub end: u32,
    /// Its stamp, ticks on the flow's line.
    pub stamp: i64,
    /// Frame number.
    pub frame: u64,
    /// Capture time, ns.
    pub time: i64,
    /// Bytes of the frame.
    pub length: u16,
}

/// Segments of one sender in flight between observer and receiver.
#[derive(Debug, Default)]
pub struct Reports {
    waiting: VecDeque<Sent>,
    highest: Option<u32>,
    hole: Option<u32>,
    last_ack: u32,
}

const MOST_WAITING: usize = 8192;

/// Whether `a` is before `b` in sequence space.
#[inline]
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Reports {
    /// Places of its queues.
    #[inline]
    pub fn places(&self) -> usize {
        self.waiting.capacity()
    }

    /// A segment with data passed. `far`: its receiver is not near the observer.
    #[inline]
    pub fn sent(&mut self, segment: &Segment, stamp: i64, sent: (u64, i64, u16), far: bool) {
        let (frame, time, length) = sent;
        let end = segment.end();
        let highest = *self.highest.get_or_insert(segment.seq);
        if segment.seq != highest {
            let top = if before(highest, end) { end } else { highest };
            self.hole = Some(self.hole.map_or(top, |hole| if before(hole, top) { top } else { hole }));
        } else if let Some(hole) = &mut self.hole
            && !far
            && before(*hole, end)
        {
            // Seen near the receiver, what arrives now arrives during the gap; far from it, it will arrive after.
            *hole = end;
        }
        if before(highest, end) {
            self.highest = Some(end);
        }
        if self.hole.is_none() {
            if self.waiting.len() == MOST_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(Sent { end, stamp, frame, time, length });
        }
    }

    /// An acknowledgement passed: the segment that it tells the arrival of, if any. `count` is told how many were
    /// discarded and why.
    #[inline]
    pub fn acknowledged(&mut self, ack: &Segment, far: bool, mut count: impl FnMut(Discard, u64)) -> Option<Sent> {
        let repeated = ack.ack == self.last_ack && ack.payload == 0 && !self.waiting.is_empty();
        self.last_ack = ack.ack;
        if far && repeated && self.hole.is_none() {
            self.hole = self.highest;
        }
        if let Some(hole) = self.hole {
            if !before(ack.ack, hole) {
                count(Discard::DuringHole, self.waiting.len() as u64);
                self.waiting.clear();
                self.hole = None;
            }
            return None;
        }
        let mut found: Option<Sent> = None;
        while let Some(front) = self.waiting.front() {
            if before(ack.ack, front.end) {
                break;
            }
            if found.is_some() {
                count(Discard::CoveredByLater, 1);
            }
            found = self.waiting.pop_front();
        }
        found.filter(|sent| sent.end == ack.ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, ack: u32, payload: u32) -> Segment {
        Segment::new([seq, ack], 16, payload)
    }

    #[test]
    fn a_delayed_acknowledgement_times_the_last_segment() {
        let mut reports = Reports::default();
        for n in 0..2u32 {
            reports.sent(&segment(100 * n, 0, 100), i64::from(n), (u64::from(n), 0, 0), false);
        }
        let mut covered = 0;
        assert_eq!(reports.acknowledged(&segment(0, 200, 0), false, |_, n| covered += n).unwrap().frame, 1);
        assert_eq!(covered, 1);
    }

    #[test]
    fn nothing_counts_until_a_hole_is_passed() {
        let mut reports = Reports::default();
        let ack = |reports: &mut Reports, n| reports.acknowledged(&segment(0, n, 0), false, |_, _| {});
        reports.sent(&segment(0, 0, 100), 0, (0, 0, 0), false);
        reports.sent(&segment(200, 0, 100), 2, (2, 0, 0), false);
        assert!(ack(&mut reports, 100).is_none());
        reports.sent(&segment(100, 0, 100), 3, (3, 0, 0), false);
        reports.sent(&segment(300, 0, 100), 4, (4, 0, 0), false);
        assert!(ack(&mut reports, 300).is_none());
        assert!(ack(&mut reports, 400).is_none(), "the acknowledgement that passes the hole is dropped too");
        reports.sent(&segment(400, 0, 100), 5, (5, 0, 0), false);
        assert_eq!(ack(&mut reports, 500).unwrap().frame, 5);
    }
}
