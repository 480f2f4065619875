//! Users whose experience is scored: callers and readers of web pages.
//!
//! Defaults follow the IMC 2014 study of buffer sizing and quality of experience: G.711 calls of 8 s, and a page of 15, 5.8, 30 and 30 KB
//! fetched one object after another over one connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Span};

use super::flows::{check_count, one, start_within, with_tcp_keys};
use super::{Invalid, Transport};

/// A group of users of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Users {
    /// Telephone calls.
    Voice(Voice),
    /// Page loads.
    Web(Web),
}

/// Users who make one telephone call after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Voice {
    /// Names the group's random stream; by default `users-N`, N from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Speech codec.
    pub codec: Codec,
    /// Whose speech is sent.
    #[serde(default)]
    pub direction: CallDirection,
    /// Number of callers.
    #[serde(default = "one")]
    pub count: u32,
    /// Length of a call.
    #[serde(default = "call")]
    pub call: Span,
    /// Time between a call's end and the next one's beginning.
    #[serde(default = "gap")]
    pub gap: Span,
    /// The receiver's playout buffer.
    #[serde(default)]
    pub playout: Playout,
    /// Which delay impairs the conversation.
    #[serde(default)]
    pub delay_model: DelayModel,
    /// How calls are scored.
    #[serde(default)]
    pub score: ScoreMethod,
    /// Folder of speech recordings to score with; by default the built-in ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recordings: Option<String>,
    /// What is played where a packet is missing.
    #[serde(default)]
    pub concealment: Concealment,
    /// First calls are spread uniformly over this time.
    #[serde(default = "start_within")]
    pub start_within: Span,
}

fn call() -> Span {
    Span::from_secs(8)
}

fn gap() -> Span {
    Span::from_secs(1)
}

/// Speech codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Codec {
    /// G.711 A-law: 64 kbit/s, a packet of 160 bytes of speech every 20 ms.
    G711a,
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

/// The receiver's playout buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Playout {
    /// Play this long after the first packet's arrival.
    Fixed {
        /// The time that a packet may wait.
        delay: Span,
    },
    /// Follow the delay from talk spurt to talk spurt.
    Adaptive {},
}

impl Default for Playout {
    fn default() -> Self {
        Self::Fixed { delay: Span::from_millis(60) }
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

with_tcp_keys! {
    initial_window = 3;
    /// Users who load one page after another: the objects in turn over one persistent connection.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct Web {
        /// Names the group's random stream; by default `users-N`, N from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// Sizes of the page's objects, in order.
        #[serde(default = "page")]
        pub objects: Vec<Bytes>,
        /// Size of a request.
        #[serde(default = "header")]
        pub request: Bytes,
        /// Bytes of header in front of each object.
        #[serde(default = "header")]
        pub response_header: Bytes,
        /// Number of users.
        #[serde(default = "one")]
        pub count: u32,
        /// Time between a page's end and the next one's beginning.
        #[serde(default = "pause")]
        pub pause: Span,
        /// Page load time that is scored 5: the least that the path allows.
        #[serde(default = "plt_min")]
        pub plt_min: Span,
        /// Page load time from which on a load is scored 1.
        #[serde(default = "plt_max")]
        pub plt_max: Span,
        /// Round trips of one load on an empty path: a load is dominated by them if they make up most of its time.
        #[serde(default = "round_trips")]
        pub round_trips: u32,
        /// Congestion controller.
        #[serde(default = "cubic")]
        pub transport: Transport,
        /// Start every object with the initial window again, as stacks and servers did that pause between objects.
        #[serde(default)]
        pub object_restart: bool,
        /// First loads are spread uniformly over this time.
        #[serde(default = "start_within")]
        pub start_within: Span,
    }
}

/// The page of the IMC 2014 study: HTML, CSS and two pictures (1 KB = 1024 bytes).
fn page() -> Vec<Bytes> {
    [15 * 1024, 5939, 30 * 1024, 30 * 1024].map(Bytes).to_vec()
}

fn header() -> Bytes {
    Bytes(300)
}

fn pause() -> Span {
    Span::from_secs(1)
}

/// The fastest load of the access testbed of the IMC 2014 study.
fn plt_min() -> Span {
    Span::from_millis(560)
}

fn plt_max() -> Span {
    Span::from_secs(6)
}

fn round_trips() -> u32 {
    14
}

fn cubic() -> Transport {
    Transport::Cubic
}

impl Users {
    /// The name of the group.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Voice(voice) => voice.name.as_deref(),
            Self::Web(web) => web.name.as_deref(),
        }
    }

    /// The name of the group, to fill in.
    pub(crate) fn name_mut(&mut self) -> &mut Option<String> {
        match self {
            Self::Voice(voice) => &mut voice.name,
            Self::Web(web) => &mut web.name,
        }
    }

    /// Checks ranges, and keys that must agree with one another.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Voice(voice) => voice.check(),
            Self::Web(web) => web.check(),
        }
    }
}

impl Voice {
    fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        let packet = Span::from_millis(20);
        if self.call < packet || self.call > packet * u64::from(u16::MAX) {
            let message = format!("{} is not the length of a call; write 20ms (one packet) to 21min", self.call);
            return Err(Invalid::new("call", message));
        }
        Ok(())
    }
}

impl Web {
    fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        self.tcp().check()?;
        if self.transport == Transport::Udp {
            return Err(Invalid::new("transport", "pages are loaded over TCP; write reno, newreno or cubic"));
        }
        if self.objects.is_empty() || self.objects.len() > 10_000 {
            return Err(Invalid::new("objects", "a page has 1 to 10000 objects"));
        }
        if let Some(i) = self.objects.iter().position(|size| size.0 == 0) {
            return Err(Invalid::new(format!("objects.{i}"), "an object must have at least one byte"));
        }
        if self.request.0 == 0 {
            return Err(Invalid::new("request", "a request must have at least one byte"));
        }
        check_count("round-trips", self.round_trips)?;
        if self.plt_min == Span::ZERO || self.plt_min >= self.plt_max {
            let message = format!(
                "scores fall from 5 at {} to 1 at plt-max = \"{}\"; plt-min must be above zero and below plt-max",
                self.plt_min, self.plt_max
            );
            return Err(Invalid::new("plt-min", message));
        }
        Ok(())
    }
}
