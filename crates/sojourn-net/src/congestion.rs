//! Congestion controllers: how much may be in flight.
//!
//! Which packets were lost, and when to retransmit them, is the sender's business ([`crate::tcp`]); a controller hears
//! of acknowledgements and of congestion and answers with a window.

mod bic;
mod compound;
mod cubic;
mod hystart;
mod ledbat;
mod ledbat_plus_plus;
mod reno;

pub use bic::Bic;
pub use compound::Compound;
pub use cubic::{Arithmetic, Cubic};
pub use hystart::HyStart;
pub use ledbat::Ledbat;
pub use ledbat_plus_plus::LedbatPlusPlus;
pub use reno::{Counting, Reno};

use crate::{Rate, Span, Time};

/// One acknowledgement's news. A struct, so that a new controller needs no new argument.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes this acknowledgement says have arrived, counted once each (cumulatively or selectively).
    pub delivered: u64,
    /// Bytes in flight before it arrived.
    pub in_flight: u64,
    /// First sequence number that it does not acknowledge …
    pub una: u64,
    /// … and the first not sent before it arrived.
    pub next: u64,
    /// Round-trip time measured by it.
    pub rtt: Option<Span>,
    /// One-way delay of the segment that it echoes, and of the acknowledgement's own wait at the receiver; needs timestamps.
    pub one_way: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Smallest round-trip time seen.
    pub min_rtt: Span,
    /// The sender did not use the window it had: there is nothing to learn about a larger one.
    pub app_limited: bool,
    /// The sender is repairing a loss found by duplicate acknowledgements.
    pub recovering: bool,
}

#[cfg(test)]
impl Ack {
    /// An acknowledgement of `delivered` bytes after a round trip as short as any, in a window that was filled.
    fn of(delivered: u64, rtt: Span) -> Self {
        Self {
            delivered,
            in_flight: u64::MAX,
            una: 0,
            next: 0,
            rtt: Some(rtt),
            one_way: None,
            srtt: rtt,
            min_rtt: rtt,
            app_limited: false,
            recovering: false,
        }
    }
}

/// Rounds: each ends with the first acknowledgement of something sent after its beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    end: u64,
}

impl Round {
    /// True if `ack` ends a round, and another begins.
    fn ends(&mut self, ack: &Ack) -> bool {
        let ends = ack.una > self.end;
        if ends {
            self.end = ack.next;
        }
        ends
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss found by duplicate or selective acknowledgements.
    Loss,
    /// The retransmission timer expired.
    Timeout,
}

/// What a sender may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Bytes that may be in flight.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` before the first loss.
    pub ssthresh: u64,
    /// Rate at which packets should be spaced, if the controller wants that.
    pub pacing: Option<Rate>,
}

/// Decides how much may be in flight.
pub trait CongestionControl: Send {
    /// News of arrivals.
    fn on_ack(&mut self, now: Time, ack: &Ack);
    /// A loss (told once for each window of data) or a timeout, with the bytes in flight when it was found.
    fn on_congestion(&mut self, now: Time, what: Congestion, in_flight: u64);
    /// The sender was idle for longer than its retransmission timeout: the window to restart with, at most.
    fn on_idle(&mut self, now: Time, restart: u64);
    /// The present window.
    fn window(&self) -> Window;
}
