//! QUIC (RFC 9000) as state that is told the time: streams over datagrams, recovery (RFC 9002), no cryptography.
//!
//! An [`Endpoint`] is one end of a connection: packets go in, packets come out, and each stream is delivered by itself.
//! Differences: one packet number space instead of three; the handshake's messages go over the stream [`CRYPTO`], whose
//! contents the application knows; flow control never limits. Where the RFCs leave a choice, an end may be like that of
//! Chromium (a client) or of quinn (a server).

mod endpoint;
mod pacing;
mod packet;
mod path_mtu;
mod received;
mod recovery;
mod streams;

pub use endpoint::{Endpoint, Role};
pub use packet::{DATAGRAM, Frame, Packet};
pub use streams::{CRYPTO, StreamId};

#[cfg(test)]
mod tests;
