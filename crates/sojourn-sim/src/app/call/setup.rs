//! How a call begins: ICE's checks of the path and DTLS's handshake, before there is media.
//!
//! Source: RFC 8445 §7 (a check each way, answered), RFC 8842 and RFC 9147 §5.1 (DTLS 1.3, the called side being the
//! client), with the bytes that Chromium 156 was seen to send: two and a half round trips until the called side may
//! send media, three until the caller may. What has not arrived is sent again after 50 ms while it is ICE's
//! (`p2p_constants.cc`: 48 ms), after twice the round trip that ICE found, 50 ms at least, while it is DTLS's
//! (`dtls_transport.cc`); and then after twice as long each time.
//! Differences: the addresses are known before the call begins; nobody needs time to compute; it is known at once what
//! has arrived. The packet log calls these packets RTCP.

use crate::engine::Direction;
use sojourn_net::{Span, Time};

/// Bytes at IP of the packets of each flight, the caller's first: its check; the answer with the other side's check;
/// its answer; ClientHello; ServerHello to Finished; the client's certificate to Finished.
const FLIGHTS: [&[u32]; 6] = [&[128], &[92, 124], &[92], &[1228, 291], &[1227, 545], &[484]];
/// The flight that completes ICE's round trip, and the first of DTLS.
const ANSWER: usize = 1;
const HELLO: usize = 3;
const LEAST_AGAIN: Span = Span::from_millis(50);

/// Where it stands.
#[derive(Debug)]
pub(super) struct Setup {
    /// When the flight was last sent.
    sent: Time,
    flight: usize,
    /// Which packets of the flight have arrived.
    arrived: u32,
    rtt: Span,
    /// When the flight is sent again, and after how long then.
    again: (Time, Span),
}

impl Setup {
    /// Begins at `now`.
    pub(super) fn new(now: Time) -> Self {
        let again = (now + LEAST_AGAIN, LEAST_AGAIN);
        Self { sent: now, flight: 0, arrived: 0, rtt: Span::ZERO, again }
    }

    /// The packets of the present flight, each a number and its bytes; `None` when nothing is left to be sent.
    pub(super) fn packets(&self) -> Option<(Direction, impl Iterator<Item = (u64, u32)> + use<>)> {
        let (flight, sizes) = (self.flight as u64, *FLIGHTS.get(self.flight)?);
        let direction = if flight.is_multiple_of(2) { Direction::Up } else { Direction::Down };
        Some((direction, (0..).zip(sizes).map(move |(part, bytes)| (flight << 8 | part, *bytes))))
    }

    /// A packet arrived; the direction in which media may be sent from now on, if it was the last of a flight, in
    /// `Some` if it was.
    pub(super) fn arrived(&mut self, number: u64, now: Time) -> Option<Option<Direction>> {
        if (number >> 8) as usize != self.flight {
            return None;
        }
        self.arrived |= 1 << (number & 0xff);
        if self.arrived.count_ones() as usize != FLIGHTS[self.flight].len() {
            return None;
        }
        if self.flight <= ANSWER {
            self.rtt = self.rtt + now.since(self.sent);
        }
        (self.flight, self.arrived, self.sent) = (self.flight + 1, 0, now);
        let after = if self.flight < HELLO { LEAST_AGAIN } else { (self.rtt + self.rtt).max(LEAST_AGAIN) };
        self.again = (now + after, after);
        Some(match self.flight {
            5 => Some(Direction::Down),
            6 => Some(Direction::Up),
            _ => None,
        })
    }

    /// When the present flight is sent again.
    pub(super) fn again(&self) -> Time {
        self.again.0
    }

    /// Whether it is to be sent again now.
    pub(super) fn late(&mut self, now: Time) -> bool {
        let late = self.flight < FLIGHTS.len() && now == self.again.0;
        if late {
            let after = if self.flight < HELLO { LEAST_AGAIN } else { self.again.1 + self.again.1 };
            (self.again, self.sent) = ((now + after, after), now);
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers every flight 25 ms after it was sent, but for sendings that are lost; when each way may send, in ms.
    fn run(lost: &[u32]) -> Vec<(Direction, u64)> {
        let ms = |at: u64| Time(at * 1_000_000);
        let mut setup = Setup::new(Time::ZERO);
        let (mut ready, mut on_way, mut sendings) = (Vec::new(), Vec::new(), 0);
        let mut send = |setup: &Setup, now: u64, on_way: &mut Vec<(u64, u64)>| {
            let Some((_, packets)) = setup.packets() else { return };
            if !lost.contains(&sendings) {
                on_way.extend(packets.map(|(number, _)| (now + 25, number)));
            }
            sendings += 1;
        };
        send(&setup, 0, &mut on_way);
        for now in 1..5000 {
            for (_, number) in on_way.extract_if(.., |(at, _)| *at == now).collect::<Vec<_>>() {
                if let Some(may) = setup.arrived(number, ms(now)) {
                    ready.extend(may.map(|direction| (direction, now)));
                    send(&setup, now, &mut on_way);
                }
            }
            if setup.late(ms(now)) {
                send(&setup, now, &mut on_way);
            }
        }
        ready
    }

    #[test]
    fn the_called_side_may_send_after_two_and_a_half_round_trips_and_the_caller_after_three() {
        assert_eq!(run(&[]), [(Direction::Down, 125), (Direction::Up, 150)]);
    }

    #[test]
    fn what_is_lost_is_sent_again() {
        // The first check, again after 50 ms; ClientHello twice, again after 100 ms and 200 ms more.
        assert_eq!(run(&[0])[0], (Direction::Down, 175));
        assert_eq!(run(&[3, 4])[0], (Direction::Down, 425));
    }
}
