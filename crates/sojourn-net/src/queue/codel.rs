//! CoDel: drops from the head once packets have waited longer than a target for a whole interval, then ever more often.
//!
//! How it works: Each packet carries its time of arrival, and its sojourn time is known when it is dequeued. While the
//! sojourn time stays below `target`, or less than an MTU is queued, nothing happens. Once it has been above `target`
//! for a whole `interval`, CoDel enters the dropping state: it drops the packet at the head, and sets `drop_next` to
//! interval / √count from now. While in that state it drops another packet each time `drop_next` has come, adds one to
//! `count`, and so shortens the gaps (the control law), until a packet's sojourn time is below `target`. Then it leaves
//! the dropping state. When it enters that state again soon, it resumes with about the drop rate that worked last time.
//! With `ecn` it marks ECN-capable packets where it would drop them.
//!
//! Use it when: a few long flows share a link whose rate may change, and delay should stay near the target without
//! tuning. Set `interval` to about the largest common RTT, and `target` to 5 to 10 % of it. On links where one packet
//! takes longer than the target to send (below 4 Mbit/s at 1500 B), raise `target`. It does not keep flows apart: for
//! that take `fq-codel`.
//!
//! Source: RFC 8289 (`rfc8289`) and the published code that differs from it: Linux `codel_impl.h` (`linux`), ns-3
//! (`ns3`), ns-2.35 (`ns2_2013`), its authors' earlier ns-2 file (`ns2_2012`) and the listing in ACM Queue, May 2012
//! (`acmq2012`). They differ in strictness of comparisons, in the test of a short queue, in the count with which
//! dropping resumes, in what an empty queue resets, and in √: Linux and ns-3 keep a 16-bit reciprocal that takes one
//! Newton step per change of the count, and count time in units of 1024 ns. The packet that is judged is the one that
//! is dropped; the one behind it leaves. Every arrival that finds the queue at its limit is refused.
//!
//! Differences: time never wraps; the ns-2 variants count nanoseconds instead of floating-point seconds; a packet that
//! carries CE already passes where it would be marked; `l4s` is ns-3's, and open to `linux` too.

mod parameters;
mod variants;

use super::config::{self, check_interval, check_packet};
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::head::Head;
use super::inspect::Inspector;
use super::packet_queue::PacketQueue;
use crate::probe::DropCause;
use crate::{Ecn, Invalid, Limit, Packet, Rate, Span, Time, refuse_if, with_defaults};

pub use parameters::{Config, Variant};
use variants::{Rules, SmallBacklog};

/// The rules of one CoDel, shared by the queues of all flows. Times are ticks of 1 or 1024 ns.
pub(super) struct Law {
    rules: Rules,
    shift: u32,
    target: u64,
    interval: u64,
    /// A backlog of no more bytes than this is left alone.
    small: u64,
    ecn: bool,
    ce_threshold: u64,
    l4s: bool,
}

with_defaults! {
    /// What CoDel remembers of one queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct State {
        /// When the sojourn will have been above the target for an interval; 0 while it is below.
        first_above_time: u64,
        /// When the next drop is due, while dropping.
        drop_next: u64,
        /// Drops since the dropping state was entered, and those of before with which it resumed.
        pub(super) count: u32,
        /// The count when the dropping state was entered last.
        last_count: u32,
        /// 65536 / √count, nearly (the fixed-point variants).
        rec_inv_sqrt: u16 = u16::MAX,
        dropping: bool,
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
        let x = u64::from(self.rec_inv_sqrt) << 16;
        let square = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
        self.rec_inv_sqrt = ((rest.wrapping_mul(x) >> 31) >> 16) as u16;
    }
}

impl Law {
    pub(super) fn new(config: &Config) -> Self {
        let Config { variant, target, interval, ecn, ce_threshold, l4s, mtu } = *config;
        let rules = variant.rules();
        let shift = if rules.fixed_point { 10 } else { 0 };
        let small = match rules.small_backlog {
            SmallBacklog::Mtu => mtu.0,
            SmallBacklog::BelowMtu => mtu.0.saturating_sub(1),
            SmallBacklog::LargestPacket => 256,
            SmallBacklog::BelowLargestPacket => 255,
        };
        Self {
            rules,
            shift,
            target: target.0 >> shift,
            interval: (interval.0 >> shift).max(1),
            small,
            ecn: ecn && variant.has_ecn(),
            ce_threshold: ce_threshold.filter(|_| variant.has_ce_threshold()).map_or(u64::MAX, |span| span.0 >> shift),
            l4s: l4s && variant.has_ce_threshold(),
        }
    }

