//! Players: a clip played over an ideal link, clips that ship, and players written in Python.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_sim::player::{
    self, Algorithm, Choice, Clip, Draws, Link, Period, Player, PythonPlayer, Segment, Session, Settings, State,
};

use crate::columns::columns;
use crate::error::{StudyError, plain};

/// What a clip is made of in Python: seconds of a segment, rates in kb/s, and sizes in bytes by segment and level.
pub(crate) type Sizes = (f64, Vec<f64>, Vec<Vec<u64>>);

/// A clip as Python has it.
pub(crate) fn sizes(clip: &Clip) -> Sizes {
    (clip.segment_s(), clip.rates_kbps().to_vec(), (0..clip.len()).map(|k| clip.sizes_of(k).to_vec()).collect())
}

/// Where a player in Python leaves what went wrong, since the engine cannot raise it.
pub(crate) type Trouble = Arc<Mutex<Option<PyErr>>>;

/// A player in Python: `sojourn.parts.player.Bridge`, which takes and gives plain numbers.
pub(crate) struct Bridge {
    object: Option<Py<PyAny>>,
    trouble: Trouble,
}

impl Bridge {
    /// Makes the player that a scenario names.
    pub(crate) fn new(python: &PythonPlayer, clip: &Clip, limit_s: f64, trouble: &Trouble) -> Self {
        let object = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let options = serde_json::to_string(&python.options).unwrap_or_default();
            let made = py.import("sojourn.parts.player")?.getattr("bridge")?;
            Ok(made.call1((&python.class, options, sizes(clip), limit_s))?.unbind())
        });
        Self { object: keep(object, trouble), trouble: trouble.clone() }
    }
}

/// The value, or none and its error in `trouble` if it is the first.
fn keep<T>(result: PyResult<T>, trouble: &Trouble) -> Option<T> {
    result
        .map_err(|error| {
            if let Ok(mut first) = trouble.lock() {
                first.get_or_insert(error);
            }
        })
        .ok()
}

/// Raises what went wrong in a player, if anything did.
pub(crate) fn raise(trouble: &Trouble) -> PyResult<()> {
    trouble.lock().ok().and_then(|mut first| first.take()).map_or(Ok(()), Err)
}

impl Player for Bridge {
    fn segment_done(&mut self, segment: &Segment) {
        let Some(object) = &self.object else { return };
        let Segment { index, level, bytes, request_s, first_byte_s, arrive_s, buffer_s } = *segment;
        let told = Python::attach(|py| {
            let numbers = (index + 1, level + 1, bytes, request_s, first_byte_s, arrive_s, buffer_s);
            object.call_method1(py, "segment_done", numbers).map(drop)
        });
        if keep(told, &self.trouble).is_none() {
            self.object = None;
        }
    }

    fn choose(&mut self, state: &State<'_>) -> Choice {
        let lowest = Choice::at_once(0);
        let Some(object) = &self.object else { return lowest };
        let State { segment, now_s, arrived_s, waited_s, buffer_s, last, .. } = *state;
        let chosen = Python::attach(|py| {
            let numbers = (segment + 1, now_s, arrived_s, waited_s, buffer_s, last.map(|level| level + 1));
            object.call_method1(py, "choose", numbers)?.extract::<(usize, f64)>(py)
        });
        match keep(chosen, &self.trouble) {
            Some((level, wait_s)) => Choice { level: level.max(1) - 1, wait_s },
            None => {
                self.object = None;
                lowest
            }
        }
    }
}

/// A clip that ships: `(segment_s, rates_kbps, sizes)`.
#[pyfunction]
pub(crate) fn clip(name: &str) -> PyResult<Sizes> {
    let clip = player::shipped(name).ok_or_else(|| {
        StudyError::new_err(format!(
            "{name:?} is not a clip that ships: expected one of {}",
            player::SHIPPED.join(", ")
        ))
    })?;
    Ok(sizes(&clip))
}

/// Names of the clips that ship.
#[pyfunction]
pub(crate) fn clips() -> [&'static str; player::SHIPPED.len()] {
    player::SHIPPED
}

