//! The records of a run, from events written by hand.

use sojourn_emu::event::{Event, SNAPSHOT};
use sojourn_emu::frame::Headers;
use sojourn_emu::record::ledger::{Ledger, Outputs};
use sojourn_emu::record::rows::ROW;
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
    let pairs = ledger.finish(Time(1_000_000_000)).unwrap().pairs;
    // Both packets were sent once, though each crossed two links.
    assert_eq!((pairs[&pair].sent, pairs[&pair].dropped), ([2, 0], [1, 0]));
    let mut capture = Capture::from_stream(io::Cursor::new(file.0.lock().unwrap().clone()), "memory").unwrap();
    let mut times = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        times.push((frame.time_ns / 1_000_000, frame.dropped));
    }
    assert_eq!(times, [(0, false), (2, false), (20, false), (22, true)]);
}

const MS: u64 = 1_000_000;

/// A link each way; what arrives, is dropped and leaves at the one down (0), by its row.
struct ByHand(Ledger, u32);

impl ByHand {
    fn new(outputs: Outputs) -> Self {
        let link = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}"#;
        let path = format!(r#"{{"duration": "9s", "path": {{"rtt": "10ms", "down": {link}, "up": {link}}}}}"#);
        let scenario = serde_json::from_str(&path).unwrap();
        Self(Ledger::new(&scenario, (1, 0), outputs, None).unwrap(), 0)
    }

    fn arrives(&mut self, ms: u64, flow: u32, pair: u16, refused: Option<DropCause>) -> u32 {
        let (link, row, journey, size, at) = (0, self.1, self.1, 500, Time(ms * MS));
        let ecn = Ecn::NotEct;
        let headers = Headers { flow, kind: Kind::Datagram, ecn, seq: 0, length: 28, link_local: false, pair };
        self.1 += 1;
        self.take(match refused {
            Some(cause) => Event::Refused { link, row, at, size, journey, headers, cause },
            None => Event::Enqueued { link, row, at, size, journey, headers },
        });
        row
    }

    fn leaves(&mut self, row: u32, ms: u64, waited_ms: u64) {
        let (at, waited) = (Time(ms * MS), Span::from_millis(waited_ms));
        self.take(Event::Dequeued { link: 0, row, at, waited });
        self.take(Event::Transmitted { link: 0, start: at, end: at + Span::from_millis(1), bytes: 500 });
    }

    fn take(&mut self, event: Event) {
        self.0.take(event).unwrap();
    }
}

#[test]
fn flows_are_numbered_as_they_come_and_pairs_counted_in_the_measured_period() {
    let mut by_hand = ByHand::new(Outputs::default());
    by_hand.0.measure(Time(1000 * MS), Time(3000 * MS));
    let waiting = [(900, 70, 4), (1000, 90, 5), (1500, 70, 4), (2500, 80, 5), (3000, 90, 5), (3001, 60, 6)]
        .map(|(ms, flow, pair)| by_hand.arrives(ms, flow, pair, None));
    by_hand.arrives(950, 70, 4, Some(DropCause::Full));
    by_hand.arrives(2000, 70, 4, Some(DropCause::Full));
    by_hand.arrives(3100, 70, 4, Some(DropCause::Full));
    let early = by_hand.arrives(960, 90, 5, None);
    let (waited, cause) = (Span::from_millis(1), DropCause::Early);
    by_hand.take(Event::Dropped { link: 0, row: early, at: Time(970 * MS), waited, cause });
    for (row, ms) in [(waiting[1], 2000), (waiting[3], 3000), (waiting[4], 3001)] {
        let (at, waited, cause) = (Time(ms * MS), Span::from_millis(1), DropCause::Early);
        by_hand.take(Event::Dropped { link: 0, row, at, waited, cause });
    }
    let found = by_hand.0.finish(Time(9000 * MS)).unwrap();
    assert_eq!(found.pair_of_flow, [4, 5, 5, 6]);
    // Those before the measured period are in neither count.
    let of = |pair| found.pairs.get(&pair).map(|counts| (counts.sent, counts.dropped));
    assert_eq!((of(4), of(5), of(6)), (Some(([2, 0], [1, 0])), Some(([3, 0], [2, 0])), None));
}

