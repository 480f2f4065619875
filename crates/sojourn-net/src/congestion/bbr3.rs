//! BBR version 3: a model of the path that losses and marks bound.
//!
//! How it works: As in version 1 the model is bandwidth and smallest round-trip time; what is new are bounds.
//! - STARTUP (gain 2.77) ends when the bandwidth stops growing, or when more than 2 % is lost; DRAIN empties the
//!   queue.
//! - PROBE_BW goes through DOWN (0.91, drains), CRUISE (leaves headroom), REFILL and UP (5/4, probes), every 2–3 s.
//! - `inflight_hi`, the long-term bound, is set where probing loses more than 2 %, and grows while probing finds no
//!   loss.
//! - `inflight_lo` and `bw_lo`, the short-term bounds, follow losses and marks of the last round between probes.
//! - PROBE_RTT: every 5 s half a bandwidth-delay product is in flight for 200 ms.
//!
//! Use it when: you model servers that run BBR today, or compare loss-based and model-based controllers fairly:
//! unlike version 1 it yields to loss and to ECN.
//!
//! Source: the draft "BBR Congestion Control", draft-ietf-ccwg-bbr (2024): STARTUP at 2.77, DRAIN, the cycle PROBE_BW
//! of DOWN (0.91), CRUISE, REFILL and UP (5/4), probing every 2–3 s or as often as a Reno flow of the same window
//! would meet a loss (63 rounds at most), bounds from losses above 2 % ([`bounds`]), PROBE_RTT each 5 s at half a
//! bandwidth-delay product. Gains of DRAIN and DOWN, and ECN, as in Linux's third version. Differences:
//! - whether a flight was too large is judged from the sample of each acknowledgement (the draft: from each lost
//!   packet);
//! - losses act through the bounds only, without the draft's packet conservation in the first round of a recovery;
//! - the first window is sent at a pace for a round trip of 1 ms, since none is known yet.

mod bounds;
mod full_pipe;
mod min_rtt;
mod mode;

use super::control::{Ack, Congestion, CongestionControl, Needs, RateSample, Window};
use super::delivery::{Aggregation, DeliveryRound, MaxFilter, Pace, UNIT, paced, product, quantum};
use super::variables::{Variables, segments};
use crate::{Rate, Span, Time, with_defaults};
use bounds::{Bounds, NONE, beta, lost_too_much};
use full_pipe::FullPipe;
use min_rtt::MinRtt;
use mode::{AckPhase, Mode};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

const STARTUP_GAIN: u64 = UNIT * 277 / 100;
const DRAIN_GAIN: u64 = 88;
const DOWN_GAIN: u64 = UNIT * 91 / 100;
const UP_GAIN: u64 = UNIT * 5 / 4;
const CWND_GAIN: u64 = 2 * UNIT;
const UP_CWND_GAIN: u64 = UNIT * 9 / 4;
const PROBE_RTT: Span = Span::from_millis(200);
/// Segments.
const LEAST_WINDOW: u64 = 4;
const MOST_PROBE_ROUNDS: u64 = 63;
const LEAST_PROBE_WAIT: Span = Span::from_secs(2);
const MORE_PROBE_WAIT: Span = Span::from_secs(1);

with_defaults! {
    /// BBR version 3.
    pub struct Bbr3 {
        mss: u64,
        initial: u64,
        cwnd: u64,
        prior_cwnd: u64,
        pace: Pace = Pace::new(0, STARTUP_GAIN),
        mode: Mode = Mode::Startup,
        rng: Pcg64Mcg = Pcg64Mcg::new(0),
        rounds: DeliveryRound,
        round_start: bool,
        loss_rounds: DeliveryRound,
        /// Of the last two cycles.
        max_bw: MaxFilter<2>,
        cycle: u64,
        bounds: Bounds,
        full: FullPipe,
        ack_phase: AckPhase = AckPhase::Init,
        /// What is sent now tells about the bandwidth that was probed for.
        probing_samples: bool,
        probe_wait: Span,
        probed_at: Time,
        rounds_since_probe: u64,
        min_rtt: MinRtt,
        aggregation: Aggregation,
        extra: MaxFilter<10>,
        idle_restart: bool,
        /// Totals at the last acknowledgement.
        delivered: u64,
        lost: u64,
        /// What was sent in this range of deliveries was held back on purpose.
        held_back: Range<u64>,
    }
}

impl Bbr3 {
    /// Starts with `initial` bytes of window and segments of `mss` bytes; `seed` decides when it probes.
    pub fn new(mss: u64, initial: u64, seed: u64) -> Self {
        Self {
            mss,
            initial,
            cwnd: initial,
            pace: Pace::new(initial, STARTUP_GAIN),
            rng: Pcg64Mcg::seed_from_u64(seed),
            ..Self::default()
        }
    }

    fn least(&self) -> u64 {
        LEAST_WINDOW * self.mss
    }

