//! The algorithms by name, with their options, as study files and Python write them: `"festive"` or `{ kind = "festive", p = 0.7 }`.

use super::bba_others::BbaOthers;
use super::bba0::Bba0;
use super::bba1::Bba1;
use super::bba2::Bba2;
use super::bola::Bola;
use super::bola_e::BolaE;
use super::dynamic::Dynamic;
use super::dynamic_dash::DynamicDash;
use super::festive::{Draws, Festive};
use super::fixed::Fixed;
use super::gpac::Gpac;
use super::robust_mpc::RobustMpc;
use super::throughput::Throughput;
use super::{Clip, Player};
use schemars::{JsonSchema, Schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_net::Span;
use std::fmt;

/// What chooses the level of each segment. A name alone (`"bba2"`) is the algorithm with its defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", tag = "kind", rename_all = "lowercase")]
#[schemars(rename = "PlayerAlgorithm", transform = or_name)]
pub enum Algorithm {
    /// The default of GPAC: the level just below the throughput of the last segment.
    #[serde(alias = "default", alias = "gpac-default")]
    Gpac(GpacOptions),
    /// FESTIVE (CoNEXT 2012), by throughput.
    Festive(FestiveOptions),
    /// BBA-0 (SIGCOMM 2014), by buffer.
    #[serde(alias = "bba-0")]
    Bba0(NoOptions),
    /// BBA-1: with segment sizes.
    #[serde(alias = "bba-1")]
    Bba1(NoOptions),
    /// BBA-2: with a start-up phase.
    #[serde(alias = "bba-2")]
    Bba2(NoOptions),
    /// BBA-Others: with fewer switches.
    #[serde(rename = "bba-others")]
    BbaOthers(NoOptions),
    /// BOLA (INFOCOM 2016), as the simulator sabre has it.
    #[serde(rename = "bola-basic")]
    BolaBasic(BolaOptions),
    /// BOLA-U: planning with less at both ends of the clip.
    #[serde(rename = "bola-u", alias = "bola")]
    BolaU(BolaOptions),
    /// BOLA-E: with a placeholder (MMSys 2018).
    #[serde(alias = "bola-e")]
    BolaE(NoOptions),
    /// Sabre's dynamic: BOLA-U and the throughput rule.
    Dynamic(BolaOptions),
    /// Dash.js's DYNAMIC: BOLA-E and the throughput rule.
    #[serde(alias = "dynamic-dash")]
    DynamicDash(NoOptions),
    /// The throughput rule of dash.js.
    Throughput(NoOptions),
    /// RobustMPC (SIGCOMM 2015).
    #[serde(rename = "robust-mpc", alias = "mpc")]
    RobustMpc(MpcOptions),
    /// Always the same level.
    Fixed(FixedOptions),
    /// A class in Python; see docs/players.md.
    Python(PythonPlayer),
}

/// The throughput of a segment: from which moment to its last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    /// From the request: a round trip is in it.
    #[default]
    Request,
    /// From the first byte of the answer.
    FirstByte,
}

/// An algorithm without options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NoOptions {}

/// Options of GPAC's default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct GpacOptions {
    /// What a sample of throughput is.
    pub sample: Sample,
    /// Go up one level at a time.
    pub gradual: bool,
    /// Segments that must ask for the next level before a step to it; a jump over a level is made at once.
    pub probes: u32,
}

impl Default for GpacOptions {
    fn default() -> Self {
        Self { sample: Sample::Request, gradual: false, probes: 1 }
    }
}

/// What FESTIVE aims at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PMode {
    /// The highest rate that is at most `p` × bandwidth.
    #[default]
    Target,
    /// Down when the present rate is above `p` × bandwidth, up when the next is at most the bandwidth.
    Band,
}

/// Options of FESTIVE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FestiveOptions {
    /// Share of the bandwidth that is aimed at.
    pub p: f64,
    /// How it is aimed at.
    pub p_mode: PMode,
    /// Weight of efficiency against stability.
    pub alpha: f64,
    /// Samples without which the level stays at the lowest, up to 20; 1 is as many as there are.
    pub warmup: u32,
    /// Buffer around which requests are scheduled; by default 30 s in buffers of up to 60 s, else one segment below the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_buffer: Option<Span>,
    /// Where `target-buffer` is absent: one segment below the limit, however large the buffer.
    pub full_target: bool,
    /// What a sample of throughput is.
    pub sample: Sample,
}

