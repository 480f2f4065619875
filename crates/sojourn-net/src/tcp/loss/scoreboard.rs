//! What is outstanding: each segment sent and not yet cumulatively acknowledged, and what is believed of it.
//!
//! Source: RFC 6675 §4 (IsLost, pipe, NextSeg), kept per segment rather than per octet. Loss marks are made when SACK
//! news arrives and never taken back; `pipe` is then a sum kept up to date: outstanding − SACKed − lost +
//! retransmitted.

use super::rack::Rack;
use crate::congestion::RateSample;
use crate::tcp::rate_sample::Delivery;
use crate::tcp::segment::{Block, Sack};
use crate::{Span, Time};
use std::collections::VecDeque;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Retransmitted, and that copy is believed to be in flight.
const RESENT: u8 = 4;
/// Retransmitted at some time: no round-trip sample (Karn).
const EVER_RESENT: u8 = 8;
/// Sent with PSH, which goes with every copy.
const PUSHED: u8 = 16;
/// Lost because the timer expired, not because something overtook it.
const TIMED: u8 = 32;

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Time,
    len: u32,
    state: u8,
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Resend {
    pub(in crate::tcp) seq: u64,
    pub(in crate::tcp) len: u32,
    /// When it was last sent.
    pub(in crate::tcp) sent: Time,
    /// With PSH.
    pub(in crate::tcp) push: bool,
}

/// What a cumulative acknowledgement brought.
pub(in crate::tcp) struct Acknowledged {
    /// Bytes not known to have arrived before.
    pub(in crate::tcp) delivered: u64,
    /// When the earliest of the segments was sent that were not known to have arrived, unless one was sent again.
    pub(in crate::tcp) sent: Option<Time>,
}

#[derive(Default)]
pub(in crate::tcp) struct Scoreboard {
    segments: VecDeque<Sent>,
    una: u64,
    outstanding: u64,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// Lost and not yet sent again.
    waiting: u64,
    highest_sacked: u64,
    /// Everything below that is not SACKed has been marked lost.
    lost_edge: u64,
    /// No segment waiting to be sent again starts below.
    cursor: u64,
    seen: Sack,
    /// Bytes ever marked lost.
    bytes_lost: u64,
    /// One of the following is there.
    watched: bool,
    /// What samples of the delivery rate need, if they are wanted.
    delivery: Option<Box<Delivery>>,
    /// What finding losses by time needs, if they are found so.
    rack: Option<Box<Rack>>,
}

impl Scoreboard {
    /// Nothing outstanding. `sampling`: samples of the delivery rate will be asked for; `by_time`: losses are found by
    /// time.
    pub(in crate::tcp) fn new(sampling: bool, by_time: bool) -> Self {
        Self {
            delivery: sampling.then(Box::default),
            rack: by_time.then(Box::default),
            watched: sampling || by_time,
            ..Self::default()
        }
    }

