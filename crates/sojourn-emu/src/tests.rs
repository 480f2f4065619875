//! Packets for tests, and what tests know of them for themselves.

/// An IPv4 packet of a protocol with ECN bits and these bytes behind the header.
pub(crate) fn ipv4(protocol: u8, ecn: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, ecn, 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend(body);
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = !sum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The ones' complement sum of RFC 1071.
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum = pairs.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}
