//! What keys of study files are when they are left out.

use sojourn_net::{Bytes, Rate, Span};

pub(crate) fn yes() -> bool {
    true
}

pub(crate) fn count<const NUMBER: u32>() -> u32 {
    NUMBER
}

/// A number of another type.
pub(crate) fn number<const NUMBER: u16, Type: From<u16>>() -> Type {
    NUMBER.into()
}

pub(crate) fn bytes<const BYTES: u64>() -> Bytes {
    Bytes(BYTES)
}

pub(crate) fn bits<const PER_SECOND: u64>() -> Rate {
    Rate(PER_SECOND)
}

pub(crate) fn secs<const SECONDS: u64>() -> Span {
    Span::from_secs(SECONDS)
}

pub(crate) fn millis<const MILLISECONDS: u64>() -> Span {
    Span::from_millis(MILLISECONDS)
}

/// Declares a table of a study file: behind a key stands the function of what it is when it is left out.
macro_rules! keys {
    (
        $(#[$meta:meta])* pub struct $Name:ident {
            $($(#[$doc:meta])* $vis:vis $key:ident: $Type:ty $(= $default:literal)?,)*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        $(#[$meta])*
        pub struct $Name {
            $($(#[$doc])* $(#[serde(default = $default)])? $vis $key: $Type,)*
        }
    };
}
pub(in crate::scenario) use keys;
