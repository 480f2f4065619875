//! A queue by itself: columns of arrivals in, columns of fates and the trace out.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::log::DropCause;
use sojourn_net::{Ecn, Rate, Time};
use sojourn_sim::replay::{Arrival, Departures, Draws, Options, Setting, Trace};
use sojourn_sim::scenario::QueueSpec;

use crate::columns::columns;
use crate::error::{StudyError, plain};

/// Send packets through a queue (JSON, as in a study). `sojourn.parts.queue` says what goes in and comes out.
#[pyfunction]
#[pyo3(signature = (queue, at, size, flow, ecn, rate, times, seed, draws, drawn, state, trace))]
#[expect(clippy::too_many_arguments, reason = "columns from Python, checked there")]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    queue: &str,
    at: PyReadonlyArray1<'py, u64>,
    size: PyReadonlyArray1<'py, u32>,
    flow: PyReadonlyArray1<'py, u32>,
    ecn: PyReadonlyArray1<'py, u8>,
    rate: Option<&str>,
    times: PyReadonlyArray1<'py, u64>,
    seed: u64,
    draws: Option<PyReadonlyArray1<'py, f64>>,
    drawn: &str,
    state: Vec<(String, Option<u32>, f64)>,
    trace: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let queue: QueueSpec =
        serde_json::from_str(queue).map_err(|error| StudyError::new_err(format!("queue: {}", plain(&error))))?;
    let rate: Option<Rate> =
        rate.map(str::parse).transpose().map_err(|error| StudyError::new_err(format!("departures: {error}")))?;
    let packets = at.as_array().into_iter().zip(size.as_array()).zip(flow.as_array()).zip(ecn.as_array());
    let arrivals: Vec<Arrival> = packets
        .map(|(((at, size), flow), ecn)| Arrival { at: Time(*at), size: *size, flow: *flow, ecn: bits(*ecn) })
        .collect();
    let times: Vec<Time> = times.as_array().iter().map(|at| Time(*at)).collect();
    let draws: Option<Vec<f64>> = draws.map(|draws| draws.as_array().to_vec());
    let state: Vec<Setting> = state.into_iter().map(|(name, flow, value)| Setting { name, flow, value }).collect();
    let outcome = py
        .detach(|| {
            let draws = match (&draws, drawn) {
                (None, _) => Draws::Seeded,
                (Some(numbers), "always") if numbers.len() == 1 => Draws::Always(numbers[0]),
                (Some(numbers), "by arrival") => Draws::ByArrival(numbers),
                (Some(numbers), _) => Draws::InOrder(numbers),
            };
            let departures = rate.map_or(Departures::At(&times), Departures::Rate);
            sojourn_sim::replay::replay(&queue, &arrivals, departures, &Options { seed, draws, state: &state, trace })
        })
        .map_err(StudyError::new_err)?;
    let result = columns!(py, of outcome.fates.iter(), {
        time: |fate| fate.at.map_or(-1, |at| at.0 as i64),
        cause: |fate| fate.cause.map_or(-1, |cause| cause as i64),
        marked: |fate| fate.marked,
    })?;
    result.set_item("left", outcome.left.into_pyarray(py))?;
    result.set_item("dropped", outcome.dropped.into_pyarray(py))?;
    result.set_item("causes", DropCause::ALL.map(DropCause::name))?;
    if trace {
        result.set_item("trace", table(py, outcome.trace)?)?;
    }
    Ok(result)
}

fn table(py: Python<'_>, trace: Trace) -> PyResult<Bound<'_, PyDict>> {
    let flows = trace.flows.len();
    let result = columns!(py, {
        time: trace.time, event: trace.event, packet: trace.packet, backlog_pkts: trace.backlog_pkts,
        backlog_bytes: trace.backlog_bytes, flows: trace.flows,
    })?;
    for column in trace.columns {
        let rows = column.values.len() / if column.of_flows { flows.max(1) } else { 1 };
        let values = column.values.into_pyarray(py);
        match column.of_flows {
            true => result.set_item(column.name, values.reshape([rows, flows])?)?,
            false => result.set_item(column.name, values)?,
        }
    }
    Ok(result)
}

/// ECN bits as they stand in the IP header.
fn bits(ecn: u8) -> Ecn {
    match ecn {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}
