//! What an end writes by its own clock: a film in pieces, the words of an answer.

use super::super::connection::Connection;
use super::super::header::Extra;
use super::super::waits::Host;
use super::*;
use crate::decode::tcp::Segment;

/// A turn: by the other end, bytes, what was waited in ms, and whether it was written by the clock.
type Piece = (bool, u64, u64, bool);

/// A packet: time in ms, by whom, numbers, payload.
type Packet = (i64, usize, [u32; 2], u32);

/// The turns of a connection whose ends offer segments of 1460 bytes, beside the opener (`far` is 1) or the other; the
/// far end is 40 ms away, and packets to it and from it wait for 30 and 200 ms all the while.
fn pieces(far: usize, packets: &[Packet]) -> Vec<Piece> {
    let mut connection = Connection::new(0, true);
    let mss = Extra { mss: Some(1460), ..Extra::default() };
    let mut pass = |at: i64, by: usize, ends, flags, payload, extra| {
        connection.segment(by, &Segment::new(ends, flags, payload).with(None, None), extra, at * MS, true);
    };
    pass(0, 0, [9, 0], SYN, 0, Some(mss));
    pass(270, 1, [99, 10], SYN | ACK, 0, Some(mss));
    for &(at, by, ends, payload) in packets {
        pass(at, by, ends, ACK, payload, None);
    }
    let [to, from] = [30, 200].map(|wait| (0..200).map(|at| (at * 10 * MS, wait * MS)).collect::<Vec<_>>());
    let (mut rounds, mut hosts) = ([0; 2], [Host::default(); 2]);
    (rounds[far], hosts[far]) = (40 * MS, Host { from: &from, to: &to, ..Host::default() });
    let turns = connection.waited(rounds, hosts, [1448; 2], [1448; 2]);
    turns.iter().map(|turn| (turn.accepted, turn.bytes, turn.wait_ns / 1_000_000, turn.streamed)).collect()
}

/// Of the opener: so many bytes at each time, none of which is acknowledged.
fn written(at: &[(i64, u32)]) -> Vec<Packet> {
    let mut seq = 10;
    let packet = |&(at, payload): &(i64, u32)| {
        seq += payload;
        (at, 0, [seq - payload, 100], payload)
    };
    at.iter().map(packet).collect()
}

#[test]
fn who_had_sent_all_and_writes_more_does_so_by_the_clock() {
    let near = |at: &[(i64, u32)]| pieces(1, &written(at));
    assert_eq!(
        near(&[(270, 300), (290, 200), (350, 700)]),
        [(false, 300, 0, false), (false, 200, 20, true), (false, 700, 60, true)]
    );
    assert_eq!(near(&[(270, 300), (272, 200)]), [(false, 500, 0, false)], "at once");
    assert_eq!(near(&[(270, 1448), (290, 200)]), [(false, 1648, 0, false)], "its segment was full");
    // Less than the other end takes by so much that no way would cut it: not full, though two come at once.
    assert_eq!(near(&[(270, 1000), (271, 1000), (300, 9)]), [(false, 2000, 0, false), (false, 9, 30, true)]);
    assert_eq!(near(&[(270, 1448), (271, 52), (290, 9)]), [(false, 1500, 0, false), (false, 9, 20, true)]);
}

#[test]
fn who_sends_with_an_acknowledgement_may_have_waited_for_it() {
    // The opener, near, of whose first bytes an acknowledgement comes; then it sends more.
    let more = |first: u32, acknowledged: u32, after: i64| {
        let packets = [
            written(&[(270, first)]),
            vec![(500, 1, [100, 10 + acknowledged], 0)],
            vec![(500 + after, 0, [10 + first, 100], 50)],
        ];
        pieces(1, &packets.concat())[1..].to_vec()
    };
    assert_eq!(more(300, 300, 1), [(false, 50, 1, false)], "short ones wait for it (Nagle)");
    assert_eq!(more(300, 300, 2), [(false, 50, 232, true)]);
    assert_eq!(more(300, 100, 1), [(false, 50, 231, true)], "so little is sent without");
    assert_eq!(more(9000, 100, 1), [], "its window was full");
    assert_eq!(more(9000, 100, 2), [(false, 50, 232, true)]);
    // It had been open for 10 ms.
    let open = [(500, 1, [100, 110], 0), (510, 1, [100, 1458], 0), (510, 0, [9010, 100], 50)];
    let packets = [&written(&[(270, 9000)])[..], &open].concat();
    assert_eq!(pieces(1, &packets)[1..], [(false, 50, 240, true)]);
}

