//! Records of a run, made on a thread of their own from the events of the one that forwards.
//!
//! The [`recorder`] hands each event to the [`ledger`]. That counts it, link by link (`link_ledger`), gives it to the
//! [`replay`] and to the [`pace`] of its link, and writes the [`rows`] of the packet log and the `capture`, to files
//! that are [`kept`] until a disk is full.

mod capture;
pub mod kept;
pub mod ledger;
mod link_ledger;
pub mod pace;
pub mod recorder;
pub mod replay;
pub mod rows;
