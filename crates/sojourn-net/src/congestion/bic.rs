//! BIC: binary search for the window at which packets were last lost.
//!
//! How it works: After a loss BIC remembers the window at which it happened (`w_max`) and reduces by a fifth.
//! - Binary search: each round trip the window grows by a quarter of the distance to `w_max`, by 16 segments at most.
//! - Near `w_max` growth becomes slow, at a fraction of a segment a round trip.
//! - Beyond `w_max` it looks for a new maximum: slowly at first, then faster, up to 16 segments a round trip.
//! - Fast convergence: a flow that loses below its former maximum aims lower than before, and so gives up room.
//! - Windows of up to 14 segments grow and are halved as Reno's are.
//!
//! Use it when: you model Linux between 2.6.8 and 2.6.18, or studies of that time. CUBIC has replaced it.
//!
//! Source: Xu, Harfoush, Rhee, "Binary increase congestion control for fast long-distance networks" (INFOCOM 2004),
//! with the constants and the whole-segment arithmetic of Linux's `tcp_bic`, which ns-2's TCP-Linux shares (ns-3 has
//! β = 0.8 and a smooth part of 5). Differences:
//! - an increase is counted in segments delivered rather than in ACKs times an estimated ratio of segments to ACKs,
//!   which is what that ratio is for;
//! - the first slow start has no threshold (Linux before 2.6.23 and ns-2: 100 segments).

use super::control::{Ack, Congestion, CongestionControl, Window};
use super::reno::slow_start;
use super::variables::Variables;
use crate::Time;

/// Multiplicative decrease, in 1024ths.
const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
/// Up to this window BIC is Reno.
const LOW_WINDOW: u64 = 14;
/// Most segments that a round trip adds.
const MAX_INCREMENT: u64 = 16;
/// Round trips that the last [`B`] segments below the maximum take.
const SMOOTH_PART: u64 = 20;
/// The search goes this part of the way to the maximum in a round trip.
const B: u64 = 4;
/// Before the first loss and after a timeout a window grows by 1/20 a round trip at least.
const MOST_BEFORE_LOSS: u64 = 20;

/// BIC congestion control.
pub struct Bic {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Segments of the window that is searched for; zero if there was no loss since the start or the last timeout.
    last_max: u64,
    /// Bytes delivered towards the next increase.
    cwnd_cnt: u64,
}

/// Segments that must be delivered for one more in the window.
fn cost(cwnd: u64, last_max: u64) -> u64 {
    if cwnd <= LOW_WINDOW {
        return cwnd;
    }
    let cost = if cwnd < last_max {
        match (last_max - cwnd) / B {
            0 | 1 => cwnd * SMOOTH_PART / B,
            step if step > MAX_INCREMENT => cwnd / MAX_INCREMENT,
            step => cwnd / step,
        }
    } else {
        match cwnd - last_max {
            beyond if beyond < B => cwnd * SMOOTH_PART / B,
            beyond if beyond < MAX_INCREMENT * (B - 1) => cwnd * (B - 1) / beyond,
            _ => cwnd / MAX_INCREMENT,
        }
    };
    let most = if last_max == 0 { MOST_BEFORE_LOSS } else { u64::MAX };
    cost.clamp(1, most)
}

/// Fast convergence: the window to be searched for after a loss, lower if the flow did not get back to its maximum, to
/// give up room. β is `beta` / 1024.
pub(super) fn fast_convergence(cwnd: u64, last_max: u64, beta: u64) -> u64 {
    if cwnd < last_max { cwnd * (BETA_SCALE + beta) / (2 * BETA_SCALE) } else { cwnd }
}

