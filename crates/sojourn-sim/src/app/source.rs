//! What all sources and applications are, and the random numbers that several of them draw.

use super::tables::Tables;
use crate::engine::{Event, Network};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// A source of traffic or an application.
pub trait Source {
    /// Something happened.
    fn on(&mut self, event: Event, network: &mut Network);
    /// The run is over: add to the tables.
    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        let _ = (network, tables);
    }
}

/// Uniform in (0, 1], so that its logarithm is finite.
pub(super) fn uniform(rng: &mut Pcg64Mcg) -> f64 {
    1.0 - rng.random::<f64>()
}

/// A standard normal variate (Box and Muller).
pub(super) fn normal(rng: &mut Pcg64Mcg) -> f64 {
    libm::sqrt(-2.0 * libm::log(uniform(rng))) * libm::cos(std::f64::consts::TAU * uniform(rng))
}
