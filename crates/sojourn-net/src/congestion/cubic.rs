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
//! - the clock is that of `HZ` = 1000;
//! - K is the cube root rounded down (Linux: a table and one step of Newton's method, within about 0.2 %);
//! - until a timeout the smallest round trip is the connection's (Linux: but for samples of the first second after a
//!   loss).

use super::bic::fast_convergence;
use super::control::{Ack, Congestion, CongestionControl, Window, segments};
use super::hystart::{HyStart, Watch};
use super::reno::slow_start;
use crate::{Span, Time};

/// β, and C in segments per second cubed, in 1024ths.
const BETA: u64 = 717;
const C: u64 = 410;
const SCALE: u64 = 1024;
/// Eighths of a window that must be delivered for one more segment of W_est: 8 (1 + β) / 3 (1 − β).
const FRIENDLY_EIGHTHS: u64 = 15;
/// `cnt` holds for this long, if the window does not change.
const PRICE_MS: u64 = 1000 / 32;
const LEAST_CNT: u64 = 2;
/// Highest `cnt` while no maximum is known.
const MOST_BEFORE_LOSS: u64 = 20;
/// For so long after a loss round-trip times are not looked at.
const BLIND_MS: u64 = 1000;

/// CUBIC congestion control, as Linux has it.
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
    /// Window and millisecond for which `cnt` was computed.
    cnt_at: (u64, u64),
    epoch: Option<Epoch>,
    /// Smallest round trip, zero if unknown; and whether a timeout made it forget those before.
    min_rtt: Span,
    forgot: bool,
    /// When the last ACK came, when what it acknowledged was sent, and whether that was all.
    heard: Time,
    sent: Time,
    empty: bool,
    hystart: Option<Watch>,
    /// Bytes of growth that HyStart++ left over, less than a segment.
    part: u64,
    /// Never grow slower than Reno would.
    reno_friendly: bool,
}

