//! Any sequence of TCP segments and datagrams between two hosts, as a workload: every 16 bytes are one packet. With
//! stamps, so that packets may tell what they waited; what shares a queue with them is looked into only then.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_fuzz::{Record, packets};
use sojourn_pcap::workload::{Extractor, Options};
use sojourn_pcap::write::Header;

fn header(record: &Record) -> Header {
    let [seq, ack, stamp, echo] = record.values;
    if record.who & 8 != 0 {
        return Header::Udp;
    }
    let stamps = (record.who & 16 == 0).then_some((stamp, echo));
    Header::Tcp { seq, ack, flags: record.flags, stamps, sack: Default::default() }
}

fuzz_target!(|bytes: &[u8]| {
    let mut extractor = Extractor::new(Options { most_connections: 8, most_turns: 1024 });
    packets(bytes, header, |frame| extractor.frame(frame));
    let workload = extractor.finish(&|_| None);
    assert!(workload.connections.len() <= 8);
    let turns: usize = workload.connections.iter().map(|connection| connection.turns.len()).sum();
    assert!(turns <= 1024 + 16, "a bound on memory");
});
