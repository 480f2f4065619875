//! Opportunities to send: at given instants a link takes so many bytes, and none between them.
//!
//! Source: mahimahi's traces (R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015)
//! and the manual page of its `mm-link`. A trace is text: each line is a time in whole milliseconds, at which 1504
//! bytes may leave (the manual rounds to 1500); equal lines are as many opportunities at once. What an opportunity has
//! over when the queue is empty is lost; a packet may use several, and several packets one. The trace starts again
//! after its last time.
//!
//! A packet leaves the queue when its first byte is taken, and arrives when its last byte is. A packet that finds the
//! link idle waits for the next opportunity, which must come later than it does.

use crate::quote::quoted;
use crate::{Rate, Span, Time};
use std::str::FromStr;

/// Bytes that one line of a trace lets through: an Ethernet frame's 1500 and 4 of a virtual interface.
const BYTES: u32 = 1504;
/// More lines than this are taken for a slip.
const MOST_LINES: usize = 10_000_000;
const MILLISECOND: u64 = 1_000_000;
/// The last time that a trace may have: more than 10 years.
const LAST_MS: u64 = 1 << 38;

/// A trace: when how many bytes may leave, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// In order of time, each instant once.
    at: Vec<(Span, u32)>,
    cycle: Span,
    bytes: u64,
}

impl FromStr for Opportunities {
    type Err = String;

    /// Reads the text of a trace; the error names the line.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut at: Vec<(Span, u32)> = Vec::new();
        let mut bytes = 0u64;
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            let place = i + 1;
            if i == MOST_LINES {
                return Err(format!("has more than {MOST_LINES} lines"));
            }
            let ms: u64 = line.parse().ok().filter(|ms| *ms <= LAST_MS).ok_or_else(|| {
                let found = quoted(line);
                format!("line {place}: {found} is not a time; expected whole milliseconds, as in a mahimahi trace")
            })?;
            let time = Span(ms * MILLISECOND);
            bytes += u64::from(BYTES);
            match at.last_mut() {
                Some((last, _)) if *last > time => {
                    return Err(format!("line {place}: {ms} ms comes after {last}; expected times in order"));
                }
                Some((last, room)) if *last == time => *room = room.saturating_add(BYTES),
                _ => at.push((time, BYTES)),
            }
        }
        match at.last() {
            None => Err("is empty; expected a time in milliseconds on each line".to_owned()),
            Some((Span::ZERO, _)) => Err("ends at 0 ms, so it has no length; expected a last time above it".to_owned()),
            Some(&(cycle, _)) => Ok(Self { at, cycle, bytes }),
        }
    }
}

impl Opportunities {
    /// The mean rate over a cycle.
    pub fn mean(&self) -> Rate {
        Rate((u128::from(self.bytes) * 8_000_000_000 / u128::from(self.cycle.0)) as u64)
    }

    /// Length of the cycle.
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// The time since the previous instant and the bytes that may have left by its end, for every instant of a cycle in
    /// order. What may leave at its beginning may leave at its end, which is the same instant.
    pub fn steps(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let at_start = self.at.first().filter(|first| first.0 == Span::ZERO).map_or(0, |first| first.1);
        let mut before = Span::ZERO;
        self.at.iter().filter(|entry| entry.0 > Span::ZERO).map(move |(at, bytes)| {
            let length = *at - std::mem::replace(&mut before, *at);
            let last = if *at == self.cycle { at_start } else { 0 };
            (length, u64::from(*bytes) + u64::from(last))
        })
    }

    fn time(&self, (cycle, index): (u64, usize)) -> Time {
        Time(cycle * self.cycle.0 + self.at[index].0.0)
    }

    fn next(&self, (cycle, index): (u64, usize)) -> (u64, usize) {
        if index + 1 < self.at.len() { (cycle, index + 1) } else { (cycle + 1, 0) }
    }

    /// The first one that comes later than `now`.
    fn after(&self, now: Time) -> (u64, usize) {
        let (cycle, phase) = (now.0 / self.cycle.0, now.0 % self.cycle.0);
        let index = self.at.partition_point(|(at, _)| at.0 <= phase);
        if index < self.at.len() { (cycle, index) } else { (cycle + 1, 0) }
    }
}

/// How far a link has used a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    /// The opportunity being used: its cycle and its place in it.
    place: (u64, usize),
    /// Bytes of it that are left.
    left: u32,
}

impl Taken {
    /// The next instant, `now` or later, at which a byte can leave.
    pub(super) fn opening(&mut self, trace: &Opportunities, now: Time, back_to_back: bool) -> Time {
        if !(back_to_back && self.left > 0 && trace.time(self.place) == now) {
            self.place = trace.after(now);
            self.left = trace.at[self.place.1].1;
        }
        trace.time(self.place)
    }

