//! The viewers of a point, one by one, for whoever drives them by a clock and a network of its own: the same clips,
//! players, draws and starts as in the simulation.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rand::RngExt;
use sojourn_sim::MakePlayer;
use sojourn_sim::player::{Next, Session};
use sojourn_sim::scenario::Users;
use sojourn_sim::stream::stream;

use crate::error::StudyError;
use crate::play::{self, Bridge, Sizes, Trouble, raise};
use crate::run::Point;

/// One viewing of a clip. Times are in seconds since the session began, which is when the connection stood.
#[pyclass(unsendable, module = "sojourn._core")]
pub(crate) struct Viewing {
    session: Session,
    trouble: Trouble,
    /// Its place among the entries of `users`.
    #[pyo3(get)]
    entry: usize,
    /// Its number among all users.
    #[pyo3(get)]
    user: u32,
    /// When its connection is opened, in seconds of the run.
    #[pyo3(get)]
    start_s: f64,
}

/// A request: segment and level from 1, and bytes.
type Request = (usize, usize, u64);

#[derive(IntoPyObject)]
pub(crate) enum Step {
    Wait(f64),
    Request(Request),
}

#[pymethods]
impl Viewing {
    /// What to do now: wait so many seconds, request (segment, level, bytes), or nothing more.
    fn next(&mut self, now_s: f64) -> PyResult<Option<Step>> {
        let next = self.session.next(now_s);
        raise(&self.trouble)?;
        Ok(match next {
            Next::Wait(seconds) => Some(Step::Wait(seconds)),
            next => request(next).map(Step::Request),
        })
    }

    /// So many bytes of the segment under way have come: what to request in its place, if it is to be given up.
    fn progress(&mut self, first_byte_s: f64, now_s: f64, done: u64) -> Option<Request> {
        self.session.progress(first_byte_s, now_s, done).and_then(request)
    }

    /// The segment under way has arrived.
    fn arrived(&mut self, first_byte_s: f64, now_s: f64) -> PyResult<()> {
        self.session.arrived(first_byte_s, now_s);
        raise(&self.trouble)
    }

    /// The segments asked for, as columns; times that have not come are infinite.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = play::segments(py, &self.session)?;
        let rows = self.session.rows();
        let rates = self.session.clip().rates_kbps();
        let rated: Vec<f64> = rows.iter().map(|row| rates[row.segment.level]).collect();
        table.set_item("rate_kbps", rated.into_pyarray(py))?;
        let given_up: Vec<u32> = rows.iter().map(|row| row.given_up).collect();
        table.set_item("given_up", given_up.into_pyarray(py))?;
        Ok(table)
    }

    /// When playing began, if it did, and the stalls (from, to); one that lasts is counted up to now.
    fn playback(&mut self, now_s: f64) -> (Option<f64>, Vec<(f64, f64)>) {
        let playback = self.session.playback();
        playback.advance(now_s);
        let ended = playback.stalls().iter().map(|stall| (stall.from_s, stall.to_s));
        let present = playback.stalled_since().map(|since| (since, now_s));
        (playback.started_s(), ended.chain(present).collect())
    }

    /// Seconds of video in a segment, nominal rates in kb/s, and bytes by segment and level.
    fn clip(&self) -> Sizes {
        play::sizes(self.session.clip())
    }
}

fn request(next: Next) -> Option<Request> {
    match next {
        Next::Request { segment, level, bytes } => Some((segment + 1, level + 1, bytes)),
        _ => None,
    }
}

/// The viewers of adaptive video of a point (JSON), in the order of its users.
#[pyfunction]
pub(crate) fn viewings(point: &str) -> PyResult<Vec<Viewing>> {
    let point = Point::read(point)?;
    let (mut made, mut first, mut start_s) = (Vec::new(), 0, 0.0);
    for (entry, users) in point.document.users.iter().enumerate() {
        if let Users::Adaptive(adaptive) = users {
            // Without the list of clips that ship.
            let said = |message: &str| message.rsplit_once(" (").map_or(message, |(said, _)| said).to_owned();
            let clips = adaptive.read_clips().map_err(|message| StudyError::new_err(said(&message)))?;
            let name = users.name().map_or_else(|| format!("users-{entry}"), str::to_owned);
            for k in 0..adaptive.count {
                let mut rng = stream(point.seed, point.replication, &format!("{name}.{k}"));
                // The order of the draws is that of the simulation: start, clip, first segment, the player's.
                start_s += rng.random::<f64>() * (adaptive.start_within.0 as f64 / 1e9);
                let trouble = Trouble::default();
                let bridge: MakePlayer<'_> =
                    &|python, clip, limit_s| Box::new(Bridge::new(python, clip, limit_s, &trouble));
                let session = adaptive.session(&clips, bridge, rng).map_err(StudyError::new_err)?;
                raise(&trouble)?;
                made.push(Viewing { session, trouble, entry, user: first + k, start_s });
            }
        }
        first += users.count();
    }
    Ok(made)
}
