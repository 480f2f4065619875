//! What the page draws that is not in a result: each queue over time, and the packets of one moment.

use serde::Serialize;
use sojourn_net::log::{DropCause, Kind, NOT_DROPPED};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::Log;
use std::collections::BTreeMap;

/// Bins of a queue over time.
const BINS: usize = 200;
/// Packets that are watched at most; where one second has more, less than a second is watched.
const MOST_PACKETS: usize = 6000;

#[derive(Serialize)]
pub(crate) struct View {
    /// By link, from the beginning of the run.
    queues: BTreeMap<String, Queue>,
    watch: Watch,
    kinds: Vec<&'static str>,
    causes: Vec<&'static str>,
}

/// A queue over time, by the arrival of its packets.
#[derive(Serialize)]
struct Queue {
    bin_s: f64,
    /// Mean wait of the packets that left; null where none did.
    delay_ms: Vec<Option<f64>>,
    most_ms: Vec<Option<f64>>,
    drops: Vec<u32>,
}

/// The packets of one link that arrived in up to a second, in order.
#[derive(Default, Serialize)]
struct Watch {
    link: String,
    from_s: f64,
    until_s: f64,
    arrive_us: Vec<f64>,
    /// Start of transmission; null if it was dropped, or left after the end of the run.
    leave_us: Vec<Option<f64>>,
    /// Place in `causes`; null if it was not dropped.
    cause: Vec<Option<u8>>,
    /// Place in `kinds`.
    kind: Vec<u8>,
    flow: Vec<u32>,
    bytes: Vec<u32>,
    backlog: Vec<u32>,
}

pub(crate) fn of(scenario: &Scenario, logs: &[Log], (link, from_s): &(String, f64)) -> View {
    let names = scenario.link_names();
    let named = || names.iter().zip(logs);
    View {
        queues: named().map(|(name, log)| (name.clone(), queue(log, scenario.duration.0))).collect(),
        watch: named().find(|(name, _)| *name == link).map(|(_, log)| watch(link, log, *from_s)).unwrap_or_default(),
        kinds: Kind::ALL.map(Kind::name).to_vec(),
        causes: DropCause::ALL.map(DropCause::name).to_vec(),
    }
}

fn queue(log: &Log, duration_ns: u64) -> Queue {
    let width = duration_ns.div_ceil(BINS as u64).max(1);
    let mut bins = vec![(0u64, 0u64, 0u64, 0u32); BINS];
    for (i, arrived) in log.arrive_ns.iter().enumerate() {
        let Some((sum, count, most, drops)) = bins.get_mut((arrived / width) as usize) else { continue };
        if log.drop_cause[i] != NOT_DROPPED {
            *drops += 1;
        } else if log.depart_ns[i] >= 0 {
            let waited = (log.depart_ns[i] as u64).saturating_sub(*arrived);
            (*sum, *count, *most) = (*sum + waited, *count + 1, (*most).max(waited));
        }
    }
    let ms = |ns: f64| (ns / 10.0).round() / 1e5;
    Queue {
        bin_s: width as f64 / 1e9,
        delay_ms: bins.iter().map(|(sum, count, ..)| (*count > 0).then(|| ms(*sum as f64 / *count as f64))).collect(),
        most_ms: bins.iter().map(|(_, count, most, _)| (*count > 0).then_some(ms(*most as f64))).collect(),
        drops: bins.iter().map(|(.., drops)| *drops).collect(),
    }
}

