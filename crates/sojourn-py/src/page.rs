//! The page of today that simulated users load, for real ones.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use sojourn_sim::app::PageObject;
use sojourn_sim::{document, run};

/// What it is, its host, bytes, urgency, the object that names it, and whether nothing is painted before.
type Told = (&'static str, u16, u64, u8, Option<usize>, bool);

/// The objects of a page, its document first. Raises ValueError for a page that is not known.
#[pyfunction]
pub(crate) fn page_objects(page: &str, hosts: u16, scale: f64) -> PyResult<Vec<Told>> {
    let median = document::read(&Value::from(page)).map_err(|invalid| PyValueError::new_err(invalid.message))?;
    Ok(run::page_objects(median, hosts, scale).iter().map(told).collect())
}

fn told(object: &PageObject) -> Told {
    (object.kind.name(), object.host, object.bytes, object.urgency, object.after, object.blocks)
}
