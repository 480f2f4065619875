//! The sender of a call: camera, encoder, packets, pacer, and the controller that gives them their rate.
//!
//! Source: libwebrtc's defaults for one stream of video and one of audio. The target is what all packets may take,
//! their headers included; audio takes its own, repairs and FEC what they took of video in the last second (at most
//! half; `fec_controller_default.cc`), pictures the rest. What is on its way beyond the congestion window makes it drop
//! frames, at most each second one (`video_stream_encoder.cc`).

use super::encoder::{Encoder, LEAST_RATE, Picture};
use super::fec::Fec;
use super::gcc::{GoogCc, Limits, PacketResult, Probe};
use super::history::History;
use super::pacer::{LONGEST_QUEUE, Pacer};
use super::packet::{AUDIO_HEADERS, AUDIO_INTERVAL, Frame, MOST_PAYLOAD, Payload, Reception, Rtp, Sent, VIDEO_HEADERS};
use super::protection::{Protected, Protection};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// Window of the rate of repairs, and the most that they take of video.
const REPAIRS_WINDOW: Span = Span::from_secs(1);
const MOST_REPAIRS: f64 = 0.5;
/// Time between two looks at the controller.
pub(super) const PROCESS: Span = Span::from_millis(25);

/// What one side of a call sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Media {
    /// Lines of the camera's pictures.
    pub height: u16,
    /// Pictures a second.
    pub fps: f64,
    /// Most that video takes, in bit/s.
    pub most: f64,
    /// What the codec of the audio gives, in bit/s; 0 for none.
    pub audio: f64,
    /// The first target, in bit/s.
    pub start: f64,
}

/// The sender.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) controller: GoogCc,
    pub(super) pacer: Pacer,
    encoder: Encoder,
    media: Media,
    /// Frames by their numbers, RTP packets by their transport-wide numbers.
    pub(super) frames: Vec<Frame>,
    pub(super) sent: Vec<Sent>,
    pub(super) history: History,
    pub(super) fec: Fec,
    protection: Protection,
    in_flight: u64,
    /// Bytes of video that left in the last second, and those of them that were repairs.
    video_bytes: u64,
    repair_bytes: u64,
    /// The first packet of that second.
    window: usize,
    /// The first packet that no report was about.
    unreported: u64,
    /// One frame of so many is dropped, and how many there were.
    drop_one_of: Option<u32>,
    pictures: u32,
}

impl Sender {
    /// Begins at `now`.
    pub(super) fn new(media: Media, now: Time) -> Self {
        let audio = audio_rate(&media);
        let limits = Limits { start: media.start, least: audio + LEAST_RATE, streams: audio + media.most };
        let controller = GoogCc::new(limits, now);
        let mut sender = Self {
            pacer: Pacer::new(controller.pacing()),
            controller,
            encoder: Encoder::new(media.height, media.fps, media.most, media.start, now),
            media,
            frames: Vec::new(),
            sent: Vec::new(),
            history: History::default(),
            fec: Fec::default(),
            protection: Protection::default(),
            in_flight: 0,
            video_bytes: 0,
            repair_bytes: 0,
            window: 0,
            unreported: 0,
            drop_one_of: None,
            pictures: 0,
        };
        sender.follow(now);
        sender
    }

    /// Time between two pictures.
    pub(super) fn interval(&self) -> Span {
        self.encoder.interval()
    }

    /// Encoder, pacer and probes follow the controller.
    fn follow(&mut self, now: Time) {
        let video = self.controller.target() - audio_rate(&self.media);
        let repairs = self.repairs(now);
        self.encoder.set_target(video * (1.0 - repairs), video * repairs, now);
        let rtt = self.controller.rtt().unwrap_or(Span::ZERO);
        let protected = Protected { rate: video, fps: self.media.fps, pixels: self.encoder.pixels(), rtt };
        self.fec.factors = self.protection.factors(&protected, now);
        self.pacer.set_rate(self.controller.pacing());
        for probe in self.controller.take_probes() {
            self.pacer.add_probe(probe, now);
        }
        self.push_back();
    }

    /// Frames are dropped if too much is on its way.
    fn push_back(&mut self) {
        self.drop_one_of = self.encoder.drops(self.controller.pushback(self.in_flight));
    }

    /// The share of repairs in the video of the last second.
    fn repairs(&mut self, now: Time) -> f64 {
        while let Some(old) = self.sent.get(self.window).filter(|sent| now.since(sent.at) > REPAIRS_WINDOW) {
            let (video, repair) = video_bytes(&old.rtp);
            self.video_bytes -= video;
            self.repair_bytes -= repair;
            self.window += 1;
        }
        let share = self.repair_bytes as f64 / self.video_bytes.max(1) as f64;
        share.min(MOST_REPAIRS)
    }

