//! The queue in front of a link as a study file has it: which discipline, its limit and its settings.
//!
//! A key that is left out has the default of the discipline, or of its published variant; so what is written out again
//! has every key.

use super::config::{Config, Limited};
use super::discipline::QueueDiscipline;
use super::{cake, cobalt, codel, dualpi2, fifo, fq_codel, fq_pie, names, netem, pie, policer, red, sfq, sfq_codel};
use crate::{Invalid, Limit, Packet, Rate, Span};
use schemars::{JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The queue in front of a link: discipline and limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", tag = "kind", rename_all = "kebab-case")]
#[serde(expecting = "a table such as { kind = \"fifo\", limit = \"64pkt\" }")]
#[schemars(transform = with_defaults)]
pub enum QueueSpec {
    /// First in, first out; what does not fit is dropped.
    Fifo(Limited<fifo::Config>),
    /// netem: a delay and a queue in one, as below Mininet's links; the limit counts packets that wait out their delay,
    /// too.
    Netem(Limited<netem::Config>),
    /// CoDel: drops from the head what has waited too long for too long.
    Codel(Limited<codel::Config>),
    /// FQ-CoDel: flows take turns, each with its own CoDel.
    FqCodel(Limited<fq_codel::Config>),
    /// COBALT: CoDel that forgets slowly, with BLUE against floods.
    Cobalt(Limited<cobalt::Config>),
    /// CAKE without its shaper: flows isolated by a set-associative hash, sparse ones first, each with its own COBALT.
    Cake(Limited<cake::Config>),
    /// SFQ-CoDel of ns-2: bins take turns, each with its own CoDel.
    SfqCodel(Limited<sfq_codel::Config>),
    /// PIE: drops arrivals with a probability that a timer steers by the queueing delay.
    Pie(Limited<pie::Config>),
    /// FQ-PIE: flows take turns, each with its own PIE.
    FqPie(Limited<fq_pie::Config>),
    /// DualPI2: one queue for classic and one for L4S traffic, with a coupled controller.
    #[serde(rename = "dualpi2")]
    DualPi2(Limited<dualpi2::Config>),
    /// RED, or Adaptive RED: drops arrivals with a probability that grows with the average queue.
    Red(Limited<red::Config>),
    /// A policer: what comes faster than a rate allows is dropped, what passes waits first in, first out.
    Policer(Limited<policer::Config>),
    /// Stochastic fairness queueing: flows take turns.
    Sfq(Limited<sfq::Config>),
}

/// Does the same with the settings of any discipline.
macro_rules! with_any {
    ($queue:expr, $limited:ident => $body:expr) => {
        match $queue {
            Self::Fifo($limited) => $body,
            Self::Netem($limited) => $body,
            Self::Codel($limited) => $body,
            Self::FqCodel($limited) => $body,
            Self::Cobalt($limited) => $body,
            Self::Cake($limited) => $body,
            Self::SfqCodel($limited) => $body,
            Self::Pie($limited) => $body,
            Self::FqPie($limited) => $body,
            Self::DualPi2($limited) => $body,
            Self::Red($limited) => $body,
            Self::Policer($limited) => $body,
            Self::Sfq($limited) => $body,
        }
    };
}

impl QueueSpec {
    /// How much the queue holds.
    pub fn limit(&self) -> Limit {
        with_any!(self, queue => queue.limit)
    }

    /// Time that every packet spends in it, whatever the load.
    pub fn delay(&self) -> Span {
        match self {
            Self::Netem(queue) => queue.config.delay,
            _ => Span::ZERO,
        }
    }

    /// Whether settings that were left out follow from the link's rate.
    pub fn needs_rate(&self) -> bool {
        matches!(self, Self::Red(queue) if queue.config.needs_rate())
    }

    /// Checks what types cannot.
    ///
    /// # Errors
    /// The key that does not hold, and why.
    pub fn check(&self) -> Result<(), Invalid> {
        with_any!(self, queue => queue.config.check())
    }

    /// What study files and results call the discipline.
    pub fn kind(&self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// The delays at which the discipline acts, by their keys, on a link of this rate.
    pub(super) fn acts_at(&self, rate: Rate) -> Vec<(&'static str, Option<Span>)> {
        with_any!(self, queue => queue.config.acts_at(rate))
    }

    /// Whether flows have lines of their own.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self, Self::FqCodel(_) | Self::FqPie(_) | Self::Cake(_) | Self::SfqCodel(_) | Self::Sfq(_))
    }

    /// The discipline, holding at most so many packets and bytes (`MAX` of the type means no limit), on a link of this
    /// rate.
    pub fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), rate: Rate) -> Box<dyn QueueDiscipline<P>> {
        with_any!(self, queue => queue.config.build(limit, rate))
    }
}

