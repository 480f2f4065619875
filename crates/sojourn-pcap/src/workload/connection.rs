//! A connection while its packets pass: from segments to turns.

use super::first_flight::FirstFlight;
use super::header::Extra;
use super::turns::Turn;
use super::way::Way;
use crate::decode::tcp::{ACK, FIN, RST, SYN, Segment};

/// An end that sends again after it was idle for so long begins another turn.
const QUIET_NS: i64 = 100_000_000;
/// So long after the handshake queues are taken to be as they were.
const STILL_NS: i64 = 1_000_000_000;
/// An end nearer than this is where the capture was taken.
const NEAR_NS: i64 = 1_000_000;
/// Longest that an answer is held back for data to go with it.
const DELAYED_ACK_NS: i64 = 40_000_000;

/// A turn with the times that its wait is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    pub(super) by: bool,
    pub(super) bytes: u64,
    /// First packet of the turn.
    at: i64,
    /// When all that the end waits for had passed, and when it was seen to have it, if it said so by itself.
    ready: i64,
    told: Option<i64>,
    /// When all its own earlier data had been acknowledged.
    own: i64,
    /// What the end took to answer the handshake, if that was just before: the queues that it met then.
    answered: Option<i64>,
}

/// A connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// By end: the opener, the other.
    pub(super) ways: [Way; 2],
    pub(super) flights: [FirstFlight; 2],
    pub(super) concurrent: bool,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) turns: Vec<Raw>,
    /// When the last of the handshake passed.
    opened: i64,
    /// How long each end took to answer the other's part of the handshake.
    handshakes: [Option<i64>; 2],
    /// When each end last acknowledged, by a packet without data, all that the other had sent.
    told: [Option<i64>; 2],
}

impl Connection {
    pub(super) fn new(now: i64) -> Self {
        Self { first_ns: now, last_ns: now, opened: now, ..Self::default() }
    }

    /// True if a segment from end `by` (0 or 1) belongs to a later connection with the same ports.
    pub(super) fn is_over(&self, by: usize, segment: &Segment) -> bool {
        let opens = segment.flags & (SYN | ACK) == SYN;
        opens && (self.ways[by].is_other(segment.seq) || self.ways.iter().all(|way| way.fin))
    }

    /// Takes in a segment from end `by`. `more` says whether another turn may be kept.
    pub(super) fn segment(&mut self, by: usize, segment: &Segment, extra: Option<Extra>, now: i64, more: bool) {
        self.last_ns = self.last_ns.max(now);
        let other = 1 - by;
        if segment.flags & RST != 0 {
            self.ways[by].reset = true;
            return;
        }
        let way = &mut self.ways[by];
        if let Some(extra) = extra {
            way.mss = extra.mss.or(way.mss);
            way.scale = extra.scale.or(way.scale);
            let scale = if segment.flags & SYN == 0 { way.scale.unwrap_or(0) } else { 0 };
            way.window = way.window.max(u32::from(extra.window) << scale);
        }
        if segment.flags & SYN != 0 {
            let again = way.syn;
            if !way.syn && !way.seen {
                way.opens(segment.seq);
            }
            way.probe(now, again);
            self.opened = now;
        }
        way.seen = true;
        if segment.flags & ACK != 0
            && let Some(ack) = self.ways[other].place(segment.ack)
        {
            let unseen = self.ways[other].acknowledged(ack, now);
            if self.ways[other].end == 0 && self.handshakes[by].is_none() {
                self.handshakes[by] = self.ways[other].answered_in;
            }
            if unseen > 0 {
                self.bytes(other, unseen, now, more);
            }
            if segment.payload == 0 && self.ways[other].is_idle() {
                self.told[by].get_or_insert(now);
            }
            if self.turns.is_empty() && segment.payload == 0 && segment.flags & FIN == 0 {
                self.opened = now;
            }
        }
        let after_syn = segment.seq.wrapping_add(u32::from(segment.flags & SYN != 0));
        let Some(start) = self.ways[by].place(after_syn) else { return };
        let end = start + i64::from(segment.payload);
        if segment.payload > 0 {
            let before = self.ways[by];
            let new = self.ways[by].data((start, end), now);
            if new > 0 {
                let begins = self.new_data(by, &before, new, now, more);
                self.flights[by].data((start, end), segment.stamps(), begins, round_trip(&self.ways));
            }
        }
        self.ways[by].fin |= segment.flags & FIN != 0 && end >= self.ways[by].end;
    }

    /// An end sent `new` bytes. Returns whether a turn begins with them.
    fn new_data(&mut self, by: usize, before: &Way, new: u64, now: i64, more: bool) -> bool {
        let other = &self.ways[1 - by];
        let (heard, answers_in) = (other.acked, other.answered_in.unwrap_or(0));
        // Neither had heard all of the other when it sent.
        if heard < other.end && before.end >= other.heard && other.end > 0 && before.end + (new as i64) > other.heard {
            self.concurrent = true;
        }
        self.ways[by].heard = heard;
        // What passed before this segment, not with it. From here to the end and back is no silence of that end.
        let quiet = before.is_idle() && now.saturating_sub(before.acked_at) > QUIET_NS.saturating_add(answers_in);
        let goes_on = self.turns.last().is_some_and(|turn| turn.by == (by == 1)) && !quiet;
        if (goes_on || !more)
            && let Some(turn) = self.turns.iter_mut().rev().find(|turn| turn.by == (by == 1))
        {
            turn.bytes += new;
            return false;
        }
        self.begin(by, before, new, now);
        true
    }