impl Default for FestiveOptions {
    fn default() -> Self {
        Self {
            p: 0.85,
            p_mode: PMode::Target,
            alpha: 12.0,
            warmup: 20,
            target_buffer: None,
            full_target: false,
            sample: Sample::Request,
        }
    }
}

/// Options of BOLA.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BolaOptions {
    /// γp: how much a long buffer is preferred to a high rate.
    pub gp: f64,
}

impl Default for BolaOptions {
    fn default() -> Self {
        Self { gp: 5.0 }
    }
}

/// Options of RobustMPC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MpcOptions {
    /// Segments to plan for, up to 6.
    pub horizon: u32,
    /// Divide the prediction by one plus its largest recent error.
    pub robust: bool,
    /// What a second of stalling costs, in Mb/s.
    pub stall_penalty: f64,
    /// What a switch costs, per Mb/s of difference.
    pub switch_penalty: f64,
    /// What a sample of throughput is.
    pub sample: Sample,
}

impl Default for MpcOptions {
    fn default() -> Self {
        Self { horizon: 5, robust: true, stall_penalty: 4.3, switch_penalty: 1.0, sample: Sample::Request }
    }
}

/// Options of the fixed level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FixedOptions {
    /// The level, from 1.
    pub level: u32,
}

impl Default for FixedOptions {
    fn default() -> Self {
        Self { level: 1 }
    }
}

/// A player written in Python.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PythonPlayer {
    /// `module:Class`.
    pub class: String,
    /// Keyword arguments of the class.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub options: serde_json::Map<String, serde_json::Value>,
}

impl Algorithm {
    /// A player for one viewing of a clip; none if it is one in Python. `draws` serve those that draw.
    pub fn player(&self, clip: &Clip, limit_s: f64, draws: Draws) -> Option<Box<dyn Player>> {
        Some(match self {
            Self::Gpac(options) => Box::new(Gpac::new(*options)),
            Self::Festive(options) => Box::new(Festive::new(*options, clip, limit_s, draws)),
            Self::Bba0(_) => Box::new(Bba0::new(clip, limit_s)),
            Self::Bba1(_) => Box::new(Bba1::new(clip, limit_s)),
            Self::Bba2(_) => Box::new(Bba2::new(clip, limit_s)),
            Self::BbaOthers(_) => Box::new(BbaOthers::new(clip, limit_s)),
            Self::BolaBasic(options) => Box::new(Bola::new(*options, true, clip)),
            Self::BolaU(options) => Box::new(Bola::new(*options, false, clip)),
            Self::BolaE(_) => Box::new(BolaE::new(clip, limit_s)),
            Self::Dynamic(options) => Box::new(Dynamic::new(*options, clip)),
            Self::DynamicDash(_) => Box::new(DynamicDash::new(clip, limit_s)),
            Self::Throughput(_) => Box::new(Throughput::new(clip)),
            Self::RobustMpc(options) => Box::new(RobustMpc::new(*options)),
            Self::Fixed(options) => Box::new(Fixed { level: options.level as usize - 1 }),
            Self::Python(_) => return None,
        })
    }

    /// Whether the rules are those of sabre, whose players start with the first segment that is in.
    pub fn starts_at_once(&self) -> bool {
        matches!(
            self,
            Self::BolaBasic(_)
                | Self::BolaU(_)
                | Self::BolaE(_)
                | Self::Dynamic(_)
                | Self::DynamicDash(_)
                | Self::Throughput(_)
        )
    }

