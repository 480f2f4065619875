//! Tables for Python: a dict of NumPy columns, made without copying.

/// A dict of columns by their names; the values become NumPy's.
macro_rules! columns {
    ($py:expr, { $($name:ident: $values:expr),* $(,)? }) => {{
        let table = pyo3::types::PyDict::new($py);
        $(table.set_item(stringify!($name), numpy::IntoPyArray::into_pyarray($values, $py))?;)*
        pyo3::PyResult::Ok(table)
    }};
}

pub(crate) use columns;
