//! Defaults of a struct's fields beside the fields.

/// Declares a struct, and implements `Default` by what stands behind its fields; a field with nothing has that of its
/// type.
#[macro_export]
macro_rules! with_defaults {
    ($(#[$meta:meta])* $vis:vis struct $Struct:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $type:ty $(= $value:expr)?,)*
    }) => {
        $(#[$meta])*
        $vis struct $Struct {
            $($(#[$doc])* $field_vis $field: $type,)*
        }

        impl Default for $Struct {
            fn default() -> Self {
                Self { $($field: $crate::with_defaults!(@ $($value)?),)* }
            }
        }
    };
    (@) => { Default::default() };
    (@ $value:expr) => { $value };
}
