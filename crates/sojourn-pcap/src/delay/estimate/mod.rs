//! Estimators of one-way delay: two protocols, two clocks that tell when a packet arrived, and [`tcp_arrival`]: which
//! packet of the near side an acknowledgement speaks of.
//!
//! Each gives the delay of a packet up to a constant of its flow; what that constant is, [`crate::delay::finalize`]
//! finds.

pub mod tcp_arrival;
pub mod tcp_observer;
pub mod tcp_report;
pub mod utp_observer;
pub mod utp_report;

/// When a packet was sent, ns, and the number of its frame, which tells the order of those of one burst.
pub(crate) type SentAt = (i64, u64);

/// Which clock told the arrival of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The capture's own clock: delay from the sender to the observer.
    #[default]
    Observer,
    /// The receiver's, as its answers report it: delay from the sender to the receiver.
    Reported,
}
