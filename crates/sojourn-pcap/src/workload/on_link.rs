//! How many bytes of a link a frame takes, as the simulator counts them: those of its packets, which have the headers
//! of IPv4. What the link layer of a capture adds belongs to the place where it was taken, not to the link that it
//! shows.

use super::header::Extra;
use crate::decode::Transport;

/// Headers of IPv4, UDP and, without options, TCP.
const IPV4: u32 = 20;
const UDP: u32 = 8;
const TCP: u32 = 20;
/// Timestamps, where nothing else is known of the options.
const STAMPS: u32 = 12;

/// Bytes of what is in a frame. A host's own capture has several segments in one frame: the link carries each with its
/// headers. `mss`: the segment size that the receiver offered.
pub(super) fn on_link(transport: &Transport<'_>, extra: Option<Extra>, mss: Option<u16>) -> u64 {
    match transport {
        Transport::Udp { length, .. } => u64::from(IPV4 + UDP) + u64::from(*length),
        Transport::Tcp(segment) => {
            let stamps = if segment.stamps().is_some() { STAMPS } else { 0 };
            let header = extra.map_or(TCP + stamps, |extra| extra.header);
            let full = mss.map_or(u32::MAX, |mss| u32::from(mss).saturating_sub(header.saturating_sub(TCP)).max(1));
            let segments = u64::from(segment.payload.div_ceil(full).max(1));
            segments * u64::from(IPV4 + header) + u64::from(segment.payload)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::read::Frame;
    use crate::workload::{Extractor, Options, Workload};
    use crate::write::{Datagram, End, Header};
    use std::net::Ipv4Addr;

    const ETHERNET: usize = 14;
    const SYN: u8 = crate::decode::tcp::SYN;

    /// Packets between two hosts 1 ms apart, as a capture of a link type shows them that puts so much before each.
    fn carried(link: u16, before: &[u8], packets: &[Vec<u8>], wire: &[usize]) -> Workload {
        let mut extractor = Extractor::new(Options::default());
        for (n, (packet, wire)) in packets.iter().zip(wire).enumerate() {
            let data = [before, packet].concat();
            let (number, time_ns, wire_len) = (n as u64 + 1, n as i64 * 1_000_000, (before.len() + wire) as u32);
            extractor.frame(&Frame { number, time_ns, link, wire_len, data: &data, dropped: false, interface: None });
        }
        extractor.finish(&|_| None)
    }

    fn packet(header: Header, payload: u16) -> Vec<u8> {
        let [source, destination] = [1, 2].map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: 5000 });
        Datagram { source, destination, id: 1, ttl: 64, ecn: 0, payload, header }.frame().0[ETHERNET..].to_vec()
    }

    fn segment(flags: u8, payload: u16) -> Vec<u8> {
        packet(
            Header::Tcp { seq: 9, ack: 9, flags, stamps: Some((1, 1)), sack: Default::default(), mss: None },
            payload,
        )
    }

    /// Bytes that the near host sent and, of them, datagrams.
    fn sent(found: &Workload) -> (u64, u64) {
        found.busy.iter().fold((0, 0), |(all, datagrams), (_, bytes)| (all + bytes[0] + bytes[1], datagrams + bytes[3]))
    }

    #[test]
    fn bytes_are_those_of_the_packet_whatever_the_link_layer_of_the_capture_adds() {
        // A datagram of 200 bytes; an acknowledgement of 52, filled up to 60 as short frames are.
        let (packets, wire) = ([packet(Header::Udp, 172), segment(16, 0)], [200, 60]);
        let ethernet = [&[0; 12][..], &[8, 0]].concat();
        let tagged = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat();
        let cooked = [&[0; 14][..], &[8, 0]].concat();
        for (link, before) in [(101, &[][..]), (1, &ethernet), (1, &tagged), (113, &cooked)] {
            assert_eq!(sent(&carried(link, before, &packets, &wire)), (252, 200), "link type {link}");
        }
    }

    #[test]
    fn datagrams_over_ipv6_are_as_long_as_those_of_a_replay() {
        let mut six = vec![0x60, 0, 0, 0, 0, 180, 17, 64];
        six.extend([[0x20; 16], [0x21; 16]].concat());
        six.extend([0x13, 0x88, 0x13, 0x89, 0, 180, 0, 0]);
        assert_eq!(sent(&carried(101, &[], &[six], &[220])), (200, 200));
    }

    #[test]
    fn segments_that_a_host_captures_in_one_frame_have_their_headers_each() {
        // The other end takes 1460 bytes, of which timestamps take 12.
        let mut offered = segment(SYN, 0);
        offered[12..20].rotate_left(4); // it is the answer: sent to the host of the others
        offered.splice(20 + 20..20 + 32, [2, 4, 5, 180, 1, 1, 1, 1, 1, 1, 1, 1]);
        let (bytes, _) = sent(&carried(101, &[], &[offered, segment(16, 14_480)], &[52, 14_532]));
        assert_eq!(bytes, 52 + 10 * 1500);
    }
}
