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
        let down = &outcome.logs.as_ref().expect("the scenario keeps them")[0];
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

/// Two-way traffic through small queues, with everything that endpoints can have.
fn two_way(transport: &str, keys: &Value, rule: &str) -> Outcome {
    let link = |rate: &str| {
        let mut link = fifo(rate, "20pkt");
        link["rule"] = rule.into();
        link
    };
    let mut flows = Vec::new();
    for (direction, count) in [("up", 1), ("down", 4)] {
        let mut flow = bulk(transport, keys.clone());
        flow["direction"] = direction.into();
        flow["count"] = count.into();
        flows.push(flow);
    }
    outcome("30s", &link("8Mbit"), &link("1Mbit"), &Value::from(flows))
}

#[test]
fn two_way_traffic_loses_no_packet_from_the_books_whatever_the_endpoints_do() {
    for (transport, keys) in [
        ("cubic", json!({ "stack": "linux" })),
        ("reno", json!({ "recovery": "rack-tlp", "pacing": true, "ecn": true })),
        ("newreno", json!({ "recovery": "rack-tlp", "timestamps": false })),
        ("bbr", json!({ "stack": "linux" })),
        ("dctcp", json!({})),
        ("prague", json!({ "recovery": "rack-tlp" })),
    ] {
        for rule in ["strict", "htb"] {
            let outcome = two_way(transport, &keys, rule);
            let logs = outcome.logs.as_ref().expect("the scenario keeps them");
            for (name, log) in ["down", "up"].iter().zip(logs) {
                let link = &outcome.summary.links[*name];
                let (arrived, gone) = (link.arrived_pkts, link.departed_pkts + link.dropped_pkts);
                assert_eq!(arrived, gone + u64::from(link.backlog_pkts), "{transport} {rule} {name}");
                assert!(log.arrive_ns.is_sorted());
                let mut waits = log.arrive_ns.iter().zip(&log.depart_ns).filter(|(_, d)| **d >= 0);
                assert!(waits.all(|(a, d)| *d >= *a as i64), "no negative sojourn");
                assert!(
                    link.utilisation > 0.3 && link.utilisation < 1.001,
                    "{transport} {rule} {name}: {}",
                    link.utilisation
                );
            }
            // What arrived in order was carried: no goodput from nowhere.
            let carried: u64 = logs
                .iter()
                .flat_map(|log| log.size_bytes.iter().zip(&log.depart_ns))
                .filter(|p| *p.1 >= 0)
                .map(|p| u64::from(*p.0))
                .sum();
            assert!(outcome.summary.flows.goodput_bps * 30.0 / 8.0 < carried as f64, "{transport} {rule}");
        }
    }
}

#[test]
fn finding_losses_by_time_needs_fewer_timeouts() {
    let timeouts = |recovery: &str| two_way("cubic", &json!({ "recovery": recovery }), "strict").summary.flows.timeouts;
    let (by_time, by_sacks) = (timeouts("rack-tlp"), timeouts("rfc6675"));
    assert!(2 * by_time < by_sacks, "{by_time} of {by_sacks}");
}

#[test]
fn a_burst_needs_its_rule_and_finding_losses_by_time_needs_sack() {
    let invalid = |link: Value, keys: Value| {
        let document = json!({
            "duration": "1s", "path": { "rtt": "10ms", "down": link, "up": fifo("1Mbit", "9pkt") }, "flows": [bulk("reno", keys)],
        });
        let scenario: Scenario = serde_json::from_value(document).expect("well formed");
        scenario.check().expect_err("it does not hold").to_string()
    };
    let mut link = fifo("1Mbit", "9pkt");
    assert_eq!(
        invalid(link.clone(), json!({ "recovery": "rack-tlp", "sack": false })),
        "flows.0.recovery: rack-tlp needs sack = true"
    );
    link["burst"] = "1600B".into();
    assert_eq!(invalid(link, json!({})), "path.down.burst: a burst needs rule = \"htb\"");
}

#[test]
fn a_sender_of_pairs_goes_on_filling_a_queue_also_where_acknowledgements_are_near() {
    // A segment every 0.12 ms: where the window leaves room for one, the sender waits for room for two.
    for transport in ["reno", "cubic"] {
        let flow = bulk(transport, json!({ "stack": "linux", "receive-window": "100MB" }));
        let outcome = outcome("20s", &fifo("100Mbit", "100pkt"), &fifo("1Gbit", "1000pkt"), &json!([flow]));
        let down = &outcome.logs.as_ref().expect("the scenario keeps them")[0];
        let [from, to] = [10_000_000_000, 19_000_000_000].map(|at| down.arrive_ns.partition_point(|t| *t < at));
        let dropped = down.depart_ns[from..to].iter().filter(|t| **t < 0).count();
        assert!(dropped > 0, "{transport}: nothing is dropped from 10 s to 19 s");
    }
}
