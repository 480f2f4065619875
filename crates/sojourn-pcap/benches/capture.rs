//! Nanoseconds per packet of each step, for TCP with timestamps and for uTP: 40 flows, two data packets for each
//! answer.
//!
//! `cargo bench -p sojourn-pcap` prints the best of seven runs.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use sojourn_pcap::decode::{decode, utp};
use sojourn_pcap::read::ahead::{Batch, read_ahead};
use sojourn_pcap::read::{Capture, ReadError};
use sojourn_pcap::write::{Datagram, End, Header, Pcap};
use sojourn_pcap::{Meter, Options};
use std::io::Cursor;
use std::net::Ipv4Addr;
use std::time::Instant;

const PACKETS: u32 = 600_000;

fn capture(tcp: bool) -> Vec<u8> {
    let mut out = Pcap::new(Vec::new()).expect("memory can be written");
    for i in 0..PACKETS {
        let (flow, n) = (i % 40, i / 40);
        let answer = n % 3 == 2;
        let remote = End { address: Ipv4Addr::new(10, 1, 0, flow as u8), port: 4000 };
        let local = End { address: Ipv4Addr::new(10, 2, 0, 1), port: 5001 };
        let (source, destination) = if answer { (local, remote) } else { (remote, local) };
        let time_ns = u64::from(i) * 50_000 + 1_700_000_000_000_000_000;
        let data = n - n / 3;
        let header = if tcp {
            let ms = (time_ns / 1_000_000) as u32;
            let (seq, ack) = if answer { (1, data * 1448) } else { (data * 1448, 1) };
            Header::Tcp { seq, ack, flags: 16, stamps: Some((ms, ms - 30)) }
        } else {
            let (stamp, kind) = ((time_ns / 1000) as u32, if answer { utp::STATE } else { utp::DATA });
            Header::Utp(utp::Header { kind, connection: 7, stamp, difference: 9, seq: data as u16, ack: data as u16 })
        };
        let payload = if answer { 0 } else { 1448 };
        out.datagram(time_ns, &Datagram { source, destination, id: n as u16, ttl: 60, payload, header })
            .expect("memory can be written");
    }
    out.finish().expect("memory can be written")
}

fn run(bytes: &[u8], step: usize) -> f64 {
    let mut capture = Capture::from_stream(Cursor::new(bytes.to_vec()), "memory").expect("a capture");
    let mut meter = Meter::new(Options::default());
    let begun = Instant::now();
    while let Some(frame) = capture.next_frame().expect("memory can be read") {
        match step {
            0 => drop(std::hint::black_box(frame)),
            1 => drop(std::hint::black_box(decode(frame.link, frame.data, frame.wire_len))),
            _ => drop(meter.frame(&frame)),
        }
    }
    if step == 3 {
        drop(meter.finalize());
    }
    begun.elapsed().as_nanos() as f64 / f64::from(PACKETS)
}

/// With reading and decoding on a thread of its own.
fn run_ahead(bytes: &[u8]) -> f64 {
    let mut capture = Capture::from_stream(Cursor::new(bytes.to_vec()), "memory").expect("a capture");
    let mut meter = Meter::new(Options::default());
    let begun = Instant::now();
    let take = |batch: &Batch| {
        batch.packets().for_each(|(arrival, decoded)| _ = meter.packet(arrival, decoded));
        Ok(())
    };
    read_ahead::<ReadError>(&mut capture, |_| Ok(true), take, || Ok(()), || ()).expect("memory can be read");
    drop(meter.finalize());
    begun.elapsed().as_nanos() as f64 / f64::from(PACKETS)
}

fn main() {
    for (name, tcp) in [("tcp", true), ("utp", false)] {
        let bytes = capture(tcp);
        for (step, what) in ["read", "and decode", "and log", "and finalize"].into_iter().enumerate() {
            let best = (0..7).map(|_| run(&bytes, step)).fold(f64::INFINITY, f64::min);
            println!("{name} {what:10} {best:6.1} ns per packet");
        }
        let best = (0..7).map(|_| run_ahead(&bytes)).fold(f64::INFINITY, f64::min);
        println!("{name} {:10} {best:6.1} ns per packet", "two threads");
    }
}
