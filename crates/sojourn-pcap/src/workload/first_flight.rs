//! The initial window of a sender, from its first flight.
//!
//! A sender that has more to send than its initial window sends that, and waits until it hears of it. Both are in its
//! own segments, wherever the capture was taken: they echo the last timestamp that reached it in order (RFC 7323 §4.3),
//! and say themselves when they were sent. So the first flight ends where the echo changes, or where nothing was sent
//! for a quarter of a round trip (by a clock of milliseconds, which nearly all have; some stacks do not take the echo
//! from acknowledgements without data). It is the initial window if it is of full segments and the same turn went on
//! after it, from where it ended and as acknowledgements clock it. Behind a queue that lost the flight's last segments
//! it did not: what comes next begins beyond them, or was sent again when the timer expired, which no sender's does
//! within 200 ms more than a round trip (RFC 6298; Linux's, ns-2's and ns-3's least; others have more). Without
//! timestamps nothing is known.

use crate::decode::Address;
use std::collections::BTreeMap;

/// Round trips shorter than this end within a tick of the timestamp's clock.
const SHORTEST_NS: u64 = 3_000_000;
/// A timer expires no sooner than so long after a round trip.
const LEAST_TIMEOUT_MS: i32 = 200;
/// More segments are not taken for an initial window.
const MOST: i64 = 100;
/// Largest segment of one that offers none (RFC 9293 §3.7.1).
const UNSAID: u16 = 536;
/// What timestamps take of each segment.
const STAMPS: u32 = 12;
/// Segments that every host takes are as long, bytes.
const LEAST_MSS: u16 = 536;
/// Segments over Ethernet; more, that hosts offer, the way need not take.
const ETHERNET: u16 = 1460;

/// Shorter ones are what somebody wrote, whoever takes them.
pub(super) const WRITTEN: u32 = LEAST_MSS as u32 - STAMPS;

/// The size of one segment: a host's own capture has several in one frame. `mss` is what the other end offered.
pub(super) fn one_segment(frame: u32, mss: Option<u16>) -> u32 {
    mss.map_or(frame, |mss| frame.min(u32::from(mss).saturating_sub(STAMPS)))
}

/// [`one_segment`], if it is so long that it may be full: every host takes segments of 536 bytes (RFC 9293 §3.7.1),
/// so that shorter ones are what somebody wrote. So are those of less than four fifths of what the other end offered: a
/// way that takes no more than IPv6's least (1280 bytes with headers) takes more than that.
pub(super) fn full_segment(frame: u32, mss: Option<u16>) -> u32 {
    let least = u32::from(mss.map_or(LEAST_MSS, |mss| mss.min(LEAST_MSS))).saturating_sub(STAMPS);
    if frame < least.max(mss.map_or(0, plausible)) { 0 } else { one_segment(frame, mss) }
}

/// The least that a way leaves of the segments that an end offered to take, as far as any is known.
fn plausible(mss: u16) -> u32 {
    4 * u32::from(mss.min(ETHERNET)).saturating_sub(STAMPS) / 5
}

/// What an application writes now and then is not full, however often it is of one size.
pub(super) fn may_be_full(size: u32, mss: Option<u16>) -> bool {
    size > 0 && size >= mss.map_or(u32::from(UNSAID) / 2, plausible)
}

/// The first flight of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstFlight {
    state: State,
    /// Timestamp of its last segment, and the echo that all have.
    sent: u32,
    echo: u32,
    bytes: i64,
    largest: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Grounded,
    Flying,
    /// More of the same turn followed.
    Followed,
    /// The turn ended with it, or it cannot be known.
    Unknown,
}

impl FirstFlight {
    /// New data from `start` to `end` passed, with its timestamp and echo; `begins`: as a turn's first. `rtt_ns`: as
    /// far as it is known.
    pub(super) fn data(&mut self, (start, end): (i64, i64), stamps: Option<(u32, u32)>, begins: bool, rtt_ns: i64) {
        let quiet_ms = (rtt_ns / 4_000_000).clamp(2, 1000) as i32;
        let timeout_ms = (rtt_ns / 1_000_000).clamp(0, 60_000) as i32 + LEAST_TIMEOUT_MS;
        self.state = match (self.state, stamps) {
            (State::Grounded, Some((_, echo))) if begins && start == 0 => {
                self.echo = echo;
                State::Flying
            }
            (State::Flying, Some((sent, echo))) if !begins => {
                let later = sent.wrapping_sub(self.sent) as i32;
                match echo == self.echo && later < quiet_ms {
                    true => State::Flying,
                    false if start == self.bytes && later < timeout_ms => State::Followed,
                    false => State::Unknown,
                }
            }
            (State::Grounded | State::Flying, _) => State::Unknown,
            (known, _) => known,
        };
        if self.state == State::Flying {
            self.sent = stamps.map_or(0, |(sent, _)| sent);
            self.bytes = end;
            self.largest = self.largest.max((end - start) as u32);
        }
    }

