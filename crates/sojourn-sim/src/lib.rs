//! Study schema, virtual clock, workload sources and applications, recorder: simulations from study files.

mod agenda;
mod connection;
pub mod controller;
pub mod distribution;
pub mod event;
pub mod network;
pub mod packet;
pub mod player;
pub mod record;
pub mod replay;
pub mod run;
pub mod scenario;
pub mod source;
pub mod stream;
pub mod study;
pub mod summary;
pub mod way;
pub mod wire;

pub use run::{MakePlayer, Outcome, Outside, run, run_into};
