//! A web page of today: objects of several hosts, by priority, over HTTP/1.1, HTTP/2 or HTTP/3.
//!
//! Source: what a page is made of is [`site`]'s; connections, streams and priorities are those of Chromium (see the
//! files). Every page is a first visit: new connections to every host, TLS 1.3 in full. A load that takes longer than
//! the user's patience is given up, and its connections end at once.
//! Differences: names are resolved, scripts run and pictures are painted in no time; servers answer at once. What is
//! measured is the network's part of a page's time.

mod host;
mod http1;
mod http2;
mod http3;
mod io;
mod requests;
mod site;
mod tls;

pub use site::{Object, ObjectKind, Weights, site};

use super::browser::Fate;
use super::source::{Source, User};
use super::tables::{PageRow, PageTable, Tables};
use crate::engine::network::Control;
use crate::engine::{End, Event, Network};
use crate::scenario::{self, HttpOfPage};
use host::Host;
use http1::Http1;
use http2::Http2;
use http3::Http3;
use io::{Io, TIMEOUT};
use requests::State;
use sojourn_net::{Packet as _, Span, Time};
use std::rc::Rc;

/// Time that a browser takes to open a connection, before it asks for anything else: the median between two that
/// Chromium 156 opens on an idle line (docs/testbed.md, 444 gaps).
const OPENING: Span = Span(1_100_000);
/// One reader.
pub struct Page {
    /// Who it is.
    pub who: User,
    /// What it loads, and how.
    pub settings: scenario::Page,
    /// The page, the same each time.
    pub objects: Rc<Vec<Object>>,
    /// Makes the controllers of QUIC connections.
    pub control: Control,
    /// Where it stands.
    pub loads: Loads,
}

/// Pages loaded so far.
#[derive(Default)]
pub struct Loads {
    present: Option<Load>,
    /// Number of the present load.
    number: u32,
    rows: PageTable,
}

struct Load {
    start: Time,
    /// The next connection may be opened from then on.
    free: Time,
    /// By place: see [`Page::place`].
    hosts: Vec<Box<dyn Host>>,
    states: Vec<State>,
    left: usize,
    first_paint: Option<Time>,
    largest_paint: Option<Time>,
}

/// A host that nothing has been asked of.
fn host(version: HttpOfPage) -> Box<dyn Host> {
    match version {
        HttpOfPage::Http1 => Box::<Http1>::default(),
        HttpOfPage::Http2 => Box::<Http2>::default(),
        HttpOfPage::Http3 => Box::<Http3>::default(),
    }
}

const BEGIN: u64 = 0;
const PATIENCE: u64 = 1;
const FREE: u64 = 2;
/// Bits of a token: what for, the number of the load above them.
const LOAD: u32 = 2;

impl Page {
    fn begin(&mut self, network: &mut Network) {
        self.loads.number += 1;
        let hosts = self.objects.iter().map(|object| object.host).max().map_or(0, |most| usize::from(most) + 1);
        let mut states = vec![State::Unknown; self.objects.len()];
        states[0] = State::Known;
        self.loads.present = Some(Load {
            start: network.now(),
            free: network.now(),
            hosts: (0..2 * hosts).map(|_| host(self.settings.http)).collect(),
            states,
            left: self.objects.len(),
            first_paint: None,
            largest_paint: None,
        });
        let token = u64::from(self.loads.number) << LOAD | PATIENCE;
        network.wake_at(network.now() + self.settings.patience, self.who.source, token);
        self.dispatch(network);
    }

    /// Where an object's host is among those of a load. Fonts are fetched without credentials, for which Chromium has
    /// connections of their own: a host's second place.
    fn place(object: &Object, load: &Load) -> usize {
        let second = if object.kind == ObjectKind::Font { load.hosts.len() / 2 } else { 0 };
        usize::from(object.host) + second
    }

    /// Asks for what may be asked for, the most urgent first.
    fn dispatch(&mut self, network: &mut Network) {
        let objects = Rc::clone(&self.objects);
        let Some(load) = &mut self.loads.present else { return };
        let mut known: Vec<usize> = (0..objects.len()).filter(|i| load.states[*i] == State::Known).collect();
        known.sort_by_key(|i| objects[*i].urgency);
        for i in known {
            let object = &objects[i];
            let place = Self::place(object, load);
            let delayable = requests::is_delayable(object, load.hosts[place].is_known_to_prioritise());
            if !requests::may_be_made(object, delayable, &objects, &load.states) {
                continue;
            }
            let now = network.now();
            if now < load.free {
                break;
            }
            load.states[i] = State::Asked { delayable };
            let mut io = Io {
                network,
                who: &self.who,
                host: place as u16,
                load: self.loads.number,
                settings: &self.settings,
                control: &self.control,
                objects: &objects,
            };
            let host = &mut load.hosts[place];
            let before = host.opened();
            host.ask(i, &mut io);
            if host.opened() > before {
                load.free = now + OPENING;
                network.wake_at(load.free, self.who.source, u64::from(self.loads.number) << LOAD | FREE);
            }
        }
    }

