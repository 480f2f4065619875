//! What a connection was opened after: so much of another one that had come to its host.
//!
//! A browser opens connections for what a page names, when that part of the page has come, and the next page when the
//! one before was there. In a replay such a connection has to wait as long as the network makes its reader wait. Others
//! open connections when they like: people at other pages, programs by the clock.
//!
//! The two are told apart by host: who waits opens connections at once when something has come, more often than at
//! times that have nothing to do with it; or opens none while one that it opened before is under way
//! ([`super::one_by_one`]). Connections that a host opens one after another were asked for together (browsers take
//! about 1 ms between two). The rules are sojourn's own; Tmix starts connections at recorded times.

use super::one_by_one::{CERTAIN, LEAST, MOST_DO, OneByOne};
use crate::decode::Address;
use std::collections::BTreeMap;

/// At once, ns.
const AT_ONCE: i64 = 5_000_000;
/// To whom something comes at more of the times may have waited for something before the last of it, and to an address
/// of many users what another of them waits for: those start as they were recorded.
const MOST_CHANCE: f64 = 0.5;
/// So many bytes of a connection, by its number, had come to the host that then waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The connection.
    pub number: u32,
    /// Payload bytes of its other end.
    pub bytes: u64,
    /// Time from then to the opening.
    pub wait_ns: u64,
}

/// The last that came to a host: when, of which connection, and how much of it there was by then.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    at: i64,
    number: u32,
    bytes: u64,
}

/// A host by one sign of what came to it.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    first: i64,
    last: Option<Came>,
    /// Time within [`AT_ONCE`] after something came.
    close_ns: i64,
    /// When it last opened a connection, and what had come when it began to.
    opened: Option<(i64, Came)>,
    /// Times that it began to open connections, the last of them, and those at once.
    times: u64,
    until: i64,
    at_once: u64,
    one_by_one: OneByOne,
}

impl Host {
    fn came(&mut self, came: Came) {
        self.one_by_one.came(came.at, came.number);
        match self.last {
            None => self.first = came.at,
            Some(last) => self.close_ns += came.at.saturating_sub(last.at).clamp(0, AT_ONCE),
        }
        self.last = Some(came);
    }

    fn opened(&mut self, now: i64, number: u32) -> Option<After> {
        let together = self.opened.filter(|(before, _)| now.saturating_sub(*before) <= AT_ONCE);
        if together.is_none() {
            self.one_by_one.opened(now, number);
        }
        let last = self.last?;
        let came = match together {
            Some((_, came)) => came,
            None => {
                self.times += 1;
                self.until = now;
                self.at_once += u64::from(now.saturating_sub(last.at) <= AT_ONCE);
                last
            }
        };
        self.opened = Some((now, came));
        let wait_ns = now.saturating_sub(came.at).max(0) as u64;
        Some(After { number: came.number, bytes: came.bytes, wait_ns })
    }

    /// It opens connections when something has come, or when those before are over, for certain.
    fn waits(&self) -> bool {
        self.opens_at_once() || self.one_by_one.waits()
    }

    /// It opens connections at once when something has come, for certain.
    fn opens_at_once(&self) -> bool {
        let whole = self.until.saturating_sub(self.first).max(1) as f64;
        let chance = (self.close_ns as f64 / whole).min(1.0);
        let (times, more) = (self.times as f64, self.at_once as f64 - self.times as f64 * chance);
        self.times >= LEAST
            && chance < MOST_CHANCE
            && more > CERTAIN * (times * chance * (1.0 - chance)).sqrt()
            && more > MOST_DO * times * (1.0 - chance)
    }
}

/// What came to hosts by what passed towards them and by what they acknowledged, and what they opened after it. Hosts
/// have numbers, since something comes with every packet; of those to which nothing came nothing is kept.
#[derive(Debug, Default)]
pub(super) struct Afters {
    numbers: BTreeMap<Address, u32>,
    hosts: Vec<Option<Box<[Host; 2]>>>,
    found: BTreeMap<u32, [Option<After>; 2]>,
}

