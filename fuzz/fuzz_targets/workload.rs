//! Any sequence of TCP segments and datagrams, of QUIC too, between two hosts, as a workload: every 16 bytes are one
//! packet. With stamps, so that packets may tell what they waited; what shares a queue with them is looked into only
//! then.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_fuzz::{Record, packets};
use sojourn_pcap::decode::tcp::SYN;
use sojourn_pcap::workload::{Extractor, Options};
use sojourn_pcap::write::Header;

fn header(record: &Record) -> Header {
    let [seq, ack, stamp, echo] = record.values;
    let other = record.who & 16 != 0;
    if record.who & 8 != 0 {
        let quic = Header::Quic { long: record.flags & 1 != 0, masked: seq as u8, id: 0 };
        return if other { quic } else { Header::Udp };
    }
    let stamps = (!other).then_some((stamp, echo));
    // What a SYN offers: segments of any size.
    let mss = (record.flags & SYN != 0).then_some(seq as u16);
    Header::Tcp { seq, ack, flags: record.flags, stamps, sack: Default::default(), mss }
}

/// Enough that a host may be seen to wait for what comes before it opens connections.
const MOST: Options = Options { most_connections: 32, most_turns: 1024 };

fuzz_target!(|bytes: &[u8]| {
    let mut extractor = Extractor::new(MOST);
    packets(bytes, header, |frame| extractor.frame(frame));
    let connections = extractor.finish(&|_| None).connections;
    assert!(connections.len() <= MOST.most_connections);
    let turns: usize = connections.iter().map(|connection| connection.turns.len()).sum();
    assert!(turns <= MOST.most_turns + 2 * MOST.most_connections, "a bound on memory");
    for after in connections.iter().filter_map(|connection| connection.after) {
        assert!((after.number as usize) < connections.len(), "one of them");
    }
});
