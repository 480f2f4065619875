//! The rate that arrives, from feedback: what was sent and received in a window of at least one second.
//!
//! Source: libwebrtc `robust_throughput_estimator.cc`, the default. The window has more than 20 packets and 1 s, at
//! most 500 packets and 5 s; ten packets are needed. The rate is the lower of that of sending and that of receiving,
//! where the longest silence between arrivals counts as long as the second longest. Differences: all packets are
//! reported, so none counts for others that are not.

use super::feedback::PacketResult;
use sojourn_net::{Span, Time};
use std::collections::VecDeque;

const PACKETS: usize = 20;
const MOST_PACKETS: usize = 500;
const SHORTEST: Span = Span::from_secs(1);
const LONGEST: Span = Span::from_secs(5);
const REQUIRED: usize = 10;

/// The packets of the window, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    window: VecDeque<Entry>,
    latest_discarded: Time,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Time,
    arrived: Time,
    bits: f64,
}

impl Throughput {
    /// Takes what arrived, in order of arrival.
    pub(super) fn add(&mut self, results: &[PacketResult]) {
        for result in results {
            let Some(arrived) = result.arrived else { continue };
            self.window.push_back(Entry { sent: result.sent, arrived, bits: f64::from(result.bytes) * 8.0 });
            let mut place = self.window.len() - 1;
            while place > 0 && self.window[place].arrived < self.window[place - 1].arrived {
                self.window.swap(place, place - 1);
                place -= 1;
            }
        }
        while self.first_is_outside() {
            let Some(first) = self.window.pop_front() else { return };
            self.latest_discarded = self.latest_discarded.max(first.sent);
        }
    }

    fn first_is_outside(&self) -> bool {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else { return false };
        let length = last.arrived.since(first.arrived);
        self.window.len() > MOST_PACKETS || length > LONGEST || (self.window.len() > PACKETS && length > SHORTEST)
    }

    /// The rate in bit/s, if there is enough to tell.
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, last) = (self.window.front()?, self.window.back()?);
        if self.window.len() < REQUIRED {
            return None;
        }
        let (mut largest, mut second) = (Span::ZERO, Span::ZERO);
        for (before, after) in self.window.iter().zip(self.window.iter().skip(1)) {
            let gap = after.arrived.since(before.arrived);
            if gap > largest {
                (largest, second) = (gap, largest);
            } else if gap > second {
                second = gap;
            }
        }
        let received: f64 = self.window.iter().map(|entry| entry.bits).sum::<f64>() - first.bits;
        let duration = last.arrived.since(first.arrived) - largest + second;
        let received_rate = received / duration.as_secs().max(1e-3);
        // What was sent before something that has left the window was reordered.
        let in_order = || self.window.iter().filter(|entry| entry.sent >= self.latest_discarded);
        if in_order().count() < REQUIRED {
            return Some(received_rate);
        }
        let (mut from, mut to, mut sent, mut last_bits) = (Time::NEVER, Time::ZERO, 0.0, 0.0);
        for entry in in_order() {
            sent += entry.bits;
            from = from.min(entry.sent);
            if entry.sent >= to {
                (to, last_bits) = (entry.sent, entry.bits);
            }
        }
        let sent_rate = (sent - last_bits) / to.since(from).as_secs().max(1e-3);
        Some(sent_rate.min(received_rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sent_ms: u64, arrived_ms: u64) -> PacketResult {
        let at = |ms: u64| Time(ms * 1_000_000);
        PacketResult { seq: 0, bytes: 1250, sent: at(sent_ms), arrived: Some(at(arrived_ms)), probe: None }
    }

    #[test]
    fn the_rate_is_the_lower_of_sending_and_receiving() {
        let mut throughput = Throughput::default();
        // 1 Mbit/s sent, received at half that.
        for i in 0..200 {
            assert_eq!(throughput.rate().is_some(), i >= REQUIRED as u64);
            throughput.add(&[packet(10 * i, 100 + 20 * i)]);
        }
        assert!((throughput.rate().unwrap() - 500e3).abs() < 1.0);
        // Sent at half of what arrives in a row.
        let mut throughput = Throughput::default();
        (0..60).for_each(|i| throughput.add(&[packet(20 * i, 2000 + 10 * i)]));
        assert!((throughput.rate().unwrap() - 500e3).abs() < 1.0);
    }

    #[test]
    fn one_long_silence_does_not_lower_it() {
        let mut throughput = Throughput::default();
        let pause = |i: u64| if i > 20 { 300 } else { 0 };
        (0..40).for_each(|i| throughput.add(&[packet(10 * i, 100 + 10 * i + pause(i))]));
        assert!((throughput.rate().unwrap() - 1e6).abs() < 1.0, "{:?}", throughput.rate());
    }
}
