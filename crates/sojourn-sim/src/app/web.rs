//! Reading web pages: objects fetched one after another over one persistent connection, a new connection for every
//! page.
//!
//! Source: the page of the IMC 2014 study (HTML, CSS and two pictures, fetched by `wget`): no pipelining, no rendering
//! time. The page load time runs from the SYN to the last byte; the FIN exchange that follows is on the wire but not in
//! it.

use super::source::Source;
use super::tables::{Tables, WebRow, WebTable};
use crate::engine::{ConnectionId, End, Event, Network};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// What a page is made of.
#[derive(Clone, Debug)]
pub struct Page {
    /// Sizes of the objects in order, response headers included.
    pub objects: Vec<u64>,
    /// Size of each request.
    pub request: u64,
    /// Every object starts from the initial window.
    pub restart: bool,
}

/// One reader.
pub struct Web {
    /// Number of this source.
    pub number: u32,
    /// Number of the user.
    pub user: u32,
    /// Its hosts.
    pub group: u16,
    /// What is loaded.
    pub page: Page,
    /// Time between the end of a load and the next.
    pub pause: Span,
    /// The first load starts within this time.
    pub start_within: Span,
    /// Loads that begin earlier are not reported.
    pub warmup: Time,
    /// Its random stream.
    pub rng: Pcg64Mcg,
    /// Where it stands.
    pub loads: Loads,
}

/// Pages loaded so far.
#[derive(Default)]
pub struct Loads {
    present: Option<Load>,
    rows: WebTable,
}

struct Load {
    connection: ConnectionId,
    start: Time,
    /// Objects that have arrived.
    arrived: usize,
    /// Bytes of response that end the next object.
    expected: u64,
}

impl Web {
    fn begin(&mut self, network: &mut Network) {
        let connection = network.connect(self.group, End::Client, self.number, true);
        network.write(connection, End::Client, self.page.request);
        self.loads.present =
            Some(Load { connection, start: network.now(), arrived: 0, expected: self.page.objects[0] });
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        let Some(load) = self.loads.present.as_mut().filter(|load| load.connection == id) else {
            // The server of a page that is complete hears the FIN, and closes too.
            network.close(id, at);
            return;
        };
        if at == End::Server {
            if bytes == (load.arrived as u64 + 1) * self.page.request {
                if self.page.restart {
                    network.restart(id, End::Server);
                }
                network.write(id, End::Server, self.page.objects[load.arrived]);
            }
        } else if bytes >= load.expected {
            load.arrived += 1;
            if let Some(next) = self.page.objects.get(load.arrived) {
                load.expected += next;
                network.write(id, End::Client, self.page.request);
            } else {
                self.end(true, network);
                self.loads.present = None;
                network.close(id, End::Client);
                network.wake_at(network.now() + self.pause, self.number, 0);
            }
        }
    }

    /// Writes down the present load.
    fn end(&mut self, complete: bool, network: &Network) {
        let Some(load) = self.loads.present.as_ref().filter(|load| load.start >= self.warmup) else { return };
        let ends = [End::Client, End::Server].map(|end| network.endpoint(load.connection, end).map(|e| e.sender()));
        let repair = ends.iter().flatten().map(|s| s.repair().total.0).sum();
        let retransmits: u64 = ends.iter().flatten().map(|s| s.statistics().retransmits).sum();
        self.loads.rows.push(WebRow {
            user: self.user,
            start_ns: load.start.0,
            plt_ns: network.now().since(load.start).0,
            complete,
            rtt_ns: ends[1].map_or(0, |s| s.mean_rtt().0),
            repair_ns: repair,
            retransmits: retransmits as u32,
        });
    }
}

impl Source for Web {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                let wait = self.rng.random::<f64>() * self.start_within.0 as f64;
                network.wake_at(Time(wait as u64), self.number, 0);
            }
            Event::Wake(_) => self.begin(network),
            Event::Received { connection, at, bytes } => self.received(connection, at, bytes, network),
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        self.end(false, network);
        tables.web.append(&mut self.loads.rows);
    }
}
