//! What of a long packet's delay *to* a host is its own transmission ([`super::transmission`]), as round trips tell.
//!
//! The shortest round trip is that of short packets (those of handshakes), so the least of what a connection's long
//! ones take longer, less what their acknowledgements waited, is their transmission. Where the receiver acknowledges
//! every other packet, those that it tells of arrive two transmissions apart; and if each was sent right behind the one
//! before it, which it waited for, their least is two transmissions as well. A few connections whose bases are wrong
//! must not hide what the others show: what most agree on is told, unless a long packet's round trip exceeds the
//! shortest by less.

use crate::delay::estimate::tcp_observer;
use crate::delay::finalize::first_look::least_delays::LONG;
use crate::delay::finalize::queueing_delay::DELAYED_ACK;
use crate::delay::finalize::transmission::dispersion::{FEWEST_SPACINGS, LEAST, MOST_SPACINGS, Times, tolerance};
use crate::delay::host::transmission::Transmission;
use crate::delay::log::entry::{ECHOED, Entry, LONE, SPOKEN};
use crate::delay::track::Track;
use crate::delay::track::clock_model::ClockModel;
use sojourn_net::with_defaults;
use std::cmp::Reverse;

/// Length of the frames of a handshake, bytes.
pub(super) const SHORT: u16 = 66;
/// Packets that one acknowledgement tells of at most, as receivers send them.
const TOGETHER: u32 = 2;

/// The least of what long packets of one connection take longer, ns, with the length of that packet, and how many the
/// acknowledgement that told of it stands for.
#[derive(Debug, Clone, Copy)]
struct Longer {
    by: f64,
    length: u16,
    packets: u32,
}

/// The last of a connection's that was not held back: what it took longer, ns, and when it arrived.
struct Last {
    by: f64,
    time: Option<i64>,
}

/// What an acknowledgement tells of a packet to a host, ns: what its round trip took longer than the shortest, but for
/// what the acknowledgement waited on the way back; when that would have come without waiting; and the round trip.
pub(super) struct Told {
    pub(super) by: f64,
    pub(super) time: i64,
    round_trip: i64,
}

impl Told {
    /// Nothing is told by echoes alone.
    #[inline]
    pub(super) fn of(entry: &Entry, track: &Track, clocks: &ClockModel) -> Option<Self> {
        let extra = entry.extra().filter(|_| !entry.is(ECHOED))?;
        let excess = clocks.observed(entry.time, entry.stamp) - track.base + track.cross_flow_base;
        let tick = track.tick_ns.unwrap_or(0.0);
        let (back, round_trip) = (tcp_observer::estimate(excess, tick, None, None).delay, i64::from(extra) * 1000);
        // Of what it met on the way back, the stamp's tick leaves some open: the least of thousands would be too low by
        // half of it, unless each is the most it may be.
        let by = round_trip as f64 - track.round_trip_base - track.unassigned - (excess - tick).max(0.0);
        Some(Self { by, time: entry.time - back as i64, round_trip })
    }
}

with_defaults! {
    /// What is seen of the way to a host.
    #[derive(Debug)]
    pub(crate) struct ToHost {
        times: Times,
        /// How far one connection's arrive apart, ns: at the most, as ticks leave it.
        apiece: Vec<f64>,
        connections: Vec<Longer>,
        /// The shortest round trip of a long packet, ns, and its length.
        quickest: Option<(i64, u16)>,
        /// The shortest of all, as bases leave it.
        shortest: f64 = f64::INFINITY,
    }
}

