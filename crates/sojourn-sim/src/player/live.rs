//! A live stream with low latency: which of its chunks are there when, and the latency that a viewer aims at.
//!
//! Source: DASH-IF's low-latency live as dash.js 5.1 plays it (`CatchupController.js`, `PlaybackController.js`,
//! `ScheduleController.js`, `MediaPlayerModel.js`, `FetchLoader.js`). The encoder begins segment k at k·S and hands out
//! each chunk, whole, when its last picture is coded. A segment may be asked for when its first chunk is there; the
//! server sends what there is, and each further chunk when it is made.
//!
//! How it works: a viewer joins at the live edge less the latency aimed at, and fetches from the beginning of the
//! segment that holds this moment; what is earlier is not played. Playing starts, and goes on after a stall, with the
//! first chunk. Latency is the time since the picture shown was taken; every 250 ms (as often as Chromium tells of the
//! time of a video) the playback rate follows it ([`CatchUp`]). If it is further from the target than `seek_s`,
//! playback jumps to the target, or as near as what is in the buffer allows.
//!
//! Differences: coding, and the way to the server, take no time; the clocks agree. There is no HLS with parts: chunks
//! come in one answer, as in DASH, whatever the player and the rule. dash.js's other modes (LoL+, L2A) are not here.

mod catch_up;
mod chunk_rate;

pub use catch_up::CatchUp;
pub(super) use catch_up::Watched;
pub(super) use chunk_rate::ChunkRate;

/// Time from one look at the latency to the next, s.
pub const TICK_S: f64 = 0.25;

/// How a live stream is coded and watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// The latency aimed at, s.
    pub latency_s: f64,
    /// Seconds of video in a chunk.
    pub chunk_s: f64,
    /// How the latency is kept.
    pub catch_up: CatchUp,
    /// The slowest and the fastest playback rate.
    pub rates: (f64, f64),
    /// Distance from the target beyond which playback jumps, s.
    pub seek_s: f64,
}

/// The segments and chunks of a stream, whose time is that of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunks {
    pub(super) segment_s: f64,
    pub(super) chunk_s: f64,
}

impl Chunks {
    /// Number of chunks in a segment; the last may be shorter.
    pub(super) fn count(self) -> usize {
        libm::ceil(self.segment_s / self.chunk_s - 1e-9).max(1.0) as usize
    }

    /// Seconds from the beginning of a segment to the end of its chunk `k`.
    pub(super) fn end_s(self, k: usize) -> f64 {
        ((k + 1) as f64 * self.chunk_s).min(self.segment_s)
    }

    /// Bytes from the beginning of a segment of `bytes` to the end of its chunk `k`.
    pub(super) fn end(self, k: usize, bytes: u64) -> u64 {
        if k + 1 >= self.count() { bytes } else { (bytes as f64 * self.end_s(k) / self.segment_s) as u64 }
    }

    /// Bytes of a segment of `bytes` that are there so many seconds after its beginning, and when more will be.
    pub(super) fn made(self, age_s: f64, bytes: u64) -> (u64, Option<f64>) {
        let made = (0..self.count()).take_while(|k| self.end_s(*k) <= age_s + 1e-9).count();
        let here = if made == 0 { 0 } else { self.end(made - 1, bytes) };
        (here, (made < self.count()).then(|| self.end_s(made)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_there_when_their_last_picture_is_coded() {
        let chunks = Chunks { segment_s: 2.0, chunk_s: 0.5 };
        assert_eq!(chunks.count(), 4);
        assert_eq!(chunks.made(0.49, 1000), (0, Some(0.5)));
        assert_eq!(chunks.made(0.5, 1000), (250, Some(1.0)));
        assert_eq!(chunks.made(1.9, 1000), (750, Some(2.0)));
        assert_eq!(chunks.made(2.0, 1000), (1000, None));
        assert_eq!(chunks.made(99.0, 1000), (1000, None));
    }

    #[test]
    fn the_last_chunk_may_be_shorter_and_a_chunk_as_long_as_the_segment() {
        let chunks = Chunks { segment_s: 2.0, chunk_s: 0.8 };
        assert_eq!((chunks.count(), chunks.end_s(2), chunks.end(1, 1000), chunks.end(2, 1000)), (3, 2.0, 800, 1000));
        let whole = Chunks { segment_s: 2.0, chunk_s: 2.0 };
        assert_eq!((whole.count(), whole.made(1.99, 7), whole.made(2.0, 7)), (1, (0, Some(2.0)), (7, None)));
    }
}
