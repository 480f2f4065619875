//! Sources and applications: who sends what, and when.
//!
//! A [`Source`] is told of [`Event`](crate::engine::Event)s and acts on the [`Network`](crate::engine::Network): it
//! opens connections, writes, sends datagrams, asks to be woken. Each has its own random stream.

mod adaptive;
mod browser;
mod bulk;
mod call;
mod chirp;
mod game;
mod onoff;
mod packmime;
mod page;
mod quic;
mod recorded;
mod responsiveness;
mod sessions;
mod source;
mod tables;
mod udp;
mod vbr_video;
mod video;
mod voice;
mod web;

pub use adaptive::{Adaptive, Fetch};
pub use browser::{Browser, Fate, WebPage, pages};
pub use bulk::Bulk;
pub(crate) use call::most_rate as most_call_rate;
pub use call::{Call, Media};
pub use chirp::Chirp;
pub use game::{Game, Pace};
pub use onoff::OnOff;
pub use packmime::{Model as PackmimeModel, Packmime};
pub use page::{Object as PageObject, ObjectKind, Page as PageReader, Weights as PageWeights, site};
pub use recorded::{QuicSettings, Recorded, Recording};
pub use responsiveness::Responsiveness;
pub use sessions::Sessions;
pub use source::{Datagrams, Source, User};
pub use tables::{
    AdaptiveTable, BrowserTable, CallRateTable, CallTable, GameTable, IntervalTable, PageTable, ProbeTable, StallTable,
    Tables, VideoTable, ViewerTable, VoiceTable, WebTable,
};
pub use udp::Udp;
pub use vbr_video::{Clip, HEADERS as FRAME_HEADERS, VbrVideo};
pub use video::{Schedule, Shown, Video};
pub use voice::{Calls, INTERVAL as VOICE_INTERVAL, Voice};
pub use web::{Loads, Web};
