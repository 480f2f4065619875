//! Packets in groups: how much longer two groups took to arrive than to be sent.
//!
//! Source: libwebrtc `inter_arrival_delta.cc`. Packets sent within 5 ms of the first form a group; so do those that
//! arrive within 5 ms of one another faster than they were sent (a burst, at most 100 ms long), which waited together.
//! Differences: clocks are exact, so a step of the receiver's clock needs no reset.

use sojourn_net::{Span, Time};

const GROUP: Span = Span::from_millis(5);
const BURST_GAP: Span = Span::from_millis(5);
const LONGEST_BURST: Span = Span::from_millis(100);
/// Groups that arrive before the one in front of them, in a row, after which all is forgotten.
const REORDERED_RESET: u32 = 3;

/// Between two groups that follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deltas {
    /// Milliseconds between their last sendings.
    pub(super) sent_ms: f64,
    /// Milliseconds between their last arrivals.
    pub(super) arrived_ms: f64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrival: Time,
    complete: Time,
}

/// The present group and the one before.
#[derive(Debug, Default)]
pub(super) struct InterArrival {
    present: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl InterArrival {
    /// Takes the next packet that arrived; gives the deltas of the last two complete groups if it begins another.
    pub(super) fn add(&mut self, sent: Time, arrived: Time) -> Option<Deltas> {
        let begins = Group { first_sent: sent, last_sent: sent, first_arrival: arrived, complete: arrived };
        let Some(present) = &mut self.present else {
            self.present = Some(begins);
            return None;
        };
        if sent < present.first_sent {
            return None;
        }
        if belongs_to_burst(present, sent, arrived) || sent.since(present.first_sent) <= GROUP {
            present.last_sent = present.last_sent.max(sent);
            present.complete = arrived;
            return None;
        }
        let ended = *present;
        let deltas = self.previous.map(|previous| Deltas {
            sent_ms: millis_between(previous.last_sent, ended.last_sent),
            arrived_ms: millis_between(previous.complete, ended.complete),
        });
        if deltas.is_some_and(|deltas| deltas.arrived_ms < 0.0) {
            self.reordered += 1;
            if self.reordered >= REORDERED_RESET {
                *self = Self::default();
            }
            return None;
        }
        self.reordered = 0;
        self.previous = Some(ended);
        self.present = Some(begins);
        deltas
    }
}

fn belongs_to_burst(group: &Group, sent: Time, arrived: Time) -> bool {
    if sent == group.last_sent {
        return true;
    }
    let (arrival_ms, sent_ms) = (millis_between(group.complete, arrived), millis_between(group.last_sent, sent));
    arrival_ms < sent_ms && arrival_ms <= BURST_GAP.as_millis() && arrived.since(group.first_arrival) < LONGEST_BURST
}

fn millis_between(from: Time, to: Time) -> f64 {
    (to.0 as f64 - from.0 as f64) * 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Time {
        Time(at * 1_000_000)
    }

    #[test]
    fn what_is_sent_within_5_ms_is_one_group_and_its_last_packet_counts() {
        let mut arrivals = InterArrival::default();
        // Groups sent at 0…4, 20…24 and 40 ms; the second takes 3 ms longer to arrive.
        for (sent, arrived) in [(0, 100), (4, 110), (20, 125), (24, 133)] {
            assert_eq!(arrivals.add(ms(sent), ms(arrived)), None);
        }
        assert_eq!(arrivals.add(ms(40), ms(150)), Some(Deltas { sent_ms: 20.0, arrived_ms: 23.0 }));
    }

    #[test]
    fn packets_that_waited_together_are_one_group() {
        let mut arrivals = InterArrival::default();
        for (sent, arrived) in [(0, 100), (20, 200)] {
            assert_eq!(arrivals.add(ms(sent), ms(arrived)), None);
        }
        // Sent 20 ms later, arrived 1 ms later: the same burst.
        assert_eq!(arrivals.add(ms(40), ms(201)), None);
        assert_eq!(arrivals.add(ms(60), ms(230)), Some(Deltas { sent_ms: 40.0, arrived_ms: 101.0 }));
    }
}
