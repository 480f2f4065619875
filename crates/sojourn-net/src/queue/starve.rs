//! Limits that starve a discipline: it never gets to act, and drops by overflow as a FIFO would.
//!
//! A discipline that waits for a delay (CoDel's target, RED's lower threshold, a threshold for marks) needs a queue
//! that can be so long: a full one, of full-sized packets, must take at least that time to drain. One that gives every
//! flow a line of its own needs room for a packet of each.

use super::QueueSpec;
use crate::units::FULL_PACKET;
use crate::{Rate, Span};

impl QueueSpec {
    /// Why a limit of so many packets and bytes (`MAX` of the type means none) starves the discipline, as a sentence
    /// without its full stop; nothing if it does not. `flows` is how many are under way at once.
    pub fn starved(&self, (packets, bytes): (u32, u64), rate: Rate, flows: u32) -> Option<String> {
        let limit = self.limit();
        if (packets, bytes) == (u32::MAX, u64::MAX) {
            return None;
        }
        let full = u64::from(packets).saturating_mul(FULL_PACKET).min(bytes);
        let drained = rate.transmission(full);
        let acts_at = self.acts_at(rate).into_iter().filter_map(|(key, delay)| Some((key, delay?)));
        let unmet: Vec<String> = acts_at.filter(|(_, delay)| drained < *delay).map(told).collect();
        let room = full / FULL_PACKET;
        if !unmet.is_empty() {
            let drained = drained.as_millis();
            Some(format!(
                "a full queue of {limit} drains in {drained:.3} ms, so no packet waits as long as the {} of {}: \
                 what that would do is left to overflow",
                unmet.join(" or the "),
                self.kind()
            ))
        } else if self.has_lines() && room < u64::from(flows) {
            Some(format!(
                "{limit} hold {room} full packets, fewer than the {flows} flows that {} keeps apart: not each of them \
                 can have a packet in the queue",
                self.kind()
            ))
        } else {
            None
        }
    }
}

fn told((key, delay): (&'static str, Span)) -> String {
    format!("{key} ({:.3} ms)", delay.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn starved(queue: Value, rate: u64, flows: u32) -> Option<String> {
        let queue: QueueSpec = serde_json::from_value(queue).unwrap();
        let limit = queue.limit().resolve(Rate(rate), Span::from_millis(50));
        queue.starved(limit, Rate(rate), flows)
    }

    #[test]
    fn a_queue_must_be_able_to_reach_what_its_discipline_waits_for() {
        // At 12 Mbit/s a full packet takes one millisecond.
        for (kind, threshold) in [
            ("codel", 5),
            ("cobalt", 5),
            ("fq-codel", 5),
            ("sfq-codel", 5),
            ("cake", 5),
            ("pie", 15),
            ("fq-pie", 15),
            ("dualpi2", 15),
        ] {
            let queue = |packets: u32| json!({ "kind": kind, "limit": format!("{packets}pkt") });
            assert_eq!(starved(queue(threshold), 12_000_000, 1), None, "{kind}");
            let said = starved(queue(threshold - 1), 12_000_000, 1).unwrap();
            assert!(said.contains(&format!("the target ({threshold}.000 ms) of {kind}")), "{said}");
        }
        let said = starved(json!({ "kind": "codel", "limit": "4pkt" }), 12_000_000, 1).unwrap();
        assert!(said.starts_with("a full queue of 4pkt drains in 4.000 ms, so no packet waits as long as"), "{said}");
        assert!(starved(json!({ "kind": "codel", "limit": "7499B" }), 12_000_000, 1).is_some());
        assert_eq!(starved(json!({ "kind": "codel", "limit": "7500B" }), 12_000_000, 1), None);
    }

    #[test]
    fn thresholds_of_marks_count_too() {
        let codel = |ms: u32| json!({ "kind": "fq-codel", "limit": "10pkt", "ce-threshold": format!("{ms}ms") });
        assert_eq!(starved(codel(10), 12_000_000, 1), None);
        assert!(starved(codel(11), 12_000_000, 1).unwrap().contains("the ce-threshold (11.000 ms) of fq-codel"));
        // RED's thresholds are packets of its mean size.
        let red = |limit: &str| json!({ "kind": "red", "limit": limit, "min": 5, "max": 15, "mean-packet": "1500B" });
        assert_eq!(starved(red("15pkt"), 12_000_000, 1), None);
        let said = starved(red("14pkt"), 12_000_000, 1).unwrap();
        assert!(said.contains("the max (15.000 ms) of red") && !said.contains("min"), "{said}");
        assert!(starved(red("4pkt"), 12_000_000, 1).unwrap().contains("the min (5.000 ms) or the max (15.000 ms)"));
    }

    #[test]
    fn every_flow_needs_room_for_a_packet() {
        let queue = |kind: &str| json!({ "kind": kind, "limit": "20pkt" });
        for kind in ["fq-codel", "fq-pie", "cake", "sfq", "sfq-codel"] {
            assert_eq!(starved(queue(kind), 1_000_000, 20), None, "{kind}");
            let said = starved(queue(kind), 1_000_000, 21).unwrap();
            assert!(said.starts_with("20pkt hold 20 full packets, fewer than the 21 flows"), "{said}");
        }
        assert_eq!(starved(queue("codel"), 1_000_000, 21), None, "it has one line for all");
    }

    #[test]
    fn a_fifo_has_nothing_to_starve() {
        for limit in ["1pkt", "unlimited"] {
            assert_eq!(starved(json!({ "kind": "fifo", "limit": limit }), 1_000_000, 99), None);
        }
        assert_eq!(starved(json!({ "kind": "codel", "limit": "unlimited" }), u64::MAX, 1), None);
    }
}
