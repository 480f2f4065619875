//! Captures that show packets where they were dropped, as those of emulated queues do: they tell of no delay.

use sojourn_pcap::delay::summary::summary;
use sojourn_pcap::read::Capture;
use sojourn_pcap::write::{Datagram, End, Header, Pcapng};
use sojourn_pcap::{Meter, Options};
use std::io::Cursor;
use std::net::Ipv4Addr;

const MS: u64 = 1_000_000;
const START: u64 = 1_700_000_000_000_000_000;

/// A queue that is filled up to 60 ms and is seen where it ends: of each packet when it left, and when it was dropped
/// with this comment on it.
fn capture(comment: &str) -> Vec<u8> {
    let [remote, local] = [(2, 4000), (1, 80)].map(|(n, port)| End { address: Ipv4Addr::new(10, 0, 0, n), port });
    let mut seen: Vec<(u64, bool, u32)> = Vec::new();
    let mut free = 0;
    for i in 0..4000u32 {
        let arrives = u64::from(i) * 2 * MS;
        let wait = free.max(arrives) - arrives;
        let dropped = wait >= 60 * MS || (i % 400 > 200 && i % 2 > 0);
        if !dropped {
            free = arrives + wait + if i % 400 > 200 { 3 * MS } else { 5 * MS };
        }
        seen.push((arrives + if dropped { 0 } else { wait }, dropped, i));
    }
    seen.sort_unstable();
    let mut out = Pcapng::new(Vec::new(), &["down"]).unwrap();
    for (time, dropped, i) in seen {
        let stamps = Some((((START / MS) as u32).wrapping_add(2 * i), 0));
        let header = Header::Tcp { seq: 1 + i * 1000, ack: 1, flags: 16, stamps, sack: Default::default(), mss: None };
        let packet =
            Datagram { source: remote, destination: local, id: i as u16, ttl: 60, ecn: 0, payload: 1000, header };
        let (frame, wire_len) = packet.frame();
        out.frame(0, START + 20 * MS + time, (&frame, wire_len), if dropped { comment } else { "" }).unwrap();
    }
    out.finish().unwrap()
}

/// Frames, what was left out, and delays of all packets from the remote host.
fn measured(bytes: Vec<u8>) -> (u64, serde_json::Value, Vec<f64>) {
    let mut capture = Capture::from_stream(Cursor::new(bytes), "memory").unwrap();
    let mut meter = Meter::new(Options::default());
    while let Some(frame) = capture.next_frame().unwrap() {
        meter.frame(&frame);
    }
    let delays = meter.finalize().map(|sample| sample.delay_ns).collect();
    (meter.frames(), summary(&meter, 1), delays)
}

#[test]
fn what_was_dropped_where_it_was_captured_tells_of_no_delay() {
    let (frames, summary, delays) = measured(capture("dropped: full"));
    let dropped = summary["skipped"]["dropped_where_captured"].as_u64().unwrap();
    assert!(dropped > 1000, "{dropped}");
    assert_eq!((frames, delays.len() as u64), (4000, 4000 - dropped));
    assert_eq!(summary["discarded"].as_object().unwrap().len(), 0, "none was overtaken: {}", summary["discarded"]);
    // A comment on something else leaves nothing out.
    let (_, summary, delays) = measured(capture("marked: congestion experienced"));
    assert!(summary["skipped"].as_object().unwrap().is_empty() && delays.len() < 4000, "{summary}");
}
