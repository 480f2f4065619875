//! LEDBAT as ns-2 runs it: a module for Linux's TCP, written after the first draft.
//!
//! How it works: As LEDBAT, but it counts ACKs.
//! - Each ACK adds target − queueing delay to a counter, at most the target.
//! - A window's worth of targets in the counter makes the window one segment larger, a negative counter one smaller.
//! - Delays are one-way and in whole milliseconds; the base is the smallest of ten minutes.
//! - A loss halves the window; there is no slow start.
//!
//! Use it when: you repeat a study that was made with ns-2's LEDBAT. Otherwise take `ledbat`.
//!
//! Source: draft-shalunov-ledbat-congestion-00 (2009) by the rules of the LEDBAT module of ns-2's TCP-Linux (Valenti,
//! 2009–): each ACK, whatever it acknowledges, adds the distance from the target (at most the target) to a counter; a
//! window's worth of targets makes one more segment, a negative counter one less. Delays are one-way, the smallest of
//! four above the smallest of ten minutes, in whole milliseconds. A loss halves; slow start is off. Differences: both
//! ends share the run's clock, so that no clock rate is estimated; the filter holds four delays, where the module's
//! ring of four holds three; a timeout leaves one segment, as TCP-Linux does.

use super::control::{Ack, Congestion, CongestionControl, Window};
use super::ledbat::{BASE_MINUTES, CURRENT, Delays};
use super::variables::Variables;
use crate::{Span, Time};

/// LEDBAT congestion control as in ns-2.
pub struct LedbatNs2 {
    mss: u64,
    /// Milliseconds.
    target: i64,
    /// Segments.
    cwnd: u64,
    ssthresh: u64,
    /// Milliseconds below the target, summed over ACKs.
    counter: i64,
    delays: Delays,
}

impl LedbatNs2 {
    /// Starts with `initial` bytes of window and segments of `mss` bytes, and aims at a queueing delay of `target`.
    pub fn new(mss: u64, initial: u64, target: Span) -> Self {
        Self {
            mss,
            target: (target.0 / 1_000_000).max(1) as i64,
            cwnd: (initial / mss).max(1),
            ssthresh: u64::MAX,
            counter: 0,
            delays: Delays::new(BASE_MINUTES, CURRENT),
        }
    }

    fn update(&mut self, queueing_ms: i64) {
        self.counter += (self.target - queueing_ms).min(self.target);
        if self.counter < 0 {
            // One segment less, and one target less than it takes to have it back.
            self.counter = if self.cwnd > 1 { (self.cwnd as i64 - 2) * self.target } else { 0 };
            self.cwnd = (self.cwnd - 1).max(1);
        } else if self.counter >= self.cwnd as i64 * self.target {
            self.cwnd += 1;
            self.counter = 0;
        }
    }
}

impl CongestionControl for LedbatNs2 {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let Some(delay) = ack.one_way else { return };
        self.delays.add(now, Span(delay.0 / 1_000_000 * 1_000_000));
        if !ack.recovering && !ack.app_limited {
            let queueing = self.delays.queueing(now, Span(u64::MAX));
            self.update((queueing.0 / 1_000_000) as i64);
        }
    }

    fn on_congestion(&mut self, _: Time, what: Congestion, _: u64) {
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = if what == Congestion::Timeout { 1 } else { self.ssthresh.min(self.cwnd) };
        self.counter = 0;
    }

    fn on_idle(&mut self, _: Time, restart: u64) {
        self.cwnd = self.cwnd.min(restart / self.mss).max(1);
    }

    fn window(&self) -> Window {
        let cwnd = self.cwnd * self.mss;
        Window { cwnd, ssthresh: cwnd, pacing: None }
    }

    fn variables(&mut self, show: &mut Variables<'_>) {
        show.see("cwnd", &mut self.cwnd);
        show.tell("ssthresh", self.cwnd as f64);
        show.see("counter", &mut self.counter);
        self.delays.variables(show);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MSS, Path};
    use super::*;
    use crate::Rate;

    fn at(cwnd: u64, counter: i64) -> LedbatNs2 {
        LedbatNs2 { cwnd, counter, ..LedbatNs2::new(MSS, MSS, Span::from_millis(25)) }
    }

    #[test]
    fn a_window_of_acks_without_queue_adds_a_segment() {
        let mut ledbat = at(10, 0);
        for _ in 0..9 {
            ledbat.update(0);
        }
        assert_eq!((ledbat.cwnd, ledbat.counter), (10, 225));
        ledbat.update(0);
        assert_eq!((ledbat.cwnd, ledbat.counter), (11, 0));
    }

    #[test]
    fn a_negative_counter_takes_a_segment() {
        let mut ledbat = at(10, 10);
        ledbat.update(30);
        assert_eq!((ledbat.cwnd, ledbat.counter), (10, 5));
        ledbat.update(50);
        assert_eq!((ledbat.cwnd, ledbat.counter), (9, 200));
        let mut least = at(1, 0);
        least.update(100);
        assert_eq!((least.cwnd, least.counter), (1, 0));
    }

    #[test]
    fn its_variables_have_names() {
        let mut ledbat = at(7, 30);
        assert!(ledbat.set("counter", 45.0) && ledbat.set("cwnd", 8.0) && !ledbat.set("nothing", 1.0));
        let mut found = Vec::new();
        ledbat.state(&mut |name, value| found.push((name, value)));
        assert_eq!(found[..3], [("cwnd", 8.0), ("ssthresh", 8.0), ("counter", 45.0)]);
    }

    #[test]
    fn alone_it_settles_at_its_target() {
        let mut path = Path::new(Rate(2_000_000), Span::from_millis(100), 1000);
        let mut ledbat = LedbatNs2::new(MSS, 3 * MSS, Span::from_millis(25));
        path.run(&mut ledbat, 20.0);
        let (share, waited) = path.run(&mut ledbat, 20.0);
        assert!(share > 0.98 && (21.0..29.0).contains(&waited.as_millis()), "{share}, {waited}");
    }
}
