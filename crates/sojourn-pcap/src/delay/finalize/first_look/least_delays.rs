//! The least delays of short packets and of long ones ([`crate::delay::finalize::transmission`]).

use crate::delay::log::entry::{AGAIN, Entry};

/// Frames of handshakes and acknowledgements, and frames full of data, bytes.
pub(crate) const SHORT: u16 = 200;
pub(crate) const LONG: u16 = 1000;

/// A least value, the place of its packet in the order of the log, and that packet's length.
pub(crate) type Least = Option<(f64, u32, u16)>;

/// Of equal values, that of the earlier packet.
fn lower(least: &mut Least, other: Least) {
    if let Some((value, place, _)) = other
        && least.is_none_or(|(known, before, _)| value < known || (value == known && place < before))
    {
        *least = other;
    }
}

/// Least values of short packets and of long ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeastDelays {
    pub(crate) short: Least,
    pub(crate) long: Least,
}

impl LeastDelays {
    /// Count a packet from the sender, later than those before, unless it was sent again: its stamp may be too late.
    #[inline]
    pub(crate) fn add(&mut self, value: f64, entry: &Entry) {
        let length = entry.length();
        let least = match length {
            ..=SHORT => &mut self.short,
            LONG.. => &mut self.long,
            _ => return,
        };
        if least.is_none_or(|(known, ..)| value < known) && !entry.is(AGAIN) {
            *least = Some((value, entry.place, length));
        }
    }

    /// How far the least of long packets exceeds that of short ones.
    pub(crate) fn longer(&self) -> Option<f64> {
        let ((low, ..), (high, ..)) = self.short.zip(self.long)?;
        Some(high - low)
    }

    /// The same, each less so much.
    pub(crate) fn less(&self, short: f64, long: f64) -> Self {
        let by = |least: Least, by| least.map(|(value, place, length)| (value - by, place, length));
        Self { short: by(self.short, short), long: by(self.long, long) }
    }

    /// What packets tell that come from elsewhere, by a function that keeps their order.
    pub(crate) fn join(&mut self, other: &Self, by: impl Fn(f64) -> f64) {
        for (least, other) in [(&mut self.short, other.short), (&mut self.long, other.long)] {
            lower(least, other.map(|(value, place, length)| (by(value), place, length)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_again_is_not_the_least_and_other_lengths_are_neither() {
        let mut leasts = LeastDelays::default();
        for (value, flags, length) in [(9.0, 0, 1500), (3.0, AGAIN, 1500), (5.0, 0, 60), (1.0, 0, 600)] {
            leasts.add(value, &Entry::new(1, 0, 0, flags, None).long(length));
        }
        assert_eq!((leasts.short, leasts.long), (Some((5.0, 0, 60)), Some((9.0, 0, 1500))));
        assert_eq!(leasts.longer(), Some(4.0));
    }
}
