//! Congestion controllers: how much may be in flight.
//!
//! Which packets were lost, and when to retransmit them, is the sender's business ([`crate::tcp`]); a controller hears
//! of acknowledgements and of congestion and answers with a window.

mod bbr1;
mod bbr3;
mod bic;
mod compound;
mod control;
mod cubic;
mod cubic_ns2;
mod cubic_rfc9438;
mod dctcp;
mod delivery;
mod hystart;
mod ledbat;
mod ledbat_ns2;
mod ledbat_plus_plus;
mod prague;
mod reno;
mod utp;
mod variables;

pub use bbr1::Bbr1;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use compound::{Arithmetic, Compound};
pub use control::{Ack, Congestion, CongestionControl, Needs, RateSample, Window};
pub use cubic::Cubic;
pub use cubic_ns2::CubicNs2;
pub use cubic_rfc9438::CubicRfc9438;
pub use dctcp::Dctcp;
pub use hystart::HyStart;
pub use ledbat::Ledbat;
pub use ledbat_ns2::LedbatNs2;
pub use ledbat_plus_plus::LedbatPlusPlus;
pub use prague::Prague;
pub use reno::{Counting, Reno};
pub use utp::Utp;
pub use variables::Variables;

#[cfg(test)]
mod tests;
