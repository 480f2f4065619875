//! Study files: text to document, document to points, and the schema.

use sojourn_sim::scenario::household;
use std::collections::BTreeMap;

use pyo3::prelude::*;
use sojourn_net::queue::QueueSpec;
use sojourn_net::rate::Opportunities;
use sojourn_net::{Bytes, Limit, Rate, Span};
use sojourn_sim::study::{self, StudyText};

use crate::error::{StudyError, study_error};

/// Read a study file (TOML) and return the study document (JSON); `name` is used in errors. `extended` are the texts
/// and names of the studies that it extends, nearest first.
#[pyfunction]
#[pyo3(signature = (text, name, sets, extended = Vec::new()))]
pub(crate) fn parse(
    py: Python<'_>,
    text: &str,
    name: &str,
    sets: Vec<(String, String)>,
    extended: Vec<(String, String)>,
) -> PyResult<String> {
    let chain: Vec<_> = extended.iter().map(|(text, name)| StudyText { name, text }).collect();
    let chain = [&[StudyText { name, text }], chain.as_slice()].concat();
    py.detach(|| study::parse(&chain, &sets)).map_err(study_error)
}

/// Return the study file that a study says that it extends, if it does.
#[pyfunction]
pub(crate) fn extends(text: &str, name: &str) -> PyResult<Option<String>> {
    study::extends(StudyText { name, text }).map_err(study_error)
}

/// Expand a study document into its points, every replication of each, in study order.
#[pyfunction]
pub(crate) fn points(py: Python<'_>, document: &str) -> PyResult<Vec<String>> {
    py.detach(|| study::points(document)).map_err(study_error)
}

/// Return what the queues of a scenario hold (JSON), by link: `limit_pkts`, `limit_bytes`, `limit_ms`, and `starved`
/// where a limit starves its discipline.
#[pyfunction]
pub(crate) fn buffers(scenario: &str) -> PyResult<String> {
    study::buffers(scenario).map_err(study_error)
}

/// Return the JSON Schema of study files.
#[pyfunction]
pub(crate) fn schema() -> String {
    study::schema()
}

/// Return where the loads that ship, and the household, come from (JSON), by name: `about`, `source`, and `remembered`
/// where something of it has no source that was read.
#[pyfunction]
pub(crate) fn provenance() -> String {
    let named: BTreeMap<_, _> = study::loads().chain([("household", household())]).collect();
    serde_json::to_string(&named).unwrap_or_default()
}

/// Return the thresholds that goals may name (JSON): what each is, its limits, its source, what of it has none.
#[pyfunction]
pub(crate) fn thresholds() -> String {
    serde_json::to_string(study::thresholds()).unwrap_or_default()
}

/// Return a time, rate, size or limit of a study as results write it, the same however it was written; `None` if a text
/// is none of them.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<String> {
    let time = text.parse::<Span>().map(|time| time.to_string());
    let rate = || text.parse::<Rate>().map(|rate| rate.to_string());
    let size = || text.parse::<Bytes>().map(|size| size.to_string());
    let limit = || text.parse::<Limit>().map(|limit| limit.to_string());
    time.or_else(|_| rate()).or_else(|_| size()).or_else(|_| limit()).ok()
}

/// Return a queue of a study (JSON) as results have it, with its defaults; `None` if it is no queue.
#[pyfunction]
pub(crate) fn queue(given: &str) -> Option<String> {
    let queue: QueueSpec = serde_json::from_str(given).ok()?;
    serde_json::to_string(&queue).ok()
}

/// Return the version of the engine.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Return the hash of the engine's sources (32 hexadecimal digits), the same for all builds of the same sources.
#[pyfunction]
pub(crate) fn engine() -> &'static str {
    env!("SOJOURN_ENGINE")
}

/// Check the text of a trace: `kind` is "link" (mahimahi), "video" (the frames of an `EvalVid`
/// sender) or "recorded" (a workload).
#[pyfunction]
pub(crate) fn check_trace(py: Python<'_>, kind: &str, text: &str) -> PyResult<()> {
    py.detach(|| match kind {
        "link" => text.parse::<Opportunities>().map(drop),
        "video" => text.parse::<sojourn_sim::app::Clip>().map(drop),
        "recorded" => text.parse::<sojourn_sim::app::Recording>().map(drop),
        _ => Err(format!("{kind:?} is no kind of trace; expected link, video or recorded")),
    })
    .map_err(StudyError::new_err)
}

/// Read a mahimahi trace as periods of (seconds, kb/s); the error is a sentence that names the line.
#[pyfunction]
pub(crate) fn mahimahi(py: Python<'_>, text: &str) -> PyResult<Vec<(f64, f64)>> {
    let trace = py.detach(|| text.parse::<Opportunities>()).map_err(StudyError::new_err)?;
    Ok(trace.steps().map(|(length, bytes)| (length.as_secs(), bytes as f64 * 8e-3 / length.as_secs())).collect())
}