/// Play a clip over an ideal link. `algorithm` is JSON as in a study file, or a bridge to a player in Python; `periods`
/// are of (seconds, kb/s, latency in seconds). `initial` and `resume` are seconds of buffer, by default as the
/// algorithm's own players have them. Returns columns, one row for each segment.
#[pyfunction]
#[pyo3(signature = (algorithm, clip, periods, buffer, initial = None, resume = None, draws = None, seed = 1))]
#[allow(clippy::too_many_arguments, reason = "all that a viewing is made of")]
pub(crate) fn play<'py>(
    py: Python<'py>,
    algorithm: &Bound<'py, PyAny>,
    clip: Sizes,
    periods: Vec<(f64, f64, f64)>,
    buffer: f64,
    initial: Option<f64>,
    resume: Option<f64>,
    draws: Option<Vec<f64>>,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let wrong = |error: String| StudyError::new_err(error);
    let (segment_s, rates_kbps, sizes) = clip;
    let clip = Rc::new(Clip::new(segment_s, rates_kbps, &sizes).map_err(wrong)?);
    let periods =
        periods.into_iter().map(|(duration_s, rate_kbps, latency_s)| Period { duration_s, rate_kbps, latency_s });
    let mut link = Link::new(periods.collect()).map_err(wrong)?;
    let draws = match draws {
        Some(given) if given.len() < clip.len() || given.iter().any(|u| !(0.0..=1.0).contains(u)) => {
            let (found, needed) = (given.len(), clip.len());
            return Err(wrong(format!("{found} draws: expected one of 0 to 1 for each of the {needed} segments")));
        }
        Some(given) => Draws::Given(given),
        None => Draws::Random(sojourn_sim::stream::stream(seed, 0, "play")),
    };
    let trouble = Trouble::default();
    let (player, at_once): (Box<dyn Player>, bool) = if let Ok(text) = algorithm.extract::<String>() {
        let algorithm: Algorithm = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("the algorithm and its options: {}", plain(&error))))?;
        algorithm.check().map_err(|(key, message)| wrong(format!("{key}: {message}")))?;
        match algorithm.player(&clip, buffer, draws) {
            Some(player) => (player, algorithm.starts_at_once()),
            None => return Err(wrong("a player in Python is given as an object".to_owned())),
        }
    } else {
        (Box::new(Bridge { object: Some(algorithm.clone().unbind()), trouble: trouble.clone() }), false)
    };
    let initial_s = initial.unwrap_or(if at_once { segment_s } else { 12.0 });
    let resume_s = resume.unwrap_or(if at_once { segment_s } else { 4.0 });
    if !(initial_s >= 0.0 && resume_s >= 0.0) {
        return Err(wrong(format!("a start at {initial_s} s and {resume_s} s of buffer: expected zero or more")));
    }
    let settings = Settings { buffer_s: buffer, initial_s, resume_s };
    let mut session = Session::new(clip, player, settings).map_err(wrong)?;
    player::play(&mut session, &mut link);
    let started = session.playback().started_s();
    let result = segments(py, &session)?;
    result.set_item("started_s", started)?;
    raise(&trouble)?;
    Ok(result)
}

/// The segments asked for, as columns.
pub(crate) fn segments<'py>(py: Python<'py>, session: &Session) -> PyResult<Bound<'py, PyDict>> {
    let rows = session.rows();
    columns!(py, of rows.iter(), {
        decide_s: |row| row.decide_s,
        request_s: |row| row.segment.request_s,
        first_byte_s: |row| row.segment.first_byte_s,
        arrive_s: |row| row.segment.arrive_s,
        before_s: |row| row.before_s,
        after_s: |row| row.segment.buffer_s,
        stall_s: |row| row.stall_s,
        estimate_kbps: |row| row.estimate_kbps.unwrap_or(f64::NAN),
        level: |row| row.segment.level as u32 + 1,
        bytes: |row| row.segment.bytes,
    })
}
