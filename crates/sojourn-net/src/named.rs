//! Enums whose variants results know by name.

/// Declares an enum with the name of each variant beside it: `ALL` of them, in the order of their codes, and `name`.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $Enum:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[repr(u8)]
        pub enum $Enum {
            $($(#[$doc])* $Variant,)*
        }

        impl $Enum {
            /// All, in the order of their codes.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$Variant),*];

            /// The name in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)*
                }
            }
        }
    };
}