    /// Learns of an arriving packet's size, as the ns-2 variants do.
    #[inline]
    pub(super) fn arrives(&mut self, size: u32) {
        match self.rules.small_backlog {
            SmallBacklog::Mtu | SmallBacklog::BelowMtu => {}
            SmallBacklog::LargestPacket => self.small = self.small.max(u64::from(size)),
            SmallBacklog::BelowLargestPacket => self.small = self.small.max(u64::from(size).saturating_sub(1)),
        }
    }

    fn ticks(&self, time: Time) -> u64 {
        time.0 >> self.shift
    }

    /// The control law: the time of the drop after one at `from`.
    fn control_law(&self, state: &State, from: u64) -> u64 {
        let gap = if self.rules.fixed_point {
            (self.interval * u64::from(state.rec_inv_sqrt)) >> 16
        } else {
            (self.interval as f64 / f64::from(state.count.max(1)).sqrt()) as u64
        };
        from.saturating_add(gap)
    }

    /// True if less than so many intervals have passed since the drop that was planned last.
    fn is_recent(&self, state: &State, now: u64, intervals: u64) -> bool {
        now < state.drop_next.saturating_add(self.interval.saturating_mul(intervals))
    }

    /// RFC 8289's `ok_to_drop`: whether a packet that was just taken out leaves a queue that has been above the target
    /// for an interval. `left` bytes remain.
    #[inline]
    fn ok_to_drop(&self, state: &mut State, arrived: Time, left: u64, now: u64) -> bool {
        if now - self.ticks(arrived) < self.target || left <= self.small {
            state.first_above_time = 0;
            return false;
        }
        if state.first_above_time == 0 {
            let early = self.rules.returns_early && state.count > 1 && self.is_recent(state, now, 8);
            state.first_above_time =
                if early { self.control_law(state, now) } else { now.saturating_add(self.interval) };
            return false;
        }
        if self.rules.fixed_point { now > state.first_above_time } else { now >= state.first_above_time }
    }

    /// Sets the count with which dropping begins.
    fn start_count(&self, state: &mut State, now: u64) {
        let resumed = (self.rules.resumed_count)(state.count, state.last_count)
            .filter(|_| self.is_recent(state, now, self.rules.resumes_within));
        match resumed {
            Some(count) if self.rules.fixed_point => state.set_count(count),
            Some(count) => state.count = count,
            None => (state.count, state.rec_inv_sqrt) = (1, u16::MAX),
        }
        state.last_count = state.count;
    }

