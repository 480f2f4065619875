//! What the network tells a source.

use crate::engine::connection::ConnectionId;
use crate::engine::direction::End;
use crate::engine::packet::Packet;
use sojourn_net::Span;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run begins.
    Start,
    /// The time asked for has come.
    Wake(u64),
    /// The client's end of a connection has received more in order (bytes so far), or is established (zero bytes).
    Received {
        /// The connection.
        connection: ConnectionId,
        /// Which end received.
        at: End,
        /// Payload bytes in order so far.
        bytes: u64,
    },
    /// Everything written at this end has been acknowledged.
    Sent {
        /// The connection.
        connection: ConnectionId,
        /// Which end.
        at: End,
    },
    /// A datagram arrived after this one-way network delay.
    Datagram {
        /// The datagram.
        packet: Packet,
        /// From sending to arrival.
        delay: Span,
    },
}
