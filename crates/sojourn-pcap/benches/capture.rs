//! Nanoseconds per packet of each step, for TCP with timestamps and for uTP: 40 flows, two data packets for each
//! answer.
//!
//! `cargo bench -p sojourn-pcap` prints the best of seven runs; with `-- CAPTURE…` for these captures instead. With
//! `--once STEP` (0 to 4) one step runs once, as profilers want it.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use sojourn_pcap::decode::{decode, utp};
use sojourn_pcap::delay::read_ahead::ReadEvent;
use sojourn_pcap::read::{Capture, Frame, ReadError};
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
            Header::Tcp { seq, ack, flags: 16, stamps: Some((ms, ms - 30)), sack: Default::default(), mss: None }
        } else {
            let (stamp, kind) = ((time_ns / 1000) as u32, if answer { utp::STATE } else { utp::DATA });
            Header::Utp(utp::Header { kind, connection: 7, stamp, difference: 9, seq: data as u16, ack: data as u16 })
        };
        let payload = if answer { 0 } else { 1448 };
        out.datagram(time_ns, &Datagram { source, destination, id: n as u16, ttl: 60, ecn: 0, payload, header })
            .expect("memory can be written");
    }
    out.finish().expect("memory can be written")
}

fn run(bytes: &[u8], step: usize) -> f64 {
    let mut capture = Capture::from_stream(Cursor::new(bytes.to_vec()), "memory").expect("a capture");
    let threads = if step == 4 { 2 } else { 1 };
    let mut meter = Meter::new(Options { threads, ..Options::default() });
    let (begun, mut frames) = (Instant::now(), 0u64);
    if step < 2 {
        let take = |frame: &Frame<'_>| {
            frames = frame.number;
            match step {
                0 => _ = std::hint::black_box(frame),
                _ => drop(std::hint::black_box(decode(frame.link, frame.data, frame.wire_len))),
            }
            Ok::<(), ReadError>(())
        };
        let mut take = take;
        while capture.frames(1 << 20, &mut take).expect("memory can be read") {}
    } else {
        let told = |meter: &mut Meter, news: ReadEvent| {
            match news {
                ReadEvent::Full => drop(meter.finalize()),
                ReadEvent::Read(read, _) => frames = read,
                ReadEvent::Waiting => {}
            }
            Ok::<(), ReadError>(())
        };
        meter.read(&mut capture, |_| Ok(true), told, || ()).expect("memory can be read");
    }
    if step > 2 {
        drop(meter.finalize());
    }
    begun.elapsed().as_nanos() as f64 / frames as f64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let once = arguments.iter().position(|argument| argument == "--once").map(|at| at + 1);
    let files = arguments.iter().enumerate().filter(|(i, name)| Some(*i) != once && !name.starts_with("--"));
    let read = |name: &String| (name.clone(), std::fs::read(name).expect("a capture that can be read"));
    let mut captures: Vec<(String, Vec<u8>)> = files.map(|(_, name)| read(name)).collect();
    if captures.is_empty() {
        captures = [("tcp", true), ("utp", false)].map(|(name, tcp)| (name.to_owned(), capture(tcp))).into();
    }
    for (name, bytes) in captures {
        if let Some(step) = once {
            println!("{name} {:.1} ns per packet", run(&bytes, arguments[step].parse().expect("a step, 0 to 4")));
            continue;
        }
        for (step, what) in ["read", "and decode", "and log", "and finalize", "two threads"].into_iter().enumerate() {
            let best = (0..7).map(|_| run(&bytes, step)).fold(f64::INFINITY, f64::min);
            println!("{name} {what:12} {best:6.1} ns per packet, {:5.2} M packets/s", 1000.0 / best);
        }
    }
}
