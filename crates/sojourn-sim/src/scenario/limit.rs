//! What a queue holds at most, in each unit in which limits are written.

use serde::Serialize;
use sojourn_net::Rate;
use sojourn_net::units::FULL_PACKET;

/// A queue's limit: one of packets and bytes is what the queue counts, the others are what it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueLimit {
    /// Full-sized packets that fit.
    pub packets: u64,
    /// Bytes that fit.
    pub bytes: u64,
    /// Time in which the link sends them; null if its rate is unlimited.
    pub ms: Option<f64>,
}

impl QueueLimit {
    /// From (most packets, most bytes), `MAX` for none, and the link's (mean) rate; None if there is no limit.
    pub fn new((packets, bytes): (u32, u64), rate: Option<Rate>) -> Option<Self> {
        let packets = (packets < u32::MAX).then(|| u64::from(packets));
        let bytes = (bytes < u64::MAX).then_some(bytes);
        let (packets, bytes) = match (packets, bytes) {
            (None, None) => return None,
            (Some(packets), None) => (packets, packets * FULL_PACKET),
            (None, Some(bytes)) => (bytes / FULL_PACKET, bytes),
            (Some(packets), Some(bytes)) => (packets.min(bytes / FULL_PACKET), bytes.min(packets * FULL_PACKET)),
        };
        let ms = rate.map(|rate| (bytes as f64 * 8e6 / rate.0 as f64).round() / 1e3);
        Some(Self { packets, bytes, ms })
    }
}

#[cfg(test)]
mod tests {
    use super::QueueLimit;
    use sojourn_net::{Limit, Rate, Span};

    #[test]
    fn each_way_of_writing_a_limit_comes_to_packets_bytes_and_time() {
        let rate = Rate(10_000_000);
        let of = |limit: Limit| {
            let found = QueueLimit::new(limit.resolve(rate, Span::from_millis(60)), Some(rate)).unwrap();
            (found.packets, found.bytes, found.ms.unwrap())
        };
        assert_eq!(of(Limit::Packets(50)), (50, 75_000, 60.0));
        assert_eq!(of(Limit::Bdp(1.0)), (50, 75_000, 60.0));
        assert_eq!(of(Limit::Time(Span::from_millis(60))), (50, 75_000, 60.0));
        assert_eq!(of(Limit::Bytes(4_000)), (2, 4_000, 3.2));
        assert_eq!(QueueLimit::new(Limit::Unlimited.resolve(rate, Span::ZERO), Some(rate)), None);
        // 1000 bytes at 3 Mbit/s are 2.6667 ms, 500 are 1.3333.
        let ms = |bytes| QueueLimit::new((u32::MAX, bytes), Some(Rate(3_000_000))).unwrap().ms;
        assert_eq!([1000, 500].map(ms), [Some(2.667), Some(1.333)]);
        // Of two limits the one that is reached first, in packets and in bytes.
        let both = |limit| QueueLimit::new(limit, None).map(|found| (found.packets, found.bytes));
        assert_eq!([(10, 9_000), (3, 9_000)].map(both), [Some((6, 9_000)), Some((3, 4_500))]);
        assert_eq!(QueueLimit::new((3, u64::MAX), None), Some(QueueLimit { packets: 3, bytes: 4_500, ms: None }));
    }
}
