//! Any bytes as a capture file: framing, decompression, decoding, estimators and summary.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_pcap::read::Capture;
use sojourn_pcap::{Meter, Options};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut capture) = Capture::from_stream(std::io::Cursor::new(bytes.to_vec()), "fuzz") else { return };
    let mut meter = Meter::new(Options { most_flows: 16, log_packets: 64, ..Options::default() });
    while let Ok(Some(frame)) = capture.next_frame() {
        if meter.frame(&frame) {
            drop(meter.finalize());
        }
    }
    drop(meter.finalize());
    sojourn_pcap::delay::summary::summary(&meter, 1).to_string();
});
