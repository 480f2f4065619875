//! The queueing delay from remote hosts and to them, from one capture.
//!
//! A frame is decoded and found its flow ([`flow`]); what a packet says of a queue is logged. When the log is full or
//! the capture ends it is finalized ([`finalize`]): tick and skew of the senders' clocks, base delays, and then the
//! queueing delay of every packet. [`summary`] has what was found of each host.
//!
//! Work is halved where two threads can share it, and each half takes about as long: `sighting` looks at bytes and
//! finds the flow ([`flow`]: the bounded table), `meter` asks what packets say of connections and hosts ([`ahead`]).
//!
//! - `meter`: from sightings to the log. `tcp_flow`, `connection`, `utp_flow`, `spin`: what one packet does to its
//!   flow; `state`, `log`, `tracks`: what they write to. `first_look`: what one pass over the log finds for all that
//!   follows. `course`: the delays of a track, packet by packet; `beside`: those
//!   that others tell.
//! - [`estimate`]: the four estimators. `clocks`, `fits`, [`tick`], [`skew`], [`stamps`]: clocks.
//! - `path`, `paths`, `order`, `base_delay`, `bounds`, `scale`, `cross_flow_base`, `comparison`, `evidence`, `within`,
//!   [`transmission`], `leasts`, `spacings`, `toward`, [`route`]: what the delay would be without a queue.

pub mod ahead;
mod base_delay;
mod beside;
mod bounds;
mod clocks;
mod comparison;
mod connection;
mod course;
mod cross_flow_base;
pub mod estimate;
mod evidence;
pub mod finalize;
mod first_look;
mod fits;
pub mod flow;
pub mod host;
mod leasts;
mod line;
pub(crate) mod log;
pub(crate) mod meter;
mod order;
mod pages;
mod path;
mod paths;
pub mod quantiles;
pub mod route;
mod scale;
pub mod series;
mod share;
mod sighting;
pub mod skew;
mod spacings;
mod spin;
pub mod stamps;
pub(crate) mod state;
pub mod summary;
mod tcp_flow;
pub mod tick;
pub mod total;
mod toward;
pub(crate) mod track;
mod tracks;
pub mod transmission;
mod utp_flow;
mod within;
