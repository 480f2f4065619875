//! The loop over socket pairs, driven by a clock of the test's: the same stamps give the same fates as the simulator.

use proptest::prelude::*;
use rtrb::Consumer;
use sojourn_emu::device::{Device, Stamps};
use sojourn_emu::event::{Event, EventSink};
use sojourn_emu::forward::clock::Clock;
use sojourn_emu::forward::forwarder::{Forwarder, Hosts};
use sojourn_emu::forward::way::Way;
use sojourn_emu::frame::Headers;
use sojourn_emu::record::ledger::{Ledger, Outputs};
use sojourn_net::log::NOT_DROPPED;
use sojourn_net::{Ecn, Rate, Span, Time};
use sojourn_sim::Direction;
use sojourn_sim::replay::{Arrival, Departures, Options, replay};
use sojourn_sim::scenario::Scenario;
use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Time that only the test moves.
#[derive(Clone, Default)]
pub(crate) struct FakeClock(pub(crate) Rc<Cell<u64>>);

impl Clock for FakeClock {
    fn now(&self) -> Time {
        Time(self.0.get())
    }
    fn wait(&mut self, until: Time, _: &[BorrowedFd<'_>]) {
        self.0.set(self.0.get().max(until.0));
    }
}

/// The stamps that the test gives its packets.
#[derive(Clone, Default)]
pub(crate) struct Given(pub(crate) Arc<Mutex<VecDeque<Time>>>);

impl Stamps for Given {
    fn next(&mut self, _: usize) -> Option<Time> {
        self.0.lock().unwrap().pop_front()
    }
    fn missed(&self) -> u64 {
        0
    }
}

/// A device of the emulator, and the host's end of it.
fn pair(stamps: &Given) -> (Device, UnixDatagram) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    for socket in [&ours, &theirs] {
        socket.set_nonblocking(true).unwrap();
    }
    (Device::new(OwnedFd::from(ours), false, Some(Box::new(stamps.clone()))), theirs)
}

/// An IPv4 datagram of a flow.
pub(crate) fn packet(flow: u8, ecn: u8, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    (bytes[0], bytes[1], bytes[8], bytes[9]) = (0x45, ecn, 64, 17);
    bytes[2..4].copy_from_slice(&(size as u16).to_be_bytes());
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    (bytes[21], bytes[23]) = (flow, 9);
    bytes
}

#[derive(Clone, Debug)]
struct Sent {
    gap_us: u64,
    flow: u8,
    ecn: u8,
    size: usize,
}

