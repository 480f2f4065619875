//! Passive measurement: captures in, samples in batches of NumPy columns, a summary out.

use crate::error::CaptureError;
use crate::samples::{Rows, Takers, hand_out};
use pyo3::prelude::*;
use serde_json::Value;
use sojourn_net::with_defaults;
use sojourn_pcap::decode::Address;
use sojourn_pcap::delay::host::statistics;
use sojourn_pcap::delay::read_ahead::ReadEvent;
use sojourn_pcap::delay::summary::summary;
use sojourn_pcap::read::filter::{Filter, Instruction};
use sojourn_pcap::read::{Capture, Frame, ReadError};
use sojourn_pcap::{Choice, Meter, Options};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

/// Whether delays are only lower bounds, by how many of the samples may lack something.
#[pyfunction]
pub(crate) fn lower_bound(samples: u64, lacking: u64) -> bool {
    statistics::lower_bound(samples, lacking)
}

/// Frames between two looks at Python.
const LOOK: u64 = 1 << 20;

with_defaults! {
    /// Options as the command line gives them.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Asked {
        estimator: String = "auto".to_owned(),
        local: Vec<String>,
        min_samples: u64 = 50,
        most_flows: usize = Options::default().most_flows,
        log_packets: usize = Options::default().log_packets,
        /// Capture times to leave out before and after: seconds since the first packet, or since 1970 if they are
        /// large.
        from_s: Option<f64>,
        to_s: Option<f64>,
        /// Threads; 0: as many as there are cores.
        jobs: usize,
        /// Rows of a file have a column of uncertainties.
        uncertainty: bool,
        /// The Arrow schema of a file that is Parquet and not CSV.
        arrow: Option<String>,
    }
}

fn options(text: &str) -> PyResult<(Options, Asked)> {
    let asked: Asked = serde_json::from_str(text).map_err(|error| CaptureError::new_err(error.to_string()))?;
    let estimator = match asked.estimator.as_str() {
        "auto" => Choice::Auto,
        "observer" => Choice::Observer,
        "reported" => Choice::Reported,
        other => {
            let text = format!("there is no estimator {other:?}; expected auto, observer or reported");
            return Err(CaptureError::new_err(text));
        }
    };
    let local = asked.local.iter().map(|text| prefix(text)).collect::<PyResult<_>>()?;
    let most_flows = asked.most_flows.clamp(16, 1 << 26);
    let log_packets = asked.log_packets.clamp(16, 1 << 30);
    let threads = if asked.jobs == 0 { available_parallelism().map_or(1, usize::from) } else { asked.jobs.min(64) };
    Ok((Options { estimator, local, most_flows, log_packets, threads, ..Options::default() }, asked))
}

fn prefix(text: &str) -> PyResult<(Address, u32)> {
    let fail = || {
        let text = format!("{text:?} is no address or prefix; expected one such as 192.168.0.0/16 or fd00::1");
        CaptureError::new_err(text)
    };
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().map_err(|_| fail())?;
    let (most, mapped) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
    let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| fail()))?;
    if bits > most { Err(fail()) } else { Ok((address.into(), bits + mapped)) }
}

