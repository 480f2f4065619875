//! BBR version 1: a window and a pacing rate from measured bandwidth and smallest round-trip time; losses hardly
//! count.
//!
//! How it works: A model of the path has two parts: the bottleneck bandwidth, the largest delivery rate of the last
//! ten rounds, and the smallest round-trip time of the last ten seconds.
//! - STARTUP sends at 2.89 times the bandwidth until that has not grown by a quarter in three rounds.
//! - DRAIN sends more slowly until no more than the bandwidth-delay product is in flight.
//! - PROBE_BW paces at the bandwidth; in cycles of eight phases one probes with 5/4, and the next drains with 3/4.
//! - PROBE_RTT: when the smallest round trip is ten seconds old, four segments are in flight for 200 ms.
//! - The window, a cap of two bandwidth-delay products, matters where several flows share a queue.
//!
//! Use it when: you model servers that ran BBR before version 3, or ask what flows that do not back off from loss do
//! to a small buffer. In deep buffers it keeps at most about a product queued; in shallow ones it loses much and
//! takes much.
//!
//! Source: the draft "BBR Congestion Control", draft-cardwell-iccrg-bbr-congestion-control-00 (2017) with the
//! constants and additions of Linux's `tcp_bbr`:
//! - gains of 739/256 and 88/256 at the start, the cycle 5/4, 3/4, 1 × 6 of which the first phase is drawn (never
//!   3/4);
//! - the bandwidth the largest of ten rounds, the round-trip time the smallest of ten seconds, 200 ms at four
//!   segments when that is too old;
//! - a full pipe after three rounds without a quarter more; pacing 1 % below the estimate; packet conservation for a
//!   round after a loss; room for aggregated ACKs (Linux 5.1), and the long-term bandwidth of policers ([`policer`]);
//! - what is in flight, as the gains count it, is what will be when pacing lets the next quantum leave, that quantum
//!   included while probing; room for aggregated ACKs is the most of two windows of five rounds.
//!
//! At the start these rules let 2.887 bandwidth-delay products and three quanta be in flight, in segments rounded up
//! to an even number, so that 1.887 products and the quanta are queued: 2.2 products at 10 Mbit/s and 50 ms, where
//! three quanta are eight of 42 segments and the smallest round trip has two transmissions. Difference: the first
//! window is sent at a pace for a round trip of 1 ms, since none is known yet.

mod policer;

use super::control::{Ack, Congestion, CongestionControl, Needs, Window};
use super::delivery::{Aggregation, DeliveryRound, MaxFilter, Pace, UNIT, paced, product, quantum};
use super::variables::{Variables, segments};
use crate::{Rate, Span, Time, with_defaults};
use policer::{News, Policer};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const BANDWIDTH_ROUNDS: usize = 10;
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT: Span = Span::from_millis(200);
/// Segments.
const LEAST_WINDOW: u64 = 4;
/// The pipe is full when the bandwidth has not grown by 5/4 …
const GROWTH: (u64, u64) = (5, 4);
/// … in so many rounds.
const FULL_ROUNDS: u32 = 3;
/// Rounds of a window in which aggregation is looked at; the present one and the last count.
const AGGREGATION_ROUNDS: u64 = 5;
const MOST_AGGREGATION: Span = Span::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw { phase: usize, since: Time },
    ProbeRtt { until: Option<Time>, round_done: bool },
}

/// What the sender does about losses, as far as BBR minds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    None,
    /// A loss was found; the next acknowledgement settles the window.
    Entering,
    /// The first round of a recovery: packets are conserved.
    Conserving,
    Under,
}

