//! The sending half: what it keeps, and its timers.
//!
//! Source: RFC 5681, RFC 6298 §5 (managing the timer). What may be sent is in [`super::outgoing`], reactions to loss are in
//! [`super::recovery`]. Difference: the timer also restarts when the oldest outstanding segment is sent again (as in Linux and ns-2).

use super::ecn::Marking;
use super::endpoint::{Config, Recovery};
use super::pacing::{Pacer, Pacing};
use super::prr::Prr;
use super::recovery::State;
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::statistics::{Repair, Statistics};
use super::tlp::Tlp;
use super::undo::Undo;
use super::usage::Usage;
use crate::congestion::{CongestionControl, Window};
use crate::{Rate, Span, Time};

/// The sending half of an endpoint. First what is looked at whenever a segment arrives, even at an end that only receives; with thousands of
/// connections, how many cache lines that is counts.
#[repr(C)]
pub struct Sender {
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) end: u64,
    pub(super) rto_at: Time,
    /// When losses are to be looked for by time.
    pub(super) reorder_at: Time,
    pub(super) send_at: Time,
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
    pub(super) limited_transmit: bool,
    idle_restart: bool,
    pub(super) grow_half_used: bool,
    /// Linux's habits: new data leaves two segments at a time if it can; what was needless is undone.
    pub(super) linux: bool,
    pub(super) undo: Undo,
    pub(super) fin: bool,
    /// The controller wants samples of the delivery rate.
    pub(super) sampling: bool,
    /// The controller decides alone what a loss does to the window: no proportional reduction.
    pub(super) unreduced: bool,
    /// Bytes that may be in flight now: the window, or less while recovery reduces it.
    pub(super) allowed: u64,
    pub(super) state: State,
    /// Without SACK: bytes that duplicate acknowledgements say have left the network.
    pub(super) left_network: u64,
    pub(super) receive_window: u64,
    pub(super) board: Scoreboard,
    pub(super) window: Window,
    pub(super) rtt: Rtt,
    pub(super) control: Box<dyn CongestionControl>,
    /// Bytes delivered.
    pub(super) delivered: u64,
    pub(super) prr: Prr,
    pub(super) last_sent: Time,
    /// The rate to pace at, if any.
    pub(super) pace: Option<Rate>,
    pub(super) statistics: Statistics,
    /// When the first of a pair left whose second must follow.
    pub(super) second_at: Time,
    pub(super) pacer: Pacer,
    restart_window: u64,
    pub(super) repair: Repair,
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

    /// Returns to the restart window, as after an idle time (RFC 5681 §4.1).
    pub(super) fn restart(&mut self, now: Time) {
        self.control.on_idle(now, self.restart_window);
        self.refresh_window();
    }

    #[inline(never)]
    pub(super) fn restart_if_idle(&mut self, now: Time) {
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
