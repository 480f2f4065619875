//! CUBIC as Linux counts it: whole segments, milliseconds, integers throughout.
//!
//! How it works: The window is a cubic function of the time since the last reduction, W(t) = C·(t − K)³ + W_max.
//! - After a loss the window is 0.7 of what it was; it returns quickly towards W_max, the window at the loss.
//! - Around W_max it hardly grows (the plateau, reached after K seconds); then it probes ever faster.
//! - Growth depends on time, not on ACKs: flows of different round trips come nearer to equal windows.
//! - Reno-friendly region: it is never slower than a Reno flow of the same average would be.
//! - Fast convergence: a flow that loses below its former maximum aims lower, and so gives up room.
//! - In slow start it is Reno, which HyStart may end before a loss.
//!
//! Use it when: you model hosts of today: it is the default of Linux, Windows and Apple's systems. With `stack =
//! "linux"` it has Linux's HyStart and endpoint besides.
//!
//! Source: the rules of Linux's `tcp_cubic` (6.x), which are RFC 9438's with these of its own:
//! - C is 410/1024 and β 717/1024;
//! - the segments to be delivered for one more (`cnt`) are computed when the window has changed or 1/32 s has passed,
//!   not with every ACK; they are 2 at least (window + 1/2 a round trip), 20 at most before the first loss and after
//!   a timeout;
//! - |C(t − K)³| is rounded down, so that the plateau is reached up to 1.36 s early; t looks one smallest round trip
//!   ahead;
//! - W_est of the Reno flow gains a segment for every 15/8 of the window that is delivered, and never more;
//! - what was delivered towards the next segment is carried over; a timeout forgets the maximum and the smallest
//!   round trip;
//! - while nothing is in flight, the cubic function's time stands still; a restart after that keeps ssthresh at 3/4
//!   of the window at least.
//!
//! Slow start may end by [`HyStart`]. Differences:
//! - the clock is that of `HZ` = 1000, and until a timeout the smallest round trip is the connection's, that of its
//!   handshake included; with [`Cubic::in_jiffies`] `HZ` is 250, as most distributions have it, and the smallest round
//!   trip is that of data, but for samples of the first second after a loss;
//! - K is the cube root rounded down (Linux: a table and one step of Newton's method, within about 0.2 %).

use super::bic::fast_convergence;
use super::control::{Ack, Congestion, CongestionControl, Window};
use super::hystart::{HyStart, Watch};
use super::reno::slow_start;
use super::variables::{Variables, segments};
use crate::jiffies::TICK;
use crate::{Span, Time};

/// β, and C in segments per second cubed, in 1024ths.
const BETA: u64 = 717;
const C: u64 = 410;
const SCALE: u64 = 1024;
/// Eighths of a window that must be delivered for one more segment of W_est: 8 (1 + β) / 3 (1 − β).
const FRIENDLY_EIGHTHS: u64 = 15;
const LEAST_CNT: u64 = 2;
/// Highest `cnt` while no maximum is known.
const MOST_BEFORE_LOSS: u64 = 20;

/// CUBIC congestion control, as Linux has it.
#[derive(Default)]
pub struct Cubic {
    mss: u64,
    /// Segments, as are the next three …
    cwnd: u64,
    ssthresh: u64,
    w_max: u64,
    /// … what has been delivered towards the next increase, and what that costs.
    cwnd_cnt: u64,
    /// Segments that must be delivered for one more in the window.
    cnt: u64,
    /// Window and tick for which `cnt` was computed.
    cnt_at: (u64, u64),
    epoch: Option<Epoch>,
    /// Smallest round trip, zero if unknown; of those that were looked at here, or the connection's.
    min_rtt: Span,
    looked_at: bool,
    /// When the last ACK came, when what it acknowledged was sent, and whether that was all.
    heard: Time,
    sent: Time,
    empty: bool,
    hystart: Option<Watch>,
    /// Bytes of growth that HyStart++ left over, less than a segment.
    part: u64,
    /// Never grow slower than Reno would.
    reno_friendly: bool,
    clock: Clock,
}

/// What time is counted in. The compiler knows the length of either tick, and so divides by neither at each ACK.
#[derive(Clone, Copy, Default)]
enum Clock {
    #[default]
    Milliseconds,
    Jiffies,
}

impl Clock {
    /// Ticks in a second.
    const fn hz(self) -> u64 {
        match self {
            Self::Milliseconds => 1000,
            Self::Jiffies => 1_000_000_000 / TICK,
        }
    }