    /// The segments in it, of at most `mss` bytes (as the other end offered, timestamps included): no more than the
    /// initial window.
    pub(super) fn flown(&self, mss: Option<u16>) -> u8 {
        let size = i64::from(one_segment(self.largest, mss)).max(1);
        ((self.bytes + size - 1) / size).clamp(0, MOST) as u8
    }

    /// Its segments, if it was the initial window.
    pub(super) fn segments(&self, mss: Option<u16>) -> Option<u8> {
        let size = one_segment(self.largest, mss);
        let whole = self.state == State::Followed && may_be_full(size, mss) && self.bytes % i64::from(size) == 0;
        whole.then(|| self.bytes / i64::from(size)).filter(|segments| *segments <= MOST).map(|segments| segments as u8)
    }
}

/// The initial window of each host: what most of its connections show, the larger of two that are equally common. It is
/// not known where more of them had more in their first flights: a flight whose end was lost may look like a window,
/// when the repair begins where it ended.
#[derive(Debug, Default)]
pub(super) struct InitialWindows(BTreeMap<Address, BTreeMap<u8, Count>>);

/// Connections by their number of segments.
#[derive(Debug, Default)]
struct Count {
    /// Those whose window it is.
    showed: u32,
    /// Those that had so many in their first flight.
    flew: u32,
}

impl InitialWindows {
    /// What a connection of a host, with this round trip, shows: the window if that is known, and what was in flight.
    pub(super) fn add(&mut self, host: Address, (window, flown): (Option<u8>, u8), rtt_ns: Option<u64>) {
        if rtt_ns.is_none_or(|rtt| rtt < SHORTEST_NS) {
            return;
        }
        let counts = self.0.entry(host).or_default();
        counts.entry(flown).or_default().flew += 1;
        if let Some(window) = window {
            counts.entry(window).or_default().showed += 1;
        }
    }

