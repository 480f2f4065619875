//! Samples of a measurement, handed to Python in batches: as NumPy columns, or as the bytes of a file, CSV or Parquet.

use crate::columns::columns;
use crate::sample_table::{Batch, Named, Table};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sojourn_pcap::Protocol;
use sojourn_pcap::decimal::{digits, milliseconds, whole};
use sojourn_pcap::delay::finalize::samples::{Finalized, Sample};
use std::sync::mpsc::sync_channel;

/// Rows of a batch of columns.
const COLUMNS: usize = 1 << 18;
/// Rows of text that are made at a time: they and their text stay in the cache.
const ROWS: usize = 1 << 11;
/// Bytes that are written at a time: memory for more would be asked of the system anew each time.
const GIVEN: usize = 1 << 16;
/// Batches that wait for their text to be made.
const AHEAD: usize = 4;

/// Who is given samples.
pub(crate) struct Takers {
    /// Is called with batches of columns.
    pub(crate) columns: Option<Py<PyAny>>,
    /// Is called with the bytes of a file.
    pub(crate) file: Option<(Py<PyAny>, Rows)>,
}

/// Samples as a file has them.
pub(crate) enum Rows {
    Text(Text),
    Table(Box<Table>),
}

impl Rows {
    /// CSV without a head, or Parquet if there is an Arrow schema of it; with or without a column of uncertainties.
    pub(crate) fn new(arrow: Option<String>, uncertainty: bool) -> Self {
        match arrow {
            None => Self::Text(Text { uncertainty, ..Text::default() }),
            Some(arrow) => Self::Table(Box::new(Table::new(arrow, uncertainty))),
        }
    }

    /// Flows are numbered anew.
    fn renumber(&mut self) {
        match self {
            Self::Text(text) => text.middles.clear(),
            Self::Table(table) => table.renumber(),
        }
    }

    fn write(&mut self, batch: &Batch, write: &Py<PyAny>) -> PyResult<()> {
        let bytes = match self {
            Self::Text(text) => {
                text.add(batch);
                &mut text.bytes
            }
            Self::Table(table) => {
                table.add(batch);
                &mut table.bytes
            }
        };
        give(write, bytes)
    }
}

fn give(write: &Py<PyAny>, bytes: &mut Vec<u8>) -> PyResult<()> {
    if !bytes.is_empty() {
        Python::attach(|py| {
            bytes.chunks(GIVEN).try_for_each(|part| write.call1(py, (PyBytes::new(py, part),)).map(drop))
        })?;
    }
    bytes.clear();
    Ok(())
}

impl Takers {
    /// There are no more samples.
    pub(crate) fn finish(self) -> PyResult<()> {
        match self.file {
            Some((write, Rows::Table(table))) => give(&write, &mut table.finish()),
            _ => Ok(()),
        }
    }
}

