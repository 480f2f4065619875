//! What was found of a host under one protocol: statistics of the samples in both directions, round trips, its clock.

use crate::decode::Address;
use crate::delay::clock::skew::Skew;
use crate::delay::clock::tick::RATES;
use crate::delay::discard::Discard;
use crate::delay::estimate::tcp_observer::Estimate;
use crate::delay::stats::alone::Alone;
use crate::delay::stats::fixed_point_sum::FixedPointSum;
use crate::delay::stats::interpolation::Interpolation;
use crate::delay::stats::quantiles::Quantiles;
use crate::delay::stats::series::Series;

/// A mean may be another if it may be more by so many ns and by such a share.
const TELLING: (f64, f64) = (2e6, 0.1);

/// What was found of the way to a host, or from it.
#[derive(Debug, Default)]
pub struct DirectionStats {
    /// Queueing delay, over packets.
    pub delay: Quantiles,
    /// Packets whose delay was told. Where the receiver acknowledges several at a time, it is told of one of them.
    pub samples: u64,
    /// Sum of the uncertainties of the samples.
    pub uncertainty: FixedPointSum,
    /// Samples whose base is known to be that of an empty queue.
    pub certain: u64,
    /// Packets of which nothing tells what they waited, and what those may have waited longer that were placed beside
    /// others.
    pub(crate) untold: Alone,
    /// Largest delay that could be missing from the others, ns; infinite if nothing bounds it.
    pub missing: f64,
    /// Packets without a sample, by reason.
    pub discarded: [u64; Discard::ALL.len()],
}

impl DirectionStats {
    /// Take in a delay that so many `packets` met.
    #[inline]
    pub(crate) fn add(&mut self, estimate: Estimate, packets: u32) {
        self.delay.add_times(estimate.delay, packets);
        self.uncertainty.add(estimate.error);
    }

    /// Count samples of one base that may lack so much, ns.
    pub(crate) fn count(&mut self, samples: u64, lacks: f64) {
        self.samples += samples;
        if lacks == 0.0 {
            self.certain += samples;
        } else if samples > 0 {
            self.missing = self.missing.max(lacks);
        }
    }

    /// Whether its delays are only lower bounds.
    pub fn lower_bound(&self) -> bool {
        lower_bound(self.samples, self.samples - self.certain) || self.many_untold()
    }

    /// Whether nothing tells what so many of those waited that were answered late, or so long, that the mean may be
    /// another, or whether those arrived with which it would be.
    pub fn many_untold(&self) -> bool {
        let Alone { packets, most, longer, doubted } = self.untold;
        let (count, mean) = (self.delay.count() as f64, self.delay.mean());
        let another = |(packets, sum): (u64, f64)| {
            (mean * count + sum) / (count + packets as f64) - mean > (mean * TELLING.1).max(TELLING.0)
        };
        packets * 6 > self.delay.count() + packets || another((packets, most + longer)) || another(doubted)
    }

    /// How much more its delays may be, ns, where that is known: not if what makes them lower bounds was left out.
    pub fn missing(&self) -> Option<f64> {
        (!self.many_untold() && self.missing.is_finite()).then_some(self.missing)
    }
}

/// Whether more than a few of the `samples` may lack something.
pub fn lower_bound(samples: u64, lacking: u64) -> bool {
    lacking * 20 > samples
}

/// What was found of a host under one protocol.
#[derive(Debug, Default)]
pub struct Stats {
    /// A host at the other end, and whether there are more.
    pub local: Option<(Address, bool)>,
    /// The way from it.
    pub from: DirectionStats,
    /// The way to it.
    pub to: DirectionStats,
    /// Round trips between the observer and it.
    pub rtt: Quantiles,
    /// Samples by estimator: observer, reported.
    pub by_estimator: [u64; 2],
    /// Packets without a sample, by reason.
    pub discarded: [u64; Discard::ALL.len()],
    /// For how long (s) its flows spoke for each of [`RATES`].
    pub tick_votes: [f64; RATES.len()],
    /// Skew of its clock.
    pub skew: Option<Skew>,
    /// Changes of route: its packets arrived with another hop limit from then on.
    pub route_changes: u32,
    /// Times at which its clock was set.
    pub clock_steps: u32,
    /// Flows whose base was taken over from other flows.
    pub bases_taken_over: u32,
    /// Flows that gave samples.
    pub flows: u64,
    /// Mean and maximum over time.
    pub series: Series,
    /// Packets to it, since the log was finalized last.
    pub(crate) interpolation: Interpolation,
}

impl Stats {
    /// A flow with this local host was seen.
    pub(crate) fn with(&mut self, local: Address) {
        let (first, more) = self.local.unwrap_or((local, false));
        self.local = Some((first, more || first != local));
    }

    /// Tick of its clock, ns: the one that its flows spoke for longest.
    pub fn tick_ns(&self) -> Option<f64> {
        let votes = self.tick_votes.iter().zip(RATES).filter(|(votes, _)| **votes > 0.0);
        votes.max_by(|a, b| a.0.total_cmp(b.0)).map(|(_, rate)| 1e9 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_few_that_lack_something_make_a_lower_bound() {
        for (samples, lacking, bound) in [(100, 5, false), (100, 6, true), (0, 0, false)] {
            assert_eq!(lower_bound(samples, lacking), bound, "{samples} {lacking}");
        }
    }

    #[test]
    fn many_of_which_nothing_tells_make_a_lower_bound() {
        let mut way = DirectionStats::default();
        way.count(500, 0.0);
        way.delay.add_times(1e6, 500);
        let few = Alone { packets: 5, ..Alone::default() };
        for (untold, bound) in [
            (Alone { packets: 100, ..few }, false),
            (Alone { packets: 101, ..few }, true),
            // 505 of 1 ms on average; with them 2.99 or 3.01 ms.
            (Alone { most: 1.01e9, ..few }, false),
            (Alone { most: 1.02e9, ..few }, true),
            // Those that count as others did may have waited longer.
            (Alone { most: 0.5e9, longer: 0.51e9, ..few }, false),
            (Alone { most: 0.5e9, longer: 0.52e9, ..few }, true),
            // 1000 of 2.9 or 3.1 ms on average, if all arrived; those that waited less make no mean longer.
            (Alone { doubted: (500, 2.4e9), ..few }, false),
            (Alone { doubted: (500, 2.6e9), ..few }, true),
            (Alone { doubted: (5000, 0.0), ..few }, false),
        ] {
            way.untold = untold;
            assert_eq!(way.lower_bound(), bound, "{untold:?}");
            // What they waited nothing bounds.
            assert_eq!(way.missing(), if bound { None } else { Some(0.0) }, "{untold:?}");
        }
        // Of long delays a tenth counts.
        for (most, bound) in [(55e9, false), (56.1e9, true)] {
            let mut way = DirectionStats { untold: Alone { most, ..few }, ..DirectionStats::default() };
            way.delay.add_times(1e9, 500);
            assert_eq!(way.many_untold(), bound, "{most}");
        }
    }
}
