//! Timestamp clocks of senders: how often they tick, how far they drift, and that their stamps wrap around.
//!
//! Stamps pass [`unwrapped`] as packets are seen. When a log is finalized, [`tick`] is fitted to them, and then
//! [`skew`] to what they are off the capture's clock by that tick. Nothing here knows of flows: which stamps are of one
//! clock, and for whom the findings hold, `finalize::clocks` says.

pub(crate) mod skew;
pub(super) mod tick;
pub(crate) mod unwrapped;
