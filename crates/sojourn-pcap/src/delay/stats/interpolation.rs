//! What packets to a host waited that nothing timely tells of: what others to it did that were sent beside them.
//!
//! The last acknowledgements of a burst are echoed when the next one begins, after a pause that says nothing of them.
//! They met the queue that the data of other connections filled: without them, a direction's mean would be that of
//! the packets that somebody answered at once. A queue that is first in, first out keeps their order, so that one that
//! was sent between two others left between them; and what no packet that is told of was sent after has drained.

use crate::delay::stats::quantiles::Quantiles;

/// Samples that were sent nearer to each other say the same, ns.
const NEAR: u64 = 1_000_000;
/// A queue is another one so much later, ns.
const FAR: i64 = 100_000_000;

/// Packets to one host since the log was finalized last, by when they were sent.
#[derive(Debug, Default)]
pub(crate) struct Interpolation {
    told: Vec<(i64, f64)>,
    untold: Vec<(i64, u32)>,
}

impl Interpolation {
    /// A packet that was sent then waited for so many ns.
    #[inline]
    pub(crate) fn told(&mut self, sent: i64, delay: f64) {
        if self.told.last().is_none_or(|(last, _)| sent.abs_diff(*last) >= NEAR) {
            self.told.push((sent, delay));
        }
    }

    /// Of so many packets, the last of which was sent then, nothing else tells.
    pub(crate) fn untold(&mut self, sent: i64, packets: u32) {
        self.untold.push((sent, packets));
    }

    /// Count those that nothing else tells of among the delays.
    pub(crate) fn settle(&mut self, delays: &mut Quantiles) {
        let Self { mut told, untold } = std::mem::take(self);
        if !untold.is_empty() {
            told.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        for (sent, packets) in untold {
            let after = told.partition_point(|(time, _)| *time < sent);
            let earlier = after.checked_sub(1).map(|at| (sent - told[at].0, told[at].1));
            let later = told.get(after).map(|&(time, delay)| (time - sent, delay));
            if let Some(delay) = between(earlier, later) {
                delays.add_times(delay, packets);
            }
        }
    }
}

/// The delay of a packet from those of the one before it and of the one after it, each with the time to it; none if
/// the nearer one is far.
fn between(earlier: Option<(i64, f64)>, later: Option<(i64, f64)>) -> Option<f64> {
    let drained = earlier.map(|(since, delay)| (delay - since as f64).max(0.0));
    let most = later.map_or(f64::INFINITY, |(until, delay)| until as f64 + delay);
    let (since, until) = (earlier.map_or(i64::MAX, |at| at.0), later.map_or(i64::MAX, |at| at.0));
    let nearer = if since < until { drained } else { later.map(|(_, delay)| delay) };
    nearer.filter(|_| since.min(until) <= FAR).map(|delay| delay.min(most).max(drained.unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_nothing_tells_of_waited_what_those_beside_it_did() {
        let mut beside = Interpolation::default();
        // Of two connections, one after the other.
        for (sent, delay) in [(0, 1e6), (300, 40e6), (200, 20e6), (210, 30e6)] {
            beside.told(sent * MS, delay);
        }
        let mut delays = Quantiles::default();
        for (sent, packets) in [(204, 1), (206, 4), (301, 8), (401, 16), (150, 32)] {
            beside.untold(sent * MS, packets);
        }
        beside.settle(&mut delays);
        // None was sent within a tenth of a second of the last but one.
        assert_eq!(delays.count(), 1 + 4 + 8 + 32);
        let sum = 16.0 + 30.0 * 4.0 + 39.0 * 8.0 + 20.0 * 32.0;
        assert!((delays.mean() / 1e6 - sum / 45.0).abs() < 1e-6, "{}", delays.mean());
        // Each log has its own.
        beside.untold(204 * MS, 1);
        beside.settle(&mut delays);
        assert_eq!(delays.count(), 45);
    }

    #[test]
    fn a_queue_keeps_the_order_of_its_packets_and_drains() {
        let at = |ms: i64, delay: f64| Some((ms * MS, delay * 1e6));
        let ms = |earlier, later| between(earlier, later).map(|delay| delay / 1e6);
        // What was there 30 ms before has left since; what came 10 ms later says how long it was.
        assert_eq!((ms(at(30, 50.0), None), ms(at(60, 50.0), None)), (Some(20.0), Some(0.0)));
        assert_eq!((ms(None, at(10, 7.0)), ms(at(11, 1.0), at(10, 7.0))), (Some(7.0), Some(7.0)));
        // It left after the one before it, and before the one after it.
        assert_eq!(ms(at(5, 50.0), at(4, 7.0)), Some(45.0));
        assert_eq!(ms(at(5, 30.0), at(6, 7.0)), Some(25.0));
        assert_eq!(ms(at(5, 30.0), at(6, 10.0)), Some(25.0));
        assert_eq!(ms(at(101, 50.0), at(102, 50.0)), None);
    }

    #[test]
    fn of_those_that_were_sent_together_one_is_enough() {
        let mut beside = Interpolation::default();
        (0..10_000).for_each(|i| beside.told(i * 1000, 1e6));
        assert_eq!(beside.told.len(), 10);
    }
}
