//! Two captures in, their packet log and a summary out.

use std::path::PathBuf;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_pcap::matching::{MatchError, Rows};

use crate::columns::columns;
use crate::error::{CaptureError, MisfitError, json};

/// Compare captures in front of a queue and behind it. `as_given`: their order is certain. `packets` takes the packet
/// log in pieces (dicts of NumPy columns, as [`crate::run::run`] gives them; the cause of a drop is `unknown`). Returns
/// the summary (JSON); raises CaptureError if a file cannot be read, MisfitError if the captures do not belong together
/// or are swapped.
#[pyfunction]
pub(crate) fn match_captures(
    py: Python<'_>,
    ingress: PathBuf,
    egress: PathBuf,
    as_given: bool,
    packets: Py<PyAny>,
) -> PyResult<String> {
    let mut refused = Ok(());
    let matched = py.detach(|| {
        sojourn_pcap::matching::match_captures(&ingress, &egress, as_given, &mut |rows| {
            refused = Python::attach(|py| {
                py.check_signals()?;
                packets.call1(py, (table(py, rows)?,)).map(drop)
            });
            refused.is_ok()
        })
    });
    refused?;
    let summary = matched.map_err(|error| match error {
        MatchError::Stopped => PyRuntimeError::new_err("the comparison was stopped"),
        MatchError::Misfit(sentence) => MisfitError::new_err(sentence),
        error => CaptureError::new_err(error.to_string()),
    })?;
    json(&summary)
}

fn table(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyDict>> {
    columns!(py, {
        link: vec![0u8; rows.flow.len()], packet: rows.packet, flow: rows.flow, kind: rows.kind, size_bytes: rows.size_bytes,
        arrive_ns: rows.arrive_ns, depart_ns: rows.depart_ns, drop_cause: rows.drop_cause,
        backlog_pkts: rows.backlog_pkts, backlog_bytes: rows.backlog_bytes, seq: rows.seq,
    })
}
