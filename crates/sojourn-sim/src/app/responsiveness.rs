//! A responsiveness test: load connections that are added until goodput is stable, and probes beside them and on them.
//!
//! Source: draft-ietf-ippm-responsiveness-06 (RPM under working conditions), section 4.4. Load starts with one
//! connection and gains one in every interval, up to sixteen. Once the standard deviation of the last four moving
//! averages of goodput is within 5 % of the newest, responsiveness is computed after each interval; when the last four
//! of its values are as close, the test ends, and its load with it. A pair of probes goes out at a time: a foreign one
//! opens a connection of its own (TCP, TLS, one GET), a self probe sends one GET on a load connection, any of them with
//! the same probability.
//!
//! How it works: a self probe's response is the next byte that the server has not sent when the request arrives; it
//! has come when the client holds that byte in order. So a server writes no more ahead than its window allows, as one
//! does that limits what it has not sent (`TCP_NOTSENT_LOWAT`). On a load connection up the request is the next byte
//! that the client has not sent, and the response a small write.
//!
//! Differences: a test that is not stable ends with its length, as the draft leaves it to a tool; one that the end of
//! the run cut short is not reported. Of the 100 probes a second half are foreign and half self probes, which is what
//! the draft reckons with (300 kB a second). TLS is 1.3: one round trip. HTTP/2 has no frames of its own here, and
//! requests have the sizes of headers.

mod score;

use super::source::{Source, User};
use super::tables::{IntervalRow, IntervalTable, ProbeRow, ProbeTable, Tables};
use crate::engine::{ConnectionId, Direction, End, Event, Network};
use crate::scenario;
use rand::RngExt;
use score::{Completed, Course};
use sojourn_net::{Span, Time};
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes of a TLS client hello; of what the server answers, certificate included; of a GET; of a response.
const HELLO: u64 = 300;
const CERTIFICATE: u64 = 3000;
const GET: u64 = 100;
const RESPONSE: u64 = 100;
/// Bytes that a foreign and a self probe are reckoned to cost (draft §4.3).
const COST: u64 = 5000 + 1000;
/// Time between pairs while goodput is not known.
const FIRST_GAP: Span = Span(100_000_000);
/// A time that is not known.
const NONE: i64 = -1;

/// One who tests the responsiveness of the path again and again.
pub struct Responsiveness {
    /// Who it is.
    pub who: User,
    /// How it tests.
    pub rules: Rc<scenario::Responsiveness>,
    /// Where it stands.
    pub test: Test,
}

/// The present test, and the tables of those before.
#[derive(Default)]
pub struct Test {
    number: u32,
    began: Time,
    load: Vec<Load>,
    foreign: Vec<Foreign>,
    /// Bytes that load connections had delivered at the end of the interval before.
    before: u64,
    goodputs: VecDeque<f64>,
    averages: Course,
    stable: bool,
    completed: Vec<Completed>,
    scores: Course,
    gap: Span,
    probes: ProbeTable,
    intervals: IntervalTable,
    /// Those of the tests that are over.
    over: (ProbeTable, IntervalTable),
}

/// A load connection and the self probes under way on it.
struct Load {
    connection: ConnectionId,
    direction: Direction,
    established: bool,
    /// Requests sent, and those that the other end has answered.
    asked: u64,
    answered: u64,
    under_way: VecDeque<Own>,
}

/// A self probe: when it was sent, and the bytes at the client that end its response, once that is known.
struct Own {
    start: Time,
    /// On a load up: the bytes at the server that end the request.
    request_ends: u64,
    response_ends: Option<u64>,
}

/// A foreign probe under way.
struct Foreign {
    connection: ConnectionId,
    start: Time,
    /// When the stage under way began, and how long those before took.
    since: Time,
    tcp: i64,
    tls: i64,
}

/// Tokens of wake-ups; above them, the number of a test in the upper bits.
const BEGIN: u64 = 0;
const TICK: u64 = 1;
const PROBE: u64 = 2;
const KINDS: u64 = 4;

impl Responsiveness {
    fn wake(&self, after: Span, kind: u64, network: &mut Network) {
        network.wake_at(network.now() + after, self.who.source, u64::from(self.test.number) * KINDS + kind);
    }

    fn begin(&mut self, network: &mut Network) {
        self.test = Test {
            number: self.test.number + 1,
            began: network.now(),
            gap: FIRST_GAP,
            over: std::mem::take(&mut self.test.over),
            ..Test::default()
        };
        self.add_load(self.rules.connections.0, network);
        self.wake(self.rules.interval, TICK, network);
        self.wake(self.test.gap, PROBE, network);
    }

