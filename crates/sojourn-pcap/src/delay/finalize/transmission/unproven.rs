//! What of a packet's delay may be its own transmission, where nothing proves it.
//!
//! Packets that meet an empty queue arrive later than short ones by their transmission: the least of what they take
//! longer is met again and again. The spacing of long packets proves it ([`super`]), but messages that are sent now and
//! then do not follow each other, and behind several slow links in a row no spacing agrees. A queue that somebody else
//! fills, and that never changes, looks the same: so what the least delays show is left out, and delays are lower
//! bounds. Two lengths prove it: transmission is in proportion to them, and a queue's delay is not. A least delay that
//! is not met again is that of a queue, of a transmission, or of both: what packets leave apart bounds it.
//!
//! Source: pathchar (V. Jacobson, 1997; A. B. Downey, SIGCOMM 1999), which takes the slope of least round trips over
//! lengths for a link's rate. Difference: packets are those that are there, so that lengths may be one, and the line
//! goes through the least of short ones.

use crate::delay::finalize::first_look::least_delays::SHORT;
use crate::delay::finalize::queueing_delay::DELAYED_ACK;
use crate::delay::finalize::transmission::dispersion::{FEWEST_SPACINGS, LEAST, tolerance};
use crate::delay::finalize::transmission::to_host::Told;
use crate::delay::host::transmission::{Transmission, Unproven};
use crate::delay::log::Log;
use crate::delay::log::entry::{AGAIN, LONE, SPOKEN, TOWARD};
use crate::delay::track::Track;
use crate::delay::track::empty_queue::{Evidence, SPREAD};

/// Packets of a connection that are looked at, from its first.
const LOOKED_AT: usize = 1 << 14;
/// Slow links in a row of which long packets take longer: as many times what they leave apart.
const LINKS: f64 = 2.0;
/// No more of the mean delay is no matter, ns and of what packets wait.
const SLIGHT: (f64, f64) = (1e6, 0.05);

/// One packet that is longer than those of handshakes: what it took longer than the base, ns, when it passed or
/// arrived, and its length.
#[derive(Debug, Clone, Copy)]
struct Message {
    excess: f64,
    time: i64,
    length: u16,
}

/// What is seen of one direction of a host.
#[derive(Debug, Default)]
pub(super) struct Messages {
    of: Vec<Message>,
    /// Packets of any length.
    all: u64,
    /// The largest tick of their stamps, ns.
    tick: f64,
}

impl Messages {
    /// Those of some tracks, from their sender or to it.
    pub(super) fn of(log: &Log, tracks: &[Track], of: &[usize], toward: bool) -> Self {
        let mut found = Self::default();
        for &i in of {
            let (track, clocks) = (&tracks[i], tracks[i].clock_model());
            let tick = track.tick_ns.unwrap_or(0.0);
            for entry in log.of(i).take(LOOKED_AT).filter(|entry| entry.is(TOWARD) == toward) {
                if !toward && !entry.is(AGAIN) {
                    let excess = clocks.observed(entry.time, entry.stamp) - track.base + track.cross_flow_base;
                    found.add(excess, entry.time, entry.length(), tick);
                } else if toward
                    && let Some(told) = Told::of(entry, track, &clocks)
                    && (told.by < DELAYED_ACK || !(entry.is(LONE) || entry.is(SPOKEN)))
                {
                    found.add(told.by, told.time, entry.length(), tick);
                }
            }
        }
        found
    }

    /// Count a packet; `tick` is that of its delay.
    fn add(&mut self, excess: f64, time: i64, length: u16, tick: f64) {
        self.all += 1;
        self.tick = self.tick.max(tick);
        if length > SHORT {
            self.of.push(Message { excess, time, length });
        }
    }

    /// What they show, if short packets of this length took so much longer than the base at the least, ns.
    pub(super) fn told(mut self, (low, short): (f64, u16)) -> Option<Unproven> {
        let longest = self.of.iter().map(|message| message.length).max()?;
        let per_byte = |message: &Message| (message.excess - low) / f64::from(message.length - short);
        let ns_per_byte = self.of.iter().map(per_byte).min_by(f64::total_cmp)?;
        let transmission = Transmission { short, ns_per_byte };
        let whole = transmission.of(longest);
        self.of.sort_by_key(|message| message.time);
        let spacing = self.spacing() * f64::from(longest);
        if whole <= LEAST {
            return None;
        }
        // A constant queue of packets that may wait for each other would be their sender's own.
        let mut halves = [Evidence { data: spacing < LINKS * whole, ..Evidence::default() }; 2];
        let (spread, mut last) = (SPREAD + self.tick, i64::MIN);
        for message in &self.of {
            let waits = message.excess - low - transmission.of(message.length);
            let at_once = (message.time.saturating_sub(std::mem::replace(&mut last, message.time)) as f64) < spread;
            if !at_once {
                halves[usize::from(message.length > short + (longest - short) / 2)].add(waits, spread);
            }
        }
        let [halved, mut all] = halves;
        let proven = halved.piles_up() && all.piles_up() && whole > 4.0 * spread;
        all.join(&halved);
        let met_again = all.piles_up() && whole <= LINKS * spacing + tolerance(LINKS * spacing);
        // The least may have waited. No transmission is longer than what they leave apart.
        let ns_per_byte = if met_again { ns_per_byte } else { ns_per_byte.min(spacing / f64::from(longest - short)) };
        let transmission = Transmission { short, ns_per_byte };
        let own: f64 = self.of.iter().map(|message| transmission.of(message.length)).sum();
        let excess: f64 = self.of.iter().map(|message| message.excess - low).sum();
        let slight = own <= (SLIGHT.0 * self.all as f64).max(SLIGHT.1 * (excess - own));
        if slight && !met_again {
            return None;
        }
        let lacks = if met_again && (proven || slight) { 0.0 } else { transmission.of(longest) };
        Some(Unproven { transmission, lacks })
    }