/// Measure captures, read as one stream. `on_samples` is given batches of samples as columns, `on_rows` as bytes of CSV
/// (without a header) or, if there is an `arrow` schema of it, of a Parquet file; the column of uncertainties is there
/// if `uncertainty` says so. `progress` is given the share that has been read.
/// `filter` is given a link type and returns the program (rows of code, jumps, operand) that its frames must
/// pass.
///
/// Returns the summary (JSON), with `damage`: what could not be read, and `out_of_order`, if files were; and the lines
/// of its hosts.
#[pyfunction]
#[pyo3(signature = (paths, options = "{}", on_samples = None, progress = None, filter = None, on_rows = None))]
pub(crate) fn measure(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    options: &str,
    on_samples: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    filter: Option<Py<PyAny>>,
    on_rows: Option<Py<PyAny>>,
) -> PyResult<Summary> {
    let (options, mut asked) = self::options(options)?;
    let rows = Rows::new(asked.arrow.take(), asked.uncertainty);
    let mut takers = Takers { columns: on_samples, file: on_rows.map(|write| (write, rows)) };
    let threads = options.threads;
    let interrupt = Arc::new(Mutex::new(None));
    let refused = interrupt.clone();
    let go_on = move || match Python::attach(|py| py.check_signals()) {
        Ok(()) => true,
        Err(error) => {
            *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            false
        }
    };
    let read_error = |error: ReadError| {
        let interrupt = interrupt.lock().unwrap_or_else(PoisonError::into_inner).take();
        interrupt.unwrap_or_else(|| CaptureError::new_err(error.to_string()))
    };
    py.detach(|| {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let go_on = move || !stop.load(Ordering::Relaxed) && go_on();
        let mut capture = Capture::open_while(&paths, Arc::new(go_on)).map_err(&read_error)?;
        let mut meter = Meter::new(options);
        let range = [asked.from_s, asked.to_s];
        let mut wanted = Wanted::new(range, filter);
        let mut hand_out = |meter: &mut Meter| hand_out(meter.finalize(), &mut takers, threads).map_err(Stop::Python);
        let look = |share: Option<f64>| look(progress.as_ref(), share).map_err(Stop::Python);
        let mut looks = 0;
        let told = |meter: &mut Meter, news: ReadEvent| match news {
            ReadEvent::Full => hand_out(meter),
            ReadEvent::Read(frames, share) if frames / LOOK > looks => {
                looks = frames / LOOK;
                look(share)
            }
            ReadEvent::Read(..) => Ok(()),
            ReadEvent::Waiting => Python::attach(|py| py.check_signals()).map_err(Stop::Python),
        };
        let wants = |frame: &Frame<'_>| wanted.wants(frame).map_err(Stop::Python);
        let done = meter.read(&mut capture, wants, told, || stopped.store(true, Ordering::Relaxed));
        meter.end();
        let done = done.and_then(|()| hand_out(&mut meter));
        let done = done.and_then(|()| takers.finish().map_err(Stop::Python));
        done.and_then(|()| look(Some(1.0))).map_err(|stop| match stop {
            Stop::Read(error) => read_error(error),
            Stop::Python(error) => error,
        })?;
        if !capture.out_of_order().is_empty() {
            meter.captures_out_of_order();
        }
        let mut summary = summary(&meter, asked.min_samples);
        summary["left_out_by_request"] = wanted.left_out.into();
        summary["damage"] = serde_json::to_value(capture.damage()).unwrap_or_default();
        if !capture.out_of_order().is_empty() {
            summary["out_of_order"] = capture.out_of_order().into();
        }
        Ok(texts(summary))
    })
}

/// A summary without hosts (JSON), and the line of each.
type Summary = (String, Vec<String>);

fn texts(mut summary: Value) -> Summary {
    let Value::Array(hosts) = summary["hosts"].take() else { return (summary.to_string(), Vec::new()) };
    let line = |host| if let Value::String(line) = host { Some(line) } else { None };
    (summary.to_string(), hosts.into_iter().filter_map(line).collect())
}

/// Why measuring ended early.
enum Stop {
    Read(ReadError),
    Python(PyErr),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Which frames were asked for.
struct Wanted {
    /// Nothing was asked for.
    all: bool,
    range: [Option<f64>; 2],
    first: Option<i64>,
    compile: Option<Py<PyAny>>,
    programs: Vec<(u16, Filter)>,
    left_out: u64,
}

/// Times from this on are counted from 1970, s: 1973.
const EPOCH: f64 = 1e8;

impl Wanted {
    fn new(range: [Option<f64>; 2], compile: Option<Py<PyAny>>) -> Self {
        let all = range == [None, None] && compile.is_none();
        Self { all, range, first: None, compile, programs: Vec::new(), left_out: 0 }
    }

    #[inline]
    fn wants(&mut self, frame: &Frame<'_>) -> PyResult<bool> {
        if self.all { Ok(true) } else { self.looked_into(*frame) }
    }

