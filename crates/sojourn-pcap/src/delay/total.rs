//! Sums that do not depend on the order of what is added: whole numbers of 2⁻²⁰ ns.

/// A sum of durations that are not negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Total(u128);

const PARTS: f64 = 1_048_576.0;

impl Total {
    /// Nothing was added yet.
    pub const NOTHING: Self = Self(0);

    /// Add a duration, ns; up to two hours.
    #[inline]
    pub fn add(&mut self, ns: f64) {
        // Through signed numbers, which processors convert at once.
        self.0 += ((ns * PARTS + 0.5) as i64).max(0) as u128;
    }

    /// Both sums together.
    #[inline]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// The sum, ns.
    pub fn ns(self) -> f64 {
        self.0 as f64 / PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_matter() {
        let values = [0.1, 3e11, 7.3, 1e-3, 2.5e9];
        let sum = |values: &mut dyn Iterator<Item = f64>| {
            let mut total = Total::default();
            values.for_each(|value| total.add(value));
            total
        };
        let forward = sum(&mut values.into_iter());
        assert_eq!(forward, sum(&mut values.into_iter().rev()));
        assert!((forward.ns() - values.iter().sum::<f64>()).abs() < 1e-4);
    }
}
