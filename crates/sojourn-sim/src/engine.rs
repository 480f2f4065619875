//! The engine: a virtual clock, connections, and the links of the path with their delay lines.

pub(crate) mod access;
pub mod bottleneck;
pub mod connection;
pub mod direction;
pub mod event;
pub(crate) mod event_queue;
pub(crate) mod jitter;
pub mod network;
pub mod packet;
pub mod route;

pub(crate) use access::AccessLink;
pub(crate) use bottleneck::{Bottleneck, LinkPort};
pub use connection::{ConnectionId, FlowTotals};
pub use direction::{Direction, End};
pub use event::Event;
pub(crate) use event_queue::EventQueue;
pub(crate) use jitter::Jitter;
pub use network::{Datagram, Network};
pub use packet::{Kind, Packet};
pub use route::{AccessAt, Way};
