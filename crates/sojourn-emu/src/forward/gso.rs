//! Super-packets that a host hands to its network card, cut into the packets that the card would send.
//!
//! Source: Linux's `tcp_gso_segment`, `inet_gso_segment` and `__udp_gso_segment`; the header in front of each packet is
//! `struct virtio_net_hdr` (Virtual I/O Device 1.2, §5.1.6.1). As there: sequence numbers and IPv4 identifications go
//! on, CWR stays on the first segment, FIN and PSH on the last. The sum over the payload is left to be computed
//! (`NEEDS_CSUM`): the receiving host takes such a packet as whole, as it does between its own namespaces.
//! Differences: none known for TCP over IPv4 and IPv6 and for UDP; other kinds are not asked for.

use crate::device::VNET_HEADER;
use sojourn_pcap::write::{folded, sum};

const NEEDS_CSUM: u8 = 1;
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
const ECN: u8 = 0x80;
/// Where in a TCP header its sum is.
const TCP_SUM: u16 = 16;

/// What the header in front of a packet says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    flags: u8,
    kind: u8,
    size: u16,
    transport: u16,
    checksum: u16,
}

impl VnetHeader {
    /// Reads it.
    pub fn read(bytes: &[u8; VNET_HEADER]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self { flags: bytes[0], kind: bytes[1] & !ECN, size: word(4), transport: word(6), checksum: word(8) }
    }

    /// The header of one packet that is no super-packet: only what is left to be computed is kept.
    pub fn plain(self) -> [u8; VNET_HEADER] {
        let mut bytes = [0; VNET_HEADER];
        if self.flags & NEEDS_CSUM != 0 {
            bytes[0] = NEEDS_CSUM;
            bytes[6..8].copy_from_slice(&self.transport.to_ne_bytes());
            bytes[8..10].copy_from_slice(&self.checksum.to_ne_bytes());
        }
        bytes
    }

    /// Of a TCP packet whose sum is left to be computed, at this place of the TCP header.
    pub fn of_tcp(transport: u16) -> Self {
        Self { flags: NEEDS_CSUM, transport, checksum: TCP_SUM, ..Self::default() }
    }

    /// Of the super-packet that such packets make, with so many bytes of payload each behind headers of so many.
    pub fn joined(self, is_v4: bool, headers: u16, size: u16) -> [u8; VNET_HEADER] {
        let mut bytes = self.plain();
        bytes[1] = if is_v4 { TCP4 } else { TCP6 };
        bytes[2..4].copy_from_slice(&headers.to_ne_bytes());
        bytes[4..6].copy_from_slice(&size.to_ne_bytes());
        bytes
    }

    /// True for a super-packet.
    pub fn is_super(self) -> bool {
        self.kind != 0
    }
}

/// A super-packet that can be cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut<'p> {
    packet: &'p [u8],
    is_udp: bool,
    transport: usize,
    headers: usize,
    size: usize,
}

impl<'p> Cut<'p> {
    /// `None` if the headers do not agree with what the packet is said to be.
    pub fn new(header: VnetHeader, packet: &'p [u8]) -> Option<Self> {
        let is_udp = header.kind == UDP;
        let transport = usize::from(header.transport);
        let headers = match header.kind {
            UDP => transport + 8,
            TCP4 | TCP6 => transport + usize::from(*packet.get(transport + 12)? >> 4) * 4,
            _ => return None,
        };
        let size = usize::from(header.size);
        let fits = header.flags & NEEDS_CSUM != 0 && size > 0 && transport >= 20 && headers < packet.len();
        fits.then_some(Self { packet, is_udp, transport, headers, size })
    }

    /// Packets that it makes.
    pub fn count(&self) -> usize {
        (self.packet.len() - self.headers).div_ceil(self.size)
    }

    /// Writes the packet in this place; returns its length. `None` if `out` is too small.
    pub fn segment(&self, place: usize, out: &mut [u8]) -> Option<usize> {
        let Self { packet, is_udp, transport, headers, size } = *self;
        let from = headers + place * size;
        let to = (from + size).min(packet.len());
        let length = headers + to - from;
        let out = out.get_mut(..length)?;
        out[..headers].copy_from_slice(&packet[..headers]);
        out[headers..].copy_from_slice(&packet[from..to]);
        let put = |out: &mut [u8], at: usize, word: u16| out[at..at + 2].copy_from_slice(&word.to_be_bytes());
        let (addresses, protocol) = if packet[0] >> 4 == 4 {
            let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(place as u16);
            put(out, 2, length as u16);
            put(out, 4, id);
            put(out, 10, 0);
            let header = !folded(sum(&out[..transport]));
            put(out, 10, header);
            (12..20, packet[9])
        } else {
            put(out, 4, (length - 40) as u16);
            (8..40, if is_udp { 17 } else { 6 })
        };
        let covered = (length - transport) as u16;
        let pseudo = folded(sum(&packet[addresses]) + u32::from(protocol) + u32::from(covered));
        if is_udp {
            put(out, transport + 4, covered);
            put(out, transport + 6, pseudo);
        } else {
            let at = transport + 4;
            let seq = u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
            out[at..at + 4].copy_from_slice(&seq.wrapping_add((place * size) as u32).to_be_bytes());
            const FIN_PSH: u8 = 0b1001;
            const CWR: u8 = 0x80;
            if place > 0 {
                out[transport + 13] &= !CWR;
            }
            if to < packet.len() {
                out[transport + 13] &= !FIN_PSH;
            }
            put(out, transport + 16, pseudo);
        }
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ipv4, sum};

