//! The exceptions that bad studies and captures raise.

use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyErr, PyResult};
use sojourn_sim::study;

pyo3::create_exception!(
    sojourn._core,
    StudyError,
    pyo3::exceptions::PyValueError,
    "A study that cannot be run: one clear sentence, and the place in the file."
);

pyo3::create_exception!(
    sojourn._core,
    CaptureError,
    pyo3::exceptions::PyValueError,
    "A capture that cannot be read: one clear sentence."
);

pyo3::create_exception!(
    sojourn._core,
    MisfitError,
    CaptureError,
    "Two captures that do not belong together, or not in this order: one clear sentence."
);

/// The exception for an error of the study schema.
pub(crate) fn study_error(error: study::StudyError) -> PyErr {
    StudyError::new_err(error.to_string())
}

/// The error of a JSON text without its place in a text that the user has not seen.
pub(crate) fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    sojourn_sim::document::plain(text.rsplit_once(" at line ").map_or(&text, |(message, _)| message))
}

/// What Python reads as JSON.
pub(crate) fn json(found: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(found).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
