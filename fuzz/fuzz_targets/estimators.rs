//! Any sequence of TCP and uTP packets between two hosts: every 16 bytes are one packet, so that all inputs reach
//! the estimators. The first byte says which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_fuzz::{Record, packets};
use sojourn_pcap::decode::utp;
use sojourn_pcap::write::Header;
use sojourn_pcap::{Choice, Meter, Options};

fn header(record: &Record) -> Header {
    let ([a, b, c, d], flags) = (record.values, record.flags);
    if record.who & 8 != 0 {
        let (seq, ack) = (c as u16, d as u16);
        return Header::Utp(utp::Header { kind: flags % 5, connection: 7, stamp: a, difference: b, seq, ack });
    }
    let stamps = (record.who & 16 == 0).then_some((c, d));
    Header::Tcp { seq: a, ack: b, flags, stamps, sack: Default::default(), mss: None }
}

fuzz_target!(|bytes: &[u8]| {
    let estimator = match bytes.first().map(|first| first % 3) {
        Some(0) => Choice::Auto,
        Some(1) => Choice::Observer,
        _ => Choice::Reported,
    };
    let mut meter = Meter::new(Options { estimator, most_flows: 4, log_packets: 64, ..Options::default() });
    packets(bytes.get(1..).unwrap_or_default(), header, |frame| {
        if meter.frame(frame) {
            drop(meter.finalize());
        }
    });
    drop(meter.finalize());
    sojourn_pcap::delay::summary::summary(&meter, 1).to_string();
});
