//! What of a long packet's delay is its own transmission ([`super::transmission`]), as its receiver's reports tell.
//!
//! An observer that stands behind a queue and before its link, as the emulator's captures do, sees packets as their
//! transmission begins: by its clock long packets take no longer than short ones, by the receiver's stamps they do. The
//! two things that have to agree are the same, the least delays by the reports, and how far long packets leave apart by
//! the observer's clock. Of both the second is the finer: stamps have ticks. The method as
//! published leaves nothing out.

use crate::delay::finalize::first_look::least_delays::{LONG, LeastDelays};
use crate::delay::finalize::transmission::dispersion::{LEAST, MOST_SPACINGS, Times, tolerance};
use crate::delay::host::transmission::Transmission;
use crate::delay::log::Log;
use crate::delay::log::entry::TOWARD;
use crate::delay::track::Track;

/// The time on the slowest link as the reports of a track tell it, with the times of the same packets by the observer's
/// clock, which are in another one.
pub(super) fn find(log: &Log, i: usize, track: &Track, observed: usize) -> Option<Transmission> {
    let (clocks, mut line) = (track.clock_model(), track.extra_line);
    let mut leasts = LeastDelays::default();
    for entry in log.of(i) {
        let extra = entry.extra().map_or(0, |extra| line.follow(extra));
        leasts.add(clocks.delay(entry.time, entry.stamp, extra), entry);
    }
    let longer = leasts.longer().filter(|&longer| longer > LEAST)?;
    let ((.., short), (.., long)) = leasts.short.zip(leasts.long)?;
    let mut times = Times::default();
    times.of_tracks(log, &[observed], MOST_SPACINGS);
    let ns_per_byte = times.spacing()? / f64::from(of_most(log, observed)?);
    let expected = ns_per_byte * f64::from(long - short);
    let ticks = track.tick_ns.unwrap_or(0.0) + track.peer_tick_ns.unwrap_or(0.0);
    let agrees = expected > LEAST && (longer - expected).abs() <= tolerance(expected) + ticks;
    agrees.then_some(Transmission { short, ns_per_byte })
}

/// The length of most long packets, which are those that are spaced: the least delay may be of a shorter one, as uTP
/// sends while it looks for the largest that passes.
fn of_most(log: &Log, track: usize) -> Option<u16> {
    let long = log.of(track).filter(|entry| !entry.is(TOWARD)).map(|entry| entry.length());
    let mut lengths: Vec<u16> = long.filter(|length| *length >= LONG).take(MOST_SPACINGS).collect();
    let middle = lengths.len() / 2;
    (middle > 0).then(|| *lengths.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::estimate::Estimator;
    use crate::delay::finalize::base_delay::single_flow;
    use crate::delay::finalize::queueing_delay::Sampler;
    use crate::delay::finalize::transmission::leave_out;
    use crate::delay::host::Hosts;
    use crate::delay::log::entry::{DATA, Entry};
    use crate::delay::options::Choice;
    use crate::delay::protocol::Protocol;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    /// What is left out for a long packet, ms, by the observer and by reports, of a link that takes 12 ms for it, and
    /// what reports then say that three of them waited in turn. It is seen as its transmission begins. Its receiver
    /// reports when it has come: so much later, unless a shaper let it pass at once. The first long one may be shorter,
    /// and comes as much earlier.
    fn left_out(later_ms: i64, choice: Choice) -> ([f64; 2], [f64; 3]) {
        left_out_after(1514, later_ms, choice)
    }

    fn left_out_after(first: u16, later_ms: i64, choice: Choice) -> ([f64; 2], [f64; 3]) {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (mut log, mut hosts) = (Log::default(), Hosts::new(Vec::new()));
        key.address.into_iter().for_each(|address| _ = hosts.of(address));
        let mut tracks = [Estimator::Observer, Estimator::Reported].map(|estimator| {
            let of = TrackRef { key: &key, side, protocol: Protocol::Tcp, estimator, hosts: [0, 1] };
            let mut track = Track::new(&of, 0);
            (track.tick_ns, track.peer_tick_ns) = (Some(1e6), Some(1e6));
            track
        });
        for i in 0..100i64 {
            // Each third finds the queue empty; the others leave 12 ms after the one before.
            let (sent, waits) = (i / 3 * 50, i % 3 * 12);
            let (length, after) = match i {
                ..3 => (100, 2),
                3 => (first, later_ms * i64::from(first) / 1514),
                _ => (1514, later_ms),
            };
            let waits = if i < 3 { 0 } else { waits };
            let leaves = (sent + waits) * 1_000_000;
            let arrived = (sent + waits + after + 20) as u32;
            log.push(0, Entry::new(i as u64, leaves, sent, DATA, None).long(length));
            log.push(1, Entry::new(i as u64, leaves, sent, DATA, Some(arrived)).long(length));
        }
        leave_out(&log, &mut tracks, &hosts, choice);
        single_flow::finalize(&log, &mut tracks, &[None, None], &mut hosts, 1);
        let sampler = Sampler::of(&tracks[1], &hosts).unwrap();
        let (mut line, mut before, mut stats) = Default::default();
        let waits = log.of(1).filter_map(|entry| sampler.sample::<false>(entry, &mut line, &mut before, &mut stats));
        let waits: Vec<_> = waits.map(|((_, estimate), _)| estimate.delay / 1e6).collect();
        (tracks.each_ref().map(|track| track.transmission.of(1514) / 1e6), [waits[96], waits[97], waits[98]])
    }

    #[test]
    fn reports_tell_what_an_observer_before_the_link_cannot_see() {
        let ([observed, reported], waits) = left_out(12, Choice::Auto);
        assert!(observed == 0.0 && (reported - 11.2).abs() < 0.1, "{observed} {reported}");
        let off = waits.iter().zip([0.0, 12.0, 24.0]).map(|(told, true_ms)| (told - true_ms).abs());
        assert!(off.fold(0.0, f64::max) < 0.5, "{waits:?}");
        let ([_, after_shorter], waits) = left_out_after(1010, 12, Choice::Auto);
        assert!((after_shorter - reported).abs() < 0.1, "{after_shorter} {reported}");
        let off = waits.iter().zip([0.0, 12.0, 24.0]).map(|(told, true_ms)| (told - true_ms).abs());
        assert!(off.fold(0.0, f64::max) < 0.5, "{waits:?}");
        assert_eq!(left_out(1, Choice::Auto).0, [0.0, 0.0], "a shaper lets them pass at once");
        assert_eq!(left_out(30, Choice::Auto).0, [0.0, 0.0], "long packets that all waited");
        let (own, waits) = left_out(12, Choice::Reported);
        assert_eq!((own, waits), ([0.0, 0.0], [10.0, 22.0, 34.0]), "as published");
    }
}
