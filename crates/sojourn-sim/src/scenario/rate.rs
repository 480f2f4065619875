//! The rate of a link: constant, stepped, drawn at random again and again, or a trace of opportunities.

use std::sync::Arc;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use sojourn_net::rate::{Opportunities, RateProfile};
use sojourn_net::{Rate, Span, read_as, refuse_if};

use super::Invalid;
use super::content::filled_in;

/// The rate of a link: `"16Mbit"`, `"unlimited"`, `{ steps = [["0s", "16Mbit"], ["10s", "8Mbit"]], repeat = "20s" }`,
/// `{ choose = ["0.5Mbit", "1Mbit"], every = ["10ms", "30ms"] }`, or `{ trace = "file" }`.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// Always the same.
    Constant(Rate),
    /// Transmission takes no time.
    Unlimited,
    /// Changes at given times.
    Steps(RateSteps),
    /// Drawn at random.
    Drawn(RateDrawn),
    /// Opportunities in a file.
    Trace(RateTrace),
}

/// A rate that changes at given times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RateSteps {
    /// `[from, rate]` pairs in order of time, the first from `"0s"`.
    steps: Vec<(Span, Rate)>,
    /// Start again after this time; without it the last rate stays.
    repeat: Option<Span>,
}

/// A rate that is drawn again and again. The draws come from a random stream of their own (`path.down.rate`), so that
/// every queue in front of the link meets the same ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RateDrawn {
    /// The rates, each as likely as any other at every draw.
    choose: Vec<Rate>,
    /// The least and the greatest time between two draws, which is uniform between them.
    every: (Span, Span),
}

/// A trace in mahimahi's format: each line is a time in milliseconds at which 1504 bytes may leave; it starts again at
/// its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RateTrace {
    /// The file, relative to the study's.
    trace: String,
    /// SHA-256 of the file, in hexadecimal: filled in when the study is read, and part of what names a result.
    sha256: Option<String>,
    /// The text of the file: filled in when the point is run.
    #[serde(default, skip_serializing, deserialize_with = "filled_in")]
    #[schemars(skip)]
    content: Option<Arc<Opportunities>>,
}

/// More draws than this in a run are taken for a slip.
const MOST_DRAWS: u64 = 10_000_000;

impl RateSpec {
    /// The rate that a limit in time or BDP and a queue's automatic settings take for the link's: the mean of the steps
    /// over their cycle (or the last of them), of the list, or of the trace; `None` if unlimited or not known yet.
    pub fn mean(&self) -> Option<Rate> {
        match self {
            Self::Constant(rate) => Some(*rate),
            Self::Unlimited => None,
            Self::Steps(steps) => steps.profile().mean(),
            Self::Drawn(RateDrawn { choose, .. }) => {
                let sum: u128 = choose.iter().map(|rate| u128::from(rate.0)).sum();
                Some(Rate((sum / choose.len().max(1) as u128) as u64))
            }
            Self::Trace(trace) => trace.content.as_ref().map(|read| read.mean()),
        }
    }

    /// True if it never changes.
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_) | Self::Unlimited)
    }

    /// The rate over a run of this length, draws taken from `rng`. A trace whose content was not filled in sends
    /// nothing (see [`RateSpec::missing`]).
    pub(crate) fn profile(&self, duration: Span, rng: &mut Pcg64Mcg) -> RateProfile {
        match self {
            Self::Constant(rate) => RateProfile::Constant(*rate),
            Self::Unlimited => RateProfile::Unlimited,
            Self::Steps(steps) => steps.profile(),
            Self::Drawn(drawn) => drawn.profile(duration, rng),
            Self::Trace(trace) => match &trace.content {
                Some(read) => RateProfile::Opportunities(Arc::clone(read)),
                None => RateProfile::Steps { steps: vec![(Span::ZERO, Rate(0))], repeat: None },
            },
        }
    }

    /// The file whose content must be filled in before a run, if it is not.
    pub(crate) fn missing(&self) -> Option<&str> {
        match self {
            Self::Trace(RateTrace { trace, content: None, .. }) => Some(trace),
            _ => None,
        }
    }

    /// Checks what types cannot.
    pub(super) fn check(&self, duration: Span) -> Result<(), Invalid> {
        let Self::Drawn(RateDrawn { every: (least, _), .. }) = self else { return Ok(()) };
        let many = duration.0 / least.0.max(1) > MOST_DRAWS;
        refuse_if!(many, "every", "every {least} in {duration} makes more than {MOST_DRAWS} draws");
        Ok(())
    }
}

