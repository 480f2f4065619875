//! Samples as rows of a Parquet file, with the numbers that Polars makes of them.

use sojourn_pcap::delay::finalize::samples::Sample;
use sojourn_pcap::parquet::{Kind, Values, Writer};
use std::collections::BTreeMap;

/// Rows of a row group.
const GROUP: usize = 1 << 17;
/// Columns of names: remote, local, protocol, flow, direction.
const NAMES: usize = 5;
const DIRECTIONS: [&str; 2] = ["from-remote", "to-remote"];

/// Names of a flow in one direction.
#[derive(Clone, Default)]
pub(crate) struct Named {
    pub(crate) remote: String,
    pub(crate) local: String,
    pub(crate) protocol: &'static str,
    pub(crate) flow: String,
}

/// Samples whose rows are to be made, and names that they are the first to use.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) samples: Vec<Sample>,
    pub(crate) names: Vec<(u32, bool, Named)>,
}

/// Different names, and which of them each place has.
#[derive(Default)]
struct Dictionary {
    index: BTreeMap<String, u32>,
    names: Vec<String>,
    of: Vec<u32>,
}

impl Dictionary {
    /// The next place has this name.
    fn place(&mut self, name: &str) {
        let index = match self.index.get(name) {
            Some(&index) => index,
            None => {
                let index = self.names.len() as u32;
                self.index.insert(name.to_owned(), index);
                self.names.push(name.to_owned());
                index
            }
        };
        self.of.push(index);
    }

    fn values<'a>(&'a self, places: &'a [u32]) -> Values<'a> {
        Values::Name { names: &self.names, of: &self.of, places }
    }
}

/// The rows of a row group so far, and the file around it.
#[derive(Default)]
pub(crate) struct Table {
    writer: Writer,
    arrow: String,
    uncertainty: bool,
    /// Place of a flow and direction in the dictionaries, and their names.
    places: Vec<[u32; 2]>,
    named: Vec<[Named; 2]>,
    dictionaries: [Dictionary; NAMES],
    frame: Vec<[u8; 8]>,
    time: Vec<[u8; 8]>,
    place: Vec<u32>,
    delay: Vec<[u8; 8]>,
    error: Vec<[u8; 8]>,
    pub(crate) bytes: Vec<u8>,
}

/// Not in the dictionaries yet.
const NOWHERE: u32 = u32::MAX;

impl Table {
    /// A table with or without a column of uncertainties; `arrow` is its Arrow schema.
    pub(crate) fn new(arrow: String, uncertainty: bool) -> Self {
        let kind = |name: &str| match name {
            "frame" => Kind::Unsigned,
            "time_s" | "queue_delay_ms" | "uncertainty_ms" => Kind::Double,
            _ => Kind::Name,
        };
        let names = ["frame", "time_s", "remote", "local", "protocol", "flow", "queue_delay_ms", "direction"];
        let names = names.into_iter().chain(uncertainty.then_some("uncertainty_ms"));
        Self {
            writer: Writer::new(names.map(|name| (name.to_owned(), kind(name)))),
            arrow,
            uncertainty,
            ..Self::default()
        }
    }

    /// Flows are numbered anew.
    pub(crate) fn renumber(&mut self) {
        self.places.clear();
        self.named.clear();
    }

    /// Add rows; what of the file is ready is in `bytes` then.
    pub(crate) fn add(&mut self, batch: &Batch) {
        for (flow, toward, name) in &batch.names {
            let flow = *flow as usize;
            if self.named.len() <= flow {
                self.named.resize_with(flow + 1, Default::default);
                self.places.resize(flow + 1, [NOWHERE; 2]);
            }
            self.named[flow][usize::from(*toward)].clone_from(name);
        }
        for sample in &batch.samples {
            self.row(sample);
        }
        if self.frame.len() >= GROUP {
            self.group();
        }
    }

    #[inline]
    fn row(&mut self, sample: &Sample) {
        let mut place = self.places[sample.flow as usize][usize::from(sample.toward)];
        if place == NOWHERE {
            place = self.new_place(sample);
        }
        self.frame.push(sample.frame.to_le_bytes());
        // As Polars divides by a number: it multiplies.
        self.time.push((sample.time_ns as f64 * (1.0 / 1e9)).to_le_bytes());
        self.place.push(place);
        self.delay.push(milliseconds(sample.delay_ns).to_le_bytes());
        if self.uncertainty {
            self.error.push(milliseconds(sample.error_ns).to_le_bytes());
        }
    }

    #[cold]
    fn new_place(&mut self, sample: &Sample) -> u32 {
        let toward = usize::from(sample.toward);
        let (flow, [remote, local, protocol, name, direction]) = (sample.flow as usize, &mut self.dictionaries);
        let place = remote.of.len() as u32;
        let named = &self.named[flow][toward];
        remote.place(&named.remote);
        local.place(&named.local);
        protocol.place(named.protocol);
        name.place(&named.flow);
        direction.place(DIRECTIONS[toward]);
        self.places[flow][toward] = place;
        place
    }

    /// The rows so far are a row group.
    fn group(&mut self) {
        let [remote, local, protocol, flow, direction] = &self.dictionaries;
        let places = &self.place;
        let mut columns = vec![
            Values::Number(&self.frame),
            Values::Number(&self.time),
            remote.values(places),
            local.values(places),
            protocol.values(places),
            flow.values(places),
            Values::Number(&self.delay),
            direction.values(places),
        ];
        if self.uncertainty {
            columns.push(Values::Number(&self.error));
        }
        self.writer.group(self.frame.len(), &columns, &mut self.bytes);
        self.dictionaries = Default::default();
        self.places.fill([NOWHERE; 2]);
        for column in [&mut self.frame, &mut self.time, &mut self.delay, &mut self.error] {
            column.clear();
        }
        self.place.clear();
    }

    /// The rest of the file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.frame.is_empty() {
            self.group();
        }
        let mut bytes = self.bytes;
        self.writer.finish(&self.arrow, &mut bytes);
        bytes
    }
}

/// Milliseconds with six decimals: divided by multiplying, rounded with ties to even, as Polars does both.
#[inline]
fn milliseconds(ns: f64) -> f64 {
    // From here on doubles are whole: adding it rounds, and subtracting it leaves what was rounded.
    const WHOLE: f64 = (1u64 << 52) as f64;
    let parts = ns * (1.0 / 1e6) * 1e6;
    let whole = if (0.0..WHOLE).contains(&parts) { parts + WHOLE - WHOLE } else { parts.round_ties_even() };
    whole / 1e6
}