    fn header(kind: u8, size: u16, transport: u16, checksum: u16) -> VnetHeader {
        VnetHeader { flags: NEEDS_CSUM, kind, size, transport, checksum }
    }

    fn super_packet(payload: usize, flags: u8) -> Vec<u8> {
        let mut segment =
            vec![0x1f, 0x90, 0x13, 0x89, 0xff, 0xff, 0xff, 0x00, 5, 0, 0, 9, 0x80, flags, 1, 0, 0, 0, 0, 0];
        segment.extend([1; 12]);
        segment.extend((0..payload).map(|k| k as u8));
        ipv4(6, 2, &segment)
    }

    #[test]
    fn a_tcp_super_packet_becomes_what_a_card_would_send() {
        let packet = super_packet(3000, 0x80 | 0x18 | 1);
        let cut = Cut::new(header(TCP4 | ECN, 1448, 20, 16).kind(TCP4), &packet).unwrap();
        assert_eq!(cut.count(), 3);
        let mut payload = Vec::new();
        for place in 0..3 {
            let mut out = vec![0; 2048];
            let length = cut.segment(place, &mut out).unwrap();
            out.truncate(length);
            assert_eq!(sum(&out[..20]), 0xffff, "IPv4's checksum");
            assert_eq!(usize::from(u16::from_be_bytes([out[2], out[3]])), length);
            assert_eq!(u16::from_be_bytes([out[4], out[5]]), 7 + place as u16);
            let seq = u32::from_be_bytes([out[24], out[25], out[26], out[27]]);
            assert_eq!(seq, 0xffff_ff00u32.wrapping_add(1448 * place as u32));
            let flags = [0x90, 0x10, 0x19][place];
            assert_eq!(out[33], flags, "CWR on the first, PSH and FIN on the last");
            // What is left to be computed: with the pseudo-header's sum in place, the sum over all is the checksum.
            let mut pseudo = out[12..20].to_vec();
            pseudo.extend([0, 6]);
            pseudo.extend(((length - 20) as u16).to_be_bytes());
            assert_eq!(u16::from_be_bytes([out[36], out[37]]), sum(&pseudo));
            payload.extend_from_slice(&out[52..]);
        }
        assert_eq!(payload, packet[52..]);
        assert!(cut.segment(0, &mut [0; 1000]).is_none(), "no room");
    }

    impl VnetHeader {
        fn kind(self, kind: u8) -> Self {
            Self { kind, ..self }
        }
    }

    #[test]
    fn udp_is_cut_too_and_nonsense_is_not() {
        let mut datagram = vec![0x1f, 0x90, 0x13, 0x89, 0x10, 0, 0, 0];
        datagram.extend([7; 2500]);
        let packet = ipv4(17, 0, &datagram);
        let cut = Cut::new(header(UDP, 1200, 20, 6), &packet).unwrap();
        let mut out = vec![0; 2048];
        let lengths: Vec<_> = (0..cut.count()).map(|place| cut.segment(place, &mut out).unwrap()).collect();
        assert_eq!(lengths, [1228, 1228, 128]);
        assert_eq!(u16::from_be_bytes([out[24], out[25]]), 108);
        for wrong in
            [header(UDP, 0, 20, 6), header(UDP, 1200, 4, 6), header(9, 1200, 20, 6), header(TCP4, 9, 60_000, 6)]
        {
            assert!(Cut::new(wrong, &packet).is_none());
        }
        assert!(Cut::new(VnetHeader { flags: 0, ..header(UDP, 1200, 20, 6) }, &packet).is_none());
    }

    #[test]
    fn a_header_keeps_only_what_is_left_to_compute() {
        let mut bytes = [0; VNET_HEADER];
        (bytes[0], bytes[1], bytes[4], bytes[6], bytes[8]) = (NEEDS_CSUM, TCP4 | ECN, 100, 20, 16);
        let read = VnetHeader::read(&bytes);
        assert!(read.is_super() && read.kind == TCP4 && read.size == u16::from_ne_bytes([100, 0]));
        let plain = VnetHeader::read(&read.plain());
        assert!(!plain.is_super() && plain.checksum == read.checksum && plain.transport == read.transport);
        assert_eq!(VnetHeader::default().plain(), [0; VNET_HEADER]);
    }
}
