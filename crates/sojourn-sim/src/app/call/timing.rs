//! When a frame is shown: its capture time by the receiver's clock, and the delay that jitter calls for.
//!
//! Source: libwebrtc `timing.cc`, `timestamp_extrapolator.cc`. The capture times are those of the mean delay since the
//! last sudden change, which a CUSUM test finds. The delay follows the jitter and 10 ms for rendering by at most 100 ms
//! a second of video; a frame that came too late for it moves it at once.
//! Differences: both clocks run alike, so only the offset is estimated; decoding takes no time.

use sojourn_net::{Span, Time};

/// Of rendering.
pub(super) const RENDER: Span = Span::from_millis(10);
const MOST_CHANGE_PER_S: f64 = 100.0;
/// CUSUM, in ms: bound of one error, drift, alarm.
const MOST_ERROR: f64 = 7000.0 / 90.0;
const DRIFT: f64 = 6600.0 / 90.0;
const ALARM: f64 = 60_000.0 / 90.0;
const LONGEST_DELAY: Span = Span::from_secs(10);
const SILENCE: Span = Span::from_secs(10);

/// The timing of one receiver.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// Mean of the delays in ms, and of how many.
    offset: f64,
    frames: u32,
    last: Option<Time>,
    above: f64,
    below: f64,
    jitter: Span,
    current: Span,
    previous: Option<Time>,
}

impl Timing {
    /// A frame captured at one time (the sender's clock) was complete at another (the receiver's).
    pub(super) fn complete(&mut self, captured: Time, now: Time) {
        if self.last.replace(now).is_none_or(|last| now.since(last) > SILENCE) {
            (self.frames, self.above, self.below) = (0, 0.0, 0.0);
        }
        let delay = millis(now) - millis(captured);
        if self.frames == 0 {
            self.offset = delay;
        }
        // An early frame is a positive error, as its capture time is ahead.
        let error = (self.offset - delay).clamp(-MOST_ERROR, MOST_ERROR);
        self.above = (self.above + error - DRIFT).max(0.0);
        self.below = (self.below + error + DRIFT).min(0.0);
        if self.above > ALARM || self.below < -ALARM {
            (self.above, self.below) = (0.0, 0.0);
            if self.frames >= 2 {
                self.frames = 0;
            }
        }
        self.frames += 1;
        self.offset += (delay - self.offset) / f64::from(self.frames);
    }

    /// When to show a frame.
    pub(super) fn render(&self, captured: Time) -> Time {
        let at = millis(captured) + self.offset + self.current.min(LONGEST_DELAY).as_millis();
        Time((at.max(0.0) * 1e6) as u64)
    }

    /// Frames are to be held for this long.
    pub(super) fn set_jitter(&mut self, jitter: Span) {
        self.jitter = jitter;
        if self.current == Span::ZERO {
            self.current = jitter;
        }
    }

    /// A frame that was to be shown at `render` is ready only now.
    pub(super) fn ready(&mut self, render: Time, now: Time) {
        let target = self.target();
        let late = now.since(render - RENDER);
        if late > Span::ZERO {
            self.current = if self.current + late <= target { self.current + late } else { target };
        }
    }

    fn target(&self) -> Span {
        self.jitter + RENDER
    }

    /// A frame is decoded: the delay moves towards its target.
    pub(super) fn decoded(&mut self, captured: Time) {
        let target = self.target();
        if let Some(previous) = self.previous.replace(captured) {
            let most = MOST_CHANGE_PER_S * captured.since(previous).as_secs();
            let change = (target.as_millis() - self.current.as_millis()).clamp(-most, most);
            self.current = Span::from_secs_f64((self.current.as_millis() + change).max(0.0) * 1e-3);
        }
    }
}

fn millis(time: Time) -> f64 {
    time.as_secs() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn the_delay_moves_by_100_ms_a_second() {
        let mut timing = Timing::default();
        timing.set_jitter(Span::from_millis(10));
        timing.ready(at(1000), at(0));
        timing.decoded(at(0));
        timing.set_jitter(Span::from_millis(200));
        timing.ready(at(2000), at(1000));
        timing.decoded(at(1000));
        assert_eq!(timing.current, Span::from_millis(110));
        timing.ready(at(3000), at(2000));
        timing.decoded(at(2000));
        assert_eq!(timing.current, Span::from_millis(210));
    }

    #[test]
    fn a_late_frame_moves_it_at_once_but_not_beyond_the_target() {
        let mut timing = Timing::default();
        timing.set_jitter(Span::from_millis(10));
        timing.set_jitter(Span::from_millis(100));
        timing.ready(at(1000), at(1040));
        timing.decoded(at(0));
        assert_eq!(timing.current, Span::from_millis(60));
        timing.ready(at(1033), at(1333));
        timing.decoded(at(33));
        assert_eq!(timing.current, Span::from_millis(110));
    }

    #[test]
    fn a_lasting_change_of_the_delay_is_followed() {
        let mut timing = Timing::default();
        for i in 0..300 {
            timing.complete(at(33 * i), at(33 * i + 50));
        }
        assert_eq!(timing.render(at(33 * 300)), at(33 * 300 + 50));
        for i in 300..600 {
            timing.complete(at(33 * i), at(33 * i + 250));
        }
        let render = timing.render(at(33 * 600));
        assert!(render >= at(33 * 600 + 240), "{render}");
    }
}
