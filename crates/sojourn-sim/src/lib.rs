//! Study schema, virtual clock, workload sources and applications, recorder: simulations from study files.

pub mod app;
pub mod controller;
pub mod distribution;
pub mod document;
pub mod engine;
pub mod player;
pub mod replay;
pub mod run;
pub mod scenario;
pub mod stats;
pub mod stream;
pub mod study;

pub use engine::direction::Direction;
pub use run::{LoneLink, MakePlayer, Outcome, RunHooks, TapAt, run, run_into};
