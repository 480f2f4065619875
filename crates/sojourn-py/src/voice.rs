//! Calls out of the voice table, and their scores; see `sojourn.qoe.voice`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_qoe::calls::{self, Packet};
use sojourn_qoe::method::Method;
use sojourn_qoe::{speech, voice};
use sojourn_sim::document;
use sojourn_sim::scenario::Users;

use crate::columns::columns;
use crate::error::json;

type Column<'py, T> = PyReadonlyArray1<'py, T>;
type Ends = Vec<(usize, usize)>;

/// One direction of a call, as it came out of the playout buffer.
#[pyclass(frozen, module = "sojourn._core")]
pub(crate) struct Heard {
    heard: calls::Heard,
    method: Method,
}

fn count(flags: &[bool]) -> usize {
    flags.iter().filter(|flag| **flag).count()
}

#[pymethods]
impl Heard {
    #[getter]
    fn direction(&self) -> u8 {
        self.heard.direction
    }
    #[getter]
    fn user(&self) -> u32 {
        self.heard.user
    }
    #[getter]
    fn call(&self) -> u32 {
        self.heard.call
    }
    #[getter]
    fn sample(&self) -> usize {
        self.heard.sample
    }
    #[getter]
    fn packets(&self) -> usize {
        self.heard.packets()
    }
    #[getter]
    fn lost(&self) -> usize {
        count(&self.heard.played.lost)
    }
    #[getter]
    fn late(&self) -> usize {
        count(&self.heard.played.late)
    }
    #[getter]
    fn delay_ms(&self) -> f64 {
        self.heard.delay_ms
    }
    #[getter]
    fn ta_ms(&self) -> f64 {
        self.heard.ta_ms
    }
    #[getter]
    fn z2(&self) -> f64 {
        voice::delay_impairment(&self.heard)
    }
    /// What the E-model says of the sound: its rating, and what the score has to say of itself.
    fn by_formula(&self) -> (f64, String) {
        (voice::rating(&self.heard, &self.method), self.method.note())
    }
    /// Opinion score of the call, its sound rated so.
    fn opinion(&self, z1: f64) -> f64 {
        voice::opinion(&self.heard, z1)
    }
    /// The pieces that are listened to alone, each a dict: `began_ns`, and columns of its frames.
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let piece = |piece: calls::Piece| {
            let calls::Piece { began_ns, carried, erased, lost, late, ahead, silent } = piece;
            let carried: Vec<_> = carried.into_iter().map(|frame| frame as i64).collect();
            let found = columns!(py, {
                carried: carried, erased: erased, lost: lost, late: late, ahead: ahead, silent: silent,
            })?;
            found.set_item("began_ns", began_ns)?;
            Ok(found)
        };
        self.heard.pieces().into_iter().map(piece).collect()
    }
}

/// What every direction of every call heard: of an entry of `users` (JSON), its rows of the voice table, and for each
/// sample of speech the frames in which somebody speaks. Raises ValueError if they do not go together.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a column each")]
pub(crate) fn heard(
    entry: &str,
    user: Column<'_, u32>,
    call: Column<'_, u32>,
    direction: Column<'_, u8>,
    seq: Column<'_, u16>,
    sent_ns: Column<'_, u64>,
    delay_ns: Column<'_, i64>,
    talk: Vec<Column<'_, bool>>,
) -> PyResult<Vec<Heard>> {
    let Users::Voice(entry) = document::from_json(entry).map_err(PyValueError::new_err)? else {
        return Err(PyValueError::new_err("this user makes no calls"));
    };
    let method = Method::of(&entry);
    let (user, call, direction) = (user.as_slice()?, call.as_slice()?, direction.as_slice()?);
    let (seq, sent_ns, delay_ns) = (seq.as_slice()?, sent_ns.as_slice()?, delay_ns.as_slice()?);
    let talk = talk.iter().map(|talk| Ok(talk.as_slice()?.to_vec())).collect::<PyResult<Vec<_>>>()?;
    let row = |i: usize| Packet {
        direction: direction[i],
        user: user[i],
        call: call[i],
        seq: seq[i],
        sent_ns: sent_ns[i],
        delay_ns: delay_ns[i],
    };
    let found = calls::heard((0..user.len()).map(row).collect(), &method, &talk).map_err(PyValueError::new_err)?;
    Ok(found.into_iter().map(|heard| Heard { heard, method }).collect())
}

/// Which frame of a sample each frame of a call carries, and the ends of the pieces that are scored alone.
#[pyfunction]
pub(crate) fn carried<'py>(
    py: Python<'py>,
    count: usize,
    talk: Column<'_, bool>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Ends)> {
    let found = speech::carried(count, talk.as_slice()?);
    let frames: Vec<_> = found.frames.into_iter().map(|frame| frame as i64).collect();
    Ok((frames.into_pyarray(py), found.pieces.into_iter().map(|piece| (piece.start, piece.end)).collect()))
}

/// One direction of a call, scored: the attributes of `sojourn.qoe.voice.Call`.
fn call(scored: &Bound<'_, PyAny>) -> PyResult<voice::Call> {
    macro_rules! of_attributes {
        ($($name:ident),*) => {
            Ok(voice::Call { $($name: scored.getattr(stringify!($name))?.extract()?),* })
        };
    }
    of_attributes!(direction, mos, z1, z2, lqo, packets, lost, late, delay_ms, ta_ms, unscored, model, speech, note)
}

/// Statistics over calls (JSON): see `sojourn.qoe.voice.summary`.
#[pyfunction]
pub(crate) fn voice_summary(scored: Vec<Bound<'_, PyAny>>) -> PyResult<String> {
    json(&voice::summary(&scored.iter().map(call).collect::<PyResult<Vec<_>>>()?))
}
