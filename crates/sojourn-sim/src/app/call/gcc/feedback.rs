//! What the parts of the controller tell one another: fates of packets, and bursts of probes.

use sojourn_net::{Span, Time};

/// The lowest rate that the controller ever asks for, in bit/s.
pub(super) const LOWEST_RATE: f64 = 5_000.0;

/// A burst of packets at a rate above the target, to learn whether the path carries it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probe {
    /// Number of the cluster, from 1.
    pub(crate) id: u32,
    /// Rate in bit/s.
    pub(crate) rate: f64,
    /// Bytes that it takes.
    pub(crate) bytes: f64,
    /// Sendings that it takes.
    pub(crate) sendings: u32,
    /// Least time between two sendings.
    pub(crate) spacing: Span,
    /// When it was asked for.
    pub(crate) asked: Time,
}

/// What the receiver said about one packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PacketResult {
    /// Its number in the transport-wide order of sending.
    pub(crate) seq: u64,
    /// Bytes at IP.
    pub(crate) bytes: u32,
    /// When it was sent.
    pub(crate) sent: Time,
    /// When it arrived, by the receiver's clock; `None` if it did not.
    pub(crate) arrived: Option<Time>,
    /// The probe that it belongs to.
    pub(crate) probe: Option<Probe>,
}
