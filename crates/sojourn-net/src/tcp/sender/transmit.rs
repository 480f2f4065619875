//! What may be sent now, piece by piece: repairs, new data, probes.
//!
//! Source: RFC 5681, RFC 6675 §5 (what to send during recovery), RFC 3042 (limited transmit). Differences: the window
//! is counted against `pipe` at all times, and a segment is sent only if it fits wholly.

use super::Sender;
use crate::Time;
use crate::tcp::cwnd_limited::CwndLimited;
use crate::tcp::loss::scoreboard::Resend;
use crate::tcp::loss::state::State;
use crate::tcp::stack::Room;

/// A piece of sequence space to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Out {
    pub(in crate::tcp) seq: u64,
    pub(in crate::tcp) len: u32,
    pub(in crate::tcp) retransmission: bool,
    pub(in crate::tcp) push: bool,
}

impl Sender {
    /// The next piece to send at `now`, if anything may be sent. Call until it returns `None`.
    #[inline]
    pub(in crate::tcp) fn next_out(&mut self, now: Time) -> Option<Out> {
        self.send_at = Time::NEVER;
        if self.tlp.due {
            return self.probe_out(now);
        }
        if self.is_idle() {
            self.cwnd_limited = CwndLimited::none(self.nxt);
            if self.sampling && self.allowed > 0 {
                self.board.ran_dry();
            }
            return None;
        }
        if self.board.has_waiting() {
            if self.stack.new_data_first()
                && let Some(out) = self.before_repairs(now)
            {
                return out;
            }
            let resend = self.board.next_waiting()?;
            let fits = self.in_flight() + u64::from(resend.len.min(self.mss)) <= self.allowed;
            if self.force || (fits && !self.is_held(now)) {
                return Some(self.resend(now, resend));
            }
            self.observe_limit(!fits);
            return None;
        }
        if self.end > self.nxt && (self.una > 0 || self.nxt == 0) {
            return self.new_data(now);
        }
        // Linux's `tcp_write_xmit`: the last data may fill the window.
        self.observe_limit(self.grow_half_used && self.in_flight() + u64::from(self.mss) > self.window.cwnd);
        if self.sampling && self.end == self.nxt && self.in_flight() < self.allowed {
            self.board.ran_dry();
        }
        if self.state.is_recovery() && self.sack && !self.rack { self.fill(now) } else { None }
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

    /// What goes out while new data comes before repairs; `None` if repairs are next, `Some(None)` if nothing is.
    fn before_repairs(&mut self, now: Time) -> Option<Option<Out>> {
        if self.stack.waits_for_ack() {
            return Some(None);
        }
        if self.end > self.nxt
            && let Some(out) = self.new_data(now)
        {
            return Some(Some(out));
        }
        let State::Loss { point } = self.state else { return None };
        self.stack.on_no_new_data(self.nxt > point).then_some(None)
    }

    #[inline(always)] // Or what it returns goes through memory.
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
            self.observe_limit(!fits);
            return None;
        }
        let ends_burst = self.stack.is_last_of_burst(now);
        if self.is_held(now) {
            self.observe_limit(false);
            return None;
        }
        if !self.stack.goes_on(now) && self.defers(now, counted) {
            // What waits for more room waits for the window, unless the receiver's is the nearer.
            self.observe_limit(self.allowed - counted < self.una + self.receive_window - self.nxt);
            return None;
        }
        Some(self.send_new(now, len, ends_burst))
    }

    /// What fits waits all the same, so that more can leave at once.
    #[inline(never)]
    fn defers(&mut self, now: Time, counted: u64) -> bool {
        let room = Room {
            bytes: self.allowed.saturating_sub(counted),
            left: self.end - self.nxt,
            ends: self.fin,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            mss: u64::from(self.mss),
            srtt: self.rto.smoothed(),
            min_rtt: self.rto.min(),
            first_sent: self.board.first_sent().unwrap_or(now),
            last_sent: self.last_sent,
            repairing: !self.state.has_no_loss(),
            paced: self.pace.is_some(),
        };
        self.stack.defers(now, &room)
    }

    #[inline(always)] // Or what it returns goes through memory.
    fn send_new(&mut self, now: Time, len: u32, ends_burst: bool) -> Out {
        let seq = self.nxt;
        self.nxt += u64::from(len);
        self.board.push(len, now);
        self.sent(now, len);
        self.tlp.put_off = self.rack;
        let push = self.stack.pushes(ends_burst, self.nxt == self.end);
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
        self.tlp.on_probe(self.nxt, out.retransmission);
        self.statistics.probes += 1;
        Some(out)
    }

    /// Sending stops: at the window or for want of data.
    fn observe_limit(&mut self, limited: bool) {
        self.cwnd_limited.observe(limited, self.in_flight(), self.una, self.nxt);
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
        self.stack.on_resend(now);
        self.statistics.retransmits += 1;
        if seq == self.una {
            self.rto_at = self.rto.deadline(now);
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
            self.rto_at = self.rto.deadline(now);
        }
    }
}
