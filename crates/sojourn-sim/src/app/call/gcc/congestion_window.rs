//! The congestion window: how much may be on its way before the encoder drops frames.
//!
//! Source: libwebrtc `congestion_window_pushback_controller.cc` with the default settings `QueueSize:350`,
//! `MinBitrate:30000`, `DropFrame:true`: a window of the target over the least round trip of the last 32 reports and
//! 350 ms. The ratio by which the encoder is pushed back falls by 5 % (10 % beyond 1.5 windows) and recovers by 5 %; it
//! drops frames, and leaves the target alone. It is judged anew at each packet that is sent and at each report.

use sojourn_net::{Span, with_defaults};
use std::collections::VecDeque;

const ACCEPTED_QUEUE: Span = Span::from_millis(350);
const REPORTS: usize = 32;
const LEAST_WINDOW: f64 = 3000.0;
const LEAST_RATE: f64 = 30_000.0;

with_defaults! {
    /// The window and the ratio.
    #[derive(Debug)]
    pub(super) struct CongestionWindow {
        round_trips: VecDeque<Span> = VecDeque::with_capacity(REPORTS + 1),
        window: Option<f64>,
        ratio: f64 = 1.0,
    }
}

impl CongestionWindow {
    /// A report took this long from the sending of the first packet that it is about; the target is in bit/s.
    pub(super) fn reported(&mut self, longest_round_trip: Span, target: f64) {
        self.round_trips.push_back(longest_round_trip);
        if self.round_trips.len() > REPORTS {
            self.round_trips.pop_front();
        }
        let least = self.round_trips.iter().min().copied().unwrap_or(Span::ZERO);
        let window = target / 8.0 * (least + ACCEPTED_QUEUE).as_secs();
        self.window = Some(self.window.map_or(window, |before| (before + window) / 2.0).max(LEAST_WINDOW));
    }

    /// By which share the encoder is to lower its rate at this target in bit/s, of which the streams are given `least`
    /// at any rate, with so many bytes on their way.
    pub(super) fn pushback(&mut self, in_flight: u64, target: f64, least: f64) -> f64 {
        let Some(window) = self.window else { return 0.0 };
        let fill = in_flight as f64 / window;
        self.ratio = match fill {
            _ if fill > 1.5 => self.ratio * 0.9,
            _ if fill > 1.0 => self.ratio * 0.95,
            _ if fill < 0.1 => 1.0,
            _ => (self.ratio * 1.05).min(1.0),
        };
        let adjusted = (target * self.ratio).max(target.min(LEAST_RATE)).max(least);
        1.0 - adjusted / target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_more_than_a_window_on_its_way_pushes_back() {
        let mut window = CongestionWindow::default();
        assert_eq!(window.pushback(1_000_000, 1e6, 5e3), 0.0);
        window.reported(Span::from_millis(50), 1e6);
        // 1 Mbit/s over 400 ms: 50 kB.
        assert_eq!(window.pushback(49_000, 1e6, 5e3), 0.0);
        assert!((window.pushback(51_000, 1e6, 5e3) - 0.05).abs() < 1e-9);
        assert!((window.pushback(76_000, 1e6, 5e3) - (1.0 - 0.95 * 0.9)).abs() < 1e-9);
        assert_eq!(window.pushback(4_000, 1e6, 5e3), 0.0);
        // What the streams are given at least is left to them.
        assert!((window.pushback(500_000, 1e6, 950e3) - 0.05).abs() < 1e-9);
    }
}
