//! What a long packet takes longer than a short one by its own transmission on the slowest link.

/// Time on the slowest link of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Transmission {
    pub(crate) short: u16,
    pub(crate) ns_per_byte: f64,
}

impl Transmission {
    /// What a frame of this length takes longer than the short ones that set the base, ns.
    #[inline]
    pub fn of(&self, length: u16) -> f64 {
        f64::from(length.saturating_sub(self.short)) * self.ns_per_byte
    }

    /// Whether length makes any difference.
    pub(crate) fn known(&self) -> bool {
        self.ns_per_byte > 0.0
    }
}

/// A transmission that nothing proves, and what delays lack if it is none, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unproven {
    pub(crate) transmission: Transmission,
    pub(crate) lacks: f64,
}