    /// Takes the next packet that may leave, dropping what is late.
    #[inline]
    pub(super) fn dequeue<P: Packet>(
        &self,
        state: &mut State,
        queue: &mut impl Head<P>,
        cx: &mut Cx<'_, P>,
    ) -> Option<P> {
        let now = self.ticks(cx.now);
        let Some((arrived, packet)) = queue.next() else {
            state.dropping &= !self.rules.empty_ends_dropping;
            if self.rules.empty_resets_first_above {
                state.first_above_time = 0;
            }
            return None;
        };
        if self.l4s && matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) {
            return Some(self.deliver(arrived, packet, now, true, cx));
        }
        if !self.ok_to_drop(state, arrived, queue.bytes(), now) {
            state.dropping = false;
            return Some(self.deliver(arrived, packet, now, !self.l4s, cx));
        }
        let (arrived, packet) = self.drop_from_head(state, queue, cx, now, (arrived, packet))?;
        Some(self.deliver(arrived, packet, now, !self.l4s, cx))
    }

    #[inline]
    fn deliver<P: Packet>(&self, arrived: Time, mut packet: P, now: u64, by_threshold: bool, cx: &mut Cx<'_, P>) -> P {
        if now - self.ticks(arrived) > self.ce_threshold && by_threshold {
            cx.mark(&mut packet);
        }
        cx.deliver(arrived, packet)
    }

    /// What follows when the packet at the head is late: drops or marks what is due, and gives what leaves.
    #[cold]
    #[inline(never)]
    fn drop_from_head<P: Packet>(
        &self,
        state: &mut State,
        queue: &mut impl Head<P>,
        cx: &mut Cx<'_, P>,
        now: u64,
        mut head: (Time, P),
    ) -> Option<(Time, P)> {
        if !state.dropping {
            let hesitates = self.rules.hesitates
                && !self.is_recent(state, now, 1)
                && now.saturating_sub(state.first_above_time) < self.interval;
            if hesitates {
                return Some(head);
            }
            let leaves = if self.ecn && cx.mark(&mut head.1) {
                Some(head)
            } else {
                cx.drop_queued(head.0, head.1, DropCause::Sojourn);
                self.next_verdict(state, queue, now).0
            };
            state.dropping = true;
            self.start_count(state, now);
            state.drop_next = self.control_law(state, now);
            return leaves;
        }
        while state.dropping && now >= state.drop_next {
            if self.ecn && cx.mark(&mut head.1) {
                state.set_count(state.count.saturating_add(1));
                let from = if self.rules.marks_from_now { now } else { state.drop_next };
                state.drop_next = self.control_law(state, from);
                break;
            }
            cx.drop_queued(head.0, head.1, DropCause::Sojourn);
            let (next, late) = self.next_verdict(state, queue, now);
            if late || self.rules.counts_last_drop {
                state.set_count(state.count.saturating_add(1));
            }
            if late {
                state.drop_next = self.control_law(state, state.drop_next);
            } else {
                state.dropping = false;
            }
            head = next?;
        }
        Some(head)
    }

    /// The next packet, and whether it may be dropped.
    fn next_verdict<P>(&self, state: &mut State, queue: &mut impl Head<P>, now: u64) -> (Option<(Time, P)>, bool) {
        let next = queue.next();
        let late = match &next {
            Some((arrived, _)) => self.ok_to_drop(state, *arrived, queue.bytes(), now),
            None => {
                state.first_above_time = 0;
                false
            }
        };
        (next, late)
    }

    /// Shows the variables of one queue; times are nanoseconds.
    pub(super) fn inspect(&self, state: &mut State, inspector: &mut Inspector<'_>) {
        for (name, ticks) in [("first_above", &mut state.first_above_time), ("drop_next", &mut state.drop_next)] {
            let mut at = Time(*ticks << self.shift);
            inspector.see(name, &mut at);
            *ticks = at.0 >> self.shift;
        }
        inspector.see("count", &mut state.count);
        inspector.see("last_count", &mut state.last_count);
        inspector.see("dropping", &mut state.dropping);
        if self.rules.fixed_point {
            inspector.see("rec_inv_sqrt", &mut state.rec_inv_sqrt);
        }
    }
}

impl config::Config for Config {
    const LIMIT: Option<Limit> = Some(Limit::Packets(1000));

    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        vec![("target", Some(self.target)), ("ce-threshold", self.ce_threshold)]
    }

    fn check(&self) -> Result<(), Invalid> {
        check_packet("mtu", self.mtu)?;
        check_interval(self.interval)?;
        refuse_if!(self.ecn && !self.variant.has_ecn(), "ecn", "this variant cannot mark; take rfc8289, linux or ns3");
        let unknown = self.ce_threshold.is_some() && !self.variant.has_ce_threshold();
        refuse_if!(unknown, "ce-threshold", "this variant has no such threshold; take linux or ns3");
        let lacking = self.l4s && self.ce_threshold.is_none();
        refuse_if!(lacking, "l4s", "L4S packets are judged by ce-threshold: give that too");
        Ok(())
    }

    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Codel::new(limit.0, limit.1, self))
    }
}

/// The CoDel queue.
pub struct Codel<P> {
    waiting: PacketQueue<P>,
    law: Law,
    state: State,
}

impl<P: Packet> Codel<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, config: &Config) -> Self {
        Self { waiting: PacketQueue::new(max_packets, max_bytes), law: Law::new(config), state: State::default() }
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
