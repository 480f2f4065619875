//! Conversations written packet by packet, and what comes of them.

use super::*;
use crate::decode::tcp::{ACK, FIN, RST, SYN};
use crate::read::Frame;
use crate::write::{Datagram, End, Header};
use proptest::prelude::*;
use std::net::Ipv4Addr;

mod answers;
mod streams;
mod waits;

const MS: i64 = 1_000_000;

/// A packet: time in ms, by the opener or not, flags, sequence number, acknowledgement, payload.
type Line = (i64, bool, u8, u32, u32, u16);

fn frames(lines: &[Line]) -> Vec<(i64, Vec<u8>, u32)> {
    let ends = [1, 2].map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: if n == 1 { 5000 } else { 443 } });
    lines
        .iter()
        .map(|&(at, opener, flags, seq, ack, payload)| {
            let (source, destination) = if opener { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
            let header = Header::Tcp { seq, ack, flags, stamps: None, sack: Default::default(), mss: None };
            let ttl = if opener { 64 } else { 55 };
            let (data, wire) = Datagram { source, destination, id: 1, ttl, ecn: 0, payload, header }.frame();
            (at * MS, data, wire)
        })
        .collect()
}

fn taken(frames: &[(i64, Vec<u8>, u32)]) -> Workload {
    taken_with(frames, Options::default())
}

fn taken_with(frames: &[(i64, Vec<u8>, u32)], options: Options) -> Workload {
    let mut extractor = Extractor::new(options);
    for (number, (time_ns, data, wire_len)) in frames.iter().enumerate() {
        let (number, wire_len) = (number as u64 + 1, *wire_len);
        extractor.frame(&Frame { number, time_ns: *time_ns, link: 1, wire_len, data, dropped: false, interface: None });
    }
    extractor.finish(&|_| None)
}

/// A request of 100 bytes that is thought about for 30 ms, an answer of 2000, and after 500 ms another request; the
/// round trip is 40 ms, the capture beside the opener.
const PAGE: &[Line] = &[
    (0, true, SYN, 9, 0, 0),
    (40, false, SYN | ACK, 999, 10, 0),
    (40, true, ACK, 10, 1000, 0),
    (45, true, ACK, 10, 1000, 100),
    (85, false, ACK, 1000, 110, 0),
    (115, false, ACK, 1000, 110, 1000),
    (116, false, ACK, 2000, 110, 1000),
    (116, true, ACK, 110, 3000, 0),
    (616, true, ACK, 110, 3000, 50),
    (656, false, ACK, 3000, 160, 0),
    (700, true, ACK | FIN, 160, 3000, 0),
    (740, false, ACK | FIN, 3000, 161, 0),
    (740, true, ACK, 161, 3001, 0),
];

fn turns(connection: &Recorded) -> Vec<(bool, u64, u64)> {
    connection.turns.iter().map(|turn| (turn.accepted, turn.bytes, turn.wait_ns / 1_000_000)).collect()
}

#[test]
fn a_page_is_its_turns() {
    let found = taken(&frames(PAGE));
    let [page] = &found.connections[..] else { panic!("one connection") };
    assert_eq!(turns(page), [(false, 100, 5), (true, 2000, 30), (false, 50, 500)]);
    assert_eq!((page.bytes, page.rtt_ns, page.duration_ns), ([150, 2000], Some(40_000_000), 740_000_000));
    assert!(!page.concurrent && !page.began_before && !page.cut && page.client_opens);
    assert!(found.sides_by_ttl && found.near_are_clients);
}

#[test]
fn where_no_router_lowers_hop_limits_the_time_to_an_answer_tells_the_sides() {
    let mut same = frames(PAGE);
    let routed = taken(&same);
    same.iter_mut().for_each(|(_, data, _)| data[14 + 8] = 64);
    let found = taken(&same);
    assert!(found.sides_by_ttl && found.near_are_clients);
    assert_eq!(found.busy, routed.busy);
    // Half way between two hosts neither answers at once.
    same.iter_mut().filter(|(_, data, _)| data[29] == 2).for_each(|(at, ..)| *at -= 20 * MS);
    same.sort_by_key(|frame| frame.0);
    assert!(!taken(&same).sides_by_ttl);
}

