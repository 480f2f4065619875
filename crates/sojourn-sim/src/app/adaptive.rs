//! A viewer of adaptive video: a player that fetches one segment after another over one persistent connection.
//!
//! Source: the [has] study's clients. One GET a segment, no pipelining; the session begins when the connection is
//! established, and ends with the clip. The manifest and the initialisation segments (some kilobytes) are not fetched.
//! A segment that is given up ends its connection at once, as if a reset took no time; what is in the queues is still
//! sent, and the next request waits for a new connection. Of a live stream the server sends each chunk when the encoder
//! has made it ([`crate::player::Live`]).

use super::source::Source;
use super::tables::{AdaptiveRow, LiveRow, StallRow, Tables, ViewerRow};
use crate::engine::{ConnectionId, End, Event, Network};
use crate::player::{Next, Session, TICK_S};
use sojourn_net::{Span, Time};

/// One viewer.
pub struct Adaptive {
    /// Number of this source.
    pub number: u32,
    /// Number of the user.
    pub user: u32,
    /// Its hosts.
    pub group: u16,
    /// What is watched, and how.
    pub session: Session,
    /// Size of each request.
    pub request: u64,
    /// Bytes of header in front of each segment.
    pub header: u64,
    /// When the connection is opened.
    pub start: Time,
    /// Where the fetching stands.
    pub fetch: Fetch,
}

/// The connection of a viewer and what is under way on it.
#[derive(Default)]
pub struct Fetch {
    connection: Option<ConnectionId>,
    begun: Option<Time>,
    /// Requests sent so far.
    requests: u64,
    /// Bytes of the response under way, and those of all before it.
    response: u64,
    received: u64,
    first_byte: Option<Time>,
    /// A response is under way; word of bytes may come again after its last.
    busy: bool,
    /// Bytes of the segment to ask for when the new connection is established.
    pending: Option<u64>,
    /// Bytes of the live response under way that the server has written.
    written: u64,
}

/// Tokens of wake-ups: the viewer, the server of a live stream, the look at a live viewer's latency.
const VIEWER: u64 = 0;
const SERVER: u64 = 1;
const LOOK: u64 = 2;

impl Adaptive {
    /// Seconds since the session began.
    fn session_s(&self, now: Time) -> f64 {
        self.fetch.begun.map_or(0.0, |begun| now.since(begun).as_secs())
    }

    fn go_on(&mut self, network: &mut Network) {
        let now = self.session_s(network.now());
        match self.session.next(now) {
            Next::Wait(seconds) => {
                let wait = Span((seconds * 1e9) as u64 + 1);
                network.wake_at(network.now() + wait, self.number, VIEWER);
            }
            Next::Request { bytes, .. } => self.ask(bytes, network),
            Next::Done => {
                if let Some(connection) = self.fetch.connection {
                    network.close(connection, End::Client);
                }
            }
        }
    }

    fn ask(&mut self, bytes: u64, network: &mut Network) {
        let Some(connection) = self.fetch.connection else { return };
        self.fetch.received += self.fetch.response;
        self.fetch.response = self.header + bytes;
        self.fetch.first_byte = None;
        self.fetch.requests += 1;
        self.fetch.busy = true;
        self.fetch.written = 0;
        network.write(connection, End::Client, self.request);
    }

    /// The server writes what it has of the segment that was asked for: all of it, or the chunks that are made.
    fn serve(&mut self, network: &mut Network) {
        let Some(connection) = self.fetch.connection else { return };
        if !self.session.is_live() {
            network.write(connection, End::Server, self.fetch.response);
            return;
        }
        let (made, next_s) = self.session.made(self.session_s(network.now()));
        let written = self.header + made;
        if written > self.fetch.written {
            network.write(connection, End::Server, written - self.fetch.written);
            self.fetch.written = written;
        }
        if let Some((next_s, begun)) = next_s.zip(self.fetch.begun) {
            let at = Time(begun.0 + (next_s.max(0.0) * 1e9) as u64 + 1);
            network.wake_at(at, self.number, SERVER);
        }
    }

    /// Looks at the latency of what is live, again and again until all has been played.
    fn look(&mut self, network: &mut Network) {
        self.session.look(self.session_s(network.now()));
        if !self.session.is_over() {
            network.wake_at(network.now() + Span::from_secs_f64(TICK_S), self.number, LOOK);
        }
    }

