//! HTTP/3: streams over one QUIC connection; a loss holds up only the streams that it is of.
//!
//! Source: RFC 9114, RFC 9218 with Chromium's urgencies, every response incremental. The client's first message goes in
//! a datagram of 1200 bytes; requests go with its last, a round trip later. A server of the kind `quinn` (0.11, below
//! h3, as the testbed's) knows no urgencies: it sends all streams in turn.

use super::host::Host;
use super::io::{Io, packet, timeout};
use super::tls::{FINISHED, HELLO};
use crate::app::quic::{Owner, QuicConnection};
use crate::engine::{End, Network};
use crate::scenario::Http3Server;
use sojourn_net::Ecn;
use sojourn_net::quic::{CRYPTO, Endpoint, Role, StreamId};

/// The server's word that the handshake is over, and tickets for another.
const DONE: u64 = 120;
/// A frame of HTTP/3 around each response.
const FRAME: u64 = 5;

/// The connection to a host.
#[derive(Default)]
pub(super) struct Http3 {
    connection: Option<QuicConnection>,
    ready: bool,
    /// A response has begun to arrive.
    answered: bool,
    asked: Vec<usize>,
    sent: usize,
}

fn stream(place: usize) -> StreamId {
    place as StreamId + 1
}

/// Whether the server is one that sends by urgency.
fn by_urgency(io: &Io<'_>) -> bool {
    io.settings.server == Http3Server::Rfc
}

impl Http3 {
    /// Requests go as soon as the handshake lets them.
    fn send(&mut self, io: &Io<'_>) {
        let Some(connection) = self.connection.as_mut().filter(|_| self.ready) else { return };
        let [client, _] = connection.ends();
        for place in self.sent..self.asked.len() {
            client.write(stream(place), io.settings.request.0, io.objects[self.asked[place]].urgency);
        }
        self.sent = self.asked.len();
    }

    /// A stream has grown at an end; the object that is complete by that.
    fn grown(&mut self, at_server: bool, id: StreamId, bytes: u64, io: &Io<'_>) -> Option<usize> {
        let [client, server] = self.connection.as_mut()?.ends();
        match (at_server, id) {
            (true, CRYPTO) if bytes == HELLO => server.write(CRYPTO, io.settings.certificate.0, 0),
            (true, CRYPTO) => {
                server.confirm();
                server.write(CRYPTO, DONE, 0);
            }
            (false, CRYPTO) if bytes >= io.settings.certificate.0 + DONE => client.confirm(),
            (false, CRYPTO) => {
                if bytes >= io.settings.certificate.0 && !self.ready {
                    client.write(CRYPTO, FINISHED, 0);
                    self.ready = true;
                    self.send(io);
                }
            }
            (true, id) => {
                let object = self.asked[id as usize - 1];
                if bytes == io.settings.request.0 {
                    let urgency = if by_urgency(io) { io.objects[object].urgency } else { 0 };
                    server.write(id, io.response(object) + FRAME, urgency);
                }
            }
            (false, id) => {
                self.answered = true;
                let object = self.asked[id as usize - 1];
                return (bytes == io.response(object) + FRAME).then_some(object);
            }
        }
        None
    }

    fn flush(&mut self, io: &mut Io<'_>) {
        let [packets, timers] = [packet, timeout].map(|number| number(io.host, io.load, 0));
        let owner = Owner { source: io.who.source, group: io.who.group, packets, timers };
        if let Some(connection) = &mut self.connection {
            connection.flush(owner, io.network);
        }
    }
}

impl Host for Http3 {
    fn ask(&mut self, object: usize, io: &mut Io<'_>) {
        self.asked.push(object);
        if self.connection.is_none() {
            let mut client = Endpoint::new(Role::Client, (io.control)()).like_chromium();
            client.write(CRYPTO, HELLO, 0);
            let server = Endpoint::new(Role::Server, (io.control)());
            let ends = [client, if by_urgency(io) { server } else { server.like_quinn() }];
            self.connection = Some(QuicConnection::new(ends, End::Client, io.network.new_flow(io.who.group)));
        }
        self.send(io);
        self.flush(io);
    }

    fn on_packet(&mut self, place: u32, ecn: Ecn, io: &mut Io<'_>) -> Vec<usize> {
        let arrived = self.connection.as_mut().and_then(|it| it.on_packet(place as usize, ecn, io.network.now()));
        let Some((at_server, grown)) = arrived else { return Vec::new() };
        let done = grown.into_iter().filter_map(|(id, bytes)| self.grown(at_server, id, bytes, io)).collect();
        self.flush(io);
        done
    }

    fn on_timeout(&mut self, end: u32, io: &mut Io<'_>) {
        let now = io.network.now();
        if self.connection.as_mut().is_some_and(|it| it.on_timeout(end == 1, now)) {
            self.flush(io);
        }
    }

    fn retransmits(&self, _: &Network) -> u64 {
        self.connection.as_ref().map_or(0, QuicConnection::retransmits)
    }

    fn is_known_to_prioritise(&self) -> bool {
        self.answered
    }

    fn opened(&self) -> u32 {
        u32::from(self.connection.is_some())
    }
}
