//! Any sequence of TCP segments and datagrams between a few hosts, as a workload: every 12 bytes are one packet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_pcap::read::Frame;
use sojourn_pcap::workload::{Extractor, Options};
use sojourn_pcap::write::{Datagram, End, Header};
use std::net::Ipv4Addr;

fuzz_target!(|bytes: &[u8]| {
    let mut extractor = Extractor::new(Options { most_connections: 8, most_turns: 64 });
    let mut time_ns = 1_700_000_000_000_000_000i64;
    for (number, packet) in bytes.chunks_exact(12).enumerate() {
        let [who, flags, ttl, size] = [packet[0], packet[1], packet[2], packet[3]];
        let word = |at: usize| u32::from_le_bytes([packet[at], packet[at + 1], 0, packet[at + 1] & who]);
        time_ns = time_ns.wrapping_add(i64::from(word(4) as i32) << if who & 128 != 0 { 30 } else { 12 });
        let end = |n: u8| End { address: Ipv4Addr::new(10, 0, 0, n), port: 1000 + u16::from(who >> 1 & 3) };
        let (source, destination) = if who & 1 == 0 { (end(1), end(2)) } else { (end(2), end(1)) };
        let header = match who & 8 {
            0 => Header::Tcp { seq: word(6), ack: word(8), flags, stamps: None, sack: Default::default() },
            _ => Header::Udp,
        };
        let datagram = Datagram { source, destination, id: 0, ttl, payload: u16::from(size) * 8, header };
        let (data, wire_len) = datagram.frame();
        extractor.frame(&Frame {
            number: number as u64 + 1,
            time_ns,
            link: 1,
            wire_len,
            data: &data,
            dropped: false,
            interface: None,
        });
    }
    let workload = extractor.finish(&|_| None);
    assert!(workload.connections.len() <= 8);
    let turns: usize = workload.connections.iter().map(|connection| connection.turns.len()).sum();
    assert!(turns <= 64 + 16, "a bound on memory");
});