    /// That of a host, if its connections show it.
    pub(super) fn of(&self, host: Address) -> Option<u8> {
        let found = self.0.get(&host)?;
        let (&window, most) = found.iter().max_by_key(|(segments, count)| (count.showed, **segments))?;
        let more: u32 = found.range(window..).skip(1).map(|(_, count)| count.flew).sum();
        (most.showed > 0 && more <= most.showed).then_some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_NS: i64 = 40_000_000;

    /// Segments as (bytes, echo, whether a turn begins with it).
    fn flight(segments: &[(i64, u32, bool)]) -> FirstFlight {
        let (mut flight, mut at) = (FirstFlight::default(), 0);
        for &(bytes, echo, begins) in segments {
            flight.data((at, at + bytes), Some((500, echo)), begins, RTT_NS);
            at += bytes;
        }
        flight
    }

    #[test]
    fn segments_are_full_of_which_a_way_may_take_no_more() {
        let full = |frame, mss| (full_segment(frame, mss), may_be_full(frame, mss));
        assert_eq!(full(1448, Some(1460)), (1448, true));
        assert_eq!(full(1448, Some(8960)), (1448, true), "over Ethernet");
        assert_eq!(full(1200, Some(1460)), (1200, true), "in a tunnel");
        assert_eq!([1000, 524].map(|frame| full(frame, Some(1460))), [(0, false); 2], "what somebody wrote");
        assert_eq!([1000, 300, 200].map(|frame| full(frame, None)), [(1000, true), (0, true), (0, false)]);
    }

    #[test]
    fn a_window_is_what_was_sent_with_one_echo_before_more() {
        let three = [(1448, 7, true), (1448, 7, false), (1448, 7, false), (1448, 9, false), (100, 9, false)];
        assert_eq!(flight(&three).segments(Some(1460)), Some(3));
        assert_eq!(flight(&three[..3]).segments(Some(1460)), None, "it may have had no more to send");
        let frame = flight(&[(14_480, 7, true), (2896, 9, false)]);
        assert_eq!(frame.segments(Some(1460)), Some(10), "segments in one frame");
        let beats = flight(&[(64, 7, true), (64, 9, false)]);
        assert_eq!([Some(1460), None].map(|mss| beats.segments(mss)), [None; 2], "no full segments");
    }

    #[test]
    fn a_sender_that_echoes_nothing_new_has_waited() {
        let mut flight = FirstFlight::default();
        for (place, sent) in [u32::MAX, 0, 1, 42, 43].into_iter().enumerate() {
            let start = place as i64 * 1448;
            flight.data((start, start + 1448), Some((sent, 7)), place == 0, RTT_NS);
        }
        assert_eq!(flight.segments(None), Some(3));
    }

    #[test]
    fn a_flight_whose_end_was_lost_is_no_window() {
        let followed_by = |start: i64, sent: u32, rtt_ns: i64| {
            let mut flight = FirstFlight::default();
            for (start, sent, echo) in [(0, 500, 7), (1448, 500, 7), (start, sent, 9)] {
                flight.data((start, start + 1448), Some((sent, echo)), start == 0, rtt_ns);
            }
            flight.segments(Some(1460))
        };
        assert_eq!(followed_by(2896, 739, RTT_NS), Some(2), "as acknowledgements clock it");
        assert_eq!(followed_by(2896, 740, RTT_NS), None, "the timer may have expired");
        assert_eq!(followed_by(2896, 740, 2 * RTT_NS), Some(2), "the way is longer");
        assert_eq!(followed_by(5792, 560, RTT_NS), None, "two more were sent with it");
    }

    #[test]
    fn what_the_application_ended_is_no_window() {
        let short = [(1448, 7, true), (300, 7, false), (1448, 9, false)];
        assert_eq!(flight(&short).segments(None), None);
        let turns = [(1448, 7, true), (1448, 9, true), (1448, 10, false)];
        assert_eq!(flight(&turns).segments(None), None);
        let mut late = FirstFlight::default();
        late.data((1448, 2896), Some((5, 7)), true, RTT_NS);
        late.data((2896, 4344), Some((5, 8)), false, RTT_NS);
        assert_eq!(late.segments(None), None, "its first segment was not seen");
        let mut unstamped = FirstFlight::default();
        unstamped.data((0, 1448), None, true, RTT_NS);
        unstamped.data((1448, 2896), None, false, RTT_NS);
        assert_eq!(unstamped.segments(None), None);
    }

    #[test]
    fn the_window_of_a_host_is_what_most_of_its_connections_show() {
        let host = Address(1);
        let mut windows = InitialWindows::default();
        assert_eq!(windows.of(host), None);
        let showed = |segments: u8| (Some(segments), segments);
        for seen in [showed(4), showed(10), showed(4), (None, 2)] {
            windows.add(host, seen, Some(SHORTEST_NS));
        }
        assert_eq!(windows.of(host), Some(4), "the most common, not the largest");
        windows.add(host, showed(10), Some(SHORTEST_NS));
        assert_eq!(windows.of(host), Some(10), "the larger of two that are as common");
        for rtt in [None, Some(SHORTEST_NS - 1)] {
            windows.add(host, showed(4), rtt);
        }
        assert_eq!(windows.of(host), Some(10), "round trips so short tell nothing");
        assert_eq!(windows.of(Address(2)), None);
    }

    #[test]
    fn a_window_that_more_connections_exceed_is_none() {
        let host = Address(1);
        let mut windows = InitialWindows::default();
        // Flights of a handshake of TLS, the last segments of one of which were lost: its repair begins where it ended.
        let hello = [(1448, 7, true), (1448, 7, false), (100, 7, false)];
        let repaired = flight(&[(1448, 7, true), (1448, 9, false), (100, 9, false)]);
        for flight in [flight(&hello), repaired] {
            windows.add(host, (flight.segments(Some(1460)), flight.flown(Some(1460))), Some(SHORTEST_NS));
        }
        assert_eq!((flight(&hello).flown(Some(1460)), repaired.segments(Some(1460))), (3, Some(1)));
        assert_eq!(windows.of(host), Some(1), "one against one");
        windows.add(host, (None, 3), Some(SHORTEST_NS));
        assert_eq!(windows.of(host), None);
        assert_eq!((FirstFlight::default().flown(None), flight(&[(14_480, 7, true)]).flown(Some(1460))), (0, 10));
    }
}
