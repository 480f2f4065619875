//! Variable-bit-rate video: the packets of one frame after another, a clip again and again.
//!
//! The clip is either a file in the format of an `EvalVid` sender (J. Klaue, B. Rathke, A. Wolisz, "EvalVid: a
//! framework for video transmission and quality evaluation", 2003), each line with a frame's number, type, bytes,
//! packets and time in seconds, or made by a model: groups of pictures I B B P B B P B B P B B whose frames are as 4 :
//! 2 : 1 and scatter log-normally (σ = 0.35) with a memory of 20 frames (correlation 0.95 from frame to frame), brought
//! to the stated rate exactly. The model's shape is a choice, not a measurement.
//!
//! A frame's packets leave at once, as `EvalVid`'s do, each as large as allowed but the last. RTP, UDP and IP add 40
//! bytes to each.

use super::source::{Datagrams, Source};
use crate::engine::{Event, Network};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Rate, Span, Time};
use std::str::FromStr;
use std::sync::Arc;

/// RTP, UDP and IP.
pub const HEADERS: u32 = 40;
/// More frames than this are taken for a slip.
const MOST_FRAMES: usize = 10_000_000;
/// The largest frame that is believed.
const MOST_BYTES: u64 = 100_000_000;

/// Frames of a clip, which starts again after its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clip {
    /// From the clip's beginning, and bytes; in order.
    frames: Vec<(Span, u32)>,
    length: Span,
}

impl FromStr for Clip {
    type Err = String;

    /// Reads a sender file; the error names the line.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut frames: Vec<(Span, u32)> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let place = i + 1;
            if i == MOST_FRAMES {
                return Err(format!("has more than {MOST_FRAMES} lines"));
            }
            let mut words = line.split_whitespace();
            let Some(_number) = words.next() else { continue };
            let fields = (words.next(), words.next(), words.next(), words.next());
            let (Some(kind), Some(bytes), Some(_packets), Some(time)) = fields else {
                return Err(format!(
                    "line {place}: expected a frame's number, type, bytes, packets and time in seconds"
                ));
            };
            if !matches!(kind, "H" | "I" | "P" | "B") {
                let kind: String = kind.chars().take(20).collect();
                return Err(format!("line {place}: {kind:?} is not a type of frame; expected H, I, P or B"));
            }
            let bytes: Option<u32> = bytes.parse().ok().filter(|bytes| (1..=MOST_BYTES).contains(&u64::from(*bytes)));
            let time: Option<f64> = time.parse().ok().filter(|time| (0.0..=1e8).contains(time));
            let (Some(bytes), Some(time)) = (bytes, time) else {
                return Err(format!("line {place}: expected whole bytes and a time in seconds after the type"));
            };
            let at = Span::from_secs_f64(time);
            if frames.last().is_some_and(|(last, _)| *last > at) {
                return Err(format!(
                    "line {place}: a frame at {time} s comes after a later one; expected times in order"
                ));
            }
            frames.push((at, bytes));
        }
        let (Some(&(first, _)), Some(&(last, _))) = (frames.first(), frames.last()) else {
            return Err("has no frame in it".to_owned());
        };
        if last == first {
            return Err("has all frames at one time, so the clip has no length".to_owned());
        }
        for (at, _) in &mut frames {
            *at = *at - first;
        }
        let length = last - first;
        // The last frame lasts as long as the mean of the others.
        let length = Span(length.0 + length.0 / (frames.len() as u64 - 1));
        Ok(Self { frames, length })
    }
}

impl Clip {
    /// A clip of the model.
    pub fn model(rate: Rate, per_second: f64, count: u32, rng: &mut Pcg64Mcg) -> Self {
        const SIGMA: f64 = 0.35;
        const MEMORY: f64 = 0.95;
        let mut activity = super::source::normal(rng);
        let sizes: Vec<f64> = (0..count)
            .map(|k| {
                let weight = if k % 12 == 0 { 4.0 } else { f64::from(1 + u32::from(k % 3 == 0)) };
                activity = MEMORY * activity + libm::sqrt(1.0 - MEMORY * MEMORY) * super::source::normal(rng);
                weight * libm::exp(SIGMA * activity)
            })
            .collect();
        let length = f64::from(count) / per_second;
        let scale = rate.0 as f64 / 8.0 * length / sizes.iter().sum::<f64>();
        let at = |k: usize| Span::from_secs_f64(k as f64 / per_second);
        // Bytes are rounded so that their sum is exact.
        let (mut wanted, mut given) = (0.0, 0.0);
        let frames = sizes.iter().enumerate().map(|(k, size)| {
            wanted += size * scale;
            let bytes = (wanted - given + 0.5).max(1.0) as u32;
            given += f64::from(bytes);
            (at(k), bytes)
        });
        Self { frames: frames.collect(), length: Span::from_secs_f64(length) }
    }

