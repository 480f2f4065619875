//! What of a long packet's delay is its own transmission.
//!
//! A queue's delay ends where the transmission starts, but a packet arrives when its transmission ends. A base that a
//! short packet set (those of handshakes, acknowledgements) lacks what a long one takes longer on the slowest link. Two
//! things have to agree on it: the least delays of the two lengths differ by it, and long packets that queue are spaced
//! by it when they leave (in the direction that is seen by acknowledgements only, by it or by twice as much). A shaper
//! that passes packets on at once, and only then makes others wait, spaces them but shows no difference.
//!
//! In the direction from a host, the spacing is told by [`dispersion`] of its packets; the difference by one connection
//! ([`within_connection`], before bases are known) or by all of its connections (here, once they are). In the direction
//! to it, round trips tell both ([`to_host`]). Where neither tells, what the least delays show is [`unproven`].

mod by_reports;
pub(super) mod dispersion;
mod to_host;
mod unproven;
pub(super) mod within_connection;

use crate::delay::estimate::Estimator;
use crate::delay::finalize::first_look::least_delays::LeastDelays;
use crate::delay::finalize::transmission::dispersion::{FEWEST_SPACINGS, LEAST, MOST_SPACINGS, Times, agreed};
use crate::delay::finalize::transmission::to_host::ToHost;
use crate::delay::finalize::transmission::unproven::Messages;
use crate::delay::finalize::transmission::within_connection::WithinConnection;
use crate::delay::host::Hosts;
use crate::delay::host::transmission::{Transmission, Unproven};
use crate::delay::log::Log;
use crate::delay::log::entry::TOWARD;
use crate::delay::options::Choice;
use crate::delay::parallel::for_each;
use crate::delay::track::Track;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
struct Seen {
    leasts: LeastDelays,
    times: Times,
    /// The largest tick of their stamps, ns.
    tick: f64,
}

impl Seen {
    /// How far the least delay of long packets exceeds that of short ones.
    fn longer(&self) -> Option<f64> {
        let ((low, ..), (high, ..)) = self.leasts.short.zip(self.leasts.long)?;
        Some(high.max(0.0) - low.max(0.0))
    }

    /// Whether it may be that long packets take longer: none is known to have been as quick as short ones.
    fn open(&self) -> bool {
        self.longer().is_none_or(|longer| longer > LEAST)
    }

    fn transmission(self) -> Option<Transmission> {
        let longer = self.longer()?;
        let ((_, _, short), (_, _, long)) = self.leasts.short.zip(self.leasts.long)?;
        let found = agreed(longer, self.times.spacing()?, [short, long], self.tick);
        Some(found.map_or(Transmission { short, ns_per_byte: 0.0 }, |(_, found)| found))
    }
}

/// What is seen of a host, from it and to it.
#[derive(Debug, Default)]
struct Look {
    host: u32,
    tracks: Vec<usize>,
    from: Seen,
    to: ToHost,
    told: [Option<Transmission>; 2],
    unproven: [Unproven; 2],
}

impl Look {
    /// Look at the delays of one of its tracks; true if it has long packets.
    fn at(&mut self, log: &Log, i: usize, track: &Track, leasts: &LeastDelays) -> bool {
        self.from.leasts.join(leasts, |delay| delay - track.base + track.cross_flow_base);
        self.from.tick = self.from.tick.max(track.tick_ns.unwrap_or(0.0));
        if track.toward {
            self.to.look(log.of(i).filter(|entry| entry.is(TOWARD)), track);
        }
        leasts.long.is_some()
    }

    /// Look at the times of long packets of those tracks. They are spaced by the link that they share: the first of all
    /// count, or a few that say no more than that they were seen, where their delays are as short ones'.
    fn times(&mut self, log: &Log, tracks: &[usize]) {
        let Some(longer) = self.from.longer() else { return };
        let most = if longer > LEAST { MOST_SPACINGS } else { FEWEST_SPACINGS };
        self.from.times.of_tracks(log, tracks, most);
    }
}

/// Find the time on the slowest link for each remote host, from it and to it, where the log shows it by the bases.
pub(crate) fn finalize(log: &Log, tracks: &[Track], within: WithinConnection, hosts: &mut Hosts, threads: usize) {
    let WithinConnection { leasts, told: known } = within;
    let mut place = vec![usize::MAX; hosts.all.len()];
    let mut looks: Vec<Look> = Vec::new();
    for (i, track) in tracks.iter().enumerate().filter(|(_, track)| track.stamped()) {
        let place = &mut place[track.host[0] as usize];
        if *place == usize::MAX {
            *place = looks.len();
            looks.push(Look { host: track.host[0], ..Look::default() });
        }
        looks[*place].tracks.push(i);
    }
    let weight = |look: &Look| look.tracks.iter().map(|&i| log.len_of(i)).sum();
    for_each(
        threads,
        &mut looks,
        |_, look| weight(look),
        |_, look| {
            let all = std::mem::take(&mut look.tracks);
            let long = |&i: &usize| look.at(log, i, &tracks[i], &leasts[i]);
            let with_long: Vec<_> = all.iter().copied().filter(long).collect();
            let known = known[look.host as usize];
            if !known {
                look.times(log, &with_long);
            }
            let (from, to) = (std::mem::take(&mut look.from), std::mem::take(&mut look.to));
            let (short, open) = (from.leasts.short, [from.open() && !known, to.open()]);
            look.told = [if known { None } else { from.transmission() }, to.told()];
            for toward in [false, true] {
                let way = usize::from(toward);
                if open[way] && !look.told[way].is_some_and(|told| told.known()) {
                    let messages = Messages::of(log, tracks, &all, toward);
                    let short =
                        if toward { Some((0.0, to_host::SHORT)) } else { short.map(|(low, _, length)| (low, length)) };
                    look.unproven[way] = short.and_then(|short| messages.told(short)).unwrap_or_default();
                }
            }
        },
    );
    for Look { host, told, unproven, .. } in looks {
        let host = &mut hosts.all[host as usize];
        for (known, told) in host.transmission.iter_mut().zip(told) {
            *known = told.unwrap_or(*known);
        }
        host.unproven = unproven;
    }
}

