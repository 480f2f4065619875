//! Queue disciplines: which packets are held, which leave, which are dropped.

pub mod cake;
pub mod cobalt;
pub mod codel;
mod config;
mod discipline;
pub mod dualpi2;
mod fair;
pub mod fifo;
pub mod fq_codel;
pub mod fq_pie;
mod head;
pub mod inspect;
mod names;
pub mod netem;
mod packet_queue;
mod pi;
pub mod pie;
pub mod policer;
pub mod red;
pub mod sfq;
pub mod sfq_codel;
mod spec;
mod starve;

pub use cake::Cake;
pub use cobalt::Cobalt;
pub use codel::Codel;
pub use discipline::{Backlog, Cx, QueueDiscipline};
pub use dualpi2::DualPi2;
pub use fair::flow_hash::Hash;
pub use fifo::{DropFrom, Fifo};
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use netem::Netem;
pub use pie::Pie;
pub use policer::Policer;
pub use red::Red;
pub use sfq::Sfq;
pub use sfq_codel::SfqCodel;
pub use spec::QueueSpec;

#[cfg(test)]
mod tests;
