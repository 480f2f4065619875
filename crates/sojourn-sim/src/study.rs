//! Study files: a scenario, named workloads, the axes of a sweep, ties between keys, and figures.
//!
//! [`parse`] reads the text and checks everything, every point of the sweep included, so that nothing can be wrong with a
//! study once simulations have begun. [`points`] expands the document into complete scenarios.

mod excerpt;
mod expand;
mod figure;
mod keys;
mod sets;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sojourn_net::Span;

use crate::scenario::{Flows, Invalid, Path, Record, Scenario, Users};
pub use figure::{Figure, FigureKind, Publication, Scale};

/// A study that cannot be run: one clear sentence, after it the place in the file where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StudyError(String);

/// One simulation to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Name of the study.
    pub study: String,
    /// For every axis, the label of its value: the text of the study file.
    pub point: Map<String, Value>,
    /// Which of the study's repetitions, from 0.
    pub replication: u32,
    /// The study's seed; with the replication and a component's name it makes the component's random stream.
    pub seed: u64,
    /// The complete scenario. Names of study, axes, labels and workloads are not in it, so none of them changes its hash.
    pub document: Scenario,
}

/// A study file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "sojourn study")]
#[allow(dead_code, reason = "scenarios are read again from the document, with axes in their place")]
struct StudyFile {
    /// Names the study and, by default, its directory of results.
    name: String,
    /// What the study is about; printed in its report.
    #[serde(default)]
    description: Option<String>,
    /// The publication whose experiment this is: the report cites it, and judges its findings as long as path and loads
    /// are the publication's.
    #[serde(default)]
    reproduces: Option<Publication>,
    /// Seed of all random streams.
    #[serde(default = "one")]
    seed: u64,
    /// Replications of every point.
    #[serde(default = "once")]
    repeat: u32,
    /// Simulated time, warm-up included.
    duration: Span,
    /// Time at the beginning that every statistic leaves out.
    #[serde(default)]
    warmup: Span,
    /// The bottleneck and what surrounds it.
    path: Path,
    /// Background traffic, present in every point.
    #[serde(default)]
    flows: Vec<Flows>,
    /// Those whose experience is scored.
    #[serde(default)]
    users: Vec<Users>,
    /// What is kept beyond the summaries.
    #[serde(default)]
    record: Record,
    /// Named sets of flows that the axis `workload` switches between; `none` is built in.
    #[serde(default)]
    workload: BTreeMap<String, Vec<Flows>>,
    /// Axes: for each key (`"path.down.queue.limit"`, `"flows.0.count"`, `workload`) its values. Every combination is a point.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<Value>>")]
    sweep: Map<String, Value>,
    /// Keys that change together with an axis.
    #[serde(default)]
    tie: Vec<Tie>,
    /// Figures of the report.
    #[serde(default)]
    figures: Vec<Figure>,
}

fn one() -> u64 {
    1
}

fn once() -> u32 {
    1
}

/// Keys that change together with an axis.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Tie {
    /// The axis.
    with: String,
    /// For each key, as many values as the axis has.
    #[schemars(with = "BTreeMap<String, Vec<Value>>")]
    set: Map<String, Value>,
}

/// Reads a study file: `text` of the file called `name`, with `sets` (`--set KEY=VALUE`) applied. Returns the document as JSON.
pub fn parse(text: &str, name: &str, sets: &[(String, String)]) -> Result<String, StudyError> {
    let in_file = |error: toml::de::Error| StudyError(excerpt::render(name, text, error.span(), error.message()));
    let at_key = |invalid: Invalid| {
        let span = excerpt::locate(text, &invalid.key);
        StudyError(excerpt::render(name, text, span, &invalid.sentence()))
    };
    toml::from_str::<StudyFile>(text).map_err(in_file)?;
    let mut document: Value = toml::from_str(text).map_err(in_file)?;
    keys::make_plain(&mut document).map_err(at_key)?;
    check(&document).map_err(at_key)?;
    if !sets.is_empty() {
        document = sets::apply(document, sets).map_err(|message| StudyError(format!("{name}: {message}")))?;
    }
    Ok(document.to_string())
}