#[test]
fn a_summary_is_of_what_happened_in_the_measured_period_its_ends_among_it() {
    let mut by_hand = ByHand::new(Outputs::default());
    by_hand.0.measure(Time(1000 * MS), Time(3000 * MS));
    let mark = |by_hand: &mut ByHand, row, ms| by_hand.take(Event::Marked { link: 0, row, at: Time(ms * MS) });
    let early = by_hand.arrives(900, 1, 0, None);
    by_hand.arrives(950, 1, 0, Some(DropCause::Full));
    mark(&mut by_hand, early, 960);
    let first = by_hand.arrives(1000, 1, 0, None);
    mark(&mut by_hand, first, 1000);
    by_hand.leaves(early, 1100, 200);
    by_hand.leaves(first, 1200, 200);
    by_hand.arrives(1500, 1, 0, Some(DropCause::Full));
    let second = by_hand.arrives(2000, 1, 0, None);
    mark(&mut by_hand, second, 2999);
    let last = by_hand.arrives(3000, 1, 0, None);
    mark(&mut by_hand, last, 3000);
    by_hand.leaves(last, 3000, 0);
    let late = by_hand.arrives(3001, 1, 0, None);
    mark(&mut by_hand, late, 3001);
    let (waited, cause) = (Span::from_millis(1050), DropCause::Early);
    by_hand.take(Event::Dropped { link: 0, row: second, at: Time(3050 * MS), waited, cause });
    by_hand.arrives(3100, 1, 0, Some(DropCause::Full));
    by_hand.leaves(late, 3200, 199);
    let found = by_hand.0.finish(Time(9000 * MS)).unwrap();
    let summary = serde_json::to_value(&found.links[0].summary).unwrap();
    let number = |key: &str| summary[key].as_u64();
    assert_eq!((number("arrived_pkts"), number("departed_pkts"), number("marked_pkts")), (Some(4), Some(3), Some(3)));
    assert_eq!(summary["drops_by_cause"], serde_json::json!({ "full": 1 }));
}

#[test]
fn a_row_of_the_log_has_the_number_of_its_flow_and_what_was_waiting_before_it() {
    let file = Memory::default();
    let mut by_hand = ByHand::new(Outputs { log: Some(Box::new(file.clone())), ..Outputs::default() });
    let flows = [70, 90, 70, u32::MAX, 90];
    let rows = [0, 1, 2, 3].map(|i| by_hand.arrives(10 + i, flows[i as usize], 0, None));
    by_hand.arrives(15, flows[4], 0, Some(DropCause::Full));
    for row in rows {
        by_hand.leaves(row, 20 + u64::from(row), 10);
    }
    by_hand.0.finish(Time(9000 * MS)).unwrap();
    let bytes = file.0.lock().unwrap().clone();
    let number = |row: &[u8], at: usize| u32::from_ne_bytes(row[at..at + 4].try_into().unwrap());
    let found = |at| bytes.chunks(ROW).map(|row| number(row, at)).collect::<Vec<_>>();
    // Packet, flow, size, packets and bytes waiting.
    assert_eq!(found(24), [0, 1, 2, 3, 4]);
    assert_eq!(found(28), [0, 1, 0, 2, 1], "as the flows came");
    assert_eq!(found(32), [500; 5]);
    assert_eq!(found(36), [0, 1, 2, 3, 4]);
    assert_eq!(found(40), [0, 500, 1000, 1500, 2000]);
    let departures: Vec<_> =
        bytes.chunks(ROW).map(|row| i64::from_ne_bytes(row[8..16].try_into().unwrap()) / MS as i64).collect();
    assert_eq!(departures, [20, 21, 22, 23, 0]);
}

