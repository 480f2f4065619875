//! Where what ships by a name comes from: a load, a household, a goal.

use serde::{Deserialize, Serialize};

/// What it is, whose numbers it has, and which of them nobody publishes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Provenance {
    /// What it is, in words.
    pub about: String,
    /// Where its numbers come from.
    pub source: String,
    /// What of it has no source that was read; none if all has one.
    pub remembered: Option<String>,
}
