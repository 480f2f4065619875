//! What SYNs waited on their way is told by their answers.

use sojourn_pcap::read::Capture;
use sojourn_pcap::write::{Datagram, End, Header, Pcapng};
use sojourn_pcap::{Meter, Options};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::net::Ipv4Addr;

const MS: u64 = 1_000_000;
const START: u64 = 1_700_000_000_000_000_000;
const ROUND_TRIP: u64 = 40 * MS;

/// Connections that a host beside the observer opens forty seconds apart, and whose SYNs waited so long (ns): their
/// frames, and the delays found on the way to the remote host, by frame. Later packets, for 20 seconds, by which the
/// tick of the remote host's clock is known, meet both queues empty.
fn measured(waits: &[u64]) -> (Vec<u64>, BTreeMap<u64, f64>) {
    let mut out = Pcapng::new(Vec::new(), &["near the client"]).unwrap();
    let (mut frames, mut syns) = (0, Vec::new());
    for (connection, wait) in (0u32..).zip(waits) {
        let local = End { address: Ipv4Addr::new(10, 0, 0, 1), port: 40_000 + connection as u16 };
        let remote = End { address: Ipv4Addr::new(10, 0, 0, 2), port: 80 };
        let stamp = |time: u64, up: bool| ((START + time) / MS) as u32 + u32::from(up) * 1000;
        let mut send = |time: u64, up: bool, (seq, ack, flags, payload), echo| {
            let (source, destination) = if up { (local, remote) } else { (remote, local) };
            let header = Header::Tcp {
                seq,
                ack,
                flags,
                stamps: Some((stamp(time, up), echo)),
                sack: Default::default(),
                mss: None,
            };
            out.datagram(0, START + time, &Datagram { source, destination, id: 1, ttl: 64, ecn: 0, payload, header })
                .unwrap();
            frames += 1;
            frames
        };
        let began = u64::from(connection) * 40_000 * MS;
        let answered = began + wait + ROUND_TRIP;
        syns.push(send(began, true, (0, 0, 2, 0), 0));
        send(answered, false, (0, 1, 18, 0), stamp(began, true));
        for n in 0..8 {
            let at = answered + MS / 20 + u64::from(n) * 3041 * MS;
            // Of two segments no receiver delays the acknowledgement.
            for segment in [2 * n, 2 * n + 1] {
                send(at, true, (1 + segment * 1000, 1, 16, 1000), stamp(answered, false));
            }
            send(at + ROUND_TRIP, false, (1, 2001 + n * 2000, 16, 0), stamp(at, true));
        }
    }
    let mut capture = Capture::from_stream(Cursor::new(out.finish().unwrap()), "memory").unwrap();
    let mut meter = Meter::new(Options::default());
    while let Some(frame) = capture.next_frame().unwrap() {
        meter.frame(&frame);
    }
    let toward =
        meter.finalize().filter(|sample| sample.toward).map(|sample| (sample.frame, sample.delay_ns)).collect();
    (syns, toward)
}

#[test]
fn a_syn_is_timed_by_its_answer_if_that_came_before_it_could_be_sent_again() {
    let waits: Vec<u64> = (0..16).map(|n| [0, 30, 7, 959, 960, 2000, 300, 0][n % 8] * MS).collect();
    let (syns, delays) = measured(&waits);
    // Which host is near the observer is known from the first connection on.
    for (syn, wait) in syns.iter().zip(&waits).skip(1) {
        match delays.get(syn) {
            Some(delay) => assert!(*wait < 960 * MS && (delay - *wait as f64).abs() < 1e6, "{wait}: {delay}"),
            None => assert!(*wait >= 960 * MS, "{wait}"),
        }
    }
}