#[test]
fn a_server_that_asks_for_names_is_no_client() {
    // Beside a server whose port is not well known, and which asks a server of names about each page before it answers.
    let mut both = frames(PAGE);
    for (_, data, _) in &mut both {
        let opener = data[29] == 1;
        data[14 + 8] = if opener { 55 } else { 64 };
        let at = if opener { 36 } else { 34 };
        data[at..at + 2].copy_from_slice(&8080u16.to_be_bytes());
    }
    let [server, names] = [(2, 40_000), (9, 53)].map(|(n, port)| End { address: Ipv4Addr::new(10, 0, 0, n), port });
    for n in 0..3 {
        let source = End { port: server.port + n, ..server };
        let asked = Datagram { source, destination: names, id: 1, ttl: 64, ecn: 0, payload: 40, header: Header::Udp };
        let (data, wire) = asked.frame();
        both.push((i64::from(n) * MS, data, wire));
    }
    both.sort_by_key(|frame| frame.0);
    let found = taken(&both);
    assert!(found.sides_by_ttl && !found.near_are_clients);
    let opens: Vec<_> = found.connections.iter().map(|row| (row.tcp, row.client_opens)).collect();
    assert_eq!(opens, [(true, true), (false, false), (false, false), (false, false)]);
}

#[test]
fn losses_repairs_and_reordering_change_no_size() {
    let mut lines = PAGE.to_vec();
    lines.swap(5, 6);
    lines.insert(7, (116, false, ACK, 1000, 110, 1000));
    lines.insert(4, (84, true, ACK, 10, 1000, 100));
    let [page] = &taken(&frames(&lines)).connections[..] else { panic!("one connection") };
    assert_eq!(
        turns(page).iter().map(|turn| (turn.0, turn.1)).collect::<Vec<_>>(),
        [(false, 100), (true, 2000), (false, 50)]
    );
}

#[test]
fn of_one_direction_the_acknowledgements_tell_the_other() {
    for opener in [true, false] {
        let half: Vec<Line> = PAGE.iter().copied().filter(|line| line.1 == opener).collect();
        let [page] = &taken(&frames(&half)).connections[..] else { panic!("one connection") };
        assert_eq!(page.bytes, [150, 2000], "only the opener's: {opener}");
        assert_eq!(page.seen, [opener, !opener]);
    }
}

#[test]
fn a_connection_that_began_before_and_goes_on_after() {
    let [page] = &taken(&frames(&PAGE[3..9])).connections[..] else { panic!("one connection") };
    assert!(page.began_before && page.cut);
    assert_eq!(page.bytes, [150, 2000]);
}

#[test]
fn who_had_more_to_send_when_the_capture_ended_goes_on() {
    let goes_on = |lines: &[Line]| taken(&frames(lines)).connections[0].goes_on;
    assert_eq!(goes_on(&PAGE[..7]), [false, true], "two full segments, and no end");
    assert_eq!(goes_on(&PAGE[..9]), [false; 2], "they were the whole answer");
    assert_eq!(goes_on(PAGE), [false; 2]);
    let last = |by_opener, flags, payload, at| (at, by_opener, flags, 3000, 110, payload);
    for (line, more) in [
        (last(false, ACK, 1000, 200), true),
        (last(false, ACK, 999, 200), false),
        (last(false, ACK | FIN, 1000, 200), false),
        (last(false, RST, 0, 200), false),
        // Somebody else is seen until then: four timers in a row have been over by the second.
        ((14_900, true, ACK, 110, 3000, 0), true),
        ((15_300, true, ACK, 110, 3000, 0), false),
    ] {
        assert_eq!(goes_on(&[&PAGE[..7], &[line]].concat()), [false, more], "{line:?}");
    }
}

