//! The loop and its records from outside the crate, in one program.

mod ledger;
mod replay;
