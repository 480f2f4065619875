//! What the loop does with what hosts hand it: super-packets, packets that are not for the path, and times.

use crate::replay::{FakeClock, Given, packet, ways};
use rtrb::{Consumer, RingBuffer};
use sojourn_emu::device::Device;
use sojourn_emu::event::{Event, EventSink};
use sojourn_emu::forward::clock::Clock as _;
use sojourn_emu::forward::forwarder::{Counts, Forwarder, Hosts};
use sojourn_emu::record::ledger::{Ledger, Outputs};
use sojourn_net::probe::DropCause;
use sojourn_net::{Rate, Span, Time};
use sojourn_sim::scenario::Scenario;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;

const MS: u64 = 1_000_000;

/// The loop over two devices with a header in front of each packet; hosts have cards of 100 Mbit/s.
struct Bed {
    forwarder: Forwarder,
    client: Option<UnixDatagram>,
    server: UnixDatagram,
    stamps: Given,
    events: Consumer<Event>,
    clock: FakeClock,
}

fn path(links: &str) -> Scenario {
    serde_json::from_str(&format!(r#"{{"duration": "9s", "path": {links}}}"#)).unwrap()
}

/// One hop of 4 Mbit/s each way, 10 ms from one end to the other.
fn plain() -> Scenario {
    let link = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "99pkt"}}"#;
    path(&format!(r#"{{"rtt": "20ms", "down": {link}, "up": {link}}}"#))
}

impl Bed {
    fn new(scenario: &Scenario, stamped: bool) -> Self {
        Self::with(scenario, stamped, false)
    }

    /// The client joins packets that it receives together, or not.
    fn joining(scenario: &Scenario, joins: bool) -> Self {
        Self::with(scenario, true, joins)
    }

    fn with(scenario: &Scenario, stamped: bool, joins: bool) -> Self {
        let stamps = Given::default();
        let device = |stamps: Option<&Given>| {
            let (ours, theirs) = UnixDatagram::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            theirs.set_nonblocking(true).unwrap();
            let stamps = stamps.map(|stamps| Box::new(stamps.clone()) as _);
            (Device::new(OwnedFd::from(ours), true, stamps).joining(joins), theirs)
        };
        let (client, client_host) = device(None);
        let (server, server_host) = device(stamped.then_some(&stamps));
        let (producer, events) = RingBuffer::new(1 << 12);
        let hosts = Hosts { mtu: 1500, access: Rate(100_000_000) };
        let forwarder = Forwarder::new(client, server, ways(scenario, 1), hosts, EventSink::new(producer, None));
        let (client, server, clock) = (Some(client_host), server_host, FakeClock::default());
        Self { forwarder, client, server, stamps, events, clock }
    }

    /// The server sends it, with this header in front and this stamp.
    fn sends(&self, header: [u8; 10], packet: &[u8], at: u64) {
        self.stamps.0.lock().unwrap().push_back(Time(at));
        self.server.send(&[&header[..], packet].concat()).unwrap();
    }

    fn turn(&mut self, at: u64) -> Time {
        self.clock.0.set(at);
        self.forwarder.turn(&self.clock).unwrap()
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.pop().ok()).collect()
    }

    fn down(&self) -> Counts {
        self.forwarder.sides()[0].counts
    }
}

/// Of UDP datagrams of so many bytes, whose sum is left to be computed.
fn of_udp(size: u16) -> [u8; 10] {
    let mut header = [0; 10];
    (header[0], header[1], header[6], header[8]) = (1, 5, 20, 6);
    header[4..6].copy_from_slice(&size.to_ne_bytes());
    header
}

#[test]
fn a_super_packet_goes_onto_the_wire_piece_by_piece_at_the_rate_of_the_card() {
    let mut bed = Bed::new(&plain(), true);
    // 2500 bytes of UDP in pieces of 1222: packets of 1250, 1250 and 84 bytes.
    bed.sends(of_udp(1222), &packet(1, 0, 28 + 2500), 3 * MS);
    bed.sends([0; 10], &packet(1, 0, 1000), 3 * MS);
    bed.turn(5 * MS);
    let arrived: Vec<_> = bed
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Enqueued { link: 0, at, size, journey, .. } => Some((at.0 - 3 * MS, size, journey)),
            _ => None,
        })
        .collect();
    // 1250 bytes are 100 µs at 100 Mbit/s, 84 are 6.72.
    assert_eq!(arrived, [(0, 1250, 0), (100_000, 1250, 1), (200_000, 84, 2), (206_720, 1000, 3)]);
    let Counts { sent_pkts, super_pkts, unfit_pkts, .. } = bed.down();
    assert_eq!((sent_pkts, super_pkts, unfit_pkts), (4, 1, 0));
    bed.turn(100 * MS);
    assert_eq!(bed.down().delivered_pkts, 4);
    let (client, mut got) = (bed.client.unwrap(), [0; 3000]);
    let lengths: Vec<_> =
        std::iter::from_fn(|| client.recv(&mut got).ok().map(|length| (length, got[..10].to_vec()))).collect();
    assert_eq!(lengths.iter().map(|found| found.0).collect::<Vec<_>>(), [1260, 1260, 94, 1010]);
    // No piece is a super-packet; what was left to be computed still is.
    assert!(lengths.iter().all(|(_, header)| header[1..6] == [0; 5]), "{lengths:?}");
    assert_eq!(lengths.iter().map(|(_, header)| header[0]).collect::<Vec<_>>(), [1, 1, 1, 0]);
}

