//! Tables for Python: a dict of NumPy columns, made without copying.

/// A dict of columns by their names; the values become NumPy's. With `of`, a column of what is said of each row.
macro_rules! columns {
    ($py:expr, of $rows:expr, { $($name:ident: $value:expr),* $(,)? }) => {
        $crate::columns::columns!($py, { $($name: $rows.map($value).collect::<Vec<_>>()),* })
    };
    ($py:expr, { $($name:ident: $values:expr),* $(,)? }) => {{
        let table = pyo3::types::PyDict::new($py);
        $(table.set_item(stringify!($name), numpy::IntoPyArray::into_pyarray($values, $py))?;)*
        pyo3::PyResult::Ok(table)
    }};
}

pub(crate) use columns;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_sim::stats::Column;

/// A dict of the engine's columns.
pub(crate) fn dict(
    py: Python<'_>,
    columns: impl IntoIterator<Item = (&'static str, Column)>,
) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::Bool(values) => table.set_item(name, values.into_pyarray(py))?,
            Column::U8(values) => table.set_item(name, values.into_pyarray(py))?,
            Column::U16(values) => table.set_item(name, values.into_pyarray(py))?,
            Column::U32(values) => table.set_item(name, values.into_pyarray(py))?,
            Column::U64(values) => table.set_item(name, values.into_pyarray(py))?,
            Column::I64(values) => table.set_item(name, values.into_pyarray(py))?,
            Column::F64(values) => table.set_item(name, values.into_pyarray(py))?,
        }
    }
    Ok(table)
}