/// Every key of a discipline with its default, once for each variant. A key without a default has null; the limit is
/// absent if it must be given. Nothing for an unknown discipline.
fn defaults(kind: &str) -> Vec<Map<String, Value>> {
    fn of<C: Config>() -> Vec<Map<String, Value>> {
        let keys = |config: C| {
            let Value::Object(mut keys) = serde_json::to_value(config).unwrap_or_default() else { return Map::new() };
            if let Some(limit) = C::LIMIT {
                keys.insert("limit".to_owned(), limit.to_string().into());
            }
            keys
        };
        C::variants().into_iter().map(keys).collect()
    }
    match kind {
        "fifo" => of::<fifo::Config>(),
        "netem" => of::<netem::Config>(),
        "codel" => of::<codel::Config>(),
        "fq-codel" => of::<fq_codel::Config>(),
        "cobalt" => of::<cobalt::Config>(),
        "cake" => of::<cake::Config>(),
        "sfq-codel" => of::<sfq_codel::Config>(),
        "pie" => of::<pie::Config>(),
        "fq-pie" => of::<fq_pie::Config>(),
        "dualpi2" => of::<dualpi2::Config>(),
        "red" => of::<red::Config>(),
        "policer" => of::<policer::Config>(),
        "sfq" => of::<sfq::Config>(),
        _ => Vec::new(),
    }
}

/// Fills in the keys that are absent (or null), and refuses unknown ones.
fn fill(given: &mut Map<String, Value>) -> Result<(), String> {
    given.retain(|_, value| !value.is_null());
    names::settle(given, |kind| !defaults(kind).is_empty())?;
    let variants = defaults(given.get("kind").and_then(Value::as_str).unwrap_or_default());
    let chosen =
        variants.iter().find(|keys| given.get("variant").is_some_and(|variant| keys.get("variant") == Some(variant)));
    let Some(keys) = chosen.or(variants.first()) else { return Ok(()) };
    let known = |key: &str| key == "kind" || key == "limit" || keys.contains_key(key);
    if let Some(key) = given.keys().find(|key| !known(key)) {
        let all: Vec<_> = keys.keys().filter(|key| *key != "limit").map(|key| format!(", `{key}`")).collect();
        return Err(format!("unknown field `{key}`, expected one of `limit`{}", all.concat()));
    }
    for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
        if !given.contains_key(key) {
            given.insert(key.clone(), value.clone());
        }
    }
    Ok(())
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        if let Value::Object(given) = &mut value {
            fill(given).map_err(Error::custom)?;
        }
        Self::deserialize(value).map_err(Error::custom)
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = Self::serialize(self, serde_json::value::Serializer).map_err(serde::ser::Error::custom)?;
        if let Value::Object(keys) = &mut value {
            keys.retain(|_, value| !value.is_null());
        }
        value.serialize(serializer)
    }
}

