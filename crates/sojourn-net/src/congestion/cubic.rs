//! CUBIC: the window as a cubic function of the time since the last loss.
//!
//! Source: RFC 9438 (2023): W(t) = C(t − K)³ + W_max (§4.2), Reno-friendly region (§4.3), growth bounded by half a window a round trip
//! (§4.2), multiplicative decrease 0.7 (§4.6), fast convergence (§4.7), timeout (§4.8). Two arithmetics: [`Arithmetic::Exact`] is the
//! RFC's; [`Arithmetic::Linux`] counts whole segments as Linux's `tcp_cubic` does, and that can be seen: its |C(t − K)³| is rounded down,
//! so the plateau is reached up to (1/C)^⅓ = 1.36 s early and a flow alone on a link loses that much more often; its
//! W_est grows by one segment every 15/8 windows and never faster; it looks one minimum round trip ahead rather than one smoothed. What
//! [`Cubic::with_prices`] adds makes a difference at windows of a few segments.
//! Slow start is Reno's, and may end by [`HyStart`]. Differences from both: ssthresh is 0.7 × cwnd rather than × flight, and windows at a
//! loss are compared in whole segments (as in Linux), or fast convergence would be a coin toss for a flow alone on a link.

use super::hystart::{HyStart, Watch};
use super::reno::slow_start;
use super::{Ack, Congestion, CongestionControl, Window, segments};
use crate::{Span, Time};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Linux: windows that must be acknowledged for one more segment of W_est.
const LINUX_WINDOWS_PER_SEGMENT: f64 = 15.0 / 8.0;
/// Linux: how long a price holds while the window stays as it is.
const LINUX_PRICE_HOLDS: Span = Span(1_000_000_000 / 32);

/// How windows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// In fractions of segments, as RFC 9438 writes it.
    Exact,
    /// In whole segments, as Linux does.
    Linux,
}

/// CUBIC congestion control.
pub struct Cubic {
    arithmetic: Arithmetic,
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
    /// Growth is bought at prices in whole segments.
    prices: bool,
}

/// A congestion-avoidance stage (RFC 9438 §4.1.2).
struct Epoch {
    start: Time,
    k: f64,
    origin: f64,
    w_est: f64,
    /// Seconds since its start, at the last acknowledgement.
    t: f64,
    /// Linux: segments acknowledged that W_est does not count yet, and that the window does not.
    uncounted: f64,
    paid: f64,
    /// Linux: segments to be acknowledged for one more of window; for which window that was found, and when.
    price: f64,
    priced: (f64, Time),
}

impl Epoch {
    /// W_cubic at `t` seconds.
    fn window(&self, t: f64, arithmetic: Arithmetic) -> f64 {
        let x = t - self.k;
        let distance = (C * x * x * x).abs();
        let distance = if arithmetic == Arithmetic::Linux { distance.floor() } else { distance };
        if x < 0.0 { self.origin - distance } else { self.origin + distance }
    }
}

impl Cubic {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64, arithmetic: Arithmetic) -> Self {
        Self {
            arithmetic,
            mss,
            cwnd: initial,
            ssthresh: u64::MAX,
            fraction: 0.0,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            hystart: None,
            reno_friendly: true,
            prices: false,
        }
    }

    /// The same without the Reno-friendly region, as ns-3 3.37 has it.
    pub fn without_reno_friendliness(self) -> Self {
        Self { reno_friendly: false, ..self }
    }

    /// The same with Linux's counting to the letter: so many whole segments must be acknowledged for one more of window, a price that is
    /// found anew when the window changes and else every 31 ms. At windows of a few segments that is up to a third faster.
    pub fn with_prices(self) -> Self {
        Self { prices: true, ..self }
    }

    /// The same with slow start ended early.
    pub fn with_hystart(self, kind: HyStart) -> Self {
        Self { hystart: Some(Watch::new(kind)), ..self }
    }

    fn segments(&self) -> f64 {
        self.cwnd as f64 / self.mss as f64 + self.fraction
    }

    fn begin_epoch(&self, now: Time) -> Epoch {
        let cwnd = self.segments();
        let (k, origin) =
            if cwnd < self.w_max { (libm::cbrt((self.w_max - cwnd) / C), self.w_max) } else { (0.0, cwnd) };
        let new = Epoch {
            start: now,
            k,
            origin,
            w_est: cwnd,
            t: 0.0,
            uncounted: 0.0,
            paid: 0.0,
            price: 0.0,
            priced: (0.0, now),
        };
        Epoch { w_est: if self.prices { cwnd.floor() } else { cwnd }, ..new }
    }

    fn avoid_congestion(&mut self, now: Time, ack: &Ack, delivered: u64) {
        let acked = delivered as f64 / self.mss as f64;
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin_epoch(now));
        let t = now.since(epoch.start).as_secs();
        epoch.t = t;
        let new = match self.arithmetic {
            Arithmetic::Exact => self.exact(&mut epoch, t, ack, acked),
            Arithmetic::Linux if self.prices => self.bought(&mut epoch, now, ack, acked),
            Arithmetic::Linux => self.linux(&mut epoch, t, ack, acked),
        };
        self.epoch = Some(epoch);
        self.cwnd = new as u64 * self.mss;
        self.fraction = new - (new as u64) as f64;
    }

    fn exact(&self, epoch: &mut Epoch, t: f64, ack: &Ack, acked: f64) -> f64 {
        let cwnd = self.segments();
        let alpha = if epoch.w_est < self.cwnd_prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        if self.reno_friendly && epoch.window(t, self.arithmetic) < epoch.w_est {
            return cwnd.max(epoch.w_est);
        }
        let target = epoch.window(t + ack.srtt.as_secs(), self.arithmetic).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd * acked
    }

    fn linux(&self, epoch: &mut Epoch, t: f64, ack: &Ack, acked: f64) -> f64 {
        let cwnd = (self.cwnd / self.mss) as f64;
        epoch.w_est += acked / (LINUX_WINDOWS_PER_SEGMENT * cwnd);
        let friendly = if self.reno_friendly { epoch.w_est.floor() } else { 0.0 };
        let target = epoch.window(t + ack.min_rtt.as_secs(), self.arithmetic).max(friendly);
        // Segments per acknowledged segment: to the target within a window, and a trickle of 1 % when there already.
        let slowest = if self.w_max == 0.0 { 0.05 } else { 0.01 / cwnd };
        cwnd + self.fraction + acked * ((target - cwnd) / cwnd).clamp(slowest, 0.5)
    }

    fn bought(&self, epoch: &mut Epoch, now: Time, ack: &Ack, acked: f64) -> f64 {
        let cwnd = (self.cwnd / self.mss) as f64;
        epoch.uncounted += acked;
        if epoch.priced.0 != cwnd || now.since(epoch.priced.1) > LINUX_PRICE_HOLDS {
            epoch.priced = (cwnd, now);
            epoch.price = self.price(epoch, cwnd, ack.min_rtt);
        }
        // What was saved at a higher price buys one segment, not several.
        let mut new = cwnd;
        if epoch.paid >= epoch.price {
            epoch.paid = 0.0;
            new += 1.0;
        }
        epoch.paid += acked;
        let bought = (epoch.paid / epoch.price).floor();
        epoch.paid -= bought * epoch.price;
        new + bought
    }

    /// Segments to be acknowledged for one more: from the target within a window, at least two, all rounded down.
    fn price(&self, epoch: &mut Epoch, cwnd: f64, min_rtt: Span) -> f64 {
        let of = |target: f64, otherwise: f64| if target > cwnd { (cwnd / (target - cwnd)).floor() } else { otherwise };
        let mut price = of(epoch.window(epoch.t + min_rtt.as_secs(), self.arithmetic).floor(), 100.0 * cwnd);
        if self.w_max == 0.0 {
            price = price.min(20.0);
        }
        let each = (LINUX_WINDOWS_PER_SEGMENT * cwnd).floor().max(1.0);
        while self.reno_friendly && epoch.uncounted > each {
            epoch.uncounted -= each;
            epoch.w_est += 1.0;
        }
        price.min(of(epoch.w_est, f64::INFINITY)).max(2.0)
    }
}

