//! Whether the delays of a track lie whole transmissions apart, which an empty queue and one that never empties share.
//!
//! Where senders wait for acknowledgements, packets arrive when others leave, and each waits for so many whole packets.
//! Behind a slow link their delays pile up at each number of them: the least of these is no sign of an empty queue
//! ([`crate::delay::track::empty_queue`]), unless the next one lies nearer than a transmission. That of a packet that
//! found the link busy does, by as much as the one under way had left of it.
//!
//! Source: this project's own rule, from simulations of buffers of a few packets; phases that lock are those of
//! S. Floyd and V. Jacobson, On Traffic Phase Effects in Packet-Switched Gateways (1992).

use crate::delay::finalize::transmission::dispersion::{MOST_SPACINGS, Times};
use crate::delay::log::Log;
use crate::delay::log::entry::TOWARD;
use crate::delay::track::Track;
use crate::delay::track::empty_queue::SPREAD;

/// Packets of others that leave between two of a track, at most.
const OTHERS: u32 = 2;
/// A packet that arrives within so many spacings of the one before it waited for that one: it tells nothing of others.
const BEHIND: f64 = 1.25;
/// Steps are told apart where one is so many times what delays are spread by, and between two of them lies no more than
/// one for so many at the next.
const APART: f64 = 4.0;
const BETWEEN: usize = 4;

/// Say whether the delays of a track, of which this is the least, ns, lie in such steps from the least on.
pub(super) fn found(log: &Log, i: usize, track: &Track, least: f64) -> bool {
    let clocks = track.clock_model();
    let spread = clocks.tick + SPREAD;
    let mut times = Times::default();
    times.of_tracks(log, &[i], MOST_SPACINGS);
    let Some(spacing) = times.spacing().filter(|spacing| *spacing > APART * spread) else { return false };
    let (mut above, mut last) = (Vec::new(), i64::MIN / 2);
    for entry in log.of(i).filter(|entry| !entry.is(TOWARD)) {
        if (entry.time - std::mem::replace(&mut last, entry.time)) as f64 > BEHIND * spacing {
            let own = track.transmission.of(entry.length());
            above.push(clocks.observed(entry.time, entry.stamp) - least - own);
        }
    }
    above.sort_unstable_by(f64::total_cmp);
    (0..=OTHERS).any(|others| in_steps(&above, spacing / f64::from(others + 1), spread))
}

/// Whether sorted delays lie in steps, of which as many are at the next one as half of those at the least.
fn in_steps(above: &[f64], step: f64, spread: f64) -> bool {
    let below = |limit: f64| above.partition_point(|delay| *delay < limit);
    let [least, valley, next] = [spread, step - spread, step + spread].map(below);
    let (between, next) = (valley.saturating_sub(least), next.saturating_sub(valley));
    step > APART * spread && 2 * next >= least && next >= BETWEEN * between.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::estimate::Estimator;
    use crate::delay::log::entry::{DATA, Entry};
    use crate::delay::protocol::Protocol;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    const MS: i64 = 1_000_000;

    /// Whether a track lies in steps whose packets arrive so long after one another and waited so long, ms, after
    /// some that left 12 ms apart.
    fn told(packets: impl Iterator<Item = (i64, i64)>) -> bool {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        track.tick_ns = Some(1e6);
        let (mut log, mut time) = (Log::default(), 0);
        for (after, waited) in std::iter::repeat_n((12, 36), 40).chain(packets) {
            time += after * MS;
            log.push(0, Entry::new(1, time, (time - waited * MS) / MS, DATA, None).long(1514));
        }
        found(&log, 0, &track, 0.0)
    }

    #[test]
    fn a_queue_of_one_to_three_whole_packets_lies_in_steps_and_one_whose_packets_found_less_does_not() {
        assert!(told((0..60).map(|i| (40, i % 3 * 12))));
        assert!(told((0..60).map(|i| (40, i % 3 * 6))), "those of others lie between two");
        // What was under way when it arrived had 9 ms left, or any time.
        assert!(!told((0..60).map(|i| (40, [0, 9, 21][i as usize % 3]))));
        assert!(!told((0..60).map(|i| (40, i * 7 % 24))));
        assert!(!told((0..60).map(|i| (40, if i % 5 == 0 { 12 } else { 0 }))), "a few");
    }

    #[test]
    fn what_waited_for_the_one_before_it_tells_of_no_other() {
        // Bursts of three find an empty queue: the first waits for nothing.
        assert!(!told((0..60).map(|i| if i % 3 == 0 { (80, 0) } else { (12, i % 3 * 12) })));
    }

    #[test]
    fn steps_that_a_tick_spreads_are_none() {
        let steps = |step: f64| in_steps(&[vec![0.0; 9], vec![step; 9]].concat(), step, 1.3e6);
        assert_eq!([5.1e6, 5.3e6].map(steps), [false, true]);
    }
}
