//! Viewers of adaptive video. Defaults follow the [has] study of queue sizes under HTTP adaptive streaming: clips of 16
//! minutes in segments of 4 s, 12 s of buffer before playing, 4 s after a stall, clients that start at most 4 s after
//! one another.

use std::rc::Rc;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Span, refuse_if};

use crate::MakePlayer;
use crate::player::{self, Algorithm, CatchUp, Clip, Draws, Live, NoOptions, SHIPPED, Session, Settings};
use crate::scenario::defaults::{bytes, count, keys, millis, number, secs, yes};
use crate::scenario::flows::check_count;
use crate::scenario::{Invalid, Transport};

use super::{check_tcp, cubic, with_keys_of_users};

with_keys_of_users! {
    initial_window = "count::<10>";
    /// Viewers who each watch one clip: a player that fetches segments by GETs over one persistent connection.
    pub struct Adaptive {
        /// What chooses the level of each segment; by default what dash.js does.
        pub algorithm: Algorithm = "algorithm",
        /// Number of viewers; 0 has none.
        pub count: u32 = "count::<1>",
        /// Clips, of which each viewer watches one at random.
        pub clips: Vec<ClipSpec> = "clips",
        /// Nominal rates of the levels in kb/s, in place of the clips' own.
        pub rates_kbps: Option<Vec<f64>>,
        /// Length of a clip: a shorter table of sizes starts over.
        pub length: Span = "secs::<960>",
        /// Begin each viewer's clip at a random segment of its table.
        pub start_anywhere: bool = "yes",
        /// Seconds of video that the playback buffer holds.
        pub buffer: Span = "secs::<60>",
        /// Seconds of video before playing starts.
        pub initial: Span = "initial",
        /// Seconds of video before playing goes on after a stall.
        pub resume: Span = "resume",
        /// Give up a segment that comes too slowly, close the connection and fetch it again at a lower level, as GPAC's
        /// option `AllowAbort` does.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub give_up: bool,
        /// The stream is live, with low latency: chunks as they are coded, and a playback rate that keeps the latency.
        pub live: Option<LowLatency>,
        /// Size of a request.
        pub request: Bytes = "bytes::<300>",
        /// Bytes of header in front of each segment.
        pub response_header: Bytes = "bytes::<300>",
        /// Congestion controller.
        pub transport: Transport = "cubic",
        /// This group's own base round-trip time, without what a `netem` queue adds; by default the path's.
        pub rtt: Option<Span>,
        /// Each viewer starts at most so long after the one before, uniformly.
        pub start_within: Span = "secs::<4>",
    }
}

keys! {
    /// A live stream with low latency. Latency and chunk are choices, of what such services use.
    #[derive(Copy)]
    pub struct LowLatency {
        /// The latency aimed at, from when a picture is taken to when it is shown.
        pub latency: Span = "secs::<3>",
        /// Length of a chunk, which is sent when its last picture is coded.
        pub chunk: Span = "millis::<500>",
        /// Whose rule keeps the latency.
        pub catch_up: CatchUp = "CatchUp::default",
        /// The slowest and the fastest playback rate; by default those of the library whose rule it is (hls.js, which
        /// is off by default: dash.js's).
        pub rates: Option<(f64, f64)>,
        /// Distance from the target beyond which playback jumps, within what is in the buffer; by default as the
        /// library: 12 s for dash.js, never for Shaka and hls.js.
        pub seek: Option<Span>,
    }
}

/// A clip: the name of one that ships, sizes of one's own, or sizes drawn at random. A study file may also name a file
/// of sizes (`.json` of sabre, `.csv`, `.mpd`, `.txt` of dashc), which is read before anything runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ClipSpec {
    /// A clip that ships, or a file.
    Name(String),
    /// Sizes.
    Sizes(ClipSizes),
    /// Sizes drawn at random.
    Generated(ClipGenerated),
}

keys! {
    /// A clip whose sizes are drawn: always the same for the same keys.
    pub struct ClipGenerated {
        /// S.d. of the logarithm of a segment's size over its mean: 0.47 as in animation, 0.25 as in film, 0.1 close to
        /// constant.
        pub spread: f64,
        /// Tells clips of the same spread apart.
        pub number: u32 = "count::<0>",
        /// Length of a segment in seconds.
        pub segment_s: f64 = "number::<4, f64>",
        /// Nominal rates of the levels in kb/s, lowest first; may be left to the users' `rates-kbps`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub rates_kbps: Vec<f64>,
    }
}

/// The sizes of a clip's segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClipSizes {
    /// What it is called.
    pub name: Option<String>,
    /// Length of a segment in seconds.
    pub segment_s: f64,
    /// Nominal rates of the levels in kb/s, lowest first.
    pub rates_kbps: Vec<f64>,
    /// Bytes of each segment at each level.
    pub sizes: Vec<Vec<u64>>,
}

fn algorithm() -> Algorithm {
    Algorithm::DynamicDash(NoOptions {})
}

fn clips() -> Vec<ClipSpec> {
    vec![ClipSpec::Name(SHIPPED[0].to_owned())]
}

fn initial() -> Span {
    Span::from_secs(12)
}

fn resume() -> Span {
    Span::from_secs(4)
}

/// Divided, since 60 s × 1e-9 is not 60 and rules compare with round numbers.
fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e9
}

impl LowLatency {
    /// Writes out what the rule's own settings are by default.
    pub(crate) fn settle(&mut self) {
        self.rates.get_or_insert(self.catch_up.rates());
        self.seek = self.seek.or(self.catch_up.seek_s().map(Span::from_secs_f64));
    }

