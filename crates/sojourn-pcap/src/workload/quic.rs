//! Connections of QUIC: what their ends seem to say to each other.
//!
//! Source: RFC 9312, what the network can see of QUIC: the form of headers ([`super::looks`]), the times and lengths
//! of datagrams, and that the first of them are a handshake. The rules are sojourn's own. What is longer than
//! acknowledgements are is data; HTTP's requests are told from acknowledgements so, too, where adaptive video is
//! watched in the network (C. Gutterman et al., "Requet", MMSys 2019). An end begins a turn when it sends after
//! something of the other had come, unless it had more to send: its last datagram was full, and what came was no new
//! turn either.
//!
//! What an end took to answer is known to no more than what its answer stood in a queue; where nothing tells of that,
//! it is taken to have stood there since the link last paused.
//!
//! What is sent again cannot be told from what is new. So a direction that lost packets behind the capture has more
//! bytes here than its end wrote, by as many as were lost. In front of it what was lost is missing, and came later.

use super::raw_turn::NEAR_NS;
use super::stood::Busy;
use super::turns::Turn;
use super::waits::Host;
use super::way::Answer;

/// What a datagram has beside its data, in this project's QUIC: a replay's are as long as those that were seen.
const HEADERS: u64 = 36;
/// A datagram that is no longer carries an acknowledgement alone. They grow with the holes that they tell of, up to so
/// much, by no more than this from one to the next.
const ACKNOWLEDGEMENT: u64 = 100;
const MOST_ACKNOWLEDGEMENT: u64 = 400;
const HOLES: u64 = 32;
/// Payload that fits one packet of Ethernet; a host may hand over, or join, several in a row.
const ETHERNET: u64 = 1472;
/// An end that was silent for so long, and for three round trips, has sent all that it had; after a full datagram it
/// may have waited for the network, which takes no longer than this.
const QUIET_NS: i64 = 250_000_000;
const STALLED_NS: i64 = 1_000_000_000;
/// An end whose last datagram was full, so long before the capture ended, had more to send, if its turn was of so many
/// full ones at least: those of a handshake are filled up, and requests that are made at once fill some.
const GOES_ON_NS: i64 = 1_000_000_000;
const STREAM: u64 = 32;
/// An end that answers within this, and in less than a quarter of what the other takes, is beside the capture: what it
/// takes is its own, to work out keys.
const BESIDE_NS: i64 = 10_000_000;
/// A first datagram that was sent again by then is not known to be answered.
const AGAIN_NS: i64 = 50_000_000;

/// What lengths of datagrams say, by end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    /// The last acknowledgement, and the longest datagram that is one packet.
    acknowledgement: [u64; 2],
    longest: [u64; 2],
    /// Data so far.
    bytes: [u64; 2],
}

/// Data of a datagram.
#[derive(Clone, Copy, Debug)]
struct Data {
    bytes: u64,
    packets: u64,
    /// Its end had more to send.
    full: bool,
}

impl Lengths {
    /// One more datagram of an end, if it has data: how many bytes that makes.
    pub(super) fn add(&mut self, side: usize, length: u64) -> Option<u64> {
        if length <= ETHERNET {
            self.longest[side] = self.longest[side].max(length);
        }
        self.bytes[side] += self.data(side, length)?.bytes;
        Some(self.bytes[side])
    }

    /// Payload of a full datagram of an end.
    fn whole(&self, side: usize) -> u64 {
        if self.longest[side] > 0 { self.longest[side] } else { ETHERNET }
    }

    /// The data of a datagram of an end, if it carries more than an acknowledgement.
    fn data(&mut self, side: usize, length: u64) -> Option<Data> {
        let last = &mut self.acknowledgement[side];
        if length <= ACKNOWLEDGEMENT.max(*last + HOLES).min(MOST_ACKNOWLEDGEMENT) {
            *last = length;
            return None;
        }
        let whole = self.whole(side);
        let (packets, rest) = (length.div_ceil(whole), length % whole);
        let bytes = length.saturating_sub(packets * HEADERS).max(1);
        Some(Data { bytes, packets, full: rest == 0 || 10 * rest > 9 * whole })
    }
}

