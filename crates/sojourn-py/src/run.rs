//! One simulation: a point in, summary and NumPy columns out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::log::{DropCause, Kind};
use sojourn_net::{Span, Time};
use sojourn_sim::RunHooks;
use sojourn_sim::app::Schedule;
use sojourn_sim::document;
use sojourn_sim::scenario::{Scenario, Users};
use sojourn_sim::stats::{Column, Log};

use crate::columns::dict;
use crate::error::{StudyError, json};
use crate::play::{Bridge, Trouble, raise};

/// A point as [`crate::study::points`] writes it, as far as the engine needs it.
#[derive(serde::Deserialize)]
pub(crate) struct Point {
    pub(crate) seed: u64,
    pub(crate) replication: u32,
    pub(crate) document: Scenario,
}

impl Point {
    pub(crate) fn read(text: &str) -> PyResult<Self> {
        document::from_json(text).map_err(|error| StudyError::new_err(format!("this is not a point: {error}")))
    }
}

/// The packets of one clip: send times in ns from the showing's beginning, and bytes at IP.
type Clip<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u16>);

/// Simulate a point (JSON). `log` keeps the packet log whether or not the point asks for it. `progress` is called now
/// and then with the simulated seconds; `packets` takes the packet log in pieces as it is made (dicts of NumPy columns,
/// each of one link), and then it is not returned. `clips` gives, for the place of each video user among the point's
/// users, the packets of its clips, and for that of each voice user with DTX those of its samples of speech: pairs of
/// arrays `send_ns` (u64, never falling) and `size_bytes` (u16). Returns a dict: `summary` (JSON) and one dict of NumPy
/// columns for each table.
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
    let mut point = Point::read(point)?;
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
        let one_queue = point.document.has_one_queue();
        let mut sink = |link: usize, first: u32, log: Log| {
            let mut refused = refused.borrow_mut();
            if let (true, Some(call)) = (refused.is_ok(), &packets) {
                *refused =
                    Python::attach(|py| call.call1(py, (of_link(py, (link, one_queue), first, log)?,)).map(drop));
            }
        };
        let hooks = RunHooks {
            log: packets.is_some().then_some(&mut sink as _),
            tap: None,
            players: Some(&|python, clip, limit_s| Box::new(Bridge::new(python, clip, limit_s, &trouble))),
        };
        let outcome = sojourn_sim::run_into(document, *seed, *replication, &mut watch, hooks);
        (outcome, refused.into_inner())
    });
    interrupted?;
    refused?;
    raise(&trouble)?;
    let Some(outcome) = outcome else {
        return Err(pyo3::exceptions::PyRuntimeError::new_err("the simulation was stopped"));
    };
    let result = PyDict::new(py);
    result.set_item("summary", json(&outcome.summary)?)?;
    let tables = outcome.tables;
    let has_series = outcome.series.is_some();
    let (flow_series, queue_series) = outcome.series.unwrap_or_default();
    let has_viewers = !tables.viewers.user.is_empty();
    let columns = [
        ("video", !tables.video.user.is_empty(), tables.video.into_columns()),
        ("voice", !tables.voice.user.is_empty(), tables.voice.into_columns()),
        ("web", !tables.web.user.is_empty(), tables.web.into_columns()),
        ("flows", outcome.flows.is_some(), outcome.flows.unwrap_or_default().into_columns()),
        ("series", has_series, flow_series.into_columns()),
        ("queues", has_series, queue_series.into_columns()),
        ("adaptive", has_viewers, tables.adaptive.into_columns()),
        ("viewers", has_viewers, tables.viewers.into_columns()),
        ("stalls", has_viewers, tables.stalls.into_columns()),
        ("live", !tables.live.user.is_empty(), tables.live.into_columns()),
        ("browser", !tables.browser.user.is_empty(), tables.browser.into_columns()),
        ("probes", !tables.intervals.user.is_empty(), tables.probes.into_columns()),
        ("intervals", !tables.intervals.user.is_empty(), tables.intervals.into_columns()),
        ("page", !tables.page.user.is_empty(), tables.page.into_columns()),
        ("call", !tables.call_rates.user.is_empty(), tables.call.into_columns()),
        ("call_rates", !tables.call_rates.user.is_empty(), tables.call_rates.into_columns()),
        ("game", !tables.game.user.is_empty(), tables.game.into_columns()),
    ];
    for (name, _, columns) in columns.into_iter().filter(|(_, is_made, _)| *is_made) {
        result.set_item(name, dict(py, columns)?)?;
    }
    if point.document.record.packets {
        result.set_item("origins", numpy::PyArray1::from_vec(py, outcome.origins))?;
    }
    if let Some(logs) = outcome.logs {
        result.set_item("packets", columns_of_logs(py, logs, point.document.has_one_queue())?)?;
    }
    Ok(result)
}

