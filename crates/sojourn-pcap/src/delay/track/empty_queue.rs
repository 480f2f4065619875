//! Whether a least delay is that of an empty queue.
//!
//! A queue that never empties has a least delay too: the bottom of its lowest valley, which one or two packets meet. An
//! empty queue is met again and again, and no delay is less: the least delays pile up within what a tick and the path's
//! jitter spread them by. What is sent within that time looks at the queue once: a burst is one meeting. A queue of
//! constant length (a sender that its receive window holds back) piles up as well; where a direction carries data, so
//! much is believed only if it also rises and falls. A packet that opens a connection after a silence of all hosts
//! finds an empty queue, unless somebody else filled it who was not seen. Delays that lie whole transmissions apart
//! pile up at each of them, and show nothing.

/// What a path spreads delays by besides ticks, ns.
pub(crate) const SPREAD: f64 = 300_000.0;
/// Packets at the least delay without which nothing piles up.
const LEAST: u32 = 8;

/// Counts of packets, or of what was sent together, by how far their delays lie above the least.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence {
    /// Within the spread, and in the equal interval above it.
    pub(crate) at_least: u32,
    pub(crate) above: u32,
    /// Above four times the spread.
    pub(crate) far: u32,
    pub(crate) all: u32,
    /// The direction carries data.
    pub(crate) data: bool,
    /// A packet after a silence met the least delay.
    pub(crate) idle: bool,
    /// Delays lie whole transmissions apart, so that they pile up whatever the least of them is.
    pub(crate) in_steps: bool,
}

impl Evidence {
    /// Count a packet whose delay lies `above` the least; `spread` is what a tick and the path spread delays by.
    #[inline]
    pub(crate) fn add(&mut self, above: f64, spread: f64) {
        // Without branches, as no delay tells the next.
        let (at_least, within) = (u32::from(above < spread), u32::from(above < 2.0 * spread));
        self.all += 1;
        self.at_least += at_least;
        self.above += within - at_least;
        self.far += u32::from(above > 4.0 * spread);
    }

    /// Put together what several flows show of one queue. That each has a least delay shows nothing.
    pub(crate) fn join(&mut self, other: &Self) {
        let own = u32::from(self.all > 0);
        self.at_least += other.at_least.saturating_sub(own);
        self.above += other.above;
        self.far += other.far;
        self.all += other.all;
        self.data |= other.data;
        self.idle |= other.idle;
        self.in_steps |= other.in_steps;
    }

    /// Whether the least delay was met so often that it is that of an empty queue.
    pub(crate) fn piles_up(&self) -> bool {
        let piled = !self.in_steps && self.at_least >= LEAST && self.at_least >= 2 * self.above;
        piled && (!self.data || u64::from(self.far) * 10 >= u64::from(self.all))
    }

    /// Whether the queue was empty at nearly all times.
    pub(crate) fn hardly_waits(&self) -> bool {
        self.at_least >= LEAST && u64::from(self.far) * 20 <= u64::from(self.all)
    }

    /// Whether most packets waited for longer than any least delay is spread by.
    pub(crate) fn mostly_waits(&self) -> bool {
        u64::from(self.far) * 2 > u64::from(self.all)
    }

    /// Whether the queue is known to have been empty.
    pub(crate) fn empty(&self) -> bool {
        self.idle || self.piles_up()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays: impl Iterator<Item = f64>, data: bool) -> Evidence {
        let mut evidence = Evidence { data, ..Evidence::default() };
        delays.for_each(|above| evidence.add(above, 1.3e6));
        evidence
    }

    #[test]
    fn a_sawtooth_that_never_empties_is_no_empty_queue() {
        let sawtooth = |i: i32| f64::from(i % 500) * 0.4e6;
        assert!(!of((0..5000).map(sawtooth), true).piles_up());
        // The same that empties: a fifth of its packets meet nothing.
        assert!(of((0..5000).map(|i| (sawtooth(i) - 40e6).max(0.0)), true).piles_up());
    }

    #[test]
    fn constant_delay_is_believed_of_acknowledgements_only() {
        let constant = || (0..1000).map(|i| f64::from(i % 10) * 0.1e6);
        assert!(of(constant(), false).piles_up());
        assert!(!of(constant(), true).piles_up());
    }

    #[test]
    fn packets_are_counted_by_how_far_above_the_least_delay_they_lie() {
        let found = of([0.0, 1.29e6, 1.3e6, 2.59e6, 2.6e6, 5.2e6, 5.3e6].into_iter(), false);
        // Below the spread, below twice of it, above four times of it.
        assert_eq!((found.at_least, found.above, found.far, found.all), (2, 2, 1, 7));
        let mut both = Evidence { data: true, ..found };
        both.join(&Evidence { idle: true, ..found });
        assert_eq!((both.at_least, both.above, both.far, both.all), (3, 4, 2, 14));
        assert!(both.data && both.idle, "of either");
    }

    #[test]
    fn eight_at_the_least_and_twice_as_many_as_above_it_pile_up() {
        let evidence = |at_least, above, far, all, data| Evidence {
            at_least,
            above,
            far,
            all,
            data,
            idle: false,
            in_steps: false,
        };
        for (counts, piles) in [
            (evidence(8, 0, 0, 8, false), true),
            (evidence(7, 0, 0, 7, false), false),
            (evidence(20, 10, 0, 90, false), true),
            (evidence(19, 10, 0, 90, false), false),
            // Data has to rise and fall: a tenth of it is far above.
            (evidence(20, 10, 9, 90, true), true),
            (evidence(20, 10, 9, 91, true), false),
            (evidence(20, 10, 0, 91, false), true),
        ] {
            assert_eq!((counts.piles_up(), counts.empty()), (piles, piles), "{counts:?}");
            assert!(Evidence { idle: true, ..counts }.empty());
            let in_steps = Evidence { in_steps: true, ..counts };
            assert!(!in_steps.piles_up() && Evidence { idle: true, ..in_steps }.empty());
            let mut both = counts;
            both.join(&in_steps);
            assert!(!both.piles_up(), "of either");
        }
    }
}
