//! The extension module `sojourn._core`: conversion and errors only.

mod error;
mod play;
mod run;
mod study;

/// The engine: study files in, simulations out.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::error::StudyError;
    #[pymodule_export]
    use crate::play::{clip, clips, play};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::study::{parse, points, schema, version};
}
