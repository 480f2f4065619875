//! The receiver of a call's video: frames put together, held, shown; what is missing asked for again.
//!
//! Source: libwebrtc `video_stream_buffer_controller.cc`, `video_receive_stream2.h`: a frame is decoded once it is
//! complete and the one before it was decoded, or is a key frame, in time to be shown. Without a frame for three
//! seconds, or 200 ms while a key frame is waited for, a key frame is asked for.
//! Differences: the receiver knows from its first packet how many packets a frame has.

use super::fec::{Group, Parity};
use super::freezes::FreezeDetector;
use super::jitter::JitterEstimator;
use super::nack::NackList;
use super::packet::{Frame, Reception};
use super::timing::{RENDER, Timing};
use sojourn_net::{Span, Time};
use std::collections::BTreeMap;

const WAIT_FOR_KEY: Span = Span::from_millis(200);
const WAIT_FOR_FRAME: Span = Span::from_secs(3);

/// A frame of which something has arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Arriving {
    packets: u32,
    repaired: bool,
    complete: Option<Time>,
}

/// A frame that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shown {
    /// Its number.
    pub(super) frame: u32,
    /// When, by the receiver's clock.
    pub(super) at: Time,
    /// Time since the one before it, and whether the picture was frozen.
    pub(super) gap: Option<(Span, bool)>,
}

/// The receiver.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Missing packets.
    pub(super) nacks: NackList,
    /// FEC that may still recover something.
    parity: Parity,
    /// FEC packets that were sent as far as is known, and the packets that came, without repairs.
    fec_expected: u32,
    received: u32,
    arriving: BTreeMap<u32, Arriving>,
    /// The last frame that was decoded.
    decoded: Option<u32>,
    /// The frame that is waited for to be shown, and when it is decoded and shown.
    waiting: Option<(u32, Time, Time)>,
    jitter: JitterEstimator,
    timing: Timing,
    freezes: FreezeDetector,
    /// Captured and complete, of the last frame whose jitter was judged.
    judged: Option<(Time, Time)>,
    /// When a key frame is asked for if nothing is decoded.
    patience: Option<Time>,
    needs_key: bool,
    last_shown: Time,
}

impl Receiver {
    /// A packet of FEC arrived.
    pub(super) fn parity(&mut self, group: Group, part: u32) {
        self.nacks.passed(group.first + group.packets);
        self.fec_expected = self.fec_expected.max(group.before + part + 1);
        self.received += 1;
        self.parity.hold(group, part);
    }

    /// What was sent as far as is known, and what of it came.
    pub(super) fn reception(&self) -> Reception {
        Reception { expected: self.nacks.next() + self.fec_expected, received: self.received }
    }

    /// A packet that FEC gives back by now.
    pub(super) fn recovered(&mut self) -> Option<u32> {
        self.parity.recovered(&self.nacks)
    }

    /// A packet of a frame arrived, maybe after it was asked for. True if a key frame is needed.
    pub(super) fn arrived(&mut self, number: u32, of: (u32, &Frame), again: bool, now: Time) -> bool {
        self.patience.get_or_insert(now + WAIT_FOR_KEY);
        let hopeless = self.nacks.arrived(number);
        self.received += u32::from(!again);
        let (id, frame) = of;
        if self.decoded.is_none_or(|decoded| id > decoded) {
            let arriving = self.arriving.entry(id).or_default();
            arriving.packets += 1;
            arriving.repaired |= again;
            if arriving.packets == frame.packets {
                arriving.complete = Some(now);
                if !arriving.repaired {
                    self.timing.complete(frame.captured, now);
                }
            }
        }
        self.needs_key |= hopeless;
        hopeless
    }

    /// Looks for the next frame to be decoded, if none is waited for; when it is.
    pub(super) fn next(&mut self, frames: &[Frame], now: Time) -> Option<Time> {
        if let Some((_, decode, _)) = self.waiting {
            return Some(decode);
        }
        let follows = self.decoded.map_or(0, |decoded| decoded + 1);
        let can = |id: u32, arriving: &Arriving| {
            let frame = &frames[id as usize];
            arriving.complete.is_some() && (frame.key || (id == follows && self.decoded.is_some()))
        };
        let (id, _) = self.arriving.iter().find(|(id, arriving)| can(**id, arriving))?;
        let render = self.timing.render(frames[*id as usize].captured);
        let decode = (render - RENDER).max(now);
        self.waiting = Some((*id, decode, render));
        Some(decode)
    }

