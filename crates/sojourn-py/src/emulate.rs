//! The emulator: a run of it, and what this machine can hold.

use pyo3::prelude::*;

/// Run the emulator as `setup` (JSON) says; returns what came of it (JSON). The process must have one thread, and have
/// been started for this alone. Raises OSError with a sentence if there can be no bed.
#[pyfunction]
pub(crate) fn emulate(py: Python<'_>, setup: &str) -> PyResult<String> {
    #[cfg(target_os = "linux")]
    {
        let setup = sojourn_sim::document::from_json(setup)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(format!("this is not a setup: {error}")))?;
        let report = py.detach(|| sojourn_emu::session::run(&setup)).map_err(pyo3::exceptions::PyOSError::new_err)?;
        crate::error::json(&report)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (py, setup);
        Err(pyo3::exceptions::PyOSError::new_err("the emulator needs Linux"))
    }
}

/// Has interrupts of this process that a process sends end another one; without a number, they are waited for only.
#[pyfunction]
#[pyo3(signature = (whom = None))]
pub(crate) fn end_on_interrupt(whom: Option<i32>) -> PyResult<()> {
    #[cfg(target_os = "linux")]
    match whom {
        Some(whom) => sojourn_emu::ends::interrupt::end_on_interrupt(whom),
        None => sojourn_emu::ends::interrupt::listen()?,
    }
    #[cfg(not(target_os = "linux"))]
    let _ = whom;
    Ok(())
}