    /// The bandwidth that is believed.
    fn bandwidth(&self) -> Rate {
        Rate(self.max_bw.get().min(self.bounds.bw_lo))
    }

    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (STARTUP_GAIN, CWND_GAIN),
            Mode::Drain => (DRAIN_GAIN, CWND_GAIN),
            Mode::Down => (DOWN_GAIN, CWND_GAIN),
            Mode::Up => (UP_GAIN, UP_CWND_GAIN),
            Mode::Cruise | Mode::Refill => (UNIT, CWND_GAIN),
            Mode::ProbeRtt { .. } => (UNIT, UNIT / 2),
        }
    }

    fn bdp(&self, bandwidth: Rate, gain: u64) -> u64 {
        self.min_rtt.get().map_or(self.initial, |rtt| product(bandwidth, rtt, gain))
    }

    /// At least what hosts send at once; two segments more while probing (§5.6.4.2).
    fn with_quanta(&self, bytes: u64) -> u64 {
        let least = (3 * quantum(self.pace.rate, self.mss)).max(self.least());
        bytes.max(least) + if self.mode == Mode::Up { 2 * self.mss } else { 0 }
    }

    fn inflight(&self, gain: u64) -> u64 {
        self.with_quanta(self.bdp(Rate(self.max_bw.get()), gain))
    }

    fn target_inflight(&self) -> u64 {
        self.bdp(self.bandwidth(), UNIT).min(self.cwnd)
    }

    fn update_model(&mut self, now: Time, ack: &Ack, sample: &RateSample, rate: Rate, lost: u64) {
        self.round_start = self.rounds.ends(sample.prior_delivered, ack.total_delivered);
        self.rounds_since_probe += u64::from(self.round_start);
        if rate.0 >= self.max_bw.get() || !sample.app_limited {
            self.max_bw.update(self.cycle, rate.0);
        }
        self.bounds.observe(ack, sample, rate, lost);
        let mostly_marked = self.bounds.is_mostly_marked();
        if self.loss_rounds.ends(sample.prior_delivered, ack.total_delivered) {
            let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
            self.bounds.end_round(probing, self.max_bw.get(), self.cwnd, sample, rate);
            self.full.end_loss_round(mostly_marked);
        }
        self.full.update(sample, rate, self.round_start);
        if self.mode == Mode::Startup {
            if self.full.is_lossy(ack, lost, self.round_start) {
                let bdp = self.bdp(Rate(self.max_bw.get()), UNIT);
                self.bounds.inflight_hi = bdp.max(self.bounds.inflight_latest);
            }
            if self.full.reached {
                self.mode = Mode::Drain;
            }
        }
        if self.mode == Mode::Drain && ack.left_in_flight <= self.inflight(UNIT) {
            self.start_down(now);
        }
        self.adapt_long_term(now, ack, sample, mostly_marked);
        self.next_phase(now, ack, rate);
    }

    /// The long-term bound (§5.5.7 "AdaptLongTermModel").
    fn adapt_long_term(&mut self, now: Time, ack: &Ack, sample: &RateSample, mostly_marked: bool) {
        if !self.full.reached {
            return;
        }
        if self.round_start && self.ack_phase == AckPhase::ProbeStarting {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.round_start && self.ack_phase == AckPhase::ProbeStopping {
            self.probing_samples = false;
            self.ack_phase = AckPhase::Init;
            if self.mode.probes_bandwidth() && !sample.app_limited {
                self.cycle += 1;
                self.max_bw.update(self.cycle, 0);
            }
        }
        if lost_too_much(sample) || mostly_marked {
            if self.probing_samples {
                self.probing_samples = false;
                if !sample.app_limited {
                    self.bounds.inflight_hi = sample.tx_in_flight.max(beta(self.target_inflight()));
                }
                if self.mode == Mode::Up {
                    self.start_down(now);
                }
            }
        } else if self.bounds.inflight_hi != NONE {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.tx_in_flight);
            if self.mode == Mode::Up {
                self.bounds.probe_upward(ack, self.cwnd, self.mss, self.round_start);
            }
        }
    }

    fn next_phase(&mut self, now: Time, ack: &Ack, rate: Rate) {
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Mode::Down if self.is_time_to_cruise(ack) => self.mode = Mode::Cruise,
            Mode::Refill if self.round_start => self.start_up(now, rate),
            Mode::Up => {
                if !ack.app_limited && self.cwnd >= self.bounds.inflight_hi {
                    self.full.reset(rate);
                } else if self.full.now {
                    self.start_down(now);
                }
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(MOST_PROBE_ROUNDS);
        now.since(self.probed_at) > self.probe_wait || self.rounds_since_probe >= reno_rounds
    }

    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        ack.left_in_flight <= self.bounds.with_headroom(self.mss, self.least()).min(self.inflight(UNIT))
    }

    fn start_down(&mut self, now: Time) {
        self.bounds.start_round();
        self.bounds.stop_probing();
        self.rounds_since_probe = self.rng.random_range(0..2);
        self.probe_wait = LEAST_PROBE_WAIT + Span(self.rng.random_range(0..MORE_PROBE_WAIT.0));
        self.probed_at = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(self.delivered);
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self) {
        self.bounds.free();
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart(self.delivered);
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, now: Time, rate: Rate) {
        self.probing_samples = true;
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(self.delivered);
        self.full.reset(rate);
        self.probed_at = now;
        self.mode = Mode::Up;
        self.bounds.raise_slope(self.cwnd, self.mss);
    }

    fn update_min_rtt(&mut self, now: Time, ack: &Ack) {
        let expired = self.min_rtt.update(now, ack.rtt);
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.prior_cwnd = self.cwnd;
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(self.delivered);
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
            self.held_back.start = self.delivered;
        }
        self.idle_restart = false;
        let least = self.probe_rtt_window();
        let Mode::ProbeRtt { until, round_done } = &mut self.mode else { return };
        // Also what leaves when the last of it has come: the mark is cleared by more than that.
        self.held_back.end = self.delivered + ack.left_in_flight + 1;
        match until {
            None if ack.left_in_flight <= least => {
                *until = Some(now + PROBE_RTT);
                self.rounds.restart(self.delivered);
            }
            None => {}
            Some(_) => {
                *round_done |= self.round_start;
                if *round_done {
                    self.end_probe_rtt(now);
                }
            }
        }
    }

    fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.bandwidth(), UNIT / 2).max(self.least())
    }

    fn end_probe_rtt(&mut self, now: Time) {
        let Mode::ProbeRtt { until: Some(until), .. } = self.mode else { return };
        if now <= until {
            return;
        }
        self.min_rtt.looked(now);
        self.cwnd = self.cwnd.max(std::mem::take(&mut self.prior_cwnd));
        self.bounds.free();
        if self.full.reached {
            self.start_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_window(&mut self, ack: &Ack) {
        // While the bandwidth is being found, acknowledgements run ahead of it: only the last round counts (§4.5.9).
        let extra = if self.full.reached { self.extra.get() } else { self.extra.newest() };
        let most = self.with_quanta(self.bdp(self.bandwidth(), self.gains().1) + extra);
        if self.full.reached {
            self.cwnd = most.min(self.cwnd + ack.delivered);
        } else if self.cwnd < most || ack.total_delivered < self.initial {
            self.cwnd += ack.delivered;
        }
        let headroom = self.bounds.with_headroom(self.mss, self.least());
        let cap = match self.mode {
            Mode::Startup | Mode::Drain => NONE,
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.inflight_hi,
            Mode::Cruise => headroom,
            Mode::ProbeRtt { .. } => headroom.min(self.probe_rtt_window()),
        };
        self.cwnd = self.cwnd.min(cap).min(self.bounds.inflight_lo).max(self.least());
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let lost = ack.total_lost - self.lost;
        (self.delivered, self.lost) = (ack.total_delivered, ack.total_lost);
        self.round_start = false;
        if let Some((mut sample, rate)) = ack.sample.and_then(|sample| Some((sample, sample.rate()?))) {
            sample.app_limited |= self.held_back.contains(&sample.prior_delivered);
            self.update_model(now, ack, &sample, rate, lost);
        }
        let extra = self.aggregation.on_ack(now, ack.delivered, self.bandwidth()).min(self.cwnd);
        self.extra.update(self.rounds.count, extra);
        self.update_min_rtt(now, ack);
        let target = paced(self.bandwidth(), self.gains().0);
        self.pace.update(ack.srtt, self.cwnd, STARTUP_GAIN, target, self.full.reached);
        self.set_window(ack);
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        if what == Congestion::Timeout {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
            self.cwnd = self.mss;
        }
    }

    fn on_idle(&mut self, now: Time, _: u64) {
        self.idle_restart = true;
        self.aggregation = Aggregation::default();
        if self.mode.probes_bandwidth() {
            self.pace.rate = paced(self.bandwidth(), UNIT);
        }
        self.end_probe_rtt(now);
    }

    fn on_recovered(&mut self, _: Time) {
        self.cwnd = self.cwnd.max(std::mem::take(&mut self.prior_cwnd));
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
        show.tell("mode", self.mode.number());
        show.tell("bw", self.bandwidth().0 as f64);
        if let Some(bw) = show.changed("max_bw", self.max_bw.get() as f64) {
            self.max_bw.update(0, bw as u64);
        }
        if let Some(rtt) = show.changed("min_rtt", self.min_rtt.get().map_or(f64::NAN, Span::as_secs)) {
            self.min_rtt.set(Span::from_secs_f64(rtt));
        }
        show.tell("round", self.rounds.count as f64);
        show.tell("extra_acked", segments(self.extra.get(), self.mss));
        self.bounds.variables(self.mss, show);
    }
}

#[cfg(test)]
mod tests;