fn watch(link: &str, log: &Log, from_s: f64) -> Watch {
    let from = (from_s.max(0.0) * 1e9) as u64;
    let first = log.arrive_ns.partition_point(|at| *at < from);
    let second = log.arrive_ns.partition_point(|at| *at < from + 1_000_000_000);
    let last = second.min(first + MOST_PACKETS);
    let until = if last < second { log.arrive_ns[last] } else { from + 1_000_000_000 };
    let since = |ns: u64| (ns as f64 - from as f64) / 1e3;
    let rows = first..last;
    let cause = |i: usize| Some(log.drop_cause[i]).filter(|cause| *cause != NOT_DROPPED);
    Watch {
        link: link.to_owned(),
        from_s: from as f64 / 1e9,
        until_s: until as f64 / 1e9,
        arrive_us: rows.clone().map(|i| since(log.arrive_ns[i])).collect(),
        leave_us: rows.clone().map(|i| (log.depart_ns[i] >= 0).then(|| since(log.depart_ns[i] as u64))).collect(),
        cause: rows.clone().map(cause).collect(),
        kind: rows.clone().map(|i| log.kind[i]).collect(),
        flow: rows.clone().map(|i| log.flow[i]).collect(),
        bytes: rows.clone().map(|i| log.size_bytes[i]).collect(),
        backlog: rows.map(|i| log.backlog_pkts[i]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A log of packets by arrival and departure (µs; −1: none) and cause.
    fn log(packets: &[(u64, i64, u8)]) -> Log {
        let count = packets.len() as u32;
        Log {
            flow: (0..count).collect(),
            kind: vec![Kind::Voice as u8; packets.len()],
            size_bytes: (0..count).map(|i| 100 + i).collect(),
            arrive_ns: packets.iter().map(|packet| packet.0 * 1000).collect(),
            depart_ns: packets.iter().map(|packet| if packet.1 < 0 { -1 } else { packet.1 * 1000 }).collect(),
            drop_cause: packets.iter().map(|packet| packet.2).collect(),
            backlog_pkts: (0..count).map(|i| 7 * i).collect(),
            ..Log::default()
        }
    }

    /// What is drawn of a run of two seconds, so that a bin has 10 ms.
    fn drawn(down: &[(u64, i64, u8)], link: &str, from_s: f64) -> Value {
        let link_of = r#"{"rate": "4Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}"#;
        let path = format!(r#"{{"rtt": "10ms", "down": {link_of}, "up": {link_of}}}"#);
        let scenario = serde_json::from_str(&format!(r#"{{"duration": "2s", "path": {path}}}"#)).unwrap();
        let up = log(&[(5, 6, NOT_DROPPED)]);
        serde_json::to_value(of(&scenario, &[log(down), up], &(link.to_owned(), from_s))).unwrap()
    }

    const PACKETS: [(u64, i64, u8); 6] = [
        (1_000, 3_000, NOT_DROPPED),
        (2_000, 8_000, NOT_DROPPED),
        (10_000, -1, DropCause::Early as u8),
        (19_999, -1, NOT_DROPPED),
        (20_000, 20_123, NOT_DROPPED),
        (2_000_000, 2_000_000, NOT_DROPPED),
    ];

    #[test]
    fn a_bin_has_the_waits_and_drops_of_the_packets_that_arrived_in_it() {
        let queue = &drawn(&PACKETS, "down", 0.0)["queues"]["down"];
        assert_eq!(queue["bin_s"], 0.01);
        let first = |key: &str| queue[key].as_array().unwrap()[..4].to_vec();
        assert_eq!(first("delay_ms"), [json!(4.0), json!(null), json!(0.123), json!(null)]);
        assert_eq!(first("most_ms"), [json!(6.0), json!(null), json!(0.123), json!(null)]);
        assert_eq!(first("drops"), [json!(0), json!(1), json!(0), json!(0)]);
        assert!(["delay_ms", "most_ms", "drops"].iter().all(|key| queue[*key].as_array().unwrap().len() == BINS));
        let up = &drawn(&PACKETS, "down", 0.0)["queues"]["up"];
        assert_eq!((&up["delay_ms"][0], &up["drops"][0]), (&json!(0.001), &json!(0)));
    }

    #[test]
    fn packets_are_watched_for_a_second_from_the_time_that_is_asked_for() {
        let all = drawn(&PACKETS, "down", 0.01);
        let expected = json!({
            "link": "down", "from_s": 0.01, "until_s": 1.01,
            "arrive_us": [0.0, 9_999.0, 10_000.0], "leave_us": [null, null, 10_123.0], "cause": [1, null, null],
            "kind": [4, 4, 4], "flow": [2, 3, 4], "bytes": [102, 103, 104], "backlog": [14, 21, 28],
        });
        assert_eq!(all["watch"], expected);
        assert_eq!((&all["kinds"][4], &all["causes"][1]), (&json!("voice"), &json!("early")));
        let times = |link, from_s| drawn(&PACKETS, link, from_s)["watch"]["arrive_us"].clone();
        assert_eq!(times("down", -3.0), json!([1_000.0, 2_000.0, 10_000.0, 19_999.0, 20_000.0]));
        assert_eq!(times("down", 1.0), json!([]), "the last is a second later");
        assert_eq!((times("up", 0.0), times("none", 0.0)), (json!([5.0]), json!([])));
    }

    #[test]
    fn where_a_second_has_too_many_packets_less_is_watched() {
        let packets: Vec<_> = (0..7000).map(|i| (100 * i, 100 * i as i64, NOT_DROPPED)).collect();
        let watch = &drawn(&packets, "down", 0.05)["watch"];
        assert_eq!(watch["arrive_us"].as_array().unwrap().len(), MOST_PACKETS);
        assert_eq!((&watch["from_s"], &watch["until_s"]), (&json!(0.05), &json!(0.65)));
        let few = &drawn(&packets[..6500], "down", 0.05)["watch"];
        assert_eq!((few["arrive_us"].as_array().unwrap().len(), &few["until_s"]), (MOST_PACKETS, &json!(1.05)));
    }
}
