//! uTP's own stamps (µs) against the capture's clock: capture time minus stamp is the delay from the sender to the
//! observer, up to a constant.
//!
//! Every packet of a sender carries a stamp, so every packet is a sample. All connections between two endpoints share
//! the sender's clock, so they are one flow here.

use super::tcp_observer::Estimate;

/// One-way delays of a quiet path differ by about this much, ns.
pub const PATH_JITTER: f64 = 100_000.0;

/// The delay of a packet by its excess over the base, ns.
#[inline]
pub fn estimate(excess: f64) -> Estimate {
    Estimate { delay: excess.max(0.0), error: PATH_JITTER }
}
