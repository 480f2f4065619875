//! Silence of all hosts: packets after it meet empty queues, unless somebody filled them who was not seen.

/// Silence of all hosts after which their packets no longer wait anywhere, ns.
pub(crate) const SILENCE: i64 = 2_000_000_000;
/// Payload of a datagram that breaks no silence, in bytes: voice of 50 packets a second, ticks of games and lookups of
/// names, which fill no queue that is not very slow.
pub(super) const THIN: u32 = 400;
/// What the first packet after a silence may lie above the least delay, ns.
pub(crate) const IDLE_SPREAD: f64 = 1e6;