#[test]
fn a_look_tells_what_happened_since_the_one_before_and_what_has_been_counted_in_all() {
    let mut by_hand = ByHand::new(Outputs::default());
    let rows = [10, 20, 30].map(|ms| by_hand.arrives(ms, 1, 0, None));
    by_hand.arrives(31, 1, 0, Some(DropCause::Full));
    by_hand.leaves(rows[0], 12, 2);
    by_hand.leaves(rows[1], 26, 6);
    by_hand.take(Event::Marked { link: 0, row: rows[2], at: Time(40 * MS) });
    for (way, late_us) in [(0, 3), (0, 5), (1, 40)] {
        let (due, late) = (Time(50 * MS), Span(late_us * 1000));
        by_hand.take(Event::Written { way, due, late, size: 500 });
    }
    let seen = by_hand.0.look(Time(2000 * MS));
    let down = &seen["links"]["down"];
    let number = |key: &str| down[key].as_f64().unwrap();
    assert_eq!(seen["time_s"], 2.0);
    // 1000 bytes in two seconds; waits of 2 and 6 ms.
    assert_eq!((number("rate_bps"), number("set_bps")), (4000.0, 4e6));
    assert_eq!((number("sojourn_ms"), number("longest_ms"), number("backlog_pkts")), (4.0, 6.0, 1.0));
    assert_eq!((number("arrived_pkts"), number("departed_pkts"), number("departed_bytes")), (4.0, 2.0, 1000.0));
    assert_eq!(number("marked_pkts"), 1.0);
    assert!((number("sojourn_sum_s") - 0.008).abs() < 1e-9);
    assert_eq!(down["drops"], serde_json::json!({ "full": 1 }));
    assert_eq!(down["drops_by_cause"], down["drops"]);
    assert!(seen["lateness_us"]["down"]["max"].as_f64().unwrap() < 6.0, "{seen}");
    assert!(seen["lateness_us"]["up"]["max"].as_f64().unwrap() > 39.0, "{seen}");
    by_hand.leaves(rows[2], 2500, 70);
    let next = by_hand.0.look(Time(3000 * MS));
    let down = &next["links"]["down"];
    assert_eq!((&down["rate_bps"], &down["sojourn_ms"]), (&serde_json::json!(4000.0), &serde_json::json!(70.0)));
    assert_eq!((&down["drops"], &down["drops_by_cause"]["full"]), (&serde_json::json!({}), &serde_json::json!(1)));
    assert_eq!((&down["arrived_pkts"], &down["departed_pkts"]), (&serde_json::json!(4), &serde_json::json!(3)));
    let quiet = &by_hand.0.look(Time(4000 * MS))["links"]["down"];
    assert_eq!((&quiet["sojourn_ms"], &quiet["rate_bps"]), (&serde_json::Value::Null, &serde_json::json!(0.0)));
    assert_eq!(by_hand.0.look(Time(5000 * MS))["links"]["up"]["arrived_pkts"], 0);
}