/// Says in the schema which keys may be left out, and what they are then where all variants agree.
fn with_defaults(schema: &mut Schema) {
    let kinds = schema.get_mut("oneOf").and_then(Value::as_array_mut);
    for entry in kinds.into_iter().flatten() {
        let kind = entry["properties"]["kind"]["const"].as_str().unwrap_or_default();
        let variants = defaults(kind);
        let Some(first) = variants.first() else { continue };
        let mut required = vec!["kind"];
        if !first.contains_key("limit") {
            required.push("limit");
        }
        entry["required"] = required.into();
        for (key, value) in first {
            // The variant's own default is the first one's, though no two agree.
            let agreed = key == "variant" || variants.iter().all(|keys| keys.get(key) == Some(value));
            if agreed && !value.is_null() {
                entry["properties"][key]["default"] = value.clone();
            }
        }
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("unevaluatedProperties");
            entry.insert("additionalProperties".to_owned(), false.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: Value) -> Result<QueueSpec, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    fn entries() -> Vec<Value> {
        let schema = serde_json::to_value(schemars::schema_for!(QueueSpec)).unwrap();
        schema["oneOf"].as_array().unwrap().clone()
    }

    #[test]
    fn what_is_left_out_has_the_default_of_its_variant() {
        let written = |value| serde_json::to_value(parse(value).unwrap()).unwrap();
        let pie = written(json!({ "kind": "pie", "limit": "9pkt", "variant": "ns2_authors", "alpha": 1 }));
        assert_eq!((&pie["target"], &pie["derandomise"], &pie["alpha"]), (&json!("20ms"), &json!(false), &json!(1.0)));
        assert_eq!(pie.get("l4s-threshold"), None, "a key without a value is left out");
        let fq = written(json!({ "kind": "fq-pie", "target": null }));
        assert_eq!(
            (&fq["variant"], &fq["mean-packet"], &fq["limit"]),
            (&json!("linux"), &json!("1514B"), &json!("10240pkt"))
        );
        let red = |variant| written(json!({ "kind": "red", "limit": "9pkt", "variant": variant }));
        assert_eq!((&red("ns2")["gentle"], &red("paper")["gentle"]), (&json!(true), &json!(false)));
        assert_eq!(written(pie.clone()), pie, "what was written is read as the same");
    }

    #[test]
    fn what_no_discipline_has_is_refused_with_a_sentence() {
        for (given, said) in [
            (json!({ "kind": "fifo" }), "missing field `limit`"),
            (
                json!({ "kind": "netem", "limit": "9pkt", "delai": "1ms" }),
                "unknown field `delai`, expected one of `limit`, `delay`",
            ),
            (
                json!({ "kind": "fq-codel", "flow": 3 }),
                "unknown field `flow`, expected one of `limit`, `flows`, `quantum`, `target`",
            ),
            (json!({ "kind": "cake", "ce-threshold": "1ms" }), "unknown field `ce-threshold`"),
            (
                json!({ "kind": "codel", "limit": "9pkt", "variant": "ns2_sfq" }),
                "unknown variant `ns2_sfq`, expected one of",
            ),
            (json!({ "kind": "pye", "limit": "9pkt" }), "unknown variant `pye`, expected one of `fifo`"),
            (json!({ "limit": "9pkt" }), "missing field `kind`"),
            (json!("fifo"), "expected a table such as { kind = \"fifo\", limit = \"64pkt\" }"),
            (json!({ "kind": "red", "limit": "9pkt", "target": 5 }), "it has no unit"),
        ] {
            let error = parse(given).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_schema_has_every_key_and_says_which_must_be_given() {
        let entries = entries();
        assert_eq!(entries.len(), 13);
        for entry in &entries {
            let kind = entry["properties"]["kind"]["const"].as_str().unwrap();
            let known = &defaults(kind)[0];
            let keys = entry["properties"].as_object().unwrap();
            assert!(known.keys().all(|key| keys[key].get("description").is_some()), "{kind}: {keys:?}");
            assert_eq!(keys.len(), known.len() + 1 + usize::from(!known.contains_key("limit")), "{kind}");
            assert_eq!(entry["additionalProperties"], false, "{kind}");
            let must = if known.contains_key("limit") { json!(["kind"]) } else { json!(["kind", "limit"]) };
            assert_eq!(entry["required"], must, "{kind}");
        }
        let of = |kind: &str, key: &str| {
            let entry = entries.iter().find(|entry| entry["properties"]["kind"]["const"] == kind).unwrap();
            entry["properties"][key].get("default").cloned()
        };
        assert_eq!(of("codel", "target"), Some(json!("5ms")));
        assert_eq!(of("fq-codel", "variant"), Some(json!("linux")));
        assert_eq!((of("pie", "target"), of("pie", "alpha")), (None, Some(json!(0.125))));
        assert_eq!(of("dualpi2", "limit"), Some(json!("10000pkt")));
    }
}
