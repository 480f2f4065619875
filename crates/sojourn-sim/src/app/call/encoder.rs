//! The encoder: a frame every 33 ms whose size follows the target, with key frames when they are asked for.
//!
//! Source: frame sizes as RFC 8593 §5 describes them: Laplacian around the mean with a scale of 0.15; a key frame has
//! 13.5/4.17 of the mean, and the seven frames after it so much less that the eight have the mean. Heights step with
//! the rate as libwebrtc's limits for a single stream do (`encoder_info_settings.cc`, VP8 and H.264): 180 lines from 30
//! kbit/s, 270 from 200, 360 from 300, 540 from 500, 720 from 900, 1080 from 2000; judged two seconds after the start
//! and then every five, as the quality scaler's intervals. At most 300, 500, 800, 1500, 2500 and 5000 kbit/s.
//! Differences: the step is taken by the rate, where libwebrtc goes by the quantiser; encoding takes no time.

use super::packet::{MOST_PAYLOAD, RTP_HEADERS};
use crate::app::source::uniform;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// Lines, the least rate at which they are chosen, and the most that they are given, in bit/s.
const STEPS: [(u16, f64, f64); 6] = [
    (180, 30e3, 300e3),
    (270, 200e3, 500e3),
    (360, 300e3, 800e3),
    (540, 500e3, 1500e3),
    (720, 900e3, 2500e3),
    (1080, 2000e3, 5000e3),
];
const SCALE: f64 = 0.15;
const KEY_RATIO: f64 = 13.5 / 4.17;
const KEY_PERIOD: u32 = 8;
const FIRST_STEP: Span = Span::from_secs(2);
const STEP: Span = Span::from_secs(5);
/// What video is given at least, whatever the target, in bit/s.
pub(super) const LEAST_RATE: f64 = 30e3;
/// A smaller share of the rate is not worth a frame.
const LEAST_DROPPED: f64 = 0.01;

/// The most that pictures of these lines are given, in bit/s.
pub(crate) fn most_rate(height: u16) -> f64 {
    STEPS.iter().find(|(lines, ..)| *lines >= height).map_or(STEPS[STEPS.len() - 1].2, |(.., most)| *most)
}

/// The encoder of one sender.
#[derive(Debug)]
pub(super) struct Encoder {
    /// Lines of the camera's pictures, and the highest rate for them.
    camera: u16,
    most: f64,
    fps: f64,
    height: u16,
    /// What is left of what video may take when its headers are off, in bit/s, and what is coded.
    allocated: f64,
    target: f64,
    next_step: Time,
    wants_key: bool,
    /// Frames of the period after a key frame that are still to come.
    after_key: u32,
}

impl Encoder {
    /// Pictures of `camera` lines, `fps` a second, at most at `most` bit/s, from `now` on at `target`.
    pub(super) fn new(camera: u16, fps: f64, most: f64, target: f64, now: Time) -> Self {
        let mut encoder = Self {
            camera,
            most,
            fps,
            height: camera,
            allocated: target,
            target,
            next_step: now + FIRST_STEP,
            wants_key: true,
            after_key: 0,
        };
        encoder.height = encoder.height_for(target);
        encoder
    }

    /// Time between two pictures.
    pub(super) fn interval(&self) -> Span {
        Span::from_secs_f64(1.0 / self.fps)
    }

    /// Video and its headers are to take this rate together, in bit/s.
    pub(super) fn set_target(&mut self, rate: f64) {
        // Headers of the packets that a frame of this rate fills.
        let frame = rate / 8.0 / self.fps;
        let packets = (frame / f64::from(MOST_PAYLOAD + RTP_HEADERS)).ceil().max(1.0);
        let headers = packets * f64::from(RTP_HEADERS) * 8.0 * self.fps;
        self.allocated = rate - headers;
        self.target = self.allocated.clamp(LEAST_RATE, self.most);
    }