#[test]
fn a_frame_of_the_capture_has_a_link_layer_of_its_version_its_mark_and_why_it_was_dropped() {
    let link = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}"#;
    let path = format!(r#"{{"duration": "9s", "path": {{"rtt": "10ms", "down": {link}, "up": {link}}}}}"#);
    let scenario = serde_json::from_str(&path).unwrap();
    let (file, (mut heads, snapshots)) = (Memory::default(), rtrb::RingBuffer::new(8));
    let outputs = Outputs { capture: Some((Box::new(file.clone()), 7_000_000_000)), ..Outputs::default() };
    let mut ledger = Ledger::new(&scenario, (1, 0), outputs, Some(snapshots)).unwrap();
    let (flow, ecn, pair) = (1, Ecn::Ect0, 0);
    let headers = Headers { flow, kind: Kind::Datagram, ecn, seq: 0, length: 28, link_local: false, pair };
    // Version, size, and what becomes of it.
    let fates = [(4, 60u32, "leaves"), (6, 61, "leaves"), (4, 1400, "marked"), (6, 1400, "marked"), (4, 62, "dropped")];
    for (row, (version, size, fate)) in (0u32..).zip(fates) {
        let mut head = [0x11; SNAPSHOT];
        (head[0], head[1]) = if version == 4 { (0x45, 2) } else { (0x60, 0x20) };
        heads.push((row, head)).unwrap();
        let (at, waited, link) = (Time(u64::from(row) * 1000 * MS), Span::from_millis(5), 0);
        let mut take = |event| ledger.take(event).unwrap();
        take(Event::Enqueued { link, row, at, size, journey: row, headers });
        let at = at + waited;
        if fate == "marked" {
            take(Event::Marked { link, row, at });
        }
        take(match fate {
            "dropped" => Event::Dropped { link, row, at, waited, cause: DropCause::Early },
            _ => Event::Dequeued { link, row, at, waited },
        });
    }
    ledger.finish(Time(9000 * MS)).unwrap();
    let bytes = file.0.lock().unwrap().clone();
    let has = |text: &str| bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count();
    assert_eq!(
        (has("dropped: early (before the queue was full)"), has("dropped: "), has("marked: congestion experienced")),
        (1, 1, 2)
    );
    let mut capture = Capture::from_stream(io::Cursor::new(bytes.clone()), "memory").unwrap();
    for (row, (version, size, fate)) in (0u64..).zip(fates) {
        let frame = capture.next_frame().unwrap().unwrap();
        assert_eq!(frame.time_ns, 7_000_000_000 + (row as i64 * 1000 + 5) * MS as i64);
        assert_eq!((frame.wire_len, frame.data.len()), (size + 14, SNAPSHOT.min(size as usize) + 14));
        assert_eq!(frame.data[12..14], if version == 4 { [8, 0] } else { [0x86, 0xdd] }, "{row}");
        let ecn = if version == 4 { frame.data[15] & 3 } else { frame.data[15] >> 4 & 3 };
        assert_eq!(ecn, if fate == "marked" { 3 } else { 2 }, "{row}");
    }
    assert!(capture.next_frame().unwrap().is_none());
}

#[test]
fn a_look_has_the_median_wait_and_the_longest_of_ninety_five_and_of_ninety_nine_in_a_hundred() {
    let mut by_hand = ByHand::new(Outputs::default());
    for ms in 1..=1000u64 {
        let row = by_hand.arrives(2000 * ms, 1, 0, None);
        by_hand.leaves(row, 2000 * ms + ms, ms);
    }
    let seen = by_hand.0.look(Time(3_000_000 * MS));
    let quantiles = seen["links"]["down"]["sojourn_quantiles_s"].as_array().unwrap();
    for (found, exact) in quantiles.iter().zip([0.5, 0.95, 0.99]) {
        assert!((found.as_f64().unwrap() - exact).abs() < 0.01 * exact, "{quantiles:?}");
    }
    assert_eq!(quantiles.len(), 3);
}

#[test]
fn a_rate_that_changes_is_the_mean_over_what_is_measured_and_a_look_has_that_of_now() {
    let steps =
        r#"{"rate": {"steps": [["0s", "8Mbit"], ["2s", "2Mbit"]]}, "queue": {"kind": "fifo", "limit": "9pkt"}}"#;
    let path = format!(r#"{{"duration": "9s", "path": {{"rtt": "10ms", "down": {steps}, "up": {steps}}}}}"#);
    let ledger = || Ledger::new(&serde_json::from_str(&path).unwrap(), (1, 0), Outputs::default(), None).unwrap();
    let rate = |ledger: Ledger, end_ms| ledger.finish(Time(end_ms * MS)).unwrap().links[0].summary.rate_bps;
    assert_eq!([1000, 3000].map(|end| rate(ledger(), end)), [Some(8_000_000), Some(6_000_000)]);
    let mut measured = ledger();
    measured.measure(Time(1000 * MS), Time(4000 * MS));
    let set = [1000, 2500].map(|ms| measured.look(Time(ms * MS))["links"]["down"]["set_bps"].as_u64());
    assert_eq!(set, [Some(8_000_000), Some(2_000_000)]);
    assert_eq!(rate(measured, 9000), Some(4_000_000));
}
