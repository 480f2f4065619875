//! The sending half: what it keeps, and its timers.
//!
//! Source: RFC 5681, RFC 6298 §5 (managing the timer). What an acknowledgement brings is in [`ack`], what may be sent
//! in [`transmit`], and what a loss does in [`recovery`]. Difference: the timer also restarts when the oldest
//! outstanding segment is sent again (as in Linux and ns-2).

mod ack;
mod recovery;
#[cfg(test)]
mod tests;
mod transmit;

use super::config::{Config, Recovery};
use super::cwnd_limited::CwndLimited;
use super::ecn::Marking;
use super::loss::prr::Prr;
use super::loss::scoreboard::Scoreboard;
use super::loss::state::State;
use super::loss::tlp::{self, Tlp};
use super::pacing::{Pacer, Pacing};
use super::rto::Rto;
use super::stack::Policy;
use super::statistics::{Repair, Statistics};
use crate::congestion::{CongestionControl, Window};
use crate::{Rate, Span, Time};

/// The sending half of an endpoint. First what is looked at whenever a segment arrives, even at an end that only
/// receives: with thousands of connections, the number of cache lines touched matters.
#[repr(C)]
pub struct Sender {
    /// Oldest sequence number not acknowledged (SND.UNA).
    una: u64,
    /// Next sequence number not sent before (SND.NXT).
    nxt: u64,
    /// One past what has been written.
    end: u64,
    rto_at: Time,
    /// When losses are to be looked for by time (RACK's reordering timer).
    reorder_at: Time,
    /// When pacing lets the next segment leave.
    send_at: Time,
    tlp: Tlp,
    cwnd_limited: CwndLimited,
    mss: u32,
    /// Duplicate acknowledgements since `una` last advanced.
    dupacks: u32,
    pub(super) ecn: Marking,
    pacing: Pacing,
    /// Losses are found by time, not by counting.
    rack: bool,
    /// The next retransmission goes out whatever the window says (RFC 6675 §5, step 4.3).
    force: bool,
    /// Recovery may still send its one rescue retransmission (RFC 6675, NextSeg rule 4).
    rescue: bool,
    sack: bool,
    partial_acks: bool,
    limited_transmit: bool,
    idle_restart: bool,
    grow_half_used: bool,
    stack: Policy,
    fin: bool,
    /// The controller wants samples of the delivery rate.
    sampling: bool,
    /// No proportional reduction: the controller decides alone what a loss does to the window, or it is switched off.
    no_prr: bool,
    /// Bytes that may be in flight now: the window, or less while recovery reduces it.
    allowed: u64,
    state: State,
    /// Without SACK: bytes that duplicate acknowledgements say have left the network.
    left_network: u64,
    receive_window: u64,
    board: Scoreboard,
    window: Window,
    rto: Rto,
    control: Box<dyn CongestionControl>,
    /// Bytes delivered.
    delivered: u64,
    prr: Prr,
    last_sent: Time,
    /// The rate to pace at, if any.
    pace: Option<Rate>,
    statistics: Statistics,
    pacer: Pacer,
    restart_window: u64,
    repair: Repair,
}