    fn ticks(self, time: Time) -> u64 {
        match self {
            Self::Milliseconds => time.0 / 1_000_000,
            Self::Jiffies => time.0 / TICK,
        }
    }
}

/// A congestion-avoidance stage. It starts at a tick; K is in 1024ths of a second.
#[derive(Clone, Copy)]
struct Epoch {
    start: u64,
    k: u64,
    origin: u64,
    /// W_cubic when last asked.
    w_cubic: u64,
    w_est: u64,
    /// Segments delivered towards the next of W_est.
    ack_cnt: u64,
}

impl Epoch {
    fn begin(now: u64, cwnd: u64, w_max: u64) -> Self {
        let (k, origin) = if cwnd < w_max { (cube_root_time(w_max - cwnd), w_max) } else { (0, cwnd) };
        Self { start: now, k, origin, w_cubic: cwnd, w_est: cwnd, ack_cnt: 0 }
    }

    /// W_cubic after so many ticks.
    fn window(&self, ticks: u64, hz: u64) -> u64 {
        let t = ticks * SCALE / hz;
        let distance = (u128::from(t.abs_diff(self.k)).pow(3) * u128::from(C)) >> 40;
        let distance = u64::try_from(distance).unwrap_or(u64::MAX);
        if t < self.k { self.origin.saturating_sub(distance) } else { self.origin.saturating_add(distance) }
    }

    /// W_est after what has been delivered, at this window.
    fn friendly(&mut self, cwnd: u64) -> u64 {
        let due = cwnd * FRIENDLY_EIGHTHS / 8;
        if self.ack_cnt > due {
            let gained = (self.ack_cnt - 1) / due;
            self.w_est += gained;
            self.ack_cnt -= gained * due;
        }
        self.w_est
    }
}

/// ∛(segments / C) in 1024ths of a second, rounded down.
fn cube_root_time(segments: u64) -> u64 {
    libm::cbrt(segments as f64 * (1u64 << 40) as f64 / C as f64) as u64
}

impl Cubic {
    /// Starts with `initial` bytes of window and segments of `mss` bytes, and a clock of milliseconds; `hystart` may
    /// end slow start early, and without `reno_friendly` the window may grow more slowly than Reno's, as in ns-3 3.37.
    pub fn new(mss: u64, initial: u64, hystart: HyStart, reno_friendly: bool) -> Self {
        Self {
            mss,
            cwnd: (initial / mss).max(1),
            ssthresh: u64::MAX,
            hystart: Watch::of(hystart),
            reno_friendly,
            ..Self::default()
        }
    }

    /// The same with Linux's clock, and with a smallest round trip that it has looked at itself.
    pub fn in_jiffies(self) -> Self {
        Self { clock: Clock::Jiffies, looked_at: true, ..self }
    }