impl RateSteps {
    fn profile(&self) -> RateProfile {
        RateProfile::Steps { steps: self.steps.clone(), repeat: self.repeat }
    }

    fn check(&self) -> Result<(), String> {
        let Self { steps, repeat } = self;
        if steps.first().is_none_or(|(from, _)| *from != Span::ZERO) {
            return Err("the first of the steps must be from \"0s\"".to_owned());
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!("steps must be in order of time, but {} comes after {}", pair[1].0, pair[0].0));
        }
        let last = steps.last().map_or(Span::ZERO, |step| step.0);
        if let Some(repeat) = repeat.filter(|repeat| *repeat <= last) {
            return Err(format!("repeat = \"{repeat}\" must come after the last step, at {last}"));
        }
        Ok(())
    }
}

impl RateDrawn {
    fn profile(&self, duration: Span, rng: &mut Pcg64Mcg) -> RateProfile {
        let (least, most) = self.every;
        let mut steps = Vec::new();
        let mut at = Span::ZERO;
        while at < duration || steps.is_empty() {
            steps.push((at, self.choose[rng.random_range(0..self.choose.len())]));
            at = at + Span(rng.random_range(least.0..=most.0));
        }
        RateProfile::Steps { steps, repeat: None }
    }

    fn check(&self) -> Result<(), String> {
        let (least, most) = self.every;
        if self.choose.is_empty() {
            return Err("choose must have at least one rate".to_owned());
        }
        if least == Span::ZERO || most < least {
            return Err(format!("every = [\"{least}\", \"{most}\"] must be a least time above zero and a greatest"));
        }
        Ok(())
    }
}

impl RateSpec {
    /// Reads a table, which is told by the key that no other has.
    fn of_table(table: Map<String, Value>) -> Result<Self, String> {
        let has = |key| table.contains_key(key);
        let (is_steps, is_drawn, is_trace) = (has("steps"), has("choose") || has("every"), has("trace"));
        let table = Value::Object(table);
        let wrong = |error: serde_json::Error| error.to_string();
        if is_steps {
            let steps = RateSteps::deserialize(table).map_err(wrong)?;
            steps.check().map(|()| Self::Steps(steps))
        } else if is_drawn {
            let drawn = RateDrawn::deserialize(table).map_err(wrong)?;
            drawn.check().map(|()| Self::Drawn(drawn))
        } else if is_trace {
            RateTrace::deserialize(table).map(Self::Trace).map_err(wrong)
        } else {
            Err("a table of a rate has steps (and repeat), or choose and every, or trace".to_owned())
        }
    }
}

impl Serialize for RateSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(rate) => rate.serialize(serializer),
            Self::Unlimited => serializer.serialize_str("unlimited"),
            Self::Steps(steps) => steps.serialize(serializer),
            Self::Drawn(drawn) => drawn.serialize(serializer),
            Self::Trace(trace) => trace.serialize(serializer),
        }
    }
}