#[test]
fn who_sends_short_pieces_or_has_heard_of_the_last_had_no_more_to_send() {
    let ends = |second: i64, piece: u16, heard: i64| {
        let beats = [(0, true, SYN, 9, 0, 0), (40, false, SYN | ACK, 999, 10, 0), (40, true, ACK, 10, 1000, 0)];
        let (next, all) = (10 + u32::from(piece), 10 + 2 * u32::from(piece));
        let own = [(100, true, ACK, 10, 1000, piece), (second, true, ACK, next, 1000, piece)];
        let mut lines: Vec<Line> = [&beats[..], &own, &[(heard, false, ACK, 1000, next, 0)]].concat();
        lines.push((heard + 100, false, ACK, 1000, all, 0));
        lines.sort_unstable_by_key(|line| line.0);
        taken(&frames(&lines)).connections[0].goes_on[0]
    };
    for (second, piece, more) in [(130, 1000, true), (130, 524, true), (130, 523, false), (200, 1000, false)] {
        assert_eq!(ends(second, piece, 140), more, "{second} {piece}");
    }
    // A queue holds its answer back. Who has more to send does so within a round trip.
    assert_eq!([140, 141].map(|second| ends(second, 1000, 260)), [true, false]);
}

#[test]
fn ends_that_send_at_once_are_concurrent() {
    let lines = [
        (0, true, SYN, 9, 0, 0),
        (40, false, SYN | ACK, 999, 10, 0),
        (40, true, ACK, 10, 1000, 1000),
        (50, false, ACK, 1000, 10, 1000),
        (60, true, ACK, 1010, 1000, 1000),
        (90, false, ACK, 2000, 2010, 1000),
        (100, true, ACK, 2010, 3000, 1000),
        (140, false, ACK, 3000, 3010, 0),
        (440, true, ACK, 3010, 3000, 10),
    ];
    let [both] = &taken(&frames(&lines)).connections[..] else { panic!("one connection") };
    assert!(both.concurrent);
    assert_eq!(both.bytes, [3010, 2000]);
    // The other, whose segments may be full, may have been at it all the while; the opener had been acknowledged.
    let expected = [(false, 2000, 0, 0), (true, 2000, 0, 0), (false, 1000, 10, 2000)];
    assert_eq!(heard(both), [&expected[..], &[(false, 10, 300, 0)]].concat());
}

/// Turns with what their ends had heard of the other.
fn heard(connection: &Recorded) -> Vec<(bool, u64, u64, u64)> {
    connection
        .turns
        .iter()
        .zip(turns(connection))
        .map(|(turn, (by, bytes, wait))| (by, bytes, wait, turn.heard))
        .collect()
}

/// A greeting, and its answer of 2900 bytes; a request, and another 20 ms later, before the first is answered.
const SECURE: &[Line] = &[
    (0, true, SYN, 9, 0, 0),
    (40, false, SYN | ACK, 999, 10, 0),
    (40, true, ACK, 10, 1000, 600),
    (80, false, ACK, 1000, 610, 1500),
    (82, false, ACK, 2500, 610, 1400),
    (85, true, ACK, 610, 3900, 680),
    (105, true, ACK, 1290, 3900, 300),
    (140, false, ACK, 3900, 1290, 1500),
    (141, false, ACK, 5400, 1290, 1500),
    (145, false, ACK, 6900, 1590, 1500),
    (146, false, ACK, 8400, 1590, 700),
    (146, true, ACK, 1590, 9100, 0),
    (150, true, ACK, 1590, 9100, 70),
    (190, false, ACK, 9100, 1660, 90),
];

#[test]
fn ends_that_send_at_once_wait_for_what_they_have_heard() {
    let [both] = &taken(&frames(SECURE)).connections[..] else { panic!("one connection") };
    assert!(both.concurrent);
    // What came while the answer was being sent is answered by it; the second request waited for nothing that came.
    let expected = [(false, 600, 0, 0), (true, 2900, 0, 600), (false, 980, 3, 2900), (true, 5200, 0, 1280)];
    assert_eq!(heard(both), [&expected[..], &[(false, 70, 4, 8100), (true, 90, 0, 1650)]].concat());
}