/// A super-packet of TCP, ECN-capable, of so many bytes of payload in pieces of 1000, with its header.
fn of_tcp(payload: usize) -> ([u8; 10], Vec<u8>) {
    let mut header = [0; 10];
    (header[0], header[1], header[6], header[8]) = (1, 1, 20, 16);
    header[4..6].copy_from_slice(&1000_u16.to_ne_bytes());
    let mut super_packet = packet(1, 2, 40 + payload);
    super_packet[9] = 6;
    super_packet[32..40].copy_from_slice(&[0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    (header, super_packet)
}

#[test]
fn what_is_due_together_is_joined_where_the_host_would_join_it() {
    let got = |joins, late| {
        let mut bed = Bed::joining(&plain(), joins);
        let (header, super_packet) = of_tcp(3500);
        bed.sends(header, &super_packet, 0);
        bed.sends([0; 10], &packet(1, 0, 500), 0);
        bed.turn(MS);
        // Three packets of 1040 bytes, one of 540 and one of 500: they leave the link after 2.08 to 8.32 ms.
        for at in if late { vec![30 * MS] } else { vec![13 * MS, 15 * MS, 17 * MS, 18 * MS, 19 * MS] } {
            bed.turn(at);
        }
        let written = bed.events().into_iter().filter_map(|event| match event {
            Event::Written { due, late, size, .. } => Some((due, late, size)),
            _ => None,
        });
        let written: Vec<_> = written.collect();
        let Counts { delivered_pkts, refused_pkts, .. } = bed.down();
        assert_eq!((delivered_pkts, refused_pkts, written.len()), (5, 0, 5));
        let (client, mut got) = (bed.client.as_ref().unwrap(), vec![0; 9000]);
        let got: Vec<_> =
            std::iter::from_fn(|| client.recv(&mut got).ok().map(|length| (got[1], got[10..length].to_vec())))
                .collect();
        (written, got, super_packet)
    };
    let (written, late, mut sent) = got(true, true);
    let due = [12_080_000, 14_160_000, 16_240_000, 17_320_000, 18_320_000];
    let each = due.into_iter().zip([1040, 1040, 1040, 540, 500]);
    let each = each.map(|(due, size)| (Time(due), Span(30 * MS - due), size));
    assert_eq!(written, each.collect::<Vec<_>>(), "each is as late as it was written late");
    assert_eq!(late.iter().map(|(kind, bytes)| (*kind, bytes.len())).collect::<Vec<_>>(), [(1, 3540), (0, 500)]);
    // The same bytes as were sent, but for the sums, which the sender here had not written.
    let mut came = late[0].1.clone();
    for at in [10, 11, 36, 37] {
        (came[at], sent[at]) = (0, 0);
    }
    assert_eq!(came, sent);
    // Each at its time, or for a host that joins nothing: one by one.
    for (joins, late) in [(true, false), (false, true)] {
        let lengths = got(joins, late).1.into_iter().map(|(kind, bytes)| (kind, bytes.len()));
        assert_eq!(lengths.collect::<Vec<_>>(), [(0, 1040), (0, 1040), (0, 1040), (0, 540), (0, 500)]);
    }
}

#[test]
fn one_look_writes_no_more_than_so_many_packets_or_a_super_packet_more() {
    let mut bed = Bed::joining(&plain(), true);
    let (header, super_packet) = of_tcp(24_000);
    (0..4).for_each(|_| bed.sends(header, &super_packet, 0));
    for _ in 0..2 {
        bed.turn(MS);
    }
    let delivered = [0, 1].map(|_| {
        bed.turn(900 * MS);
        bed.down().delivered_pkts
    });
    assert_eq!(delivered, [72, 96], "64, and what was joined to the last of them; the others at the next look");
}

#[test]
fn a_packet_that_a_queue_marked_is_marked_whether_it_is_looked_at_once_or_twice() {
    // A burst waits longer than this target, so that CoDel marks from time to time.
    let link = r#"{"rate": "4Mbit", "queue": {"kind": "codel", "limit": "99pkt", "target": "1us", "interval": "3ms",
        "ecn": true}}"#;
    let mut bed = Bed::joining(&path(&format!(r#"{{"rtt": "20ms", "down": {link}, "up": {link}}}"#)), true);
    let (header, super_packet) = of_tcp(20_000);
    bed.sends(header, &super_packet, 0);
    bed.turn(MS);
    bed.turn(90 * MS);
    let (client, mut got) = (bed.client.as_ref().unwrap(), vec![0; 30_000]);
    let mut ecn = Vec::new();
    while let Ok(length) = client.recv(&mut got) {
        let packet = &got[10..length];
        let sum = packet[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum of IPv4");
        ecn.push((packet[1] & 3, (length - 50) / 1000));
    }
    assert_eq!(ecn.iter().map(|found| found.1).sum::<usize>(), 20);
    assert!(ecn.contains(&(3, 1)), "{ecn:?}");
    assert!(ecn.iter().any(|found| found.0 == 2 && found.1 > 1), "{ecn:?}");
    assert!(ecn.windows(2).any(|pair| pair[0].0 != pair[1].0), "a marked packet is not joined to those before");
}

#[test]
fn what_is_not_for_the_path_or_does_not_fit_is_counted_and_passes_no_queue() {
    let mut bed = Bed::new(&plain(), true);
    let mut announced = packet(1, 0, 60);
    announced[16] = 224;
    bed.sends([0; 10], &announced, 0);
    bed.sends([0; 10], &[0; 60], 0);
    bed.sends([0; 10], &packet(1, 0, 1501), 0);
    bed.sends([0; 10], &packet(1, 0, 1500), 0);
    // Pieces that are larger than the MTU, and what is not what it is said to be.
    bed.sends(of_udp(1473), &packet(1, 0, 28 + 1473 + 9), 0);
    bed.sends(
        {
            let mut header = of_udp(100);
            header[1] = 9;
            header
        },
        &packet(1, 0, 300),
        0,
    );
    bed.turn(MS);
    let Counts { sent_pkts, super_pkts, unfit_pkts, link_local_pkts, .. } = bed.down();
    assert_eq!((link_local_pkts, super_pkts), (1, 1));
    assert_eq!(unfit_pkts, 4, "no packet, one too large, a piece too large, and no such kind");
    assert_eq!(sent_pkts, 2, "one as large as may be, and the last piece");
    let (_, up) = (bed.down(), bed.forwarder.sides()[1].counts);
    assert_eq!(up, Counts::default(), "the other way is another");
    let sizes = bed.events().into_iter().filter_map(|event| match event {
        Event::Enqueued { link: 0, size, .. } => Some(size),
        _ => None,
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [1500, 37]);
}

#[test]
fn what_a_host_does_not_take_is_refused_and_was_written_when_it_was_due() {
    let mut bed = Bed::new(&plain(), true);
    bed.sends([0; 10], &packet(1, 0, 1000), MS);
    bed.client = None;
    bed.turn(2 * MS);
    assert_eq!(bed.forwarder.sides()[0].under_way, 1, "it has left the last queue, on paper");
    // 2 ms on the link, 10 ms on the way.
    bed.turn(13 * MS - 1);
    assert_eq!(bed.down().refused_pkts, 0);
    bed.turn(13 * MS + 7_000);
    assert_eq!((bed.down().refused_pkts, bed.down().delivered_pkts), (1, 0));
    assert!(bed.events().contains(&Event::Written { way: 0, due: Time(13 * MS), late: Span(7_000), size: 1000 }));
    let [down, up] = bed.forwarder.sides();
    assert_eq!((down.written.summary().unwrap().max, down.written.count(), down.under_way), (7.0, 1, 0));
    assert_eq!(down.read.unwrap().summary().unwrap().max.round(), 1000.0, "sent at 1 ms, read at 2 ms");
    assert_eq!(up.written.count(), 0);
    assert!(up.read.is_none(), "that device has no stamps");
}

#[test]
fn a_stamp_may_be_a_little_older_than_the_look_before() {
    // 50 µs, or half the delay behind the link if that is less.
    for (rtt, guard) in [("20ms", 50_000), ("80us", 20_000)] {
        let link = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "99pkt"}}"#;
        let scenario = path(&format!(r#"{{"rtt": "{rtt}", "down": {link}, "up": {link}}}"#));
        for (older, clamped) in [(guard, (0, Span::ZERO)), (guard + 7, (1, Span(7)))] {
            let mut bed = Bed::new(&scenario, true);
            bed.turn(MS);
            bed.sends([0; 10], &packet(1, 0, 100), MS - older);
            bed.turn(2 * MS);
            assert_eq!(bed.forwarder.sides()[0].clamped, clamped, "{rtt}");
        }
    }
    // Without stamps, a packet is sent when it is read: nothing can come from before.
    let mut bed = Bed::new(&plain(), false);
    bed.turn(MS);
    bed.server.send(&[&[0; 10][..], &packet(1, 0, 100)].concat()).unwrap();
    bed.turn(2 * MS);
    let [down, _] = bed.forwarder.sides();
    assert_eq!((down.clamped.0, down.counts.sent_pkts, down.read.is_none()), (0, 1, true));
    let arrived = bed.events().into_iter().find_map(|event| match event {
        Event::Enqueued { at, .. } => Some(at),
        _ => None,
    });
    assert_eq!(arrived, Some(Time(2 * MS)));
}

#[test]
fn a_stamp_that_is_later_than_now_counts_as_now() {
    let mut bed = Bed::new(&plain(), true);
    bed.sends([0; 10], &packet(1, 0, 100), 9 * MS);
    bed.turn(2 * MS);
    let next = bed.turn(4 * MS);
    assert!(next > bed.clock.now());
    let arrived = bed.events().into_iter().find_map(|event| match event {
        Event::Enqueued { at, .. } => Some(at),
        _ => None,
    });
    assert_eq!(arrived, Some(Time(2 * MS)));
}

#[test]
fn a_step_of_a_queue_may_wait_for_a_millisecond_or_for_half_the_delay_behind_it() {
    // The second of two packets starts when the first one's 2 ms are over.
    for (rtt, step) in [("20ms", 3 * MS), ("800us", 2 * MS + 200_000)] {
        let link = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "99pkt"}}"#;
        let scenario = path(&format!(r#"{{"rtt": "{rtt}", "down": {link}, "up": {link}}}"#));
        let mut bed = Bed::new(&scenario, true);
        // The card takes 80 µs each, so that both arrive before they are looked for.
        for _ in 0..2 {
            bed.sends([0; 10], &packet(1, 0, 1000), 0);
        }
        assert_eq!(bed.turn(MS), Time(step.min(if rtt == "20ms" { 12 * MS } else { 2 * MS + 400_000 })));
    }
}

#[test]
fn a_look_takes_so_many_packets_and_no_more_before_it_gives_those_that_are_due() {
    let mut bed = Bed::new(&plain(), true);
    for k in 0..70 {
        bed.sends([0; 10], &packet(1, 0, 30), k * 1000);
    }
    bed.turn(MS);
    assert_eq!(bed.down().sent_pkts, 64);
    bed.turn(MS);
    assert_eq!((bed.down().sent_pkts, bed.forwarder.sides()[0].clamped.0), (70, 0), "nor are the others too late");
    // Super-packets count by their pieces.
    for k in 0..4 {
        bed.sends(of_udp(10), &packet(1, 0, 28 + 400), 2 * MS + k);
    }
    let mut taken = |at| {
        bed.turn(at);
        bed.down().sent_pkts - 70
    };
    assert_eq!([3, 3, 3].map(|ms| taken(ms * MS)), [80, 160, 160]);
}

#[test]
fn a_run_begins_with_a_free_card_and_the_first_number() {
    let mut bed = Bed::new(&plain(), true);
    for _ in 0..9 {
        bed.sends([0; 10], &packet(1, 0, 1250), MS);
    }
    bed.turn(2 * MS);
    let (producer, events) = RingBuffer::new(64);
    bed.forwarder.restart(ways(&plain(), 1), EventSink::new(producer, None));
    bed.events = events;
    bed.sends([0; 10], &packet(1, 0, 1250), MS / 2);
    bed.turn(2 * MS);
    let arrived = bed.events().into_iter().find_map(|event| match event {
        Event::Enqueued { at, journey, row, .. } => Some((at.0, journey, row)),
        _ => None,
    });
    assert_eq!((arrived, bed.forwarder.sides()[0].under_way), (Some((MS / 2, 0, 0)), 1));
}

#[test]
fn a_lossy_link_loses_as_the_simulator_does_and_its_bytes_have_their_overhead() {
    let link = r#"{"rate": "4Mbit", "loss": 0.3, "overhead": "100B", "queue": {"kind": "fifo", "limit": "99pkt"}}"#;
    let scenario = path(&format!(r#"{{"rtt": "20ms", "down": {link}, "up": {link}}}"#));
    let mut bed = Bed::new(&scenario, true);
    for k in 0..200 {
        bed.sends([0; 10], &packet(1, 0, 500), 5 * k * MS);
        bed.turn((5 * k + 1) * MS);
    }
    bed.turn(2000 * MS);
    let events = bed.events();
    let count = |of: fn(&Event) -> bool| events.iter().filter(|event| of(event)).count();
    let lost = count(|event| matches!(event, Event::Refused { link: 0, cause: DropCause::Path, .. }));
    // 600 bytes at 4 Mbit/s are 1.2 ms.
    let carried = |event: &Event| matches!(event, Event::Transmitted { start, end, bytes: 600, .. } if end.0 - start.0 == 1_200_000);
    assert_eq!(lost + count(carried), 200);
    assert!((35..85).contains(&lost), "{lost} of 200 at 30 %");
    assert_eq!(bed.down().delivered_pkts, 200 - lost as u64);
    let mut ledger = Ledger::new(&scenario, (1, 0), Outputs::default(), None).unwrap();
    events.iter().for_each(|event| ledger.take(*event).unwrap());
    let agreement = ledger.finish(Time(2000 * MS)).unwrap().links[0].agreement;
    assert_eq!((agreement.decisions, agreement.equal, agreement.drops), (200, 200, lost as u64));
}
