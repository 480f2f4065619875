//! The extension module `sojourn._core`: conversion and errors only.

mod error;
mod losses;
mod measure;
mod run;
mod study;

/// The engine: study files in, simulations out.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::error::{CaptureError, StudyError};
    #[pymodule_export]
    use crate::losses::match_captures;
    #[pymodule_export]
    use crate::measure::{Follower, measure};
    #[pymodule_export]
    use crate::run::{drop_causes, packet_kinds, run};
    #[pymodule_export]
    use crate::study::{parse, points, schema, version};
}
