//! In how different times hosts answer.
//!
//! Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways" (1992), §2: where every host
//! answers at once, packets meet the same packet's departure again and again, and a random processing time is the
//! remedy (`overhead_` of ns-2's TCP). Difference: it is of each packet that reaches a host, either way, and keeps
//! their order.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::{Span, Time};

/// What packets take longer from a link to its hosts: from nothing to `most`, uniformly.
pub(crate) struct Jitter {
    most: Span,
    rng: Pcg64Mcg,
}

impl Jitter {
    pub(crate) fn new(most: Span, rng: Pcg64Mcg) -> Self {
        Self { most, rng }
    }

    /// When a packet is there that would be at `arrival`; the one before it is there at `last`.
    #[cold]
    pub(crate) fn delay(&mut self, arrival: Time, last: Time) -> Time {
        last.max(arrival + Span(self.rng.random_range(0..=self.most.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    #[test]
    fn every_wait_up_to_the_most_comes_and_none_overtakes() {
        let mut jitter = Jitter::new(Span(3), stream(1, 0, "path.down.jitter"));
        let mut counts = [0; 4];
        (0..4000).for_each(|_| counts[jitter.delay(Time(10), Time(0)).0 as usize - 10] += 1);
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        assert!((0..100).all(|_| jitter.delay(Time(10), Time(12)) >= Time(12)));
        assert!((0..100).any(|_| jitter.delay(Time(10), Time(12)) == Time(13)));
    }
}
