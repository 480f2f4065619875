//! Base delays: what a packet of each track would take through empty queues.
//!
//! The least delay seen (a minimum filter) is the base only if a packet met the queue empty. So [`single_flow`] bounds
//! the base of each track from above by it and from below by round trips, and counts what shows an empty queue. Then
//! [`cross_flow`] takes bases over between flows that share queues, by [`comparison`] of their packets, and decides
//! which delays are only lower bounds.

pub(super) mod comparison;
mod cross_flow;
pub(super) mod single_flow;
mod whole_steps;

use crate::delay::finalize::first_look::Looked;
use crate::delay::host::Hosts;
use crate::delay::log::Log;
use crate::delay::track::Track;

/// Find the base of every track from its log, from other tracks', and from what earlier logs left.
pub(super) fn finalize(log: &Log, tracks: &mut [Track], looks: &[Looked], hosts: &mut Hosts, threads: usize) {
    single_flow::finalize(log, tracks, looks, hosts, threads);
    cross_flow::finalize(log, tracks, threads);
}
