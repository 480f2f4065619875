//! The receiving half: what has arrived, and when to say so.
//!
//! Source: RFC 5681 §4.2 and RFC 1122 §4.2.3.2 (delayed ACKs: at least every second full segment, at once for data out
//! of order and for data that fills a hole), RFC 2018 (SACK), RFC 7323 §4.3 (which stamp to echo). The delay is fixed
//! (40 ms is Linux's least); what else Linux does is in [`super::ack_policy`].

use super::ack_policy::AckPolicy;
use super::ecn::{Echo, EcnMode};
use super::reader::Reader;
use super::segment::{Block, Sack, Segment};
use super::window_growth::WindowGrowth;
use crate::{Span, Time};

/// What some receivers have to do besides: told of marks, of duplicates, and when Linux would.
#[derive(Default)]
struct Extras {
    echo: Echo,
    /// An acknowledgement that must leave before what arrived since is told of, and its feedback.
    early: Option<(u64, Time, u8)>,
    /// Report duplicates (RFC 2883).
    reports_duplicates: bool,
    /// What arrived a second time since the last acknowledgement, and what the last one reports of that.
    duplicate: Option<Block>,
    reported: Option<Block>,
    /// Linux's exceptions from the rules, if they apply.
    policy: Option<AckPolicy>,
}

/// Reassembly and acknowledgement of one direction. First what every segment touches.
#[derive(Default)]
#[repr(C)]
pub struct Receiver {
    next: u64,
    /// What the last acknowledgement said.
    acknowledged: u64,
    extras: Option<Box<Extras>>,
    /// Delayed-ACK deadline; `NEVER` if none is pending.
    ack_at: Time,
    echo: Time,
    unacked: u32,
    mss: u32,
    ack_now: bool,
    sack: bool,
    delay: Span,
    /// Ranges beyond `next`, disjoint, most recently changed first.
    held: Vec<Block>,
    fin: Option<u64>,
}

impl Receiver {
    /// `delay` zero acknowledges every segment at once; `sack` reports what is held.
    pub fn new(mss: u32, delay: Span, sack: bool) -> Self {
        Self { ack_at: Time::NEVER, echo: Time::NEVER, mss, delay, sack, ..Self::default() }
    }

    /// The same with feedback of marks, with reports of duplicates, with quick ACKs and compressed SACKs as in Linux,
    /// whose window grows so.
    pub(super) fn with_extras(self, ecn: EcnMode, reports_duplicates: bool, linux: Option<WindowGrowth>) -> Self {
        let wanted = ecn != EcnMode::Off || reports_duplicates || linux.is_some();
        let policy = linux.map(|window| AckPolicy::new(self.delay, window));
        let extras = Extras { echo: Echo::new(ecn), reports_duplicates, policy, ..Extras::default() };
        Self { extras: wanted.then(|| Box::new(extras)), ..self }
    }

    /// The same with an application that takes time to read, for which Linux's acknowledgements wait.
    pub(super) fn with_reader(mut self, mean: Span, seed: u64) -> Self {
        if let Some(policy) = self.extras.as_mut().and_then(|extras| extras.policy.as_mut()) {
            policy.reader = (mean > Span::ZERO).then(|| Reader::new(mean, seed));
        }
        self
    }

    /// When acknowledgements leave that are held back, of data out of order or not read yet; `NEVER` if none are.
    #[inline]
    pub fn held_until(&self) -> Time {
        self.policy().map_or(Time::NEVER, |policy| policy.at)
    }

    fn policy(&self) -> Option<&AckPolicy> {
        self.extras.as_ref().and_then(|extras| extras.policy.as_ref())
    }