impl Afters {
    /// The number of a host.
    pub(super) fn host(&mut self, address: Address) -> u32 {
        let next = self.hosts.len() as u32;
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.hosts.push(None);
        }
        number
    }

    /// So many bytes of a connection have come to a host, if `acknowledged` as it says itself.
    pub(super) fn came(&mut self, host: u32, acknowledged: bool, at: i64, number: u32, bytes: u64) {
        let signs = self.hosts[host as usize].get_or_insert_default();
        signs[usize::from(acknowledged)].came(Came { at, number, bytes });
    }

    /// A host says that it has so many bytes of a connection: what came last and filled a gap was less.
    pub(super) fn has(&mut self, host: u32, number: u32, bytes: u64) {
        let signs = self.hosts[host as usize].as_deref_mut();
        if let Some(last) = signs.and_then(|[seen, _]| seen.last.as_mut()).filter(|last| last.number == number) {
            last.bytes = last.bytes.max(bytes);
        }
    }

    /// A host opens a connection.
    pub(super) fn opened(&mut self, host: u32, number: u32, now: i64) {
        let Some(signs) = &mut self.hosts[host as usize] else { return };
        let after = signs.each_mut().map(|host| host.opened(now, number));
        if after != [None; 2] {
            self.found.insert(number, after);
        }
    }

    /// What a connection was opened after, if its host waits for such; `far`: that is away from the capture.
    pub(super) fn of(&self, host: u32, number: u32, far: bool) -> Option<After> {
        let sign = usize::from(far);
        let signs = self.hosts[host as usize].as_ref()?;
        self.found.get(&number)?[sign].filter(|_| signs[sign].waits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    const MS: i64 = 1_000_000;

    /// The number of the second of two hosts.
    const HOST: u32 = 1;

    fn two_hosts() -> Afters {
        let mut afters = Afters::default();
        let numbers = [1, 2, 1].map(|n| afters.host(IpAddr::from([10, 0, 0, n]).into()));
        assert_eq!(numbers, [0, HOST, 0]);
        afters
    }

    /// Every 100 ms something of connection 7 comes, and so many milliseconds later the host opens connections, each 1
    /// ms after the one before. Numbers of those connections begin at 100.
    fn rounds(opens_after: impl Fn(i64) -> i64, each: u32, every_ms: i64) -> Afters {
        let mut afters = two_hosts();
        for round in 0..40 {
            let at = round * every_ms * MS;
            afters.came(HOST, false, at, 7, 1000 * (round as u64 + 1));
            for n in 0..each {
                let now = at + (opens_after(round) + i64::from(n)) * MS;
                afters.opened(HOST, 100 + round as u32 * each + n, now);
            }
        }
        afters
    }

    #[test]
    fn who_opens_connections_when_something_has_come_waits_for_it() {
        let afters = rounds(|_| 2, 1, 100);
        let after = |bytes, wait_ms: u64| Some(After { number: 7, bytes, wait_ns: wait_ms * MS as u64 });
        assert_eq!(afters.of(HOST, 100, false), after(1000, 2));
        assert_eq!(afters.of(HOST, 139, false), after(40_000, 2));
        assert_eq!(afters.of(HOST, 139, true), None, "it acknowledged nothing");
        assert_eq!(afters.of(HOST, 7, false), None);
        // A fifth of them after a while of reading.
        let reads = rounds(|round| if round % 5 == 0 { 60 } else { 2 }, 1, 100);
        assert_eq!(reads.of(HOST, 100, false), after(1000, 60));
    }

    #[test]
    fn what_fills_a_gap_brings_what_was_behind_it() {
        let mut afters = two_hosts();
        for round in 0..40 {
            let at = i64::from(round) * 100 * MS;
            afters.came(HOST, false, at, 7, 1000);
            [(7, 3000), (7, 2000), (8, 9000)].iter().for_each(|&(number, bytes)| afters.has(HOST, number, bytes));
            afters.opened(HOST, 100 + round, at + 2 * MS);
        }
        assert_eq!(afters.of(HOST, 139, false), Some(After { number: 7, bytes: 3000, wait_ns: 2 * MS as u64 }));
        assert_eq!(afters.of(HOST, 139, true), None, "what it has it said later");
    }

    #[test]
    fn connections_one_after_another_were_asked_for_together() {
        let mut afters = two_hosts();
        for round in 0..10 {
            let at = round * 100 * MS;
            afters.came(HOST, true, at, 7, 1000 * (round as u64 + 1));
            for n in 0..3 {
                afters.opened(HOST, 100 + 3 * round as u32 + n, at + i64::from(n) * 4 * MS);
                afters.came(HOST, true, at + (i64::from(n) * 4 + 1) * MS, 9, 5);
            }
        }
        for (number, wait_ms) in [(100, 0), (101, 4), (102, 8)] {
            let wait_ns = wait_ms * MS as u64;
            assert_eq!(afters.of(HOST, number, true), Some(After { number: 7, bytes: 1000, wait_ns }));
        }
    }

    #[test]
    fn who_opens_connections_at_other_times_does_not_wait() {
        // At any time: a twentieth of them within 5 ms.
        let any = rounds(|round| round * 37 % 100, 1, 100);
        // Half of them at once and half at any time may be a person and a program.
        let half = rounds(|round| if round % 2 == 0 { 2 } else { round * 37 % 100 }, 1, 100);
        // Where something comes all the time, nothing was waited for that can be told.
        let busy = rounds(|_| 2, 1, 8);
        for afters in [any, half, busy] {
            assert!((100..140).all(|number| afters.of(HOST, number, false).is_none()));
        }
        let mut few = two_hosts();
        for round in 0..7 {
            few.came(HOST, false, round * 100 * MS, 7, 1 + round as u64);
            few.opened(HOST, 100 + round as u32, (round * 100 + 2) * MS);
        }
        assert!((100..107).all(|number| few.of(HOST, number, false).is_none()));
    }

    #[test]
    fn what_chance_makes_of_few_times_is_no_waiting() {
        let found = |times: u32| {
            let mut afters = two_hosts();
            for round in 0..5 * times {
                let at = i64::from(round) * 12 * MS;
                afters.came(HOST, false, at, 7, 1 + u64::from(round));
                if round.is_multiple_of(5) {
                    // Three of four at once, where something comes in two fifths of the time.
                    let late = if round.is_multiple_of(20) { 9 } else { 2 };
                    afters.opened(HOST, 100 + round, at + late * MS);
                }
            }
            afters.of(HOST, 100, false).is_some()
        };
        assert_eq!([8, 80].map(found), [false, true]);
    }

    #[test]
    fn connections_of_one_moment_are_one_page_of_a_reader() {
        let mut afters = two_hosts();
        let mut at = 0;
        for page in 0..25u32 {
            (0..3).for_each(|n| afters.opened(HOST, 100 + 3 * page + n, at + i64::from(n) * MS));
            for ms in (10..600).step_by(10) {
                (0..3).for_each(|n| afters.came(HOST, false, at + ms * MS, 100 + 3 * page + n, ms as u64));
            }
            at += (900 + i64::from(page * page * 31 % 101)) * MS;
        }
        let after = afters.of(HOST, 103 + 3 * 9, false).map(|after| (after.number, after.bytes));
        assert_eq!(after, Some((100 + 3 * 9 + 2, 590)));
    }

    #[test]
    fn clocks_that_jump_do_no_harm() {
        let mut afters = two_hosts();
        for (n, at) in [i64::MAX, i64::MIN, 0, i64::MAX, -5].into_iter().cycle().take(40).enumerate() {
            afters.came(HOST, false, at, 7, 1);
            afters.opened(HOST, n as u32, at.wrapping_neg());
            afters.of(HOST, n as u32, false);
        }
    }
}