#[test]
fn who_wrote_for_long_may_have_waited_for_room() {
    // Half a second in which nothing was sent and all had been acknowledged.
    let more = |second: i64| {
        let packets = [
            (270, 0, [10, 100], 8688),
            (540, 1, [100, 8698], 0),
            (second, 0, [8698, 100], 700),
            (700, 1, [100, 9398], 0),
            (1200, 0, [9398, 100], 50),
        ];
        let mut packets = packets.to_vec();
        packets.sort_by_key(|packet| packet.0);
        *pieces(1, &packets).last().expect("a turn")
    };
    assert_eq!(more(271), (false, 50, 930, true), "all of it was sent at once");
    assert_eq!(more(540), (false, 50, 500, false), "the rest when the first was acknowledged");
    // So it is of full segments that follow each other.
    let follows = [
        (270, 0, [10, 100], 1448),
        (270, 0, [1458, 100], 1448),
        (540, 1, [100, 2906], 0),
        (540, 0, [2906, 100], 1448),
        (540, 0, [4354, 100], 100),
        (700, 1, [100, 4454], 0),
        (1200, 0, [4454, 100], 50),
    ];
    assert_eq!(pieces(1, &follows)[1..], [(false, 50, 500, false)]);
    // What it waited for before is no matter of what comes after that.
    let again = [
        (270, 0, [10, 100], 8688),
        (540, 1, [100, 8698], 0),
        (540, 0, [8698, 100], 700),
        (700, 1, [100, 9398], 0),
        (1200, 0, [9398, 100], 50),
        (1400, 1, [100, 9448], 0),
        (1900, 0, [9448, 100], 60),
    ];
    assert_eq!(pieces(1, &again)[1..], [(false, 50, 500, false), (false, 60, 700, true)]);
}

#[test]
fn a_far_end_writes_by_the_clock_where_its_queue_is_known_and_little_is_under_way() {
    // Beside the acceptor.
    let far = |at: &[(i64, u32)]| pieces(0, &written(at))[1..].to_vec();
    assert_eq!(far(&[(500, 300), (511, 200)]), [(false, 200, 11, true)]);
    assert_eq!(far(&[(500, 300), (510, 200)]), [], "a queue may have parted them");
    let chunks = |second: i64| far(&[(500, 5000), (second, 200)]);
    // Round trip, queues and what an acknowledgement is held back are 310 ms.
    assert_eq!(chunks(810), [(false, 200, 310, true)]);
    assert_eq!(chunks(809), [], "it may have waited for an acknowledgement");
}

#[test]
fn the_pause_after_a_first_flight_of_one_segment_shows_its_window() {
    // One segment alone tells of none that it is full.
    let mut connection = Connection::new(0, true);
    let mss = Extra { mss: Some(1460), ..Extra::default() };
    let mut pass = |at: i64, by: usize, ends, flags, payload, stamps, extra| {
        let segment = Segment::new(ends, flags, payload).with(Some(stamps), None);
        connection.segment(by, &segment, extra, at * MS, true);
    };
    pass(0, 0, [9, 0], SYN, 0, (100, 0), Some(mss));
    pass(40, 1, [99, 10], SYN | ACK, 0, (700, 100), Some(mss));
    pass(40, 0, [10, 100], ACK, 1448, (140, 700), None);
    pass(80, 1, [100, 1458], ACK, 0, (740, 140), None);
    pass(81, 0, [1458, 100], ACK, 1448, (181, 740), None);
    pass(81, 0, [2906, 100], ACK, 1448, (181, 740), None);
    assert_eq!(connection.flights[0].segments(Some(1460)), Some(1));
}