    /// Checks ranges: the key and a sentence.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let within = |key, value: f64, low: f64, high: f64| {
            let fits = value > low && value <= high;
            if fits { Ok(()) } else { Err((key, format!("{value}: expected more than {low}, at most {high}"))) }
        };
        let count = |key, value: u32, high: u32| {
            let fits = (1..=high).contains(&value);
            if fits { Ok(()) } else { Err((key, format!("{value}: expected 1 to {high}"))) }
        };
        match self {
            Self::Gpac(options) => count("probes", options.probes, 1000),
            Self::Festive(options) => {
                within("p", options.p, 0.0, 10.0)?;
                within("alpha", options.alpha, 0.0, 1e6)?;
                count("warmup", options.warmup, 20)
            }
            Self::BolaBasic(options) | Self::BolaU(options) | Self::Dynamic(options) => {
                within("gp", options.gp, 0.0, 1e6)
            }
            Self::RobustMpc(options) => {
                count("horizon", options.horizon, 6)?;
                within("stall-penalty", options.stall_penalty, -1e-9, 1e6)?;
                within("switch-penalty", options.switch_penalty, -1e-9, 1e6)
            }
            Self::Fixed(options) => count("level", options.level, 100),
            Self::Python(python) if !is_class(&python.class) => {
                Err(("class", format!("{:?}: expected \"module:Class\"", python.class)))
            }
            _ => Ok(()),
        }
    }
}

fn is_class(text: &str) -> bool {
    text.split_once(':').is_some_and(|(module, class)| !module.is_empty() && !class.is_empty())
}

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = Algorithm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of an algorithm such as \"bba2\", or a table such as { kind = \"festive\", p = 0.7 }",
                )
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Algorithm, E> {
                let kind: StrDeserializer<'_, E> = text.into_deserializer();
                let table = serde::de::value::MapDeserializer::new(std::iter::once(("kind", kind)));
                Algorithm::deserialize(table)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Algorithm, A::Error> {
                Algorithm::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

/// The schema of a value that may be written as a name.
fn or_name(schema: &mut Schema) {
    let table = std::mem::take(schema);
    *schema = schemars::json_schema!({ "anyOf": [{ "type": "string" }, table] });
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::player::{Choice, Segment, State};

    /// A viewing whose downloads a test decides, for rules that do not look at the buffer.
    pub(in crate::player) struct Viewing {
        player: Box<dyn Player>,
        clip: Clip,
        limit_s: f64,
        segment: usize,
        level: Option<usize>,
        now_s: f64,
    }

    impl Viewing {
        pub(in crate::player) fn new(player: Box<dyn Player>, clip: Clip, limit_s: f64) -> Self {
            let mut made = Self { player, clip, limit_s, segment: 0, level: None, now_s: 0.0 };
            made.choose();
            made
        }

        /// Fetches a segment at so many kb/s.
        pub(in crate::player) fn fetch(&mut self, kbps: f64) {
            let level = self.level.unwrap_or(0);
            let bytes = self.clip.sizes_of(self.segment)[level];
            let (request_s, seconds) = (self.now_s, bytes as f64 * 8e-3 / kbps);
            self.now_s += seconds;
            self.player.segment_done(&Segment {
                index: self.segment,
                level,
                bytes,
                request_s,
                first_byte_s: request_s,
                arrive_s: self.now_s,
                buffer_s: 12.0,
            });
            self.segment += 1;
        }

        pub(in crate::player) fn choose(&mut self) -> Choice {
            let choice = self.player.choose(&State {
                clip: &self.clip,
                segment: self.segment,
                now_s: self.now_s,
                arrived_s: self.now_s,
                waited_s: 0.0,
                buffer_s: 12.0,
                limit_s: self.limit_s,
                last: self.level,
            });
            self.level = Some(choice.level);
            choice
        }
    }

    #[test]
    fn names_and_tables_read_the_same() {
        let read = |text: &str| serde_json::from_str::<Algorithm>(text);
        assert_eq!(read("\"bba-2\"").unwrap(), read("{\"kind\": \"bba2\"}").unwrap());
        let festive = read("{\"kind\": \"festive\", \"p-mode\": \"band\", \"target-buffer\": \"20s\"}").unwrap();
        assert_eq!(read(&serde_json::to_string(&festive).unwrap()).unwrap(), festive);
        assert!(read("\"bba3\"").unwrap_err().to_string().contains("unknown variant `bba3`"));
        assert!(read("{\"kind\": \"festive\", \"q\": 1}").unwrap_err().to_string().contains("unknown field `q`"));
        assert!(read("7").unwrap_err().to_string().contains("the name of an algorithm"));
        let class = read("{\"kind\": \"python\", \"class\": \"mine\"}").unwrap();
        assert!(class.check().unwrap_err().1.contains("module:Class"));
    }
}
