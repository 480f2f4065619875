//! Study schema, virtual clock, workload sources and applications, recorder: simulations from study files.

pub mod distribution;
pub mod scenario;
pub mod stream;
