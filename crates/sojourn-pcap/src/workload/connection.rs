//! A connection while its packets pass: from segments to turns.

use super::first_flight::{FirstFlight, full_segment, one_segment};
use super::header::Extra;
use super::raw_turn::{self, End, PAUSED_NS, QUIET_NS, RawTurn, is_full, written};
use super::response::Responses;
use super::turns::Turn;
use super::waits::Host;
use super::way::Way;
use crate::decode::tcp::{ACK, FIN, RST, SYN, Segment};

/// So long after the handshake queues are taken to be as they were.
const STILL_NS: i64 = 1_000_000_000;
/// Who is silent for so long has given up without a word: timers of 1, 2, 4 and 8 s are over (RFC 6298 §2.4, §5.5).
const SILENT_NS: i64 = 15_000_000_000;

/// A connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// By end: the opener, the other.
    pub(super) ways: [Way; 2],
    pub(super) flights: [FirstFlight; 2],
    pub(super) responses: Responses,
    pub(super) concurrent: bool,
    pub(super) first_ns: i64,
    /// The first packet was the opener's.
    pub(super) by_opener: bool,
    pub(super) last_ns: i64,
    pub(super) turns: Vec<RawTurn>,
    /// When the last of the handshake passed, and the last from each end.
    opened: i64,
    greeted: [i64; 2],
    /// How long each end took to answer the other's part of the handshake.
    handshakes: [Option<i64>; 2],
    /// When each end last acknowledged, by a packet without data, all that the other had sent.
    told: [Option<i64>; 2],
    /// When each end was first seen to have sent data that were not seen: they were lost before.
    missed: [Option<i64>; 2],
    /// Where the last turn of each end began, and when some of it had been acknowledged and more of it came.
    turn_from: [i64; 2],
    acked_amid: [Option<i64>; 2],
    /// Whose FIN or RST was the first, and whether the other end closed without having heard of it.
    first_to_close: Option<usize>,
    both_close: bool,
}

