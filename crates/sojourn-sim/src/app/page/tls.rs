//! A TCP connection with TLS 1.3: a round trip each before the first request.
//!
//! Source: RFC 8446 §2. The client's first message has 600 bytes and its last 80, which are choices: browsers' differ
//! by the groups that they offer.

use super::io::Io;
use crate::engine::{ConnectionId, End};

/// The client's first message.
pub(super) const HELLO: u64 = 600;
/// Its last of the handshake.
pub(super) const FINISHED: u64 = 80;

/// A connection, whose handshake may not be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secure {
    pub(super) id: ConnectionId,
    answered: bool,
    /// Requests may be sent.
    pub(super) ready: bool,
}

impl Secure {
    /// Opens one.
    pub(super) fn open(io: &mut Io<'_>) -> Self {
        let id = io.network.connect(io.who.group, End::Client, io.who.source, true);
        io.network.write(id, End::Client, HELLO);
        Self { id, answered: false, ready: false }
    }

    /// Bytes arrived in order at an end. True if the handshake has just ended at the client.
    pub(super) fn received(&mut self, at: End, bytes: u64, io: &mut Io<'_>) -> bool {
        if at == End::Server && !self.answered && bytes >= HELLO {
            self.answered = true;
            io.network.write(self.id, End::Server, io.settings.certificate.0);
        }
        if at == End::Client && !self.ready && bytes >= io.settings.certificate.0 {
            self.ready = true;
            io.network.write(self.id, End::Client, FINISHED);
            return true;
        }
        false
    }

    /// Requests that have arrived in full, of these bytes at the server.
    pub(super) fn requests(bytes: u64, io: &Io<'_>) -> u64 {
        bytes.saturating_sub(HELLO + FINISHED) / io.settings.request.0
    }
}
