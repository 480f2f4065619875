//! CUBIC to the letter of RFC 9438: the window as a cubic function of the time since the last loss.
//!
//! How it works: W(t) = C·(t − K)³ + W_max, with t the time since the last congestion event.
//! - A congestion event multiplies the window by β = 0.7 and remembers it as W_max.
//! - Concave region: the window returns quickly towards W_max and slows down as it comes near.
//! - Convex region: beyond W_max it probes ever faster.
//! - Reno-friendly region: where Reno's estimate W_est is larger than W(t), the window is W_est.
//! - Fast convergence: a W_max below the former one is lowered further, which gives up room for new flows.
//!
//! Use it when: you check another implementation against the standard, or want CUBIC without Linux's rounding. For
//! Linux hosts take `cubic`.
//!
//! Source: RFC 9438 (2023): W(t) = C(t − K)³ + W_max (§4.2), Reno-friendly region (§4.3), growth bounded by half a
//! window a round trip (§4.2), multiplicative decrease 0.7 (§4.6), fast convergence (§4.7), timeout (§4.8); in
//! fractions of segments. Slow start is Reno's, and may end by [`HyStart`]. Differences: ssthresh is 0.7 × cwnd
//! rather than × flight, and windows at a loss are compared in whole segments (as in Linux), or fast convergence
//! would be a coin toss for a flow alone on a link.

use super::control::{Ack, Congestion, CongestionControl, Window};
use super::hystart::{HyStart, Watch};
use super::reno::slow_start;
use super::variables::{Variables, segments};
use crate::Time;

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// CUBIC congestion control, as RFC 9438 writes it.
pub struct CubicRfc9438 {
    mss: u64,
    /// Congestion window in bytes, a whole number of segments in congestion avoidance …
    cwnd: u64,
    ssthresh: u64,
    /// … and what has been earned towards the next one.
    fraction: f64,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    hystart: Option<Watch>,
    /// Never grow slower than Reno would (RFC 9438 §4.3).
    reno_friendly: bool,
}

/// A congestion-avoidance stage (RFC 9438 §4.1.2).
struct Epoch {
    start: Time,
    k: f64,
    origin: f64,
    w_est: f64,
    /// Seconds since its start, at the last acknowledgement.
    t: f64,
}

impl Epoch {
    /// W_cubic at `t` seconds.
    fn window(&self, t: f64) -> f64 {
        let x = t - self.k;
        self.origin + C * x * x * x
    }
}

impl CubicRfc9438 {
    /// Starts with `initial` bytes of window and segments of `mss` bytes; `hystart` may end slow start early, and
    /// without `reno_friendly` the window may grow more slowly than Reno's, as in ns-3 3.37.
    pub fn new(mss: u64, initial: u64, hystart: HyStart, reno_friendly: bool) -> Self {
        Self {
            mss,
            cwnd: initial,
            ssthresh: u64::MAX,
            fraction: 0.0,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            hystart: Watch::of(hystart),
            reno_friendly,
        }
    }

    fn segments(&self) -> f64 {
        self.cwnd as f64 / self.mss as f64 + self.fraction
    }

    fn begin_epoch(&self, now: Time) -> Epoch {
        let cwnd = self.segments();
        let (k, origin) =
            if cwnd < self.w_max { (libm::cbrt((self.w_max - cwnd) / C), self.w_max) } else { (0.0, cwnd) };
        Epoch { start: now, k, origin, w_est: cwnd, t: 0.0 }
    }

