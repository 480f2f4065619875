//! Pictures compared.

use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_qoe::picture;

/// SSIM and mean squared error of two pictures: arrays of uint8 of shape (height, width) whose rows may lie apart.
#[pyfunction]
pub(crate) fn compare_pictures(
    reference: PyReadonlyArray2<'_, u8>,
    received: PyReadonlyArray2<'_, u8>,
) -> PyResult<(f64, f64)> {
    let (reference, received) = (reference.as_array(), received.as_array());
    let of_reference: Option<Vec<&[u8]>> = reference.outer_iter().map(|row| row.to_slice()).collect();
    let of_received: Option<Vec<&[u8]>> = received.outer_iter().map(|row| row.to_slice()).collect();
    let (Some(a), Some(b)) = (of_reference, of_received) else {
        return Err(PyValueError::new_err("the pixels of a row must lie side by side"));
    };
    let found = picture::compare(&a, &b).ok_or_else(|| {
        let (a, b) = (reference.dim(), received.dim());
        PyValueError::new_err(format!("pictures of {a:?} and {b:?}: expected the same size, at least 8×8"))
    })?;
    Ok((found.ssim, found.mse))
}
