//! What settings may not be.

use crate::quote::short;

/// What does not hold in settings, and the key where it shows (`path.down.loss`, `flows.0.count`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct Invalid {
    /// Dotted path of the key.
    pub key: String,
    /// What was found and what was expected.
    pub message: String,
}

impl Invalid {
    /// The error at a key.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }

    /// The error as a sentence; without the key if that is not known.
    pub fn sentence(&self) -> String {
        if self.key.is_empty() { self.message.clone() } else { format!("{}: {}", short(&self.key), self.message) }
    }

    /// The same under an outer key.
    #[must_use]
    pub fn under(self, outer: &str) -> Self {
        Self { key: format!("{outer}.{}", self.key), ..self }
    }
}

/// Ends a check with [`Invalid`] at a key if this holds; the message is written as in [`format!`].
#[macro_export]
macro_rules! refuse_if {
    ($condition:expr, $key:expr, $($message:tt)+) => {
        if $condition {
            return Err($crate::Invalid::new($key, format!($($message)+)));
        }
    };
}
