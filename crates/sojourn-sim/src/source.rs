//! Sources and applications: who sends what, and when.
//!
//! A source is told of [`Event`]s and acts on the [`Network`]: it opens connections, writes, sends datagrams, asks to be woken.
//! Each has its own random stream.

mod adaptive;
mod browser;
mod bulk;
mod chirp;
mod frames;
mod onoff;
mod paced;
mod packmime;
mod sessions;
mod video;
mod voice;
mod web;

pub use adaptive::{Adaptive, AdaptiveTable, Fetch, StallTable, ViewerTable};
pub use browser::{Browser, BrowserTable, Fate, Habits, WebPage, pages};
pub use bulk::Bulk;
pub use chirp::Chirp;
pub use frames::{Clip, Frames, HEADERS as FRAME_HEADERS};
pub use onoff::OnOff;
pub use paced::Paced;
pub use packmime::{Http, Model as PackmimeModel, Packmime};
pub use sessions::Sessions;
pub use video::{Schedule, Shown, Video, VideoTable};
pub use voice::{Calls, INTERVAL as VOICE_INTERVAL, Voice, VoiceTable};
pub use web::{Loads, Page, Web, WebTable};

pub use crate::event::Event;
pub use crate::way::End;

use crate::network::Network;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

// Delay of a datagram that was dropped.
const LOST: i64 = -1;
// Delay of a datagram that had neither arrived nor been dropped when the run ended.
const UNDER_WAY: i64 = -2;

/// Table rows that an application leaves behind.
#[derive(Default)]
pub struct Tables {
    /// One row per video packet.
    pub video: VideoTable,
    /// One row per voice packet.
    pub voice: VoiceTable,
    /// One row per page load.
    pub web: WebTable,
    /// One row per segment of adaptive video.
    pub adaptive: AdaptiveTable,
    /// One row per viewer of adaptive video.
    pub viewers: ViewerTable,
    /// One row per stall of adaptive video.
    pub stalls: StallTable,
    /// One row per page load of those who browse.
    pub browser: BrowserTable,
}

/// A source of traffic or an application.
pub trait Source {
    /// Something happened.
    fn on(&mut self, event: Event, network: &mut Network);
    /// The run is over: add to the tables.
    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        let _ = (network, tables);
    }
}

/// Uniform in (0, 1], so that its logarithm is finite.
fn uniform(rng: &mut Pcg64Mcg) -> f64 {
    1.0 - rng.random::<f64>()
}

/// A standard normal variate (Box and Muller).
fn normal(rng: &mut Pcg64Mcg) -> f64 {
    libm::sqrt(-2.0 * libm::log(uniform(rng))) * libm::cos(std::f64::consts::TAU * uniform(rng))
}
