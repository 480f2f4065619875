//! TCP: one end of a connection, without I/O.
//!
//! An [`Endpoint`] is told of segments that arrive and of time that passes, and hands out segments to send. Sequence
//! numbers are 64-bit and start at zero: the SYN is unit 0, the first byte is unit 1, the FIN is the unit after the
//! last byte.
//!
//! | file | |
//! | --- | --- |
//! | `endpoint`, `sender`, `receiver` | the two halves of one end, and what joins them |
//! | `sender/{ack, transmit, recovery}` | what an ACK does, what may be sent, what a loss does |
//! | `rto`, `rttvar`, `jiffies` | the retransmission timeout; Linux's variance; Linux's timer ticks |
//! | `loss/*` | scoreboard, RACK, TLP, PRR, F-RTO, undo |
//! | `stack` | where stacks depart from the standards, or differ where those leave a choice |
//! | `ack_policy`, `cwnd_limited`, `ecn`, `pacing`, `rate_sample`, `reader` | one rule each |
//!
//! Sources: RFC 9293 (segments, connection set-up and tear-down), RFC 5681 (duplicate ACKs, idle restart), RFC 6298
//! (timer), RFC 2018 and 6675 (SACK and recovery), RFC 6582 (NewReno), RFC 3042 (limited transmit), RFC 7323
//! (timestamps); on request RFC 8985 (RACK-TLP), RFC 3168, 8257 and 9768 (ECN), pacing and Linux's habits. Not
//! modelled: urgent data, Nagle's rule, window shrinking, simultaneous open, reset.

mod ack_policy;
mod config;
pub(crate) mod cwnd_limited;
mod ecn;
mod endpoint;
mod loss;
mod pacing;
mod rate_sample;
mod reader;
mod receiver;
mod rto;
mod rttvar;
mod segment;
mod sender;
mod stack;
mod statistics;
mod window_growth;

pub use config::{Config, Recovery, Stack};
pub use ecn::EcnMode;
pub use endpoint::{Endpoint, Role};
pub use pacing::Pacing;
pub use receiver::Receiver;
pub use segment::{Block, Sack, Segment};
pub use sender::Sender;
pub use statistics::{Repair, Statistics};

#[cfg(test)]
mod tests;
