//! Study files: a scenario, named workloads, the axes of a sweep, ties between keys, and figures.
//!
//! [`parse`] reads the text and checks everything, every point of the sweep included, so that nothing can be wrong
//! with a study once simulations have begun. [`points`] expands the document into complete scenarios.

mod check;
mod defaults;
mod excerpt;
mod expand;
mod figure;
mod files;
mod goal;
mod keys;
mod loads;
mod schema;
mod sets;
mod stand_in;
mod threshold;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sojourn_net::quote::printable;

use crate::document;
use crate::scenario::{Invalid, Scenario};
use check::{check, read};
pub use figure::{Figure, FigureKind, Publication, Scale};
pub use files::StudyText;
pub use goal::Goal;
pub use loads::loads;
pub use schema::schema;
pub use threshold::thresholds;

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
    /// The complete scenario. Names of study, axes, labels and workloads are not in it, so none of them changes its
    /// hash.
    pub document: Scenario,
}

/// The study file that this one extends, as it names it.
pub fn extends(file: StudyText<'_>) -> Result<Option<String>, StudyError> {
    files::Files::new(&[file.padded(0)]).and_then(|files| files.extends()).map_err(StudyError)
}

/// Reads a study file: `chain` is the file and, in this order, those that it extends, with `sets` (`--set KEY=VALUE`)
/// applied. Returns the document as JSON: one complete study, that extends nothing and whose flows have taken their
/// defaults.
pub fn parse(chain: &[StudyText<'_>], sets: &[(String, String)]) -> Result<String, StudyError> {
    let padded = files::padded(chain);
    let files = files::Files::new(&padded).map_err(StudyError)?;
    let at_key = |invalid: Invalid| StudyError(files.at_key(&invalid));
    let mut document = files.document().map_err(StudyError)?;
    keys::make_plain(&mut document).map_err(at_key)?;
    check(&document).map_err(at_key)?;
    // Flows have taken their defaults before a key of theirs is set, and what is set takes the others.
    let (of_defaults, others): (Vec<_>, Vec<_>) =
        sets.iter().cloned().partition(|(key, _)| key.starts_with("defaults."));
    for sets in [of_defaults, others] {
        if !sets.is_empty() {
            let name = printable(chain[0].name);
            document = sets::apply(document, &sets).map_err(|message| StudyError(format!("{name}: {message}")))?;
        }
        let defaults = document.get("defaults").cloned();
        defaults::take(&mut document);
        document.as_object_mut().zip(defaults).map(|(study, given)| study.insert("defaults".to_owned(), given));
    }
    document.as_object_mut().map(|study| study.shift_remove("defaults"));
    Ok(document.to_string())
}

/// Expands a study document into its points: the first axis changes slowest, replications fastest. Each is a [`Point`]
/// as JSON. With `repeat = "auto"` these are the first replications; a document with a number instead has more.
pub fn points(document: &str) -> Result<Vec<String>, StudyError> {
    let wrong = |invalid: Invalid| StudyError(printable(&excerpt::suggest(&invalid.sentence())));
    let mut document: Value = serde_json::from_str(document)
        .map_err(|error| StudyError(format!("this study document is not JSON: {error}")))?;
    keys::make_plain(&mut document).map_err(wrong)?;
    defaults::take(&mut document);
    stand_in::take(&mut document);
    let study = read(&document).map_err(wrong)?;
    study.check(&document).map_err(wrong)?;
    let expansion = expand::Expansion::new(&study, &document).map_err(wrong)?;
    let mut texts = Vec::new();
    for choice in expansion.choices() {
        let (seed, scenario) = expansion.scenario(&choice).map_err(wrong)?;
        let labels = expansion.labels(&choice);
        let point = Point { study: study.name.clone(), point: labels, replication: 0, seed, document: scenario };
        let mut written = document::written(&point).map_err(StudyError)?;
        for replication in 0..study.repeat.first(study.repeat_at_most) {
            written["replication"] = replication.into();
            texts.push(written.to_string());
        }
    }
    Ok(texts)
}

/// What the queues of a point hold, by link: `{"down": {"limit_pkts", "limit_bytes", "limit_ms", "starved"}, …}` as
/// JSON; see [`crate::scenario::Buffer`]. `scenario` is the document of a point.
pub fn buffers(scenario: &str) -> Result<String, StudyError> {
    let wrong = |error: String| StudyError(printable(&format!("this is not a scenario: {error}")));
    let scenario: Scenario = document::from_json(scenario).map_err(wrong)?;
    serde_json::to_string(&scenario.buffers()).map_err(|error| wrong(error.to_string()))
}