impl Bic {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64) -> Self {
        Self { mss, cwnd: initial, ssthresh: u64::MAX, last_max: 0, cwnd_cnt: 0 }
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, _: Time, ack: &Ack) {
        if ack.recovering || ack.app_limited {
            return;
        }
        self.cwnd_cnt += slow_start(&mut self.cwnd, self.ssthresh, ack.delivered);
        let due = cost(self.cwnd / self.mss, self.last_max) * self.mss;
        // One ACK may pay for several increases at the same price, as in Linux.
        self.cwnd += self.cwnd_cnt / due * self.mss;
        self.cwnd_cnt %= due;
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        let cwnd = self.cwnd / self.mss;
        let reduced = if cwnd <= LOW_WINDOW { cwnd / 2 } else { cwnd * BETA / BETA_SCALE };
        self.ssthresh = reduced.max(2) * self.mss;
        (self.cwnd, self.last_max) = match what {
            Congestion::Loss => (self.ssthresh, fast_convergence(cwnd, self.last_max, BETA)),
            Congestion::Mark => (self.ssthresh, cwnd),
            Congestion::Timeout => (self.mss, 0),
        };
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
        show.tell("cost", cost(self.cwnd / self.mss, self.last_max) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const MSS: u64 = 1000;

    fn at(cwnd: u64, last_max: u64) -> Bic {
        Bic { ssthresh: MSS, last_max, ..Bic::new(MSS, cwnd * MSS) }
    }

    fn after(cwnd: u64, segments: u64, last_max: u64) -> u64 {
        let mut bic = at(cwnd, last_max);
        for _ in 0..segments {
            bic.on_ack(Time::ZERO, &Ack::of(MSS, Span::from_millis(100)));
        }
        bic.cwnd / MSS
    }

    #[test]
    fn an_increase_costs_what_linux_asks_for_it() {
        for (cwnd, last_max, want) in [
            (10, 0, 10),
            (18, 90, 1),
            (18, 24, 90),
            (19, 83, 1),
            (15, 13, 75),
            (65, 16, 4),
            (100, 100, 500),
            (100, 200, 6),
            (150, 160, 75),
            (161, 160, 805),
            (170, 160, 51),
            (300, 160, 18),
        ] {
            assert_eq!(cost(cwnd, last_max), want, "window {cwnd}, maximum {last_max}");
        }
    }

    #[test]
    fn a_loss_sets_maximum_and_threshold() {
        for (cwnd, last_max, maximum, threshold) in
            [(5, 10, 4, 2), (14, 0, 14, 7), (15, 10, 15, 11), (100, 0, 100, 79), (100, 120, 89, 79)]
        {
            let mut bic = at(cwnd, last_max);
            bic.on_congestion(Time::ZERO, Congestion::Loss, 0);
            assert_eq!((bic.last_max, bic.ssthresh / MSS), (maximum, threshold), "window {cwnd}, maximum {last_max}");
            assert_eq!(bic.cwnd, bic.ssthresh);
        }
    }

    #[test]
    fn windows_grow_as_in_ns_3_where_its_smooth_part_does_not_show() {
        for (cwnd, segments, last_max, want) in
            [(10, 11, 0, 11), (10, 8, 0, 10), (18, 1, 90, 19), (19, 1, 83, 20), (22, 9, 16, 22), (65, 2, 16, 65)]
        {
            assert_eq!(after(cwnd, segments, last_max), want, "window {cwnd}, {segments} segments, maximum {last_max}");
        }
    }

    #[test]
    fn after_a_timeout_there_is_no_maximum_to_search_for() {
        let mut bic = at(100, 120);
        bic.on_congestion(Time::ZERO, Congestion::Timeout, 0);
        assert_eq!((bic.cwnd, bic.ssthresh, bic.last_max), (MSS, 79 * MSS, 0));
        assert_eq!(cost(1000, 0), 20);
    }

    #[test]
    fn fast_convergence_gives_up_room_only_below_the_former_maximum() {
        let beta = 717;
        assert_eq!([99, 100, 101].map(|cwnd| fast_convergence(cwnd, 100, beta)), [84, 100, 101]);
    }
}