/// The packet logs of all links as one dict of columns.
pub(crate) fn columns_of_logs(py: Python<'_>, logs: Vec<Log>, one_queue: bool) -> PyResult<Bound<'_, PyDict>> {
    let links = logs.iter().enumerate().flat_map(|(link, log)| vec![link as u8; log.rows() as usize]).collect();
    let numbers = logs.iter().flat_map(|log| 0..log.rows()).collect();
    let mut all = Log::default();
    for mut log in logs {
        all.append(&mut log);
    }
    columns_of_log(py, links, numbers, all, one_queue)
}

/// The names of a point's links, in the order of their codes in the packet log.
#[pyfunction]
pub(crate) fn links(point: &str) -> PyResult<Vec<String>> {
    Point::read(point).map(|point| point.document.link_names())
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

/// Gives video users the packets of their clips, and callers who do not send their pauses those of their speech.
fn give_clips(scenario: &mut Scenario, mut clips: BTreeMap<usize, Vec<Clip<'_>>>) -> PyResult<()> {
    for (place, user) in scenario.users.iter_mut().enumerate() {
        let (schedules, needs) = match user {
            Users::Video(video) => (&mut video.schedules, "is shown video, and the packets of its clips"),
            Users::Voice(voice) if voice.pauses() => {
                (&mut voice.schedules, "sends no pauses (dtx), and the packets of its speech")
            }
            _ => continue,
        };
        let found = clips.remove(&place).filter(|clips| !clips.is_empty());
        let found = found.ok_or_else(|| StudyError::new_err(format!("users.{place} {needs} were not given")))?;
        *schedules = found.iter().map(|(send, size)| schedule(send, size)).collect::<PyResult<_>>()?;
    }
    match clips.keys().next() {
        Some(place) => Err(StudyError::new_err(format!("clips were given for users.{place}, which needs none"))),
        None => Ok(()),
    }
}

fn schedule(send: &PyReadonlyArray1<'_, u64>, size: &PyReadonlyArray1<'_, u16>) -> PyResult<Arc<Schedule>> {
    let send = send.as_slice()?.iter().map(|ns| Span(*ns)).collect();
    Schedule::new(send, size.as_slice()?.to_vec())
        .map(Arc::new)
        .map_err(|error| StudyError::new_err(format!("these are not the packets of a clip: {error}")))
}

/// The packet log of one link, from the row with the number `first` on.
fn of_link(py: Python<'_>, (link, one_queue): (usize, bool), first: u32, log: Log) -> PyResult<Bound<'_, PyDict>> {
    let links = vec![link as u8; log.rows() as usize];
    let numbers = (first..first + log.rows()).collect();
    columns_of_log(py, links, numbers, log, one_queue)
}

/// `one_queue`: a packet crosses one link, so a column that says which rows are of one packet says nothing.
fn columns_of_log(
    py: Python<'_>,
    link: Vec<u8>,
    packet: Vec<u32>,
    log: Log,
    one_queue: bool,
) -> PyResult<Bound<'_, PyDict>> {
    let before: [(_, Column); 2] = [("link", link.into()), ("packet", packet.into())];
    let columns = log.into_columns().into_iter().filter(|(name, _)| !one_queue || *name != "journey");
    dict(py, before.into_iter().chain(columns))
}
