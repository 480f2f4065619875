//! Passive measurement: the queueing delay of remote hosts, from a capture.
//!
//! A capture is read as one stream of frames ([`read`]), each is decoded ([`decode`]) and handed to its flow
//! ([`flow`]); what a packet says of a queue is logged. When the log is full or the capture ends it is settled
//! ([`settle`]): tick and skew of the senders' clocks, base delays, and then the queueing delay of every packet.
//! [`summary`] has what was found of each host.
//!
//! ```text
//! read::Capture ─frame─▶ Meter::frame ─▶ decode ─▶ flow::Table ─▶ log ─▶ Meter::settle ─▶ samples, summary
//! ```
//!
//! - `read`: [`read::Capture`] over pcap, pcapng, gzip, zstd, standard input, many files; [`read::Damage`].
//! - `decode`: link layers, IP, TCP options, uTP, QUIC's spin bit.
//! - `flow`: the bounded table; `tcp_flow`, `utp_flow`, `spin`: what one packet does to its flow.
//! - [`estimate`]: the four estimators. [`tick`], [`skew`]: clocks. `base_delay`, `takeover`, [`route`]: what the delay would be without a queue.
//! - [`matching`]: two captures of one queue, compared packet by packet.
//! - [`write`]: packets with real headers, as pcapng or pcap.
//!
//! Memory is bounded by [`Options`]: so many flows, so many packets of log; hosts are told apart up to a million.

mod base_delay;
mod clocks;
pub mod decode;
pub mod estimate;
pub mod flow;
pub mod host;
mod log;
pub mod matching;
mod meter;
pub mod quantiles;
pub mod read;
pub mod route;
pub mod series;
pub mod settle;
mod shared;
pub mod skew;
mod spin;
pub mod stamps;
pub mod summary;
mod takeover;
mod tcp_flow;
pub mod tick;
mod tracks;
mod utp_flow;
pub mod write;

pub use log::{Estimator, Protocol};
pub use meter::Meter;
pub use shared::{Choice, Options};
