//! The same bottleneck between real programs: the queues of the simulator under the wall clock.
//!
//! ```text
//! setup ─▶ session ┬▶ ends:    two network namespaces with a TUN interface each, the server and the command in them
//!                  ├▶ forward: the loop, over any two descriptors and any clock, on a thread of its own
//!                  │     │ event: each fate of a packet, each write
//!                  ├▶ record:  summaries, packet log, capture, live view and replay, on another thread
//!                  └▶ result:  what the run came to, and whether the emulator did what it was told
//! ```

#![allow(clippy::disallowed_methods, reason = "this crate is what reads the clock for the others")]

pub mod device;
pub mod ends;
pub mod event;
pub mod forward;
pub mod frame;
pub mod lateness;
pub mod linux;
pub mod record;
pub mod result;
pub mod session;
pub mod setup;

#[cfg(test)]
mod tests;

/// Why a run came to nothing: a sentence.
pub type Trouble = String;
