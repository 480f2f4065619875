//! The smallest round-trip time, of two windows: 5 s decide when to look for it, 10 s what it is.
//!
//! Source: draft-ietf-ccwg-bbr §5.3.4.3.

use crate::{Span, Time};

const WINDOW: Span = Span::from_secs(10);
const PROBE_INTERVAL: Span = Span::from_secs(5);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    smallest: Option<(Span, Time)>,
    recent: Option<(Span, Time)>,
}

impl MinRtt {
    pub(super) fn get(&self) -> Option<Span> {
        self.smallest.map(|(rtt, _)| rtt)
    }

    /// True if the smallest of late is too old: it is to be looked for.
    pub(super) fn update(&mut self, now: Time, rtt: Option<Span>) -> bool {
        let expired = self.recent.is_some_and(|(_, at)| now > at + PROBE_INTERVAL);
        if let Some(rtt) = rtt
            && self.recent.is_none_or(|(recent, _)| expired || rtt < recent)
        {
            self.recent = Some((rtt, now));
        }
        let recent = self.recent.map(|(rtt, _)| rtt);
        if self.smallest.is_none_or(|(smallest, at)| recent < Some(smallest) || now > at + WINDOW) {
            self.smallest = self.recent;
        }
        expired
    }

    /// It has been looked for.
    pub(super) fn looked(&mut self, now: Time) {
        self.recent = self.recent.map(|(rtt, _)| (rtt, now));
    }

    /// Takes it for known since the beginning.
    pub(super) fn set(&mut self, rtt: Span) {
        self.smallest = Some((rtt, Time::ZERO));
        self.recent = self.smallest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_due_after_five_seconds_and_an_older_one_is_forgotten_after_ten() {
        let mut min = MinRtt::default();
        let ms = Span::from_millis;
        let seen = [(0, 50), (4, 60), (5, 60), (6, 60), (9, 70), (11, 65)].map(|(s, rtt)| {
            let expired = min.update(Time::ZERO + Span::from_secs(s) + ms(1), Some(ms(rtt)));
            (expired, min.get().map(Span::as_millis))
        });
        let [fifty, sixty] = [50.0, 60.0].map(Some);
        assert_eq!(
            seen,
            [(false, fifty), (false, fifty), (false, fifty), (true, fifty), (false, fifty), (false, sixty)]
        );
    }
}
