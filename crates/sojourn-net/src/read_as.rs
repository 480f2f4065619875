//! Reading what is written in one of several ways.

/// Implements `Deserialize` for a type that may be written as text, a number or a table: what is expected, and for each
/// way the method of serde's `Visitor` that reads it.
#[macro_export]
macro_rules! read_as {
    ($Type:ty, $expected:expr; $($methods:tt)*) => {
        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Read;
                impl<'de> serde::de::Visitor<'de> for Read {
                    type Value = $Type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(&$expected)
                    }
                    $($methods)*
                }
                deserializer.deserialize_any(Read)
            }
        }
    };
}
