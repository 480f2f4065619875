//! Reading web pages: objects fetched one after another over one persistent connection, a new connection for every
//! page.
//!
//! Source: the page of the IMC 2014 study (HTML, CSS and two pictures, fetched by `wget`): no pipelining, no rendering
//! time. The page load time runs from the SYN to the last byte; the FIN exchange that follows is on the wire but not in
//! it.

use super::source::{Source, User};
use super::tables::{Tables, WebRow, WebTable};
use crate::engine::{ConnectionId, End, Event, Network};
use crate::scenario;
use sojourn_net::Time;

/// One reader.
pub struct Web {
    /// Who it is.
    pub who: User,
    /// What it loads, and how.
    pub settings: scenario::Web,
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
        let connection = network.connect(self.who.group, End::Client, self.who.source, true);
        network.write(connection, End::Client, self.settings.request.0);
        let expected = self.settings.response(0);
        self.loads.present = Some(Load { connection, start: network.now(), arrived: 0, expected });
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        let Some(load) = self.loads.present.as_mut().filter(|load| load.connection == id) else {
            // The server of a page that is complete hears the FIN, and closes too.
            network.close(id, at);
            return;
        };
        if at == End::Server {
            if bytes == (load.arrived as u64 + 1) * self.settings.request.0 {
                if self.settings.object_restart {
                    network.restart(id, End::Server);
                }
                let response = self.settings.response(load.arrived);
                network.write(id, End::Server, response);
            }
        } else if bytes >= load.expected {
            load.arrived += 1;
            if load.arrived < self.settings.objects.len() {
                load.expected += self.settings.response(load.arrived);
                network.write(id, End::Client, self.settings.request.0);
            } else {
                self.end(true, network);
                self.loads.present = None;
                network.close(id, End::Client);
                network.wake_at(network.now() + self.settings.pause, self.who.source, 0);
            }
        }
    }

    /// Writes down the present load.
    fn end(&mut self, complete: bool, network: &Network) {
        let Some(load) = self.loads.present.as_ref().filter(|load| load.start >= self.who.warmup) else { return };
        let ends = [End::Client, End::Server].map(|end| network.endpoint(load.connection, end).map(|e| e.sender()));
        let repair = ends.iter().flatten().map(|s| s.repair().total.0).sum();
        let retransmits: u64 = ends.iter().flatten().map(|s| s.statistics().retransmits).sum();
        self.loads.rows.push(WebRow {
            user: self.who.number,
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
            Event::Start => self.who.start_within(self.settings.start_within, 0, network),
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