impl Connection {
    pub(super) fn new(now: i64, by_opener: bool) -> Self {
        Self { by_opener, first_ns: now, last_ns: now, opened: now, greeted: [now; 2], ..Self::default() }
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
            self.first_to_close.get_or_insert(by);
            return;
        }
        let mut twice = false;
        let way = &mut self.ways[by];
        if let Some(extra) = extra {
            way.mss = extra.mss.or(way.mss);
            way.scale = extra.scale.or(way.scale);
            twice = extra.twice;
            let scale = if segment.flags & SYN == 0 { way.scale.unwrap_or(0) } else { 0 };
            way.window = way.window.max(u32::from(extra.window) << scale);
        }
        if segment.flags & SYN != 0 {
            let again = way.syn;
            if !way.syn && !way.seen {
                way.opens(segment.seq);
            }
            way.probe(now, again);
            (self.opened, self.greeted[by]) = (now, now);
        }
        way.seen = true;
        self.ways[other].twice_pkts += u64::from(twice);
        if segment.flags & ACK != 0
            && let Some(ack) = self.ways[other].place(segment.ack)
        {
            let unseen = self.ways[other].acknowledged(ack, segment.payload, now);
            self.responses.acknowledged(other, ack, segment.stamps());
            if self.ways[other].end == 0 && self.handshakes[by].is_none() {
                self.handshakes[by] = self.ways[other].answered_in();
            }
            if unseen > 0 {
                self.bytes(other, unseen, now, more);
            }
            if segment.payload == 0 && self.ways[other].is_idle() {
                self.told[by].get_or_insert(now);
            }
            if self.turns.is_empty() && segment.payload == 0 && segment.flags & FIN == 0 {
                (self.opened, self.greeted[by]) = (now, now);
            }
        }
        let after_syn = segment.seq.wrapping_add(u32::from(segment.flags & SYN != 0));
        let Some(start) = self.ways[by].place(after_syn) else { return };
        let end = start + i64::from(segment.payload);
        if start > self.ways[by].end && segment.payload == 0 {
            self.missed[by].get_or_insert(now);
        }
        if segment.payload > 0 {
            let before = self.ways[by];
            let size = one_segment(segment.payload, self.ways[other].mss).max(1);
            self.responses.data(by, (start, end), size, segment.stamps(), now);
            let new = self.ways[by].data((start, end), segment.payload.div_ceil(size).into(), now);
            if new > 0 {
                let begins = self.new_data(by, &before, new, now, more);
                self.flights[by].data((start, end), segment.stamps(), begins, round_trip(&self.ways));
            }
        }
        if segment.flags & FIN != 0 && end >= self.ways[by].end && !self.ways[by].fin {
            let way = &mut self.ways[other];
            self.both_close |= way.fin && way.place(segment.ack).is_none_or(|ack| ack <= way.end);
            self.first_to_close.get_or_insert(by);
            self.ways[by].fin = true;
        }
    }

    /// The end that closed first, where the other one closed when it had heard of that.
    pub(super) fn closer(&self) -> Option<usize> {
        self.first_to_close.filter(|_| !self.both_close && self.ways.iter().all(|way| way.seen))
    }

    /// An end sent `new` bytes. Returns whether a turn begins with them.
    fn new_data(&mut self, by: usize, before: &Way, new: u64, now: i64, more: bool) -> bool {
        let other = &self.ways[1 - by];
        let (heard, answers_in) = (other.acked, other.answered_in().unwrap_or(0));
        // Neither had heard all of the other when it sent.
        if heard < other.end && before.end >= other.heard && other.end > 0 && before.end + (new as i64) > other.heard {
            self.concurrent = true;
        }
        let round =
            self.ways[0].answered_in().zip(self.ways[1].answered_in()).map(|(one, other)| one.saturating_add(other));
        self.ways[by].heard = heard;
        self.told[1 - by] = None;
        // What passed before this segment, not with it. From here to the end and back is no silence of that end.
        let silent = if before.is_idle() { now.saturating_sub(before.acked_at).saturating_sub(answers_in) } else { 0 };
        let quiet = silent > QUIET_NS;
        // Who has heard more of the other may answer that; whether it does, [`raw_turn::waited`] says.
        let answers = self.concurrent && heard > before.heard;
        let goes_on = self.turns.last().is_some_and(|turn| turn.by == (by == 1)) && !quiet && !answers;
        // At once: it had not heard that all had come, and could not have.
        let at_once = silent <= 0 && round.is_none_or(|round| now.saturating_sub(before.sent_at) <= round);
        let way = &mut self.ways[by];
        if goes_on && at_once && new == u64::from(way.last) && way.last == before.last {
            way.cut = way.cut.max(way.last);
        }
        // What it had written may have been sent by then; whether it was, [`raw_turn::waited`] says.
        let pauses = goes_on && raw_turn::pauses(before, full_segment(self.ways[by].cut, self.ways[1 - by].mss), now);
        if (goes_on && !pauses || !more)
            && let Some(turn) = self.turns.iter_mut().rev().find(|turn| turn.by == (by == 1))
        {
            let way = &mut self.ways[by];
            turn.writes = written([(turn.bytes, turn.writes), (u64::from(way.last), 1)]);
            turn.bytes += new;
            self.missed[by] = None;
            if before.acked > self.turn_from[by] {
                self.acked_amid[by].get_or_insert(before.acked_at);
            }
            return false;
        }
        self.begin(by, before, new, now);
        if let Some(turn) = self.turns.last_mut() {
            turn.only_pauses = goes_on;
        }
        !goes_on
    }

    fn begin(&mut self, by: usize, before: &Way, bytes: u64, now: i64) {
        // Times that frames out of order left unknown are no earlier than the connection.
        let own = before.acked_at.max(before.sent_at).max(self.opened);
        let own = if before.end > before.begin { own } else { self.opened };
        let other = 1 - by;
        let theirs = &self.ways[other];
        let (ready, ready_payload, told) = match self.turns.last() {
            None => (self.greeted[other], 0, Some(self.greeted[by])),
            Some(turn) if turn.by == (by == 1) => (own, 0, None),
            // The answer may have come with these very data.
            Some(_) => (theirs.sent_at.max(self.opened), theirs.sent, self.told[by]),
        };
        // Nobody sends before the other end has heard of its SYN, whatever came.
        let opened = self.ways[by].opened.filter(|at| *at > ready && before.end == 0);
        let (ready, ready_payload) = opened.map_or((ready, ready_payload), |at| (at, 0));
        let told = told.filter(|told| *told > ready);
        // Whose first packet was lost had sent it by the time of the next, whose number says so.
        let missed = self.missed[by].take().filter(|at| *at > ready);
        let (at, payload) = missed.map_or((now, self.ways[by].last), |at| (at, 0));
        let told = told.filter(|told| missed.is_none_or(|missed| *told < missed));
        // Nor is the answer to a handshake held back.
        let at_once = match self.turns.is_empty() {
            true => by == 0 && theirs.syn,
            false => theirs.acked_at_once(one_segment(theirs.longest, self.ways[by].mss)),
        };
        let paced = theirs.paced();
        let follows = self.turns.last().is_some_and(|turn| turn.by == (by == 1));
        let acked_amid = std::mem::take(&mut self.acked_amid[by]).map(|acked| (acked, before.sent_at));
        self.turn_from[by] = before.end;
        self.told = [None; 2];
        let answered = self.handshakes[by].filter(|_| now.saturating_sub(self.opened) < STILL_NS);
        self.turns.push(RawTurn {
            by: by == 1,
            bytes,
            at,
            payload,
            ready,
            ready_payload,
            told,
            at_once,
            lacks: self.ways[by].skips,
            paced,
            follows,
            own,
            last: before.last,
            heard: if theirs.acked > before.heard { (theirs.acked - theirs.begin).max(0) } else { 0 },
            heard_at: [theirs.front_at, theirs.acked_at].map(|at| at.max(self.opened)),
            idle: before.is_idle(),
            paused: now.saturating_sub(before.sent_at) > PAUSED_NS,
            only_pauses: false,
            sent: (before.sent_at, before.sent),
            acked_at: before.acked_at,
            acked_amid,
            flight: before.end - before.acked,
            room: before.has_room(),
            writes: 1,
            answered,
        });
    }

    /// Bytes of `by` that only their acknowledgement shows.
    fn bytes(&mut self, by: usize, new: u64, now: i64, more: bool) {
        let mut before = self.ways[by];
        before.end -= new as i64;
        self.new_data(by, &before, new, now, more);
    }

    /// True if end `by` had more to send when the capture ended at `last`: its last turn is of full segments up to its
    /// last, and neither end closed. `full` is the size of segments that it fills.
    pub(super) fn goes_on(&self, by: usize, full: u32, last: i64) -> bool {
        let way = &self.ways[by];
        let in_turn = self.concurrent || self.turns.last().is_some_and(|turn| usize::from(turn.by) == by);
        let closed = way.fin || self.ways.iter().any(|way| way.reset);
        let silent = last.saturating_sub(way.sent_at) > SILENT_NS;
        in_turn && !closed && !silent && is_full(way.last, full)
    }

    /// The turns with the time that each end waited before its own; see [`raw_turn::waited`].
    pub(super) fn waited(&self, round: [i64; 2], waits: [Host<'_>; 2], full: [u32; 2], longest: [u32; 2]) -> Vec<Turn> {
        raw_turn::waited(
            &self.turns,
            self.concurrent,
            &[0, 1].map(|end| End::new(round[end], waits[end], full[end], longest[end])),
        )
    }
}