    /// Time passes: asked every 25 ms.
    pub(super) fn process(&mut self, now: Time) {
        self.controller.process(now);
        self.follow(now);
    }

    /// A report came.
    pub(super) fn on_report(&mut self, results: &[PacketResult], now: Time) {
        // What a lost report was about is not on its way either.
        let last = results.iter().map(|result| result.seq + 1).max().unwrap_or(0).max(self.unreported);
        let passed = self.sent.get(self.unreported as usize..last as usize).unwrap_or_default();
        self.in_flight -= passed.iter().map(|sent| u64::from(sent.rtp.bytes)).sum::<u64>();
        self.unreported = last;
        self.controller.on_report(now, results);
        self.follow(now);
    }

    /// Packets are asked for again, with a report of what came.
    pub(super) fn on_nack(&mut self, numbers: &[u32], told: Reception, now: Time) {
        self.protection.reported(told, now);
        let rtt = self.controller.rtt().unwrap_or(Span::ZERO);
        for number in numbers {
            if let Some(rtp) = self.history.ask(*number, rtt, now) {
                self.pacer.push(rtp, now);
            }
        }
    }

    /// A key frame is asked for.
    pub(super) fn on_picture_loss(&mut self) {
        self.encoder.want_key();
    }

    /// The camera has a picture.
    pub(super) fn picture(&mut self, now: Time, rng: &mut Pcg64Mcg) {
        let dropped = self.drop_one_of.is_some_and(|one_of| self.pictures.is_multiple_of(one_of));
        self.pictures += u32::from(self.drop_one_of.is_some());
        if dropped || self.pacer.expected(now) > LONGEST_QUEUE {
            return;
        }
        let Some(Picture { bytes, height, key }) = self.encoder.encode(now, rng) else { return };
        let packets = bytes.div_ceil(MOST_PAYLOAD);
        let first = self.history.next();
        let number = self.frames.len() as u32;
        self.frames.push(Frame { captured: now, bytes, height, key, first, packets });
        for i in 0..packets {
            // Of equal sizes, as libwebrtc's packetisers make them.
            let payload = bytes / packets + u32::from(i < bytes % packets);
            let rtp = Rtp {
                payload: Payload::Video { frame: number, number: first + i },
                bytes: payload + VIDEO_HEADERS,
                again: false,
            };
            self.history.keep(number, rtp.bytes);
            self.pacer.push(rtp, now);
        }
    }

    /// The microphone has 20 ms of sound.
    pub(super) fn sound(&mut self, now: Time) {
        self.pacer.push(Rtp { payload: Payload::Audio, bytes: audio_bytes(&self.media), again: false }, now);
    }

    /// A packet of video leaves: with it maybe the FEC of its group.
    fn protect(&mut self, frame: u32, number: u32, bytes: u32, now: Time) {
        let of = &self.frames[frame as usize];
        let Some(group) = self.fec.left(number, bytes, number + 1 == of.first + of.packets, of.key) else { return };
        let told = self.fec.groups[group as usize];
        for part in 0..told.parts {
            let payload = Payload::Fec { group, part };
            self.pacer.push(Rtp { payload, bytes: told.bytes, again: false }, now);
        }
    }

    /// A packet leaves; its transport-wide number.
    pub(super) fn leaves(&mut self, rtp: Rtp, probe: Option<Probe>, now: Time) -> u64 {
        if let Payload::Video { frame, number } = rtp.payload {
            self.history.left(number, now);
            if !rtp.again {
                self.protect(frame, number, rtp.bytes, now);
            }
        }
        self.in_flight += u64::from(rtp.bytes);
        let (video, repair) = video_bytes(&rtp);
        self.video_bytes += video;
        self.repair_bytes += repair;
        self.controller.on_sent(now, rtp.bytes);
        self.push_back();
        self.sent.push(Sent { rtp, at: now, probe });
        self.sent.len() as u64 - 1
    }
}

/// Bytes of video of a packet, and those of a repair or of FEC.
fn video_bytes(rtp: &Rtp) -> (u64, u64) {
    let bytes = u64::from(rtp.bytes);
    match rtp.payload {
        Payload::Fec { .. } => (bytes, bytes),
        Payload::Audio | Payload::Padding => (0, 0),
        Payload::Video { .. } => (bytes, if rtp.again { bytes } else { 0 }),
    }
}

fn audio_bytes(media: &Media) -> u32 {
    (media.audio / 8.0 * AUDIO_INTERVAL.as_secs()) as u32 + AUDIO_HEADERS
}

/// What audio takes with its headers, in bit/s.
fn audio_rate(media: &Media) -> f64 {
    if media.audio > 0.0 { f64::from(audio_bytes(media)) * 8.0 / AUDIO_INTERVAL.as_secs() } else { 0.0 }
}
