//! Queue disciplines, links, TCP and congestion control: state that is told the time.
//!
//! Nothing here reads a clock, opens a socket or draws from a global generator: `now` and the random
//! stream are arguments. The same code therefore runs under a virtual clock and under the wall clock.

pub mod congestion;
mod invalid;
mod jiffies;
pub mod link;
pub mod log;
mod named;
pub mod packet;
pub mod probe;
pub mod queue;
pub mod quic;
pub mod quote;
pub mod rate;
mod read_as;
pub mod tcp;
pub mod time;
pub mod units;
mod with_defaults;

pub use invalid::Invalid;
pub use packet::{Ecn, Packet};
pub use time::{Span, Time};
pub use units::{Bytes, Limit, Rate};
