//! How many digits results have.

/// Nine significant digits: what two machines can be expected to agree on, and more than anyone reads.
pub(super) fn tidy(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.8e}").parse().unwrap_or(value)
}
