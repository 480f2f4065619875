//! The loop and its records from outside the crate, in one program.

mod forwarding;
mod ledger;
mod replay;
