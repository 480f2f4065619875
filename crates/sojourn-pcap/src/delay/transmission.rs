//! What of a long packet's delay is its own transmission.
//!
//! A queue's delay ends where the transmission starts, but a packet arrives when its transmission ends. A base that a
//! short packet set (those of handshakes, acknowledgements) lacks what a long one takes longer on the slowest link. Two
//! things have to agree on it: the least delays of the two lengths differ by it, and long packets that queue are spaced
//! by it when they leave (in the direction that is seen by acknowledgements only, by it or by twice as much). A shaper
//! that passes packets on at once, and only then makes others wait, spaces them but shows no difference.

use crate::delay::base_delay::Scale;
use crate::delay::estimate::tcp_observer;
use crate::delay::host::{Hosts, Transmission};
use crate::delay::log::{ECHOED, Entry, Log, TOWARD};
use crate::delay::share::each;
use crate::delay::track::{Estimator, Protocol, Track};

/// Frames of handshakes and acknowledgements, and frames full of data, bytes.
const SHORT: u16 = 200;
const LONG: u16 = 1000;
/// Differences that are not told from jitter, ns.
const LEAST: f64 = 500_000.0;
/// Spacings of which a low one is taken.
const MOST_SPACINGS: usize = 4096;
const FEWEST_SPACINGS: usize = 20;
/// How far the two may differ.
const AGREE: f64 = 0.15;

#[derive(Clone, Default)]
struct Seen {
    short: Option<(f64, u16)>,
    long: Option<(f64, u16)>,
    last: Option<i64>,
    spacings: Vec<i64>,
}

impl Seen {
    fn add(&mut self, delay: f64, length: u16, time: i64) {
        let least = match length {
            ..=SHORT => &mut self.short,
            LONG.. => {
                if let (Some(last), true) = (self.last.replace(time), self.spacings.len() < MOST_SPACINGS) {
                    self.spacings.push(time - last);
                }
                &mut self.long
            }
            _ => return,
        };
        if least.is_none_or(|(known, _)| delay < known) {
            *least = Some((delay, length));
        }
    }

    /// `each`: how many packets one of the spacings may stand for.
    fn transmission(mut self, each: u32) -> Option<Transmission> {
        let ((low, short), (high, long)) = self.short.zip(self.long)?;
        if self.spacings.len() < FEWEST_SPACINGS {
            return None;
        }
        let tenth = self.spacings.len() / 10;
        let spacing = *self.spacings.select_nth_unstable(tenth).1 as f64;
        let longer = high.max(0.0) - low.max(0.0);
        let share = f64::from(long - short) / f64::from(long);
        let agrees = |packets: u32| {
            let expected = spacing / f64::from(packets) * share;
            libm::fabs(longer - expected) <= AGREE * expected + LEAST
        };
        let told = longer > LEAST && (1..=each).any(agrees);
        let ns_per_byte = if told { longer / f64::from(long - short) } else { 0.0 };
        Some(Transmission { short, ns_per_byte })
    }
}

/// What is seen of a host, from it and to it.
struct Look {
    host: u32,
    tracks: Vec<usize>,
    seen: [Seen; 2],
}

impl Look {
    #[inline]
    fn add(&mut self, entry: &Entry, track: &Track, scale: &Scale) {
        let excess = scale.observed(entry.time, entry.stamp) - track.base + track.cross_flow_base;
        let [from, to] = &mut self.seen;
        if !entry.is(TOWARD) {
            from.add(excess, entry.length(), entry.time);
        } else if let (Some(extra), false) = (entry.extra(), entry.is(ECHOED)) {
            let back = tcp_observer::estimate(excess, track.tick_ns.unwrap_or(0.0), None, None).delay;
            let over = f64::from(extra) * 1000.0 - track.round_trip_base - track.unassigned;
            // Spaced as they arrived there, whatever the acknowledgements met on the way back.
            to.add(over - back, entry.length(), entry.time - back as i64);
            // What a handshake's short packets took is in the base.
            to.short = Some((0.0, 66));
        }
    }
}

