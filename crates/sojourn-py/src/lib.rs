//! The extension module `sojourn._core`: conversion and errors only.

mod controller;
mod error;
mod replay;
mod run;
mod study;

/// The engine: study files in, simulations out.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::controller::controller;
    #[pymodule_export]
    use crate::error::StudyError;
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::study::{parse, points, schema, version};
}
