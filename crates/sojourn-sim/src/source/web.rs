//! Reading web pages: objects fetched one after another over one persistent connection, a new connection for every page.
//!
//! Source: the page of the IMC 2014 study (HTML, CSS and two pictures, fetched by `wget`): no pipelining, no rendering time.
//! The page load time runs from the SYN to the last byte; the FIN exchange that follows is on the wire but not in it.

use super::{End, Event, Source, Tables};
use crate::network::{ConnectionId, Network};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// One row per page load that began after the warm-up.
#[derive(Clone, Debug, Default)]
pub struct WebTable {
    /// The user, counted over all users of the scenario.
    pub user: Vec<u32>,
    /// When the load began.
    pub start_ns: Vec<u64>,
    /// From the SYN to the last byte; time so far if it was not complete when the run ended.
    pub plt_ns: Vec<u64>,
    /// All objects arrived.
    pub complete: Vec<bool>,
    /// Mean round-trip time that the server measured during the load.
    pub rtt_ns: Vec<u64>,
    /// Time that retransmissions were waited for, at either end.
    pub repair_ns: Vec<u64>,
    /// Segments sent again, at either end.
    pub retransmits: Vec<u32>,
}

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
    number: u32,
    user: u32,
    group: u16,
    page: Page,
    pause: Span,
    start_within: Span,
    warmup: Time,
    rng: Pcg64Mcg,
    load: Option<Load>,
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
    /// A reader who has not yet begun.
    #[expect(clippy::too_many_arguments, reason = "a plain record of what the scenario says")]
    pub fn new(
        number: u32,
        user: u32,
        group: u16,
        page: Page,
        pause: Span,
        start_within: Span,
        warmup: Time,
        rng: Pcg64Mcg,
    ) -> Self {
        Self { number, user, group, page, pause, start_within, warmup, rng, load: None, rows: WebTable::default() }
    }

    fn begin(&mut self, network: &mut Network) {
        let connection = network.connect(self.group, End::Client, self.number, true);
        network.write(connection, End::Client, self.page.request);
        self.load = Some(Load { connection, start: network.now(), arrived: 0, expected: self.page.objects[0] });
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        let Some(load) = self.load.as_mut().filter(|load| load.connection == id) else {
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
                self.load = None;
                network.close(id, End::Client);
                network.wake_at(network.now() + self.pause, self.number, 0);
            }
        }
    }

    /// Writes down the present load.
    fn end(&mut self, complete: bool, network: &Network) {
        let Some(load) = self.load.as_ref().filter(|load| load.start >= self.warmup) else { return };
        let ends = [End::Client, End::Server].map(|end| network.endpoint(load.connection, end).map(|e| e.sender()));
        let repair = ends.iter().flatten().map(|s| s.repair().total.0).sum();
        let retransmits: u64 = ends.iter().flatten().map(|s| s.statistics().retransmits).sum();
        self.rows.user.push(self.user);
        self.rows.start_ns.push(load.start.0);
        self.rows.plt_ns.push(network.now().since(load.start).0);
        self.rows.complete.push(complete);
        self.rows.rtt_ns.push(ends[1].map_or(0, |s| s.mean_rtt().0));
        self.rows.repair_ns.push(repair);
        self.rows.retransmits.push(retransmits as u32);
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
        let (all, own) = (&mut tables.web, &mut self.rows);
        all.user.append(&mut own.user);
        all.start_ns.append(&mut own.start_ns);
        all.plt_ns.append(&mut own.plt_ns);
        all.complete.append(&mut own.complete);
        all.rtt_ns.append(&mut own.rtt_ns);
        all.repair_ns.append(&mut own.repair_ns);
        all.retransmits.append(&mut own.retransmits);
    }
}