    fn add_load(&mut self, more: u32, network: &mut Network) {
        let most = self.rules.connections.2 as usize;
        for direction in self.rules.direction.ways().iter().copied() {
            let open = self.test.load.iter().filter(|load| load.direction == direction).count();
            for _ in 0..(more as usize).min(most - open.min(most)) {
                let connection = network.connect(self.who.group, End::Client, self.who.source, true);
                self.test.load.push(Load {
                    connection,
                    direction,
                    established: false,
                    asked: 0,
                    answered: 0,
                    under_way: VecDeque::new(),
                });
                // The client asks for the object, or sends it.
                network.write(connection, End::Client, if direction == Direction::Down { GET } else { u64::MAX });
            }
        }
    }

    /// Bytes that load connections have delivered.
    fn delivered(&self, network: &Network) -> u64 {
        let of = |load: &Load| {
            let end = network.endpoint(load.connection, load.direction.destination());
            end.map_or(0, |end| end.receiver().delivered())
        };
        self.test.load.iter().map(of).sum()
    }

    /// The end of an interval: is goodput stable, and responsiveness?
    fn tick(&mut self, network: &mut Network) {
        let delivered = self.delivered(network);
        let goodput = (delivered - self.test.before) as f64 * 8.0 / self.rules.interval.as_secs();
        let connections = self.test.load.len() as u32;
        let (rules, test) = (&self.rules, &mut self.test);
        let averages = rules.averages as usize;
        test.before = delivered;
        test.goodputs.push_back(goodput);
        if test.goodputs.len() > averages {
            test.goodputs.pop_front();
        }
        let average = test.goodputs.iter().sum::<f64>() / test.goodputs.len() as f64;
        test.stable |= test.averages.is_stable(Some(average), averages, rules.tolerance);
        let now = network.now().0;
        let since = now.saturating_sub((rules.interval * u64::from(rules.averages)).0);
        let score = test.stable.then(|| score::rpm(&test.completed, since, now, rules.tls, rules.trim)).flatten();
        let settled = test.scores.is_stable(score, averages, rules.tolerance);
        test.completed.retain(|probe| probe.at > since);
        if test.began >= self.who.warmup {
            test.intervals.push(IntervalRow {
                user: self.who.number,
                test: test.number,
                end_ns: network.now().0,
                goodput_bps: goodput,
                connections,
                stable: test.stable,
            });
        }
        let cost = COST as f64 * 8.0 / (self.rules.probe_share * goodput.max(1.0));
        // A pair in each interval, however little they may cost; never more of them than a second may have.
        let least = 2.0 / f64::from(self.rules.probes);
        test.gap = Span::from_secs_f64(cost.min(self.rules.interval.as_secs()).max(least));
        if settled || network.now() + self.rules.interval > test.began + self.rules.length {
            self.end(network);
            self.wake(self.rules.pause, BEGIN, network);
            return;
        }
        self.add_load(self.rules.connections.1, network);
        self.wake(self.rules.interval, TICK, network);
    }

    /// Ends the test: what is under way is given up.
    fn end(&mut self, network: &mut Network) {
        self.give_up();
        self.test.over.0.append(&mut self.test.probes);
        self.test.over.1.append(&mut self.test.intervals);
        for load in self.test.load.drain(..) {
            network.abort(load.connection);
        }
        for probe in self.test.foreign.drain(..) {
            network.abort(probe.connection);
        }
    }

    /// Writes down the probes that have not come back, with the time of none.
    fn give_up(&mut self) {
        for i in 0..self.test.load.len() {
            while let Some(own) = self.test.load[i].under_way.pop_front() {
                self.write_down(false, own.start, [NONE; 3], self.test.load[i].connection.flow());
            }
        }
        for i in 0..self.test.foreign.len() {
            let Foreign { connection, start, tcp, tls, .. } = self.test.foreign[i];
            self.write_down(true, start, [tcp, tls, NONE], connection.flow());
        }
    }

    /// Writes down a probe that was completed now.
    fn complete(&mut self, foreign: bool, start: Time, times: [i64; 3], flow: u32, now: Time) {
        let [tcp, tls, http] = times;
        self.test.completed.push(Completed { at: now.0, tcp, tls, http, foreign });
        self.write_down(foreign, start, times, flow);
    }

    fn write_down(&mut self, foreign: bool, start: Time, [tcp_ns, tls_ns, http_ns]: [i64; 3], flow: u32) {
        if self.test.began >= self.who.warmup {
            let (user, test) = (self.who.number, self.test.number);
            self.test.probes.push(ProbeRow { user, test, foreign, start_ns: start.0, tcp_ns, tls_ns, http_ns, flow });
        }
    }

