//! The ends of the path: two hosts that do not exist, and the programs that run on them.
//!
//! The [`bed`] has the network namespaces and their interfaces. The [`probe`] measures the idle path through them. The
//! [`command`] runs in a process namespace, whose first process is [`init`]; [`interrupt`] says who ends with an
//! interrupt of the terminal.

pub mod bed;
pub mod command;
pub mod init;
pub mod interrupt;
pub mod probe;
