//! Somebody who browses: loads a page over parallel connections, reads it, goes on to the next.
//!
//! Source: the [has] study's web clients: a page at random out of a set, HTML first, then its objects over up to six
//! persistent connections; a load that takes longer than 15 s is given up and the next one begins at once; reading
//! times are Weibull, bounded. The page load time runs from the first SYN to the last byte of the last object. Each
//! page is on a host of its own: connections are new for every page.
//!
//! The set of pages is drawn once and for all: sizes have the study's quartiles, numbers of objects and their sizes
//! are those of the HTTP Archive of 2022 (HTML of 30 kB in the median, the other objects share the rest by log-normal
//! weights). Given up loads end at both ends at once, as if a reset took no time; what is in the queues is still sent.

use super::source::{Source, User};
use super::tables::{BrowserRow, BrowserTable, Tables};
use crate::engine::{ConnectionId, End, Event, Network};
use crate::scenario;
use crate::stream::stream;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};
use std::f64::consts::TAU;
use std::rc::Rc;

/// ln of the median number of objects and its s.d. (HTTP Archive 2022, desktop).
const OBJECTS: (f64, f64) = (4.33, 0.73);
/// Median bytes of the HTML and the s.d. of its logarithm.
const HTML: (f64, f64) = (30_000.0, 1.0);
/// S.d. of the logarithm of an object's weight.
const WEIGHT_SIGMA: f64 = 1.5;
/// Correlation of the normals behind page size and number of objects: a rank correlation of 0.6.
const CORRELATION: f64 = 0.618;
/// Largest page, and most objects.
const MOST_BYTES: f64 = 100e6;
const MOST_OBJECTS: f64 = 1000.0;
/// Draws of a reading time before it is set to the nearest bound.
const MOST_DRAWS: u32 = 1000;

/// How a page load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// The run ended first.
    UnderWay,
    /// All objects arrived.
    Complete,
    /// It took too long.
    Abandoned,
}

/// A page: its category, and the sizes of its objects, the HTML first.
#[derive(Clone, Debug, PartialEq)]
pub struct WebPage {
    category: usize,
    objects: Vec<u64>,
}

impl WebPage {
    /// A page of these objects, the HTML first.
    pub fn of(objects: Vec<u64>) -> Self {
        Self { category: 0, objects }
    }
}

/// The set of pages: always the same for the same arguments.
pub fn pages(count: u32, median: u64, sigma: (f64, f64), categories: usize) -> Vec<WebPage> {
    let mut rng = stream(0, 0, "pages");
    (0..count as usize)
        .map(|i| {
            let z = normal(&mut rng);
            let size = median as f64 * libm::exp(z * if z < 0.0 { sigma.0 } else { sigma.1 });
            let size = size.clamp(500.0, MOST_BYTES);
            let y = CORRELATION * z + libm::sqrt(1.0 - CORRELATION * CORRELATION) * normal(&mut rng);
            let count = libm::round(libm::exp(OBJECTS.0 + OBJECTS.1 * y)).clamp(1.0, MOST_OBJECTS) as usize;
            let html = (HTML.0 * libm::exp(HTML.1 * normal(&mut rng))).min(size);
            let weights: Vec<f64> = (1..count).map(|_| libm::exp(WEIGHT_SIGMA * normal(&mut rng))).collect();
            let total: f64 = weights.iter().sum();
            let html = if weights.is_empty() { size } else { html };
            let rest = weights.iter().map(|weight| ((size - html) * weight / total).max(1.0) as u64);
            WebPage { category: i % categories, objects: std::iter::once(html as u64).chain(rest).collect() }
        })
        .collect()
}

/// A standard normal number (Box and Muller). Not that of [`super::source`], whose second number counts from the other
/// end: the set of pages would differ in places.
fn normal(rng: &mut Pcg64Mcg) -> f64 {
    let (u, v) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(TAU * v)
}

/// One user.
pub struct Browser {
    /// Who it is.
    pub who: User,
    /// What it does.
    pub settings: Rc<scenario::Browser>,
    /// The pages that it reads.
    pub pages: Rc<Vec<WebPage>>,
    /// Where it stands.
    pub visit: Visit,
}

/// The page under way and the loads so far.
#[derive(Default)]
pub struct Visit {
    page: usize,
    start: Time,
    /// Number of the load, so that a late alarm is known as such.
    load: u64,
    /// Objects that have been asked for, and that have arrived.
    asked: usize,
    arrived: usize,
    lanes: Vec<Lane>,
    rows: BrowserTable,
}

/// A connection and what is under way on it.
struct Lane {
    connection: ConnectionId,
    requests: u64,
    response: u64,
    received: u64,
    busy: bool,
}

/// Token of a wake-up that begins a load; others are alarms of the load of that number.
const BEGIN: u64 = 0;

