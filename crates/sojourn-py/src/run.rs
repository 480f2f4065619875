//! One simulation: a point in, summary and NumPy columns out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::log::{DropCause, Kind};
use sojourn_net::{Span, Time};
use sojourn_sim::Outside;
use sojourn_sim::record::{FlowTable, Log};
use sojourn_sim::scenario::{Scenario, Users};
use sojourn_sim::source::{
    AdaptiveTable, BrowserTable, Schedule, StallTable, VideoTable, ViewerTable, VoiceTable, WebTable,
};
use sojourn_sim::way::Way;

use crate::columns::columns;
use crate::error::StudyError;
use crate::play::{Bridge, Trouble, raise};

/// A point as [`crate::study::points`] writes it, as far as the engine needs it.
#[derive(serde::Deserialize)]
pub(crate) struct Point {
    pub(crate) seed: u64,
    pub(crate) replication: u32,
    pub(crate) document: Scenario,
}

/// The packets of one clip: send times in ns from the showing's beginning, and bytes at IP.
type Clip<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u16>);

/// Simulate a point (JSON). `log` keeps the packet log whether or not the point asks for it. `progress` is called now and then with
/// the simulated seconds; `packets` takes the packet log in pieces as it is made (dicts of NumPy columns, each of one link), and then it is not
/// returned. `clips` gives, for the place of each video user among the point's users, the packets of its clips: pairs of arrays
/// `send_ns` (u64, never falling) and `size_bytes` (u16). Returns a dict: `summary` (JSON) and one dict of NumPy columns for each table.
#[pyfunction]
#[pyo3(signature = (point, log = false, progress = None, packets = None, clips = None))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    point: &str,
    log: bool,
    progress: Option<Py<PyAny>>,
    packets: Option<Py<PyAny>>,
    clips: Option<BTreeMap<usize, Vec<Clip<'py>>>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut point: Point =
        serde_json::from_str(point).map_err(|error| StudyError::new_err(format!("this is not a point: {error}")))?;
    if let Some(file) = point.document.missing_file() {
        return Err(StudyError::new_err(format!("the text of {file} is not in the point; fill it in as content")));
    }
    point.document.record.packets |= log;
    give_clips(&mut point.document, clips.unwrap_or_default())?;
    point.document.users.iter().try_for_each(|users| users.ready().map_err(StudyError::new_err))?;
    let mut interrupted = Ok(());
    let trouble = Trouble::default();
    let (outcome, refused) = py.detach(|| {
        let refused = RefCell::new(Ok(()));
        let Point { seed, replication, document } = &point;
        let mut watch = |now: Time| {
            interrupted = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |call| call.call1(py, (now.as_secs(),)).map(drop))
            });
            interrupted.is_ok() && refused.borrow().is_ok() && trouble.lock().is_ok_and(|error| error.is_none())
        };
        let mut sink = |way: Way, log: Log| {
            let mut refused = refused.borrow_mut();
            if let (true, Some(call)) = (refused.is_ok(), &packets) {
                *refused = Python::attach(|py| call.call1(py, (of_link(py, way, log)?,)).map(drop));
            }
        };
        let outside = Outside {
            log: packets.is_some().then_some(&mut sink as _),
            tap: None,
            players: Some(&|python, clip, limit_s| Box::new(Bridge::new(python, clip, limit_s, &trouble))),
        };
        let outcome = sojourn_sim::run_into(document, *seed, *replication, &mut watch, outside);
        (outcome, refused.into_inner())
    });
    interrupted?;
    refused?;
    raise(&trouble)?;
    let Some(outcome) = outcome else {
        return Err(pyo3::exceptions::PyRuntimeError::new_err("the simulation was stopped"));
    };
    let result = PyDict::new(py);
    let summary = serde_json::to_string(&outcome.summary)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    result.set_item("summary", summary)?;
    if !outcome.tables.video.user.is_empty() {
        result.set_item("video", video(py, outcome.tables.video)?)?;
    }
    if !outcome.tables.voice.user.is_empty() {
        result.set_item("voice", voice(py, outcome.tables.voice)?)?;
    }
    if !outcome.tables.web.user.is_empty() {
        result.set_item("web", web(py, outcome.tables.web)?)?;
    }
    if let Some(table) = outcome.flows {
        result.set_item("flows", flows(py, table)?)?;
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
        result.set_item("packets", columns_of_logs(py, logs)?)?;
    }
    Ok(result)
}

/// The packet logs of both links as one dict of columns.
pub(crate) fn columns_of_logs(py: Python<'_>, [mut down, up]: [Log; 2]) -> PyResult<Bound<'_, PyDict>> {
    let links = [vec![Way::Down as u8; down.rows() as usize], vec![Way::Up as u8; up.rows() as usize]].concat();
    let numbers = (0..down.rows()).chain(0..up.rows()).collect();
    down.append(up);
    columns_of(py, links, numbers, down)
}

/// Names of the kinds of packets, in the order of their codes in the packet log.
#[pyfunction]
pub(crate) fn packet_kinds() -> [&'static str; Kind::ALL.len()] {
    Kind::ALL.map(Kind::name)
}

/// Names of the kinds that are UDP; all others are TCP.
#[pyfunction]
pub(crate) fn udp_kinds() -> Vec<&'static str> {
    Kind::ALL.into_iter().filter(|kind| kind.is_udp()).map(Kind::name).collect()
}

/// Names of the causes of drops, in the order of their codes in the packet log; 255 stands for none.
#[pyfunction]
pub(crate) fn drop_causes() -> [&'static str; DropCause::ALL.len()] {
    DropCause::ALL.map(DropCause::name)
}

/// Gives video users the packets of their clips.
fn give_clips(scenario: &mut Scenario, mut clips: BTreeMap<usize, Vec<Clip<'_>>>) -> PyResult<()> {
    for (place, user) in scenario.users.iter_mut().enumerate() {
        let Users::Video(video) = user else { continue };
        let found = clips.remove(&place).filter(|clips| !clips.is_empty()).ok_or_else(|| {
            StudyError::new_err(format!("users.{place} is shown video, and the packets of its clips were not given"))
        })?;
        video.schedules = found.iter().map(|(send, size)| schedule(send, size)).collect::<PyResult<_>>()?;
    }
    match clips.keys().next() {
        Some(place) => Err(StudyError::new_err(format!("clips were given for users.{place}, which is no video user"))),
        None => Ok(()),
    }
}

fn schedule(send: &PyReadonlyArray1<'_, u64>, size: &PyReadonlyArray1<'_, u16>) -> PyResult<Arc<Schedule>> {
    let send = send.as_slice()?.iter().map(|ns| Span(*ns)).collect();
    Schedule::new(send, size.as_slice()?.to_vec())
        .map(Arc::new)
        .map_err(|error| StudyError::new_err(format!("these are not the packets of a clip: {error}")))
}

fn video(py: Python<'_>, table: VideoTable) -> PyResult<Bound<'_, PyDict>> {
    let VideoTable { user, showing, clip, seq, sent_ns, delay_ns } = table;
    columns!(py, {
        user: user, showing: showing, clip: clip, seq: seq, sent_ns: sent_ns, delay_ns: delay_ns,
    })
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
        given_up,
    } = table;
    columns!(py, {
        user: user, segment: segment, level: level, rate_kbps: rate_kbps, bytes: bytes, request_ns: request_ns,
        first_byte_ns: first_byte_ns, arrive_ns: arrive_ns, before_s: before_s, after_s: after_s,
        estimate_kbps: estimate_kbps, given_up: given_up,
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
