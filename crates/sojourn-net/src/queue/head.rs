//! Where a discipline that decides at the head takes its packets from: one queue, or one flow's among many.

use crate::Time;

/// Packets in order of arrival, to be judged one by one at the head.
pub(super) trait Head<P> {
    /// Takes the oldest packet and the time of its arrival.
    fn next(&mut self) -> Option<(Time, P)>;
    /// Bytes that count in CoDel's test of a queue with less than an MTU.
    fn bytes(&self) -> u64;
}
