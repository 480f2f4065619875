//! One simulation: a point in, summary and NumPy columns out.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::Time;
use sojourn_net::probe::DropCause;
use sojourn_sim::packet::Kind;
use sojourn_sim::record::Log;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::source::{AdaptiveTable, BrowserTable, StallTable, ViewerTable, VoiceTable, WebTable};

use crate::error::StudyError;
use crate::play::{Bridge, Trouble, raise};

/// A point as [`crate::study::points`] writes it, as far as the engine needs it.
#[derive(serde::Deserialize)]
struct Point {
    seed: u64,
    replication: u32,
    document: Scenario,
}

/// Simulate a point (JSON). `log` keeps the packet log whether or not the point asks for it. `progress` is called now and then with
/// the simulated seconds. Returns a dict: `summary` (JSON) and one dict of NumPy columns for each table.
#[pyfunction]
#[pyo3(signature = (point, log = false, progress = None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    point: &str,
    log: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut point: Point =
        serde_json::from_str(point).map_err(|error| StudyError::new_err(format!("this is not a point: {error}")))?;
    point.document.record.packets |= log;
    point.document.users.iter().try_for_each(|users| users.ready().map_err(StudyError::new_err))?;
    let mut interrupted = Ok(());
    let trouble = Trouble::default();
    let outcome = py.detach(|| {
        let mut watch = |now: Time| {
            interrupted = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |call| call.call1(py, (now.as_secs(),)).map(drop))
            });
            interrupted.is_ok() && trouble.lock().is_ok_and(|error| error.is_none())
        };
        sojourn_sim::run_with(&point.document, point.seed, point.replication, &mut watch, &|python, clip, limit_s| {
            Box::new(Bridge::new(python, clip, limit_s, &trouble))
        })
    });
    interrupted?;
    raise(&trouble)?;
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
    if !outcome.tables.viewers.user.is_empty() {
        result.set_item("adaptive", adaptive(py, outcome.tables.adaptive)?)?;
        result.set_item("viewers", viewers(py, outcome.tables.viewers)?)?;
        result.set_item("stalls", stalls(py, outcome.tables.stalls)?)?;
    }
    if !outcome.tables.browser.user.is_empty() {
        result.set_item("browser", browser(py, outcome.tables.browser)?)?;
    }
    if let Some(logs) = outcome.logs {
        result.set_item("packets", packets(py, logs)?)?;
        result.set_item("packet_kinds", Kind::NAMES)?;
        result.set_item("drop_causes", DropCause::ALL.map(DropCause::name))?;
    }
    Ok(result)
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

fn adaptive(py: Python<'_>, table: AdaptiveTable) -> PyResult<Bound<'_, PyDict>> {
    let AdaptiveTable {
        user,
        segment,
        level,
        rate_kbps,
        bytes,
        request_ns,
        first_byte_ns,
        arrive_ns,
        before_s,
        after_s,
        estimate_kbps,
    } = table;
    columns!(py, {
        user: user, segment: segment, level: level, rate_kbps: rate_kbps, bytes: bytes, request_ns: request_ns,
        first_byte_ns: first_byte_ns, arrive_ns: arrive_ns, before_s: before_s, after_s: after_s,
        estimate_kbps: estimate_kbps,
    })
}

fn viewers(py: Python<'_>, table: ViewerTable) -> PyResult<Bound<'_, PyDict>> {
    let ViewerTable { user, start_ns, play_ns, end_ns, segments, segment_s } = table;
    columns!(py, {
        user: user, start_ns: start_ns, play_ns: play_ns, end_ns: end_ns, segments: segments, segment_s: segment_s,
    })
}

fn stalls(py: Python<'_>, table: StallTable) -> PyResult<Bound<'_, PyDict>> {
    let StallTable { user, from_ns, to_ns } = table;
    columns!(py, { user: user, from_ns: from_ns, to_ns: to_ns })
}

fn browser(py: Python<'_>, table: BrowserTable) -> PyResult<Bound<'_, PyDict>> {
    let BrowserTable { user, page, bytes, start_ns, plt_ns, fate } = table;
    columns!(py, { user: user, page: page, bytes: bytes, start_ns: start_ns, plt_ns: plt_ns, fate: fate })
}

fn packets(py: Python<'_>, [down, mut up]: [Log; 2]) -> PyResult<Bound<'_, PyDict>> {
    let (of_down, of_up) = (down.rows(), up.rows());
    let mut link = vec![0u8; of_down as usize];
    link.resize((of_down + of_up) as usize, 1);
    let mut packet: Vec<u32> = (0..of_down).collect();
    packet.extend(0..of_up);
    let mut all = down;
    all.append(&mut up);
    let Log { flow, kind, size_bytes, arrive_ns, depart_ns, drop_cause, backlog_pkts, backlog_bytes, seq } = all;
    columns!(py, {
        link: link, packet: packet, flow: flow, kind: kind, size_bytes: size_bytes, arrive_ns: arrive_ns,
        depart_ns: depart_ns, drop_cause: drop_cause, backlog_pkts: backlog_pkts, backlog_bytes: backlog_bytes, seq: seq,
    })
}
