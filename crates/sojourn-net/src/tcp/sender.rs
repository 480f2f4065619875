//! The sending half: what may be sent now.
//!
//! Source: RFC 5681, RFC 6675 §5 (what to send during recovery), RFC 3042 (limited transmit), RFC 6298 §5 (managing the timer).
//! Reactions to loss are in [`super::recovery`]. Differences: the window is counted against `pipe` at all times, a segment
//! is sent only if it fits wholly, and the timer also restarts when the oldest outstanding segment is sent again (as in Linux and ns-2).

use super::ecn::Marking;
use super::endpoint::{Config, Recovery};
use super::pacing::{Pacer, Pacing};
use super::prr::Prr;
use super::recovery::State;
use super::rtt::Rtt;
use super::scoreboard::{Resend, Scoreboard};
use super::statistics::{Repair, Statistics};
use super::tlp::Tlp;
use super::undo::Undo;
use super::usage::Usage;
use crate::congestion::{CongestionControl, Window};
use crate::{Rate, Span, Time};

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

/// The sending half of an endpoint. First what is looked at whenever a segment arrives, even at an end that only receives; with thousands of
/// connections, how many cache lines that is counts.
#[repr(C)]
pub struct Sender {
    pub(super) una: u64,
    pub(super) nxt: u64,
    end: u64,
    pub(super) rto_at: Time,
    /// When losses are to be looked for by time.
    pub(super) reorder_at: Time,
    send_at: Time,
    pub(super) tlp: Tlp,
    pub(super) usage: Usage,
    pub(super) mss: u32,
    /// Duplicate acknowledgements since `una` last advanced.
    pub(super) dupacks: u32,
    pub(super) marking: Marking,
    pacing: Pacing,
    /// Losses are found by time.
    pub(super) by_time: bool,
    /// The next retransmission goes out whatever the window says (RFC 6675 §5, step 4.3).
    pub(super) force: bool,
    pub(super) rescue: bool,
    pub(super) sack: bool,
    pub(super) partial_acks: bool,
    limited_transmit: bool,
    idle_restart: bool,
    pub(super) grow_half_used: bool,
    /// Linux's habits: new data leaves two segments at a time if it can; what was needless is undone.
    pub(super) linux: bool,
    pub(super) undo: Undo,
    fin: bool,
    /// The controller wants samples of the delivery rate.
    pub(super) sampling: bool,
    /// The controller decides alone what a loss does to the window: no proportional reduction.
    pub(super) unreduced: bool,
    /// Bytes that may be in flight now: the window, or less while recovery reduces it.
    pub(super) allowed: u64,
    pub(super) state: State,
    /// Without SACK: bytes that duplicate acknowledgements say have left the network.
    pub(super) left_network: u64,
    receive_window: u64,
    pub(super) board: Scoreboard,
    pub(super) window: Window,
    pub(super) rtt: Rtt,
    pub(super) control: Box<dyn CongestionControl>,
    /// Bytes delivered.
    pub(super) delivered: u64,
    pub(super) prr: Prr,
    last_sent: Time,
    /// The rate to pace at, if any.
    pace: Option<Rate>,
    pub(super) statistics: Statistics,
    /// When the first of a pair left whose second must follow.
    second_at: Time,
    pacer: Pacer,
    restart_window: u64,
    repair: Repair,
}

