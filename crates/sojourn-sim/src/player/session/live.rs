//! A viewing of a live stream with low latency; whose rules it follows stands in [`crate::player::live`].

use crate::player::live::{ChunkRate, Chunks, Live, Watched};
use crate::player::playback::Playback;
use sojourn_net::with_defaults;

/// Latency and playback at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Seconds since the session began.
    pub time_s: f64,
    /// The time since the picture shown was taken, s.
    pub latency_s: f64,
    /// The playback rate since the look before; 0 in a stall.
    pub rate: f64,
    /// Seconds of video in the buffer.
    pub buffer_s: f64,
    /// Seconds of video that playback then jumped over.
    pub jumped_s: f64,
}

with_defaults! {
    /// Where the viewing of a live stream stands.
    pub(super) struct Viewing {
        live: Live,
        chunks: Chunks,
        /// Time of the stream when the session began, s.
        began_s: f64,
        /// Number of the first segment in the stream.
        first: f64,
        /// Time of the stream up to which video is in the buffer, or would be played from, s.
        buffered_s: f64,
        /// Chunks of the segment under way that have come.
        come: usize,
        rate: f64 = 1.0,
        throughput: ChunkRate,
        looks: Vec<Look>,
    }
}

impl Viewing {
    pub(super) fn new(live: Live, segment_s: f64) -> Self {
        let chunks = Chunks { segment_s, chunk_s: live.chunk_s.min(segment_s) };
        Self { live, chunks, ..Self::default() }
    }

    /// Seconds since the session began at which a segment begins in the stream; negative for what is older.
    pub(super) fn begins_s(&self, segment: usize) -> f64 {
        (self.first + segment as f64) * self.chunks.segment_s - self.began_s
    }

    /// How long the next request waits: for room in the buffer, then for the segment's first chunk.
    pub(super) fn wait_s(&self, segment: usize, now_s: f64, too_much_s: f64) -> f64 {
        let there_s = self.begins_s(segment) + self.chunks.end_s(0);
        (too_much_s / self.rate).max(there_s - now_s)
    }

    /// The throughput over chunks of the segment that has come; forgets it.
    pub(super) fn kbps(&mut self) -> Option<f64> {
        self.come = 0;
        std::mem::take(&mut self.throughput).kbps()
    }
}

impl Viewing {
    /// Joins the stream, whose time is `stream_s` as the session begins.
    pub(super) fn join(&mut self, stream_s: f64) {
        self.began_s = stream_s;
        self.buffered_s = stream_s - self.live.latency_s;
        self.first = libm::floor(self.buffered_s / self.chunks.segment_s);
    }

    /// Bytes of a segment of `bytes` that the server has, and when it will have more.
    pub(super) fn made(&self, segment: usize, bytes: u64, now_s: f64) -> (u64, Option<f64>) {
        let begins_s = self.begins_s(segment);
        let (made, next) = self.chunks.made(now_s - begins_s, bytes);
        (made, next.map(|age_s| begins_s + age_s))
    }

    /// So many bytes of a segment of `bytes` have come: whole chunks go into the buffer.
    pub(super) fn come(&mut self, segment: usize, bytes: u64, done: u64, now_s: f64, playback: &mut Playback) {
        let chunks = self.chunks;
        self.throughput.come(now_s, done, (0..chunks.count()).map(|k| chunks.end(k, bytes)));
        while self.come < chunks.count() && done >= chunks.end(self.come, bytes) {
            let end_s = (self.first + segment as f64) * chunks.segment_s + chunks.end_s(self.come);
            if end_s > self.buffered_s {
                playback.arrived(now_s, end_s - self.buffered_s, false);
                self.buffered_s = end_s;
            }
            self.come += 1;
        }
    }

    /// Looks at the latency, and sets the playback rate.
    pub(super) fn look(&mut self, now_s: f64, playback: &mut Playback) {
        playback.advance(now_s);
        let buffer_s = playback.level_s();
        let latency_s = now_s + self.began_s - (self.buffered_s - buffer_s);
        if playback.started_s().is_none() {
            return;
        }
        let stalled = playback.stalled_since().is_some();
        let stalls = (playback.stalls().len() + usize::from(stalled)) as u32;
        let (target_s, rate) = (self.live.latency_s, self.rate);
        let mut jumped_s = 0.0;
        if latency_s - target_s > self.live.seek_s {
            jumped_s = (latency_s - target_s).min(buffer_s);
            playback.jump(jumped_s);
        } else {
            let Chunks { segment_s, chunk_s } = self.chunks;
            let seen = Watched { latency_s, target_s, buffer_s, segment_s, chunk_s, stalls, rate };
            self.rate = self.live.catch_up.rate(self.live.rates, &seen);
            playback.set_rate(self.rate);
        }
        let rate = if stalled { 0.0 } else { rate };
        self.looks.push(Look { time_s: now_s, latency_s, rate, buffer_s, jumped_s });
    }

    /// What was seen at each look since playing began.
    pub(super) fn looks(&self) -> &[Look] {
        &self.looks
    }
}
