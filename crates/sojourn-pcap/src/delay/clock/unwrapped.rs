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

    /// The place of a stamp, from which the next is counted, and whether it is later than all before: if it is one of
    /// the next `most`, or the last again. What most stamps are, in few steps; nothing is kept of others.
    #[inline]
    pub(crate) fn ahead(&mut self, raw: u32, most: i32) -> Option<(i64, bool)> {
        let step = raw.wrapping_sub(self.raw) as i32;
        if !self.begun || !(0..=most).contains(&step) {
            return None;
        }
        (self.raw, self.line) = (raw, self.line + i64::from(step));
        Some((self.line, step > 0))
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

    #[test]
    fn what_lies_ahead_is_where_it_would_be_else_and_nothing_is_kept_of_the_rest() {
        assert_eq!(Unwrapped::default().ahead(5, 10), None, "the first begins the line");
        for (step, ahead) in [(0, true), (1, true), (10, true), (11, false), (-1, false), (i32::MIN, false)] {
            for first in [7u32, u32::MAX - 3] {
                let mut line = Unwrapped::default();
                line.advance(first);
                line.advance(first.wrapping_add(2));
                let (before, mut other) = (line, line);
                let raw = first.wrapping_add(2).wrapping_add(step as u32);
                let told = line.ahead(raw, 10);
                let place = other.advance(raw);
                assert_eq!(told, ahead.then_some((place, place > before.highest())), "{step}");
                let kept = |line: Unwrapped| format!("{line:?}");
                assert_eq!(kept(line), kept(if ahead { other } else { before }), "{step}");
            }
        }
    }
}
