//! What the proportional-integral controllers of PIE and DualPI2 have in common.

use crate::Span;

/// The span in seconds, rounded once: a published p of exactly 10 % depends on it.
pub(super) fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e9
}
