//! HTTP/3: streams over one QUIC connection; a loss holds up only the streams that it is of.
//!
//! Source: RFC 9114, RFC 9218 with Chromium's urgencies, every response incremental. The client's first message goes in
//! a datagram of 1200 bytes; requests go with its last, a round trip later. A server of the kind `quinn` (0.11, below
//! h3, as the testbed's) knows no urgencies: it sends all streams in turn.

use super::host::Host;
use super::io::{Io, packet, timeout};
use super::tls::{FINISHED, HELLO};
use crate::engine::{Direction, Kind, Network};
use crate::scenario::Http3Server;
use sojourn_net::Time;
use sojourn_net::quic::{CRYPTO, Endpoint, Packet, Role, StreamId};

/// IP and UDP.
const HEADERS: u64 = 28;
/// The server's word that the handshake is over, and tickets for another.
const DONE: u64 = 120;
/// A frame of HTTP/3 around each response.
const FRAME: u64 = 5;

/// Both ends of the connection to a host, and the packets between them.
#[derive(Default)]
pub(super) struct Http3 {
    ends: Option<[Endpoint; 2]>,
    flow: u32,
    packets: Vec<Option<(bool, Packet)>>,
    armed: [Option<Time>; 2],
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
        let Some([client, _]) = self.ends.as_mut().filter(|_| self.ready) else { return };
        for place in self.sent..self.asked.len() {
            client.write(stream(place), io.settings.request.0, io.objects[self.asked[place]].urgency);
        }
        self.sent = self.asked.len();
    }

    /// A stream has grown at an end; the object that is complete by that.
    fn grown(&mut self, at_server: bool, id: StreamId, bytes: u64, io: &Io<'_>) -> Option<usize> {
        let [client, server] = self.ends.as_mut()?;
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

    /// Sends what both ends have to send, and arms their timers.
    fn flush(&mut self, io: &mut Io<'_>) {
        let now = io.network.now();
        let Some(ends) = &mut self.ends else { return };
        for (place, end) in ends.iter_mut().enumerate() {
            let to_server = place == 0;
            while let Some(sent) = end.poll(now) {
                let size = (sent.bytes + HEADERS) as u16;
                self.packets.push(Some((to_server, sent)));
                let seq = packet(io.host, io.load, self.packets.len() as u32 - 1);
                let direction = if to_server { Direction::Up } else { Direction::Down };
                io.network.datagram(&io.who.datagram(direction, Kind::Quic, self.flow, seq, size));
            }
            let at = end.next_timer();
            if at != Time::NEVER && self.armed[place] != Some(at.max(now)) {
                self.armed[place] = Some(at.max(now));
                io.network.wake_at(at, io.who.source, timeout(io.host, io.load, place as u32));
            }
        }
    }
}

impl Host for Http3 {
    fn ask(&mut self, object: usize, io: &mut Io<'_>) {
        self.asked.push(object);
        if self.ends.is_none() {
            let mut client = Endpoint::new(Role::Client, (io.control)()).like_chromium();
            client.write(CRYPTO, HELLO, 0);
            let server = Endpoint::new(Role::Server, (io.control)());
            self.ends = Some([client, if by_urgency(io) { server } else { server.like_quinn() }]);
            self.flow = io.network.new_flow(io.who.group);
        }
        self.send(io);
        self.flush(io);
    }

    fn on_packet(&mut self, place: u32, io: &mut Io<'_>) -> Vec<usize> {
        let now = io.network.now();
        let Some((to_server, packet)) = self.packets.get_mut(place as usize).and_then(Option::take) else {
            return Vec::new();
        };
        let Some(ends) = &mut self.ends else { return Vec::new() };
        let grown = ends[usize::from(to_server)].on_packet(now, &packet);
        let done = grown.into_iter().filter_map(|(id, bytes)| self.grown(to_server, id, bytes, io)).collect();
        self.flush(io);
        done
    }

    fn on_timeout(&mut self, end: u32, io: &mut Io<'_>) {
        let now = io.network.now();
        let Some(ends) = &mut self.ends else { return };
        if self.armed[end as usize] == Some(now) {
            self.armed[end as usize] = None;
            ends[end as usize].on_timeout(now);
            self.flush(io);
        }
    }

    fn retransmits(&self, _: &Network) -> u64 {
        self.ends.as_ref().map_or(0, |[_, server]| server.retransmits())
    }

    fn is_known_to_prioritise(&self) -> bool {
        self.answered
    }

    fn opened(&self) -> u32 {
        u32::from(self.ends.is_some())
    }
}