    /// One frame of how many is to be dropped, so that a share of the rate is saved: none if that leaves less than the
    /// least, and at most each second one.
    pub(super) fn drops(&self, share: f64) -> Option<u32> {
        let rate = self.allocated.min(self.most);
        let less = (rate * share).min(rate - LEAST_RATE);
        (share > LEAST_DROPPED && less > 0.0).then(|| ((rate / less) as u32).max(2))
    }

    /// The next frame is to be a key frame.
    pub(super) fn want_key(&mut self) {
        self.wants_key = true;
    }

    fn height_for(&self, rate: f64) -> u16 {
        let fits = STEPS.iter().rev().find(|(lines, least, _)| *lines <= self.camera && rate >= *least);
        fits.map_or(STEPS[0].0, |(lines, ..)| *lines).min(self.camera)
    }

    /// Encodes a picture: its bytes, its lines, and whether it is a key frame.
    pub(super) fn encode(&mut self, now: Time, rng: &mut Pcg64Mcg) -> (u32, u16, bool) {
        if now >= self.next_step {
            self.next_step = now + STEP;
            let height = self.height_for(self.target);
            // A picture of another size begins with a key frame.
            self.wants_key |= height != self.height;
            self.height = height;
        }
        let mean = self.target / 8.0 / self.fps;
        let key = std::mem::take(&mut self.wants_key);
        let noise = SCALE * (libm::log(uniform(rng)) - libm::log(uniform(rng)));
        let factor = if key {
            self.after_key = KEY_PERIOD - 1;
            KEY_RATIO
        } else if self.after_key > 0 {
            self.after_key -= 1;
            (f64::from(KEY_PERIOD) - KEY_RATIO) / f64::from(KEY_PERIOD - 1)
        } else {
            1.0
        };
        let bytes = mean * factor * (1.0 + noise).clamp(0.2, 2.0);
        (bytes.max(50.0) as u32, self.height, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    #[test]
    fn frames_have_the_rate_and_lines_follow_it() {
        let mut rng = stream(1, 0, "encoder");
        let mut encoder = Encoder::new(720, 30.0, 2.5e6, 300e3, Time::ZERO);
        assert_eq!(encoder.height, 360);
        encoder.set_target(1e6);
        // Of 1 Mbit/s, a frame of 4167 bytes has four packets with 62 bytes of headers each.
        assert!((encoder.target - (1e6 - 4.0 * 62.0 * 8.0 * 30.0)).abs() < 1.0);
        let mut now = Time::ZERO;
        let mut bytes = 0;
        let mut heights = Vec::new();
        for i in 0..3000 {
            let (size, height, key) = encoder.encode(now, &mut rng);
            assert_eq!(key, i == 0 || height != *heights.last().unwrap_or(&height));
            bytes += u64::from(size);
            heights.push(height);
            now += encoder.interval();
        }
        let rate = bytes as f64 * 8.0 / 100.0;
        assert!((rate / encoder.target - 1.0).abs() < 0.01, "{rate}");
        assert_eq!((heights[59], heights[61], heights[2999]), (360, 720, 720));
    }

    #[test]
    fn no_more_lines_than_the_camera_has_and_no_more_rate_than_is_allowed() {
        let mut encoder = Encoder::new(360, 30.0, 800e3, 300e3, Time::ZERO);
        encoder.set_target(5e6);
        assert_eq!((encoder.target, encoder.height_for(5e6)), (800e3, 360));
        assert_eq!(encoder.height_for(10e3), 180);
        assert_eq!((most_rate(720), most_rate(1080), most_rate(2160)), (2.5e6, 5e6, 5e6));
    }
    #[test]
    fn at_most_every_second_frame_is_dropped_and_none_at_the_least_rate() {
        let mut encoder = Encoder::new(720, 30.0, 2.5e6, 300e3, Time::ZERO);
        encoder.set_target(1e6);
        assert_eq!(
            [0.0, 0.01, 0.05, 0.3, 0.9].map(|share| encoder.drops(share)),
            [None, None, Some(20), Some(3), Some(2)]
        );
        encoder.set_target(40e3);
        assert_eq!(encoder.target, LEAST_RATE);
        assert_eq!(encoder.drops(0.9), None);
    }
}