impl Sender {
    pub(super) fn new(config: &Config, control: Box<dyn CongestionControl>) -> Self {
        let by_time = config.recovery == Recovery::RackTlp;
        Self {
            una: 0,
            nxt: 0,
            end: 0,
            window: control.window(),
            board: Scoreboard::new(control.wants_samples(), by_time),
            state: State::Open,
            prr: Prr::default(),
            usage: Usage::default(),
            allowed: control.window().cwnd,
            dupacks: 0,
            left_network: 0,
            rto_at: Time::NEVER,
            reorder_at: Time::NEVER,
            tlp: Tlp::default(),
            by_time,
            rtt: Rtt::new(config.min_rto, config.initial_rto, config.linux),
            mss: config.mss,
            force: false,
            rescue: false,
            sack: config.sack,
            partial_acks: config.partial_acks,
            limited_transmit: config.limited_transmit,
            idle_restart: config.idle_restart,
            grow_half_used: config.grow_half_used,
            linux: config.linux,
            undo: Undo::default(),
            second_at: Time::NEVER,
            fin: false,
            receive_window: config.receive_window,
            restart_window: config.initial_window(),
            last_sent: Time::ZERO,
            pacing: config.pacing,
            pace: config.pacing.rate(control.window(), Span::ZERO),
            pacer: Pacer::new(control.sends_smoothly()),
            send_at: Time::NEVER,
            marking: Marking::new(config.ecn, control.ecn()),
            sampling: control.wants_samples(),
            unreduced: control.paces_recovery(),
            delivered: 0,
            control,
            statistics: Statistics::default(),
            repair: Repair::default(),
        }
    }

    /// Next sequence number not sent before.
    #[inline]
    pub fn next(&self) -> u64 {
        self.nxt
    }

    /// Oldest sequence number not acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// When the first of the timers expires; `NEVER` if nothing is outstanding.
    #[inline]
    pub fn timer_at(&self) -> Time {
        self.rto_at.min(self.tlp.at).min(self.reorder_at)
    }

    /// When pacing next lets something leave that waits for nothing else; `NEVER` if it holds nothing back.
    #[inline]
    pub fn send_at(&self) -> Time {
        self.send_at
    }

    /// The congestion window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Bytes believed to be in the network.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.board.pipe().saturating_sub(self.left_network)
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Span {
        self.rtt.smoothed()
    }

    /// Mean of the round-trip times measured; zero before the first.
    pub fn mean_rtt(&self) -> Span {
        self.rtt.mean()
    }

    /// What the sender has done so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Time spent waiting for losses to be repaired.
    pub fn repair(&self) -> Repair {
        self.repair
    }

    /// True once the FIN has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.fin && self.una == self.end
    }

    /// True if nothing written remains unacknowledged.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.una == self.end
    }

    pub(super) fn open(&mut self) {
        self.end = self.end.max(1);
    }

    pub(super) fn write(&mut self, bytes: u64) {
        if !self.fin {
            self.end = self.end.max(1).saturating_add(bytes).min(u64::MAX / 2);
        }
    }

    pub(super) fn close(&mut self) {
        if !self.fin {
            self.end = self.end.max(1) + 1;
            self.fin = true;
        }
    }

    /// True if the unit at `seq` is the FIN.
    pub(super) fn is_fin(&self, seq: u64) -> bool {
        self.fin && seq + 1 == self.end
    }

    pub(super) fn refresh_window(&mut self) {
        let window = self.control.window();
        // Mostly it is the same, and comparing does not wait, as copying would, for what has just been written in parts.
        if window != self.window {
            self.window = window;
        }
        self.allowed = self.window.cwnd;
        self.pace = self.pacing.rate(self.window, self.rtt.smoothed());
    }

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

    /// Returns to the restart window, as after an idle time (RFC 5681 §4.1).
    pub(super) fn restart(&mut self, now: Time) {
        self.control.on_idle(now, self.restart_window);
        self.refresh_window();
    }

    #[inline(never)]
    fn restart_if_idle(&mut self, now: Time) {
        if self.idle_restart && self.una > 0 && now.since(self.last_sent) > self.rtt.rto() {
            self.restart(now);
        }
    }

    /// Timers may have expired at `now` (RFC 6298 §5.4–5.7; RFC 8985 §6.2, §7.3).
    pub(super) fn on_timeout(&mut self, now: Time) {
        if self.reorder_at <= now {
            let repairing = self.state.is_recovery();
            self.find_overdue(now, self.in_flight());
            if self.state.is_recovery() && !repairing && !self.unreduced {
                self.allowed = self.in_flight() + u64::from(self.mss);
            }
        }
        if self.tlp.at <= now {
            self.probe(now);
        }
        if self.rto_at <= now {
            self.pacer.release(now);
            self.time_out(now);
            self.rto_at = self.rtt.deadline(now);
        }
    }
}
