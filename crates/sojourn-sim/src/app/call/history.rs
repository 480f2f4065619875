//! The video packets that can be sent again, and when they are.
//!
//! Source: libwebrtc `rtp_packet_history.cc`, `rtp_sender.cc`. A packet that is asked for is sent again unless it waits
//! in the pacer already, or was repeated less than a round trip ago. It is kept for three round trips and at least a
//! second.

use super::packet::{Payload, Rtp};
use sojourn_net::{Span, Time};

const LEAST_KEPT: Span = Span::from_secs(1);
const ROUND_TRIPS_KEPT: u64 = 3;
/// The original number that comes in front of the payload (RFC 4588).
const ORIGINAL_NUMBER: u32 = 2;

/// A video packet that can be sent again.
#[derive(Clone, Copy, Debug)]
struct Kept {
    frame: u32,
    bytes: u32,
    /// When it left last; `None` while it waits in the pacer.
    sent: Option<Time>,
    repeated: bool,
}

/// The packets of one sender, by their numbers.
#[derive(Debug, Default)]
pub(super) struct History {
    kept: Vec<Kept>,
}

impl History {
    /// The number of the next packet.
    pub(super) fn next(&self) -> u32 {
        self.kept.len() as u32
    }

    /// Keeps the next packet, which goes to the pacer.
    pub(super) fn keep(&mut self, frame: u32, bytes: u32) {
        self.kept.push(Kept { frame, bytes, sent: None, repeated: false });
    }

    /// A packet leaves the pacer.
    pub(super) fn left(&mut self, number: u32, now: Time) {
        self.kept[number as usize].sent = Some(now);
    }

    /// The frame that a packet is of.
    pub(super) fn frame(&self, number: u32) -> u32 {
        self.kept[number as usize].frame
    }

    /// A packet is asked for: as it is to be sent again, if it is.
    pub(super) fn ask(&mut self, number: u32, rtt: Span, now: Time) -> Option<Rtp> {
        let kept = self.kept.get_mut(number as usize)?;
        let age = now.since(kept.sent?);
        if (kept.repeated && age < rtt) || age > (rtt * ROUND_TRIPS_KEPT).max(LEAST_KEPT) {
            return None;
        }
        (kept.sent, kept.repeated) = (None, true);
        let payload = Payload::Video { frame: kept.frame, number };
        Some(Rtp { payload, bytes: kept.bytes + ORIGINAL_NUMBER, again: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// So many packets of 1000 bytes that left at 0.
    fn history(packets: u32) -> History {
        let mut history = History::default();
        for number in 0..packets {
            history.keep(0, 1000);
            history.left(number, at(0));
        }
        history
    }

    #[test]
    fn it_is_sent_again_at_once_but_not_twice_within_a_round_trip() {
        let mut history = history(1);
        let mut ask = |ms| history.ask(0, RTT, at(ms));
        let again = ask(60).expect("the first is not held back by the round trip");
        assert_eq!((again.bytes, again.again), (1002, true));
        assert_eq!(ask(61), None, "it waits in the pacer");
        history.left(0, at(70));
        let mut ask = |ms| history.ask(0, RTT, at(ms));
        assert_eq!(ask(169), None);
        assert!(ask(170).is_some());
        assert_eq!(history.ask(1, RTT, at(170)), None, "there is none of this number");
    }

    #[test]
    fn it_is_kept_for_three_round_trips_and_at_least_a_second() {
        let asked = |rtt: u64, ms| history(1).ask(0, Span::from_millis(rtt), at(ms)).is_some();
        assert!(asked(100, 1000) && !asked(100, 1001));
        assert!(asked(500, 1500) && !asked(500, 1501));
    }
}