with_defaults! {
    /// BBR version 1.
    pub struct Bbr1 {
        mss: u64,
        initial: u64,
        cwnd: u64,
        /// The window before a recovery or a look at the round-trip time.
        prior_cwnd: u64,
        pace: Pace = Pace::new(0, HIGH_GAIN),
        mode: Mode = Mode::Startup,
        repair: Repair = Repair::None,
        rng: Pcg64Mcg = Pcg64Mcg::new(0),
        rounds: DeliveryRound,
        round_start: bool,
        bandwidth: MaxFilter<BANDWIDTH_ROUNDS>,
        min_rtt: Span = Span(u64::MAX),
        min_rtt_at: Time,
        full_bandwidth: u64,
        full_rounds: u32,
        policer: Policer,
        aggregation: Aggregation,
        extra: MaxFilter<2>,
        idle_restart: bool,
        /// Totals at the last acknowledgement.
        delivered: u64,
        lost: u64,
        /// What was sent in this range of deliveries was held back on purpose.
        held_back: Range<u64>,
    }
}

impl Bbr1 {
    /// Starts with `initial` bytes of window and segments of `mss` bytes; `seed` decides in which phase each cycle
    /// begins.
    pub fn new(mss: u64, initial: u64, seed: u64) -> Self {
        Self {
            mss,
            initial,
            cwnd: initial,
            pace: Pace::new(initial, HIGH_GAIN),
            rng: Pcg64Mcg::seed_from_u64(seed),
            ..Self::default()
        }
    }

