//! Two captures of one queue whose losses are known.

use sojourn_pcap::matching::{MatchError, Summary, match_captures};
use sojourn_pcap::write::{Datagram, End, Header, Pcap};
use std::net::Ipv4Addr;
use std::path::PathBuf;

const START_NS: u64 = 1_700_000_000_000_000_000;
const STEP_NS: u64 = 1_000_000;
const OFFSET_NS: u64 = 250_000_000;

/// Datagrams with these numbers as they pass, each a millisecond after the one before and `late_ns` later.
fn capture(name: &str, numbers: impl Iterator<Item = u64>, late_ns: u64) -> PathBuf {
    let mut out = Pcap::new(Vec::new()).unwrap();
    for number in numbers {
        let end = |n, port| End { address: Ipv4Addr::new(10, 0, 0, n), port };
        // The queue grows and drains again: packets wait up to 0.4 ms.
        let wait = if late_ns == 0 { 0 } else { late_ns + number % 5 * 100_000 };
        let ttl = if late_ns == 0 { 64 } else { 63 };
        let (source, destination) = (end(1, 5000), end(2, 6000));
        let packet =
            Datagram { source, destination, id: number as u16, ttl, ecn: 0, payload: 200, header: Header::Udp };
        out.datagram(START_NS + number * STEP_NS + wait, &packet).unwrap();
    }
    let path = std::env::temp_dir().join(format!("sojourn-matching-{}-{name}.pcap", std::process::id()));
    std::fs::write(&path, out.finish().unwrap()).unwrap();
    path
}

fn compare(name: &str, egress: impl Iterator<Item = u64>) -> (Summary, Vec<(i64, u8)>) {
    between(name, 0..2000, egress)
}

fn between(
    name: &str,
    ingress: impl Iterator<Item = u64>,
    egress: impl Iterator<Item = u64>,
) -> (Summary, Vec<(i64, u8)>) {
    let front = capture(&format!("{name}-in"), ingress, 0);
    let behind = capture(&format!("{name}-out"), egress, OFFSET_NS);
    let mut fates = Vec::new();
    let summary = match_captures(&front, &behind, false, &mut |rows| {
        fates.extend(rows.depart_ns.iter().copied().zip(rows.drop_cause.iter().copied()));
        true
    });
    for path in [front, behind] {
        std::fs::remove_file(path).unwrap();
    }
    (summary.unwrap(), fates)
}

#[test]
fn loss_is_what_was_lost_of_what_arrived() {
    let (found, fates) = compare("every-tenth", (0..2000).filter(|number| number % 10 != 7));
    assert_eq!((found.ingress_pkts, found.egress_pkts, found.lost_pkts), (2000, 1800, 200));
    assert_eq!(found.loss, 200.0 / 2000.0);
    assert_eq!(found.capture.clock_offset_ns, OFFSET_NS as i64, "the shortest wait is zero");
    assert_eq!(found.capture.longest_wait_ns, 400_000);
    assert_eq!((found.capture.outside_pkts, found.capture.missed_in_front_pkts), (0, 0));
    for (number, (depart_ns, cause)) in fates.iter().enumerate() {
        let lost = number % 10 == 7;
        assert_eq!((*depart_ns < 0, *cause != 255), (lost, lost), "packet {number}");
    }
}

#[test]
fn what_came_before_the_second_capture_began_is_not_lost() {
    let (found, _) = compare("late", (300..2000).filter(|number| number % 10 != 7));
    assert_eq!(found.capture.outside_pkts, 300);
    assert_eq!((found.ingress_pkts, found.egress_pkts, found.lost_pkts), (1700, 1530, 170));
    assert_eq!(found.loss, 0.1);
}

#[test]
fn what_left_while_the_first_capture_did_not_run_was_not_missed_by_it() {
    let passed = |number: &u64| number % 10 != 7;
    let (found, _) = between("short", (200..1800).filter(|number| *number != 900), (0..2000).filter(passed));
    assert_eq!((found.capture.outside_front_pkts, found.capture.missed_in_front_pkts), (360, 1));
    assert_eq!((found.ingress_pkts, found.egress_pkts, found.lost_pkts), (1599, 1439, 160));
}

#[test]
fn what_is_on_a_longer_way_when_the_second_capture_ends_is_not_lost() {
    // Two hosts that send in turn; behind the queue the second's packets come in 30 ms later.
    let packet = |number: u64| {
        let end = |n, port| End { address: Ipv4Addr::new(10, 0, 0, n), port };
        let (source, destination) = (end(1 + (number % 2) as u8, 5000), end(9, 6000));
        Datagram { source, destination, id: number as u16, ttl: 64, ecn: 0, payload: 200, header: Header::Udp }
    };
    let file = |name: &str, mut times: Vec<(u64, u64)>| {
        times.sort_unstable();
        let mut out = Pcap::new(Vec::new()).unwrap();
        times.iter().for_each(|&(at, number)| out.datagram(START_NS + at, &packet(number)).unwrap());
        let path = std::env::temp_dir().join(format!("sojourn-farther-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, out.finish().unwrap()).unwrap();
        path
    };
    let arrives = |number: u64| number * STEP_NS;
    let leaves = |number: u64| arrives(number) + number % 2 * 30 * STEP_NS;
    let front = file("in", (0..2000).map(|number| (arrives(number), number)).collect());
    // What was lost before is; of what had been on its way at the end that is not known.
    for (lost, told) in [(1951, 1), (1991, 0)] {
        let behind = (0..2000).filter(|&number| number != lost && leaves(number) <= arrives(1999));
        let behind = file("out", behind.map(|number| (leaves(number), number)).collect());
        let summary = match_captures(&front, &behind, false, &mut |_| true).unwrap();
        assert_eq!((summary.lost_pkts, summary.capture.outside_pkts), (told, 15), "{lost}");
        std::fs::remove_file(behind).unwrap();
    }
    std::fs::remove_file(front).unwrap();
}

#[test]
fn whoever_takes_the_rows_may_stop_the_work_in_every_pass() {
    let (front, behind) = (capture("asked-in", 0..70_000, 0), capture("asked-out", 0..70_000, OFFSET_NS));
    // Both captures are read three times, and 65536 frames are one question.
    for most in 0..6 {
        let mut asked = 0;
        let found = match_captures(&front, &behind, false, &mut |rows| {
            assert!(asked > 5 || rows.flow.is_empty(), "{most}");
            asked += 1;
            asked <= most
        });
        assert!(matches!(found, Err(MatchError::Stopped)), "{most}");
        assert_eq!(asked, most + 1, "and nothing is asked after it was stopped");
    }
    for path in [front, behind] {
        std::fs::remove_file(path).unwrap();
    }
}
