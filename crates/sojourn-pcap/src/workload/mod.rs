//! The traffic of a capture as a workload: connections as the applications at their ends see them, to be replayed
//! over another queue.
//!
//! Source: M. Weigle, P. Adurthi, F. Hernández-Campos, K. Jeffay, F. D. Smith, "Tmix: a tool for generating realistic
//! TCP application workloads in ns-2", CCR 36(3), 2006: a connection is a vector of turns (a-b-t): bytes from the one
//! who opened it (a), bytes from the other (b), and the times (t) that each of them waits before its turn. Where both
//! send without having heard all of the other (segments p and q with p.end > q.ack and q.end > p.ack), the connection
//! is *concurrent*, and each direction has a sequence of its own. Of a turn in it is known how much of the other its
//! end had acknowledged by then, which may be what it waited for (TwoSew, DETERLab: events that wait for so many
//! bytes). Who had more to send all the while that the other's passed, as full segments say or what was not
//! acknowledged, goes on with the same turn.
//!
//! Sizes are differences of sequence numbers, so retransmissions and reordering change nothing; bytes of a direction
//! that the capture did not see are those that the other direction acknowledges. Differences: an end's base round trip
//! is the least over all connections between two hosts; a turn of the same end begins after 100 ms in which all was
//! acknowledged (Tmix: 500 ms); what queues and repairs in front of the capture took is no part of a far end's times
//! ([`crate::Meter`] tells of the queues); what is not TCP is kept datagram by datagram, without what they waited in
//! front of the capture where that is known.

mod after;
mod beside;
mod connection;
mod datagrams;
mod ends;
mod entry;
mod extractor;
mod first_flight;
mod header;
mod level;
mod looks;
mod lost;
mod on_link;
mod one_by_one;
mod probes;
mod queue;
mod quic;
mod raw_turn;
mod response;
mod rtp;
mod senders;
mod sides;
mod stood;
#[cfg(test)]
mod tests;
mod turns;
mod waits;
mod way;

pub use after::After;
pub use extractor::{Extractor, Options};
pub use stood::Stood;
pub use turns::{Recorded, Turn, Workload};
