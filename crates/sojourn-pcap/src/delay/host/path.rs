//! The path between a local host and a remote one.

use crate::delay::host::silence::IDLE_SPREAD;
use sojourn_net::with_defaults;

/// Shortest round trips that differ by no more than this, ns, are of paths that are alike.
const ALIKE: f64 = 1e6;

with_defaults! {
    /// The path between a local host and a remote one, which others speak with, too.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Path {
        /// The shortest round trip, of all and after a silence of all hosts, ns.
        pub(crate) shortest: i64 = i64::MAX,
        pub(crate) idle: i64 = i64::MAX,
        /// What it is longer by than the path of others, there and back, ns.
        pub(crate) longer: i64,
        /// Of that, what is on the way to the remote host.
        pub(crate) there: i64,
        /// It has queues of its own.
        pub(crate) apart: bool,
        /// It is known to be another path than the others'.
        pub(crate) told: bool,
        /// Its packets do not lie among others' as on the same path, nor as on a longer one.
        pub(crate) refuted: bool,
        /// The shortest that one of its connections' least delays in both directions add up to, if it is apart, ns.
        pub(crate) least_sum: f64 = f64::INFINITY,
    }
}

impl Path {
    /// Whether it is in question, whose shortest round trip is so much `over` the shortest of all.
    pub(crate) fn asks(&self, over: i64) -> bool {
        over as f64 > ALIKE && self.shortest < i64::MAX && !self.told
    }

    /// Once all were compared that can be: an `open` one has queues of its own, or a silence tells its length.
    pub(crate) fn settle(&mut self, over: i64, open: bool) {
        self.apart |= open && self.refuted;
        let after_silence = self.idle < i64::MAX && (self.idle - self.shortest) as f64 <= IDLE_SPREAD;
        if self.apart || (open && after_silence) {
            (self.longer, self.there, self.told) = (over, over / 2, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_asked_for_until_it_is_told() {
        let path = Path { shortest: 50_000_000, ..Path::default() };
        assert!(path.asks(2_000_000) && !path.asks(1_000_000));
        assert!(!Path { told: true, ..path }.asks(2_000_000));
        assert!(!Path::default().asks(2_000_000), "nothing was seen of it");
    }
}