impl Sender {
    pub(super) fn new(config: &Config, control: Box<dyn CongestionControl>) -> Self {
        let needs = control.needs();
        let rack = config.recovery == Recovery::RackTlp;
        Self {
            una: 0,
            nxt: 0,
            end: 0,
            window: control.window(),
            board: Scoreboard::new(needs.rate_samples, rack),
            state: State::Open,
            prr: Prr::default(),
            cwnd_limited: CwndLimited::default(),
            allowed: control.window().cwnd,
            dupacks: 0,
            left_network: 0,
            rto_at: Time::NEVER,
            reorder_at: Time::NEVER,
            tlp: Tlp::default(),
            rack,
            rto: Rto::new(config),
            mss: config.mss,
            force: false,
            rescue: false,
            sack: config.sack,
            partial_acks: config.partial_acks,
            limited_transmit: config.limited_transmit,
            idle_restart: config.idle_restart,
            grow_half_used: config.grow_half_used,
            stack: Policy::new(config.stack),
            fin: false,
            receive_window: config.receive_window,
            restart_window: config.initial_window(),
            last_sent: Time::ZERO,
            pacing: config.pacing,
            pace: config.pacing.rate(control.window(), Span::ZERO),
            pacer: Pacer::new(needs.fine_pacing),
            send_at: Time::NEVER,
            ecn: Marking::new(config.ecn, control.ecn()),
            sampling: needs.rate_samples,
            no_prr: needs.no_prr || !config.prr,
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

    /// The earliest of the RTO, TLP and RACK-reordering timers; `NEVER` if nothing is outstanding.
    #[inline]
    pub fn next_timer(&self) -> Time {
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
        self.rto.smoothed()
    }

    /// Smoothed round-trip time, and the retransmission timeout.
    pub(super) fn srtt_and_rto(&self) -> (Span, Span) {
        (self.rto.smoothed(), self.rto.timeout())
    }

    /// The round trip that the last advancing acknowledgement measured; zero if it measured none.
    #[inline]
    pub fn latest_rtt(&self) -> Span {
        self.rto.latest
    }

    /// Bytes that are known to have arrived, by acknowledgement or SACK.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The rate at which the sender paces itself, if it does.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }

    /// Mean of the round-trip times measured; zero before the first.
    pub fn mean_rtt(&self) -> Span {
        self.rto.mean()
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

    fn refresh_window(&mut self) {
        let window = self.control.window();
        // Mostly it is the same, and comparing does not wait, as copying would, for what has just been written in
        // parts.
        if window != self.window {
            self.window = window;
        }
        self.allowed = self.window.cwnd;
        self.pace = self.pacing.rate(self.window, self.rto.smoothed());
    }

    /// Returns to the restart window, as after an idle time (RFC 5681 §4.1).
    pub(super) fn restart(&mut self, now: Time) {
        self.control.on_idle(now, self.restart_window);
        self.refresh_window();
    }

    #[inline(never)]
    fn restart_if_idle(&mut self, now: Time) {
        if self.idle_restart && self.una > 0 && now.since(self.last_sent) > self.rto.timeout() {
            self.restart(now);
        }
    }

    /// Timers may have expired at `now` (RFC 6298 §5.4–5.7; RFC 8985 §6.2, §7.3).
    pub(super) fn on_timeout(&mut self, now: Time) {
        if self.reorder_at <= now {
            let repairing = self.state.is_recovery();
            self.rack_detect_loss(now, self.in_flight());
            if self.state.is_recovery() && !repairing && !self.no_prr {
                self.allowed = self.in_flight() + u64::from(self.mss);
                self.prr.credit(self.stack.delivered_by_timer(self.mss));
            }
        }
        if self.tlp.at <= now && self.tlp.expire(self.board.outstanding() > 0) {
            self.rto_at = self.rto.deadline(now);
        }
        if self.rto_at <= now {
            self.pacer.release(now);
            self.time_out(now);
            self.rto_at = self.rto.deadline(now);
        }
    }

    /// All that may be sent now has left. If anything did, or news came, the tail loss probe is put off.
    #[inline]
    pub(super) fn has_sent(&mut self, now: Time) {
        if self.tlp.put_off {
            self.arm_probe(now);
        }
    }

    #[inline(never)]
    fn arm_probe(&mut self, now: Time) {
        self.tlp.put_off = false;
        let outstanding = self.board.outstanding();
        self.tlp.at = if outstanding == 0 || self.una == 0 || !self.state.has_no_loss() || self.board.has_sacked() {
            Time::NEVER
        } else {
            let single = outstanding <= u64::from(self.mss);
            let wait = tlp::timeout(self.rto.smoothed(), single, self.rto_at.since(now));
            self.rto.expiry(now, wait).min(self.rto_at)
        };
    }
}
