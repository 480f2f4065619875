//! Players of adaptive video: which representation of the next segment to fetch, and when.
//!
//! A [`Player`] is a pure rule, told of each segment that has arrived ([`Player::segment_done`]) and asked before each request
//! ([`Player::choose`]). It has no clock and no network: the same rules decide on an ideal link ([`play`]) and for the
//! `adaptive` users of a simulation, both through a [`Session`]. Levels count from 0, the lowest, here; from 1 in Python and in
//! tables.
//!
//! The order of things for each segment, which is that of the players whose rules these are: (1) the previous segment
//! arrives; (2) if the buffer has no room for one more, wait until it has; (3) `choose`; (4) wait as long as the choice says; (5)
//! request.

mod abandon;
mod algorithm;
mod bba0;
mod bba1;
mod bba2;
mod bba_others;
mod bola;
mod bola_e;
mod clip;
mod dynamic;
mod dynamic_dash;
mod estimate;
mod festive;
mod fixed;
mod generated;
mod gpac;
mod link;
mod playback;
mod robust_mpc;
mod session;
mod throughput;

pub use algorithm::{Algorithm, BolaOptions, FestiveOptions, GpacOptions, MpcOptions, PMode, PythonPlayer, Sample};
pub use clip::{Clip, SHIPPED, shipped};
pub use festive::Draws;
pub use generated::generated;
pub use link::{Link, Period, play};
pub use playback::{Playback, Stall};
pub use session::{Next, Row, Session, Settings};

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

    /// The next segment's level, and how long to wait before asking for it. Called once for each segment, the first included, when the
    /// buffer has room for it.
    fn choose(&mut self, state: &State<'_>) -> Choice;

    /// The throughput in kb/s that the latest choice went by, if it did.
    fn estimate_kbps(&self) -> Option<f64> {
        None
    }
}