    /// The mean rate of the frames, without headers.
    pub fn mean(&self) -> Rate {
        let bytes: u64 = self.frames.iter().map(|frame| u64::from(frame.1)).sum();
        Rate((u128::from(bytes) * 8_000_000_000 / u128::from(self.length.0.max(1))) as u64)
    }
}

/// A clip being sent again and again.
pub struct VbrVideo {
    /// What it sends.
    pub datagrams: Datagrams,
    /// What is sent.
    pub clip: Arc<Clip>,
    /// Most bytes of a packet at IP.
    pub packet: u16,
    /// When it starts.
    pub start: Time,
}

impl VbrVideo {
    fn send(&mut self, frame: usize, network: &mut Network) {
        let mut left = self.clip.frames[frame].1;
        let most = u32::from(self.packet) - HEADERS;
        while left > 0 {
            let payload = left.min(most);
            left -= payload;
            self.datagrams.send((payload + HEADERS) as u16, network);
        }
    }
}

impl Source for VbrVideo {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                self.datagrams.begin(network);
                network.wake_at(self.start, self.datagrams.number, 0);
            }
            Event::Wake(token) => {
                let frames = self.clip.frames.len() as u64;
                self.send((token % frames) as usize, network);
                let next = token + 1;
                let (turn, frame) = (next / frames, (next % frames) as usize);
                let at = self.start + self.clip.length * turn + self.clip.frames[frame].0;
                network.wake_at(at, self.datagrams.number, next);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;
    use proptest::prelude::*;

    #[test]
    fn the_model_has_its_rate_and_its_types() {
        let clip = Clip::model(Rate(450_000), 24.0, 1065, &mut stream(1, 0, "video"));
        assert!((clip.mean().0 as f64 - 450_000.0).abs() < 50.0, "{}", clip.mean());
        assert_eq!(clip.frames.len(), 1065);
        assert!((clip.length.as_secs() - 44.375).abs() < 1e-9);
        let mean = |wanted: &dyn Fn(usize) -> bool| {
            let of: Vec<f64> = (0..1065).filter(|k| wanted(*k)).map(|k| f64::from(clip.frames[k].1)).collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        let (i, p, b) = (mean(&|k| k % 12 == 0), mean(&|k| k % 3 == 0 && k % 12 != 0), mean(&|k| k % 3 != 0));
        assert!((i / b - 4.0).abs() < 0.2 && (p / b - 2.0).abs() < 0.1, "{i} {p} {b}");
        assert_ne!(clip, Clip::model(Rate(450_000), 24.0, 1065, &mut stream(1, 1, "video")));
    }

    #[test]
    fn a_sender_file_is_read() {
        let clip = "1\tH\t29\t1\t0.005\n2 I 3036 3 0.033\n3 P 659 1 0.067\n\n".parse::<Clip>().unwrap();
        assert_eq!(clip.frames, [(Span::ZERO, 29), (Span::from_millis(28), 3036), (Span::from_millis(62), 659)]);
        assert_eq!(clip.length, Span::from_millis(93));
    }

    #[test]
    fn a_bad_file_is_told_by_its_line() {
        for (text, wanted) in [
            ("", "no frame"),
            ("1 I 10 1 0\n", "no length"),
            ("1 I 10 1\n", "line 1: expected a frame's number"),
            ("1 X 10 1 0\n", "line 1: \"X\""),
            ("1 I 10 1 0\n2 P 0 1 1\n", "line 2: expected whole bytes"),
            ("1 I 10 1 0\n2 P 5 1 nan\n", "line 2: expected whole bytes"),
            ("1 I 10 1 5\n2 P 5 1 4\n", "line 2: a frame at 4 s"),
        ] {
            let error = text.parse::<Clip>().unwrap_err();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([0-9.IPBH\\-e]{0,5}[ \\t\\n]?){0,30}") {
            drop(text.parse::<Clip>());
        }
    }
}
