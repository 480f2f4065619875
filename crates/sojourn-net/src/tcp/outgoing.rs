//! What may be sent now, piece by piece: repairs, new data, probes.
//!
//! Source: RFC 5681, RFC 6675 §5 (what to send during recovery), RFC 3042 (limited transmit). Differences: the window is counted against
//! `pipe` at all times, and a segment is sent only if it fits wholly.

use super::recovery::State;
use super::scoreboard::Resend;
use super::sender::Sender;
use super::usage::Usage;
use crate::{Span, Time};

/// A piece of sequence space to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Out {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) retransmission: bool,
    pub(super) push: bool,
}

/// A sender of pairs waits for room this long after it last sent, and for an acknowledgement that is expected within this.
const TWO_AT_ONCE_WAIT: Span = Span::from_millis(1);

impl Sender {
    /// The next piece to send at `now`, if anything may be sent. Call until it returns `None`.
    #[inline]
    pub(super) fn next_out(&mut self, now: Time) -> Option<Out> {
        self.send_at = Time::NEVER;
        if self.tlp.due {
            return self.probe_out(now);
        }
        if self.is_idle() {
            self.usage = Usage::none(self.nxt);
            if self.sampling && self.allowed > 0 {
                self.board.ran_dry();
            }
            return None;
        }
        if self.board.has_waiting() {
            if self.undo.has_turned()
                && let Some(out) = self.before_repairs(now)
            {
                return out;
            }
            let resend = self.board.next_waiting()?;
            let fits = self.in_flight() + u64::from(resend.len.min(self.mss)) <= self.allowed;
            if self.force || (fits && !self.is_held(now)) {
                return Some(self.resend(now, resend));
            }
            self.observe_usage(!fits);
            return None;
        }
        if self.end > self.nxt && (self.una > 0 || self.nxt == 0) {
            return self.new_data(now);
        }
        self.observe_usage(false);
        if self.sampling && self.end == self.nxt && self.in_flight() < self.allowed {
            self.board.ran_dry();
        }
        if self.state.is_recovery() && self.sack && !self.by_time { self.fill(now) } else { None }
    }

    /// Pacing lets nothing leave at `now`.
    #[inline]
    fn is_held(&mut self, now: Time) -> bool {
        let held = self.pace.is_some() && self.pacer.holds(now);
        if held {
            self.send_at = self.pacer.next;
        }
        held
    }

    /// The next piece of new data, if there is any and it may be sent.
    pub(super) fn new_data_if_any(&mut self, now: Time) -> Option<Out> {
        if self.end > self.nxt { self.new_data(now) } else { None }
    }

    fn new_data(&mut self, now: Time) -> Option<Out> {
        if self.board.outstanding() == 0 {
            self.restart_if_idle(now);
        }
        let len = if self.nxt == 0 { 1 } else { self.segment_len(self.end - self.nxt) };
        let counted = if self.limited_transmit || self.dupacks == 0 || self.state != State::Open {
            self.in_flight()
        } else {
            self.board.outstanding()
        };
        let bytes = u64::from(len.min(self.mss)); // A FIN on a full segment is no reason to hold it back.
        let fits = counted + bytes <= self.allowed;
        if !fits || self.nxt + bytes > self.una + self.receive_window {
            self.observe_usage(!fits);
            return None;
        }
        let second = self.linux && self.second_at == now;
        if (self.linux || self.pace.is_some()) && (self.is_held(now) || self.waits_for_room(now, counted)) {
            self.observe_usage(false);
            return None;
        }
        Some(self.send_new(now, len, second))
    }