    /// How far each follows the one before it, ns for each of its bytes: a low one of many, the least of a few.
    fn spacing(&self) -> f64 {
        let apart = |two: &[Message]| (two[1].time - two[0].time) as f64 / f64::from(two[1].length);
        let mut each: Vec<_> = self.of.windows(2).map(apart).collect();
        if each.is_empty() {
            return f64::INFINITY;
        }
        let place = if each.len() < FEWEST_SPACINGS { 0 } else { each.len() / 10 };
        *each.select_nth_unstable_by(place, f64::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What packets tell of which length, spacing before each, and wait (ms) is known; each byte takes 16 µs. Beside
    /// them there are so many short ones.
    fn told(messages: impl Iterator<Item = (u16, f64, f64)>, short: u64) -> Option<[f64; 2]> {
        let (mut of, mut at) = (Messages::default(), 0.0);
        (0..short).for_each(|_| of.add(0.0, 0, 66, 0.0));
        for (length, spacing, waits) in messages {
            at += spacing;
            of.add((f64::from(length - 66) * 0.016 + waits) * 1e6, (at * 1e6) as i64, length, 1000.0);
        }
        of.told((0.0, 66)).map(|found| [found.transmission.of(1066), found.lacks].map(|ns| ns / 1e6))
    }

    fn close(found: Option<[f64; 2]>, expected: [f64; 2]) {
        let found = found.unwrap_or([f64::NAN; 2]);
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.02), "{found:?}");
    }

    #[test]
    fn messages_of_one_length_that_found_nothing_are_bounds_and_those_of_two_are_known() {
        let waits = |i: u32| f64::from(i % 3) * 5.0;
        close(told((0..100).map(|i| (1066, 100.0, waits(i))), 0), [16.0, 16.0]);
        close(told((0..100).map(|i| (566, 100.0, waits(i))), 0), [16.0, 8.0]);
        close(told((0..100).map(|i| (566 + i as u16 % 2 * 500, 100.0, waits(i))), 0), [16.0, 0.0]);
        // A queue of 5 ms that never changes is none of two lengths', as it is not in proportion.
        close(told((0..100).map(|i| (566 + i as u16 % 2 * 500, 100.0, 5.0)), 0), [21.0, 21.0]);
    }

    #[test]
    fn what_is_never_met_again_may_be_transmission_as_far_as_packets_are_apart() {
        // 0.7 ms apart each, and the least of them behind a queue: of 16 ms and 8.
        let waits = |i: u32| 8.0 + f64::from(i * 37 % 50) * 0.7;
        let found = |spacing: f64| told((0..50).map(|i| (1066, spacing, waits(i))), 0);
        close(found(100.0), [24.0, 24.0]);
        close(found(16.0), [16.0, 16.0]);
        // A millisecond, or a twentieth of what they wait, is no matter.
        assert!(found(0.9).is_none());
        assert!(told((0..50).map(|i| (1066, 10.0, 200.0 + waits(i))), 0).is_none());
        close(told((0..7).map(|_| (1066, 100.0, 0.0)), 0), [16.0, 16.0]);
        assert!(told(std::iter::empty(), 9).is_none());
    }

    #[test]
    fn long_packets_that_follow_each_other_cross_two_slow_links_at_most() {
        // Two links: 16 ms in all, 9 ms apart. They find the queues empty every other time.
        let found = |spacing: f64, high: f64| told((0..200).map(|i| (1066, spacing, f64::from(i % 2) * high)), 0);
        close(found(9.0, 40.0), [16.0, 16.0]);
        // Half a twentieth of what they wait, it is no matter.
        close(found(9.0, 1400.0), [16.0, 0.0]);
        // Four links, or a queue that its own sender keeps filled; a constant queue, which never falls or rises.
        close(found(4.0, 40.0), [4.0, 4.0]);
        close(found(9.0, 0.0), [9.0, 9.0]);
        // A second packet that is short follows sooner, by its own length.
        close(told((0..200).map(|i| if i % 2 == 0 { (1066, 90.0, 0.0) } else { (466, 6.5, 9.6) }), 0), [16.0, 16.0]);
    }

    #[test]
    fn messages_that_make_no_difference_to_the_mean_make_no_bound() {
        // 0.9 ms of the mean delay, and 1.1.
        close(told((0..119).map(|_| (1066, 100.0, 0.0)), 2000), [16.0, 0.0]);
        close(told((0..148).map(|_| (1066, 100.0, 0.0)), 2000), [16.0, 16.0]);
    }
}
