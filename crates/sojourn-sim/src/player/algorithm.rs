//! The algorithms by name, with their options, as study files and Python write them: `"festive"` or `{ kind =
//! "festive", p = 0.7 }`.

use super::bba_others::BbaOthers;
use super::bba0::Bba0;
use super::bba1::Bba1;
use super::bba2::Bba2;
use super::bola::{Bola, BolaOptions};
use super::bola_e::BolaE;
use super::clip::Clip;
use super::dash_js::DashJs;
use super::dynamic::Dynamic;
use super::dynamic_dash::DynamicDash;
use super::festive::{Draws, Festive, FestiveOptions};
use super::fixed::{Fixed, FixedOptions};
use super::gpac::{Gpac, GpacOptions};
use super::hls_js::HlsJs;
use super::python::PythonPlayer;
use super::robust_mpc::{MpcOptions, RobustMpc};
use super::rule::Player;
use super::shaka::Shaka;
use super::throughput::Throughput;
use schemars::{JsonSchema, Schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{IntoDeserializer, MapAccess};
use serde::{Deserialize, Serialize, Serializer};
use sojourn_net::read_as;

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
    /// Dash.js 5 with its defaults: BOLA and the throughput, the lowest of all rules.
    #[serde(rename = "dash.js")]
    DashJs(NoOptions),
    /// Shaka Player 5 with its defaults.
    Shaka(NoOptions),
    /// Hls.js 1.7 with its defaults.
    #[serde(rename = "hls.js")]
    HlsJs(NoOptions),
    /// RobustMPC (SIGCOMM 2015).
    #[serde(rename = "robust-mpc", alias = "mpc")]
    RobustMpc(MpcOptions),
    /// Always the same level.
    Fixed(FixedOptions),
    /// A class in Python; see docs/players.md.
    Python(PythonPlayer),
}

/// An algorithm without options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NoOptions {}

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
            Self::DashJs(_) => Box::new(DashJs::new(clip)),
            Self::Shaka(_) => Box::new(Shaka::new()),
            Self::HlsJs(_) => Box::new(HlsJs::new(clip)),
            Self::RobustMpc(options) => Box::new(RobustMpc::new(*options)),
            Self::Fixed(options) => Box::new(Fixed { level: options.level as usize - 1 }),
            Self::Python(_) => return None,
        })
    }

    /// Whether it starts with the first segment that is in, as sabre's players do and the libraries of today.
    pub fn starts_at_once(&self) -> bool {
        matches!(
            self,
            Self::BolaBasic(_)
                | Self::BolaU(_)
                | Self::BolaE(_)
                | Self::Dynamic(_)
                | Self::DynamicDash(_)
                | Self::Throughput(_)
                | Self::DashJs(_)
                | Self::Shaka(_)
                | Self::HlsJs(_)
        )
    }

    /// Checks ranges: the key and a sentence.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        match self {
            Self::Gpac(options) => options.check(),
            Self::Festive(options) => options.check(),
            Self::BolaBasic(options) | Self::BolaU(options) | Self::Dynamic(options) => options.check(),
            Self::RobustMpc(options) => options.check(),
            Self::Fixed(options) => options.check(),
            Self::Python(python) => python.check(),
            _ => Ok(()),
        }
    }
}

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

read_as! {
    Algorithm, "the name of an algorithm such as \"bba2\", or a table such as { kind = \"festive\", p = 0.7 }";

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Algorithm, E> {
        let kind: StrDeserializer<'_, E> = text.into_deserializer();
        let table = serde::de::value::MapDeserializer::new(std::iter::once(("kind", kind)));
        Algorithm::deserialize(table)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Algorithm, A::Error> {
        Algorithm::deserialize(MapAccessDeserializer::new(map))
    }
}

/// The schema of a value that may be written as a name.
fn or_name(schema: &mut Schema) {
    let table = std::mem::take(schema);
    *schema = schemars::json_schema!({ "anyOf": [{ "type": "string" }, table] });
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn every_name_makes_its_player() {
        let names = [
            ("default", "gpac"),
            ("gpac-default", "gpac"),
            ("bba-0", "bba0"),
            ("bba-1", "bba1"),
            ("bba-2", "bba2"),
            ("bola", "bola-u"),
            ("bola-e", "bolae"),
            ("dynamic-dash", "dynamicdash"),
            ("mpc", "robust-mpc"),
            ("festive", "festive"),
            ("bba-others", "bba-others"),
            ("bola-basic", "bola-basic"),
            ("dynamic", "dynamic"),
            ("throughput", "throughput"),
            ("fixed", "fixed"),
            ("dash.js", "dash.js"),
            ("shaka", "shaka"),
            ("hls.js", "hls.js"),
        ];
        for (name, kind) in names {
            let read: Algorithm = serde_json::from_value(name.into()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap()["kind"], kind, "{name}");
            assert_eq!(read.check(), Ok(()), "{name}");
            let sabre = ["bola-basic", "bola-u", "bolae", "dynamic", "dynamicdash", "throughput"];
            let today = ["dash.js", "shaka", "hls.js"];
            assert_eq!(read.starts_at_once(), sabre.contains(&kind) || today.contains(&kind), "{name}");
        }
    }

    #[test]
    fn options_have_ranges() {
        let check = |kind: &str, key: &str, value: f64| {
            let whole = ["probes", "warmup", "horizon", "level"].contains(&key);
            let value = if whole { serde_json::json!(value as u32) } else { serde_json::json!(value) };
            let read: Algorithm = serde_json::from_value(serde_json::json!({ "kind": kind, key: value })).unwrap();
            read.check().map_err(|(key, _)| key)
        };
        for (kind, key, good, bad) in [
            ("gpac", "probes", [1.0, 1000.0], [0.0, 1001.0]),
            ("festive", "p", [0.01, 10.0], [0.0, 10.1]),
            ("festive", "alpha", [0.01, 1e6], [0.0, 2e6]),
            ("festive", "warmup", [1.0, 20.0], [0.0, 21.0]),
            ("bola-u", "gp", [0.1, 1e6], [0.0, 2e6]),
            ("bola-basic", "gp", [0.1, 1e6], [0.0, 2e6]),
            ("dynamic", "gp", [0.1, 1e6], [-1.0, 2e6]),
            ("robust-mpc", "horizon", [1.0, 6.0], [0.0, 7.0]),
            ("robust-mpc", "stall-penalty", [0.0, 1e6], [-1.0, 2e6]),
            ("robust-mpc", "switch-penalty", [0.0, 1e6], [-1.0, 2e6]),
            ("fixed", "level", [1.0, 100.0], [0.0, 101.0]),
        ] {
            assert_eq!(good.map(|value| check(kind, key, value)), [Ok(()), Ok(())], "{kind} {key}");
            assert_eq!(bad.map(|value| check(kind, key, value)), [Err(key), Err(key)], "{kind} {key}");
        }
    }
}
