//! What a TCP segment is within its own connection: a new one or a duplicate, which round trip it ends, where its stamp
//! stands. None of it depends on other connections; [`crate::delay::flow::tcp`] has what does.

use crate::decode::tcp::{ACK, RST, SYN, Segment};
use crate::delay::clock::unwrapped::Unwrapped;
use crate::delay::estimate::tcp_report::before;
use crate::delay::route_change::Route;

/// After so many packets in a row with older stamps the clock was set, and not the packets overtaken.
const STEP_AFTER: u8 = 3;
/// A stamp that is further ahead than this many ticks was not reached by ticking: 12 days of milliseconds.
const STEP_AHEAD: i32 = 1 << 30;

/// Another connection between the same ports begins: stamps and sequence numbers begin anew.
pub(crate) const REOPENED: u16 = 1;
/// The same segment again, as captures on several interfaces have it.
pub(crate) const DUPLICATE: u16 = 2;
/// Its hop limit is that of a new route.
pub(crate) const REROUTED: u16 = 4;
/// It was overtaken: its stamp is older than one before.
pub(crate) const REORDERED: u16 = 8;
/// Its sender's clock was set.
pub(crate) const CLOCK_STEP: u16 = 16;
/// Its stamp is later than all before.
pub(crate) const FRESH: u16 = 32;
/// Its data comes after all that its side sent before.
pub(crate) const AHEAD: u16 = 64;
/// And right after that: nothing is missing before it.
pub(crate) const NEXT: u16 = 128;
/// The last segment with data was a full one: whoever sent it had more to send, and waited for the network.
pub(crate) const MORE: u16 = 256;
/// It ends a round trip.
pub(crate) const TIMED: u16 = 512;

/// Every host takes segments of so much data (RFC 9293 §3.7.1).
const LEAST_FULL: u32 = 536;

/// What a segment is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Heard {
    /// Its stamp on a line without end, ticks.
    pub(crate) stamp: i64,
    /// The time since data of the other side that it is the first to acknowledge, ns.
    pub(crate) round_trip: Option<i64>,
    /// [`REOPENED`] and so on.
    pub(crate) marks: u16,
}

#[derive(Debug, Default)]
struct Side {
    packets: u32,
    last: (u32, u32, u32, u32, u16),
    stamps: Unwrapped,
    older: u8,
    route: Route,
    highest: u32,
    /// Payload and stamp of the last segment with data.
    data: (u32, u32),
    /// Payload of full segments: the least of which two followed each other at once; 0 if none did.
    full: u32,
    /// End and time of data that waits for its acknowledgement (one at a time, never a retransmission: Karn's rule).
    probe: Option<(u32, i64)>,
}

/// Sequence numbers and stamps of both sides of a connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    sides: [Side; 2],
    /// Something of its flow was seen.
    known: bool,
    /// Sequence number of the last SYN, by which a new connection between the same ports is known.
    opened: Option<u32>,
}

impl Connection {
    /// Take in a segment that one side sent, with its IP identification and hop limit, ns since the first packet.
    #[inline]
    pub(crate) fn segment(&mut self, side: usize, (id, ttl): (u16, u8), segment: &Segment, time: i64) -> Heard {
        let (mut heard, known) = (Heard::default(), std::mem::replace(&mut self.known, true));
        if segment.flags & (SYN | ACK) == SYN && self.opened.replace(segment.seq).is_some_and(|seq| seq != segment.seq)
        {
            self.sides = Default::default();
            heard.marks |= REOPENED;
        }
        let [a, b] = &mut self.sides;
        let (me, peer) = if side == 0 { (a, b) } else { (b, a) };
        let identity = (segment.seq, segment.ack, segment.payload, segment.stamps().map_or(0, |s| s.0), id);
        if me.last == identity && me.packets > 0 && (id != 0 || segment.payload > 0) {
            heard.marks |= DUPLICATE;
            return heard;
        }
        me.last = identity;
        me.packets = me.packets.saturating_add(1);
        if segment.flags & ACK != 0
            && let Some((end, sent)) = peer.probe
            && !before(segment.ack, end)
        {
            peer.probe = None;
            heard.round_trip = Some(time - sent);
            heard.marks |= TIMED;
        }
        heard.marks |= me.occupy(segment, time);
        heard.marks |= if me.full > 0 && me.data.0 >= me.full { MORE } else { 0 };
        me.filled(segment);
        if let (Some((value, _)), 0) = (segment.stamps(), segment.flags & RST) {
            if me.route.changed(ttl) && known {
                heard.marks |= REROUTED;
            }
            me.clock(value, known, &mut heard);
        }
        heard
    }
}

impl Side {
    /// Data may be what a round trip is measured by; whether it comes after all before ([`AHEAD`], [`NEXT`]).
    #[inline]
    fn occupy(&mut self, segment: &Segment, time: i64) -> u16 {
        if !segment.occupies() {
            return 0;
        }
        let end = segment.end();
        let next = self.packets == 1 || segment.seq == self.highest;
        let ahead = next || !before(segment.seq, self.highest);
        if !ahead {
            self.probe = None;
        } else if self.probe.is_none() {
            self.probe = Some((end, time));
        }
        if self.packets == 1 || before(self.highest, end) {
            self.highest = end;
        }
        if next { AHEAD | NEXT } else { u16::from(ahead) * AHEAD }
    }

    /// Two of one length at once are what a longer write was cut into: their sender had more than fits into one.
    #[inline]
    fn filled(&mut self, segment: &Segment) {
        if segment.payload > 0 {
            let data = (segment.payload, segment.stamps().map_or(0, |(value, _)| value));
            if data == self.data && data.0 >= LEAST_FULL && (self.full == 0 || data.0 < self.full) {
                self.full = data.0;
            }
            self.data = data;
        }
    }

    /// The next stamp on the line of this side's clock. Nothing of a packet that was overtaken; if the clock was set,
    /// what follows is measured anew.
    #[inline]
    fn clock(&mut self, value: u32, known: bool, heard: &mut Heard) {
        match self.stamps.ahead(value, STEP_AHEAD) {
            Some((stamp, later)) => {
                self.older = 0;
                heard.stamp = stamp;
                heard.marks |= if later { FRESH } else { 0 };
            }
            None => self.odd_clock(value, known, heard),
        }
    }

    /// The same for the first stamp, or one that is older than the last or far ahead.
    #[cold]
    fn odd_clock(&mut self, value: u32, known: bool, heard: &mut Heard) {
        let (highest, begun) = (self.stamps.highest(), self.stamps.begun());
        let mut stamp = self.stamps.advance(value);
        if stamp < highest || stamp - highest > i64::from(STEP_AHEAD) {
            self.older += 1;
            if stamp < highest && (self.older < STEP_AFTER || !known) {
                heard.marks |= REORDERED;
                return;
            }
            heard.marks |= CLOCK_STEP;
            self.stamps = Unwrapped::default();
            stamp = self.stamps.advance(value);
        }
        self.older = 0;
        heard.stamp = stamp;
        heard.marks |= if stamp > highest || !begun { FRESH } else { 0 };
    }
}
