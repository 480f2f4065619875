//! Reno: slow start, additive increase, multiplicative decrease.
//!
//! How it works: The window `cwnd` bounds the bytes in flight.
//! - Slow start: below `ssthresh` every byte acknowledged adds a byte, so that the window doubles each round trip.
//! - Congestion avoidance: from `ssthresh` on, the window grows by one segment for each window acknowledged.
//! - A loss found by duplicate or selective ACKs, or an ECN mark, sets `ssthresh` and `cwnd` to half the window.
//! - A timeout sets `ssthresh` to half the window and `cwnd` to one segment; slow start follows.
//!
//! The result is the sawtooth: throughput is proportional to 1 / (RTT · √loss rate), and to fill a link alone the
//! buffer must hold a bandwidth-delay product.
//!
//! Use it when: you compare with theory or with older simulators and measurements, or want the plainest loss-based
//! competitor. Today's hosts run CUBIC.
//!
//! Source: RFC 5681 §3.1 (slow start, congestion avoidance); RFC 6582 names the loss recovery that goes with it
//! (NewReno), which is the sender's part. What an acknowledgement is worth can be counted in three ways; under
//! delayed ACKs the first two differ by a factor of two:
//! - in *bytes* (RFC 3465 with L = ∞: Linux's `reno` today, doubling every round trip, then one segment more for
//!   every window delivered);
//! - in *ACKs*, each worth at most one segment (RFC 5681 equations 2 and 3: the NewReno of ns-2 and ns-3, older
//!   Linux);
//! - in whole *segments*, as Linux keeps the window (`stack = "linux"`): half of an odd one is rounded down, and so
//!   is what the next segment costs, which makes small windows grow faster.
//!
//! Difference: ssthresh is half the congestion window rather than half the flight (as in Linux; a sender that did not
//! fill its window has not let it grow).

use super::control::{Ack, Congestion, CongestionControl, Window};
use super::variables::Variables;
use crate::Time;

/// What an acknowledgement is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// The bytes that it delivers.
    Bytes,
    /// The same, and half a window is one of whole segments.
    Segments,
    /// At most one segment, so that growth is slower under delayed ACKs.
    Acks,
}

/// AIMD(1, 1/2) in bytes.
pub struct Reno {
    counting: Counting,
    pub(super) mss: u64,
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Bytes delivered towards the next increase in congestion avoidance.
    cwnd_cnt: u64,
}

impl Reno {
    /// Starts with `initial` bytes of window and segments of `mss` bytes.
    pub fn new(mss: u64, initial: u64, counting: Counting) -> Self {
        Self { counting, mss, cwnd: initial, ssthresh: u64::MAX, cwnd_cnt: 0 }
    }

    /// Grows by so many bytes in slow start, then by a segment for as many as `cnt` asks for at the present window.
    pub(super) fn grow(&mut self, delivered: u64, cnt: impl Fn(u64) -> u64) {
        self.cwnd_cnt += slow_start(&mut self.cwnd, self.ssthresh, delivered);
        let cnt = cnt(self.cwnd);
        if self.cwnd_cnt >= cnt {
            self.cwnd_cnt -= cnt;
            self.cwnd += self.mss;
        }
    }

    /// Leaves what `of` makes of the window, two segments at least.
    pub(super) fn reduce(&mut self, of: impl Fn(u64) -> u64) {
        self.ssthresh = of(self.cwnd).max(2 * self.mss);
        self.cwnd = self.ssthresh;
        self.cwnd_cnt = 0;
    }
}

/// Slow start: grows by what was delivered up to ssthresh, and returns what is left for congestion avoidance.
pub(super) fn slow_start(cwnd: &mut u64, ssthresh: u64, delivered: u64) -> u64 {
    let growth = delivered.min(ssthresh.saturating_sub(*cwnd));
    *cwnd += growth;
    delivered - growth
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, _: Time, ack: &Ack) {
        if ack.recovering || ack.app_limited {
            return;
        }
        let counted = match self.counting {
            Counting::Bytes | Counting::Segments => ack.delivered,
            Counting::Acks => ack.delivered.min(self.mss),
        };
        self.grow(counted, |cwnd| cwnd);
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        let unit = if self.counting == Counting::Segments { self.mss } else { 1 };
        self.reduce(|cwnd| cwnd / 2 / unit * unit);
        if what == Congestion::Timeout {
            self.cwnd = self.mss;
        }
    }

    fn restore(&mut self, cwnd: u64, ssthresh: u64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
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
        show.window("counted", &mut self.cwnd_cnt, self.mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const MSS: u64 = 1000;

    fn ack(segments: u64) -> Ack {
        Ack::of(segments * MSS, Span::ZERO)
    }

    #[test]
    fn slow_start_doubles_each_round_but_for_delayed_acks_that_are_counted() {
        for (counting, segments_an_ack, grown) in
            [(Counting::Bytes, 1, 8), (Counting::Bytes, 2, 8), (Counting::Acks, 1, 8), (Counting::Acks, 2, 5)]
        {
            let mut reno = Reno::new(MSS, 2 * MSS, counting);
            for _ in 0..(6 / segments_an_ack) {
                reno.on_ack(Time(0), &ack(segments_an_ack));
            }
            assert_eq!(reno.window().cwnd, grown * MSS);
        }
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_a_window_of_bytes_or_of_acknowledgements() {
        for (counting, acks) in [(Counting::Bytes, 5), (Counting::Acks, 10)] {
            let mut reno = Reno::new(MSS, 20 * MSS, counting);
            reno.on_congestion(Time(0), Congestion::Loss, 0);
            assert_eq!(reno.window().cwnd, 10 * MSS);
            for i in 0..acks {
                assert_eq!(reno.window().cwnd, 10 * MSS, "ACK {i} of {acks}");
                reno.on_ack(Time(0), &ack(2));
            }
            assert_eq!(reno.window().cwnd, 11 * MSS);
        }
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_half_the_window_as_threshold() {
        let mut reno = Reno::new(MSS, 20 * MSS, Counting::Bytes);
        reno.on_congestion(Time(0), Congestion::Timeout, 0);
        assert_eq!(reno.window(), Window { cwnd: MSS, ssthresh: 10 * MSS, pacing: None });
    }

    #[test]
    fn half_of_an_odd_window_is_one_of_whole_segments_only_if_counted_so() {
        for (counting, half, price) in [(Counting::Bytes, 7_500, 8), (Counting::Segments, 7_000, 7)] {
            let mut reno = Reno::new(MSS, 15 * MSS, counting);
            reno.on_congestion(Time(0), Congestion::Loss, 0);
            assert_eq!(reno.window().cwnd, half);
            let acks = (1..).find(|_| {
                reno.on_ack(Time(0), &ack(1));
                reno.window().cwnd > half
            });
            assert_eq!(acks, Some(price));
        }
    }

    #[test]
    fn the_threshold_is_at_least_two_segments() {
        let mut reno = Reno::new(MSS, MSS, Counting::Bytes);
        reno.on_congestion(Time(0), Congestion::Loss, 0);
        assert_eq!(reno.window().cwnd, 2 * MSS);
    }
}
