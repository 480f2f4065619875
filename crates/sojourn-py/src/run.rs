//! One simulation: a point in, summary and NumPy columns out.

use std::cell::RefCell;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::Time;
use sojourn_net::probe::DropCause;
use sojourn_sim::packet::Kind;
use sojourn_sim::record::{FlowTable, Log};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::source::{VoiceTable, WebTable};
use sojourn_sim::wire::Way;

use crate::error::StudyError;

/// A point as [`crate::study::points`] writes it, as far as the engine needs it.
#[derive(serde::Deserialize)]
struct Point {
    seed: u64,
    replication: u32,
    document: Scenario,
}

/// Simulate a point (JSON). `log` keeps the packet log whether or not the point asks for it. `progress` is called now and then with
/// the simulated seconds; `packets` takes the packet log in pieces as it is made (dicts of NumPy columns, each of one link), and then it is not
/// returned. Returns a dict: `summary` (JSON) and one dict of NumPy columns for each table.
#[pyfunction]
#[pyo3(signature = (point, log = false, progress = None, packets = None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    point: &str,
    log: bool,
    progress: Option<Py<PyAny>>,
    packets: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut point: Point =
        serde_json::from_str(point).map_err(|error| StudyError::new_err(format!("this is not a point: {error}")))?;
    point.document.record.packets |= log;
    let mut interrupted = Ok(());
    let (outcome, refused) = py.detach(|| {
        let refused = RefCell::new(Ok(()));
        let Point { seed, replication, document } = &point;
        let mut watch = |now: Time| {
            interrupted = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |call| call.call1(py, (now.as_secs(),)).map(drop))
            });
            interrupted.is_ok() && refused.borrow().is_ok()
        };
        let outcome = match &packets {
            None => sojourn_sim::run(document, *seed, *replication, &mut watch),
            Some(call) => {
                let mut sink = |way: Way, log: Log| {
                    let mut refused = refused.borrow_mut();
                    if refused.is_ok() {
                        *refused = Python::attach(|py| call.call1(py, (of_link(py, way, log)?,)).map(drop));
                    }
                };
                sojourn_sim::run_logging(document, *seed, *replication, &mut watch, Some(&mut sink))
            }
        };
        (outcome, refused.into_inner())
    });
    interrupted?;
    refused?;
    let Some(outcome) = outcome else {
        return Err(pyo3::exceptions::PyRuntimeError::new_err("the simulation was stopped"));
    };
    let result = PyDict::new(py);
    let summary = serde_json::to_string(&outcome.summary)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    result.set_item("summary", summary)?;
    if !outcome.tables.voice.user.is_empty() {
        result.set_item("voice", voice(py, outcome.tables.voice)?)?;
    }
    if !outcome.tables.web.user.is_empty() {
        result.set_item("web", web(py, outcome.tables.web)?)?;
    }
    if let Some(table) = outcome.flows {
        result.set_item("flows", flows(py, table)?)?;
    }
    if let Some([mut down, up]) = outcome.logs {
        let links = [vec![Way::Down as u8; down.rows() as usize], vec![Way::Up as u8; up.rows() as usize]].concat();
        let numbers = (0..down.rows()).chain(0..up.rows()).collect();
        down.append(up);
        result.set_item("packets", columns_of(py, links, numbers, down)?)?;
    }
    Ok(result)
}

/// Names of the kinds of packets, in the order of their codes in the packet log.
#[pyfunction]
pub(crate) fn packet_kinds() -> [&'static str; 5] {
    Kind::NAMES
}

/// Names of the causes of drops, in the order of their codes in the packet log; 255 stands for none.
#[pyfunction]
pub(crate) fn drop_causes() -> [&'static str; DropCause::ALL.len()] {
    DropCause::ALL.map(DropCause::name)
}

/// Sets each column of a table as a NumPy array, without copying.
macro_rules! columns {
    ($py:expr, { $($name:ident: $values:expr),* $(,)? }) => {{
        let table = PyDict::new($py);
        $(table.set_item(stringify!($name), $values.into_pyarray($py))?;)*
        Ok(table)
    }};
}

fn voice(py: Python<'_>, table: VoiceTable) -> PyResult<Bound<'_, PyDict>> {
    let VoiceTable { user, call, direction, seq, sent_ns, delay_ns } = table;
    columns!(py, {
        user: user, call: call, direction: direction, seq: seq, sent_ns: sent_ns, delay_ns: delay_ns,
    })
}

fn web(py: Python<'_>, table: WebTable) -> PyResult<Bound<'_, PyDict>> {
    let WebTable { user, start_ns, plt_ns, complete, rtt_ns, repair_ns, retransmits } = table;
    columns!(py, {
        user: user, start_ns: start_ns, plt_ns: plt_ns, complete: complete, rtt_ns: rtt_ns, repair_ns: repair_ns,
        retransmits: retransmits,
    })
}

fn flows(py: Python<'_>, table: FlowTable) -> PyResult<Bound<'_, PyDict>> {
    let FlowTable {
        flow,
        link,
        bytes,
        packets,
        lost,
        retransmits,
        start_ns,
        end_ns,
        mean_cwnd_pkts,
        initial_ssthresh_pkts,
        mean_rtt_ns,
    } = table;
    columns!(py, {
        flow: flow, link: link, bytes: bytes, packets: packets, lost: lost, retransmits: retransmits, start_ns: start_ns,
        end_ns: end_ns, mean_cwnd_pkts: mean_cwnd_pkts, initial_ssthresh_pkts: initial_ssthresh_pkts,
        mean_rtt_ns: mean_rtt_ns,
    })
}

fn of_link(py: Python<'_>, way: Way, log: Log) -> PyResult<Bound<'_, PyDict>> {
    let links = vec![way as u8; log.rows() as usize];
    let numbers = (log.first..log.first + log.rows()).collect();
    columns_of(py, links, numbers, log)
}

fn columns_of(py: Python<'_>, link: Vec<u8>, packet: Vec<u32>, log: Log) -> PyResult<Bound<'_, PyDict>> {
    let Log { first: _, flow, kind, size_bytes, arrive_ns, depart_ns, drop_cause, backlog_pkts, backlog_bytes, seq } =
        log;
    columns!(py, {
        link: link, packet: packet, flow: flow, kind: kind, size_bytes: size_bytes, arrive_ns: arrive_ns,
        depart_ns: depart_ns, drop_cause: drop_cause, backlog_pkts: backlog_pkts, backlog_bytes: backlog_bytes, seq: seq,
    })
}
