//! Short TCP flows that begin while a uTP flow of the same host keeps the queue filled: their bases have to come from
//! other flows.
//!
//! A first-in first-out queue of 1 Mbit/s, 20 ms of path either way, stamps that start at an offset of each flow's
//! own. The true delay is known exactly.

use sojourn_pcap::decode::utp;
use sojourn_pcap::read::Capture;
use sojourn_pcap::write::{Datagram, End, Header, Pcapng};
use sojourn_pcap::{Meter, Options, Protocol};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Cursor;
use std::net::Ipv4Addr;

const MS: u64 = 1_000_000;
const PATH: u64 = 20 * MS;
const START: u64 = 1_700_000_000_000_000_000;
const LOCAL: End = End { address: Ipv4Addr::new(10, 0, 0, 1), port: 5001 };

/// What happens at the remote host: (time, order, flow, stamp that an answer brought); flow 0 is uTP.
type Agenda = BinaryHeap<Reverse<(u64, u64, u32, u32)>>;

#[derive(Default)]
struct Flow {
    sent: u32,
    total: u32,
}

/// A capture near the receiver, and the true queueing delay (ns) of the frames from the remote host. Without `answers`
/// only their direction is captured.
fn capture(answers: bool) -> (Vec<u8>, BTreeMap<u64, u64>) {
    let mut agenda: Agenda = BinaryHeap::new();
    let mut order = 0;
    let mut at = |agenda: &mut Agenda, time: u64, flow: u32, echo: u32| {
        order += 1;
        agenda.push(Reverse((time, order, flow, echo)));
    };
    at(&mut agenda, 0, 0, 0);
    let mut flows: BTreeMap<u32, Flow> = BTreeMap::new();
    for n in 1..=40u32 {
        at(&mut agenda, 3000 * MS + u64::from(n) * 700 * MS + u64::from(n * 7919 % 500) * MS, n, 0);
        flows.insert(n, Flow { total: 10 + n % 30, ..Flow::default() });
    }
    // Seen by the observer: time, truth (or none for answers), packet.
    let mut seen: Vec<(u64, Option<u64>, Datagram)> = Vec::new();
    let (mut free_at, mut utp_seq) = (0u64, 0u16);
    while let Some(Reverse((now, _, n, echo))) = agenda.pop() {
        let mut through = |payload: u16| {
            let wait = free_at.saturating_sub(now);
            free_at = now.max(free_at) + u64::from(payload + 66) * 8000;
            (now + wait + PATH, wait)
        };
        let us = ((START + now) / 1000) as u32;
        if n == 0 {
            if now < 34_000 * MS {
                // Fills the queue up to 100 ms, as LEDBAT does.
                let (arrives, wait) = through(1400);
                let header =
                    utp::Header { kind: utp::DATA, connection: 9, stamp: us, difference: 0, seq: utp_seq, ack: 0 };
                let remote = End { address: Ipv4Addr::new(10, 0, 0, 2), port: 6881 };
                let packet = |source, destination, payload, header| Datagram {
                    source,
                    destination,
                    id: 1,
                    ttl: 60,
                    ecn: 0,
                    payload,
                    header,
                };
                seen.push((arrives, Some(wait), packet(remote, LOCAL, 1400, Header::Utp(header))));
                let reported = us.wrapping_add(((wait + PATH) / 1000) as u32);
                let answer = utp::Header {
                    kind: utp::STATE,
                    connection: 8,
                    stamp: reported,
                    difference: reported.wrapping_sub(us),
                    seq: 0,
                    ack: utp_seq,
                };
                seen.push((arrives + 50_000, None, packet(LOCAL, remote, 0, Header::Utp(answer))));
                utp_seq = utp_seq.wrapping_add(1);
                let next = if wait < 100 * MS { 9 } else { 40 };
                at(&mut agenda, now + next * MS, 0, 0);
            }
            continue;
        }
        let Some(flow) = flows.get_mut(&n) else { continue };
        let offset = n.wrapping_mul(0x9e37_79b9);
        let stamp = |time: u64| ((START + time) / MS) as u32;
        let remote = End { address: Ipv4Addr::new(10, 0, 0, 2), port: 40_000 + n as u16 };
        // A SYN, the handshake's third packet, then data: two for each answer, ten at first.
        let burst = match flow.sent {
            0 | 1 => 1,
            2 => 10,
            _ => 2,
        };
        for i in 0..burst {
            if flow.sent >= flow.total {
                break;
            }
            let (seq, flags, payload) = match flow.sent {
                0 => (0, 2, 0),
                1 => (1, 16, 0),
                data => (1 + (data - 2) * 1400, 16, 1400),
            };
            let (arrives, wait) = through(payload);
            let value = stamp(now).wrapping_add(offset);
            let header = Header::Tcp {
                seq,
                ack: u32::from(flow.sent > 0),
                flags,
                stamps: Some((value, echo)),
                sack: Default::default(),
                mss: None,
            };
            let packet = |source, destination, payload, header| Datagram {
                source,
                destination,
                id: (n * 100 + flow.sent) as u16,
                ttl: 60,
                ecn: 0,
                payload,
                header,
            };
            seen.push((arrives, Some(wait), packet(remote, LOCAL, payload, header)));
            let answered = flow.sent == 0 || (flow.sent > 1 && (i % 2 == 1 || burst == 1));
            if answered {
                let end = seq + u32::from(payload) + u32::from(flow.sent == 0);
                let (ms, flags) = (stamp(arrives + 50_000), if flow.sent == 0 { 18 } else { 16 });
                let header = Header::Tcp {
                    seq: u32::from(flow.sent > 0),
                    ack: end,
                    flags,
                    stamps: Some((ms, value)),
                    sack: Default::default(),
                    mss: None,
                };
                seen.push((arrives + 50_000, None, packet(LOCAL, remote, 0, header)));
                at(&mut agenda, arrives + 50_000 + PATH, n, ms);
            } else if flow.sent == 1 {
                at(&mut agenda, now, n, echo);
            }
            flow.sent += 1;
        }
    }
    seen.sort_by_key(|(time, ..)| *time);
    let mut out = Pcapng::new(Vec::new(), &["near the receiver"]).unwrap();
    let mut truth = BTreeMap::new();
    let mut frame = 0;
    for (time, wait, packet) in seen {
        if wait.is_none() && !answers {
            continue;
        }
        frame += 1;
        truth.extend(wait.map(|wait| (frame, wait)));
        out.datagram(0, START + time, &packet).unwrap();
    }
    (out.finish().unwrap(), truth)
}

