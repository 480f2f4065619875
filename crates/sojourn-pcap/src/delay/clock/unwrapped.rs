//! 32-bit stamps that wrap around, made into a line.

/// Where a sender's 32-bit stamps stand on a line without end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unwrapped {
    raw: u32,
    line: i64,
    begun: bool,
}

impl Unwrapped {
    /// The place of a stamp on the line: the one nearest to the highest so far. The first is at 0.
    #[inline]
    pub(crate) fn place(&self, raw: u32) -> i64 {
        if self.begun { self.line + i64::from(raw.wrapping_sub(self.raw) as i32) } else { 0 }
    }

    /// The place of a stamp, from which the next is counted if it is higher.
    #[inline]
    pub(crate) fn advance(&mut self, raw: u32) -> i64 {
        let place = self.place(raw);
        if place > self.line || !self.begun {
            (self.raw, self.line, self.begun) = (raw, place, true);
        }
        place
    }

    /// The place of a value that may also fall; the next is counted from it.
    #[inline]
    pub(crate) fn follow(&mut self, raw: u32) -> i64 {
        let place = self.place(raw);
        (self.raw, self.line, self.begun) = (raw, place, true);
        place
    }

    /// The highest place so far.
    #[inline]
    pub(crate) fn highest(&self) -> i64 {
        self.line
    }

    /// Whether a stamp was seen.
    #[inline]
    pub(crate) fn begun(&self) -> bool {
        self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_on_over_the_wrap_and_back() {
        let mut stamps = Unwrapped::default();
        assert_eq!(stamps.advance(u32::MAX - 1), 0);
        assert_eq!(stamps.advance(3), 5);
        assert_eq!(stamps.advance(u32::MAX), 1);
        assert_eq!(stamps.highest(), 5);
        assert_eq!(stamps.advance(4), 6);
    }
}