    /// Takes so many bytes; the instant at which the last of them leaves.
    pub(super) fn take(&mut self, trace: &Opportunities, mut bytes: u32) -> Time {
        while bytes > self.left {
            bytes -= self.left;
            self.place = trace.next(self.place);
            self.left = trace.at[self.place.1].1;
        }
        self.left -= bytes;
        trace.time(self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{RateProfile, Service};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn ms(ms: u64) -> Time {
        Time(ms * MILLISECOND)
    }

    fn service(text: &str) -> Service {
        Service::new(RateProfile::Opportunities(Arc::new(text.parse::<Opportunities>().unwrap())))
    }

    #[test]
    fn bytes_leave_at_opportunities_only() {
        // Worked out by hand: 1504 bytes at 2 ms, 3008 at 5 ms, 1504 at 9 ms, then the same from 9 ms on.
        let mut service = service("2\n5\n5\n9\n");
        assert_eq!(service.opening(Time(500_000), false), ms(2));
        assert_eq!(service.opening(ms(2), true), ms(2));
        assert_eq!(service.finish(ms(2), 1000, true), ms(2));
        assert_eq!(service.opening(ms(2), true), ms(2), "504 bytes are left");
        assert_eq!(service.clone().opening(ms(2), false), ms(5), "an idle link's packet waits for a later one");
        assert_eq!(service.finish(ms(2), 1500, true), ms(5), "the other 996 wait");
        assert_eq!(service.opening(ms(5), true), ms(5));
        assert_eq!(service.finish(ms(5), 2012, true), ms(5));
        assert_eq!(service.opening(ms(5), true), ms(9), "nothing is left at 5 ms");
        assert_eq!(service.finish(ms(9), 1504, true), ms(9));
        assert_eq!(service.opening(ms(9), true), ms(11), "the trace starts again");
        assert_eq!(service.finish(ms(11), 60, true), ms(11));
        assert_eq!(service.opening(ms(12), false), ms(14), "what an idle link did not use is lost");
    }

    #[test]
    fn the_mean_counts_every_line() {
        let trace = "2\n5\n5\n10".parse::<Opportunities>().unwrap();
        assert_eq!(trace.mean(), Rate(4 * 1504 * 8 * 100));
        assert_eq!(trace.cycle(), Span::from_millis(10));
    }

    #[test]
    fn steps_carry_every_line_by_its_time() {
        let steps = |text: &str| {
            let trace = text.parse::<Opportunities>().unwrap();
            trace.steps().map(|(length, bytes)| (length.as_millis() as u64, bytes)).collect::<Vec<_>>()
        };
        assert_eq!(steps("2\n5\n5\n9\n"), [(2, 1504), (3, 3008), (4, 1504)]);
        // What may leave at 0 ms of a cycle may leave at the end of the one before it.
        assert_eq!(steps("0\n0\n4\n6\n"), [(4, 1504), (2, 4512)]);
    }

    #[test]
    fn a_bad_trace_is_told_by_its_line() {
        for (text, wanted) in [
            ("", "is empty"),
            ("1\nx\n", "line 2: \"x\" is not a time"),
            ("1\n\n2\n", "line 2: \"\" is not a time"),
            ("-1\n", "line 1"),
            ("5\n4\n", "line 2: 4 ms comes after 5ms"),
            ("0\n0\n", "ends at 0 ms"),
            ("99999999999999999999\n", "line 1"),
        ] {
            let error = text.parse::<Opportunities>().unwrap_err();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9 \\n.x-]{0,60}") {
            drop(text.parse::<Opportunities>());
        }

        /// Held against a link that looks at every line in turn.
        #[test]
        fn a_busy_link_carries_every_byte(gaps in prop::collection::vec(0u64..4, 1..20), sizes in prop::collection::vec(40u32..4000, 1..40)) {
            let mut times: Vec<u64> = gaps.iter().scan(1, |sum, gap| { *sum += gap; Some(*sum) }).collect();
            let text: String = times.iter().map(|t| format!("{t}\n")).collect();
            let mut service = service(&text);
            let cycle = *times.last().unwrap();
            let lines = times.clone();
            for k in 1..200 {
                times.extend(lines.iter().map(|t| t + k * cycle));
            }
            let (mut line, mut left) = (0, 1504);
            let mut now = service.opening(Time::ZERO, false);
            for size in sizes {
                let start = service.opening(now, true);
                now = service.finish(start, size, true);
                let mut bytes = size;
                while bytes > left {
                    bytes -= left;
                    left = 1504;
                    line += 1;
                }
                left -= bytes;
                prop_assert_eq!(now, ms(times[line]));
            }
        }
    }
}
