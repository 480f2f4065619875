//! CUBIC as ns-2 runs it: that of Linux 2.6.22.
//!
//! How it works: The cubic function of RFC 9438 in an earlier form.
//! - A loss takes a fifth of the window; the window then follows C·(t − K)³ around the window of the loss.
//! - Beyond the plateau it grows by at most 16 segments in 100 ms.
//! - It counts ACKs and converts them by a running mean of segments to ACKs.
//! - The first ACK after a recovery gives one of the lost segments back, since slow start runs up to *and at* the
//!   threshold.
//!
//! Use it when: you repeat a study that was made with ns-2's TCP-Linux. For hosts of today take `cubic`.
//!
//! Source: Ha, Rhee, Xu, "CUBIC: a new TCP-friendly high-speed TCP variant" (2005/2008) by the rules of Linux
//! 2.6.22's `tcp_cubic`, which is in ns-2.35's TCP-Linux:
//! - β = 819/1024, whole segments, C = 410/1024, time in 1024ths of a second;
//! - beyond the plateau at most 16 segments in 100 ms; before the first loss a segment for each 50 delivered;
//! - no HyStart; a timeout forgets everything;
//! - slow start adds a segment for each ACK up to *and at* the threshold, so that the first ACK after a recovery
//!   gives one of the lost segments back: with windows of ten segments, half of what the loss took;
//! - beyond it an increase takes one ACK more than `cnt`, which is the number of segments over a running mean of
//!   segments to ACKs, and is kept for 1/32 s while the window stays.
//!
//! Difference: the cube root is exact (Linux: within 0.2 %).

use super::bic::fast_convergence;
use super::control::{Ack, Congestion, CongestionControl, Window};
use super::variables::Variables;
use crate::{Span, Time};

const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
/// C × 1024.
const C: u128 = 410;
/// Most segments that 100 ms add.
const MAX_INCREMENT: u64 = 16;
const COST_BEFORE_LOSS: u64 = 50;
/// Eighths of a window of ACKs that a Reno flow of this β takes for a segment.
const RENO_EIGHTHS: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// `cnt` is kept for this long.
const KEPT: Span = Span::from_millis(1000 / 32);
/// Segments an ACK are counted in such parts.
const RATIO_SCALE: u64 = 16;

/// A congestion-avoidance stage; times in 1024ths of a second.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    k: u64,
    origin: u64,
    /// The window of a Reno flow, and the ACKs towards its next segment.
    reno: u64,
    acks: u64,
    /// ACKs that a larger window takes, the window it was set for, and when.
    cnt: u64,
    cnt_at: Option<(u64, Time)>,
}

/// CUBIC congestion control as in ns-2.
pub struct CubicNs2 {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Segments; zero if there was no loss since the start or the last timeout.
    last_max: u64,
    epoch: Option<Epoch>,
    /// ACKs towards the next increase.
    cwnd_cnt: u64,
    /// Running mean of segments to ACKs, in [`RATIO_SCALE`] parts.
    ratio: u64,
}

fn ticks(span: Span) -> u64 {
    (u128::from(span.0) * 1024 / 1_000_000_000) as u64
}

impl Epoch {
    fn begin(now: Time, cwnd: u64, last_max: u64) -> Self {
        let missing = last_max.saturating_sub(cwnd);
        let k = libm::cbrt(missing as f64 * (1u64 << 40) as f64 / C as f64) as u64;
        Self { start: now, k, origin: last_max.max(cwnd), reno: cwnd, acks: 0, cnt: 1, cnt_at: None }
    }

    /// The cubic function at `t`.
    fn window(&self, t: u64) -> u64 {
        let distance = u128::from(t.abs_diff(self.k).min(1 << 20));
        let delta = ((C * distance * distance * distance) >> 40) as u64;
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta }
    }

    /// What one segment more than `cwnd` costs in ACKs of `ratio` segments; called once an ACK.
    fn cnt(&mut self, now: Time, cwnd: u64, last_max: u64, min_rtt: Span, ratio: u64) -> u64 {
        self.acks += 1;
        if self.cnt_at.is_none_or(|(window, at)| window != cwnd || now.since(at) > KEPT) {
            self.cnt_at = Some((cwnd, now));
            self.cnt = (self.cost(now, cwnd, last_max, min_rtt) * RATIO_SCALE / ratio.max(1)).max(1);
        }
        self.cnt
    }

    /// Segments that must be delivered for one more in the window of `cwnd`.
    fn cost(&mut self, now: Time, cwnd: u64, last_max: u64, min_rtt: Span) -> u64 {
        let t = ticks(now.since(self.start) + min_rtt);
        let mut cost = match self.window(t).checked_sub(cwnd) {
            Some(missing @ 1..) => cwnd / missing,
            _ => 100 * cwnd,
        };
        if t >= self.k && min_rtt > Span::ZERO {
            cost = cost.max((u128::from(cwnd) * 100_000_000 / u128::from(MAX_INCREMENT * min_rtt.0)) as u64);
        }
        if last_max == 0 {
            cost = COST_BEFORE_LOSS;
        }
        let reno_cost = cwnd * RENO_EIGHTHS / 8;
        while self.acks > reno_cost {
            self.acks -= reno_cost.max(1);
            self.reno += 1;
        }
        if self.reno > cwnd {
            cost = cost.min(cwnd / (self.reno - cwnd));
        }
        cost
    }
}

