//! Study files: text to document, document to points, and the schema.

use pyo3::prelude::*;

use crate::error::study_error;

/// Read a study file (TOML) and return the study document (JSON); `name` is used in errors.
#[pyfunction]
#[pyo3(signature = (text, name, sets))]
pub(crate) fn parse(py: Python<'_>, text: &str, name: &str, sets: Vec<(String, String)>) -> PyResult<String> {
    py.detach(|| sojourn_sim::study::parse(text, name, &sets)).map_err(study_error)
}

/// Expand a study document into its points, every replication of each, in study order.
#[pyfunction]
pub(crate) fn points(py: Python<'_>, document: &str) -> PyResult<Vec<String>> {
    py.detach(|| sojourn_sim::study::points(document)).map_err(study_error)
}

/// Return the JSON Schema of study files.
#[pyfunction]
pub(crate) fn schema() -> String {
    sojourn_sim::study::schema()
}

/// Return the version of the engine.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Check the text of a trace: `kind` is "link" (mahimahi) or "video" (the frames of an `EvalVid` sender).
#[pyfunction]
pub(crate) fn check_trace(py: Python<'_>, kind: &str, text: &str) -> PyResult<()> {
    py.detach(|| match kind {
        "link" => sojourn_net::rate::Opportunities::read(text).map(drop),
        "video" => sojourn_sim::app::Clip::read(text).map(drop),
        _ => Err(format!("{kind:?} is no kind of trace; expected \"link\" or \"video\"")),
    })
    .map_err(crate::error::StudyError::new_err)
}
