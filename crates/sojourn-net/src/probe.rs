//! The one door out: every packet that arrives at a queue is dequeued or dropped, and the probe is told.

use crate::{Span, Time};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropCause {
    /// The queue was full.
    Full,
    /// An early decision on arrival (RED, PIE).
    Early,
    /// It had waited too long (CoDel and its kin).
    Sojourn,
    /// Lost on the path, before the queue.
    Path,
    /// The average queue was so long that nothing was let in (RED).
    Forced,
    /// Thinned out at random after an overflow (BLUE, in COBALT and CAKE).
    Blue,
    /// The congestion signal of an overloaded low-latency pair of queues, whatever the packet's ECN bits (DualPI2).
    Overload,
}

impl DropCause {
    /// All causes, in the order of their codes.
    pub const ALL: [Self; 7] =
        [Self::Full, Self::Early, Self::Sojourn, Self::Path, Self::Forced, Self::Blue, Self::Overload];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Early => "early",
            Self::Sojourn => "sojourn",
            Self::Path => "path",
            Self::Forced => "forced",
            Self::Blue => "blue",
            Self::Overload => "overload",
        }
    }
}

/// Told of every packet's fate. `()` listens to nothing.
pub trait Probe<P> {
    /// The packet arrived and was let in.
    fn enqueued(&mut self, now: Time, packet: &P);
    /// The packet leaves the queue and its transmission starts, after `sojourn` in the queue.
    fn dequeued(&mut self, now: Time, packet: &P, sojourn: Span);
    /// The queue set Congestion Experienced on the packet instead of dropping it. A packet that arrived with CE is let
    /// pass where a rule would mark it, and is never counted here.
    fn marked(&mut self, now: Time, packet: &P) {
        let _ = (now, packet);
    }
    /// The packet is gone. `waited` is its time in the queue, `None` if it was refused on arrival.
    /// Takes the packet, so that no drop goes untold.
    fn dropped(&mut self, now: Time, packet: P, cause: DropCause, waited: Option<Span>);
}

impl<P> Probe<P> for () {
    fn enqueued(&mut self, _: Time, _: &P) {}
    fn dequeued(&mut self, _: Time, _: &P, _: Span) {}
    fn dropped(&mut self, _: Time, _: P, _: DropCause, _: Option<Span>) {}
}
