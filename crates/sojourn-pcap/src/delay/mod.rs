//! The queueing delay from remote hosts and to them, from one capture.
//!
//! ```text
//! frames ─▶ sighting ─▶ flow ─▶ log ─▶ finalize ─────────────────────────────────────────────▶ samples, summary
//!                                      clocks ▸ paths ▸ base delay ▸ transmission ▸ queueing delay
//! ```
//!
//! The method is passive one-way delay: a sender's timestamp beside the time of its arrival gives the delay of a packet
//! up to a constant of the flow, once tick and skew of the sender's clock are known. The constant is the base delay,
//! what a packet takes through empty queues; what exceeds it is the queueing delay. None of these is known before many
//! packets were seen, so packets are logged first, and the log is finalized when it is full or the capture ends.
//!
//! In the order in which a capture passes:
//! - [`read_ahead`]: a whole capture, on one thread or two. The work is halved between `sighting`, which looks at
//!   bytes, finds the flow, and says what a segment is within its own connection, and `meter`, which asks what packets
//!   say of hosts and queues.
//! - `flow`: what one packet does to its connection; [`estimate`]: which packets tell of a delay, and what they tell.
//! - What they write to is `meter_state`: [`host`] (an address), `track` (one direction of a flow, by one clock) and
//!   `log` (a packet of a track).
//! - [`finalize`]: from the log to the delay of every packet, step by step.
//! - [`summary`]: what was found of each host.
//!
//! What knows nothing of captures: `clock` (tick, skew and wraps of timestamp clocks), `route_change` (by hop limits),
//! `stats` (quantiles, series, sums in bounded memory), `parallel` (work shared between threads), `prefetch` (memory
//! asked for ahead).

pub(crate) mod clock;
mod discard;
pub mod estimate;
pub mod finalize;
mod flow;
pub mod host;
mod log;
pub(crate) mod meter;
mod meter_state;
pub(crate) mod options;
mod parallel;
mod prefetch;
pub(crate) mod protocol;
pub mod read_ahead;
mod route_change;
mod sighting;
mod stats;
pub mod summary;
mod track;