/// Expands a study document into its points: the first axis changes slowest, replications fastest. Each is a [`Point`] as JSON.
pub fn points(document: &str) -> Result<Vec<String>, StudyError> {
    let wrong = |invalid: Invalid| StudyError(excerpt::suggest(&invalid.sentence()));
    let mut document: Value = serde_json::from_str(document)
        .map_err(|error| StudyError(format!("this study document is not JSON: {error}")))?;
    keys::make_plain(&mut document).map_err(wrong)?;
    let study = read(&document).map_err(wrong)?;
    study.check(&document).map_err(wrong)?;
    let expansion = expand::Expansion::new(&study, &document).map_err(wrong)?;
    let mut texts = Vec::new();
    for choice in expansion.choices() {
        let (seed, scenario) = expansion.scenario(&choice).map_err(wrong)?;
        let labels = expansion.labels(&choice);
        let mut point = Point { study: study.name.clone(), point: labels, replication: 0, seed, document: scenario };
        for replication in 0..study.repeat {
            point.replication = replication;
            let text = serde_json::to_string(&point).map_err(|error| StudyError(error.to_string()))?;
            texts.push(text);
        }
    }
    Ok(texts)
}

/// The JSON Schema of study files.
pub fn schema() -> String {
    format!("{:#}", schemars::schema_for!(StudyFile).as_value())
}

/// Reads a document whose place in the file is not known.
fn read(document: &Value) -> Result<StudyFile, Invalid> {
    StudyFile::deserialize(document).map_err(|error| Invalid::new("", error.to_string()))
}

/// Checks a whole document.
fn check(document: &Value) -> Result<(), Invalid> {
    read(document)?.check(document)
}

/// More points than this are taken for a slip.
const MOST_POINTS: usize = 1_000_000;

impl StudyFile {
    /// Checks everything that the types do not: every point of the sweep, ties and figures.
    fn check(&self, document: &Value) -> Result<(), Invalid> {
        check_name("name", &self.name, |c| c.is_control() || "/\\".contains(c))?;
        if self.repeat == 0 {
            return Err(Invalid::new("repeat", "must be at least 1"));
        }
        for (name, groups) in &self.workload {
            let key = format!("workload.{name}");
            check_name(&key, name, |c| !(c.is_ascii_alphanumeric() || "-_".contains(c)))?;
            if name == expand::NO_WORKLOAD {
                let message = "the name is taken: in the axis workload, \"none\" is the scenario without any";
                return Err(Invalid::new(key, message));
            }
            for (i, group) in groups.iter().enumerate() {
                group.check().map_err(|invalid| invalid.under(&format!("{key}.{i}")))?;
            }
        }
        let expansion = expand::Expansion::new(self, document)?;
        if expansion.len().saturating_mul(self.repeat as usize) > MOST_POINTS {
            let message = format!("the axes and repeat = {} make more than {MOST_POINTS} points", self.repeat);
            return Err(Invalid::new("sweep", message));
        }
        expansion.check()?;
        self.figures.iter().enumerate().try_for_each(|(i, figure)| {
            figure.check(&expansion).map_err(|invalid| invalid.under(&format!("figures.{i}")))
        })
    }
}

/// Refuses names that cannot be file names, or hold a character that is not wanted.
fn check_name(key: &str, name: &str, refused: impl Fn(char) -> bool) -> Result<(), Invalid> {
    if name.is_empty() || name.len() > 100 || name == "." || name == ".." {
        return Err(Invalid::new(key, format!("{name:?} is not a name; write 1 to 100 characters")));
    }
    match name.chars().find(|c| refused(*c)) {
        Some(c) => Err(Invalid::new(key, format!("{name:?} is not a name: it has {c:?} in it"))),
        None => Ok(()),
    }
}
