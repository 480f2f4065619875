//! Any bytes as a capture file: framing, decompression, decoding, estimators and summary; frame by frame, as a whole,
//! and with reading on a thread of its own, which must all find the same. And as a workload.
//!
//! LeakSanitizer may report 32 bytes of `__cxa_thread_atexit_impl`, seldom and for no input in particular: a scope ends
//! before what its threads keep for themselves does (a program with nothing but `std::thread::scope` shows the same).
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_pcap::delay::read_ahead::ReadEvent;
use sojourn_pcap::delay::summary::summary;
use sojourn_pcap::read::{Capture, ReadError};
use sojourn_pcap::workload::{self, Extractor};
use sojourn_pcap::{Meter, Options};

fn open(bytes: &[u8]) -> Option<Capture> {
    Capture::from_stream(std::io::Cursor::new(bytes.to_vec()), "fuzz").ok()
}

fn meter(threads: usize) -> Meter {
    Meter::new(Options { most_flows: 16, log_packets: 64, threads, ..Options::default() })
}

fn whole(bytes: &[u8], threads: usize) -> Option<String> {
    let (mut capture, mut meter) = (open(bytes)?, meter(threads));
    let told = |meter: &mut Meter, news: ReadEvent| {
        if news == ReadEvent::Full {
            drop(meter.finalize());
        }
        Ok::<(), ReadError>(())
    };
    let read = meter.read(&mut capture, |_| Ok(true), told, || ());
    drop(meter.finalize());
    read.is_ok().then(|| summary(&meter, 1).to_string())
}

fuzz_target!(|bytes: &[u8]| {
    let Some(mut capture) = open(bytes) else { return };
    let mut meter = meter(1);
    let mut extractor = Extractor::new(workload::Options { most_connections: 8, most_turns: 1024 });
    while let Ok(Some(frame)) = capture.next_frame() {
        extractor.frame(&frame);
        if meter.frame(&frame) {
            drop(meter.finalize());
        }
    }
    drop(extractor.finish(&|_| None));
    drop(meter.finalize());
    let found = summary(&meter, 1).to_string();
    // Where reading fails, what was read ahead is not taken in.
    for threads in [1, 2] {
        if let Some(again) = whole(bytes, threads) {
            assert_eq!(again, found);
        }
    }
});
