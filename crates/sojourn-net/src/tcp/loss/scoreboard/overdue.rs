//! The scoreboard's part of finding losses by time: which transmissions were overtaken and are overdue.
//!
//! Source: RFC 8985 §6.2 and §6.3; what has arrived, and how long to wait, is in [`Rack`](super::super::rack::Rack).

use super::{LOST, RESENT, SACKED, Scoreboard, Sent, TIMED};
use crate::{Span, Time};

impl Scoreboard {
    /// An acknowledgement begins; for finding losses by time.
    pub(in crate::tcp) fn begin(&mut self, now: Time, min_rtt: Span) {
        if let Some(rack) = &mut self.rack {
            rack.begin(now, min_rtt);
        }
    }

    /// Marks lost what was overtaken and is overdue (RFC 8985 §6.2), the time for reordering included; `sure`: none
    /// while repairing a loss, or once three segments are SACKed, on a path that has shown no reordering. Returns when
    /// the last that was overtaken but is not yet overdue will be.
    pub(in crate::tcp) fn mark_overdue(
        &mut self,
        now: Time,
        repairing: bool,
        mss: u32,
        min_rtt: Span,
        srtt: Span,
    ) -> Time {
        let Some(mut rack) = self.rack.take() else { return Time::NEVER };
        let window = rack.window(repairing || self.sacked >= 3 * u64::from(mss), min_rtt, srtt);
        let mut last = Time::NEVER;
        while let Some(&(at, end)) = rack.sent.front() {
            if end > self.una {
                // Mostly this is all: what was not overtaken has none behind it that was.
                if !rack.is_overtaken((at, end)) {
                    break;
                }
                if let Some(i) = self.transmission(at, end) {
                    if rack.deadline(at, window) > now {
                        let overtaken = rack.sent.iter().take_while(|t| rack.is_overtaken(**t));
                        let last_out = overtaken.filter(|t| self.transmission(t.0, t.1).is_some()).last();
                        last = last_out.map_or(Time::NEVER, |t| rack.deadline(t.0, window));
                        break;
                    }
                    self.mark_copy(i);
                }
            }
            rack.sent.pop_front();
        }
        self.rack = Some(rack);
        last
    }

    /// True if the present acknowledgement delivers a segment that was sent only once and ends at `point` at most.
    pub(in crate::tcp) fn has_original(&self, point: u64) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.original <= point)
    }

    /// Nothing is held for lost any more. What the timer was the only reason for can be found to be overdue again;
    /// what had been overtaken cannot, before the timer's next expiry (so in Linux, which keeps only the former in the
    /// list that it looks through).
    pub(in crate::tcp) fn forget_lost(&mut self) {
        let mut found_by_timer = Vec::new();
        for segment in &mut self.segments {
            if segment.state & (LOST | RESENT | TIMED) == LOST | TIMED {
                found_by_timer.push((segment.at, segment.end));
            }
            segment.state &= !(LOST | TIMED);
        }
        (self.lost, self.waiting) = (0, 0);
        if let Some(rack) = &mut self.rack {
            rack.look_again(found_by_timer);
        }
    }

    /// True if something arrived since losses were last looked for by time.
    pub(in crate::tcp) fn take_advance(&mut self) -> bool {
        self.rack.as_mut().is_some_and(|rack| rack.take_advance())
    }

    /// The segment that ends at `end`, if what was sent of it at `at` is believed to be in flight.
    fn transmission(&self, at: Time, end: u64) -> Option<usize> {
        if end <= self.una {
            return None;
        }
        let i = self.segments.partition_point(|s| s.end < end);
        let Sent { at: sent, state, .. } = *self.segments.get(i)?;
        (sent == at && state & SACKED == 0 && state & (LOST | RESENT) != LOST).then_some(i)
    }

    /// Marks the latest copy of a segment lost.
    fn mark_copy(&mut self, i: usize) {
        let segment = &mut self.segments[i];
        let (len, state) = (u64::from(segment.len), segment.state);
        segment.state = (state | LOST) & !RESENT;
        if state & LOST == 0 {
            self.lost += len;
        }
        if state & RESENT != 0 {
            self.resent -= len;
        }
        self.waiting += len;
        self.bytes_lost += len;
        self.cursor = self.cursor.min(segment.end - len);
    }

    /// The timer expired: marks the first segment lost, and what was sent at least a round trip ago (RFC 8985 §6.3).
    pub(in crate::tcp) fn mark_old_lost(&mut self, now: Time) {
        let Some(rack) = self.rack.take() else { return };
        for i in 0..self.segments.len() {
            let Sent { at, state, .. } = self.segments[i];
            let in_flight = state & SACKED == 0 && state & (LOST | RESENT) != LOST;
            if in_flight && (i == 0 || rack.deadline(at, Span::ZERO) <= now) {
                self.mark_copy(i);
                self.segments[i].state |= TIMED;
            }
        }
        self.rack = Some(rack);
    }
}