    /// Sends a pair of probes.
    fn probe(&mut self, network: &mut Network) {
        let now = network.now();
        let connection = network.connect(self.who.group, End::Client, self.who.source, true);
        self.test.foreign.push(Foreign { connection, start: now, since: now, tcp: NONE, tls: NONE });
        let ready: Vec<usize> = (0..self.test.load.len()).filter(|i| self.test.load[*i].established).collect();
        if !ready.is_empty() {
            let load = &mut self.test.load[ready[self.who.rng.random_range(0..ready.len())]];
            // Up, the stream is endless, so the request is the next byte of it that is sent.
            let sent = network.endpoint(load.connection, End::Client).map_or(0, |end| end.sender().next());
            load.under_way.push_back(Own { start: now, request_ends: sent + GET, response_ends: None });
            if load.direction == Direction::Down {
                load.asked += 1;
                network.write(load.connection, End::Client, GET);
            }
        }
        self.wake(self.test.gap, PROBE, network);
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        if let Some(i) = self.test.load.iter().position(|load| load.connection == id) {
            self.received_on_load(i, at, bytes, network);
        } else if let Some(i) = self.test.foreign.iter().position(|probe| probe.connection == id) {
            self.received_on_foreign(i, at, bytes, network);
        } else {
            // The server of a probe that is complete hears the FIN, and closes too.
            network.close(id, at);
        }
    }

    fn received_on_load(&mut self, i: usize, at: End, bytes: u64, network: &mut Network) {
        let load = &mut self.test.load[i];
        let id = load.connection;
        if at == End::Client {
            load.established = true;
            let mut done = Vec::new();
            while load.under_way.front().and_then(|own| own.response_ends).is_some_and(|end| bytes >= end) {
                done.extend(load.under_way.pop_front());
            }
            let now = network.now();
            for own in done {
                self.complete(false, own.start, [NONE, NONE, now.since(own.start).0 as i64], id.flow(), now);
            }
            return;
        }
        match load.direction {
            Direction::Down => {
                if bytes >= GET && load.answered == 0 {
                    load.answered = 1;
                    network.write(id, End::Server, u64::MAX);
                }
                // Requests of self probes come behind the first GET.
                while load.answered > 0 && load.answered <= load.asked && bytes >= (load.answered + 1) * GET {
                    load.answered += 1;
                    // Sequence numbers count the SYN, bytes received do not.
                    let sent = network.endpoint(id, End::Server).map_or(0, |end| end.sender().next() - 1);
                    if let Some(own) = load.under_way.iter_mut().find(|own| own.response_ends.is_none()) {
                        own.response_ends = Some(sent + RESPONSE);
                    }
                }
            }
            Direction::Up => {
                let mut responses = 0;
                for own in &mut load.under_way {
                    if own.response_ends.is_none() && bytes + 1 >= own.request_ends {
                        load.answered += 1;
                        own.response_ends = Some(load.answered * RESPONSE);
                        responses += 1;
                    }
                }
                if responses > 0 {
                    network.write(id, End::Server, responses * RESPONSE);
                }
            }
        }
    }

    fn received_on_foreign(&mut self, i: usize, at: End, bytes: u64, network: &mut Network) {
        let (tls, now) = (self.rules.tls, network.now());
        let probe = &mut self.test.foreign[i];
        let id = probe.connection;
        let first = if tls { HELLO } else { 0 };
        if at == End::Server {
            if tls && bytes == HELLO {
                network.write(id, End::Server, CERTIFICATE);
            } else if bytes == first + GET {
                network.write(id, End::Server, RESPONSE);
            }
            return;
        }
        let took = now.since(probe.since).0 as i64;
        let answer = if tls { CERTIFICATE } else { 0 };
        if probe.tcp == NONE {
            probe.tcp = took;
            probe.since = now;
            network.write(id, End::Client, if tls { HELLO } else { GET });
        } else if tls && probe.tls == NONE && bytes >= CERTIFICATE {
            probe.tls = took;
            probe.since = now;
            network.write(id, End::Client, GET);
        } else if bytes >= answer + RESPONSE {
            let Foreign { start, tcp, tls, .. } = self.test.foreign.swap_remove(i);
            self.complete(true, start, [tcp, tls, took], id.flow(), now);
            network.close(id, End::Client);
        }
    }
}

impl Source for Responsiveness {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => self.who.start_within(self.rules.start_within, BEGIN, network),
            Event::Wake(token) if token / KINDS == u64::from(self.test.number) => match token % KINDS {
                BEGIN => self.begin(network),
                TICK => self.tick(network),
                PROBE if !self.test.load.is_empty() => self.probe(network),
                _ => {}
            },
            Event::Received { connection, at, bytes } => self.received(connection, at, bytes, network),
            _ => {}
        }
    }

    fn finish(&mut self, _network: &Network, tables: &mut Tables) {
        // A test that the end of the run cut short is not one.
        let (probes, intervals) = &mut self.test.over;
        tables.probes.append(probes);
        tables.intervals.append(intervals);
    }
}