/// Find the time on the slowest link for each remote host, from it and to it, where the log shows it.
pub(crate) fn finalize(log: &Log, tracks: &[Track], hosts: &mut Hosts, threads: usize) {
    let mut place = vec![usize::MAX; hosts.all.len()];
    let mut looks: Vec<Look> = Vec::new();
    for (i, track) in tracks.iter().enumerate().filter(|(_, track)| tells(track)) {
        let place = &mut place[track.host[0] as usize];
        if *place == usize::MAX {
            *place = looks.len();
            looks.push(Look { host: track.host[0], tracks: Vec::new(), seen: Default::default() });
        }
        looks[*place].tracks.push(i);
    }
    each(threads, &mut looks, |_, look| {
        if let [only] = *look.tracks {
            let (track, scale) = (&tracks[only], tracks[only].scale());
            log.chunks(only).for_each(|chunk| chunk.iter().for_each(|entry| look.add(entry, track, &scale)));
        }
    });
    // The packets of several flows are spaced by the link that they share.
    if looks.iter().any(|look| look.tracks.len() > 1) {
        let several =
            |track: &Track| looks.get(place[track.host[0] as usize]).is_some_and(|look| look.tracks.len() > 1);
        let wanted: Vec<bool> = tracks.iter().map(|track| tells(track) && several(track)).collect();
        for entry in log.in_order(|track| wanted[track]) {
            let track = &tracks[entry.track as usize];
            looks[place[track.host[0] as usize]].add(entry, track, &track.scale());
        }
    }
    for Look { host, seen, .. } in looks {
        for (way, seen) in seen.into_iter().enumerate() {
            let known = &mut hosts.all[host as usize].transmission[way];
            *known = seen.transmission(1 + way as u32).unwrap_or(*known);
        }
    }
}

fn tells(track: &Track) -> bool {
    track.estimator == Estimator::Observer && track.protocol == Protocol::Tcp && track.timed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acknowledgements_wait_on_their_way_back_is_no_spacing() {
        use crate::decode::Address;
        use crate::delay::flow::Key;
        use crate::delay::log::DATA;
        use crate::delay::track::TrackRef;
        let (key, side) = Key::of((Address(1), 1), (Address(2), 2), 6);
        let (protocol, estimator) = (Protocol::Tcp, Estimator::Observer);
        let mut track = Track::new(&TrackRef { key: &key, side, protocol, estimator, hosts: [0, 1] }, 0);
        (track.tick_ns, track.round_trip_base) = (Some(1e3), 40e6);
        let mut look = Look { host: 0, tracks: vec![0], seen: Default::default() };
        for i in 0..200i64 {
            // Every 3 ms one arrives, after a wait that comes and goes. Acknowledgements come back four at a time.
            let (arrived, waits) = (i * 3_000_000, (i % 20) * 1_000_000);
            let held = (3 - i % 4) * 3_000_000;
            let time = arrived + 20_000_000 + held;
            let round_trip = 40_000_000 + 3_000_000 + waits + held;
            // Sent back as it arrived, by a clock of microseconds that the way takes 20 ms from.
            let entry = Entry::new(1, time, arrived / 1000, DATA | TOWARD, Some((round_trip / 1000) as u32)).long(1514);
            track.base = 20e6;
            look.add(&entry, &track, &track.scale());
        }
        let [_, to] = look.seen;
        let found = to.transmission(2).unwrap();
        assert!((found.of(1514) - 3e6).abs() < 0.1e6, "{found:?}");
    }

    fn seen(long: f64, spacing: i64) -> Seen {
        let mut seen = Seen::default();
        seen.add(0.0, 66, 0);
        (0..100).for_each(|i| seen.add(long + (i % 7) as f64 * 1e7, 1514, i * spacing));
        seen
    }

    #[test]
    fn a_link_takes_longer_for_long_packets_and_a_shaper_does_not() {
        let link = seen(11.6e6, 12_112_000).transmission(1).unwrap();
        assert!((link.of(1514) - 11.6e6).abs() < 1.0);
        assert_eq!(link.of(66), 0.0);
        assert_eq!(seen(0.1e6, 12_112_000).transmission(1).unwrap().of(1514), 0.0);
        // Seen by every other one's acknowledgement, they seem twice as far apart.
        assert_eq!(seen(11.6e6, 24_224_000).transmission(1).unwrap().of(1514), 0.0);
        assert!((seen(11.6e6, 24_224_000).transmission(2).unwrap().of(1514) - 11.6e6).abs() < 1.0);
        // Long packets that all met a queue tell nothing.
        assert_eq!(seen(90e6, 12_112_000).transmission(2).unwrap().of(1514), 0.0);
    }
}