#[test]
fn who_closed_first_is_known_where_the_other_end_had_heard_of_it() {
    let closes = |lines: &[Line]| taken(&frames(lines)).connections[0].closes_first;
    assert_eq!(closes(PAGE), [true, false]);
    let changed = |at: usize, line: Line| {
        let mut lines = PAGE.to_vec();
        lines[at] = line;
        closes(&lines)
    };
    assert_eq!(changed(10, (700, true, ACK, 160, 3000, 0)), [false, true], "the other one alone");
    assert_eq!(changed(11, (740, false, ACK | FIN, 3000, 160, 0)), [false; 2], "neither had heard of the other");
    assert_eq!(changed(10, (700, true, RST, 160, 3000, 0)), [true, false]);
    assert_eq!(closes(&PAGE[..9]), [false; 2], "nobody did");
    let half: Vec<Line> = PAGE.iter().copied().filter(|line| line.1).collect();
    assert_eq!(closes(&half), [false; 2], "the other end was not seen");
}

#[test]
fn the_same_ports_again_are_another_connection() {
    let mut lines = PAGE.to_vec();
    lines.extend(
        PAGE.iter().map(|&(at, by, flags, seq, ack, payload)| (at + 5000, by, flags, seq + 7777, ack + 7777, payload)),
    );
    let found = taken(&frames(&lines));
    assert_eq!(found.connections.iter().map(|connection| connection.bytes).collect::<Vec<_>>(), [[150, 2000]; 2]);
    assert_eq!(found.connections[1].start_ns, 5_000_000_000);
}

#[test]
fn who_is_taken_for_the_acceptor_opens_nothing() {
    // Both at one time: who resets a connection of which nothing is known is taken for its opener, and nothing has come
    // to it; the other one, to whom something has, asks for a connection.
    let mut four = frames(&[
        (0, true, ACK, 7, 1, 100),
        (1, false, ACK, 1, 107, 0),
        (2, true, RST, 7, 0, 0),
        (2, false, SYN, 7, 0, 0),
    ]);
    four[2].1[14 + 20] = 99;
    four[3].1[14 + 22] = 99;
    let found = taken(&four);
    assert_eq!(found.connections.len(), 2);
    assert!(found.connections.iter().all(|connection| connection.after.is_none()));
}

#[test]
fn a_fin_is_none_of_the_bytes_that_had_come() {
    // Each page is asked for 2 ms after the last data of the one before were acknowledged, and 1 ms after its FIN was,
    // by a host away from the capture.
    let page = [
        &PAGE[..8],
        &[(117, false, ACK | FIN, 3000, 110, 0), (117, true, ACK | FIN, 110, 3001, 0), (117, false, ACK, 3001, 111, 0)],
    ];
    let mut pages = Vec::new();
    for k in 0..12 {
        pages.extend(frames(&page.concat()).into_iter().map(|(at, mut data, wire)| {
            let by_opener = data[29] == 1;
            data[14 + 8] = if by_opener { 55 } else { 64 };
            data[if by_opener { 35 } else { 37 }] = k;
            (at + i64::from(k) * 118 * MS, data, wire)
        }));
    }
    let pages = taken(&pages).connections;
    let after = |page: &Recorded| page.after.map(|after| (after.number, after.bytes, after.wait_ns));
    let expected = |k: u32| Some((k.checked_sub(1)?, 2000, 2_000_000));
    assert_eq!(pages.iter().map(after).collect::<Vec<_>>(), (0..12).map(expected).collect::<Vec<_>>());
}

#[test]
fn datagrams_are_kept_one_by_one() {
    let ends = [1, 2].map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: n.into() });
    let sent: Vec<_> = (0..5)
        .map(|k| {
            let datagram = Datagram {
                source: ends[0],
                destination: ends[1],
                id: k,
                ttl: 64,
                ecn: 0,
                payload: 172,
                header: Header::Udp,
            };
            let (data, wire) = datagram.frame();
            (i64::from(k) * 20 * MS, data, wire)
        })
        .collect();
    let [flow] = &taken(&sent).connections[..] else { panic!("one flow") };
    assert!(!flow.tcp);
    assert_eq!(turns(flow), [(false, 172, 0), (false, 172, 20), (false, 172, 20), (false, 172, 20), (false, 172, 20)]);
}