impl ToHost {
    /// Look at the packets of one connection.
    pub(crate) fn look<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>, track: &Track) {
        let (clocks, mut least, mut last) = (track.clock_model(), None, Last { by: f64::INFINITY, time: None });
        entries.for_each(|entry| self.add(entry, track, &clocks, (&mut least, &mut last)));
        self.connections.extend(least);
        self.shortest = self.shortest.min(track.round_trip_base - track.path.longer as f64);
    }

    #[inline]
    fn add(&mut self, entry: &Entry, track: &Track, clocks: &ClockModel, seen: (&mut Option<Longer>, &mut Last)) {
        let (least, last) = seen;
        if entry.length() < LONG {
            return;
        }
        let Some(Told { by, time, round_trip }) = Told::of(entry, track, clocks) else { return };
        let tick = track.tick_ns.unwrap_or(0.0);
        if least.is_none_or(|least| by < least.by) {
            *least = Some(Longer { by, length: entry.length(), packets: entry.packets() });
        }
        let quick = round_trip - track.path.longer;
        if self.quickest.is_none_or(|(least, _)| quick < least) {
            self.quickest = Some((quick, entry.length()));
        }
        // One that was held back is near the next.
        let held = entry.is(SPOKEN) || (entry.is(LONE) && by > last.by + DELAYED_ACK);
        if !held {
            if self.apiece.len() < MOST_SPACINGS
                && let Some(before) = last.time.replace(time)
            {
                self.apiece.push(((time - before) as f64 + tick) / f64::from(entry.packets()));
            }
            last.by = by;
            self.times.add(entry.place, time);
            self.times.tick = self.times.tick.max(tick);
        }
    }

    /// Whether it may be that long packets take longer: none is known to have been as quick as short ones.
    pub(super) fn open(&self) -> bool {
        self.connections.iter().all(|longer| longer.by > LEAST)
    }

    /// The transmission, or that there is none; nothing of a few packets.
    pub(crate) fn told(self) -> Option<Transmission> {
        let Self { times, mut apiece, connections, quickest, shortest } = self;
        let (spacing, (quickest, length)) = times.spacing().zip(quickest)?;
        let denied = |found: &Transmission| {
            let expected = found.of(length);
            quickest as f64 - shortest < expected - tolerance(expected)
        };
        let nothing = connections.iter().filter(|longer| libm::fabs(longer.by) <= LEAST).count();
        // No link takes longer for each than they arrive apart.
        let tenth = apiece.len() / 10;
        let few = apiece.len() < FEWEST_SPACINGS;
        let most = if few { f64::INFINITY } else { *apiece.select_nth_unstable_by(tenth, f64::total_cmp).1 };
        let found = (1..=TOGETHER).filter(|apart| spacing / f64::from(*apart) <= most + tolerance(most));
        let found = found.filter_map(|apart| {
            let agreeing: Vec<_> = connections.iter().filter_map(|of| of.agrees(spacing / f64::from(apart))).collect();
            let best = agreeing.iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| *found)?;
            Some((agreeing.len(), Reverse(apart), best))
        });
        let found = found.filter(|(agreeing, _, found)| *agreeing >= nothing && !denied(found));
        let most = found.max_by_key(|(agreeing, apart, _)| (*agreeing, *apart)).map(|(.., found)| found);
        Some(most.unwrap_or(Transmission { short: SHORT, ns_per_byte: 0.0 }))
    }
}

