//! Sums that do not depend on the order of what is added: whole numbers of 2⁻²⁰ ns.

/// A sum of durations that are not negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FixedPointSum {
    low: u64,
    high: u64,
}

const PARTS: f64 = 1_048_576.0;

impl FixedPointSum {
    /// Nothing was added yet.
    pub const NOTHING: Self = Self { low: 0, high: 0 };

    /// Add a duration, ns; up to two hours.
    #[inline]
    pub fn add(&mut self, ns: f64) {
        // Through signed numbers, which processors convert at once.
        let (low, carry) = self.low.overflowing_add(((ns * PARTS + 0.5) as i64).max(0) as u64);
        (self.low, self.high) = (low, self.high + u64::from(carry));
    }

    /// Both sums together.
    #[inline]
    pub fn with(self, other: Self) -> Self {
        let (low, carry) = self.low.overflowing_add(other.low);
        Self { low, high: self.high + other.high + u64::from(carry) }
    }

    /// The sum, ns.
    pub fn ns(self) -> f64 {
        (u128::from(self.high) << 64 | u128::from(self.low)) as f64 / PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_matter() {
        let values = [0.1, 3e11, 7.3, 1e-3, 2.5e9];
        let sum = |values: &mut dyn Iterator<Item = f64>| {
            let mut total = FixedPointSum::default();
            values.for_each(|value| total.add(value));
            total
        };
        let forward = sum(&mut values.into_iter());
        assert_eq!(forward, sum(&mut values.into_iter().rev()));
        assert!((forward.ns() - values.iter().sum::<f64>()).abs() < 1e-4);
        // More than 64 bits hold.
        let many = (0..200).fold(forward, |all, _| all.with(sum(&mut [5e12; 40].into_iter())));
        assert!((many.ns() - forward.ns() - 4e16).abs() < 10.0, "{many:?}");
    }
}
