//! A named random stream of a study: what the simulator's sources draw from, for real ones.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Bytes, Span};
use sojourn_sim::distribution::Distribution;

/// The random stream of the component called `name` in a replication of a study.
#[pyclass(module = "sojourn._core")]
pub(crate) struct Stream(Pcg64Mcg);

#[pymethods]
impl Stream {
    #[new]
    fn new(seed: u64, replication: u32, name: &str) -> Self {
        Self(sojourn_sim::stream::stream(seed, replication, name))
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// A size in bytes, from a distribution as a point has it (JSON). Raises ValueError if it is none.
    fn size(&mut self, distribution: &str) -> PyResult<u64> {
        let found: Distribution<Bytes> = read(distribution)?;
        Ok(found.draw(&mut self.0).0)
    }

    /// A time in nanoseconds, likewise.
    fn time(&mut self, distribution: &str) -> PyResult<u64> {
        let found: Distribution<Span> = read(distribution)?;
        Ok(found.draw(&mut self.0).0)
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("this is no distribution: {error}")))
}
