//! Passive measurement: the queueing delay of remote hosts, from a capture.
//!
//! ```text
//! read::Capture ─frame─▶ decode, flow table ─sighting─▶ Meter: flows, log ─▶ Meter::finalize ─▶ samples, summary
//! ```
//!
//! - [`read`]: [`read::Capture`] over pcap, pcapng, gzip, zstd, pipes, many files; [`read::Damage`].
//! - [`decode`]: link layers, IP, TCP options, uTP, QUIC's spin bit.
//! - [`delay`]: from frames to the delay of every packet.
//! - [`matching`]: two captures of one queue, compared packet by packet.
//! - [`workload`]: connections as their applications see them, to be replayed.
//! - [`write`]: packets with real headers, as pcapng or pcap.
//! - [`parquet`]: tables of samples.
//!
//! Memory is bounded by [`Options`]: so many flows, so many packets of log; hosts are told apart up to 65,536.

pub mod decimal;
pub mod decode;
pub mod delay;
pub mod matching;
pub mod parquet;
pub mod read;
pub mod workload;
pub mod write;

pub use delay::estimate::Estimator;
pub use delay::meter::Meter;
pub use delay::options::{Choice, Options};
pub use delay::protocol::Protocol;