    fn begin(&mut self, by: usize, before: &Way, bytes: u64, now: i64) {
        let own = if before.end > before.begin { before.acked_at.max(before.sent_at) } else { self.opened };
        let (ready, told) = match self.turns.last() {
            None => (self.opened, Some(self.opened)),
            Some(turn) if turn.by == (by == 1) => (own, Some(own)),
            // The answer may have come with these very data.
            Some(_) => (self.ways[1 - by].sent_at, self.told[by].filter(|told| *told < now)),
        };
        self.told = [None; 2];
        let answered = self.handshakes[by].filter(|_| now.saturating_sub(self.opened) < STILL_NS);
        self.turns.push(Raw { by: by == 1, bytes, at: now, ready, told, own, answered });
    }

    /// Bytes of `by` that only their acknowledgement shows.
    fn bytes(&mut self, by: usize, new: u64, now: i64, more: bool) {
        let mut before = self.ways[by];
        before.end -= new as i64;
        self.new_data(by, &before, new, now, more);
    }

    /// The turns with the time that each end waited before its own; `round` is the base round trip between the capture
    /// and each end.
    pub(super) fn waited(&self, round: [i64; 2]) -> Vec<Turn> {
        let mut found: Vec<Turn> = Vec::with_capacity(self.turns.len());
        for raw in &self.turns {
            // Its answer waits as that of the handshake did: what a queue took is no thinking.
            let round = round[usize::from(raw.by)];
            let near = round < NEAR_NS;
            let round = raw.answered.filter(|_| !near).map_or(round, |answered| answered.max(round));
            let since = if self.concurrent { raw.own } else { raw.ready };
            let whole = raw.at.saturating_sub(since).saturating_sub(round).max(0);
            // Data and answers wait in queues too: an end that said that it had all began to think no earlier.
            let told = raw.told.map_or(DELAYED_ACK_NS, |told| raw.at.saturating_sub(told).max(0));
            let wait = if self.concurrent || near { whole } else { whole.min(told) };
            let turn = Turn { accepted: raw.by, bytes: raw.bytes, wait_ns: wait as u64 };
            // Turns of a concurrent connection that only the other end's turns had parted.
            let earlier = found.iter_mut().rev().find(|earlier| earlier.accepted == raw.by);
            match earlier.filter(|_| self.concurrent && wait < QUIET_NS) {
                Some(earlier) => earlier.bytes += turn.bytes,
                None => found.push(turn),
            }
        }
        found
    }
}

/// The shortest answers of both ends together, ns; what clocks that jump make of it is no less.
fn round_trip(ways: &[Way; 2]) -> i64 {
    ways.iter().filter_map(|way| way.answered_in).fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_jump_make_no_round_trip_negative() {
        let way = |answered_in| {
            let mut way = Way::default();
            way.answered_in = answered_in;
            way
        };
        assert_eq!(round_trip(&[way(Some(15)), way(Some(25))]), 40);
        assert_eq!(round_trip(&[way(None), way(Some(25))]), 25);
        assert_eq!(round_trip(&[way(Some(i64::MAX)), way(Some(i64::MAX))]), i64::MAX);
    }

    #[test]
    fn the_scale_is_not_that_of_the_window_in_the_syn_itself() {
        let mut connection = Connection::new(0);
        let (payload, stamps, sack) = (0, None, None);
        let mut segment = |flags, seq, window, scale| {
            let segment = Segment::new([seq, 0], flags, payload).with(stamps, sack);
            connection.segment(0, &segment, Some(Extra { window, mss: None, scale }), 0, true);
            connection.ways[0].window
        };
        assert_eq!(segment(SYN, 9, 65_535, Some(7)), 65_535);
        assert_eq!(segment(ACK, 10, 1000, None), 128_000);
    }

    #[test]
    fn the_way_to_the_sender_and_back_is_no_silence_of_it() {
        // Beside the client: the server answers after 60 ms, and a queue makes 110 of them.
        const MS: i64 = 1_000_000;
        let turns = |again_after: i64| {
            let mut connection = Connection::new(0);
            let mut pass = |by: usize, flags, ends: [u32; 2], payload, at: i64| {
                let segment = Segment::new(ends, flags, payload).with(None, None);
                connection.segment(by, &segment, None, at * MS, true);
            };
            pass(0, SYN, [9, 0], 0, 0);
            pass(1, SYN | ACK, [99, 10], 0, 60);
            pass(0, ACK, [10, 100], 0, 60);
            pass(1, ACK, [100, 10], 2000, 70);
            pass(0, ACK, [10, 2100], 0, 71);
            pass(1, ACK, [2100, 10], 2000, 71 + again_after);
            connection.turns.len()
        };
        assert_eq!([110, 159, 161].map(turns), [1, 1, 2]);
    }
}
