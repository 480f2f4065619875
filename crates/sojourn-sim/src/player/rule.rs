//! What every player has: it hears of segments that have arrived, and answers with a level and a wait.

use super::clip::Clip;

/// A segment that has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its number in the clip, from 0.
    pub index: usize,
    /// The level that was fetched.
    pub level: usize,
    /// Its size.
    pub bytes: u64,
    /// When the request left, in seconds since the session began.
    pub request_s: f64,
    /// When the first byte of the answer came.
    pub first_byte_s: f64,
    /// When the last byte came.
    pub arrive_s: f64,
    /// Seconds of video in the buffer, this segment included.
    pub buffer_s: f64,
}

impl Segment {
    /// From request to last byte, in seconds.
    pub fn download_s(&self) -> f64 {
        self.arrive_s - self.request_s
    }

    /// Throughput in kb/s from request to last byte: a round trip is in it.
    pub fn throughput_kbps(&self) -> f64 {
        self.bytes as f64 * 8e-3 / self.download_s()
    }

    /// Throughput in kb/s from first to last byte; from the request if all bytes came at once.
    pub fn transfer_kbps(&self) -> f64 {
        self.bytes as f64 * 8e-3 / self.transfer_s()
    }

    /// From first to last byte, in seconds; from the request if all bytes came at once.
    pub fn transfer_s(&self) -> f64 {
        let transfer = self.arrive_s - self.first_byte_s;
        if transfer > 0.0 { transfer } else { self.download_s() }
    }
}

/// What a player knows when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// The clip: rates, and sizes of all segments.
    pub clip: &'a Clip,
    /// Number of the segment to ask for, from 0.
    pub segment: usize,
    /// The present time, in seconds since the session began.
    pub now_s: f64,
    /// When the previous segment arrived; 0 for the first.
    pub arrived_s: f64,
    /// How long the full buffer has been waited for since then.
    pub waited_s: f64,
    /// Seconds of video in the buffer.
    pub buffer_s: f64,
    /// Seconds of video that the buffer holds.
    pub limit_s: f64,
    /// Level of the previous segment; none for the first.
    pub last: Option<usize>,
}

/// What a player wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The level to fetch.
    pub level: usize,
    /// How long to wait before the request, in seconds.
    pub wait_s: f64,
}

impl Choice {
    /// This level, at once.
    pub fn at_once(level: usize) -> Self {
        Self { level, wait_s: 0.0 }
    }
}

/// An algorithm of rate adaptation.
pub trait Player {
    /// A segment has arrived.
    fn segment_done(&mut self, segment: &Segment);

    /// The next segment's level, and how long to wait before asking for it. Called once for each segment, the first
    /// included, when the buffer has room for it.
    fn choose(&mut self, state: &State<'_>) -> Choice;

    /// What it plays is live, with this latency aimed at in seconds.
    fn live(&mut self, _latency_s: f64) {}

    /// A segment of a live stream has arrived, whose chunks came with this throughput in kb/s, if it is known.
    fn live_segment_done(&mut self, segment: &Segment, _chunks_kbps: Option<f64>) {
        self.segment_done(segment);
    }

    /// Seconds of video in the buffer from which on this player asks for nothing more, besides what the buffer holds.
    fn enough_s(&self) -> f64 {
        f64::INFINITY
    }

    /// The throughput in kb/s that the latest choice went by, if it did.
    fn estimate_kbps(&self) -> Option<f64> {
        None
    }
}
