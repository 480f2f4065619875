//! HTTP/2: streams over one TCP connection, the most urgent first, equals in turn.
//!
//! Source: RFC 9113, frames of 16 KiB; order after RFC 9218 §10 with Chromium's urgencies, every response incremental.
//! The server keeps 128 KiB that TCP has not sent yet, so that what is urgent waits for no more than those
//! (`TCP_NOTSENT_LOWAT`). A frame and its TLS record add 31 bytes. A browser learns that a host speaks HTTP/2 by the
//! handshake: until then it opens a connection for each request, as Chromium does (up to six), and the first that is
//! ready carries all; the others stay unused.
//! Differences: the server tops up when the client receives, half a round trip before it hears of that.

use super::host::Host;
use super::io::Io;
use super::tls::Secure;
use crate::engine::{ConnectionId, End};
use std::collections::VecDeque;

const FRAME: u64 = 16_384;
const OVERHEAD: u64 = 9 + 22;
const UNSENT: u64 = 128 * 1024;
const MOST: usize = 6;

/// A response that the server has begun, or is to begin.
struct Response {
    object: usize,
    left: u64,
}

/// The connections to a host.
#[derive(Default)]
pub(super) struct Http2 {
    opened: Vec<Secure>,
    /// The one that carries all.
    first: Option<ConnectionId>,
    /// Requests in the order of their streams, and how many were sent and answered.
    asked: Vec<usize>,
    sent: usize,
    begun: usize,
    responses: VecDeque<Response>,
    /// Objects whose last byte ends here in the server's stream.
    ends: VecDeque<(u64, usize)>,
    written: u64,
}

impl Http2 {
    fn send(&mut self, io: &mut Io<'_>) {
        let Some(id) = self.first else { return };
        let requests = (self.asked.len() - self.sent) as u64;
        if requests > 0 {
            self.sent = self.asked.len();
            io.network.write(id, End::Client, requests * io.settings.request.0);
        }
    }

    /// The server writes frames until TCP holds enough.
    fn top_up(&mut self, io: &mut Io<'_>) {
        let Some(id) = self.first else { return };
        while !self.responses.is_empty() {
            let Some(server) = io.network.endpoint(id, End::Server) else { return };
            // Sequence numbers begin with the SYN's.
            let unsent = self.written.saturating_sub(server.sender().next().saturating_sub(1));
            if unsent >= UNSENT {
                return;
            }
            let urgency = |place: &usize| (io.objects[self.responses[*place].object].urgency, *place);
            let Some(place) = (0..self.responses.len()).min_by_key(urgency) else { return };
            let Some(mut response) = self.responses.remove(place) else { return };
            let frame = response.left.min(FRAME);
            response.left -= frame;
            self.written += frame + OVERHEAD;
            if response.left == 0 {
                self.ends.push_back((self.written, response.object));
            } else {
                // Behind the others of its urgency.
                self.responses.push_back(response);
            }
            io.network.write(id, End::Server, frame + OVERHEAD);
        }
    }
}

impl Host for Http2 {
    fn ask(&mut self, object: usize, io: &mut Io<'_>) {
        self.asked.push(object);
        if self.first.is_none() && self.opened.len() < MOST {
            self.opened.push(Secure::open(io));
            self.written = io.settings.certificate.0;
        }
        self.send(io);
    }

    fn has(&self, id: ConnectionId) -> bool {
        self.opened.iter().any(|secure| secure.id == id)
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, io: &mut Io<'_>) -> Vec<usize> {
        let Some(secure) = self.opened.iter_mut().find(|secure| secure.id == id) else { return Vec::new() };
        let mut done = Vec::new();
        if secure.received(at, bytes, io) {
            self.first.get_or_insert(id);
            self.send(io);
        } else if self.first != Some(id) {
            return done;
        } else if at == End::Server {
            let requests = (Secure::requests(bytes, io) as usize).min(self.asked.len());
            for object in &self.asked[self.begun.min(requests)..requests] {
                self.responses.push_back(Response { object: *object, left: io.response(*object) });
            }
            self.begun = self.begun.max(requests);
        } else {
            while self.ends.front().is_some_and(|(end, _)| *end <= bytes) {
                done.extend(self.ends.pop_front().map(|(_, object)| object));
            }
        }
        self.top_up(io);
        done
    }

    fn ids(&self) -> Vec<ConnectionId> {
        self.opened.iter().map(|secure| secure.id).collect()
    }

    fn is_known_to_prioritise(&self) -> bool {
        self.first.is_some()
    }

    fn opened(&self) -> u32 {
        self.opened.len() as u32
    }

    fn used(&self) -> u32 {
        u32::from(self.first.is_some())
    }
}
