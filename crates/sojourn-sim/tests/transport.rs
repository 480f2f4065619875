//! What transports have beside their controllers, in the whole engine: pacing, marks, recovery.

use serde_json::{Value, json};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Outcome, run};

/// A path of 50 ms with FIFO queues of 100 packets.
fn outcome(duration: &str, down: &Value, up: &Value, flows: &Value) -> Outcome {
    let scenario: Scenario = serde_json::from_value(json!({
        "duration": duration,
        "path": { "client-delay": "5ms", "server-delay": "20ms", "down": down, "up": up },
        "flows": flows,
        "record": { "packets": true },
    }))
    .expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    run(&scenario, 1, 0, &mut |_| true).expect("nobody stops it")
}

fn fifo(rate: &str, limit: &str) -> Value {
    json!({ "rate": rate, "queue": { "kind": "fifo", "limit": limit } })
}

fn bulk(transport: &str, keys: Value) -> Value {
    let mut flow =
        json!({ "source": { "kind": "bulk" }, "transport": transport, "direction": "down", "start-within": "0s" });
    let Value::Object(keys) = keys else { unreachable!("keys are a table") };
    flow.as_object_mut().expect("a table").extend(keys);
    flow
}

#[test]
fn a_paced_window_is_spread_over_the_round_trip_an_unpaced_one_is_a_burst() {
    for (pacing, least, most) in [(true, 1, 4), (false, 30, 80)] {
        let flow = bulk("reno", json!({ "pacing": pacing, "receive-window": "100kB", "delayed-ack": false }));
        let outcome = outcome("10s", &fifo("1Gbit", "100pkt"), &fifo("1Gbit", "100pkt"), &json!([flow]));
        let [down, _] = outcome.logs.as_ref().expect("the scenario keeps them");
        // Most packets within a millisecond, once the window is as large as it gets.
        let late = down.arrive_ns.partition_point(|t| *t < 5_000_000_000);
        let times = &down.arrive_ns[late..];
        let within = |i: usize| times[i..].iter().take_while(|t| **t < times[i] + 1_000_000).count();
        let longest = (0..times.len()).map(within).max().expect("it lasts ten seconds");
        assert!((least..=most).contains(&longest), "pacing {pacing}: {longest}");
        let goodput = outcome.summary.flows.goodput_bps;
        assert!(goodput > 0.8 * 100_000.0 * 8.0 / 0.05, "pacing {pacing}: {goodput}");
    }
}

#[test]
fn with_ecn_a_queue_that_marks_need_not_drop() {
    let queue =
        json!({ "rate": "10Mbit", "queue": { "kind": "codel", "limit": "1000pkt", "variant": "linux", "ecn": true } });
    for (ecn, marks) in [(true, true), (false, false)] {
        let flow = bulk("reno", json!({ "ecn": ecn, "count": 2 }));
        let outcome = outcome("30s", &queue, &fifo("10Mbit", "100pkt"), &json!([flow]));
        let down = &outcome.summary.links["down"];
        assert_eq!((down.marked_pkts > 0, down.dropped_pkts > 0), (marks, !marks), "ecn {ecn}");
        assert_eq!(outcome.summary.flows.retransmits > 0, !marks);
        assert!(down.utilisation > 0.93, "ecn {ecn}: {}", down.utilisation);
        let json = serde_json::to_value(down).expect("it has no odd keys");
        assert_eq!(json.get("marked_pkts").is_some(), marks);
    }
}