    /// Ends the connection and asks over a new one.
    fn ask_anew(&mut self, bytes: u64, network: &mut Network) {
        if let Some(connection) = self.fetch.connection {
            network.abort(connection);
        }
        let connection = network.connect(self.group, End::Client, self.number, true);
        let begun = self.fetch.begun;
        self.fetch = Fetch { connection: Some(connection), begun, pending: Some(bytes), ..Fetch::default() };
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, network: &mut Network) {
        if Some(id) != self.fetch.connection {
            return;
        }
        if at == End::Server {
            if bytes == 0 {
                return;
            }
            if self.session.rows().len() == self.session.clip().len() && self.fetch.first_byte.is_some() {
                // The clip is over: the client's FIN.
                network.close(id, at);
            } else if bytes == self.fetch.requests * self.request {
                self.serve(network);
            }
            return;
        }
        if self.fetch.begun.is_none() {
            self.fetch.begun = Some(network.now());
            if self.session.is_live() {
                self.session.join(network.now().as_secs());
                network.wake_at(network.now() + Span::from_secs_f64(TICK_S), self.number, LOOK);
            }
            self.go_on(network);
        } else if let Some(bytes) = self.fetch.pending.take() {
            self.ask(bytes, network);
        } else if self.fetch.busy && bytes > self.fetch.received {
            let first = *self.fetch.first_byte.get_or_insert(network.now());
            let done = (bytes - self.fetch.received).saturating_sub(self.header);
            let (first_s, now_s) = (self.session_s(first), self.session_s(network.now()));
            if let Some(Next::Request { bytes, .. }) = self.session.progress(first_s, now_s, done) {
                self.ask_anew(bytes, network);
            } else if bytes >= self.fetch.received + self.fetch.response {
                self.fetch.busy = false;
                self.session.arrived(first_s, now_s);
                self.go_on(network);
            }
        }
    }
}

impl Source for Adaptive {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => network.wake_at(self.start, self.number, VIEWER),
            Event::Wake(SERVER) if self.fetch.busy => self.serve(network),
            Event::Wake(LOOK) => self.look(network),
            Event::Wake(_) if self.fetch.connection.is_none() => {
                self.fetch.connection = Some(network.connect(self.group, End::Client, self.number, true));
            }
            Event::Wake(VIEWER) => self.go_on(network),
            Event::Received { connection, at, bytes } => self.received(connection, at, bytes, network),
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        if self.fetch.connection.is_none() {
            return;
        }
        let (now, begun) = (self.session_s(network.now()), self.fetch.begun);
        self.session.playback().advance(now);
        let run_ns = |seconds: f64| {
            let at = begun.filter(|_| seconds.is_finite());
            at.map_or(-1, |begun| ((begun.as_secs() + seconds) * 1e9 + 0.5) as i64)
        };
        let rates = self.session.clip().rates_kbps().to_vec();
        for row in self.session.rows() {
            tables.adaptive.push(AdaptiveRow {
                user: self.user,
                segment: row.segment.index as u32 + 1,
                level: row.segment.level as u16 + 1,
                rate_kbps: rates[row.segment.level],
                bytes: row.segment.bytes,
                request_ns: run_ns(row.segment.request_s),
                first_byte_ns: run_ns(row.segment.first_byte_s),
                arrive_ns: run_ns(row.segment.arrive_s),
                before_s: row.before_s,
                after_s: row.segment.buffer_s,
                estimate_kbps: row.estimate_kbps.unwrap_or(f64::NAN),
                given_up: row.given_up,
            });
        }
        for look in self.session.looks() {
            tables.live.push(LiveRow {
                user: self.user,
                time_ns: run_ns(look.time_s),
                latency_s: look.latency_s,
                rate: look.rate,
                buffer_s: look.buffer_s,
                jumped_s: look.jumped_s,
            });
        }
        let (segments, segment_s) = (self.session.clip().len(), self.session.clip().segment_s());
        let last = self.session.rows().last().filter(|row| row.segment.index + 1 == segments);
        let end = last.map_or(f64::INFINITY, |row| row.segment.arrive_s);
        let playback = self.session.playback();
        tables.viewers.push(ViewerRow {
            user: self.user,
            opened_ns: self.start.0 as i64,
            start_ns: begun.map_or(-1, |begun| begun.0 as i64),
            play_ns: run_ns(playback.started_s().unwrap_or(f64::INFINITY)),
            end_ns: run_ns(end),
            segments: segments as u32,
            segment_s,
        });
        let ended = playback.stalls().iter().map(|stall| (stall.from_s, stall.to_s));
        let present = playback.stalled_since().map(|since| (since, now));
        for (from, to) in ended.chain(present) {
            tables.stalls.push(StallRow { user: self.user, from_ns: run_ns(from), to_ns: run_ns(to) });
        }
    }
}
