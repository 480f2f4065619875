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

/// A path of two hops, `near` at the client (1 and 2 Mbit/s up and down) and `far` at the server (3 and 4).
pub(crate) const TWO_HOPS: &str = r#"{"client-delay": "5ms", "server-delay": "7ms", "hop": [
    {"name": "near", "delay": "1ms", "up": {"rate": "1Mbit", "queue": {"kind": "fifo", "limit": "11pkt"}},
        "down": {"rate": "2Mbit", "queue": {"kind": "fifo", "limit": "12pkt"}}},
    {"name": "far", "delay": "3ms", "up": {"rate": "3Mbit", "queue": {"kind": "fifo", "limit": "13pkt"}},
        "down": {"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "14pkt"}}}]}"#;

/// A setup with this path; `more` are further keys, each with a comma in front.
pub(crate) fn setup(path: &str, more: &str) -> crate::setup::Setup {
    let text = format!(
        r#"{{"document": {{"duration": "9s", "path": {path}}}, "seed": 1, "replication": 0, "command": [[116, 114, 117, 101]],
        "host": false, "mtu": 1500, "offload": true, "variables": [], "caller": [0, 0], "probes": 3, "every_s": 1.0,
        "descriptors": {{"parent": 0}}{more}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// A link of 4 Mbit/s.
pub(crate) const LINK: &str = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}"#;

/// A path of one hop whose links both are as this says.
pub(crate) fn one_hop(link: &str) -> String {
    format!(r#"{{"rtt": "10ms", "down": {link}, "up": {link}}}"#)
}

/// A loop between two devices.
pub(crate) fn forwarder(devices: [crate::device::Device; 2]) -> crate::forward::forwarder::Forwarder {
    use crate::event::EventSink;
    use sojourn_sim::Direction;
    let document = setup(&one_hop(LINK), "").document;
    let ways = Direction::BOTH.map(|way| crate::forward::way::Way::new(&document, 1, 0, way, &[]));
    let hosts = crate::forward::forwarder::Hosts { mtu: 1500, access: sojourn_net::Rate(1_000_000_000) };
    let [client, server] = devices;
    crate::forward::forwarder::Forwarder::new(
        client,
        server,
        ways,
        hosts,
        EventSink::new(rtrb::RingBuffer::new(1).0, None),
    )
}
