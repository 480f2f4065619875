//! CoDel: drops from the head once packets have waited longer than a target for a whole interval, then ever more often.
//!
//! Source: RFC 8289 (`rfc8289`) and the published code that differs from it: Linux `codel_impl.h` (`linux`), ns-3
//! (`ns3`), ns-2.35 (`ns2_2013`), its authors' earlier ns-2 file (`ns2_2012`) and the listing in ACM Queue, May 2012
//! (`acmq2012`). They differ in strictness of comparisons, in the test of a short queue, in the count with which
//! dropping resumes, in what an empty queue resets, and in √: Linux and ns-3 keep a 16-bit reciprocal that takes one
//! Newton step per change of the count, and count time in units of 1024 ns. The packet that is judged is the one that is
//! dropped; the one behind it leaves. Every arrival that finds the queue at its limit is refused.
//!
//! Differences: time never wraps; the ns-2 variants count nanoseconds instead of floating-point seconds; a packet that
//! carries CE already counts as marked but is not marked again; `l4s` is ns-3's, and open to `linux` too.

mod settings;

use super::inspect::Inspector;
use super::line::Line;
use super::{Backlog, Cx, QueueDiscipline};
use crate::probe::DropCause;
use crate::{Ecn, Packet, Time};

pub use settings::{Settings, Variant};

/// Where packets to be judged come from.
pub(super) trait Head<P> {
    /// Takes the oldest packet and the time of its arrival.
    fn next(&mut self) -> Option<(Time, P)>;
    /// Bytes that count in the test of a short queue.
    fn bytes(&self) -> u64;
}

/// The rules of one CoDel, shared by all its lines. Times are ticks of 1 or 1024 ns.
pub(super) struct Law {
    variant: Variant,
    shift: u32,
    target: u64,
    interval: u64,
    /// A line with no more bytes than this is short.
    short: u64,
    ecn: bool,
    ce_threshold: u64,
    l4s: bool,
}

/// What CoDel remembers of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// When waiting too long becomes persistent; 0 while it is short.
    first_above: u64,
    drop_next: u64,
    pub(super) count: u32,
    last_count: u32,
    /// 65536 / √count, nearly.
    reciprocal: u16,
    dropping: bool,
}

impl Default for State {
    fn default() -> Self {
        Self { first_above: 0, drop_next: 0, count: 0, last_count: 0, reciprocal: u16::MAX, dropping: false }
    }
}

impl State {
    /// Leaves the dropping state.
    pub(super) fn leave(&mut self) {
        self.dropping = false;
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        // x ← x (3 − count x²) / 2 with 32 fractional bits, of which 16 are kept.
        let x = u64::from(self.reciprocal) << 16;
        let square = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
        self.reciprocal = ((rest.wrapping_mul(x) >> 31) >> 16) as u16;
    }
}

