//! Callers with a camera: WebRTC as libwebrtc ships it. Defaults are its own: 720 lines at 30 pictures a second, Opus
//! at 32 kbit/s, a first target of 300 kbit/s.

use sojourn_net::{Rate, Span, refuse_if};

use crate::app::most_call_rate;
use crate::scenario::Invalid;
use crate::scenario::defaults::{bits, count, number, secs};
use crate::scenario::flows::check_count;

use super::{CallDirection, with_keys_of_users};

with_keys_of_users! {
    /// Video calls whose rate follows Google's congestion control, from their start to the end of the run. Media begins
    /// when ICE and DTLS have taken their round trips: two and a half until the called side sends, three until the
    /// caller does.
    pub struct Call {
        /// Whose pictures and sound are sent.
        pub direction: CallDirection = "CallDirection::default",
        /// Number of callers.
        pub count: u32 = "count::<1>",
        /// Lines of the camera's pictures; fewer are sent while the rate is low.
        pub height: u16 = "number::<720, u16>",
        /// Pictures a second.
        pub fps: f64 = "number::<30, f64>",
        /// The most that video takes; by default libwebrtc's limit for as many lines: 300, 500, 800, 1500, 2500 and
        /// 5000 kbit/s for 180, 270, 360, 540, 720 and 1080.
        pub max_rate: Option<Rate>,
        /// What the sound's codec gives, in packets of 20 ms; `"0bit"` for none.
        pub audio: Rate = "bits::<32_000>",
        /// The first target.
        pub start_rate: Rate = "bits::<300_000>",
        /// This group's own base round-trip time; by default the path's.
        pub rtt: Option<Span>,
        /// Calls start uniformly within this time.
        pub start_within: Span = "secs::<1>",
    }
}

impl Call {
    /// The most that video takes.
    pub(crate) fn most_rate(&self) -> Rate {
        self.max_rate.unwrap_or(Rate(most_call_rate(self.height) as u64))
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        refuse_if!(!(90..=4320).contains(&self.height), "height", "{}: expected 90 to 4320 lines", self.height);
        refuse_if!(!(1.0..=60.0).contains(&self.fps), "fps", "{}: expected 1 to 60 pictures a second", self.fps);
        if let Some(rate) = self.max_rate.filter(|rate| !(30_000..=100_000_000).contains(&rate.0)) {
            return Err(Invalid::new("max-rate", format!("{rate}: expected 30kbit to 100Mbit")));
        }
        refuse_if!(self.audio.0 > 512_000, "audio", "{}: expected at most 512kbit", self.audio);
        let known = (5_000..=100_000_000).contains(&self.start_rate.0);
        refuse_if!(!known, "start-rate", "{}: expected 5kbit to 100Mbit", self.start_rate);
        Ok(())
    }
}