#[test]
fn memory_is_bounded() {
    let mut extractor = Extractor::new(Options { most_connections: 3, most_turns: 10 });
    for k in 0..1000u16 {
        let end = |n: u8, port| End { address: Ipv4Addr::new(10, 0, 0, n), port };
        let datagram = Datagram {
            source: end(1, k % 7),
            destination: end(2, 9),
            id: k,
            ttl: 64,
            ecn: 0,
            payload: 10,
            header: Header::Udp,
        };
        let (data, wire_len) = datagram.frame();
        extractor.frame(&Frame {
            number: 1,
            time_ns: i64::from(k),
            link: 1,
            wire_len,
            data: &data,
            dropped: false,
            interface: None,
        });
    }
    let found = extractor.finish(&|_| None);
    assert_eq!(found.connections.len(), 3);
    assert_eq!(found.connections.iter().map(|flow| flow.turns.len()).sum::<usize>(), 10);
    assert_eq!(found.beyond_bound, 990);
}

#[test]
fn beyond_the_bound_bytes_belong_to_the_last_turn_of_their_end() {
    // A second answer, of 300 bytes, that is in the capture, or that only its acknowledgement tells.
    for captured in [true, false] {
        let mut lines = PAGE[..10].to_vec();
        lines.extend(captured.then_some((680, false, ACK, 3000, 160, 300)));
        lines.push((680, true, ACK, 160, 3300, 0));
        for (most_turns, expected) in [
            (4, vec![(false, 100), (true, 2000), (false, 50), (true, 300)]),
            (3, vec![(false, 100), (true, 2300), (false, 50)]),
            (2, vec![(false, 150), (true, 2300)]),
        ] {
            let found = taken_with(&frames(&lines), Options { most_turns, ..Options::default() });
            let [page] = &found.connections[..] else { panic!("one connection") };
            let sizes: Vec<_> = turns(page).iter().map(|turn| (turn.0, turn.1)).collect();
            assert_eq!(sizes, expected, "{captured} {most_turns}");
        }
    }
}

proptest! {
    /// Any mutation of a conversation, and any numbers: no panic, and no more bytes than a window allows.
    #[test]
    fn nothing_makes_it_panic(
        changes in proptest::collection::vec((0usize..13, any::<i64>(), any::<bool>(), any::<u8>(), any::<u32>(), any::<u32>(), any::<u16>()), 0..40),
    ) {
        let mut lines = PAGE.to_vec();
        for (at, time, by, flags, seq, ack, payload) in changes {
            lines.insert(at, (time % 1_000_000_000, by, flags, seq, ack, payload % 60_000));
        }
        let found = taken(&frames(&lines));
        for connection in &found.connections {
            prop_assert_eq!(connection.bytes.iter().sum::<u64>(), connection.turns.iter().map(|turn| turn.bytes).sum::<u64>());
        }
    }
}

#[test]
fn hosts_that_speak_quic_alone_stand_where_their_handshake_says() {
    let end = |n| End { address: Ipv4Addr::new(10, 0, 0, n), port: 7000 };
    // By time in ms, and whether the opener sends: beside the opener, and beside the other end.
    for (beside_opener, seen) in
        [(true, [(0, true), (45, false), (47, true)]), (false, [(0, true), (2, false), (43, true)])]
    {
        let mut extractor = Extractor::new(Options::default());
        for (number, (ms, opener)) in (1..).zip(seen) {
            let (source, destination) = if opener { (end(1), end(2)) } else { (end(2), end(1)) };
            let header = Header::Quic { long: true, masked: 0, id: 7 };
            let packet = Datagram { source, destination, id: 1, ttl: 64, ecn: 0, payload: 1200, header };
            let (data, wire_len) = packet.frame();
            let (time_ns, dropped, interface) = (ms * 1_000_000, false, None);
            extractor.frame(&Frame { number, time_ns, link: 1, wire_len, data: &data, dropped, interface });
        }
        let found = extractor.finish(&|_| None);
        assert_eq!((found.sides_by_ttl, found.near_are_clients), (true, beside_opener));
        assert!(found.connections.len() == 1 && found.connections[0].client_opens && found.connections[0].quic);
    }
}
