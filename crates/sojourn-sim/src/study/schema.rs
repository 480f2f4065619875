//! The keys of study files.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sojourn_net::Span;

use super::figure::{Figure, Publication};
use super::goal::{Goal, Repeat};
use super::loads::Workloads;
use crate::scenario::defaults::{count, number};
use crate::scenario::{Flows, Path, Record, Users};

/// A study file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "sojourn study", transform = complete_or_extending)]
#[allow(dead_code, reason = "scenarios are read again from the document, with axes in their place")]
pub(super) struct StudyFile {
    /// The study file that this one extends, relative to this one: its tables are merged key by key, arrays and single
    /// values replace its own.
    #[serde(default)]
    pub(super) extends: Option<String>,
    /// What entries of this study take unless they say otherwise.
    #[serde(default)]
    pub(super) defaults: Defaults,
    /// Names the study and, by default, its directory of results.
    pub(super) name: String,
    /// What the study is about; printed in its report.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// The publication whose experiment this is: the report cites it, and judges its findings as long as path and loads
    /// are the publication's.
    #[serde(default)]
    pub(super) reproduces: Option<Publication>,
    /// A table beside the study (CSV or Parquet, columns `value` and `measured`) of what was measured of the real path:
    /// the report shows it beside what was simulated.
    #[serde(default)]
    pub(super) measured: Option<String>,
    /// Seed of all random streams.
    #[serde(default = "number::<1, u64>")]
    pub(super) seed: u64,
    /// Replications of every point: a number, or `auto`: as many as the verdicts on its goals need.
    #[serde(default = "once")]
    #[schemars(default = "number::<1, u64>")]
    pub(super) repeat: Repeat,
    /// With `repeat = "auto"`, the most replications that a point gets.
    #[serde(default = "count::<30>")]
    pub(super) repeat_at_most: u32,
    /// With `repeat = "auto"`, replications go on also until the mean opinion score of callers is known to this in each
    /// direction (half the 95 % interval, in MOS).
    #[serde(default)]
    pub(super) repeat_precision: Option<f64>,
    /// Simulated time, warm-up included.
    pub(super) duration: Span,
    /// Time at the beginning that every statistic leaves out.
    #[serde(default)]
    pub(super) warmup: Span,
    /// The bottleneck and what surrounds it.
    pub(super) path: Path,
    /// Background traffic, present in every point.
    #[serde(default)]
    pub(super) flows: Vec<Flows>,
    /// Those whose experience is scored.
    #[serde(default)]
    pub(super) users: Vec<Users>,
    /// What is kept beyond the summaries.
    #[serde(default)]
    pub(super) record: Record,
    /// Named sets of flows that the axis `workload` switches between; `none` is built in, and so are the loads of a
    /// household. A name instead: that load in every point.
    #[serde(default)]
    pub(super) workload: Workloads,
    /// Axes: for each key (`"path.down.queue.limit"`, `"flows.0.count"`, `workload`) its values. Every combination is a
    /// point.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<Value>>")]
    pub(super) sweep: Map<String, Value>,
    /// Keys that change together with an axis.
    #[serde(default)]
    pub(super) tie: Vec<Tie>,
    /// What users are owed; where a study has none, the report judges them by limits of its own.
    #[serde(default)]
    pub(super) goals: Vec<Goal>,
    /// Figures of the report.
    #[serde(default)]
    pub(super) figures: Vec<Figure>,
}

/// What entries of a study take unless they say otherwise.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "the entries have taken them before a study is read")]
pub(super) struct Defaults {
    /// Keys of every entry of `flows` and of the workloads. Those of TCP do not concern entries with `transport =
    /// "udp"`.
    #[serde(default)]
    #[schemars(with = "Flows")]
    pub(super) flows: Map<String, Value>,
}

fn once() -> Repeat {
    Repeat::Times(1)
}

/// Keys that change together with an axis.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Tie {
    /// The axis.
    pub(super) with: String,
    /// For each key, as many values as the axis has.
    #[schemars(with = "BTreeMap<String, Vec<Value>>")]
    pub(super) set: Map<String, Value>,
}

/// The JSON Schema of study files.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(StudyFile);
    if let Some(flows) = schema.pointer_mut("/$defs/Flows").and_then(Value::as_object_mut) {
        // What an entry lacks may be among the defaults.
        flows.shift_remove("required");
    }
    format!("{:#}", schema.as_value())
}

/// A study that extends another need not have what the other has.
fn complete_or_extending(schema: &mut Schema) {
    if let Some(required) = schema.remove("required") {
        schema.insert("anyOf".to_owned(), json!([{ "required": required }, { "required": ["extends"] }]));
    }
}