    /// Bytes believed to be in the network.
    pub(in crate::tcp) fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.lost + self.resent
    }

    /// Bytes sent and not cumulatively acknowledged.
    pub(in crate::tcp) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// True if something is lost and waits to be sent again.
    pub(in crate::tcp) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Bytes ever marked lost: grows with every new loss.
    pub(in crate::tcp) fn bytes_lost(&self) -> u64 {
        self.bytes_lost
    }

    /// When the first outstanding segment was last sent.
    pub(in crate::tcp) fn first_sent(&self) -> Option<Time> {
        self.segments.front().map(|s| s.at)
    }

    /// True if anything outstanding is held for lost, sent again or not.
    pub(in crate::tcp) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Bytes sent again whose copy is believed to be in the network.
    pub(in crate::tcp) fn resent_bytes(&self) -> u64 {
        self.resent
    }

    /// True if anything outstanding is SACKed.
    pub(in crate::tcp) fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// True if the first outstanding segment is lost.
    pub(in crate::tcp) fn is_head_lost(&self) -> bool {
        self.segments.front().is_some_and(|s| s.state & LOST != 0)
    }

    /// A new segment was sent.
    #[inline]
    pub(in crate::tcp) fn push(&mut self, len: u32, now: Time) {
        let end = self.una + self.outstanding + u64::from(len);
        let at = if self.watched { self.watch_sending(end, len, now) } else { now };
        self.segments.push_back(Sent { end, at, len, state: 0 });
        self.outstanding += u64::from(len);
    }

    /// The segment that was sent last has PSH.
    pub(in crate::tcp) fn pushed(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.state |= PUSHED;
        }
    }

    /// A new segment is about to be sent: returns when, as far as the order of sending tells.
    #[inline(never)]
    fn watch_sending(&mut self, end: u64, len: u32, now: Time) -> Time {
        let in_flight = self.pipe() + u64::from(len);
        if let Some(delivery) = &mut self.delivery {
            delivery.sent(now, in_flight, self.bytes_lost);
        }
        self.rack.as_mut().map_or(now, |rack| rack.on_send(now, end))
    }

    /// Everything below `ack` has arrived.
    pub(in crate::tcp) fn acknowledge(&mut self, ack: u64) -> Acknowledged {
        let mut news = Acknowledged { delivered: 0, sent: None };
        self.una = ack;
        let mut resent = false;
        while let Some(first) = self.segments.front_mut() {
            let (part, whole) = if first.end <= ack {
                (u64::from(first.len), true)
            } else {
                let left = (first.end - ack).min(u64::from(first.len));
                let part = u64::from(first.len) - left;
                if part == 0 {
                    break;
                }
                first.len = left as u32;
                (part, false)
            };
            let Sent { state, end, at, .. } = *first;
            resent |= state & EVER_RESENT != 0;
            if state & SACKED == 0 && news.sent.is_none() {
                news.sent = Some(at);
            }
            self.outstanding -= part;
            if state & SACKED != 0 {
                self.sacked -= part;
            } else {
                news.delivered += part;
                if state != 0 {
                    self.forget_marks(state, part);
                }
                if self.watched {
                    self.watch_arrival(0, at, end, state);
                }
            }
            if !whole {
                break;
            }
            self.segments.pop_front();
            if self.watched
                && let Some(delivery) = &mut self.delivery
            {
                delivery.forget_first();
            }
        }
        if resent {
            news.sent = None;
        }
        news
    }

    #[inline(never)]
    fn watch_arrival(&mut self, i: usize, at: Time, end: u64, state: u8) {
        if let Some(delivery) = &mut self.delivery {
            delivery.arrived(i, end);
        }
        if let Some(rack) = &mut self.rack {
            rack.arrived(at, end, state & EVER_RESENT != 0);
        }
    }

    fn forget_marks(&mut self, state: u8, bytes: u64) {
        if state & LOST != 0 {
            self.lost -= bytes;
            if state & RESENT == 0 {
                self.waiting -= bytes;
            }
        }
        if state & RESENT != 0 {
            self.resent -= bytes;
        }
    }

    /// Takes in SACK blocks; returns the bytes that were not known to have arrived.
    pub(in crate::tcp) fn sack(&mut self, sack: &Sack) -> u64 {
        self.sack_beyond(sack, self.una)
    }

    /// The same of blocks that end beyond `una`.
    pub(in crate::tcp) fn sack_beyond(&mut self, sack: &Sack, una: u64) -> u64 {
        let mut delivered = 0;
        let mut seen = Sack::default();
        for block in sack.blocks() {
            if block.start >= block.end || block.end <= una {
                continue; // Out of date, a duplicate report (RFC 2883), or nonsense.
            }
            seen.push(*block);
            // Most of a block has been reported before: look only at what is new at either end.
            let known = self.seen.blocks().iter().filter(|s| s.start >= block.start && s.end <= block.end);
            match known.max_by_key(|s| s.end - s.start).copied() {
                Some(known) => {
                    delivered += self.sack_block(Block { start: block.start, end: known.start });
                    delivered += self.sack_block(Block { start: known.end, end: block.end });
                }
                None => delivered += self.sack_block(*block),
            }
        }
        self.seen = seen;
        delivered
    }

    fn sack_block(&mut self, block: Block) -> u64 {
        if block.end <= block.start.max(self.una) {
            return 0;
        }
        let mut delivered = 0;
        let first = self.segments.partition_point(|s| s.end <= block.start);
        for i in first..self.segments.len() {
            let Sent { end, len, state, at } = self.segments[i];
            if end > block.end {
                break;
            }
            if state & SACKED == 0 && end - u64::from(len) >= block.start {
                self.segments[i].state = (state | SACKED) & !(LOST | RESENT);
                self.forget_marks(state, u64::from(len));
                self.sacked += u64::from(len);
                delivered += u64::from(len);
                self.highest_sacked = self.highest_sacked.max(end);
                if self.watched {
                    self.watch_arrival(i, at, end, state);
                }
            }
        }
        delivered
    }

    /// Marks what RFC 6675 holds for lost: at least three runs, or more than two segments' bytes, SACKed above it.
    pub(in crate::tcp) fn mark_lost(&mut self, mss: u32) {
        let top = self.segments.partition_point(|s| s.end < self.highest_sacked);
        let (mut bytes, mut runs, mut in_run, mut run_end) = (0u64, 0, false, 0);
        let mut i = (top + 1).min(self.segments.len());
        while i > 0 {
            i -= 1;
            let segment = self.segments[i];
            if segment.end <= self.lost_edge {
                break;
            }
            if segment.state & SACKED != 0 {
                bytes += u64::from(segment.len);
                if !in_run {
                    (in_run, run_end) = (true, segment.end);
                    runs += 1;
                }
                continue;
            }
            in_run = false;
            if runs >= 3 || bytes > 2 * u64::from(mss) {
                let edge = std::mem::replace(&mut self.lost_edge, segment.end);
                for j in (0..=i).rev() {
                    if self.segments[j].end <= edge {
                        break;
                    }
                    self.mark(j);
                }
                return;
            }
        }
        if in_run {
            // The last run reaches down to the edge. It grows with every acknowledgement, and need not be gone through
            // each time.
            self.lost_edge = run_end;
        }
    }

    /// Marks the first outstanding segment lost (NewReno: third duplicate or partial acknowledgement).
    pub(in crate::tcp) fn mark_head_lost(&mut self) {
        if !self.segments.is_empty() {
            self.mark(0);
        }
    }

    /// Marks everything not SACKed lost, copies included (the timer expired).
    pub(in crate::tcp) fn mark_all_lost(&mut self) {
        (self.lost, self.resent, self.waiting) = (0, 0, 0);
        for segment in &mut self.segments {
            if segment.state & SACKED == 0 {
                if segment.state & (LOST | RESENT) != LOST {
                    self.bytes_lost += u64::from(segment.len);
                }
                segment.state = (segment.state | LOST) & !RESENT;
                self.lost += u64::from(segment.len);
            }
        }
        self.waiting = self.lost;
        self.cursor = self.una;
        self.lost_edge = self.segments.back().map_or(self.una, |s| s.end);
    }

    fn mark(&mut self, i: usize) {
        let segment = &mut self.segments[i];
        if segment.state & (SACKED | LOST) != 0 {
            return;
        }
        segment.state |= LOST;
        self.lost += u64::from(segment.len);
        self.bytes_lost += u64::from(segment.len);
        if segment.state & RESENT == 0 {
            self.waiting += u64::from(segment.len);
            self.cursor = self.cursor.min(segment.end - u64::from(segment.len));
        }
    }

    /// The first segment that is lost and not yet sent again (NextSeg rule 1).
    pub(in crate::tcp) fn next_waiting(&mut self) -> Option<Resend> {
        if self.waiting == 0 {
            return None;
        }
        let first = self.segments.partition_point(|s| s.end <= self.cursor);
        let found =
            (first..self.segments.len()).find(|i| self.segments[*i].state & (LOST | RESENT | SACKED) == LOST)?;
        let resend = self.resend(found);
        self.cursor = resend.seq;
        Some(resend)
    }

    /// The first hole below SACKed data that is not held for lost and was not sent again (NextSeg rule 3).
    pub(in crate::tcp) fn next_hole(&self) -> Option<Resend> {
        let below = self.segments.iter().take_while(|s| s.end < self.highest_sacked);
        let i = below.into_iter().position(|s| s.state & (SACKED | RESENT) == 0)?;
        Some(self.resend(i))
    }

    /// The last outstanding segment that is not SACKed (NextSeg rule 4, the rescue retransmission).
    pub(in crate::tcp) fn last_hole(&self) -> Option<Resend> {
        let i = self.segments.iter().rposition(|s| s.state & SACKED == 0)?;
        Some(self.resend(i))
    }

    fn resend(&self, i: usize) -> Resend {
        let Sent { end, at, len, state } = self.segments[i];
        Resend { seq: end - u64::from(len), len, sent: at, push: state & PUSHED != 0 }
    }

    /// The segment at `seq` was sent again.
    pub(in crate::tcp) fn resent(&mut self, seq: u64, now: Time) {
        let i = self.segments.partition_point(|s| s.end <= seq);
        let Some(segment) = self.segments.get_mut(i) else { return };
        let len = u64::from(segment.len);
        if segment.state & RESENT == 0 {
            self.resent += len;
            if segment.state & LOST != 0 {
                self.waiting -= len;
            }
        }
        segment.state = (segment.state | RESENT | EVER_RESENT) & !TIMED;
        segment.at = self.rack.as_mut().map_or(now, |rack| rack.on_send(now, segment.end));
        let in_flight = self.pipe();
        if let Some(delivery) = &mut self.delivery {
            delivery.resent(i, now, in_flight, self.bytes_lost);
        }
    }

    /// The sender has nothing to send.
    pub(in crate::tcp) fn ran_dry(&mut self) {
        let in_flight = self.pipe();
        if let Some(delivery) = &mut self.delivery {
            delivery.ran_dry(in_flight);
        }
    }

    /// The round-trip time of the segment sent last of those that the acknowledgement delivers.
    pub(in crate::tcp) fn rtt(&self, now: Time) -> Option<Span> {
        self.delivery.as_ref()?.rtt(now)
    }

    /// The sample of an acknowledgement after which so many bytes have been delivered.
    pub(in crate::tcp) fn sample(&mut self, now: Time, delivered: u64, min_rtt: Span) -> Option<RateSample> {
        let lost = self.bytes_lost;
        self.delivery.as_mut()?.sample(now, delivered, lost, min_rtt)
    }
}

mod overdue;
#[cfg(test)]
mod tests;