    /// The same in seconds.
    fn settings(&self) -> Live {
        Live {
            latency_s: seconds(self.latency),
            chunk_s: seconds(self.chunk),
            catch_up: self.catch_up,
            rates: self.rates.unwrap_or(self.catch_up.rates()),
            seek_s: self.seek.map(seconds).or(self.catch_up.seek_s()).unwrap_or(f64::INFINITY),
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        let Self { latency, chunk, .. } = *self;
        refuse_if!(chunk < Span::from_millis(10), "live.chunk", "{chunk} is too short; write 10ms or more");
        let late = latency < chunk;
        refuse_if!(late, "live.latency", "{latency} is less than a chunk of {chunk}, which is not sent before");
        let (slowest, fastest) = self.rates.unwrap_or(self.catch_up.rates());
        let known = (0.5..=1.0).contains(&slowest) && (1.0..=2.0).contains(&fastest);
        refuse_if!(!known, "live.rates", "[{slowest}, {fastest}] must be slowest and fastest: 0.5 to 1, and 1 to 2");
        let always = self.seek == Some(Span::ZERO);
        refuse_if!(always, "live.seek", "0 s jumps always; write the distance from which on to jump");
        Ok(())
    }
}

impl ClipSpec {
    /// The clip, if it is not a file that has yet to be read.
    pub(crate) fn clip(&self, rates_kbps: Option<&[f64]>, length: Span) -> Result<Clip, String> {
        match self {
            Self::Generated(ClipGenerated { spread, number, segment_s, rates_kbps: own }) => {
                let rates = if own.is_empty() { rates_kbps.unwrap_or_default() } else { own };
                player::generated(*spread, *number, *segment_s, rates, length.as_secs())
            }
            Self::Name(name) => player::shipped(name).ok_or_else(|| {
                format!("{name:?} is not a clip that ships ({}), nor was it read from a file", SHIPPED.join(", "))
            }),
            Self::Sizes(ClipSizes { segment_s, rates_kbps, sizes, .. }) => {
                Clip::new(*segment_s, rates_kbps.clone(), sizes)
            }
        }
    }

    /// Whether this names a file.
    fn is_file(&self) -> bool {
        const ENDINGS: [&str; 4] = [".json", ".csv", ".mpd", ".txt"];
        matches!(self, Self::Name(name) if ENDINGS.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending)))
    }
}

impl Adaptive {
    /// The clips, at the rates asked for.
    pub fn read_clips(&self) -> Result<Vec<Clip>, String> {
        let with_rates = |clip: Clip| match &self.rates_kbps {
            Some(rates) => clip.with_rates(rates.clone()),
            None => Ok(clip),
        };
        self.clips.iter().map(|spec| spec.clip(self.rates_kbps.as_deref(), self.length).and_then(with_rates)).collect()
    }

    /// One viewing: a clip by lot, and a player for it; one in Python is made by `make_player`.
    pub fn session(&self, clips: &[Clip], make_player: MakePlayer<'_>, mut rng: Pcg64Mcg) -> Result<Session, String> {
        let clip = clips.get(rng.random_range(0..clips.len().max(1))).ok_or("there must be at least one clip")?;
        let first = rng.random_range(0..clip.len());
        let segments = (seconds(self.length) / clip.segment_s() + 1e-9) as usize;
        let clip = clip.looped(if self.start_anywhere { first } else { 0 }, segments.max(1));
        let buffer_s = seconds(self.buffer);
        let player = match &self.algorithm {
            Algorithm::Python(python) => make_player(python, &clip, buffer_s),
            algorithm => algorithm.player(&clip, buffer_s, Draws::Random(rng)).ok_or("a player in Python")?,
        };
        let settings = Settings { buffer_s, initial_s: seconds(self.initial), resume_s: seconds(self.resume) };
        let session = Session::new(Rc::new(clip), player, settings)?;
        Ok(match &self.live {
            Some(live) => session.of_live(live.settings()),
            None if self.give_up => session.giving_up(),
            None => session,
        })
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count.max(1))?;
        check_tcp(&self.tcp(), "segments are fetched over")?;
        self.algorithm.check().map_err(|(key, message)| Invalid::new(format!("algorithm.{key}"), message))?;
        refuse_if!(self.request.0 == 0, "request", "a request must have at least one byte");
        if let Some(live) = &self.live {
            live.check()?;
            refuse_if!(self.give_up, "give-up", "segments of a live stream are not given up; leave it out");
            let waits = [("initial", self.initial, initial()), ("resume", self.resume, resume())];
            if let Some((key, ..)) = waits.iter().find(|(_, given, default)| given.0 > 0 && given != default) {
                let message = "a live viewer starts, and goes on after a stall, with the first chunk; leave it out";
                return Err(Invalid::new(*key, message));
            }
        }
        refuse_if!(self.clips.is_empty(), "clips", "there must be at least one clip");
        for (i, spec) in self.clips.iter().enumerate().filter(|(_, spec)| !spec.is_file()) {
            let clip = spec.clip(self.rates_kbps.as_deref(), self.length);
            let clip = clip.map_err(|message| Invalid::new(format!("clips.{i}"), message))?;
            let segment = Span::from_secs_f64(clip.segment_s());
            if let Some(rates) = &self.rates_kbps {
                clip.with_rates(rates.clone()).map_err(|message| Invalid::new("rates-kbps", message))?;
            }
            if let Some(live) = self.live.filter(|live| live.chunk > segment) {
                let message = format!("{} is longer than a segment of {segment}", live.chunk);
                return Err(Invalid::new("live.chunk", message));
            }
            refuse_if!(self.buffer < segment * 2, "buffer", "{} does not hold two segments of {segment}", self.buffer);
            let known = (segment..=segment * 100_000).contains(&self.length);
            refuse_if!(!known, "length", "{} is not 1 to 100000 segments of {segment}", self.length);
        }
        Ok(())
    }
}