/// Absolute errors (ms) of all TCP samples, sorted.
fn errors(answers: bool, log_packets: usize) -> Vec<f64> {
    let (bytes, truth) = capture(answers);
    let mut capture = Capture::from_stream(Cursor::new(bytes), "memory").unwrap();
    let mut meter = Meter::new(Options { log_packets, ..Options::default() });
    let mut errors = Vec::new();
    let mut finalize = |meter: &mut Meter| {
        for sample in meter.finalize().filter(|sample| sample.protocol == Protocol::Tcp && !sample.toward) {
            errors.push((sample.delay_ns - truth[&sample.frame] as f64).abs() / 1e6);
        }
    };
    while let Some(frame) = capture.next_frame().unwrap() {
        if meter.frame(&frame) {
            finalize(&mut meter);
        }
    }
    finalize(&mut meter);
    errors.sort_by(f64::total_cmp);
    errors
}

#[test]
fn round_trips_of_all_flows_tell_the_base() {
    let errors = errors(true, 1 << 20);
    assert!(errors.len() > 700, "{}", errors.len());
    let (median, p95) = (errors[errors.len() / 2], errors[errors.len() * 95 / 100]);
    assert!(median < 1.5 && p95 < 3.0, "median {median} ms, 95th percentile {p95} ms");
}

#[test]
fn the_utp_flow_tells_the_base_where_only_one_direction_is_seen() {
    let errors = errors(false, 1 << 20);
    assert!(errors.len() > 700, "{}", errors.len());
    let (median, p95) = (errors[errors.len() / 2], errors[errors.len() * 95 / 100]);
    assert!(median < 3.0 && p95 < 15.0, "median {median} ms, 95th percentile {p95} ms");
}

#[test]
fn a_small_log_tells_nearly_as_much() {
    let errors = errors(true, 1000);
    let (median, p95) = (errors[errors.len() / 2], errors[errors.len() * 95 / 100]);
    assert!(median < 2.0 && p95 < 10.0, "median {median} ms, 95th percentile {p95} ms");
}

#[test]
fn a_new_connection_between_the_same_ports_has_a_base_of_its_own() {
    let mut out = Pcapng::new(Vec::new(), &["near the receiver"]).unwrap();
    let remote = End { address: Ipv4Addr::new(10, 0, 0, 2), port: 4000 };
    for connection in 0..3u32 {
        let (isn, offset) = (connection * 1_000_000_007, connection.wrapping_mul(0x5555_5555));
        for i in 0..200u32 {
            let time = u64::from(connection) * 60_000 * MS + u64::from(i) * 10 * MS;
            // Every other packet waits for 5 ms.
            let wait = u64::from(i % 2) * 5 * MS;
            let value = ((START + time) / MS) as u32;
            let (seq, flags, payload) =
                if i == 0 { (isn, 2, 0) } else { (isn.wrapping_add(1 + (i - 1) * 1000), 16, 1000) };
            let header = Header::Tcp {
                seq,
                ack: 0,
                flags,
                stamps: Some((value.wrapping_add(offset), 0)),
                sack: Default::default(),
                mss: None,
            };
            let packet =
                Datagram { source: remote, destination: LOCAL, id: i as u16, ttl: 60, ecn: 0, payload, header };
            out.datagram(0, START + time + PATH + wait, &packet).unwrap();
        }
    }
    let mut capture = Capture::from_stream(Cursor::new(out.finish().unwrap()), "memory").unwrap();
    let mut meter = Meter::new(Options::default());
    while let Some(frame) = capture.next_frame().unwrap() {
        meter.frame(&frame);
    }
    let mut most = 0.0f64;
    let count = meter.finalize().map(|sample| most = most.max(sample.delay_ns / 1e6)).count();
    assert_eq!(count, 600);
    assert!((4.0..6.0).contains(&most), "{most} ms");
}
