//! The one door out: every packet that arrives at a queue is dequeued or dropped, and the probe is told.

use crate::{Span, Time};

pub use crate::log::DropCause;

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