    /// There is room for one segment only, and the acknowledgement that makes room for two is near (Linux, `tcp_tso_should_defer`).
    #[inline(never)]
    fn waits_for_room(&mut self, now: Time, counted: u64) -> bool {
        if !self.linux || std::mem::replace(&mut self.second_at, Time::NEVER) == now {
            return false;
        }
        let room = self.allowed.saturating_sub(counted);
        let two = 2 * u64::from(self.mss);
        // Never more than half a window at once.
        if room >= two && self.window.cwnd >= 2 * two && self.end - self.nxt >= two {
            self.second_at = now;
        }
        let repairing = matches!(self.state, State::Recovery { .. } | State::Loss { .. });
        if room >= two.min(self.window.cwnd / 3) || self.end - self.nxt < two || repairing {
            return false;
        }
        let near = TWO_AT_ONCE_WAIT.min(Span(self.rtt.smoothed().0 / 2));
        let first = self.board.first_sent().unwrap_or(now);
        now.since(self.last_sent) <= TWO_AT_ONCE_WAIT && first + self.rtt.smoothed() <= now + near
    }

    #[inline]
    fn send_new(&mut self, now: Time, len: u32, second: bool) -> Out {
        let seq = self.nxt;
        self.nxt += u64::from(len);
        self.board.push(len, now);
        self.sent(now, len);
        if self.by_time {
            self.arm_probe(now);
        }
        let push = self.linux && (second || self.nxt == self.end);
        if push {
            self.board.pushed();
        }
        Out { seq, len, retransmission: false, push }
    }

    /// A probe for losses at the tail: new data whatever the window, else the last segment again.
    #[cold]
    fn probe_out(&mut self, now: Time) -> Option<Out> {
        self.tlp.due = false;
        let left = self.end - self.nxt;
        let room = (self.una + self.receive_window).saturating_sub(self.nxt);
        let out = if left > 0 && self.una > 0 && room >= u64::from(self.mss) {
            let len = self.segment_len(left);
            self.send_new(now, len, false)
        } else {
            let resend = self.board.last_hole()?;
            self.resend(now, resend)
        };
        self.tlp.at = Time::NEVER;
        self.probed(out.retransmission);
        Some(out)
    }

    /// Sending stops: at the window or for want of data.
    fn observe_usage(&mut self, limited: bool) {
        self.usage.observe(limited, self.in_flight(), self.una, self.nxt);
    }

    /// A full segment, or all that is left; the FIN travels on the last data segment if nothing else remains.
    fn segment_len(&self, left: u64) -> u32 {
        if left <= u64::from(self.mss) {
            left as u32
        } else if self.fin && left == u64::from(self.mss) + 1 {
            self.mss + 1
        } else {
            self.mss
        }
    }

    /// Nothing new to send during recovery: other holes, then one rescue (RFC 6675, NextSeg rules 3 and 4).
    #[inline(never)]
    fn fill(&mut self, now: Time) -> Option<Out> {
        if self.in_flight() + u64::from(self.mss) > self.allowed || self.is_held(now) {
            return None;
        }
        if let Some(resend) = self.board.next_hole() {
            return Some(self.resend(now, resend));
        }
        if self.rescue {
            self.rescue = false;
            let resend = self.board.last_hole()?;
            return Some(self.resend(now, resend));
        }
        None
    }

    #[inline(never)]
    fn resend(&mut self, now: Time, Resend { seq, len, sent, push }: Resend) -> Out {
        self.force = false;
        self.repair.add(sent, now);
        self.board.resent(seq, now);
        if self.linux {
            self.undo.resent(now);
        }
        self.statistics.retransmits += 1;
        if seq == self.una {
            self.rto_at = self.rtt.deadline(now);
        }
        self.sent(now, len);
        Out { seq, len, retransmission: true, push }
    }

    #[inline]
    fn sent(&mut self, now: Time, len: u32) {
        self.prr.sent(u64::from(len));
        self.statistics.segments += 1;
        self.last_sent = now;
        if let Some(rate) = self.pace {
            let (mss, asked) = (u64::from(self.mss), self.window.pacing.is_some());
            self.pacer.sent(now, u64::from(len), mss, rate, asked, self.statistics.segments);
        }
        if self.rto_at == Time::NEVER {
            self.rto_at = self.rtt.deadline(now);
        }
    }
}
