//! Users whose experience is scored, one file per kind.

mod video;
mod voice;
mod web;

pub use video::{Profile, Resolution, Video};
pub use voice::{CallDirection, Codec, Concealment, DelayModel, Playout, ScoreMethod, TalkSpurts, Voice};
pub use web::Web;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Invalid;

/// A group of users of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Users {
    /// Video streams.
    Video(Video),
    /// Telephone calls.
    Voice(Voice),
    /// Page loads.
    Web(Web),
}

impl Users {
    /// The name of the group.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Video(video) => video.name.as_deref(),
            Self::Voice(voice) => voice.name.as_deref(),
            Self::Web(web) => web.name.as_deref(),
        }
    }

    /// Number of users in the group.
    pub fn count(&self) -> u32 {
        match self {
            Self::Video(video) => video.count,
            Self::Voice(voice) => voice.count,
            Self::Web(web) => web.count,
        }
    }

    /// The name of the group, to fill in.
    pub(crate) fn name_mut(&mut self) -> &mut Option<String> {
        match self {
            Self::Video(video) => &mut video.name,
            Self::Voice(voice) => &mut voice.name,
            Self::Web(web) => &mut web.name,
        }
    }

    /// Checks ranges, and keys that must agree with one another.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Video(video) => video.check(),
            Self::Voice(voice) => voice.check(),
            Self::Web(web) => web.check(),
        }
    }
}
