//! What two targets share: bytes that become packets between two hosts, 10.0.0.1 and 10.0.0.2, over time.

use sojourn_pcap::read::Frame;
use sojourn_pcap::write::{Datagram, End, Header};
use std::net::Ipv4Addr;

/// Bytes of the input that are one packet.
const RECORD: usize = 16;

/// One packet out of its bytes.
pub struct Record {
    /// Bit 0: which host sends; bits 1 and 2: by which of its ports. The targets read bits 3 and 4.
    pub who: u8,
    pub flags: u8,
    /// Numbers and stamps of that host, for the header. They move by small steps, with bit 6 by large ones.
    pub values: [u32; 4],
}

/// Show the packets that bytes stand for, in their order, each with the header that it is given.
///
/// Time moves by small steps, forward or back, with bit 7 by large ones.
pub fn packets(bytes: &[u8], header: impl Fn(&Record) -> Header, mut see: impl FnMut(&Frame<'_>)) {
    let (mut time_ns, mut values) = (1_700_000_000_000_000_000i64, [[0u32; 4]; 2]);
    for (number, packet) in bytes.chunks_exact(RECORD).enumerate() {
        let [who, flags, ttl, size] = [packet[0], packet[1], packet[2], packet[3]];
        let small = |at: usize| i32::from(i16::from_le_bytes([packet[at], packet[at + 1]]));
        time_ns = time_ns.wrapping_add(i64::from(small(4)) << if who & 128 != 0 { 45 } else { 12 });
        let own = &mut values[usize::from(who & 1)];
        for (i, value) in own.iter_mut().enumerate() {
            let step = small(6 + 2 * i);
            *value = value.wrapping_add(if who & 64 != 0 { (step << 16) as u32 } else { step as u32 });
        }
        let header = header(&Record { who, flags, values: *own });
        let end = |n: u8| End { address: Ipv4Addr::new(10, 0, 0, n), port: 1000 + u16::from(who >> 1 & 3) };
        let (source, destination) = if who & 1 == 0 { (end(1), end(2)) } else { (end(2), end(1)) };
        let datagram = Datagram { source, destination, id: 0, ttl, ecn: flags >> 6, payload: u16::from(size) * 8, header };
        let (data, wire_len) = datagram.frame();
        see(&Frame {
            number: number as u64 + 1,
            time_ns,
            link: 1,
            wire_len,
            data: &data,
            dropped: false,
            interface: None,
        });
    }
}
