//! How much the queues of a scenario hold, whatever unit their limits are written in, and whether that starves them.

use std::collections::BTreeMap;

use serde::Serialize;
use sojourn_net::Rate;

use super::{LinkSpec, Scenario};

/// A queue's limit in packets, bytes and time. A limit of packets counts full ones of 1500 bytes here, and a limit of
/// bytes holds so many whole ones; all three are null without a limit, and what a link's rate decides is null without
/// one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Buffer {
    /// Full packets.
    pub limit_pkts: Option<u64>,
    /// Bytes.
    pub limit_bytes: Option<u64>,
    /// Time that the link takes for them, in milliseconds, at its (mean) rate.
    pub limit_ms: Option<f64>,
    /// Why the limit starves the discipline, as a sentence without its full stop; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starved: Option<String>,
}

impl Scenario {
    /// What the queue of every link holds.
    pub fn buffers(&self) -> BTreeMap<String, Buffer> {
        let (rtt, flows) = (self.path.rtt(), self.flows_at_once());
        let of = |link: &LinkSpec| {
            let holds = link.holds(rtt);
            let starved = |rate: Rate| holds.and_then(|_| link.queue.starved(link.capacity(rtt), rate, flows));
            Buffer {
                limit_pkts: holds.map(|limit| limit.packets),
                limit_bytes: holds.map(|limit| limit.bytes),
                limit_ms: holds.and_then(|limit| limit.ms),
                starved: link.rate.mean().and_then(starved),
            }
        };
        self.path.links().map(|link| (link.name(), of(link.spec))).collect()
    }

    /// Background flows and users that may have packets in a queue at once, one for each of their number.
    fn flows_at_once(&self) -> u32 {
        let counts = self.flows.iter().map(|group| group.count).chain(self.users.iter().map(super::Users::count));
        counts.fold(0, u32::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn scenario(limit: &str, rate: Value) -> Scenario {
        let document = json!({
            "duration": "9s",
            "path": {
                "rtt": "50ms",
                "queue": { "kind": "codel", "limit": limit },
                "down": { "rate": rate },
                "up": { "rate": "1Mbit", "queue": { "kind": "fq_codel", "limit": "4pkt" } }
            },
            "flows": [{ "source": { "kind": "bulk" }, "transport": "cubic", "direction": "up", "count": 4 }],
            "users": [{ "kind": "voice", "codec": "g711a" }]
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn a_limit_is_read_in_packets_bytes_and_time() {
        for (limit, packets, bytes, ms) in [
            ("64pkt", 64, 96_000, 64.0),
            ("96kB", 64, 96_000, 64.0),
            ("2BDP", 100, 150_000, 100.0),
            ("40ms", 40, 60_000, 40.0),
            ("1000B", 0, 1_000, 2.0 / 3.0),
        ] {
            let down = &scenario(limit, json!("12Mbit")).buffers()["down"];
            assert_eq!((down.limit_pkts, down.limit_bytes), (Some(packets), Some(bytes)), "{limit}");
            assert!((down.limit_ms.unwrap() - ms).abs() < 1e-3, "{limit}: {:?}", down.limit_ms);
        }
        let none = |limit, rate| {
            let down = scenario(limit, rate).buffers()["down"].clone();
            (down.limit_pkts, down.limit_bytes, down.limit_ms, down.starved)
        };
        assert_eq!(none("unlimited", json!("12Mbit")), (None, None, None, None));
        assert_eq!(none("8pkt", json!("unlimited")), (Some(8), Some(12_000), None, None));
        assert_eq!(none("2BDP", json!({ "trace": "not read yet" })), (None, None, None, None));
    }

    #[test]
    fn a_starved_queue_says_so() {
        let found = scenario("4pkt", json!("12Mbit")).buffers();
        assert!(found["down"].starved.as_ref().unwrap().contains("the target (5.000 ms) of codel"));
        let up = found["up"].starved.as_ref().unwrap();
        assert!(up.contains("fewer than the 5 flows"), "four transfers and a call: {up}");
        assert_eq!(scenario("64pkt", json!("12Mbit")).buffers()["down"].starved, None);
    }
}
