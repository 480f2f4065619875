//! Any sequence of TCP and uTP packets between a few hosts: every 16 bytes are one packet, so that all inputs reach
//! the estimators.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_pcap::decode::utp;
use sojourn_pcap::read::Frame;
use sojourn_pcap::write::{Datagram, End, Header};
use sojourn_pcap::{Choice, Meter, Options};
use std::net::Ipv4Addr;

fuzz_target!(|bytes: &[u8]| {
    let estimator = match bytes.first().map(|first| first % 3) {
        Some(0) => Choice::Auto,
        Some(1) => Choice::Observer,
        _ => Choice::Reported,
    };
    let mut meter = Meter::new(Options { estimator, most_flows: 4, log_packets: 64, ..Options::default() });
    let (mut time_ns, mut values) = (1_700_000_000_000_000_000i64, [[0u32; 4]; 2]);
    for (number, packet) in bytes.get(1..).unwrap_or_default().chunks_exact(16).enumerate() {
        let [who, flags, ttl, size] = [packet[0], packet[1], packet[2], packet[3]];
        let small = |at: usize| i32::from(i16::from_le_bytes([packet[at], packet[at + 1]]));
        // Small steps of all values and, now and then, large ones.
        let step = |at: usize| if who & 64 != 0 { (small(at) << 16) as u32 } else { small(at) as u32 };
        time_ns = time_ns.wrapping_add(i64::from(small(4)) << if who & 128 != 0 { 45 } else { 12 });
        let side = usize::from(who & 1);
        for (i, value) in values[side].iter_mut().enumerate() {
            *value = value.wrapping_add(step(6 + 2 * i));
        }
        let [a, b, c, d] = values[side];
        let end = |n: u8| End { address: Ipv4Addr::new(10, 0, 0, n), port: 1000 + u16::from(who >> 1 & 3) };
        let (source, destination) = if side == 0 { (end(1), end(2)) } else { (end(2), end(1)) };
        let header = if who & 8 == 0 {
            Header::Tcp { seq: a, ack: b, flags, stamps: (who & 16 == 0).then_some((c, d)), sack: Default::default() }
        } else {
            let (seq, ack) = (c as u16, d as u16);
            Header::Utp(utp::Header { kind: flags % 5, connection: 7, stamp: a, difference: b, seq, ack })
        };
        let datagram = Datagram { source, destination, id: 0, ttl, payload: u16::from(size) * 8, header };
        let (data, wire_len) = datagram.frame();
        if meter.frame(&Frame {
            number: number as u64 + 1,
            time_ns,
            link: 1,
            wire_len,
            data: &data,
            dropped: false,
            interface: None,
        }) {
            drop(meter.finalize());
        }
    }
    drop(meter.finalize());
    sojourn_pcap::delay::summary::summary(&meter, 1).to_string();
});
