//! Tables in columns, as Python gets them: declared once, filled row by row.

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the types of the values")]
pub enum Column {
    Bool(Vec<bool>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

macro_rules! columns_of {
    ($($kind:ident: $type:ty),*) => {
        $(impl From<Vec<$type>> for Column {
            fn from(values: Vec<$type>) -> Self {
                Self::$kind(values)
            }
        })*
    };
}

columns_of!(Bool: bool, U8: u8, U16: u16, U32: u32, U64: u64, I64: i64, F64: f64);

/// Declares a table and its row: a struct of columns, all of the same length, and a struct of their values.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident of $row:ident { $($(#[$column_doc:meta])* $column:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $table {
            $($(#[$column_doc])* pub $column: Vec<$type>,)*
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $row {
            $(pub(crate) $column: $type,)*
        }

        #[allow(dead_code, reason = "no table needs all of them")]
        impl $table {
            /// Adds a row.
            #[inline]
            pub(crate) fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)*
            }

            /// The row at a place.
            pub(crate) fn row(&self, place: usize) -> $row {
                $row { $($column: self.$column[place],)* }
            }

            /// Moves the rows of another table behind these.
            pub fn append(&mut self, other: &mut Self) {
                $(self.$column.append(&mut other.$column);)*
            }

            /// Takes the first rows out.
            pub(crate) fn take_front(&mut self, rows: usize) -> Self {
                Self { $($column: $crate::stats::table::take_front(&mut self.$column, rows),)* }
            }

            /// The columns by name, in the order of their declaration.
            pub fn into_columns(self) -> Vec<(&'static str, $crate::stats::table::Column)> {
                vec![$((stringify!($column), self.$column.into()),)*]
            }
        }
    };
}

pub(crate) use table;

/// Takes the first `rows` values out of a column.
pub(crate) fn take_front<T: Clone>(column: &mut Vec<T>, rows: usize) -> Vec<T> {
    let mut left = Vec::with_capacity(column.capacity());
    left.extend_from_slice(&column[rows..]);
    column.truncate(rows);
    std::mem::replace(column, left)
}
