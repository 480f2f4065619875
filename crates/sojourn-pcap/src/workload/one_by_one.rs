//! Connections one by one: a host that opens none while one that it opened before is under way.
//!
//! A reader who has a page thinks, and asks for the next one: when that is depends on the network. Who opens
//! connections at any time opens some while others are under way, as large a share of them as that of the time in which
//! some are. What goes by the clock may never have two at a time either; then pauses are shorter after connections that
//! lasted longer, by just as much, and those of a reader are not. The rule is sojourn's own.

/// A host that opened connections fewer times tells nothing.
pub(super) const LEAST: u64 = 8;
/// Standard errors by which connections are opened otherwise than by chance …
pub(super) const CERTAIN: f64 = 4.0;
/// … and the share of all that chance leaves which are.
pub(super) const MOST_DO: f64 = 0.5;
/// Standard errors by which pauses that are shorter after longer connections are so for certain.
const BY_THE_CLOCK: f64 = 2.0;

/// Connections that were opened together, the last that a host opened.
#[derive(Clone, Copy, Debug)]
struct Together {
    /// Number of the first.
    number: u32,
    began: i64,
    /// When something of them came last.
    last: i64,
    /// Something of earlier ones came when they were open.
    amid: bool,
    /// How long those before were under way, and the pause until these were opened, s.
    before: Option<(f64, f64)>,
}

/// What is known of a host, by one sign of what came to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OneByOne {
    now: Option<Together>,
    first: i64,
    /// Time in which the last that were opened were under way, up to the last opening, ns.
    under_way_ns: i64,
    /// Times that it opened connections after others, and those amid others.
    times: u64,
    amid: u64,
    pauses: Pauses,
}

impl OneByOne {
    /// Something of a connection came.
    pub(super) fn came(&mut self, at: i64, number: u32) {
        let Some(now) = &mut self.now else { return };
        if number >= now.number {
            now.last = at;
        } else if !now.amid {
            now.amid = true;
            self.amid += 1;
        }
    }

    /// Connections are opened together, of which this is the number of the first.
    pub(super) fn opened(&mut self, at: i64, number: u32) {
        let mut before = None;
        match self.now {
            None => self.first = at,
            Some(Together { began, last, amid, before: earlier, .. }) => {
                let lasted = last.saturating_sub(began);
                self.under_way_ns = self.under_way_ns.saturating_add(lasted);
                self.times += 1;
                if let Some((lasted, pause)) = earlier.filter(|_| !amid) {
                    self.pauses.add(lasted, pause);
                }
                before = Some((lasted as f64 * 1e-9, at.saturating_sub(last) as f64 * 1e-9));
            }
        }
        self.now = Some(Together { number, began: at, last: at, amid: false, before });
    }

    /// It opens connections when those before are over, for certain, and not by the clock.
    pub(super) fn waits(&self) -> bool {
        let whole = self.now.map_or(0, |now| now.began.saturating_sub(self.first)).max(1) as f64;
        let chance = (self.under_way_ns as f64 / whole).clamp(0.0, 1.0);
        let (times, amid) = (self.times as f64, self.amid as f64);
        let fewer = times * chance - amid;
        self.times >= LEAST
            && fewer > MOST_DO * times * chance
            && deviance([amid, times - amid], [times * chance, times * (1.0 - chance)]) > CERTAIN * CERTAIN
            && !self.pauses.by_the_clock()
    }
}

/// Twice the logarithm of how much likelier these counts are by themselves than by what is expected; its root is in
/// standard errors (Wilks 1938). Of few, none of which is amid others, those of a normal distribution say too little.
fn deviance(counts: [f64; 2], expected: [f64; 2]) -> f64 {
    let of = |count: f64, expected: f64| if count > 0.0 { 2.0 * count * libm::log(count / expected) } else { 0.0 };
    of(counts[0], expected[0]) + of(counts[1], expected[1])
}

