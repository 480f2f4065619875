//! Estimators of one-way delay: two protocols, two clocks that tell when a packet arrived, and [`tcp_arrival`]: which
//! packet of the near side an acknowledgement speaks of.
//!
//! Each gives the delay of a packet up to a constant of its flow; what that constant is, [`crate::delay::base_delay`]
//! says.

pub mod tcp_arrival;
pub mod tcp_observer;
pub mod tcp_report;
pub mod utp_observer;
pub mod utp_report;