/// One end of a connection, when the capture is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<'a> {
    /// Its base round trip to the capture and back.
    pub(super) round: i64,
    pub(super) waits: Host<'a>,
    /// The link from the hosts away from the capture.
    pub(super) link: &'a Busy,
}

impl End<'_> {
    /// When it sent what was seen `at`.
    fn sent(&self, at: i64, payload: u32) -> i64 {
        if self.round < NEAR_NS { at } else { self.waits.went(at, payload).saturating_sub(self.round / 2) }
    }

    /// How long what was seen `at` may have stood in a queue of which nothing else tells.
    fn stood(&self, at: i64) -> i64 {
        if self.round < NEAR_NS || self.waits.is_known(at) { 0 } else { self.link.before(at) }
    }

    /// When it had what was seen `at`.
    fn came(&self, at: i64, payload: u32) -> i64 {
        if self.round < NEAR_NS { at } else { self.waits.came(at, payload).saturating_add(self.round / 2) }
    }
}

/// What is kept of an end's sending while turns are made.
#[derive(Clone, Debug, Default)]
struct Sending {
    /// Its data as it came to the other end: when, all bytes by then, and whether a turn began that the other may wait
    /// for: not one of an end that sends all the time.
    arrivals: Vec<(i64, u64, bool)>,
    bytes: u64,
    /// When it sent last; that was a full datagram; what it had of the other by then; and its turn.
    last: Option<Last>,
    /// Of the other's arrivals it has had so many.
    had: usize,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    sent: i64,
    full: bool,
    had: usize,
    turn: usize,
}

/// The turns of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns {
    pub(super) turns: Vec<Turn>,
    /// Datagrams with data, by end.
    pub(super) data_pkts: [u64; 2],
    /// Payload of the longest datagram of either end, 0 of none.
    pub(super) longest: [u64; 2],
    /// By end: the capture ended in its last turn.
    pub(super) goes_on: [bool; 2],
}

/// When each end answered the handshake. The one beside the capture does at once, but for what it has to work out.
pub(super) fn answers(first_ns: i64, datagrams: &[Turn]) -> [Option<Answer>; 2] {
    let mut at = first_ns;
    let timed = datagrams.iter().map(|datagram| {
        at = at.saturating_add_unsigned(datagram.wait_ns);
        (at, datagram)
    });
    let (mut first, mut answer, mut then): (Option<_>, Option<_>, Option<_>) = (None, None, None);
    for (at, datagram) in timed {
        let seen = (at, datagram.bytes as u32);
        match (datagram.accepted, first, answer) {
            (false, None, _) => first = Some(seen),
            (false, Some((sent, _)), None) if at.saturating_sub(sent) > AGAIN_NS => break,
            (true, Some(_), None) => answer = Some(seen),
            (false, _, Some(_)) => {
                then = Some(seen);
                break;
            }
            _ => {}
        }
    }
    let of = |sent: Option<_>, came: Option<_>| Some(Answer { sent: sent?, came: came? });
    let mut found = [of(answer, then), of(first, answer)];
    if let [Some(one), Some(other)] = found.each_mut() {
        let (near, far) = if one.took() < other.took() { (one, other) } else { (other, one) };
        if near.took() < BESIDE_NS.min(far.took() / 4) {
            near.came.0 = near.sent.0;
        }
    }
    found
}

/// Which end is beside the capture, by its answer to the handshake.
pub(super) fn beside(answers: [Option<Answer>; 2]) -> Option<usize> {
    let [one, other] = answers.map(|answer| answer.map(|answer| answer.took() == 0));
    match (one?, other?) {
        (true, false) => Some(0),
        (false, true) => Some(1),
        _ => None,
    }
}