    fn avoid_congestion(&mut self, now: Time, ack: &Ack, delivered: u64) {
        let acked = delivered as f64 / self.mss as f64;
        let cwnd = self.segments();
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin_epoch(now));
        epoch.t = now.since(epoch.start).as_secs();
        let alpha = if epoch.w_est < self.cwnd_prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        let new = if self.reno_friendly && epoch.window(epoch.t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = epoch.window(epoch.t + ack.srtt.as_secs()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        self.epoch = Some(epoch);
        self.cwnd = new as u64 * self.mss;
        self.fraction = new - (new as u64) as f64;
    }
}

impl CongestionControl for CubicRfc9438 {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let mut delivered = ack.delivered;
        if let Some(watch) = self.hystart.as_mut().filter(|_| self.cwnd < self.ssthresh && !ack.recovering) {
            match watch.on_ack(now, ack, self.cwnd, self.mss) {
                Some(growth) => delivered = growth,
                None => self.ssthresh = self.cwnd,
            }
        }
        if ack.recovering || ack.app_limited {
            return;
        }
        let left = slow_start(&mut self.cwnd, self.ssthresh, delivered);
        if left > 0 {
            self.avoid_congestion(now, ack, left);
        }
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        let cwnd = (self.cwnd / self.mss) as f64;
        self.cwnd_prior = cwnd;
        self.ssthresh = ((cwnd * BETA) as u64).max(2) * self.mss;
        (self.cwnd, self.w_max) = match what {
            Congestion::Loss | Congestion::Mark => {
                (self.ssthresh, if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd })
            }
            // The next stage starts from its own window with K = 0 (§4.8).
            Congestion::Timeout => (self.mss, 0.0),
        };
        self.fraction = 0.0;
        self.epoch = None;
        if let Some(watch) = &mut self.hystart {
            watch.on_congestion(what == Congestion::Timeout);
        }
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart);
        self.epoch = None;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh, pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        if let Some(cwnd) = show.changed("cwnd", self.segments()) {
            self.cwnd = cwnd as u64 * self.mss;
            self.fraction = cwnd - cwnd.floor();
        }
        if let Some(ssthresh) = show.changed("ssthresh", segments(self.ssthresh, self.mss)) {
            self.ssthresh = (ssthresh as u64).saturating_mul(self.mss);
        }
        if let Some(w_max) = show.changed("w_max", self.w_max) {
            (self.w_max, self.cwnd_prior) = (w_max, w_max);
        }
        show.see("cwnd_prior", &mut self.cwnd_prior);
        if let Some(epoch) = &self.epoch {
            show.tell("k", epoch.k);
            show.tell("origin", epoch.origin);
            show.tell("w_cubic", epoch.window(epoch.t));
            show.tell("w_est", epoch.w_est);
        }
        if let Some(watch) = &self.hystart {
            watch.variables(show);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const MSS: u64 = 1000;

    fn after_loss(w_max: f64, cwnd: u64) -> CubicRfc9438 {
        let mut cubic = CubicRfc9438::new(MSS, cwnd * MSS, HyStart::None, true);
        cubic.ssthresh = cwnd * MSS;
        cubic.w_max = w_max;
        cubic.cwnd_prior = w_max;
        cubic
    }

    fn ack(segments: u64, rtt_ms: u64) -> Ack {
        Ack::of(segments * MSS, Span::from_millis(rtt_ms))
    }

    #[test]
    fn k_is_the_time_back_to_the_last_maximum() {
        let mut cubic = after_loss(2304.0, 1612);
        cubic.fraction = 0.8;
        assert!((cubic.begin_epoch(Time::ZERO).k - 12.0).abs() < 1e-9);
        for (w_max, k) in [(20.0, 2.466212), (100.0, 4.217163), (1000.0, 9.085603), (10000.0, 19.574338)] {
            let epoch = after_loss(w_max, (0.7 * w_max) as u64).begin_epoch(Time::ZERO);
            assert!((epoch.k - k).abs() < 1e-6, "W_max {w_max}: {}", epoch.k);
        }
    }

    #[test]
    fn fast_convergence_gives_up_room() {
        let mut cubic = after_loss(100.0, 80);
        cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert!((cubic.w_max - 68.0).abs() < 1e-9);
        assert_eq!(cubic.window().cwnd, 56 * MSS);
    }

    #[test]
    fn the_window_follows_the_cubic_function() {
        // One ACK a segment, W_max 100, RTT 100 ms: W(2 s) = 95.64.
        let mut cubic = after_loss(100.0, 70);
        let mut now = 0.0;
        while now < 2.0 {
            cubic.on_ack(Time((now * 1e9) as u64), &ack(1, 100));
            now += 0.1 / cubic.segments();
        }
        assert!((cubic.segments() - 95.6).abs() < 0.5, "{}", cubic.segments());
    }

    #[test]
    fn short_round_trips_are_reno_friendly() {
        // W_max 30, RTT 20 ms: W_est rules from the first round on, +0.53 a round, +1 above the old window.
        let mut cubic = after_loss(30.0, 21);
        let mut rounds = Vec::new();
        for round in 1..=25u64 {
            let window = cubic.segments() as u64;
            for _ in 0..window {
                cubic.on_ack(Time(round * 20_000_000), &ack(1, 20));
            }
            rounds.push(cubic.segments());
        }
        assert!((rounds[0] - 21.5).abs() < 0.1 && (rounds[1] - 22.0).abs() < 0.15, "{rounds:?}");
        assert!((rounds[16] - 29.8).abs() < 0.5, "{rounds:?}");
        assert!((rounds[24] - rounds[23] - 1.0).abs() < 0.1, "{rounds:?}");
    }

    #[test]
    fn after_a_timeout_the_old_maximum_is_forgotten() {
        let mut cubic = after_loss(100.0, 80);
        cubic.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!(cubic.window(), Window { cwnd: MSS, ssthresh: 56 * MSS, pacing: None });
        cubic.cwnd = cubic.ssthresh;
        assert_eq!(cubic.begin_epoch(Time::ZERO).k, 0.0);
    }
}