impl CubicNs2 {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64) -> Self {
        Self { mss, cwnd: initial, ssthresh: u64::MAX, last_max: 0, epoch: None, cwnd_cnt: 0, ratio: 2 * RATIO_SCALE }
    }
}

impl CongestionControl for CubicNs2 {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.recovering || ack.app_limited {
            return;
        }
        self.ratio = self.ratio + ack.delivered.div_ceil(self.mss) - self.ratio / RATIO_SCALE;
        if self.cwnd <= self.ssthresh {
            self.cwnd += self.mss;
            return;
        }
        let cwnd = self.cwnd / self.mss;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(now, cwnd, self.last_max));
        if self.cwnd_cnt >= epoch.cnt(now, cwnd, self.last_max, ack.min_rtt, self.ratio) {
            self.cwnd += self.mss;
            self.cwnd_cnt = 0;
        } else {
            self.cwnd_cnt += 1;
        }
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        let cwnd = self.cwnd / self.mss;
        self.ssthresh = (cwnd * BETA / BETA_SCALE).max(2) * self.mss;
        (self.cwnd, self.last_max) = match what {
            Congestion::Timeout => (self.mss, 0),
            Congestion::Loss | Congestion::Mark => (self.ssthresh, fast_convergence(cwnd, self.last_max, BETA)),
        };
        self.epoch = None;
        self.cwnd_cnt = 0;
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart);
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh, pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        show.window("cwnd", &mut self.cwnd, self.mss);
        show.window("ssthresh", &mut self.ssthresh, self.mss);
        show.see("w_max", &mut self.last_max);
        if let Some(epoch) = &self.epoch {
            show.tell("k", epoch.k as f64 / 1024.0);
            show.tell("origin", epoch.origin as f64);
            show.tell("w_est", epoch.reno as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn slow_start_adds_a_segment_for_each_ack_and_one_at_the_threshold() {
        let mut cubic = CubicNs2 { ssthresh: 100 * MSS, ..CubicNs2::new(MSS, 3 * MSS) };
        let ack = Ack::of(2 * MSS, Span::from_millis(100));
        for _ in 0..98 {
            cubic.on_ack(Time::ZERO, &ack);
        }
        assert_eq!(cubic.cwnd, 101 * MSS);
        for _ in 0..52 {
            cubic.on_ack(Time::ZERO, &ack);
        }
        assert_eq!(cubic.cwnd, 103 * MSS, "25 ACKs of two segments and one, twice, before the first loss");
        cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!(cubic.cwnd, 82 * MSS);
        cubic.on_ack(Time::ZERO, &ack);
        assert_eq!(cubic.cwnd, 83 * MSS);
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_lowers_the_maximum_if_it_was_not_reached() {
        let mut cubic = CubicNs2::new(MSS, 100 * MSS);
        for (cwnd, maximum) in [(79, 100), (63, 71), (50, 56)] {
            cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
            assert_eq!((cubic.cwnd / MSS, cubic.last_max), (cwnd, maximum));
        }
        cubic.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!((cubic.cwnd, cubic.ssthresh / MSS, cubic.last_max), (MSS, 39, 0));
    }

    #[test]
    fn the_plateau_is_the_old_maximum() {
        let epoch = Epoch::begin(Time::ZERO, 800, 1000);
        // ∛(200 / 0.4004) = 7.934 s.
        assert!((epoch.k as f64 / 1024.0 - 7.934).abs() < 0.002, "{}", epoch.k);
        assert_eq!((epoch.window(0), epoch.window(epoch.k), epoch.window(2 * epoch.k)), (801, 1000, 1199));
    }

    #[test]
    fn beyond_the_plateau_it_adds_at_most_16_segments_in_100_ms() {
        let mut epoch = Epoch { k: 0, reno: 0, ..Epoch::begin(Time::ZERO, 1000, 1000) };
        let cost = epoch.cost(Time::ZERO + Span::from_secs(20), 1000, 1000, Span::from_millis(50));
        assert_eq!(cost, 125, "8 segments a round trip of 50 ms");
    }

    #[test]
    fn short_round_trips_follow_reno() {
        let mut cubic = CubicNs2::new(MSS, 25 * MSS);
        cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
        let start = cubic.cwnd / MSS;
        for ack in 0..(start * 29) {
            let now = Time::ZERO + Span(ack * 10_000_000 / start);
            cubic.on_ack(now, &Ack::of(MSS, Span::from_millis(10)));
        }
        let grown = cubic.cwnd / MSS - start;
        assert!((7..=10).contains(&grown), "a segment each 2.9 windows: {grown} in 29");
    }
}