impl Longer {
    /// The transmission, and how far it is off one that takes so long for all of a long packet, if they agree.
    fn agrees(&self, whole: f64) -> Option<(f64, Transmission)> {
        let bytes = f64::from(self.length - SHORT);
        let expected = whole * bytes / f64::from(self.length);
        let of = |together: u32| {
            let (by, together) = (self.by, f64::from(together));
            let off = libm::fabs(by - together * expected);
            let found = Transmission { short: SHORT, ns_per_byte: by / together / bytes };
            (by > LEAST && off <= tolerance(together * expected)).then_some((off / together, found))
        };
        (1..=TOGETHER.min(self.packets)).filter_map(of).min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::estimate::Estimator;
    use crate::delay::log::entry::{DATA, TOWARD};
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

    /// What long packets take that arrive, of a round trip of so many ns, and are told of so many ns after.
    fn of(tick: i64, packets: impl Iterator<Item = [i64; 3]>) -> f64 {
        let entry = |(place, [arrived, round_trip, held]): (usize, [i64; 3])| {
            let extra = Some(((round_trip + held) / 1000) as u32);
            let time = arrived + 20_000_000 + held;
            Entry { place: place as u32, ..Entry::new(1, time, arrived / tick, DATA | TOWARD, extra).long(1514) }
        };
        let (mut to, entries) = (ToHost::default(), packets.enumerate().map(entry).collect::<Vec<_>>());
        to.look(entries.iter(), &track(tick as f64));
        to.told().unwrap().of(1514)
    }

    #[test]
    fn what_acknowledgements_wait_on_their_way_back_is_no_spacing() {
        // Every 3 ms one arrives, after a wait that comes and goes. Acknowledgements come back four at a time, of a
        // clock of microseconds.
        let packet = |i: i64| [i * 3_000_000, 43_000_000 + i % 20 * 1_000_000, (3 - i % 4) * 3_000_000];
        let found = of(1000, (0..200).map(packet));
        assert!((found - 3e6).abs() < 0.1e6, "{found}");
    }

    #[test]
    fn a_tick_of_milliseconds_leaves_the_least_as_it_is() {
        // One arrives every 1.5 ms and is acknowledged at once; the way back has a queue that comes and goes.
        let packet = |i: i64| [i * 1_503_000, 41_503_000 + i % 300 * 100_000, i / 7 % 40 * 500_000];
        let found = of(1_000_000, (0..4000).map(packet));
        assert!((found - 1.5e6).abs() < 0.1e6, "{found}");
    }

    /// What is told by connections whose least (ms) are known, each told of by acknowledgements of so many packets.
    fn told(connections: &[(f64, u32)], spacing: i64, quickest: f64) -> f64 {
        let longer = |&(by, packets): &(f64, u32)| Longer { by: by * 1e6, length: 1514, packets };
        let mut to =
            ToHost { connections: connections.iter().map(longer).collect(), shortest: 40e6, ..ToHost::default() };
        to.quickest = Some((40_000_000 + (quickest * 1e6) as i64, 1514));
        (0..100).for_each(|i| to.times.add(i, i64::from(i) * spacing));
        to.told().unwrap().of(1514) / 1e6
    }

    #[test]
    fn seen_by_every_other_ones_acknowledgement_they_seem_twice_as_far_apart() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        close(told(&[(11.6, 1)], 12_112_000, 11.6), 11.6);
        close(told(&[(11.6, 1)], 24_224_000, 11.6), 11.6);
        close(told(&[(11.6, 1)], 36_336_000, 11.6), 0.0);
        // Or twice as long, each having waited for the one before it, which was acknowledged with it.
        close(told(&[(23.2, 2)], 12_112_000, 23.2), 11.6);
        close(told(&[(23.2, 1)], 12_112_000, 23.2), 0.0);
    }

    #[test]
    fn what_most_connections_agree_on_is_told_unless_a_round_trip_denies_it() {
        let most = [(-0.3, 1), (2.9, 1), (0.1, 1), (2.8, 1), (1.5, 1), (3.4, 1), (40.0, 2)];
        assert!((told(&most, 3_000_000, 2.9) - 2.9).abs() < 1e-6);
        assert_eq!(told(&[(0.1, 1), (0.2, 1), (2.9, 1)], 3_000_000, 2.9), 0.0, "a shaper");
        assert_eq!(told(&[(2.9, 1)], 3_000_000, 1.9), 0.0, "none is quicker than the link");
    }

    #[test]
    fn of_an_acknowledgement_that_was_held_back_the_next_is_no_spacing() {
        // One arrives every 24 ms; each fifth is told of 40 ms later, 8 ms before the next but one.
        let packet = |i: i64| {
            [
                i * 24_000_000 + if i % 5 == 4 { 40_000_000 } else { 0 },
                64_000_000 + if i % 5 == 4 { 40_000_000 } else { 0 },
                0,
            ]
        };
        let mut to = ToHost::default();
        let entries: Vec<Entry> = (0..200)
            .map(packet)
            .enumerate()
            .map(|(place, [arrived, round_trip, _])| {
                let entry = Entry::new(
                    1,
                    arrived + 20_000_000,
                    arrived / 1000,
                    DATA | TOWARD | LONE,
                    Some((round_trip / 1000) as u32),
                );
                Entry { place: place as u32, ..entry.long(1514) }
            })
            .collect();
        to.look(entries.iter(), &track(1e3));
        assert!((to.told().unwrap().of(1514) - 24e6).abs() < 1.5e6);
    }
}