    /// The bandwidth that is believed.
    fn bandwidth(&self) -> Rate {
        self.policer.rate().unwrap_or(Rate(self.bandwidth.get()))
    }

    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw { .. } if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw { phase, .. } => (CYCLE[phase], CWND_GAIN),
            Mode::ProbeRtt { .. } => (UNIT, UNIT),
        }
    }

    fn bdp(&self, bandwidth: Rate, gain: u64) -> u64 {
        if self.min_rtt == Span(u64::MAX) { self.initial } else { product(bandwidth, self.min_rtt, gain) }
    }

    /// What is sent at once, in whole segments, down.
    fn quantum(&self) -> u64 {
        quantum(self.pace.rate, self.mss) / self.mss * self.mss
    }

    /// Acknowledgements ran ahead of the bandwidth by so much; what was to be expected is whole segments, down.
    fn watch_aggregation(&mut self, now: Time, delivered: u64) {
        let extra = self.aggregation.on_ack(now, delivered, self.bandwidth()).next_multiple_of(self.mss);
        self.extra.update(self.rounds.count / AGGREGATION_ROUNDS, extra.min(self.cwnd));
    }

    /// Room for acknowledgements that run ahead, in whole segments, down.
    fn room(&self) -> u64 {
        let most = self.bandwidth().bytes_in(MOST_AGGREGATION);
        if self.full() { self.extra.get().min(most / self.mss * self.mss) } else { 0 }
    }

    /// Room for the quanta in the sender, on the way and in the receiver, in an even number of segments; two more
    /// while probing.
    fn with_quanta(&self, bytes: u64) -> u64 {
        let segments = (bytes + 3 * self.quantum()).div_ceil(self.mss).next_multiple_of(2);
        let probing = matches!(self.mode, Mode::ProbeBw { phase: 0, .. });
        (segments + 2 * u64::from(probing)) * self.mss
    }

    fn inflight(&self, gain: u64) -> u64 {
        self.with_quanta(self.bdp(Rate(self.bandwidth.get()), gain))
    }

    /// Of the bytes in flight, those that will be in the network when pacing lets the next quantum leave, in whole
    /// segments; with that quantum while more is being sent than arrives.
    fn in_network(&self, now: Time, in_flight: u64, next_send: Time) -> u64 {
        let delivered = self.bandwidth().bytes_in(next_send.since(now)) / self.mss * self.mss;
        let leaving = if self.gains().0 > UNIT { self.quantum() } else { 0 };
        (in_flight + leaving).saturating_sub(delivered)
    }

    fn full(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    fn probe_bandwidth(&mut self, now: Time) {
        // Any phase but the second.
        let phase = (CYCLE.len() - self.rng.random_range(0..CYCLE.len() - 1)) % CYCLE.len();
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    fn resume(&mut self, now: Time) {
        if self.full() { self.probe_bandwidth(now) } else { self.mode = Mode::Startup }
    }

    fn save_window(&mut self) {
        let steady = self.repair == Repair::None && !matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if steady { self.cwnd } else { self.cwnd.max(self.prior_cwnd) };
    }

    fn update_bandwidth(&mut self, now: Time, ack: &Ack, lost: u64) {
        self.round_start = false;
        let Some((sample, rate)) = ack.sample.and_then(|sample| Some((sample, sample.rate()?))) else { return };
        self.round_start = self.rounds.ends(sample.prior_delivered, ack.total_delivered);
        if self.round_start && self.repair == Repair::Conserving {
            self.repair = Repair::Under;
        }
        let app_limited = sample.app_limited || self.held_back.contains(&sample.prior_delivered);
        let news = News {
            now,
            delivered: ack.total_delivered,
            lost: ack.total_lost,
            losing: lost > 0,
            round: self.round_start,
            app_limited,
        };
        if self.policer.on_ack(&news, matches!(self.mode, Mode::ProbeBw { .. })) {
            self.probe_bandwidth(now);
        }
        let known = self.bandwidth.get();
        self.bandwidth.update(self.rounds.count, if !app_limited || rate.0 >= known { rate.0 } else { 0 });
        self.check_full(app_limited);
    }

    fn check_full(&mut self, app_limited: bool) {
        if self.full() || !self.round_start || app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if u128::from(bandwidth) * u128::from(GROWTH.1) >= u128::from(self.full_bandwidth) * u128::from(GROWTH.0) {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
        } else {
            self.full_rounds += 1;
        }
    }

    fn update_cycle(&mut self, now: Time, ack: &Ack, lost: u64) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let (gain, _) = self.gains();
        let long = now.since(since) > self.min_rtt;
        let in_network = self.in_network(now, ack.in_flight, ack.next_send);
        let over = match gain.cmp(&UNIT) {
            std::cmp::Ordering::Equal => long,
            std::cmp::Ordering::Greater => long && (lost > 0 || in_network >= self.inflight(gain)),
            std::cmp::Ordering::Less => long || in_network <= self.inflight(UNIT),
        };
        if over {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: now };
        }
    }

    fn check_drain(&mut self, now: Time, ack: &Ack) {
        if self.mode == Mode::Startup && self.full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.in_network(now, ack.left_in_flight, ack.next_send) <= self.inflight(UNIT) {
            self.probe_bandwidth(now);
        }
    }

    fn update_min_rtt(&mut self, now: Time, ack: &Ack) {
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt.filter(|rtt| *rtt < self.min_rtt || expired) {
            (self.min_rtt, self.min_rtt_at) = (rtt, now);
        }
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_window();
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
            self.held_back.start = ack.total_delivered;
        }
        self.probe_rtt(now, ack);
        self.idle_restart = false;
    }

    fn probe_rtt(&mut self, now: Time, ack: &Ack) {
        let Mode::ProbeRtt { until, round_done } = &mut self.mode else { return };
        // Also what leaves when the last of it has come: the mark is cleared by more than that (`tcp_rate_gen`).
        self.held_back.end = ack.total_delivered + ack.left_in_flight + 1;
        match until {
            None if ack.left_in_flight <= LEAST_WINDOW * self.mss => {
                *until = Some(now + PROBE_RTT);
                self.rounds.restart(ack.total_delivered);
            }
            None => {}
            Some(until) => {
                *round_done |= self.round_start;
                if *round_done && now > *until {
                    self.min_rtt_at = now;
                    self.cwnd = self.cwnd.max(self.prior_cwnd);
                    self.resume(now);
                }
            }
        }
    }

    /// The window during a recovery's first round, if that is what this is.
    fn conserve(&mut self, ack: &Ack, lost: u64) -> bool {
        if lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(lost).max(self.mss);
        }
        if self.repair == Repair::Entering {
            self.repair = Repair::Conserving;
            self.rounds.restart(ack.total_delivered);
            self.cwnd = (ack.left_in_flight + ack.delivered).max(self.mss);
        }
        let conserving = self.repair == Repair::Conserving;
        if conserving {
            self.cwnd = self.cwnd.max(ack.left_in_flight + ack.delivered);
        }
        conserving
    }

    fn set_window(&mut self, ack: &Ack, lost: u64) {
        if !self.conserve(ack, lost) {
            let target = self.with_quanta(self.bdp(self.bandwidth(), self.gains().1) + self.room());
            if self.full() {
                self.cwnd = target.min(self.cwnd + ack.delivered);
            } else if self.cwnd < target || ack.total_delivered < self.initial {
                self.cwnd += ack.delivered;
            }
            self.cwnd = self.cwnd.max(LEAST_WINDOW * self.mss);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(LEAST_WINDOW * self.mss);
        }
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let lost = ack.total_lost - self.lost;
        (self.delivered, self.lost) = (ack.total_delivered, ack.total_lost);
        self.update_bandwidth(now, ack, lost);
        if ack.sample.is_some() {
            self.watch_aggregation(now, ack.delivered);
        }
        self.update_cycle(now, ack, lost);
        self.check_drain(now, ack);
        self.update_min_rtt(now, ack);
        let target = paced(self.bandwidth(), self.gains().0);
        self.pace.update(ack.srtt, self.cwnd, HIGH_GAIN, target, self.full());
        self.set_window(ack, lost);
    }

    fn on_congestion(&mut self, now: Time, what: Congestion, in_flight: u64) {
        match what {
            Congestion::Mark => {}
            Congestion::Loss => {
                self.save_window();
                self.repair = Repair::Entering;
                self.cwnd = self.cwnd.min(in_flight.max(self.mss));
            }
            Congestion::Timeout => {
                self.save_window();
                self.repair = Repair::Under;
                self.full_bandwidth = 0;
                self.cwnd = self.mss;
                let (delivered, lost) = (self.delivered, self.lost);
                let news = News { now, delivered, lost, losing: true, round: true, app_limited: false };
                self.policer.on_ack(&news, false);
            }
        }
    }

    fn on_idle(&mut self, now: Time, _: u64) {
        self.idle_restart = true;
        self.aggregation = Aggregation::default();
        if matches!(self.mode, Mode::ProbeBw { .. }) {
            self.pace.rate = paced(self.bandwidth(), UNIT);
        }
        if let Mode::ProbeRtt { until: Some(until), .. } = self.mode
            && now > until
        {
            self.min_rtt_at = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.resume(now);
        }
    }

    fn on_recovered(&mut self, _: Time) {
        if std::mem::replace(&mut self.repair, Repair::None) != Repair::None {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: u64::MAX, pacing: Some(self.pace.rate) }
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, no_prr: true, ..Needs::default() }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        show.window("cwnd", &mut self.cwnd, self.mss);
        show.tell("ssthresh", f64::INFINITY);
        let (mode, phase) = match self.mode {
            Mode::Startup => (0.0, f64::NAN),
            Mode::Drain => (1.0, f64::NAN),
            Mode::ProbeBw { phase, .. } => (2.0, phase as f64),
            Mode::ProbeRtt { .. } => (3.0, f64::NAN),
        };
        show.tell("mode", mode);
        show.tell("phase", phase);
        if let Some(bw) = show.changed("bw", self.bandwidth().0 as f64) {
            self.bandwidth.update(0, bw as u64);
        }
        show.time("min_rtt", &mut self.min_rtt, Span(u64::MAX));
        show.tell("full_bw", self.full_bandwidth as f64);
        show.tell("round", self.rounds.count as f64);
        show.tell("extra_acked", segments(self.extra.get(), self.mss));
        show.tell("lt_bw", self.policer.rate().map_or(f64::NAN, |rate| rate.0 as f64));
    }
}

#[cfg(test)]
mod tests;