read_as! {
    RateSpec,
    "a rate such as \"16Mbit\", \"unlimited\", or a table { steps = [[\"0s\", \"16Mbit\"], …] }, { choose = […], \
     every = […] } or { trace = \"file\" }";

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RateSpec, E> {
        if text == "unlimited" {
            return Ok(RateSpec::Unlimited);
        }
        text.parse().map(RateSpec::Constant).map_err(E::custom)
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<RateSpec, E> {
        self.visit_str(&number.to_string())
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<RateSpec, E> {
        self.visit_str(&number.to_string())
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<RateSpec, E> {
        self.visit_str(&number.to_string())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RateSpec, A::Error> {
        let table = Map::deserialize(MapAccessDeserializer::new(map))?;
        RateSpec::of_table(table).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for RateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkRate".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = generator.subschema_for::<RateSteps>();
        let drawn = generator.subschema_for::<RateDrawn>();
        let trace = generator.subschema_for::<RateTrace>();
        json_schema!({ "anyOf": [rate, { "const": "unlimited" }, steps, drawn, trace] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::stream::stream;
    use serde_json::json;
    use sojourn_net::Time;

    fn read(value: Value) -> Result<RateSpec, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_drawn_rate_has_every_rate_equally_often_for_the_stated_times() {
        let spec = read(json!({ "choose": ["1Mbit", "2Mbit", "3Mbit"], "every": ["10ms", "30ms"] })).unwrap();
        assert_eq!(spec.mean(), Some(Rate(2_000_000)));
        let duration = Span::from_secs(2000);
        let profile = spec.profile(duration, &mut stream(1, 0, "path.down.rate"));
        let RateProfile::Steps { steps, repeat: None } = &profile else { panic!("not steps") };
        let gaps: Vec<f64> = steps.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_secs()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 0.020).abs() < 0.000_1, "{mean}");
        assert!(gaps.iter().all(|gap| (0.010..=0.030).contains(gap)));
        for rate in 1..=3 {
            let share = steps.iter().filter(|s| s.1 == Rate(rate * 1_000_000)).count() as f64 / steps.len() as f64;
            assert!((share - 1.0 / 3.0).abs() < 0.01, "{rate}: {share}");
        }
        let mean = profile.mean_between(Time::ZERO, Time(duration.0)).unwrap();
        assert!((mean.0 as f64 - 2e6).abs() < 2e4, "{mean}");
        assert_eq!(profile, spec.profile(duration, &mut stream(1, 0, "path.down.rate")), "same stream, same draws");
        assert_ne!(profile, spec.profile(duration, &mut stream(1, 1, "path.down.rate")));
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for value in [
            json!("16Mbit"),
            json!("unlimited"),
            json!({ "steps": [["0s", "16Mbit"], ["10s", "8Mbit"]], "repeat": "20s" }),
            json!({ "choose": ["500kbit", "1Mbit"], "every": ["10ms", "30ms"] }),
            json!({ "trace": "a.up", "sha256": "00" }),
        ] {
            let spec = read(value.clone()).unwrap();
            assert_eq!(document::written(&spec).unwrap(), value);
        }
    }

    #[test]
    fn a_trace_is_read_from_its_content_which_is_not_written() {
        let spec = read(json!({ "trace": "a.up", "content": "10\n" })).unwrap();
        assert_eq!((spec.mean(), spec.missing()), (Some(Rate(1_203_200)), None));
        assert_eq!(document::written(&spec).unwrap(), json!({ "trace": "a.up" }));
        assert_eq!(read(json!({ "trace": "a.up" })).unwrap().missing(), Some("a.up"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (value, wanted) in [
            (json!({ "choose": [], "every": ["1ms", "2ms"] }), "at least one rate"),
            (json!({ "choose": ["1Mbit"], "every": ["3ms", "2ms"] }), "a least time above zero"),
            (json!({ "choose": ["1Mbit"], "every": ["0s", "2ms"] }), "a least time above zero"),
            (json!({ "choose": ["1Mbit"] }), "missing field `every`"),
            (json!({ "repeat": "1s" }), "choose and every, or trace"),
            (json!({ "steps": [["0s", "8Mbps"]] }), "\"8Mbps\" is not a rate"),
            (json!({ "steps": [["0s", 8]] }), "\"8\" is not a rate: it has no unit"),
            (json!(16), "\"16\" is not a rate: it has no unit"),
            (json!(16.5), "\"16.5\" is not a rate: it has no unit"),
            (json!({ "choose": ["1Mbit"], "every": ["1ms", "2ms"], "trace": "x" }), "unknown field `trace`"),
            (json!({ "trace": "x", "content": "1\nno\n" }), "line 2"),
        ] {
            let error = read(value.clone()).unwrap_err();
            assert!(error.contains(wanted), "{value}: {error}");
        }
        let often = read(json!({ "choose": ["1Mbit"], "every": ["1ns", "2ns"] })).unwrap();
        assert!(often.check(Span::from_secs(1)).unwrap_err().message.contains("draws"));
    }
}