fn scenario(kind: &str, limit: &str, more: &str) -> Scenario {
    let text = format!(
        r#"{{"duration": "100s", "path": {{"rtt": "40ms",
        "down": {{"rate": "4Mbit", "queue": {{"kind": "{kind}", "limit": "{limit}"{more}}}}},
        "up": {{"rate": "100Mbit", "queue": {{"kind": "fifo", "limit": "100pkt"}}}}}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

const QUEUES: [(&str, &str); 7] = [
    ("fifo", ""),
    ("codel", r#", "ecn": true"#),
    ("pie", r#", "ecn": true, "target": "5ms""#),
    ("red", r#", "ecn": true, "min": 2.0, "max": 12.0, "weight": 0.3"#),
    ("fq-codel", r#", "ecn": true"#),
    ("cake", ""),
    ("dualpi2", ""),
];

/// When the host at the end got a packet, and its bytes.
type Got = (Time, Vec<u8>);

pub(crate) fn ways(scenario: &Scenario, seed: u64) -> [Way; 2] {
    [Direction::Down, Direction::Up].map(|way| Way::new(scenario, seed, 0, way, &[]))
}

/// The loop, the ends of both hosts (the client's, the server's, whose packets have these stamps), and its events.
fn bed(scenario: &Scenario, seed: u64, stamps: &Given) -> (Forwarder, [UnixDatagram; 2], Consumer<Event>) {
    let (server, server_host) = pair(stamps);
    let (client, client_host) = pair(&Given::default());
    let (producer, consumer) = rtrb::RingBuffer::new(1 << 16);
    let hosts = Hosts { mtu: 1500, access: Rate(1_000_000_000) };
    let forwarder = Forwarder::new(client, server, ways(scenario, seed), hosts, EventSink::new(producer, None));
    (forwarder, [client_host, server_host], consumer)
}

/// Sends packets through the loop, which looks only now and then, and returns what was logged of the link down and what
/// the host at its end got (when, and which bytes).
fn live(scenario: &Scenario, packets: &[Sent], seed: u64, look_us: u64) -> (Vec<Event>, Vec<Got>, Time) {
    let stamps = Given::default();
    let (mut forwarder, [client_host, server_host], mut consumer) = bed(scenario, seed, &stamps);
    let mut clock = FakeClock::default();
    let (mut events, mut got, mut at) = (Vec::new(), Vec::new(), 0);
    let mut buffer = [0; 2000];
    let mut packets = packets.iter().peekable();
    let mut turn = |clock: &mut FakeClock, forwarder: &mut Forwarder, events: &mut Vec<Event>| {
        let next = forwarder.turn(clock).unwrap();
        events.extend(std::iter::from_fn(|| consumer.pop().ok()));
        while let Ok(length) = client_host.recv(&mut buffer) {
            got.push((clock.now(), buffer[..length].to_vec()));
        }
        next
    };
    let mut looks = 0;
    loop {
        // All that is sent before the loop looks again.
        let until = clock.now() + Span(look_us * 1000);
        while let Some(sent) = packets.peek().filter(|sent| at + sent.gap_us * 1000 <= until.0) {
            at += sent.gap_us * 1000;
            stamps.0.lock().unwrap().push_back(Time(at));
            server_host.send(&packet(sent.flow, sent.ecn, sent.size)).unwrap();
            packets.next();
        }
        clock.wait(until, &[]);
        turn(&mut clock, &mut forwarder, &mut events);
        looks += 1;
        if packets.peek().is_none() && looks > 20 && forwarder.sides()[0].under_way == 0 {
            let next = turn(&mut clock, &mut forwarder, &mut events);
            // A timer of the discipline is all that is left.
            if next > clock.now() + Span::from_millis(5) || looks > 100_000 {
                break;
            }
        }
    }
    let end = clock.now() + Span::from_secs(2);
    forwarder.finish(end);
    turn(&mut clock, &mut forwarder, &mut events);
    assert!(server_host.as_raw_fd() >= 0);
    (events, got, end)
}

/// When the client gets a packet of 1000 bytes, sent at time 0, by a clock that is moved only as the loop asks: what is
/// due and not said would stay for ever.
fn comes_at(scenario: &Scenario) -> u64 {
    let stamps = Given::default();
    let (mut forwarder, [client_host, server_host], _events) = bed(scenario, 1, &stamps);
    let mut clock = FakeClock::default();
    stamps.0.lock().unwrap().push_back(Time::ZERO);
    server_host.send(&packet(1, 0, 1000)).unwrap();
    let mut buffer = [0; 2000];
    for _ in 0..1000 {
        let next = forwarder.turn(&clock).unwrap();
        if client_host.recv(&mut buffer).is_ok() {
            return clock.now().0;
        }
        assert!(next < Time::NEVER, "nobody would give the packet to its host");
        clock.wait(next, &[]);
    }
    panic!("the packet did not come");
}

#[test]
fn the_loop_asks_to_be_woken_when_a_packet_is_due() {
    // 1000 bytes at 4 Mbit/s take 2 ms, and the way 20 ms.
    let one = comes_at(&scenario("fifo", "20pkt", ""));
    assert!((22_000_000..23_000_000).contains(&one), "{one}");
    // Two links, of 8 ms and 2 ms, with 3 ms behind the first and 1 ms behind the second; the hosts are 5 ms away each.
    let hop = |name, rate, delay| {
        let link = format!(r#"{{"rate": "{rate}", "queue": {{"kind": "fifo", "limit": "20pkt"}}}}"#);
        format!(r#"{{"name": "{name}", "delay": "{delay}", "down": {link}, "up": {link}}}"#)
    };
    let hops = [hop("near", "4Mbit", "1ms"), hop("far", "1Mbit", "3ms")].join(", ");
    let path = format!(r#"{{"client-delay": "5ms", "server-delay": "5ms", "hop": [{hops}]}}"#);
    let two = comes_at(&serde_json::from_str(&format!(r#"{{"duration": "9s", "path": {path}}}"#)).unwrap());
    assert!((24_000_000..25_000_000).contains(&two), "{two}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_same_stamps_give_the_same_log_as_the_simulator(
        packets in prop::collection::vec(
            (0u64..1_800, 0u8..6, 0u8..3, 60usize..1500).prop_map(|(gap_us, flow, ecn, size)| Sent { gap_us, flow, ecn, size }),
            100..500,
        ),
        look_us in 50u64..15_000,
        seed in 0u64..1000,
    ) {
        for (kind, more) in QUEUES {
            let scenario = scenario(kind, "20pkt", more);
            let (events, got, end) = live(&scenario, &packets, seed, look_us);
            let mut arrivals = Vec::new();
            for event in &events {
                if let Event::Enqueued { link: 0, at, size, headers, .. } | Event::Refused { link: 0, at, size, headers, .. } = event {
                    let Headers { flow, ecn, .. } = *headers;
                    arrivals.push(Arrival { at: *at, size: *size, flow, ecn });
                }
            }
            prop_assert_eq!(arrivals.len(), packets.len());
            // The live log, packet by packet.
            let mut fates = vec![(0, NOT_DROPPED, false); arrivals.len()];
            for event in &events {
                match event {
                    Event::Dequeued { link: 0, row, at, .. } => fates[*row as usize].0 = at.0,
                    Event::Refused { link: 0, row, at, cause, .. } | Event::Dropped { link: 0, row, at, cause, .. } => {
                        (fates[*row as usize].0, fates[*row as usize].1) = (at.0, *cause as u8);
                    }
                    Event::Marked { link: 0, row, .. } => fates[*row as usize].2 = true,
                    _ => {}
                }
            }
            // The simulator's, by the recorder's own replay (the streams of the run) …
            let mut ledger = Ledger::new(&scenario, (seed, 0), Outputs::default(), None).unwrap();
            events.iter().for_each(|event| ledger.take(*event).unwrap());
            let recorded = ledger.finish(end).unwrap();
            let agreement = recorded.links[0].agreement;
            prop_assert_eq!((agreement.decisions, agreement.equal), (arrivals.len() as u64, arrivals.len() as u64), "{}", kind);
            // … and, of disciplines that draw nothing at random, by `replay`.
            if matches!(kind, "fifo" | "codel") {
                let queue = &scenario.path.hops[0].down.queue;
                let told = replay(queue, &arrivals, Departures::Rate(Rate(4_000_000)), &Options::default()).unwrap();
                for (live, told) in fates.iter().zip(&told.fates) {
                    let cause = told.cause.map_or(NOT_DROPPED, |cause| cause as u8);
                    prop_assert_eq!(*live, (told.at.unwrap().0, cause, told.marked), "{}", kind);
                }
            }
            // The host got what was not dropped, with the marks in the bytes, and not before it was due.
            let left = fates.iter().filter(|fate| fate.1 == NOT_DROPPED).count();
            prop_assert_eq!(got.len(), left);
            let marked = got.iter().filter(|(_, bytes)| bytes[1] & 3 == 3).count();
            prop_assert_eq!(marked, fates.iter().filter(|fate| fate.2 && fate.1 == NOT_DROPPED).count());
            let mut due = events.iter().filter_map(|event| match event { Event::Written { way: 0, due, .. } => Some(*due), _ => None });
            prop_assert!(got.iter().all(|(at, _)| due.next().is_some_and(|due| due <= *at)));
        }
    }
}

#[test]
fn a_packet_leaves_when_the_delays_and_the_rate_say() {
    let scenario = scenario("fifo", "20pkt", "");
    let sent = [Sent { gap_us: 1000, flow: 1, ecn: 0, size: 1000 }, Sent { gap_us: 100, flow: 1, ecn: 0, size: 500 }];
    let (events, got, _) = live(&scenario, &sent, 1, 10);
    let due: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Written { way: 0, due, .. } => Some(due.0),
            _ => None,
        })
        .collect();
    // 2 ms for 1000 bytes at 4 Mbit/s, and half the round trip.
    assert_eq!(due, [23_000_000, 24_000_000]);
    assert_eq!(got.len(), 2);
    assert!(got.iter().zip(&due).all(|((at, _), due)| at.0 - due <= 10_000), "the loop looked every 10 µs");
    let enqueued = events.iter().find_map(|event| match event {
        Event::Enqueued { at, headers, .. } => Some((at.0, headers.ecn)),
        _ => None,
    });
    assert_eq!(enqueued, Some((1_000_000, Ecn::NotEct)));
}

#[test]
fn packets_sent_at_once_follow_each_other_at_the_rate_of_the_card() {
    let sent = |gap_us| Sent { gap_us, flow: 1, ecn: 0, size: 1250 };
    let (events, ..) = live(&scenario("fifo", "100pkt", ""), &[100, 0, 0, 500].map(sent), 1, 1000);
    let arrived = events.iter().filter_map(|event| match event {
        Event::Enqueued { link: 0, at, .. } => Some(at.0 / 1000),
        _ => None,
    });
    assert_eq!(arrived.collect::<Vec<_>>(), [100, 110, 120, 600], "1250 bytes take 10 µs");
}

#[test]
fn another_run_counts_nothing_of_the_one_before() {
    let (scenario, stamps, clock) = (scenario("fifo", "20pkt", ""), Given::default(), FakeClock::default());
    let (mut forwarder, [_client, server], _events) = bed(&scenario, 1, &stamps);
    stamps.0.lock().unwrap().push_back(Time(0));
    server.send(&packet(1, 0, 1000)).unwrap();
    for at in [1_000_000, 100_000_000] {
        clock.0.set(at);
        forwarder.turn(&clock).unwrap();
    }
    let counted = |forwarder: &Forwarder| {
        let [down, _] = forwarder.sides();
        (down.counts.sent_pkts, down.counts.delivered_pkts, down.written.count(), down.read.unwrap().count())
    };
    assert_eq!(counted(&forwarder), (1, 1, 1, 1));
    let (producer, _events) = rtrb::RingBuffer::new(16);
    forwarder.restart(ways(&scenario, 1), EventSink::new(producer, None));
    assert_eq!(counted(&forwarder), (0, 0, 0, 0));
}

#[test]
fn packets_that_wait_in_both_at_the_end_are_no_decisions() {
    let scenario = scenario("fifo", "2pkt", "");
    let sent = [0; 4].map(|gap_us| Sent { gap_us, flow: 1, ecn: 0, size: 1250 });
    let (events, ..) = live(&scenario, &sent, 1, 1000);
    // Each takes 2.5 ms: after 1 ms one has left the queue, two wait, and one found it full.
    let end = Time(1_000_000);
    let mut ledger = Ledger::new(&scenario, (1, 0), Outputs::default(), None).unwrap();
    for event in events {
        if matches!(event, Event::Enqueued { at, .. } | Event::Refused { at, .. } | Event::Dequeued { at, .. } if at <= end)
        {
            ledger.take(event).unwrap();
        }
    }
    let agreement = ledger.finish(end).unwrap().links[0].agreement;
    assert_eq!((agreement.decisions, agreement.equal, agreement.drops), (2, 2, 1));
}

#[test]
fn lines_of_the_record_that_did_not_fit_leave_holes_and_nothing_falls() {
    let scenario = scenario("fifo", "5pkt", "");
    let packets: Vec<Sent> = (0..400).map(|k| Sent { gap_us: 900, flow: k as u8 % 3, ecn: 0, size: 600 }).collect();
    let (events, _, end) = live(&scenario, &packets, 1, 1000);
    // One line of each so many is missing: arrivals, departures and drops.
    for missing in [2, 3, 5, 17] {
        for offset in 0..missing {
            let log: Box<dyn std::io::Write + Send> = Box::new(std::io::sink());
            let outputs = Outputs { log: Some(log), capture: None };
            let mut ledger = Ledger::new(&scenario, (1, 0), outputs, None).unwrap();
            let kept = events.iter().enumerate().filter(|(place, _)| place % missing != offset);
            let mut arrived = 0;
            for (_, event) in kept {
                arrived += u64::from(matches!(event, Event::Enqueued { link: 0, .. } | Event::Refused { link: 0, .. }));
                ledger.take(*event).unwrap();
            }
            let recorded = ledger.finish(end).unwrap();
            assert_eq!(recorded.links[0].summary.arrived_pkts, arrived, "one line of {missing} is missing");
        }
    }
}