    /// Decodes the frame that is due.
    pub(super) fn decode(&mut self, frames: &[Frame], rtt: Option<Span>, now: Time) -> Option<Shown> {
        let (id, _, render) = self.waiting.filter(|(_, decode, _)| *decode <= now)?;
        self.waiting = None;
        let arriving = self.arriving.get(&id).copied().unwrap_or_default();
        let frame = &frames[id as usize];
        self.arriving = self.arriving.split_off(&(id + 1));
        if frame.key {
            self.nacks.forget_before(frame.first);
            self.needs_key = false;
        }
        self.decoded = Some(id);
        self.patience = Some(now + WAIT_FOR_FRAME);
        if arriving.repaired {
            self.jitter.nacked(now);
        } else if let Some(complete) = arriving.complete {
            let before = self.judged.replace((frame.captured, complete));
            let delay = before.map_or(0.0, |(captured, arrived)| {
                complete.0 as f64 - arrived.0 as f64 - (frame.captured.0 as f64 - captured.0 as f64)
            });
            self.jitter.update(delay * 1e-6, frame.bytes, now);
        }
        // A frame that was repaired says nothing of the jitter, and puts nothing off.
        if !arriving.repaired {
            self.timing.set_jitter(self.jitter.estimate(rtt, now));
            self.timing.ready(render, now);
        }
        self.timing.decoded(frame.captured);
        let at = render.max(now + RENDER).max(self.last_shown);
        self.last_shown = at;
        Some(Shown { frame: id, at, gap: self.freezes.shown(at) })
    }

    /// Whether a key frame is to be asked for now.
    pub(super) fn wants_key(&mut self, now: Time) -> bool {
        let over = self.patience.is_some_and(|patience| patience <= now) && self.waiting.is_none();
        if over {
            self.needs_key = true;
            self.patience = Some(now + WAIT_FOR_KEY);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Frames of one packet every 33 ms, the first a key frame, and those of `keys`.
    fn frames(n: u32, keys: &[u32]) -> Vec<Frame> {
        let frame = |i: u32| Frame {
            captured: at(33 * u64::from(i)),
            bytes: 4000,
            height: 720,
            key: i == 0 || keys.contains(&i),
            first: i,
            packets: 1,
        };
        (0..n).map(frame).collect()
    }

    /// Plays frames that arrive 50 ms after their capture, but for some that never do.
    fn play(n: u32, keys: &[u32], lost: &[u32]) -> (Vec<Shown>, Vec<Time>) {
        let frames = frames(n, keys);
        let mut receiver = Receiver::default();
        let (mut shown, mut asked) = (Vec::new(), Vec::new());
        for ms in 0..33 * u64::from(n) + 200 {
            for (i, frame) in frames.iter().enumerate() {
                if frame.captured + Span::from_millis(50) == at(ms) && !lost.contains(&(i as u32)) {
                    receiver.arrived(i as u32, (i as u32, frame), false, at(ms));
                }
            }
            if receiver.next(&frames, at(ms)).is_some() {
                shown.extend(receiver.decode(&frames, None, at(ms)));
            }
            if receiver.wants_key(at(ms)) {
                asked.push(at(ms));
            }
        }
        (shown, asked)
    }

    #[test]
    fn every_frame_is_shown_in_order_and_evenly() {
        let (shown, asked) = play(100, &[], &[]);
        assert!(shown.iter().map(|shown| shown.frame).eq(0..100));
        assert!(asked.is_empty());
        let gaps: Vec<f64> = shown[10..].iter().filter_map(|shown| shown.gap).map(|(gap, _)| gap.as_millis()).collect();
        assert!(gaps.iter().all(|gap| (gap - 33.0).abs() < 2.0), "{gaps:?}");
    }

    #[test]
    fn nothing_is_shown_from_a_missing_frame_to_the_next_key_frame() {
        let (shown, asked) = play(200, &[150], &[20]);
        let numbers: Vec<u32> = shown.iter().map(|shown| shown.frame).collect();
        assert!(numbers.iter().copied().eq((0..20).chain(150..200)));
        let frozen: Vec<u32> =
            shown.iter().filter(|shown| shown.gap.is_some_and(|(_, frozen)| frozen)).map(|shown| shown.frame).collect();
        assert_eq!(frozen, [150]);
        // Three seconds after the last frame, and every 200 ms.
        assert!(asked.len() >= 3, "{asked:?}");
        let last = shown[19].at;
        assert!(asked[0].since(last) <= WAIT_FOR_FRAME && asked[0].since(last) > Span::from_millis(2900));
        assert_eq!(asked[1].since(asked[0]), WAIT_FOR_KEY);
    }
}