impl CongestionControl for Cubic {
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
                let converged = cwnd * (1.0 + BETA) / 2.0;
                let converged = if self.prices { converged.floor() } else { converged };
                (self.ssthresh, if cwnd < self.w_max { converged } else { cwnd })
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

    fn restore(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart);
        self.epoch = None;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh, pacing: None }
    }

    fn state(&self, tell: &mut dyn FnMut(&'static str, f64)) {
        tell("cwnd", self.segments());
        tell("ssthresh", segments(self.ssthresh, self.mss));
        tell("w_max", self.w_max);
        tell("cwnd_prior", self.cwnd_prior);
        if let Some(epoch) = &self.epoch {
            tell("k", epoch.k);
            tell("origin", epoch.origin);
            tell("w_cubic", epoch.window(epoch.t, self.arithmetic));
            tell("w_est", epoch.w_est);
        }
        if let Some(watch) = &self.hystart {
            watch.state(tell);
        }
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        match name {
            "cwnd" => {
                self.cwnd = value as u64 * self.mss;
                self.fraction = value - value.floor();
            }
            "ssthresh" => self.ssthresh = (value as u64).saturating_mul(self.mss),
            "w_max" => {
                self.w_max = value;
                self.cwnd_prior = value;
            }
            "cwnd_prior" => self.cwnd_prior = value,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const MSS: u64 = 1000;

    fn after_loss(w_max: f64, cwnd: u64) -> Cubic {
        let mut cubic = Cubic::new(MSS, cwnd * MSS, Arithmetic::Exact);
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
    fn whole_segments_reach_the_plateau_early() {
        // W_max 134, K 4.67 s: |C(t − K)³| < 1 from 1.36 s before K on.
        let mut cubic = Cubic { arithmetic: Arithmetic::Linux, ..after_loss(134.0, 93) };
        let mut now = 0.0;
        while cubic.segments() < 134.0 && now < 10.0 {
            cubic.on_ack(Time((now * 1e9) as u64), &ack(1, 50));
            now += 0.1 / cubic.segments();
        }
        assert!((3.2..3.7).contains(&now), "{now}");
    }

    #[test]
    fn with_prices_a_window_of_nine_grows_after_nine_segments_whatever_was_left_over() {
        let mut cubic = Cubic { arithmetic: Arithmetic::Linux, ..after_loss(13.0, 9) }.with_prices();
        // Ten ACKs in 100 ms: the cubic function is not yet above 9, W_est is 9, then 10 after 16 segments.
        let mut grown = Vec::new();
        for i in 0..60u64 {
            cubic.on_ack(Time(i * 10_000_000), &ack(1, 50));
            grown.push(cubic.segments());
        }
        assert!(grown.iter().all(|window| window.fract() == 0.0), "{grown:?}");
        let first = grown.iter().position(|window| *window == 10.0);
        assert!(first.is_some_and(|first| (8..30).contains(&first)), "{grown:?}");
        cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!(cubic.w_max.fract(), 0.0);
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