impl Browser {
    fn begin(&mut self, network: &mut Network) {
        let visit = &mut self.visit;
        visit.page = self.who.rng.random_range(0..self.pages.len());
        visit.start = network.now();
        visit.load += 1;
        (visit.asked, visit.arrived) = (0, 0);
        network.wake_at(visit.start + self.settings.patience, self.who.source, visit.load);
        self.open(network);
    }

    /// Opens a connection and asks for the next object on it.
    fn open(&mut self, network: &mut Network) {
        let connection = network.connect(self.who.group, End::Client, self.who.source, true);
        self.visit.lanes.push(Lane { connection, requests: 0, response: 0, received: 0, busy: false });
        self.ask(self.visit.lanes.len() - 1, network);
    }

    fn ask(&mut self, lane: usize, network: &mut Network) {
        let Visit { page, asked, lanes, .. } = &mut self.visit;
        let Some(size) = self.pages[*page].objects.get(*asked) else { return };
        let lane = &mut lanes[lane];
        *asked += 1;
        lane.received += lane.response;
        lane.response = self.settings.response_header.0 + size;
        lane.requests += 1;
        lane.busy = true;
        network.write(lane.connection, End::Client, self.settings.request.0);
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        let Some(index) = self.visit.lanes.iter().position(|lane| lane.connection == id) else {
            // The server of a page that is complete hears the FIN, and closes too.
            network.close(id, at);
            return;
        };
        let lane = &mut self.visit.lanes[index];
        if at == End::Server {
            if bytes > 0 && bytes == lane.requests * self.settings.request.0 {
                network.write(id, End::Server, lane.response);
            }
            return;
        }
        if !lane.busy || bytes < lane.received + lane.response {
            return;
        }
        lane.busy = false;
        self.visit.arrived += 1;
        let objects = self.pages[self.visit.page].objects.len();
        if self.visit.arrived == objects {
            self.end(Fate::Complete, network);
            for lane in self.visit.lanes.drain(..) {
                network.close(lane.connection, End::Client);
            }
            let pause = self.dwell();
            network.wake_at(network.now() + pause, self.who.source, BEGIN);
            return;
        }
        self.ask(index, network);
        while self.visit.asked < objects && self.visit.lanes.len() < self.settings.connections as usize {
            self.open(network);
        }
    }

    /// A reading time: Weibull, drawn again while it is out of bounds.
    fn dwell(&mut self) -> Span {
        let (low, high) = self.settings.dwell_bounds;
        let scale = self.settings.dwell_scales[self.pages[self.visit.page].category].as_secs();
        let mut drawn = Span::ZERO;
        for _ in 0..MOST_DRAWS {
            let u = 1.0 - self.who.rng.random::<f64>();
            drawn = Span::from_secs_f64(scale * libm::pow(-libm::log(u), 1.0 / self.settings.dwell_shape));
            if drawn >= low && drawn <= high {
                return drawn;
            }
        }
        drawn.clamp(low, high)
    }

    /// Writes down the present load.
    fn end(&mut self, fate: Fate, network: &Network) {
        let visit = &mut self.visit;
        if visit.start < self.who.warmup {
            return;
        }
        visit.rows.push(BrowserRow {
            user: self.who.number,
            page: visit.page as u32,
            bytes: self.pages[visit.page].objects.iter().sum(),
            start_ns: visit.start.0,
            plt_ns: network.now().since(visit.start).0,
            fate: fate as u8,
        });
    }
}

impl Source for Browser {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => self.who.start_within(self.settings.start_within, BEGIN, network),
            Event::Wake(BEGIN) => self.begin(network),
            Event::Wake(load) if load == self.visit.load && !self.visit.lanes.is_empty() => {
                self.end(Fate::Abandoned, network);
                for lane in self.visit.lanes.drain(..) {
                    network.abort(lane.connection);
                }
                self.begin(network);
            }
            Event::Received { connection, at, bytes } => self.received(connection, at, bytes, network),
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        if !self.visit.lanes.is_empty() {
            self.end(Fate::UnderWay, network);
        }
        tables.browser.append(&mut self.visit.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_set_has_the_stated_quartiles() {
        let set = pages(20_000, 4_058_000, (2.169, 1.727), 10);
        let mut sizes: Vec<u64> = set.iter().map(|page| page.objects.iter().sum()).collect();
        let mut objects: Vec<usize> = set.iter().map(|page| page.objects.len()).collect();
        sizes.sort_unstable();
        objects.sort_unstable();
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.06, "{found}, {expected}");
        for (place, expected) in [(5_000, 939.5e3), (10_000, 4058e3), (15_000, 13_007e3)] {
            near(sizes[place] as f64, expected);
        }
        for (place, expected) in [(5_000, 46.4), (10_000, 76.0), (15_000, 124.0)] {
            near(objects[place] as f64, expected);
        }
        assert!(sizes[19_999] <= 101_000_000);
        assert_eq!(pages(250, 4_058_000, (2.169, 1.727), 10), set[..250]);
    }
}
