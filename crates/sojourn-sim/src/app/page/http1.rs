//! HTTP/1.1: up to six connections, one request on each at a time, the most urgent first.
//!
//! Source: RFC 9112; Chromium's limit of six connections a host. A connection is opened for a request that finds none
//! free; the first that is free takes the most urgent request that waits.

use super::host::Host;
use super::io::Io;
use super::tls::Secure;
use crate::engine::{ConnectionId, End};

const MOST: usize = 6;

struct Lane {
    secure: Secure,
    /// What is under way.
    object: Option<usize>,
    /// Requests answered, and bytes of all responses up to the one under way.
    served: u64,
    expected: u64,
}

/// The connections to a host, and the requests that wait.
#[derive(Default)]
pub(super) struct Http1 {
    lanes: Vec<Lane>,
    waiting: Vec<usize>,
}

impl Http1 {
    /// Gives requests that wait to connections that are free.
    fn serve(&mut self, io: &mut Io<'_>) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.secure.ready && lane.object.is_none()) {
            let urgency = |place: &usize| (io.objects[self.waiting[*place]].urgency, *place);
            let Some(place) = (0..self.waiting.len()).min_by_key(urgency) else { return };
            let object = self.waiting.remove(place);
            lane.object = Some(object);
            lane.expected += io.response(object);
            io.network.write(lane.secure.id, End::Client, io.settings.request.0);
        }
    }
}

impl Host for Http1 {
    fn ask(&mut self, object: usize, io: &mut Io<'_>) {
        self.waiting.push(object);
        self.serve(io);
        // Those that are being opened will each take one.
        let opening = self.lanes.iter().filter(|lane| !lane.secure.ready).count();
        if self.waiting.len() > opening && self.lanes.len() < MOST {
            let secure = Secure::open(io);
            self.lanes.push(Lane { secure, object: None, served: 0, expected: io.settings.certificate.0 });
        }
    }

    fn has(&self, id: ConnectionId) -> bool {
        self.lanes.iter().any(|lane| lane.secure.id == id)
    }

    fn received(&mut self, id: ConnectionId, at: End, bytes: u64, io: &mut Io<'_>) -> Vec<usize> {
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.secure.id == id) else { return Vec::new() };
        let mut done = Vec::new();
        if lane.secure.received(at, bytes, io) {
            self.serve(io);
        } else if at == End::Server {
            if let Some(object) = lane.object.filter(|_| Secure::requests(bytes, io) > lane.served) {
                lane.served += 1;
                io.network.write(id, End::Server, io.response(object));
            }
        } else if lane.object.is_some() && bytes >= lane.expected {
            done.extend(lane.object.take());
            self.serve(io);
        }
        done
    }

    fn ids(&self) -> Vec<ConnectionId> {
        self.lanes.iter().map(|lane| lane.secure.id).collect()
    }

    fn opened(&self) -> u32 {
        self.lanes.len() as u32
    }

    fn used(&self) -> u32 {
        self.lanes.iter().filter(|lane| lane.served > 0).count() as u32
    }
}
