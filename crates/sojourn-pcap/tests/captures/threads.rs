//! What is found does not depend on the number of threads, nor on whether anybody asks for samples.

use proptest::prelude::*;
use sojourn_pcap::decode::utp;
use sojourn_pcap::delay::read_ahead::ReadEvent;
use sojourn_pcap::delay::summary::summary;
use sojourn_pcap::read::{Capture, ReadError};
use sojourn_pcap::write::{Datagram, End, Header, Pcap};
use sojourn_pcap::{Choice, Meter, Options};
use std::io::Cursor;
use std::net::Ipv4Addr;

/// What a packet is, in a few numbers: who sends to whom, for how long nothing was sent before (µs), what waits (µs).
type Step = (u8, u16, u16);

/// Connections of a few remote hosts with one local host and with each other, some of them uTP.
fn capture(steps: &[Step]) -> Vec<u8> {
    let mut out = Pcap::new(Vec::new()).unwrap();
    let (mut time_ns, mut sent) = (1_700_000_000_000_000_000u64, [[0u32; 2]; 32]);
    let mut last = 0;
    for &(who, gap, wait) in steps {
        // Half of the packets answer the one before, or follow it, at once.
        let at_once = who & 128 != 0;
        let flow = if at_once { last } else { usize::from(who & 31) };
        last = flow;
        let (back, remote) = (who & 32 != 0, 2 + (flow % 5) as u8);
        let end = |n: u8, port: usize| End { address: Ipv4Addr::new(10, 0, 0, n), port: 2000 + port as u16 };
        let (near, far) = (end(if flow == 31 { 6 } else { 1 }, 0), end(remote, flow));
        time_ns += 1_000 + u64::from(if at_once && back { gap % 300 } else { gap }) * 1_000;
        let (source, destination) = if back { (near, far) } else { (far, near) };
        let [mine, theirs] = [sent[flow][usize::from(back)], sent[flow][usize::from(!back)]];
        let ms = (time_ns / 1_000_000) as u32;
        let payload = if who & 64 != 0 { 1000 } else { 0 };
        let header = if flow % 4 == 3 {
            let (stamp, difference) = ((time_ns / 1000) as u32 - u32::from(wait), 7_000_000 + u32::from(wait));
            let kind = if back { utp::STATE } else { utp::DATA };
            Header::Utp(utp::Header { kind, connection: 7, stamp, difference, seq: mine as u16, ack: theirs as u16 })
        } else {
            let stamps = Some((ms - u32::from(wait) / 1000, ms - 20));
            Header::Tcp { seq: mine, ack: theirs, flags: 16, stamps, sack: Default::default(), mss: None }
        };
        sent[flow][usize::from(back)] += u32::from(payload);
        let datagram = Datagram { source, destination, id: mine as u16, ttl: 60, ecn: 0, payload, header };
        out.datagram(time_ns, &datagram).unwrap();
    }
    out.finish().unwrap()
}

/// The summary, and the samples if they are asked for; read as a whole, or frame by frame.
fn measure(bytes: &[u8], options: Options, whole: bool, samples: bool) -> (String, Vec<String>) {
    let mut capture = Capture::from_stream(Cursor::new(bytes.to_vec()), "memory").unwrap();
    let (mut meter, mut told) = (Meter::new(options), Vec::new());
    let mut settle = |meter: &mut Meter| {
        let mut finalized = meter.finalize();
        while samples && let Some(sample) = finalized.next() {
            told.push(format!("{sample:?} {:?}", finalized.flow(sample.flow, sample.toward)));
        }
    };
    if whole {
        let told = |meter: &mut Meter, news: ReadEvent| {
            if news == ReadEvent::Full {
                settle(meter);
            }
            Ok(())
        };
        meter.read::<ReadError>(&mut capture, |_| Ok(true), told, || ()).unwrap();
    } else {
        while let Some(frame) = capture.next_frame().unwrap() {
            if meter.frame(&frame) {
                settle(&mut meter);
            }
        }
    }
    meter.end();
    settle(&mut meter);
    (summary(&meter, 1).to_string(), told)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_number_of_threads_finds_the_same(
        steps in prop::collection::vec(any::<Step>(), 200..1500),
        log_packets in prop_oneof![50usize..400, Just(1 << 20)],
        choice in 0usize..3,
    ) {
        let bytes = capture(&steps);
        let estimator = [Choice::Auto, Choice::Observer, Choice::Reported][choice];
        let options = |threads| Options { estimator, log_packets, threads, ..Options::default() };
        let one = measure(&bytes, options(1), false, true);
        for (threads, whole) in [(1, true), (2, false), (2, true), (7, true)] {
            prop_assert_eq!(&measure(&bytes, options(threads), whole, true), &one);
        }
        for threads in [1, 2, 7] {
            prop_assert_eq!(&measure(&bytes, options(threads), false, false).0, &one.0, "without samples");
        }
    }
}

#[test]
fn the_captures_of_these_tests_have_samples_in_both_directions() {
    let steps: Vec<Step> =
        (0..8000u32).map(|i| ((i * i * 7 % 251) as u8, (i % 7 * 900) as u16, (i % 5000) as u16)).collect();
    let (_, samples) = measure(&capture(&steps), Options::default(), false, true);
    let count = |what: &str| samples.iter().filter(|sample| sample.contains(what)).count();
    let found = ["toward: true", "toward: false", "Utp", "Tcp"].map(count);
    assert!(found.iter().all(|&count| count >= 50), "{found:?}");
}

/// Many packets, of flows and hosts as `who` says.
fn long_capture(who: impl Fn(u32) -> u8) -> Vec<u8> {
    let step = |i: u32| (who(i), (i * i % 701) as u16, (i * 7 % 5000) as u16);
    capture(&(0..40_000).map(step).collect::<Vec<_>>())
}

#[test]
fn many_batches_are_measured_in_their_order_whoever_reads_and_follows_them() {
    // All flows; both ways of one; those of one remote host; packets of one way only.
    let all = long_capture(|i| (i * i * 7 % 251) as u8);
    let one_flow = long_capture(|i| ((i * i % 7) << 5) as u8);
    let one_host = long_capture(|i| (i * 5 % 30) as u8 | ((i * i % 7) << 5) as u8);
    let one_way = long_capture(|i| (i % 31) as u8 | 64);
    let mut cut = all.clone();
    cut.truncate(all.len() - 10);
    for bytes in [&all, &one_flow, &one_host, &one_way, &cut, &all[..24].to_vec()] {
        for log_packets in [9_000, 1 << 22] {
            let options = |threads| Options { log_packets, threads, ..Options::default() };
            let one = measure(bytes, options(1), false, true);
            assert_eq!(one.1.is_empty(), bytes.len() == 24);
            for threads in [1, 2, 3, 40] {
                let found = measure(bytes, options(threads), true, true);
                assert!(found == one, "{threads} threads, {log_packets} packets of log");
            }
        }
    }
}
