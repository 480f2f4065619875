//! Thresholds that operators quote, as named goals: `[[goals]] threshold = "bufferbloat-a"`.
//!
//! They are data (`data/thresholds.toml`), each with its source, and with what has none. The engine checks the name;
//! the report reads the limits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::document;
use crate::scenario::Provenance;

/// What a name stands for.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Quoted {
    #[serde(flatten)]
    provenance: Provenance,
    /// All of them are to be kept.
    limits: Vec<Limit>,
    /// Those that stand in where none of the numbers above was measured.
    #[serde(default)]
    instead: Vec<Limit>,
}

/// A limit that a number of the results must keep.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Limit {
    /// The number, as `run --json` names it; `*` is every queue of the path.
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    /// Where a score that falls with the number is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unacceptable: Option<f64>,
}

static THRESHOLDS: LazyLock<BTreeMap<String, Quoted>> =
    LazyLock::new(|| document::shipped(include_str!("../../data/thresholds.toml")));

/// All thresholds by name.
pub fn thresholds() -> &'static BTreeMap<String, Quoted> {
    &THRESHOLDS
}

/// The name of a threshold.
pub(super) struct Threshold;

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        if THRESHOLDS.contains_key(name.as_ref()) {
            return Ok(Self);
        }
        let known = THRESHOLDS.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        Err(D::Error::custom(format!("{name:?} is no threshold that is known by name; those are {known}")))
    }
}

impl JsonSchema for Threshold {
    fn schema_name() -> Cow<'static, str> {
        "Threshold".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |(name, quoted): (&String, &Quoted)| {
            let Provenance { about, source, remembered } = &quoted.provenance;
            let from = remembered.as_ref().map(|told| format!(" From memory, or a choice: {told}."));
            json_schema!({ "const": name, "description": format!("{about}. {source}.{}", from.unwrap_or_default()) })
        };
        json_schema!({ "oneOf": THRESHOLDS.iter().map(one).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_one_bound_and_what_is_from_memory_says_so() {
        for (name, quoted) in thresholds() {
            assert!(!quoted.limits.is_empty(), "{name}");
            for limit in quoted.limits.iter().chain(&quoted.instead) {
                assert!(limit.at_least.is_some() != limit.at_most.is_some(), "{name}: {}", limit.value);
            }
        }
        let told = |name: &str| thresholds()[name].provenance.remembered.is_some();
        assert!(told("rpm-high") && !told("qoo-web"));
    }
}
