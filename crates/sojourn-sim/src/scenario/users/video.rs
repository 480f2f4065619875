//! Viewers. Defaults follow the IMC 2014 study of buffer sizing and quality of experience: clips of 16 s, H.264 in
//! MPEG-2 TS over RTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Span, refuse_if};
use std::sync::Arc;

use crate::app::Schedule;
use crate::scenario::Invalid;
use crate::scenario::defaults::{count, secs};
use crate::scenario::flows::check_count;

use super::with_keys_of_users;

/// Most clips that a user is shown in turn.
const MOST_CLIPS: usize = 200;

with_keys_of_users! {
    /// Users to whom one clip after another is streamed (always down).
    pub struct Video {
        /// The clips, shown in this order and then again from the first: `interview`, `sport`, `movie`, others that are
        /// built in, or paths of the user's own. By default those three, or synthetic pictures where they cannot be
        /// had.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub clips: Vec<String>,
        /// Picture size, and with it frame rate and bit rate.
        pub resolution: Resolution = "Resolution::default",
        /// How it is coded, played and measured.
        pub profile: Profile = "Profile::default",
        /// Packets of each such span are sent evenly over it; `"0s"`: a picture's packets all at once.
        pub smoothing: Span = "secs::<1>",
        /// A packet that takes longer than the first one by more than this comes too late.
        pub playout: Span = "secs::<1>",
        /// Every so many pictures, one is compared with the original.
        pub every: u32 = "count::<5>",
        /// Measure VMAF of those pictures as well, which needs `imageio-ffmpeg` (extra `vmaf`) and two to five times as
        /// long.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub vmaf: bool,
        /// Time between a showing's end and the next one's beginning.
        pub gap: Span = "secs::<1>",
        /// Number of viewers.
        pub count: u32 = "count::<1>",
        /// First showings are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
        /// The packets of each clip, which are no part of the study: whoever runs it has the media.
        #[serde(skip)]
        pub schedules: Vec<Arc<Schedule>>,
    }
}

/// Picture sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// 720×576, 25 pictures/s, 4 Mbit/s.
    #[default]
    Sd,
    /// 1280×720, 25 pictures/s, 8 Mbit/s.
    Hd,
    /// 352×288, 24 pictures/s, 450 kbit/s, 1065 pictures.
    Cif,
}

/// What the published studies leave open: coding, concealment, and what is compared with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// 32 slices a picture, an intra picture every second, error concealment, pictures compared by their time with the
    /// original.
    #[default]
    Aligned,
    /// 32 slices a picture, an intra picture every ten seconds, no concealment, the k-th picture received compared with
    /// the k-th decoded without loss.
    Paper,
    /// As `paper`, but a damaged picture and those that build on it are not shown: the last intact one stays, and
    /// pictures are compared by their time.
    Freeze,
    /// One slice a picture, an intra picture every second, error concealment, late packets count as received (as
    /// EvalVid's PSNR from losses).
    Evalvid,
}

impl Video {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        check_count("every", self.every)?;
        let clips = self.clips.len();
        refuse_if!(clips > MOST_CLIPS, "clips", "{clips} clips; at most {MOST_CLIPS} are shown in turn");
        if let Some(i) = self.clips.iter().position(String::is_empty) {
            return Err(Invalid::new(format!("clips.{i}"), "a clip must have a name"));
        }
        refuse_if!(self.gap < Span::from_millis(1), "gap", "\"{}\" is too short; write 1ms or more", self.gap);
        let differ = (self.profile == Profile::Evalvid) != (self.resolution == Resolution::Cif);
        refuse_if!(differ, "profile", "the profile evalvid goes with resolution = \"cif\", and cif with it");
        Ok(())
    }
}
