//! A congestion controller driven by events.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::json;

/// Drive one controller: set-up and events (JSON) in, a JSON list of what it says after each event out.
#[pyfunction]
pub(crate) fn controller(py: Python<'_>, setup: &str, events: &str) -> PyResult<String> {
    let rows = py.detach(|| sojourn_sim::controller::drive(setup, events)).map_err(PyValueError::new_err)?;
    json(&rows)
}