/// A congestion-avoidance stage. Times in milliseconds, K in 1024ths of a second.
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

    /// W_cubic after `ms`.
    fn window(&self, ms: u64) -> u64 {
        let t = ms * SCALE / 1000;
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

fn milliseconds(time: Time) -> u64 {
    time.0 / 1_000_000
}

impl Cubic {
    /// Starts with `initial` bytes of window and segments of `mss` bytes; `hystart` may end slow start early, and
    /// without `reno_friendly` the window may grow more slowly than Reno's, as in ns-3 3.37.
    pub fn new(mss: u64, initial: u64, hystart: HyStart, reno_friendly: bool) -> Self {
        Self {
            mss,
            cwnd: (initial / mss).max(1),
            ssthresh: u64::MAX,
            w_max: 0,
            cwnd_cnt: 0,
            cnt: 0,
            cnt_at: (0, 0),
            epoch: None,
            min_rtt: Span::ZERO,
            forgot: false,
            heard: Time::ZERO,
            sent: Time::ZERO,
            empty: false,
            hystart: Watch::of(hystart),
            part: 0,
            reno_friendly,
        }
    }

    /// Sending began again at `at`, with nothing in flight: the epoch begins so much later.
    fn rest(&mut self, at: Time) {
        if let Some(epoch) = &mut self.epoch {
            let idle = milliseconds(at).saturating_sub(milliseconds(self.sent));
            epoch.start = (epoch.start + idle).min(milliseconds(at));
        }
    }

    /// Takes the times that an ACK tells. False if it came too soon after a loss for its round trip to be looked at.
    fn hear(&mut self, now: Time, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt else { return true };
        let sent = now - rtt;
        if self.empty && sent > self.heard {
            self.rest(sent);
        }
        (self.heard, self.sent, self.empty) = (now, sent, ack.left_in_flight == 0);
        if self.epoch.is_some_and(|epoch| milliseconds(now) < epoch.start + BLIND_MS) {
            return false;
        }
        let least = if self.forgot { rtt } else { ack.min_rtt };
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

    /// Computes what a segment costs, if that is due.
    fn update_cnt(&mut self, now: u64, acked: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.ack_cnt += acked;
        }
        let (cwnd, at) = self.cnt_at;
        if cwnd == self.cwnd && now - at <= PRICE_MS {
            return;
        }
        let cwnd = self.cwnd;
        let is_new = self.epoch.is_none() || now != at;
        let mut epoch = self.epoch.unwrap_or_else(|| Epoch { ack_cnt: acked, ..Epoch::begin(now, cwnd, self.w_max) });
        let per = |gain: u64| cwnd.checked_div(gain).unwrap_or(100 * cwnd);
        if is_new {
            self.cnt_at = (cwnd, now);
            epoch.w_cubic = epoch.window(now.saturating_sub(epoch.start) + self.min_rtt.0.div_ceil(1_000_000));
            self.cnt = per(epoch.w_cubic.saturating_sub(cwnd));
            if self.w_max == 0 {
                self.cnt = self.cnt.min(MOST_BEFORE_LOSS);
            }
        }
        if self.reno_friendly {
            self.cnt = self.cnt.min(per(epoch.friendly(cwnd).saturating_sub(cwnd)));
        }
        self.cnt = self.cnt.max(LEAST_CNT);
        self.epoch = Some(epoch);
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
        let looks = self.hear(now, ack);
        if looks && self.cwnd < self.ssthresh && !ack.recovering {
            delivered = self.slow_start_growth(now, ack, delivered);
        }
        if ack.recovering || ack.app_limited {
            return;
        }
        let left = slow_start(&mut self.cwnd, self.ssthresh, delivered);
        if left > 0 {
            self.update_cnt(milliseconds(now), left);
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
            (self.min_rtt, self.forgot) = (Span::ZERO, true);
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

    fn state(&self, tell: &mut dyn FnMut(&'static str, f64)) {
        tell("cwnd", self.cwnd as f64);
        tell("ssthresh", segments(self.ssthresh, 1));
        tell("w_max", self.w_max as f64);
        tell("counted", self.cwnd_cnt as f64);
        tell("cost", self.cnt as f64);
        tell("min_rtt", if self.min_rtt == Span::ZERO { f64::NAN } else { self.min_rtt.as_secs() });
        if let Some(epoch) = &self.epoch {
            tell("k", epoch.k as f64 / SCALE as f64);
            tell("origin", epoch.origin as f64);
            tell("w_cubic", epoch.w_cubic as f64);
            tell("w_est", epoch.w_est as f64);
        }
        if let Some(watch) = &self.hystart {
            watch.state(tell);
        }
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        match name {
            "cwnd" => self.cwnd = (value as u64).max(1),
            "ssthresh" => self.ssthresh = value as u64,
            "w_max" => self.w_max = value as u64,
            "counted" => self.cwnd_cnt = value as u64,
            "min_rtt" => self.min_rtt = Span::from_secs_f64(value),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ack(segments: u64, rtt_ms: u64) -> Ack {
        Ack::of(segments * MSS, Span::from_millis(rtt_ms))
    }

    fn after_loss(w_max: u64, cwnd: u64) -> Cubic {
        Cubic { ssthresh: cwnd, w_max, ..Cubic::new(MSS, cwnd * MSS, HyStart::None, true) }
    }

    #[test]
    fn a_bulk_transfer_in_packetdrill() {
        // google/packetdrill, cubic-bulk-166k.pkt: two segments acknowledged each 100 ms. HyStart ends
        // slow start at 48; from 120 acknowledged on each ACK adds one.
        let mut cubic = Cubic { ssthresh: 48, ..Cubic::new(MSS, 48 * MSS, HyStart::None, true) };
        let mut windows = vec![];
        for number in 20..=200 {
            let ack = Ack { min_rtt: Span::from_millis(100), ..ack(2, 1900) };
            cubic.on_ack(ms(100 * number), &ack);
            windows.push((2 * number, cubic.cwnd));
        }
        let at = |acked: u64| windows[(acked as usize - 40) / 2].1;
        assert_eq!([40, 60, 80, 100, 120].map(at), [48, 49, 50, 52, 58]);
        assert!((122..=400).step_by(2).all(|acked| at(acked) == 58 + (acked - 120) / 2), "{windows:?}");
    }

    #[test]
    fn a_timeout_in_packetdrill() {
        // cubic-rto-ss-ca-cwnd-bump.pkt: each segment acknowledged; milliseconds after the timeout.
        let gaps = [100, 100, 2, 98, 2, 2, 2, 98, 2, 2, 2, 2, 2, 2, 98, 3, 2, 2, 2, 2, 2, 98];
        let mut cubic = Cubic::new(MSS, 10 * MSS, HyStart::None, true);
        cubic.on_congestion(ms(600), Congestion::Timeout, 0);
        assert_eq!((cubic.cwnd, cubic.ssthresh), (1, 7));
        let mut now = 600;
        let windows = gaps.map(|gap| {
            now += gap;
            cubic.on_ack(ms(now), &ack(1, 100));
            cubic.cwnd
        });
        assert_eq!(windows[..6], [2, 3, 4, 5, 6, 7]);
        assert!(windows[6..21].iter().all(|cwnd| *cwnd == 7), "{windows:?}");
        assert_eq!(windows[21], 8);
    }

    #[test]
    fn k_and_the_cubic_function_are_whole_numbers() {
        let epoch = Epoch::begin(0, 70, 100);
        assert_eq!((epoch.k, epoch.origin), (4316, 100), "4.2158 s");
        assert_eq!([0, 1000, 2000, 5000, 10_000].map(|ms| epoch.window(ms)), [71, 87, 96, 100, 177]);
    }

    #[test]
    fn the_price_stands_for_a_thirty_second_part_of_a_second() {
        let mut cubic = after_loss(100, 70);
        let prices = [0, 31, 32, 1000, 1031, 1032, 2000].map(|at| {
            cubic.update_cnt(at, 0);
            cubic.cnt
        });
        assert_eq!(prices, [70, 70, 70, 4, 4, 3, 2]);
    }

    #[test]
    fn a_friendly_segment_for_every_fifteen_eighths_of_a_window() {
        let mut cubic = after_loss(0, 7);
        cubic.update_cnt(0, 1);
        assert_eq!(cubic.cnt, 20);
        cubic.update_cnt(100, 12);
        assert_eq!(cubic.cnt, 20);
        cubic.update_cnt(200, 1);
        assert_eq!((cubic.cnt, cubic.epoch.expect("begun").w_est), (7, 8));
    }

    #[test]
    fn a_loss_sets_maximum_and_threshold() {
        for (cwnd, w_max, maximum, threshold) in
            [(10, 0, 10, 7), (80, 100, 68, 56), (3, 0, 3, 2), (10_000, 0, 10_000, 7001)]
        {
            let mut cubic = after_loss(w_max, cwnd);
            cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
            assert_eq!((cubic.w_max, cubic.ssthresh, cubic.cwnd), (maximum, threshold, threshold));
        }
    }

    #[test]
    fn time_stands_still_while_nothing_is_in_flight() {
        // A second of ACKs, the last of which leaves nothing in flight; 4 s of silence; the next was sent then.
        let heard = |rests: bool| {
            let mut cubic = after_loss(100, 70);
            for number in 0..=10u64 {
                let left_in_flight = if rests && number == 10 { 0 } else { MSS };
                cubic.on_ack(ms(100 * number), &Ack { left_in_flight, app_limited: number == 10, ..ack(1, 100) });
            }
            cubic.on_ack(ms(5100), &ack(1, 100));
            cubic.epoch.expect("begun").start
        };
        assert_eq!((heard(false), heard(true)), (0, 4100), "sent at 0.9 s, then at 5 s");
    }

    #[test]
    fn a_restart_after_idleness_keeps_three_quarters_as_threshold() {
        let mut cubic = after_loss(100, 70);
        cubic.on_idle(ms(9000), 10 * MSS);
        assert_eq!((cubic.cwnd, cubic.ssthresh), (10, 70));
        let mut cubic = Cubic { ssthresh: 20, ..after_loss(100, 70) };
        cubic.on_idle(ms(9000), 10 * MSS);
        assert_eq!((cubic.cwnd, cubic.ssthresh), (10, 52));
    }
}
