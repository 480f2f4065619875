//! The same bottleneck between real programs: the queues of the simulator under the wall clock.
//!
//! [`forward`] is the loop, over any two descriptors and any [`clock`]; [`bed`] is what it runs in on Linux: two
//! network namespaces with a TUN interface each, and the command and the server in them.

#![allow(clippy::disallowed_methods, reason = "this crate is what reads the clock for the others")]

pub mod bed;
pub mod clock;
pub mod command;
pub mod device;
pub mod drive;
pub mod due;
pub mod event;
pub mod forward;
pub mod frame;
pub mod gso;
pub mod init;
pub mod interrupt;
pub mod kept;
pub mod lateness;
pub mod ledger;
pub mod linux;
pub mod pace;
pub mod probe;
pub mod recorder;
pub mod replay;
pub mod report;
pub mod rows;
pub mod session;
pub mod setup;
pub mod slab;
pub mod verdict;
pub mod way;

#[cfg(test)]
mod tests;