    /// Something happened at a host, which may have completed objects.
    fn at_host(
        &mut self,
        host: u16,
        network: &mut Network,
        act: impl FnOnce(&mut dyn Host, &mut Io<'_>) -> Vec<usize>,
    ) {
        let objects = Rc::clone(&self.objects);
        let Some(load) = &mut self.loads.present else { return };
        let mut io = Io {
            network,
            who: &self.who,
            host,
            load: self.loads.number,
            settings: &self.settings,
            control: &self.control,
            objects: &objects,
        };
        let done = act(&mut *load.hosts[usize::from(host)], &mut io);
        if done.is_empty() {
            return;
        }
        let now = network.now();
        for i in done {
            load.states[i] = State::Here;
            load.left -= 1;
            for (next, object) in objects.iter().enumerate() {
                if object.after == Some(i) && load.states[next] == State::Unknown {
                    load.states[next] = State::Known;
                }
            }
        }
        if !requests::is_blocked(&objects, &load.states) {
            load.first_paint.get_or_insert(now);
            let hero = objects.iter().position(|object| object.kind == ObjectKind::Hero);
            if hero.is_none_or(|hero| load.states[hero] == State::Here) {
                load.largest_paint.get_or_insert(now);
            }
        }
        if load.left == 0 {
            self.end(Fate::Complete, network);
            network.wake_at(network.now() + self.settings.pause, self.who.source, BEGIN);
        } else {
            self.dispatch(network);
        }
    }

    fn row(&self, load: &Load, fate: Fate, network: &Network) -> PageRow {
        let since = |at: Option<Time>| at.map_or(-1, |at| at.since(load.start).0 as i64);
        let here = load.states.iter().zip(self.objects.iter()).filter(|(state, _)| **state == State::Here);
        PageRow {
            user: self.who.number,
            start_ns: load.start.0,
            load_ns: network.now().since(load.start).0,
            fate: fate as u8,
            first_paint_ns: since(load.first_paint),
            largest_paint_ns: since(load.largest_paint),
            requests: load.states.iter().filter(|state| state.is_asked() || **state == State::Here).count() as u32,
            connections: load.hosts.iter().map(|host| host.used()).sum(),
            bytes: here.map(|(_, object)| object.bytes).sum(),
            retransmits: load.hosts.iter().map(|host| host.retransmits(network)).sum::<u64>() as u32,
        }
    }

    /// Writes down the present load, and ends its connections.
    fn end(&mut self, fate: Fate, network: &mut Network) {
        let Some(load) = self.loads.present.take() else { return };
        if load.start >= self.who.warmup {
            self.loads.rows.push(self.row(&load, fate, network));
        }
        for host in &load.hosts {
            host.end(fate == Fate::Complete, network);
        }
    }

    fn woken(&mut self, token: u64, network: &mut Network) {
        if token & TIMEOUT != 0 {
            let (host, load, place) = io::read_timeout(token);
            if load == self.loads.number {
                self.at_host(host, network, |host, io| {
                    host.on_timeout(place, io);
                    Vec::new()
                });
            }
        } else if token == BEGIN {
            self.begin(network);
        } else if token >> LOAD == u64::from(self.loads.number) && self.loads.present.is_some() {
            if token & FREE != 0 {
                self.dispatch(network);
            } else {
                self.end(Fate::Abandoned, network);
                self.begin(network);
            }
        }
    }
}

impl Source for Page {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => self.who.start_within(self.settings.start_within, BEGIN, network),
            Event::Wake(token) => self.woken(token, network),
            Event::Received { connection, at, bytes } => {
                let host = self.loads.present.as_ref().and_then(|load| {
                    let found = load.hosts.iter().position(|host| host.has(connection));
                    found.map(|place| place as u16)
                });
                match host {
                    Some(host) => self.at_host(host, network, |host, io| host.received(connection, at, bytes, io)),
                    // The server of a page that is complete hears the FIN, and closes too.
                    None if at == End::Server => network.close(connection, at),
                    None => {}
                }
            }
            Event::Datagram { packet, .. } => {
                let (host, load, place) = io::read_packet(packet.seq);
                if load == self.loads.number {
                    self.at_host(host, network, |host, io| host.on_packet(place, packet.ecn(), io));
                }
            }
            Event::Sent { .. } => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        // Also one that began in the warm-up: a load that never ends must not be missing.
        if let Some(load) = &self.loads.present {
            let row = self.row(load, Fate::UnderWay, network);
            self.loads.rows.push(PageRow { requests: 0, bytes: 0, retransmits: 0, ..row });
        }
        tables.page.append(&mut self.loads.rows);
    }
}