    /// Next sequence number expected: everything below has arrived.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// True once the peer's SYN has arrived.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.next > 0
    }

    /// True once the peer's FIN and all before it have arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Payload bytes that have arrived in order.
    pub fn delivered(&self) -> u64 {
        self.next.saturating_sub(1) - u64::from(self.is_finished())
    }

    /// When a delayed acknowledgement is due.
    #[inline]
    pub fn ack_at(&self) -> Time {
        self.ack_at
    }

    /// A segment that occupies sequence space arrived. Returns true if `next` advanced.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> bool {
        let (start, end) = (segment.seq, segment.seq + u64::from(segment.len));
        if segment.fin {
            self.fin = Some(end - 1);
        }
        if self.extras.as_ref().is_some_and(|extras| !extras.echo.is_off()) {
            self.look_at(&{ *segment }); // A copy, so that the segments of other connections can stay in registers.
        }
        // RFC 7323 §4.3 (2): the stamp of the earliest segment not yet acknowledged, or of a duplicate; but Linux
        // discards what ends before its last acknowledgement, and that before it looks at the stamp.
        if start <= self.acknowledged && (end >= self.acknowledged || self.policy().is_none()) {
            self.echo = segment.stamp;
        }
        if start > self.next {
            self.hold(Block { start, end });
            let next = self.next;
            let policy = self.extras.as_mut().and_then(|extras| extras.policy.as_mut());
            self.ack_now |= policy.is_none_or(|policy| {
                policy.window.on_gap(ahead(&self.held, next));
                policy.on_gap(now, next)
            });
            return false;
        }
        if end <= self.next {
            self.ack_now = true;
            if let Some(extras) = &mut self.extras {
                extras.on_duplicate(Block { start, end });
            }
            return false;
        }
        self.unacked += (end - self.next) as u32;
        self.next = end;
        let filled = !self.held.is_empty() && self.absorb();
        if segment.syn
            || segment.fin
            || self.is_second()
            || self.delay == Span::ZERO
            || self.is_due(now, filled, segment.push)
        {
            let reads = !(segment.syn || segment.fin || filled) && self.held.is_empty();
            let policy = self.extras.as_mut().and_then(|extras| extras.policy.as_mut()).filter(|_| reads);
            self.ack_now |= policy.is_none_or(|policy| !policy.waits_for_reader(now));
        } else if self.ack_at == Time::NEVER && self.held.is_empty() {
            self.ack_at = self.policy().map_or(now + self.delay, |policy| policy.ack_at(now));
        }
        if let Some(policy) = self.extras.as_mut().and_then(|extras| extras.policy.as_mut()) {
            policy.window.on_read(now, self.next, || ahead(&self.held, self.next));
        }
        true
    }

    /// Data in order that waits to be told is a second segment: a full one (RFC 9293 §3.8.6.3); Linux takes any that
    /// makes it more than one.
    #[inline]
    fn is_second(&self) -> bool {
        if self.policy().is_some() { self.unacked > self.mss } else { self.unacked >= 2 * self.mss }
    }

    /// True if data in order, fewer than two segments of it, is to be told at once: it filled a hole, or Linux would.
    #[inline]
    fn is_due(&mut self, now: Time, filled: bool, push: bool) -> bool {
        let Some(policy) = self.extras.as_mut().and_then(|extras| extras.policy.as_mut()) else { return filled };
        if policy.is_quick() {
            true
        } else if self.held.is_empty() {
            filled || push && policy.hears_push()
        } else {
            self.next - self.acknowledged > u64::from(self.mss) || policy.on_gap(now, self.next)
        }
    }

    /// A segment that occupies no sequence space arrived: its stamp is echoed too (RFC 7323 §4.3 asks for the sequence
    /// number alone), so that what is sent next tells the other end of its round trip.
    #[inline]
    pub(super) fn on_empty(&mut self, segment: &Segment) {
        if segment.seq <= self.acknowledged {
            self.echo = segment.stamp;
        }
    }

    /// The delayed-ACK timer expired.
    pub fn on_timeout(&mut self, now: Time) {
        if self.ack_at <= now {
            self.ack_at = Time::NEVER;
            self.ack_now = true;
            if let Some(policy) = self.extras.as_mut().and_then(|extras| extras.policy.as_mut()) {
                policy.on_delayed();
            }
        }
        if self.held_until() <= now {
            self.ack_now = true;
        }
    }

    /// True if an acknowledgement should go out at once.
    #[inline]
    pub fn wants_ack(&self) -> bool {
        self.ack_now
    }

    /// True if the next acknowledgement is about the time before the latest arrival, and so must travel alone.
    #[inline]
    pub(super) fn owes_early(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.early.is_some())
    }

    /// What the next acknowledgement says of marks.
    #[inline]
    pub(super) fn feedback(&self) -> u8 {
        self.extras.as_ref().map_or(0, |extras| extras.feedback())
    }

    /// An acknowledgement leaves: the sequence number it says, and the stamp it echoes.
    #[inline]
    pub fn acknowledge(&mut self) -> (u64, Time) {
        let owed = self.ack_now || self.unacked > 0;
        if let Some(extras) = &mut self.extras
            && let Some((next, echo)) = extras.on_acknowledge(owed)
        {
            self.acknowledged = self.acknowledged.max(next);
            return (next, echo);
        }
        self.ack_now = false;
        self.ack_at = Time::NEVER;
        self.unacked = 0;
        self.acknowledged = self.next;
        (self.next, self.echo)
    }

    /// Marks of a segment of data.
    #[inline(never)]
    fn look_at(&mut self, segment: &Segment) {
        let Some(extras) = self.extras.as_mut().filter(|_| segment.payload() > 0) else { return };
        if extras.echo.turns(segment) && self.ack_at != Time::NEVER {
            extras.early = Some((self.next, self.echo, extras.echo.feedback()));
        }
        self.ack_now |= extras.echo.on_segment(segment);
    }

    /// A segment of data is about to arrive that echoes this stamp, at an end with this round trip and retransmission
    /// timeout.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, segment: &Segment, echo: Time, timing: impl FnOnce() -> (Span, Span)) {
        let end = segment.seq + u64::from(segment.len);
        if end > self.next
            && segment.payload() > 0
            && let Some(policy) = self.extras.as_mut().and_then(|extras| extras.policy.as_mut())
        {
            if segment.len >= self.mss {
                policy.window.on_echo(now, echo);
            }
            if segment.seq <= self.next {
                policy.on_data(now, timing());
            }
            policy.on_room(segment.payload(), || beyond_holes(&self.held));
        }
    }

    /// This end sends data of its own.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time) {
        if let Some(policy) = self.extras.as_mut().and_then(|extras| extras.policy.as_mut()) {
            policy.on_sent(now);
        }
    }

    /// True if there are any to send.
    #[inline]
    pub(super) fn has_sack(&self) -> bool {
        self.sack && (!self.held.is_empty() || self.extras.as_ref().is_some_and(|extras| extras.reported.is_some()))
    }

    /// The SACK blocks that go with an acknowledgement.
    pub fn sack(&self) -> Sack {
        let mut sack = Sack::default();
        if self.sack {
            if let Some(block) = self.extras.as_ref().and_then(|extras| extras.reported) {
                sack.push(block);
            }
            for block in self.held.iter().take(3) {
                sack.push(*block);
            }
        }
        sack
    }

    #[inline(never)]
    fn hold(&mut self, mut block: Block) {
        self.held.retain(|held| {
            let apart = held.end < block.start || held.start > block.end;
            if !apart {
                block.start = block.start.min(held.start);
                block.end = block.end.max(held.end);
            }
            apart
        });
        self.held.insert(0, block);
    }

    /// Takes in what is held and no longer beyond a hole. True if anything was held: a hole was filled, wholly or
    /// partly.
    #[inline(never)]
    fn absorb(&mut self) -> bool {
        while let Some(i) = self.held.iter().position(|held| held.start <= self.next) {
            self.next = self.next.max(self.held.remove(i).end);
        }
        true
    }
}

/// Bytes in these ranges.
fn beyond_holes(held: &[Block]) -> u64 {
    held.iter().map(|block| block.end - block.start).sum()
}

/// From `next` to the end of the farthest range; 0 if there is none.
fn ahead(held: &[Block], next: u64) -> u64 {
    held.iter().map(|block| block.end - next).max().unwrap_or(0)
}

impl Extras {
    fn feedback(&self) -> u8 {
        self.early.map_or_else(|| self.echo.feedback(), |early| early.2)
    }

    fn on_duplicate(&mut self, block: Block) {
        self.duplicate = self.reports_duplicates.then_some(block);
        if let Some(policy) = &mut self.policy {
            policy.on_duplicate();
        }
    }

    /// An acknowledgement leaves, of what arrived since the last one if it is `owed`. If it is an early one: what it
    /// says and echoes.
    #[inline(never)]
    fn on_acknowledge(&mut self, owed: bool) -> Option<(u64, Time)> {
        if let Some((next, echo, _)) = self.early.take() {
            return Some((next, echo));
        }
        self.reported = self.duplicate.take();
        if let Some(policy) = &mut self.policy {
            policy.on_acknowledge(owed);
        }
        None
    }
}

#[cfg(test)]
mod tests;