/// The shortest answers of both ends together, ns; what clocks that jump make of it is no less.
fn round_trip(ways: &[Way; 2]) -> i64 {
    ways.iter().filter_map(Way::answered_in).fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::raw_turn::LOST;
    use super::super::way::Answer;
    use super::*;

    #[test]
    fn clocks_that_jump_make_no_round_trip_negative() {
        let way = |answered_in: Option<i64>| {
            let mut way = Way::default();
            way.answered = answered_in.map(|took| Answer { sent: (0, 0), came: (took, 0) });
            way
        };
        assert_eq!(round_trip(&[way(Some(15)), way(Some(25))]), 40);
        assert_eq!(round_trip(&[way(None), way(Some(25))]), 25);
        assert_eq!(round_trip(&[way(Some(i64::MAX)), way(Some(i64::MAX))]), i64::MAX);
    }

    #[test]
    fn the_scale_is_not_that_of_the_window_in_the_syn_itself() {
        let mut connection = Connection::new(0, true);
        let (payload, stamps, sack) = (0, None, None);
        let mut segment = |flags, seq, window, scale| {
            let segment = Segment::new([seq, 0], flags, payload).with(stamps, sack);
            connection.segment(0, &segment, Some(Extra { window, scale, ..Extra::default() }), 0, true);
            connection.ways[0].window
        };
        assert_eq!(segment(SYN, 9, 65_535, Some(7)), 65_535);
        assert_eq!(segment(ACK, 10, 1000, None), 128_000);
    }

    #[test]
    fn nobody_waited_since_before_the_connection() {
        let mut connection = Connection::new(1000, true);
        (connection.ways[0].end, connection.ways[1].acked) = (5, 9);
        let before = connection.ways[0];
        [0, 0, 1].iter().for_each(|by| connection.begin(*by, &before, 5, 1700));
        assert!(connection.turns.iter().all(|raw| (raw.heard_at, raw.own, raw.ready) == ([1000; 2], 1000, 1000)));
    }

    /// A packet: by whom, flags, numbers, payload, ms.
    type Packet = (usize, u8, [u32; 2], u32, i64);

    /// What the end `far`, 40 ms away, waited before its first turn, ms; packets to it and from it wait for 30 and 200
    /// ms all the while.
    fn far_waited(far: usize, packets: &[Packet]) -> Option<u64> {
        const MS: i64 = 1_000_000;
        let mut connection = Connection::new(0, true);
        for &(by, flags, ends, payload, at) in packets {
            connection.segment(by, &Segment::new(ends, flags, payload).with(None, None), None, at * MS, true);
        }
        let [to, from] = [30, 200].map(|wait| (0..200).map(|at| (at * 10 * MS, wait * MS)).collect::<Vec<_>>());
        let (mut rounds, mut hosts) = ([0; 2], [Host::default(); 2]);
        (rounds[far], hosts[far]) = (40 * MS, Host { from: &from, to: &to, ..Host::default() });
        let turns = connection.waited(rounds, hosts, [0; 2], [0; 2]);
        turns.iter().find(|turn| turn.accepted == (far == 1)).map(|turn| turn.wait_ns / 1_000_000)
    }

    /// Beside the opener: what its peer waited.
    fn peer_waited(packets: &[Packet]) -> Option<u64> {
        far_waited(1, packets)
    }

    const REQUEST: [Packet; 3] =
        [(0, SYN, [9, 0], 0, 0), (1, SYN | ACK, [99, 10], 0, 270), (0, ACK, [10, 100], 50, 270)];

    #[test]
    fn what_queues_took_is_no_thinking() {
        let answer = |at| peer_waited(&[REQUEST.as_slice(), &[(1, ACK, [100, 60], 900, at)]].concat());
        assert_eq!([540, 545, 600].map(answer), [Some(0), Some(5), Some(60)]);
    }

    #[test]
    fn who_said_that_it_had_all_thought_for_40_ms_more_at_most() {
        let answer = |said, at| {
            peer_waited(&[&REQUEST[..], &[(1, ACK, [100, 60], 0, said), (1, ACK, [100, 60], 900, at)]].concat())
        };
        assert_eq!(answer(580, 610), Some(70), "its acknowledgement was held back");
        assert_eq!([580, 581].map(|at| answer(580, at)), [Some(0), Some(41)], "it would have gone with the answer");
        assert_eq!(answer(700, 710), Some(50), "it was sent again, or the request was");
        assert_eq!(answer(545, 1545), Some(1005));
    }

    #[test]
    fn who_answers_a_handshake_or_two_segments_does_so_at_once() {
        let ends = |ack| [(1, ACK, [100, ack], 0, 580), (1, ACK, [100, ack], 900, 610)];
        let request = |second| [&REQUEST[..], &[(0, ACK, [60, 100], second, 270)]].concat();
        let answer = |second, rest: &[Packet]| peer_waited(&[&request(second), rest].concat());
        let said = |second| [&ends(60 + second)[..], &ends(60 + second)[1..]].map(|rest| answer(second, rest));
        assert_eq!([1, 49].map(said), [[Some(70); 2]; 2], "it may have been held back");
        assert_eq!(said(50), [Some(30), Some(0)], "it was not, and went with the answer");
        let opened = [(0, SYN, [9, 0], 0, 0), (1, SYN | ACK, [99, 10], 0, 0)];
        let first = [(0, ACK, [10, 100], 0, 300), (0, ACK, [10, 100], 50, 305)];
        assert_eq!(far_waited(0, &[&opened[..], &first].concat()), Some(5));
        assert_eq!(far_waited(0, &[&opened[..], &first[1..]].concat()), Some(0));
        assert_eq!(far_waited(0, &first[1..]), Some(35), "nothing is known of a handshake");
    }

    #[test]
    fn what_is_sent_again_after_two_round_trips_for_what_was_lost_tells_of_no_thinking() {
        let answer = |gap: u32, at| peer_waited(&[&REQUEST[..], &[(1, ACK, [100 + gap, 60], 900, at)]].concat());
        assert_eq!([619, 620].map(|at| answer(900, at)), [Some(79), Some(LOST / 1_000_000)]);
        assert_eq!(answer(0, 620), Some(80));
    }

    #[test]
    fn where_a_flow_has_its_queue_its_pace_tells_what_the_last_waited() {
        // The rest of the request stands behind its beginning, of which the peer gets 50 bytes every 20 ms.
        let pieces = [(0, ACK, [60, 100], 100, 270), (1, ACK, [100, 60], 0, 560), (1, ACK, [100, 110], 0, 580)];
        let answer = |rest: &[(usize, u8, [u32; 2], u32, i64)]| peer_waited(&[&REQUEST[..], &pieces, rest].concat());
        assert_eq!(answer(&[(1, ACK, [100, 160], 900, 600)]), Some(0));
        assert_eq!(answer(&[(1, ACK, [100, 160], 900, 615)]), Some(15));
        assert_eq!(answer(&[(1, ACK, [100, 160], 0, 600), (1, ACK, [100, 160], 900, 615)]), Some(15));
        assert_eq!(answer(&[(1, ACK, [100, 160], 0, 620), (1, ACK, [100, 160], 900, 635)]), Some(35), "held back");
    }

    #[test]
    fn an_end_has_all_when_it_says_so_after_the_last_of_it() {
        // The opener's request goes on after its first half was acknowledged.
        let halves = [
            (1, ACK, [100, 60], 0, 560),
            (0, ACK, [60, 100], 50, 600),
            (0, ACK, [110, 100], 50, 700),
            (1, ACK, [100, 160], 900, 970),
        ];
        assert_eq!(peer_waited(&[&REQUEST[..], &halves].concat()), Some(0));
        let later = [(1, ACK, [100, 160], 0, 1000), (1, ACK, [100, 160], 900, 1900)];
        assert_eq!(peer_waited(&[&REQUEST[..], &halves[..3], &later].concat()), Some(900));
    }

    #[test]
    fn what_an_end_said_before_the_handshake_was_over_is_not_when_it_began_to_think() {
        let repaired = [
            (0, SYN, [9, 0], 0, 0),
            (0, 0, [10, 0], 50, 270),
            (1, ACK, [100, 60], 0, 560),
            (1, SYN | ACK, [99, 60], 0, 1500),
            (0, ACK, [60, 100], 0, 1500),
            (1, ACK, [100, 60], 900, 1770),
        ];
        assert_eq!(peer_waited(&repaired), Some(0));
    }

    #[test]
    fn pieces_too_short_to_have_been_cut_are_writes() {
        let writes = |pieces: &[u32]| {
            let (mut connection, mut seq) = (Connection::new(0, true), 10);
            for &payload in pieces {
                connection.segment(0, &Segment::new([seq, 100], ACK, payload).with(None, None), None, 5, true);
                seq += payload;
            }
            (connection.turns.len(), connection.turns[0].writes)
        };
        assert_eq!(
            [&[300; 14][..], &[523, 523], &[300, 524], &[600, 300, 300]].map(writes),
            [14, 2, 1, 1].map(|n| (1, n))
        );
        assert_eq!(written([(900, 3), (100, 2)]), 5, "turns that are one");
    }

    #[test]
    fn the_way_to_the_sender_and_back_is_no_silence_of_it() {
        // Beside the client: the server answers after 60 ms, and a queue makes 110 of them.
        const MS: i64 = 1_000_000;
        let turns = |again_after: i64| {
            let mut connection = Connection::new(0, true);
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
            connection.waited([0, 60 * MS], [Host::default(); 2], [0; 2], [0; 2]).len()
        };
        assert_eq!([110, 159, 161].map(turns), [1, 1, 2]);
    }
}