/// Bases leave out what long packets take longer by themselves, as far as it is known before they are found. The
/// receiver's reports do as they were published where they were asked for.
pub(crate) fn leave_out(log: &Log, tracks: &mut [Track], hosts: &Hosts, choice: Choice) {
    let stamped = tracks.iter().enumerate().filter(|(_, track)| track.stamped());
    let stamped: BTreeMap<_, usize> = stamped.map(|(i, track)| ((track.key, track.side), i)).collect();
    for (i, track) in tracks.iter_mut().enumerate().filter(|(_, track)| track.timed() && !track.silent) {
        let mut told = hosts.all[track.host[0] as usize].transmission[0];
        if track.estimator == Estimator::Reported {
            let beside = stamped.get(&(track.key, track.side)).filter(|_| choice == Choice::Auto);
            told = match beside {
                Some(&beside) if !told.known() => by_reports::find(log, i, track, beside).unwrap_or_default(),
                Some(_) => told,
                None => continue,
            };
        }
        if told.known() {
            track.transmission = told;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::finalize::base_delay::single_flow;
    use crate::delay::log::entry::{DATA, Entry};
    use crate::delay::protocol::Protocol;
    use crate::delay::sighting::flow_table::Key;
    use crate::delay::track::TrackRef;

    /// A way back of 20 ms, of 40 both ways, by stamps of such a tick.
    fn track(tick: f64) -> Track {
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        (track.tick_ns, track.base, track.round_trip_base) = (Some(tick), 20e6, 40e6);
        track
    }

    fn seen(long: f64, spacing: i64) -> Seen {
        let leasts = LeastDelays { short: Some((0.0, 0, 66)), long: Some((long, 1, 1514)) };
        let mut seen = Seen { leasts, ..Seen::default() };
        (0..100).for_each(|i| seen.times.add(i, i64::from(i) * spacing));
        seen
    }

    #[test]
    fn times_are_looked_at_as_far_as_they_can_matter() {
        // So many long packets, whose least delay is so much longer: so many times, and whether anything is told.
        for (packets, longer, times, told) in [
            (100, 0.4e6, FEWEST_SPACINGS + 1, true),
            (100, 11.6e6, 100, true),
            (FEWEST_SPACINGS, 0.4e6, FEWEST_SPACINGS, false),
        ] {
            let mut log = Log::default();
            (0..packets).for_each(|i| log.push(0, Entry::new(i as u64, i as i64, 0, 0, None).long(1514)));
            let mut look = Look::default();
            look.from.leasts = LeastDelays { short: Some((0.0, 0, 66)), long: Some((longer, 1, 1514)) };
            look.times(&log, &[0]);
            let from = look.from;
            assert_eq!((from.times.of.len(), from.transmission().is_some()), (times, told), "{packets} {longer}");
        }
    }

    #[test]
    fn a_connection_that_began_while_a_queue_stood_has_the_path_for_its_base() {
        let (mut log, mut hosts) = (Log::default(), Hosts::new(Vec::new()));
        let mut tracks = vec![track(1e3), track(1e3)];
        tracks[0].key.address.into_iter().for_each(|address| _ = hosts.of(address));
        hosts.all[0].echo_min = 40_000_000;
        // A path of 20 ms and a link on which a long packet takes 1.5 ms. Short ones open the connections; the second
        // does so behind 12 ms of a queue, which has its valleys afterwards.
        for i in 0..200i64 {
            for (of, waits) in [(0, 0), (1, 12_000_000)] {
                let (length, waits) = if i < 2 { (66, waits) } else { (1514, i % 40 * 1_500_000 + 1_500_000) };
                let sent = i * 61_500 * 1000 + i64::from(of) * 30_000_000;
                let extra = Some((40_000_000 + waits) as u32 / 1000);
                let entry = Entry::new(1, sent + 20_000_000 + waits, sent / 1000, DATA, extra).long(length);
                log.push(of, entry);
            }
        }
        // Packets that queue leave one after the other.
        for i in 0..200i64 {
            let (time, stamp) = (13_000_000_000 + i * 1_500_000, 12_000_000 + i);
            log.push(0, Entry::new(1, time, stamp, DATA, None).long(1514));
        }
        let within = within_connection::find(&log, &tracks, &[None, None], &mut hosts, 1);
        leave_out(&log, &mut tracks, &hosts, Choice::Auto);
        single_flow::finalize(&log, &mut tracks, &[None, None], &mut hosts, 1);
        finalize(&log, &tracks, within, &mut hosts, 1);
        let own = hosts.all[0].transmission[0].of(1514);
        assert!((own - 1.5e6).abs() < 0.1e6, "{own}");
        tracks.iter().for_each(|track| assert!((track.base - 20e6).abs() < 0.1e6, "{}", track.base));
    }

    #[test]
    fn a_link_takes_longer_for_long_packets_and_a_shaper_does_not() {
        let link = seen(11.6e6, 12_112_000).transmission().unwrap();
        assert!((link.of(1514) - 11.6e6).abs() < 1.0);
        assert_eq!(link.of(66), 0.0);
        assert_eq!(seen(0.1e6, 12_112_000).transmission().unwrap().of(1514), 0.0);
        // Long packets that all met a queue tell nothing.
        assert_eq!(seen(90e6, 12_112_000).transmission().unwrap().of(1514), 0.0);
    }
}