    #[inline(never)]
    fn looked_into(&mut self, frame: Frame<'_>) -> PyResult<bool> {
        let first = *self.first.get_or_insert(frame.time_ns);
        let place = |bound: f64| {
            let since = if bound < EPOCH { frame.time_ns.wrapping_sub(first) } else { frame.time_ns };
            (since as f64 / 1e9).total_cmp(&bound)
        };
        let [from, to] = self.range;
        let inside = from.is_none_or(|from| place(from).is_ge()) && to.is_none_or(|to| place(to).is_lt());
        let wanted = inside && self.program(frame.link)?.is_none_or(|filter| filter.wants(frame.data, frame.wire_len));
        self.left_out += u64::from(!wanted);
        Ok(wanted)
    }

    fn program(&mut self, link: u16) -> PyResult<Option<&Filter>> {
        let Some(compile) = &self.compile else { return Ok(None) };
        let at = match self.programs.iter().position(|(of, _)| *of == link) {
            Some(at) => at,
            None => {
                let rows = Python::attach(|py| compile.call1(py, (link,))?.extract::<Vec<Instruction>>(py))?;
                self.programs.push((link, Filter::load(rows).map_err(CaptureError::new_err)?));
                self.programs.len() - 1
            }
        };
        Ok(self.programs.get(at).map(|(_, filter)| filter))
    }
}

fn look(progress: Option<&Py<PyAny>>, share: Option<f64>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |call| call.call1(py, (share,)).map(drop))
    })
}

/// Follows packets as they come.
#[pyclass]
pub(crate) struct Follower {
    meter: Meter,
    min_samples: u64,
    link: u16,
    wanted: Wanted,
}

/// By remote host and protocol, how many samples there were lately, and their sums.
type Recent = BTreeMap<(Address, &'static str), (u64, f64, f64)>;

#[pymethods]
impl Follower {
    /// A follower of frames of a link type; `filter` as of [`measure`].
    #[new]
    #[pyo3(signature = (link = 1, options = "{}", filter = None))]
    fn new(link: u16, options: &str, filter: Option<Py<PyAny>>) -> PyResult<Self> {
        let (options, asked) = self::options(options)?;
        let mut wanted = Wanted::new([None, None], filter);
        // While it may still load what it needs.
        wanted.program(link)?;
        Ok(Self { meter: Meter::new(options), min_samples: asked.min_samples, link, wanted })
    }

    /// Take in frames: time (ns since 1970), length on the wire, bytes.
    fn feed(&mut self, frames: Vec<(i64, u32, Vec<u8>)>) -> PyResult<()> {
        for (time_ns, wire_len, data) in &frames {
            let number = self.meter.frames() + 1;
            let frame = Frame {
                number,
                time_ns: *time_ns,
                link: self.link,
                wire_len: *wire_len,
                data,
                dropped: false,
                interface: None,
            };
            if self.wanted.wants(&frame)? && self.meter.frame(&frame) {
                drop(self.meter.finalize());
            }
        }
        Ok(())
    }

    /// Finalize what came since the last time: the summary (JSON) with `recent`, rows of remote, protocol, samples,
    /// mean and maximum (ms) of the way from the host; `recent_to_remote` has those of the way to it. And the lines of
    /// its hosts.
    fn settle(&mut self) -> Summary {
        let mut recent: [Recent; 2] = Default::default();
        let mut finalized = self.meter.finalize();
        while let Some(sample) = finalized.next() {
            let of = (finalized.remote(sample.flow), sample.protocol.name());
            let row = recent[usize::from(sample.toward)].entry(of).or_default();
            let ms = sample.delay_ns / 1e6;
            *row = (row.0 + 1, row.1 + ms, row.2.max(ms));
        }
        drop(finalized);
        let mut summary = summary(&self.meter, self.min_samples);
        for (name, recent) in ["recent", "recent_to_remote"].into_iter().zip(recent) {
            let of = |((remote, protocol), of): ((Address, _), _)| ((remote.to_string(), protocol), of);
            // In the order of their names.
            let recent: BTreeMap<(String, _), _> = recent.into_iter().map(of).collect();
            let row =
                |((remote, protocol), (n, sum, max))| serde_json::json!([remote, protocol, n, sum / n as f64, max]);
            summary[name] = recent.into_iter().map(row).collect::<Vec<_>>().into();
        }
        texts(summary)
    }
}