/// The turns of a connection whose datagrams were seen so; the capture ends at `over`.
pub(super) fn turns(first_ns: i64, datagrams: &[Turn], ends: &[End<'_>; 2], over: i64) -> Turns {
    let mut lengths = Lengths::default();
    for datagram in datagrams {
        lengths.add(usize::from(datagram.accepted), datagram.bytes);
    }
    lengths = Lengths { longest: lengths.longest, ..Lengths::default() };
    let mut found = Turns { longest: lengths.longest, ..Turns::default() };
    let rtt = ends[0].round.saturating_add(ends[1].round);
    let quiet = QUIET_NS.max(rtt.saturating_mul(3));
    let mut sides = [Sending::default(), Sending::default()];
    let (mut at, mut began) = (first_ns, None);
    for datagram in datagrams {
        at = at.saturating_add_unsigned(datagram.wait_ns);
        let (side, accepted) = (usize::from(datagram.accepted), datagram.accepted);
        let Some(Data { bytes, packets, full }) = lengths.data(side, datagram.bytes) else { continue };
        let whole = lengths.whole(side);
        found.data_pkts[side] += packets;
        let payload = datagram.bytes.min(whole) as u32;
        let (sent, stood) = (ends[side].sent(at, payload), ends[side].stood(at));
        let start = *began.get_or_insert(sent);
        let [own, other] = &mut sides;
        let (own, other) = if accepted { (other, own) } else { (own, other) };
        while other.arrivals.get(own.had).is_some_and(|(came, ..)| *came <= sent) {
            own.had += 1;
        }
        let (came, heard, _) = own.had.checked_sub(1).map_or((start, 0, false), |last| other.arrivals[last]);
        let turn = match own.last {
            None => Some((sent.saturating_sub(came), heard, true)),
            Some(last) => {
                let news = &other.arrivals[last.had..own.had];
                let asked = news.iter().any(|(.., begins)| *begins);
                if asked || !last.full && !news.is_empty() {
                    // It had more to send: what came was no reason to begin, nor to wait.
                    let busy = last.full && came.saturating_sub(last.sent) < rtt;
                    Some((if busy { 0 } else { sent.saturating_sub(came) }, heard, !busy))
                } else {
                    let silent = sent.saturating_sub(last.sent);
                    let stalled = if last.full { STALLED_NS.max(quiet) } else { quiet };
                    (silent.saturating_sub(stood) >= stalled).then(|| (silent.saturating_sub(rtt), 0, true))
                }
            }
        };
        let begins = turn.is_some_and(|(.., begins)| begins);
        let place = match (turn, own.last) {
            (None, Some(last)) => last.turn,
            (turn, _) => {
                let (wait, heard, _) = turn.unwrap_or_default();
                let wait = wait.saturating_sub(stood);
                found.turns.push(Turn {
                    accepted,
                    bytes: 0,
                    wait_ns: wait.max(0) as u64,
                    heard,
                    writes: 1,
                    streamed: false,
                });
                found.turns.len() - 1
            }
        };
        found.turns[place].bytes += bytes;
        own.last = Some(Last { sent, full, had: own.had, turn: place });
        own.bytes += bytes;
        let came = ends[1 - side].came(at, payload);
        let came = own.arrivals.last().map_or(came, |(before, ..)| came.max(*before));
        own.arrivals.push((came, own.bytes, begins));
        let long = found.turns[place].bytes >= STREAM * whole;
        found.goes_on[side] = full && long && over.saturating_sub(at) < GOES_ON_NS.max(rtt.saturating_mul(3));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Datagrams by time in ms, end, and payload.
    fn datagrams(seen: &[(i64, bool, u64)]) -> Vec<Turn> {
        let mut last = 0;
        let one = |&(at, accepted, bytes): &(i64, bool, u64)| {
            let wait_ns = ((at - last) * MS) as u64;
            last = at;
            Turn { accepted, bytes, wait_ns, heard: 0, writes: 1, streamed: false }
        };
        seen.iter().map(one).collect()
    }

    /// The turns as they were seen beside the opener, the other end 40 ms away; of each the end, the datagrams that it
    /// is of, what it heard, and its wait in ms.
    fn told(seen: &[(i64, bool, u64)], link: &Busy) -> Vec<(bool, u64, u64, u64)> {
        let ends = [0, 40 * MS].map(|round| End { round, waits: Host::default(), link });
        let found = turns(0, &datagrams(seen), &ends, 1 << 60);
        let count = |turn: &Turn| (turn.bytes + HEADERS / 2) / (1200 - HEADERS);
        let one = |turn: &Turn| (turn.accepted, count(turn), turn.heard, turn.wait_ns / MS as u64);
        found.turns.iter().map(one).collect()
    }

    fn run(seen: &[(i64, bool, u64)]) -> Vec<(bool, u64, u64, u64)> {
        told(seen, &Busy::default())
    }

    #[test]
    fn acknowledgements_may_grow_with_holes_and_requests_are_longer() {
        let mut lengths = Lengths::default();
        let grown: Vec<_> = [40, 100, 130, 160, 45, 300, 60, 131].map(|length| lengths.add(0, length)).into();
        let data = 300 - HEADERS;
        assert_eq!(grown, [None, None, None, None, None, Some(data), None, Some(data + 131 - HEADERS)]);
        assert_eq!(lengths.add(1, 101), Some(101 - HEADERS), "the other end's are others");
        // Several that a host handed over at once have their headers each.
        assert_eq!(lengths.add(1, 1400), Some(65 + 1364));
        assert_eq!(lengths.add(1, 4200 + 700), Some(65 + 1364 + 3 * 1364 + 664));
        // Nothing is as long as a hole is deep.
        assert!((0..40).map(|n| lengths.add(0, 100 + 30 * n)).any(|data| data.is_some()));
    }

    #[test]
    fn a_request_and_its_answer_are_two_turns_and_acknowledgements_are_none() {
        let seen = [(0, false, 300), (45, true, 1200), (46, true, 1200), (46, false, 40), (47, true, 500)];
        let next = [(247, false, 300), (290, true, 1200), (291, true, 500)];
        let found = run(&[&seen[..], &next].concat());
        let bytes = 2 * (1200 - HEADERS) + 500 - HEADERS;
        let [one, two] = [300 - HEADERS, 2 * (300 - HEADERS)];
        assert_eq!(found, [(false, 0, 0, 0), (true, 2, one, 5), (false, 0, bytes, 200), (true, 1, two, 3)]);
    }

    #[test]
    fn requests_amid_an_answer_begin_turns_that_wait_for_nothing_else() {
        // The answer goes on without a pause while the second request is under way, for 40 ms there and back.
        let mut seen = vec![(0, false, 300)];
        seen.extend((0..120).map(|n| (40 + n, true, 1200)));
        seen.push((60, false, 300));
        seen.sort_unstable();
        let [one, two] = [300 - HEADERS, 2 * (300 - HEADERS)];
        let heard = 20 * (1200 - HEADERS);
        assert_eq!(run(&seen), [(false, 0, 0, 0), (true, 60, one, 0), (false, 0, heard, 1), (true, 60, two, 0)]);
    }

    #[test]
    fn ends_that_send_without_a_pause_have_a_turn_each() {
        let both = |n: i64| [(n, false, 1200), (n, true, 1200)];
        let found = run(&(0..300).flat_map(both).collect::<Vec<_>>());
        // What each had sent before it heard of the other is a turn of its own; they do not ask each other for more.
        assert_eq!(
            found.iter().map(|turn| (turn.0, turn.1)).collect::<Vec<_>>(),
            [(false, 1), (true, 40), (false, 299), (true, 260)]
        );
    }

    #[test]
    fn who_is_silent_for_long_begins_another_turn_and_who_had_more_to_send_waits_for_the_network() {
        let silent = |last: u64, ms: i64| run(&[(0, true, 1200), (1, true, last), (1 + ms, true, 1200)]).len();
        assert_eq!([silent(500, 249), silent(500, 250)], [1, 2]);
        assert_eq!([silent(1200, 999), silent(1200, 1000)], [1, 2]);
        let found = run(&[(0, true, 1200), (1, true, 500), (301, true, 1200)]);
        assert_eq!(found[1], (true, 1, 0, 260), "since it was acknowledged");
    }

    #[test]
    fn an_answer_may_have_stood_in_the_queue_since_the_link_last_paused() {
        let mut passed = super::super::stood::Passed::default();
        let busy = (0..200).map(|n| n * MS).chain((400..=450).map(|n| n * MS));
        busy.for_each(|at| passed.add(at, 1500, [false; 2]));
        let seen = [(0, false, 300), (150, true, 1200), (151, true, 500), (380, false, 300), (450, true, 500)];
        let (told, without) = (told(&seen, &passed.busy(0)), run(&seen));
        assert_eq!([without[1].3, without[3].3], [110, 30]);
        assert_eq!([told[1].3, told[3].3], [0, 0], "150 and 50 ms");
        let seen = [(0, false, 300), (450, true, 1200)];
        assert_eq!([run(&seen)[1].3, self::told(&seen, &passed.busy(0))[1].3], [410, 359], "of 410 ms 51");
    }

    #[test]
    fn who_stood_in_a_queue_was_not_silent_for_so_long() {
        let mut passed = super::super::stood::Passed::default();
        (0..400).for_each(|n| passed.add(n * MS, 1500, [false; 2]));
        let seen = [(0, true, 1200), (1, true, 500), (301, true, 1200)];
        assert_eq!([run(&seen).len(), told(&seen, &passed.busy(0)).len()], [2, 1]);
    }

    #[test]
    fn a_stream_under_way_when_the_capture_ends_goes_on() {
        let goes_on = |count: i64, last: u64, over: i64| {
            let mut seen: Vec<_> = (0..count).map(|n| (n, true, 1200)).collect();
            seen.push((count, true, last));
            let link = Busy::default();
            let ends = [0, 40 * MS].map(|round| End { round, waits: Host::default(), link: &link });
            turns(0, &datagrams(&seen), &ends, (count + over) * MS).goes_on
        };
        assert_eq!(goes_on(40, 1200, 900), [false, true]);
        assert_eq!([goes_on(40, 1200, 1000), goes_on(40, 500, 900), goes_on(20, 1200, 900)], [[false; 2]; 3]);
    }

    #[test]
    fn the_handshake_tells_the_round_trip_and_who_is_beside_the_capture() {
        let of = |seen: &[(i64, bool, u64)]| {
            let found = answers(0, &datagrams(seen));
            (found.map(|answer| answer.map(|answer| answer.took() / MS)), beside(found))
        };
        let client = [(0, false, 1200), (1, false, 1200), (45, true, 1200), (46, true, 800), (48, false, 90)];
        assert_eq!(of(&client), ([Some(0), Some(45)], Some(0)));
        let server = [(0, false, 1200), (2, true, 1200), (3, true, 800), (43, false, 90)];
        assert_eq!(of(&server), ([Some(41), Some(0)], Some(1)));
        for (there, back) in [(20, 23), (9, 36), (10, 80)] {
            let between = [(0, false, 1200), (there, true, 1200), (there + back, false, 90)];
            assert_eq!(of(&between), ([Some(back), Some(there)], None));
        }
        // Sent again, answered by nobody, or by one alone.
        assert_eq!(of(&[(0, false, 1200), (300, false, 1200), (345, true, 1200)]), ([None; 2], None));
        assert_eq!(of(&[(0, false, 1200)]), ([None; 2], None));
        assert_eq!(of(&[(0, false, 1200), (45, true, 1200)]), ([None, Some(45)], None));
        assert_eq!(of(&[(0, true, 1200), (45, true, 1200)]), ([None; 2], None));
    }
}