impl Law {
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { variant, target, interval, ecn, ce_threshold, l4s, mtu } = *settings;
        let shift = if variant.is_fixed_point() { 10 } else { 0 };
        let short = match variant {
            Variant::Rfc8289 | Variant::Linux => u64::from(mtu),
            Variant::Ns3 => u64::from(mtu).saturating_sub(1),
            Variant::Ns2_2013 | Variant::Ns2_2012 | Variant::Ns2Sfq => 256,
            Variant::Acmq2012 => 255,
        };
        Self {
            variant,
            shift,
            target: target.0 >> shift,
            interval: (interval.0 >> shift).max(1),
            short,
            ecn: ecn && variant.has_ecn(),
            ce_threshold: ce_threshold.filter(|_| variant.has_ce_threshold()).map_or(u64::MAX, |span| span.0 >> shift),
            l4s: l4s && variant.has_ce_threshold(),
        }
    }

    /// Learns of a packet's size, as the ns-2 variants do.
    pub(super) fn arrives(&mut self, size: u32) {
        match self.variant {
            Variant::Rfc8289 | Variant::Linux | Variant::Ns3 => {}
            Variant::Acmq2012 => self.short = self.short.max(u64::from(size).saturating_sub(1)),
            Variant::Ns2_2013 | Variant::Ns2_2012 | Variant::Ns2Sfq => self.short = self.short.max(u64::from(size)),
        }
    }

    fn ticks(&self, time: Time) -> u64 {
        time.0 >> self.shift
    }

    /// The control law: the time of the drop after one at `from`.
    fn next_drop(&self, state: &State, from: u64) -> u64 {
        let gap = if self.variant.is_fixed_point() {
            (self.interval * u64::from(state.reciprocal)) >> 16
        } else {
            (self.interval as f64 / f64::from(state.count.max(1)).sqrt()) as u64
        };
        from.saturating_add(gap)
    }

    /// True if less than so many intervals have passed since the drop that was planned last.
    fn is_recent(&self, state: &State, now: u64, intervals: u64) -> bool {
        now < state.drop_next.saturating_add(self.interval.saturating_mul(intervals))
    }

    /// The verdict on a packet that was just taken out.
    #[inline]
    fn is_late(&self, state: &mut State, arrived: Time, left: u64, now: u64) -> bool {
        if now - self.ticks(arrived) < self.target || left <= self.short {
            state.first_above = 0;
            return false;
        }
        if state.first_above == 0 {
            let resume = self.variant == Variant::Ns2_2013 && state.count > 1 && self.is_recent(state, now, 8);
            state.first_above = if resume { self.next_drop(state, now) } else { now.saturating_add(self.interval) };
            return false;
        }
        if self.variant.is_fixed_point() { now > state.first_above } else { now >= state.first_above }
    }

    /// The count with which dropping begins.
    fn resume(&self, state: &mut State, now: u64) {
        let count = state.count;
        let resumed = match self.variant {
            Variant::Rfc8289 | Variant::Linux | Variant::Ns3 => {
                let risen = count.wrapping_sub(state.last_count);
                (risen > 1 && risen <= count && self.is_recent(state, now, 16)).then_some(risen)
            }
            Variant::Ns2_2013 => (count > 2 && self.is_recent(state, now, 8)).then(|| match count - 2 {
                many if many > 126 => (0.9844 * f64::from(count)) as u32,
                few => few,
            }),
            Variant::Ns2Sfq => (count > 2 && self.is_recent(state, now, 8)).then(|| count - 2),
            Variant::Ns2_2012 => (count > 1 && self.is_recent(state, now, 16)).then(|| count - 1),
            Variant::Acmq2012 => (count > 2 && self.is_recent(state, now, 1)).then(|| count - 2),
        };
        match resumed {
            Some(count) if self.variant.is_fixed_point() => state.set_count(count),
            Some(count) => state.count = count,
            None => (state.count, state.reciprocal) = (1, u16::MAX),
        }
        state.last_count = state.count;
    }

    /// Marks the packet if that may stand for a drop.
    fn mark<P: Packet>(&self, packet: &mut P, cx: &mut Cx<'_, P>) -> bool {
        self.ecn && mark(packet, cx)
    }

    /// Takes the next packet that may leave, dropping what is late.
    #[inline]
    pub(super) fn dequeue<P: Packet>(
        &self,
        state: &mut State,
        line: &mut impl Head<P>,
        cx: &mut Cx<'_, P>,
    ) -> Option<P> {
        let now = self.ticks(cx.now);
        let Some((arrived, packet)) = line.next() else {
            match self.variant {
                Variant::Linux | Variant::Ns3 => state.dropping = false,
                Variant::Acmq2012 => (state.dropping, state.first_above) = (false, 0),
                Variant::Rfc8289 | Variant::Ns2_2013 | Variant::Ns2_2012 | Variant::Ns2Sfq => state.first_above = 0,
            }
            return None;
        };
        if self.l4s && matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) {
            return Some(self.deliver(arrived, packet, now, true, cx));
        }
        if !self.is_late(state, arrived, line.bytes(), now) {
            state.dropping = false;
            return Some(self.deliver(arrived, packet, now, !self.l4s, cx));
        }
        let (arrived, packet) = self.thin(state, line, cx, now, (arrived, packet))?;
        Some(self.deliver(arrived, packet, now, !self.l4s, cx))
    }

    #[inline]
    fn deliver<P: Packet>(&self, arrived: Time, mut packet: P, now: u64, by_threshold: bool, cx: &mut Cx<'_, P>) -> P {
        if now - self.ticks(arrived) > self.ce_threshold && by_threshold && packet.ecn() != Ecn::Ce {
            mark(&mut packet, cx);
        }
        cx.probe.dequeued(cx.now, &packet, cx.now.since(arrived));
        packet
    }

    /// What follows when the packet at the head is late.
    #[cold]
    #[inline(never)]
    fn thin<P: Packet>(
        &self,
        state: &mut State,
        line: &mut impl Head<P>,
        cx: &mut Cx<'_, P>,
        now: u64,
        mut head: (Time, P),
    ) -> Option<(Time, P)> {
        if !state.dropping {
            let hesitates = self.variant == Variant::Acmq2012
                && !self.is_recent(state, now, 1)
                && now.saturating_sub(state.first_above) < self.interval;
            if hesitates {
                return Some(head);
            }
            let leaves = if self.mark(&mut head.1, cx) {
                Some(head)
            } else {
                drop_late(head.0, head.1, cx);
                self.take(state, line, now).0
            };
            state.dropping = true;
            self.resume(state, now);
            state.drop_next = self.next_drop(state, now);
            return leaves;
        }
        while state.dropping && now >= state.drop_next {
            if self.mark(&mut head.1, cx) {
                state.set_count(state.count.saturating_add(1));
                let from = if self.variant == Variant::Ns3 { now } else { state.drop_next };
                state.drop_next = self.next_drop(state, from);
                break;
            }
            drop_late(head.0, head.1, cx);
            let (next, late) = self.take(state, line, now);
            if late || !matches!(self.variant, Variant::Ns2_2013 | Variant::Ns2Sfq) {
                state.set_count(state.count.saturating_add(1));
            }
            if late {
                state.drop_next = self.next_drop(state, state.drop_next);
            } else {
                state.dropping = false;
            }
            head = next?;
        }
        Some(head)
    }

    /// Shows the variables of one line; times are nanoseconds.
    pub(super) fn inspect(&self, state: &mut State, inspector: &mut Inspector<'_>) {
        let ns = |ticks: u64| (ticks << self.shift) as f64;
        if let Some(at) = inspector.changed("first_above", ns(state.first_above)) {
            state.first_above = at as u64 >> self.shift;
        }
        if let Some(at) = inspector.changed("drop_next", ns(state.drop_next)) {
            state.drop_next = at as u64 >> self.shift;
        }
        inspector.see("count", &mut state.count);
        inspector.see("last_count", &mut state.last_count);
        inspector.see("dropping", &mut state.dropping);
        if self.variant.is_fixed_point() {
            inspector.see("rec_inv_sqrt", &mut state.reciprocal);
        }
    }

    /// The next packet and its verdict.
    fn take<P>(&self, state: &mut State, line: &mut impl Head<P>, now: u64) -> (Option<(Time, P)>, bool) {
        let next = line.next();
        let late = match &next {
            Some((arrived, _)) => self.is_late(state, *arrived, line.bytes(), now),
            None => {
                state.first_above = 0;
                false
            }
        };
        (next, late)
    }
}

/// Marks a packet whose transport understands it; one that is marked already counts.
pub(super) fn mark<P: Packet>(packet: &mut P, cx: &mut Cx<'_, P>) -> bool {
    match packet.ecn() {
        Ecn::NotEct => return false,
        Ecn::Ect0 | Ecn::Ect1 => {
            packet.mark();
            cx.probe.marked(cx.now, packet);
        }
        Ecn::Ce => {}
    }
    true
}

pub(super) fn drop_late<P: Packet>(arrived: Time, packet: P, cx: &mut Cx<'_, P>) {
    cx.probe.dropped(cx.now, packet, DropCause::Sojourn, Some(cx.now.since(arrived)));
}

/// The CoDel queue.
pub struct Codel<P> {
    waiting: Line<P>,
    law: Law,
    state: State,
}

impl<P: Packet> Codel<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, settings: &Settings) -> Self {
        Self { waiting: Line::new(max_packets, max_bytes), law: Law::new(settings), state: State::default() }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Codel<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.law.arrives(packet.size());
        self.waiting.push(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        self.law.dequeue(&mut self.state, &mut self.waiting, cx)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        self.law.inspect(&mut self.state, inspector);
    }
}

#[cfg(test)]
mod tests;
