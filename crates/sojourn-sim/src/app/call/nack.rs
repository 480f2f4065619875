//! Negative acknowledgements: which packets the receiver asks for again.
//!
//! Source: libwebrtc `nack_requester.cc`: at once on a gap, then every round trip (100 ms until it is known), at most
//! 100 times; more than 1000 missing packets call for a key frame instead, which needs none that were sent before it.

use sojourn_net::{Span, Time};
use std::collections::BTreeMap;

const FIRST_RTT: Span = Span::from_millis(100);
const MOST_TRIES: u32 = 100;
const MOST_MISSING: usize = 1000;
/// Time between two looks at the list.
pub(super) const INTERVAL: Span = Span::from_millis(20);

#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    tries: u32,
    asked: Option<Time>,
}

/// The list of one receiver.
#[derive(Debug, Default)]
pub(super) struct NackList {
    missing: BTreeMap<u32, Missing>,
    next: u32,
}

impl NackList {
    /// A packet arrived. True if so many are missing that only a key frame helps.
    pub(super) fn arrived(&mut self, number: u32) -> bool {
        self.passed(number);
        self.missing.remove(&number);
        self.next = self.next.max(number + 1);
        let hopeless = self.missing.len() > MOST_MISSING;
        if hopeless {
            self.missing.clear();
        }
        hopeless
    }

    /// All packets before this one were sent: those that did not arrive are missing.
    pub(super) fn passed(&mut self, number: u32) {
        for lost in self.next..number {
            self.missing.insert(lost, Missing::default());
        }
        self.next = self.next.max(number);
    }

    /// How many were sent as far as is known.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Whether a packet was sent and did not arrive.
    pub(super) fn misses(&self, number: u32) -> bool {
        self.missing.contains_key(&number)
    }

    /// Packets before this one are not needed any more.
    pub(super) fn forget_before(&mut self, number: u32) {
        self.missing = self.missing.split_off(&number);
    }

    /// Whether something is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// The packets to ask for now.
    pub(super) fn due(&mut self, now: Time, rtt: Option<Span>) -> Vec<u32> {
        let again = rtt.unwrap_or(FIRST_RTT);
        let mut due = Vec::new();
        self.missing.retain(|number, missing| {
            if missing.asked.is_none_or(|asked| now.since(asked) >= again) {
                missing.tries += 1;
                missing.asked = Some(now);
                due.push(*number);
            }
            missing.tries < MOST_TRIES
        });
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn a_gap_is_asked_for_at_once_and_again_after_a_round_trip() {
        let mut list = NackList::default();
        assert!(!list.arrived(0) && !list.arrived(3));
        assert_eq!(list.due(at(0), None), [1, 2]);
        list.arrived(2);
        assert_eq!(list.due(at(99), None), [0; 0]);
        assert_eq!(list.due(at(100), None), [1]);
        assert_eq!(list.due(at(140), Some(Span::from_millis(40))), [1]);
        list.arrived(1);
        assert!(list.is_empty());
    }

    #[test]
    fn it_asks_a_hundred_times_and_gives_up_a_thousand() {
        let mut list = NackList::default();
        list.arrived(1);
        let asked = (0..300).filter(|i| !list.due(at(100 * i), None).is_empty()).count();
        assert_eq!(asked, 100);
        // Of 999 and of a thousand each is asked for; one more is too many.
        assert_eq!([1001, 1003, 1005].map(|number| list.arrived(number)), [false, false, true]);
        assert!(list.is_empty());
    }
}
