//! The records of a run, from events written by hand.

use sojourn_emu::event::{Event, SNAPSHOT};
use sojourn_emu::frame::Headers;
use sojourn_emu::ledger::{Ledger, Outputs};
use sojourn_net::log::Kind;
use sojourn_net::probe::DropCause;
use sojourn_net::{Ecn, Span, Time};
use sojourn_pcap::read::Capture;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_packet_is_in_the_capture_at_every_link_that_decided_about_it() {
    let link = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}"#;
    let hop = |name| format!(r#"{{"name": "{name}", "delay": "1ms", "up": {link}, "down": {link}}}"#);
    let hops = ["near", "far"].map(hop).join(",");
    let path = format!(r#"{{"duration": "1s", "path": {{"rtt": "10ms", "hop": [{hops}]}}}}"#);
    let scenario = serde_json::from_str(&path).unwrap();
    let (file, (mut heads, snapshots)) = (Memory::default(), rtrb::RingBuffer::new(4));
    let mut head = [0; SNAPSHOT];
    head[0] = 0x45;
    let outputs = Outputs { capture: Some((Box::new(file.clone()), 0)), ..Outputs::default() };
    let mut ledger = Ledger::new(&scenario, (1, 0), outputs, Some(snapshots)).unwrap();
    let (flow, ecn, pair) = (1, Ecn::NotEct, 0);
    let headers = Headers { flow, kind: Kind::Datagram, ecn, seq: 0, length: 28, link_local: false, pair };
    // Down: first the far link (2), then the near one (0), where the second packet is dropped.
    for journey in [0, 1] {
        heads.push((journey, head)).unwrap();
        let (row, size, waited) = (journey, 60, Span::ZERO);
        let at = |ms: u64| Time(u64::from(journey) * 20_000_000 + ms * 1_000_000);
        ledger.take(Event::Enqueued { link: 2, row, at: at(0), size, journey, headers }).unwrap();
        ledger.take(Event::Dequeued { link: 2, row, at: at(0), waited }).unwrap();
        ledger.take(Event::Enqueued { link: 0, row, at: at(2), size, journey, headers }).unwrap();
        ledger
            .take(match journey {
                0 => Event::Dequeued { link: 0, row, at: at(2), waited },
                _ => Event::Dropped { link: 0, row, at: at(2), waited, cause: DropCause::Early },
            })
            .unwrap();
    }
    ledger.finish(Time(1_000_000_000)).unwrap();
    let mut capture = Capture::from_stream(io::Cursor::new(file.0.lock().unwrap().clone()), "memory").unwrap();
    let mut times = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        times.push(frame.time_ns / 1_000_000);
    }
    assert_eq!(times, [0, 2, 20, 22]);
}
