//! Callers. Calls of 8 s are those of the IMC 2014 study of buffer sizing and quality of experience. The playout buffer
//! adapts, as those of telephones do; studies whose paper implies another one say so.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Rate, Span, refuse_if};

use crate::app::Schedule;
use crate::scenario::defaults::{count, keys, millis, secs};
use crate::scenario::flows::{check_count, check_precision};
use crate::scenario::{Direction, Invalid};

use super::with_keys_of_users;

with_keys_of_users! {
    /// Users who make one telephone call after another.
    pub struct Voice {
        /// Speech codec.
        pub codec: Codec,
        /// Settings of the codec `opus`; by default libwebrtc's.
        pub opus: Option<Opus>,
        /// Whose speech is sent.
        pub direction: CallDirection = "CallDirection::default",
        /// Number of callers.
        pub count: u32 = "count::<1>",
        /// Length of a call.
        pub call: Span = "secs::<8>",
        /// Time between a call's end and the next one's beginning.
        pub gap: Span = "secs::<1>",
        /// Send only while somebody speaks, each direction by itself (codecs that PESQ does not score: `g729a`).
        pub talk_spurts: Option<TalkSpurts>,
        /// The receiver's playout buffer; by default it adapts.
        pub playout: Playout = "Playout::default",
        /// Which delay impairs the conversation.
        pub delay_model: DelayModel = "DelayModel::default",
        /// How calls are scored.
        pub score: ScoreMethod = "ScoreMethod::default",
        /// Score calls, spread over what their losses and delays let expect, only until the mean and the median MOS of
        /// each direction of a run are known to this, with 95 % confidence; all calls if absent. The E-model scores
        /// all.
        pub precision: Option<f64>,
        /// Folder of speech recordings to score with; by default the built-in ones.
        pub recordings: Option<String>,
        /// What is played where a packet is missing.
        pub concealment: Concealment = "Concealment::default",
        /// First calls are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
        /// With DTX, what the codec sends of each sample of speech: no part of the study; whoever runs it has the
        /// speech.
        #[serde(skip)]
        pub schedules: Vec<Arc<Schedule>>,
    }
}

/// Speech codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// G.711 A-law: 64 kbit/s, a packet of 160 bytes of speech every 20 ms.
    G711a,
    /// G.729 Annex A: 8 kbit/s, a packet of two frames of 10 bytes every 20 ms; scored by the E-model.
    G729a,
    /// G.722 at 64 kbit/s: wide band, a packet of 160 bytes every 20 ms; silence where one is missing.
    G722,
    /// Opus: wide band, a packet every 20 ms, repaired by its forward error correction and concealed by its decoder.
    Opus,
}

/// Settings of Opus. Packets have the mean size of the rate on the wire, that each has another being left out; with DTX
/// each has its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Opus {
    /// Rate of the speech, without headers. libwebrtc's for music and speech at 48 kHz.
    pub bitrate: Rate,
    /// In-band forward error correction: a packet carries the frame before it too, where there is loss and room.
    pub fec: bool,
    /// Discontinuous transmission: pauses are not sent, but for a packet every 400 ms. libwebrtc's is off by default.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dtx: bool,
}

impl Default for Opus {
    fn default() -> Self {
        Self { bitrate: Rate(32_000), fec: true, dtx: false }
    }
}

keys! {
    /// Speech and silence in turn, each of exponential length. Defaults are the means of ITU-T P.59.
    pub struct TalkSpurts {
        /// Mean length of speech.
        pub talk: Span = "millis::<1004>",
        /// Mean length of silence.
        pub silence: Span = "millis::<1587>",
    }
}

/// Whose speech a call sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallDirection {
    /// Both: the user talks (up) and listens (down).
    #[default]
    Both,
    /// The user talks.
    Up,
    /// The user listens.
    Down,
}

impl CallDirection {
    /// The ways that it goes.
    pub(crate) fn ways(self) -> &'static [Direction] {
        match self {
            Self::Both => &[Direction::Up, Direction::Down],
            Self::Up => &[Direction::Up],
            Self::Down => &[Direction::Down],
        }
    }
}

/// The receiver's playout buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table such as { kind = \"fixed\", delay = \"60ms\" }")]
pub enum Playout {
    /// Play this long after the first packet's arrival.
    Fixed {
        /// The time that a packet may wait.
        delay: Span,
    },
    /// Follow the delay from talk spurt to talk spurt.
    Adaptive {},
    /// Follow the 95th percentile of the delays, and keep the level by stretching time, as libwebrtc's NetEq does.
    Neteq {},
    /// Play every packet as it arrives: the score is of the network's delay and loss alone.
    None {},
}

impl Default for Playout {
    fn default() -> Self {
        Self::Adaptive {}
    }
}

/// The mouth-to-ear delay that enters the E-model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayModel {
    /// Half of the conversation's round trip, and playout.
    #[default]
    HalfRtt,
    /// The direction's own delay, and playout.
    Own,
}

/// How a call becomes a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreMethod {
    /// PESQ if it is installed, else the E-model.
    #[default]
    Auto,
    /// PESQ (ITU-T P.862) of the received speech.
    Pesq,
    /// The E-model (ITU-T G.107) of loss and delay.
    Emodel,
}

/// What a receiver plays where a packet is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Concealment {
    /// Pitch-based concealment (ITU-T G.711 Appendix I).
    #[default]
    Plc,
    /// Silence.
    Zero,
    /// The last packet again.
    Repeat,
}

impl Voice {
    /// Bytes of a packet at IP, every 20 ms: the speech and 40 of RTP, UDP and IP.
    pub(crate) fn packet(&self) -> u16 {
        let speech = match self.codec {
            Codec::G711a | Codec::G722 => 160,
            Codec::G729a => 20,
            Codec::Opus => self.opus.clone().unwrap_or_default().bitrate.0.div_ceil(8 * 50),
        };
        speech.min(1275) as u16 + 40
    }

    /// Whether pauses are not sent, so that it takes the speech to tell what is.
    pub fn pauses(&self) -> bool {
        self.opus.as_ref().is_some_and(|opus| opus.dtx)
    }

    /// Writes out what the codec's own settings are by default.
    pub(crate) fn settle(&mut self) {
        if self.codec == Codec::Opus {
            self.opus.get_or_insert_default();
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        let packet = Span::from_millis(20);
        let known = (packet..=packet * u64::from(u16::MAX)).contains(&self.call);
        refuse_if!(!known, "call", "{} is not the length of a call; write 20ms (one packet) to 21min", self.call);
        if let Some(opus) = &self.opus {
            let other = self.codec != Codec::Opus;
            refuse_if!(other, "opus", "settings of a codec that is not the user's; write codec = \"opus\"");
            let known = (6_000..=510_000).contains(&opus.bitrate.0);
            refuse_if!(!known, "opus.bitrate", "{} is not a rate of Opus; write 6kbit to 510kbit", opus.bitrate);
        }
        let repeats = self.concealment == Concealment::Repeat && matches!(self.codec, Codec::Opus | Codec::G722);
        refuse_if!(repeats, "concealment", "repeats packets of g711a; write plc or zero");
        check_precision("precision", self.precision)?;
        if let Some(spurts) = &self.talk_spurts {
            if self.codec != Codec::G729a {
                let message =
                    "speech is scored by its samples, silence included; write codec = \"g729a\", or leave it out";
                return Err(Invalid::new("talk-spurts", message));
            }
            refuse_if!(spurts.talk < packet, "talk-spurts.talk", "must be at least 20ms, one packet");
        }
        Ok(())
    }
}
