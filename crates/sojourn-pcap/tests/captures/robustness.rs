//! Nothing that a capture can hold makes the reader or the estimators panic, hang or grow without bound.

use proptest::prelude::*;
use sojourn_pcap::decode::utp;
use sojourn_pcap::delay::summary::summary;
use sojourn_pcap::read::Capture;
use sojourn_pcap::write::{Datagram, End, Header, Pcap, Pcapng};
use sojourn_pcap::{Meter, Options};
use std::io::Cursor;
use std::net::Ipv4Addr;

fn measure(bytes: Vec<u8>, options: Options) -> Option<Meter> {
    let mut capture = Capture::from_stream(Cursor::new(bytes), "memory").ok()?;
    let mut meter = Meter::new(options);
    while let Ok(Some(frame)) = capture.next_frame() {
        if meter.frame(&frame) {
            drop(meter.finalize());
        }
    }
    drop(meter.finalize());
    serde_json::to_string(&summary(&meter, 1)).expect("a summary is JSON");
    Some(meter)
}

fn end(n: u8, port: u16) -> End {
    End { address: Ipv4Addr::new(10, 0, 0, n), port }
}

/// A small capture of TCP and uTP flows in both directions, in either format.
fn sample(ng: bool) -> Vec<u8> {
    let mut ng_out = Pcapng::new(Vec::new(), &["one"]).unwrap();
    let mut out = Pcap::new(Vec::new()).unwrap();
    for i in 0..200u32 {
        let back = i % 3 == 2;
        let (source, destination) = if back { (end(2, 80), end(1, 999)) } else { (end(1, 999), end(2, 80)) };
        let header = if i % 2 == 0 {
            Header::Tcp {
                seq: i * 500,
                ack: i * 400,
                flags: 16,
                stamps: Some((i * 10, i * 10)),
                sack: Default::default(),
                mss: None,
            }
        } else {
            let (stamp, difference) = (i * 10_000, if i < 5 { 0 } else { 7_000_000 + i });
            let kind = if back { utp::STATE } else { utp::DATA };
            Header::Utp(utp::Header { kind, connection: 7, stamp, difference, seq: i as u16, ack: i as u16 })
        };
        let packet = Datagram { source, destination, id: i as u16, ttl: 60, ecn: 0, payload: 1000, header };
        let time = 1_700_000_000_000_000_000 + u64::from(i) * 10_000_000;
        ng_out.datagram(0, time, &packet).unwrap();
        out.datagram(time, &packet).unwrap();
    }
    if ng { ng_out.finish().unwrap() } else { out.finish().unwrap() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn damaged_captures_are_read_as_far_as_they_go(
        ng: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
        log_packets in 16usize..300,
    ) {
        let mut bytes = sample(ng);
        let keep = 24 + cut.index(bytes.len() - 23);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(keep);
        measure(bytes, Options { log_packets, most_flows: 16, ..Options::default() });
    }

    #[test]
    fn any_bytes_in_frames_are_decoded_or_skipped(
        link in prop::sample::select(vec![0u16, 1, 9, 12, 50, 101, 108, 113, 228, 229, 276, 999]),
        data in prop::collection::vec(any::<u8>(), 0..200),
        wire_len: u32,
    ) {
        let _ = sojourn_pcap::decode::decode(link, &data, wire_len);
    }

    #[test]
    fn stamps_and_sequence_numbers_may_be_anything(
        packets in prop::collection::vec((any::<bool>(), any::<[u32; 4]>(), any::<u8>(), any::<u16>(), 0u64..u64::MAX / 2), 1..100),
    ) {
        let mut out = Pcapng::new(Vec::new(), &["one"]).unwrap();
        for (back, [a, b, c, d], flags, payload, time) in packets {
            let (source, destination) = if back { (end(2, 80), end(1, 999)) } else { (end(1, 999), end(2, 80)) };
            let header = if flags & 128 == 0 {
                Header::Tcp { seq: a, ack: b, flags, stamps: Some((c, d)), sack: Default::default(), mss: None }
            } else {
                let (seq, ack) = (c as u16, d as u16);
                Header::Utp(utp::Header { kind: flags % 5, connection: 7, stamp: a, difference: b, seq, ack })
            };
            let packet = Datagram { source, destination, id: payload, ttl: flags, ecn: 0, payload: payload / 2, header };
            out.datagram(0, time, &packet).unwrap();
        }
        measure(out.finish().unwrap(), Options { log_packets: 32, ..Options::default() });
    }
}

#[test]
fn a_million_flows_of_one_packet_take_no_more_memory_than_the_table() {
    let mut meter = Meter::new(Options { most_flows: 1 << 12, ..Options::default() });
    for i in 0..1_000_000u32 {
        let source = End { address: Ipv4Addr::from_bits(0x0b00_0000 + i), port: i as u16 };
        let header =
            Header::Tcp { seq: i, ack: 0, flags: 2, stamps: Some((i, 0)), sack: Default::default(), mss: None };
        let packet = Datagram { source, destination: end(2, 80), id: 1, ttl: 60, ecn: 0, payload: 0, header };
        let (bytes, wire_len) = packet.frame();
        let time_ns = 1_700_000_000_000_000_000 + i64::from(i) * 1000;
        let number = u64::from(i) + 1;
        meter.frame(&sojourn_pcap::read::Frame {
            number,
            time_ns,
            link: 1,
            wire_len,
            data: &bytes,
            dropped: false,
            interface: None,
        });
        assert!(meter.flows() <= 1 << 12);
    }
    assert_eq!(meter.hosts().all.len(), 0, "a flow of one packet makes no host");
    drop(meter.finalize());
    assert_eq!(summary(&meter, 1)["discarded"]["only_packet_of_its_flow"], 1_000_000 - (1 << 12));
}

#[test]
fn compressed_bombs_and_endless_blocks_end() {
    // A block that claims 4 GiB is passed over by reading, not by allocating.
    let mut bytes = sample(true);
    bytes.extend(0x0000_0bad_u32.to_le_bytes());
    bytes.extend(0xffff_fffc_u32.to_le_bytes());
    bytes.extend([0; 64]);
    let mut capture = Capture::from_stream(Cursor::new(bytes), "memory").unwrap();
    while capture.next_frame().unwrap().is_some() {}
    assert_eq!(capture.damage().len(), 1);
    assert!(capture.damage()[0].cut_short);
}

#[test]
fn what_waits_for_an_answer_in_vain_is_forgotten() {
    // Two hosts, a thousand connections that send both ways and answer nothing.
    let mut meter = Meter::new(Options { most_flows: 1 << 10, log_packets: 1 << 14, ..Options::default() });
    let stamp = |i: u32| i / 100;
    let mut number = 0;
    let mut feed = |meter: &mut Meter, i: u32, source, destination, header, payload| {
        let packet = Datagram { source, destination, id: i as u16, ttl: 60, ecn: 0, payload, header };
        let (bytes, wire_len) = packet.frame();
        number += 1;
        let time_ns = 1_700_000_000_000_000_000 + i64::from(i) * 1000;
        meter.frame(&sojourn_pcap::read::Frame {
            number,
            time_ns,
            link: 1,
            wire_len,
            data: &bytes,
            dropped: false,
            interface: None,
        })
    };
    let mut most = 0;
    for i in 0..100_000u32 {
        let (flow, n) = (i % 1000, i / 1000);
        let (there, here) = (end(1, 1000 + flow as u16), end(2, 80));
        let (source, destination) = if n % 2 == 0 { (there, here) } else { (here, there) };
        let header = Header::Tcp {
            seq: n / 2 * 100,
            ack: 1,
            flags: 16,
            stamps: Some((stamp(i) + 1, 0)),
            sack: Default::default(),
            mss: None,
        };
        if feed(&mut meter, i, source, destination, header, 100) {
            drop(meter.finalize());
        }
        most = most.max(meter.remembered());
    }
    assert!(most > 1 << 14, "the queues filled: {most}");
    assert!(most <= (1 << 15) + 8192 && meter.remembered() < most, "and were emptied: {}", meter.remembered());
}