/// How pauses hang on how long the connections before were under way: sums over pairs, s.
#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    count: f64,
    /// Of how long they were under way, and of the pauses.
    sums: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl Pauses {
    fn add(&mut self, lasted: f64, pause: f64) {
        self.count += 1.0;
        for (at, value) in [lasted, pause].into_iter().enumerate() {
            self.sums[at] += value;
            self.squares[at] += value * value;
        }
        self.products += lasted * pause;
    }

    /// They shrink as connections last longer, for certain, and by more than half as much: the slope of a line through
    /// them, by its standard error.
    fn by_the_clock(&self) -> bool {
        let Self { count, sums: [lasted, pause], .. } = *self;
        let [spread, rest] = [0, 1].map(|at| self.squares[at] - self.sums[at] * self.sums[at] / count);
        let slope = (self.products - lasted * pause / count) / spread;
        let error = ((rest - slope * slope * spread).max(0.0) / (count - 2.0) / spread).sqrt();
        slope < -BY_THE_CLOCK * error && slope < -0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A host whose connections last as long as `lasts` says of each, ms; the next is opened as long after that, or,
    /// if it goes by the clock, after the opening, as `pause` says.
    fn host(count: u32, lasts: impl Fn(i64) -> i64, pause: impl Fn(i64) -> i64, by_the_clock: bool) -> OneByOne {
        let mut host = OneByOne::default();
        let mut events = Vec::new();
        let mut at = 0;
        for number in 0..count {
            let n = i64::from(number);
            events.push((at, number, true));
            let steps = (1..=lasts(n)).filter(|ms| ms % 10 == 0 || *ms == lasts(n));
            events.extend(steps.map(|ms| (at + ms * MS, number, false)));
            at += MS * if by_the_clock { pause(n) } else { lasts(n) + pause(n) };
        }
        events.sort_by_key(|(at, ..)| *at);
        for (at, number, opens) in events {
            if opens { host.opened(at, number) } else { host.came(at, number) }
        }
        host
    }

    /// Numbers without an order, from 0 to 99.
    fn any(n: i64) -> i64 {
        (n * n * 31 + n * 17) % 101 % 100
    }

    #[test]
    fn who_opens_connections_when_those_before_are_over_waits() {
        let reader = host(25, |n| 400 + 3 * any(n), |n| 300 + 5 * any(n + 3), false);
        assert!(reader.waits() && reader.amid == 0);
        // One of them was opened in vain before the last of the page had come.
        let mut impatient = reader;
        impatient.amid = 1;
        assert!(impatient.waits());
    }

    #[test]
    fn few_connections_or_long_pauses_are_chance() {
        let seven = host(8, |n| 400 + 3 * any(n), |n| 50 + any(n), false);
        let nine = host(10, |n| 400 + 3 * any(n), |n| 50 + any(n), false);
        assert_eq!([seven.waits(), nine.waits()], [false, true]);
        // Under way for a twentieth of the time, 25 connections do not meet by chance, 800 would.
        let [some, many] = [25, 800].map(|count| host(count, |n| 40 + any(n) / 10, |_| 800, false).waits());
        assert_eq!([some, many], [false, true]);
    }

    #[test]
    fn who_opens_connections_at_any_time_does_not_wait() {
        // Each lasts 300 to 600 ms, and the next is opened 0 to 1 s after it was.
        let any_time = host(60, |n| 300 + 3 * any(n), |n| 10 * any(n + 3), true);
        assert!(!any_time.waits() && any_time.amid > 10, "{any_time:?}");
        // Several at a time, all the time.
        assert!(!host(60, |_| 950, |_| 100, true).waits());
        // Nothing comes of them.
        assert!(!host(60, |_| 0, |_| 100, true).waits());
    }

    #[test]
    fn who_goes_by_the_clock_does_not_wait() {
        let clock = |jitter: i64| host(40, |n| 300 + 5 * any(n), move |n| 1000 + jitter * (any(n + 3) - 50) / 10, true);
        for jitter in [0, 1, 20] {
            let host = clock(jitter);
            assert!(host.amid == 0 && !host.waits(), "{jitter}: {host:?}");
        }
    }

    #[test]
    fn who_opens_some_connections_amid_others_does_not_wait_however_certain_it_is_that_they_are_fewer() {
        // Half of the time something is under way, in 400 s with 400 openings: 200 amid others by chance.
        let began = 400_000 * MS;
        let now = Some(Together { number: 400, began, last: began, amid: false, before: None });
        let waits = |amid| {
            let under_way_ns = began / 2;
            OneByOne { now, first: 0, under_way_ns, times: 400, amid, pauses: Pauses::default() }.waits()
        };
        assert_eq!([99, 101, 120].map(waits), [true, false, false]);
    }

    #[test]
    fn pauses_that_shrink_by_little_or_by_chance_are_no_clock() {
        let by_the_clock = |pairs: &[(f64, f64)]| {
            let mut pauses = Pauses::default();
            pairs.iter().for_each(|&(lasted, pause)| pauses.add(lasted, pause));
            pauses.by_the_clock()
        };
        let line = |slope: f64| [1.0, 2.0, 3.0, 4.0].map(|lasted| (lasted, 9.0 + slope * lasted));
        assert_eq!([-1.0, -0.6, -0.4, 0.0].map(|slope| by_the_clock(&line(slope))), [true, true, false, false]);
        // A slope of -1 with a standard error of 1.6.
        assert!(!by_the_clock(&[(1.0, 9.0), (2.0, 3.0), (3.0, 11.0), (4.0, 4.0)]));
    }

    #[test]
    fn what_is_opened_amid_others_tells_of_no_pause() {
        let mut host = OneByOne::default();
        let pauses = [(0, &[0][..]), (20, &[0, 1]), (40, &[2]), (60, &[3]), (80, &[4])].map(|(at, come)| {
            host.opened(at * MS, come.last().copied().unwrap_or(0));
            come.iter().zip(at + 5..).for_each(|(number, at)| host.came(at * MS, *number));
            host.pauses.count as u32
        });
        // A pause counts when it is known that nothing came of what was before it.
        assert_eq!((host.amid, pauses), (1, [0, 0, 0, 1, 2]));
    }

    #[test]
    fn clocks_that_jump_do_no_harm() {
        let mut host = OneByOne::default();
        for (n, at) in [i64::MAX, i64::MIN, 0, i64::MAX, -5].into_iter().cycle().take(40).enumerate() {
            host.opened(at, n as u32);
            host.came(at.wrapping_neg(), n as u32 / 2);
            host.waits();
        }
    }
}
