//! The sender of a call: camera, encoder, packets, pacer, and the controller that gives them their rate.
//!
//! Source: libwebrtc's defaults for one stream of video and one of audio. The target is what all packets may take,
//! their headers included; audio takes its own. Of what video may take, the headers of as many packets go off as it
//! fills with largest ones (`rtp_video_sender.cc`): at low rates that is a fraction of the packets there are, so video
//! takes more than it may. Repairs and FEC go off as they took of video in the last second, at most half
//! (`fec_controller_default.cc`), and the descriptors of that second; pictures have the rest. What is on its way beyond
//! the congestion window makes it drop frames, at most each second one (`video_stream_encoder.cc`).
//! Differences: headers are counted from the beginning as they are once a repeated packet was acknowledged.

use super::encoder::{Encoder, LEAST_RATE, Picture};
use super::fec::Fec;
use super::gcc::{GoogCc, Limits, PacketResult, Probe};
use super::history::History;
use super::pacer::{LONGEST_QUEUE, Pacer};
use super::packet::{
    AUDIO_HEADERS, AUDIO_INTERVAL, COUNTED_HEADERS, COUNTED_RTP, DESCRIPTORS, MOST_PACKET, MOST_PAYLOAD,
};
use super::packet::{Frame, Payload, Reception, Rtp, Sent, TIMING, TIMING_INTERVAL, VIDEO_HEADERS};
use super::protection::{Protected, Protection};
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// Window of the rates of repairs and of descriptors, and the most that each takes of video.
const WINDOW: Span = Span::from_secs(1);
const MOST_REPAIRS: f64 = 0.5;
const MOST_DESCRIBED: f64 = 0.5;
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
    /// When a picture last carried its times.
    timed: Option<Time>,
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
            timed: None,
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
        let payload = video - header_rate(video, MOST_PACKET);
        let repaired = payload * (1.0 - self.repairs(now));
        let described = self.described(now).min(MOST_DESCRIBED * repaired);
        let pictures = repaired - described;
        let protection = video - pictures - described - header_rate(pictures, MOST_PACKET - COUNTED_RTP);
        self.encoder.set_target(pictures, protection.max(0.0), now);
        let rtt = self.controller.rtt().unwrap_or(Span::ZERO);
        let protected = Protected { rate: payload, fps: self.media.fps, pixels: self.encoder.pixels(), rtt };
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
        while let Some(old) = self.sent.get(self.window).filter(|sent| now.since(sent.at) > WINDOW) {
            let (video, repair) = video_bytes(&old.rtp);
            self.video_bytes -= video;
            self.repair_bytes -= repair;
            self.window += 1;
        }
        let share = self.repair_bytes as f64 / self.video_bytes.max(1) as f64;
        share.min(MOST_REPAIRS)
    }

    /// What the descriptors in the packets of the last second's pictures took, in bit/s.
    fn described(&self, now: Time) -> f64 {
        let last = self.frames.iter().rev().take_while(|frame| now.since(frame.captured) < WINDOW);
        let packets: u32 = last.map(|frame| frame.packets).sum();
        f64::from(packets * DESCRIPTORS) * 8.0 / WINDOW.as_secs()
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
        let timed = self.timed.is_none_or(|last| now.since(last) >= TIMING_INTERVAL);
        self.timed = if timed { Some(now) } else { self.timed };
        let first = self.history.next();
        let number = self.frames.len() as u32;
        self.frames.push(Frame { captured: now, bytes, height, key, first, packets });
        for i in 0..packets {
            // Of equal sizes, as libwebrtc's packetisers make them.
            let payload = bytes / packets + u32::from(i < bytes % packets);
            let timing = if timed && i + 1 == packets { TIMING } else { 0 };
            let rtp = Rtp {
                payload: Payload::Video { frame: number, number: first + i },
                bytes: payload + VIDEO_HEADERS + timing,
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

/// What the headers take of video at a rate that fills packets of so many bytes, in bit/s: a whole number a second.
fn header_rate(rate: f64, packet: u32) -> f64 {
    (rate / f64::from(8 * packet)).ceil() * f64::from(8 * COUNTED_HEADERS)
}

fn audio_bytes(media: &Media) -> u32 {
    (media.audio / 8.0 * AUDIO_INTERVAL.as_secs()) as u32 + AUDIO_HEADERS
}

/// What audio takes with its headers, in bit/s.
fn audio_rate(media: &Media) -> f64 {
    if media.audio > 0.0 { f64::from(audio_bytes(media)) * 8.0 / AUDIO_INTERVAL.as_secs() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    const MEDIA: Media = Media { height: 720, fps: 30.0, most: 2.5e6, audio: 32e3, start: 300e3 };

    /// A sender whose coder has the rate of a target for some seconds, and what it sent: of which picture, and bytes.
    fn sent(target: f64, seconds: u64) -> (Sender, Vec<(u32, u32)>) {
        let mut sender = Sender::new(Media { start: target, ..MEDIA }, Time::ZERO);
        let mut rng = stream(1, 0, "sender");
        let mut out = Vec::new();
        for at in (0..30 * seconds).map(|i| Time(i * 33_333_334)) {
            sender.picture(at, &mut rng);
            sender.process(at);
            sender.pacer.set_rate(1e9);
            let mut rtps = Vec::new();
            sender.pacer.send(at, &mut rtps);
            out.extend(rtps.iter().filter_map(|(rtp, _)| match rtp.payload {
                Payload::Video { frame, .. } => Some((frame, rtp.bytes)),
                _ => None,
            }));
        }
        (sender, out)
    }

    #[test]
    fn headers_go_off_as_chromium_takes_them_off() {
        // Three of its estimates, the rates that its coder was asked for, and the packets of the second before.
        for (estimate, packets, coder) in
            [(871_145.0, 92, 776_777.0), (1_122_150.0, 115, 1_016_062.0), (2_385_697.0, 199, 2_220_521.0)]
        {
            let video = estimate - audio_rate(&MEDIA);
            let described = f64::from(8 * DESCRIPTORS * packets);
            assert_eq!(video - header_rate(video, MOST_PACKET) - described, coder);
        }
    }

    #[test]
    fn pictures_have_a_timing_extension_five_times_a_second() {
        let (sender, sent) = sent(200e3, 3);
        let pictures: Vec<u32> = sender
            .frames
            .iter()
            .zip(0..)
            .filter(|(frame, _)| frame.packets == 1)
            .filter_map(|(frame, number)| {
                let (_, bytes) = sent.iter().find(|(of, _)| *of == number)?;
                Some(bytes - frame.bytes)
            })
            .collect();
        let timed = pictures.iter().filter(|headers| **headers == VIDEO_HEADERS + TIMING).count();
        assert!(pictures.iter().all(|headers| [VIDEO_HEADERS, VIDEO_HEADERS + TIMING].contains(headers)));
        assert!(pictures.len() > 60 && (12..=16).contains(&timed), "{timed} of {}", pictures.len());
    }

    #[test]
    fn at_low_rates_packets_take_more_than_is_taken_off() {
        let target = 150e3;
        let (sender, sent) = sent(target, 20);
        let half = sent.len() / 2;
        let bytes: u32 = sent[half..].iter().map(|(_, bytes)| bytes).sum();
        let seconds = sender.frames[sent[half].0 as usize..].len() as f64 / 30.0;
        let video = f64::from(bytes) * 8.0 / seconds;
        // Thirty packets a second have 14.1 kbit/s of headers, of which 5.5 were taken off.
        let over = video - (target - audio_rate(&MEDIA));
        assert!((0.0..10e3).contains(&over), "{over}");
    }
}