    /// Sending began again at `at`, with nothing in flight: the epoch begins so much later.
    fn rest(&mut self, at: Time) {
        let (at, sent) = (self.clock.ticks(at), self.clock.ticks(self.sent));
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + at.saturating_sub(sent)).min(at);
        }
    }

    /// Takes the times that an ACK tells at a tick. False if it came too soon after a loss for its round trip to be
    /// looked at.
    fn hear(&mut self, now: Time, tick: u64, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt else { return true };
        let sent = now - rtt;
        if self.empty && sent > self.heard {
            self.rest(sent);
        }
        (self.heard, self.sent, self.empty) = (now, sent, ack.left_in_flight == 0);
        if self.epoch.is_some_and(|epoch| tick < epoch.start + self.clock.hz()) {
            return false;
        }
        let least = if self.looked_at { rtt } else { ack.min_rtt };
        if self.min_rtt == Span::ZERO || least < self.min_rtt {
            self.min_rtt = least;
        }
        true
    }

    /// Segments by which the window may grow for so many delivered. May end slow start.
    fn slow_start_growth(&mut self, now: Time, ack: &Ack, delivered: u64) -> u64 {
        let Some(watch) = &mut self.hystart else { return delivered };
        let ack = Ack { delivered: delivered * self.mss, min_rtt: self.min_rtt, ..*ack };
        let Some(growth) = watch.on_ack(now, &ack, self.cwnd * self.mss, self.mss) else {
            self.ssthresh = self.cwnd;
            return delivered;
        };
        self.part += growth;
        let whole = self.part / self.mss;
        self.part %= self.mss;
        whole
    }

    /// Computes what a segment costs at a tick, if that is due.
    fn update_cnt(&mut self, now: u64, acked: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.ack_cnt += acked;
        }
        let (cwnd, at) = self.cnt_at;
        if cwnd == self.cwnd && now - at <= self.clock.hz() / 32 {
            return;
        }
        let cwnd = self.cwnd;
        let is_new = self.epoch.is_none() || now != at;
        let begin = || Epoch { ack_cnt: acked, ..Epoch::begin(now, cwnd, self.w_max) };
        let epoch = self.epoch.get_or_insert_with(begin);
        let per = |gain: u64| cwnd.checked_div(gain).unwrap_or(100 * cwnd);
        if is_new {
            self.cnt_at = (cwnd, now);
            let hz = self.clock.hz();
            let ahead = self.min_rtt.0.div_ceil(1_000_000_000 / hz);
            epoch.w_cubic = epoch.window(now.saturating_sub(epoch.start) + ahead, hz);
            self.cnt = per(epoch.w_cubic.saturating_sub(cwnd));
            if self.w_max == 0 {
                self.cnt = self.cnt.min(MOST_BEFORE_LOSS);
            }
        }
        if self.reno_friendly {
            self.cnt = self.cnt.min(per(epoch.friendly(cwnd).saturating_sub(cwnd)));
        }
        self.cnt = self.cnt.max(LEAST_CNT);
    }

    /// Pays for segments with those delivered.
    fn grow(&mut self, acked: u64) {
        if self.cwnd_cnt >= self.cnt {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        self.cwnd += self.cwnd_cnt / self.cnt;
        self.cwnd_cnt %= self.cnt;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let mut delivered = ack.delivered.div_ceil(self.mss);
        let tick = self.clock.ticks(now);
        let looks = self.hear(now, tick, ack);
        if looks && self.cwnd < self.ssthresh && !ack.recovering {
            delivered = self.slow_start_growth(now, ack, delivered);
        }
        if ack.recovering || ack.app_limited {
            return;
        }
        let left = slow_start(&mut self.cwnd, self.ssthresh, delivered);
        if left > 0 {
            self.update_cnt(tick, left);
            self.grow(left);
        }
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        let cwnd = self.cwnd;
        self.ssthresh = (cwnd * BETA / SCALE).max(2);
        self.w_max = fast_convergence(cwnd, self.w_max, BETA);
        self.cwnd = self.ssthresh;
        (self.cwnd_cnt, self.epoch) = (0, None);
        if what == Congestion::Timeout {
            (self.cwnd, self.w_max, self.cnt, self.cnt_at) = (1, 0, 0, (0, 0));
            (self.min_rtt, self.looked_at) = (Span::ZERO, true);
        }
        if let Some(watch) = &mut self.hystart {
            watch.on_congestion(what == Congestion::Timeout);
        }
    }

    fn restore(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = (cwnd / self.mss).max(1);
        self.ssthresh = if ssthresh == u64::MAX { ssthresh } else { ssthresh / self.mss };
    }

    fn on_idle(&mut self, now: Time, restart: u64) {
        self.rest(now);
        (self.heard, self.sent) = (now, now);
        self.ssthresh = self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4);
        self.cwnd = self.cwnd.min((restart / self.mss).max(1));
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd * self.mss, ssthresh: self.ssthresh.saturating_mul(self.mss), pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        if let Some(cwnd) = show.changed("cwnd", self.cwnd as f64) {
            self.cwnd = (cwnd as u64).max(1);
        }
        if let Some(ssthresh) = show.changed("ssthresh", segments(self.ssthresh, 1)) {
            self.ssthresh = ssthresh as u64;
        }
        show.see("w_max", &mut self.w_max);
        show.see("counted", &mut self.cwnd_cnt);
        show.tell("cost", self.cnt as f64);
        show.time("min_rtt", &mut self.min_rtt, Span::ZERO);
        if let Some(epoch) = &self.epoch {
            show.tell("k", epoch.k as f64 / SCALE as f64);
            show.tell("origin", epoch.origin as f64);
            show.tell("w_cubic", epoch.w_cubic as f64);
            show.tell("w_est", epoch.w_est as f64);
        }
        if let Some(watch) = &self.hystart {
            watch.variables(show);
        }
    }
}

#[cfg(test)]
mod tests;
