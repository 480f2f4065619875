//! Samples of a measurement, handed to Python in batches: as NumPy columns, or as the bytes of a file, CSV or Parquet.

use crate::columns::columns;
use crate::sample_table::{Batch, Named, Table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sojourn_pcap::Protocol;
use sojourn_pcap::decimal::{digits, milliseconds, whole};
use sojourn_pcap::delay::finalize::{Finalized, Sample};
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
        let mut places = Places::default();
        while let Some(columns) = Columns::of(finalized.by_ref().take(COLUMNS), &mut places) {
            Python::attach(|py| call.call1(py, (columns.table(py, &finalized)?,)).map(drop))?;
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
        let (mut samples, mut places) = (all.into_iter(), Places::default());
        while let Some(columns) = Columns::of(samples.by_ref().take(COLUMNS), &mut places) {
            Python::attach(|py| call.call1(py, (columns.table(py, &finalized)?,)).map(drop))?;
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

/// Which row of `flows` stands for a flow and direction, in the batch that is being filled.
#[derive(Default)]
struct Places(Vec<[u32; 2]>);

/// No row yet.
const NOWHERE: [u32; 2] = [u32::MAX; 2];

/// A batch of samples by column.
#[derive(Default)]
struct Columns {
    frame: Vec<u64>,
    time_ns: Vec<i64>,
    flow: Vec<u32>,
    protocol: Vec<u8>,
    toward: Vec<bool>,
    delay_ns: Vec<f64>,
    error_ns: Vec<f64>,
    /// Flow and direction by place.
    flows: Vec<(u32, bool)>,
}

impl Columns {
    /// None of no samples.
    fn of(samples: impl Iterator<Item = Sample>, places: &mut Places) -> Option<Self> {
        let room = samples.size_hint().1.unwrap_or(0).min(COLUMNS);
        let mut columns = Self {
            frame: Vec::with_capacity(room),
            time_ns: Vec::with_capacity(room),
            flow: Vec::with_capacity(room),
            protocol: Vec::with_capacity(room),
            toward: Vec::with_capacity(room),
            delay_ns: Vec::with_capacity(room),
            error_ns: Vec::with_capacity(room),
            flows: Vec::new(),
        };
        samples.for_each(|sample| columns.push(&sample, places));
        for &(flow, _) in &columns.flows {
            places.0[flow as usize] = NOWHERE;
        }
        (!columns.frame.is_empty()).then_some(columns)
    }

    #[inline]
    fn push(&mut self, sample: &Sample, Places(places): &mut Places) {
        let flow = sample.flow as usize;
        if places.len() <= flow {
            places.resize(flow + 1, NOWHERE);
        }
        let place = &mut places[flow][usize::from(sample.toward)];
        if *place == u32::MAX {
            *place = self.flows.len() as u32;
            self.flows.push((sample.flow, sample.toward));
        }
        self.frame.push(sample.frame);
        self.time_ns.push(sample.time_ns);
        self.flow.push(*place);
        self.protocol.push(sample.protocol as u8);
        self.toward.push(sample.toward);
        self.delay_ns.push(sample.delay_ns);
        self.error_ns.push(sample.error_ns);
    }

    /// Columns `frame`, `time_ns`, `flow` (place in `flows`: remote, local, name; in `missing_ns`: what its delays may
    /// lack), `protocol` (place in `protocols`), `toward` (to the remote host), `queue_delay_ns`, `uncertainty_ns`.
    fn table<'py>(self, py: Python<'py>, finalized: &Finalized<'_>) -> PyResult<Bound<'py, PyDict>> {
        let named = |&(flow, toward): &(u32, bool)| {
            let (remote, local, name) = finalized.flow(flow, toward);
            (remote.to_string(), local.to_string(), name)
        };
        let names: Vec<_> = self.flows.iter().map(named).collect();
        let missing: Vec<_> = self.flows.iter().map(|&(flow, toward)| finalized.missing(flow, toward)).collect();
        let table = columns!(py, {
            frame: self.frame, time_ns: self.time_ns, flow: self.flow, protocol: self.protocol, toward: self.toward,
            queue_delay_ns: self.delay_ns, uncertainty_ns: self.error_ns,
        })?;
        table.set_item("missing_ns", missing)?;
        table.set_item("flows", names)?;
        table.set_item("protocols", Protocol::ALL.map(Protocol::name))?;
        Ok(table)
    }
}
