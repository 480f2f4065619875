//! The extension module `sojourn._core`: conversion and errors only.

mod error;
mod study;

/// The engine: study files in, simulations out.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::error::StudyError;
    // `run` is exported here, from its own module.
    #[pymodule_export]
    use crate::study::{parse, points, schema, version};
}
