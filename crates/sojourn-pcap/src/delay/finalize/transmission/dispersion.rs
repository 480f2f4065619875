//! Packet dispersion: how far long packets leave apart that queue, which is what their transmission takes on the
//! slowest link.

use crate::delay::finalize::first_look::least_delays::LONG;
use crate::delay::host::transmission::Transmission;
use crate::delay::log::Log;
use crate::delay::log::entry::TOWARD;
use sojourn_net::with_defaults;

/// Differences that are not told from jitter, ns.
pub(crate) const LEAST: f64 = 500_000.0;
/// Spacings of which a low one is taken.
pub(crate) const MOST_SPACINGS: usize = 4096;
pub(crate) const FEWEST_SPACINGS: usize = 20;
/// How far the two may differ.
const AGREE: f64 = 0.15;

with_defaults! {
    /// Times of the first long packets, by their places.
    #[derive(Debug)]
    pub(crate) struct Times {
        pub(crate) of: Vec<(u32, i64)>,
        /// Places from this one on come after those that are kept.
        until: u32 = u32::MAX,
        /// The times are known to such a tick, ns.
        pub(crate) tick: f64 = 0.0,
    }
}

impl Times {
    #[inline]
    pub(crate) fn add(&mut self, place: u32, time: i64) {
        if place < self.until {
            self.of.push((place, time));
            if self.of.len() >= 4 * MOST_SPACINGS {
                self.cut();
            }
        }
    }

    /// Keep the first.
    fn cut(&mut self) {
        if self.of.len() > MOST_SPACINGS + 1 {
            self.until = self.of.select_nth_unstable(MOST_SPACINGS + 1).1.0;
            self.of.truncate(MOST_SPACINGS + 1);
        }
    }

    /// Of each of those tracks, the first long packets count.
    pub(crate) fn of_tracks(&mut self, log: &Log, tracks: &[usize], most: usize) {
        for &i in tracks {
            let long = log.of(i).filter(|entry| !entry.is(TOWARD) && entry.length() >= LONG);
            long.take(most + 1).for_each(|entry| self.add(entry.place, entry.time));
        }
    }

    fn spacings(mut self) -> Vec<i64> {
        self.cut();
        self.of.sort();
        let over = |several: usize| {
            let runs = self.of.windows(several + 1);
            runs.map(|run| (run[several].1 - run[0].1) / several as i64).collect::<Vec<_>>()
        };
        let mut each = over(1);
        let tenth = each.len() / 10;
        // Over as many as let the tick leave less open than the two may differ by.
        let spacing = if each.is_empty() { 0 } else { (*each.select_nth_unstable(tenth).1).max(0) };
        match 1 + (self.tick / (LEAST + AGREE * spacing as f64)) as usize {
            1 => each,
            several => over(several),
        }
    }

    /// How far long packets leave apart that queue; none of a few.
    pub(crate) fn spacing(self) -> Option<f64> {
        let mut spacings = self.spacings();
        let tenth = spacings.len() / 10;
        (spacings.len() >= FEWEST_SPACINGS).then(|| *spacings.select_nth_unstable(tenth).1 as f64)
    }
}

/// How far a difference may be off one that is expected.
pub(crate) fn tolerance(expected: f64) -> f64 {
    AGREE * expected + LEAST
}

/// The transmission, where the least delay of long packets exceeds that of short ones as their spacing lets expect, and
/// how far the two are apart, ns. What the tick of their stamps leaves open, the spacing decides: a few packets lie
/// anywhere in their ticks.
pub(super) fn agreed(longer: f64, spacing: f64, [short, long]: [u16; 2], tick: f64) -> Option<(f64, Transmission)> {
    let more = f64::from(long - short);
    let expected = spacing * more / f64::from(long);
    let off = libm::fabs(longer - expected);
    let own = if off < tick { expected } else { longer };
    (longer > LEAST && off <= tolerance(expected)).then_some((off, Transmission { short, ns_per_byte: own / more }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tick_leaves_open_is_as_packets_are_spaced() {
        let own = |longer, tick| agreed(longer, 1.514e6, [66, 1514], tick).map(|(_, found)| found.of(1514).round());
        assert_eq!([1.9e6, 1.1e6].map(|longer| own(longer, 1e6)), [Some(1.448e6); 2]);
        assert_eq!([1.9e6, 1.1e6].map(|longer| own(longer, 1e3)), [Some(1.9e6), Some(1.1e6)]);
        // Neither a difference that is told from nothing by no spacing, nor one that is far from it.
        assert_eq!([0.4e6, 0.7e6, 2.2e6].map(|longer| own(longer, 1e7)), [None; 3]);
    }
}