/// Hand out all samples of a finalized log; with two threads one makes the rows.
pub(crate) fn hand_out(mut finalized: Finalized<'_>, takers: &mut Takers, threads: usize) -> PyResult<()> {
    let Takers { columns, file } = takers;
    let Some((write, rows)) = file else {
        let Some(call) = &columns else { return Ok(()) };
        let mut samples = Vec::new();
        while finalized.fill(&mut samples, COLUMNS) {
            Python::attach(|py| call.call1(py, (table(py, &samples, &finalized)?,)).map(drop))?;
        }
        return Ok(());
    };
    rows.renumber();
    let mut named: Vec<[bool; 2]> = Vec::new();
    let mut next = |batch: &mut Batch, all: &mut Vec<Sample>| {
        batch.names.clear();
        if !finalized.fill(&mut batch.samples, ROWS) {
            return false;
        }
        for sample in &batch.samples {
            let flow = sample.flow as usize;
            if named.len() <= flow {
                named.resize(flow + 1, [false; 2]);
            }
            if !std::mem::replace(&mut named[flow][usize::from(sample.toward)], true) {
                let (remote, local, flow) = finalized.flow(sample.flow, sample.toward);
                let (remote, local, protocol) = (remote.to_string(), local.to_string(), sample.protocol.name());
                batch.names.push((sample.flow, sample.toward, Named { remote, local, protocol, flow }));
            }
        }
        if columns.is_some() {
            all.extend_from_slice(&batch.samples);
        }
        true
    };
    let mut all = Vec::new();
    if threads < 2 {
        let mut batch = Batch::default();
        while next(&mut batch, &mut all) {
            rows.write(&batch, write)?;
        }
    } else {
        std::thread::scope(|scope| {
            let (full, filled) = sync_channel::<Batch>(AHEAD);
            let (spent, empty) = sync_channel::<Batch>(AHEAD + 2);
            let writer = scope.spawn(move || {
                filled.iter().try_for_each(|batch| {
                    rows.write(&batch, write)?;
                    // At the end nobody wants it back.
                    spent.send(batch).ok();
                    PyResult::Ok(())
                })
            });
            let mut batch = Batch::default();
            while next(&mut batch, &mut all) && full.send(batch).is_ok() {
                batch = empty.try_recv().unwrap_or_default();
            }
            drop(full);
            writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
    }
    if let Some(call) = &columns {
        for samples in all.chunks(COLUMNS) {
            Python::attach(|py| call.call1(py, (table(py, samples, &finalized)?,)).map(drop))?;
        }
    }
    Ok(())
}

/// Rows of text, as Polars writes them.
#[derive(Default)]
pub(crate) struct Text {
    uncertainty: bool,
    /// What stands between time and delay in the rows of a flow: remote, local, protocol, flow.
    middles: Vec<[String; 2]>,
    /// The last second and its text with the point behind it: most rows have the same again.
    second: (i64, Vec<u8>),
    bytes: Vec<u8>,
}

impl Text {
    fn add(&mut self, batch: &Batch) {
        for (flow, toward, Named { remote, local, protocol, flow: name }) in &batch.names {
            let flow = *flow as usize;
            if self.middles.len() <= flow {
                self.middles.resize_with(flow + 1, Default::default);
            }
            self.middles[flow][usize::from(*toward)] = format!(",{remote},{local},{protocol},{name},");
        }
        for sample in &batch.samples {
            self.row(sample);
        }
    }

    fn row(&mut self, sample: &Sample) {
        let Self { uncertainty, middles, second, bytes } = self;
        whole(bytes, sample.frame);
        bytes.push(b',');
        let seconds = sample.time_ns.div_euclid(1_000_000_000);
        if second.0 != seconds || second.1.is_empty() {
            *second = (seconds, Vec::new());
            if seconds < 0 {
                second.1.push(b'-');
            }
            whole(&mut second.1, seconds.unsigned_abs());
            second.1.push(b'.');
        }
        bytes.extend_from_slice(&second.1);
        digits::<9>(bytes, sample.time_ns.rem_euclid(1_000_000_000) as u64);
        bytes.extend_from_slice(middles[sample.flow as usize][usize::from(sample.toward)].as_bytes());
        milliseconds(bytes, sample.delay_ns);
        bytes.extend_from_slice(if sample.toward { b",to-remote" } else { b",from-remote" });
        if *uncertainty {
            bytes.push(b',');
            milliseconds(bytes, sample.error_ns);
        }
        bytes.push(b'\n');
    }
}

/// Columns `frame`, `time_ns`, `flow` (place in `flows`: remote, local, name; in `missing_ns`: what its delays may
/// lack), `protocol` (place in `protocols`), `toward` (to the remote host), `queue_delay_ns`, `uncertainty_ns`.
fn table<'py>(py: Python<'py>, samples: &[Sample], finalized: &Finalized<'_>) -> PyResult<Bound<'py, PyDict>> {
    let mut places: Vec<[Option<u32>; 2]> = Vec::new();
    let mut flows = Vec::new();
    let place = |sample: &Sample| {
        let flow = sample.flow as usize;
        places.resize(places.len().max(flow + 1), [None; 2]);
        *places[flow][usize::from(sample.toward)].get_or_insert_with(|| {
            flows.push((sample.flow, sample.toward));
            flows.len() as u32 - 1
        })
    };
    let flow: Vec<_> = samples.iter().map(place).collect();
    let named = |&(flow, toward): &(u32, bool)| {
        let (remote, local, name) = finalized.flow(flow, toward);
        (remote.to_string(), local.to_string(), name)
    };
    let missing = flows.iter().map(|&(flow, toward)| finalized.missing(flow, toward));
    let table = columns!(py, of samples.iter(), {
        frame: |sample| sample.frame,
        time_ns: |sample| sample.time_ns,
        protocol: |sample| sample.protocol as u8,
        toward: |sample| sample.toward,
        queue_delay_ns: |sample| sample.delay_ns,
        uncertainty_ns: |sample| sample.error_ns,
    })?;
    table.set_item("flow", flow.into_pyarray(py))?;
    table.set_item("missing_ns", missing.collect::<Vec<_>>())?;
    table.set_item("flows", flows.iter().map(named).collect::<Vec<_>>())?;
    table.set_item("protocols", Protocol::ALL.map(Protocol::name))?;
    Ok(table)
}
