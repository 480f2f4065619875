//! Statistics of very many samples in bounded memory, whatever the order in which they are added.
//!
//! Each sample of a host passes [`quantiles`], [`fixed_point_sum`] and [`series`], on its way out of a finalized log;
//! [`interpolation`] adds what the packets waited that no sample tells of, by what others did that were sent [`beside`]
//! them. They are read for the summary.

pub(super) mod alone;
mod arrivals;
pub(super) mod beside;
pub(super) mod fixed_point_sum;
pub(super) mod interpolation;
pub(super) mod quantiles;
pub(super) mod series;
