//! Congestion controllers in the whole engine: what each is known for.

use serde_json::{Value, json};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Outcome, run};
use std::collections::BTreeMap;

fn outcome(seed: u64, duration: &str, rate: &str, limit: &str, flows: &Value) -> Outcome {
    let scenario: Scenario = serde_json::from_value(json!({
        "duration": duration, "warmup": "40s",
        "path": {
            "client-delay": "5ms", "server-delay": "20ms",
            "down": { "rate": rate, "queue": { "kind": "fifo", "limit": limit } },
            "up": { "rate": "100Mbit", "queue": { "kind": "fifo", "limit": "1000pkt" } },
        },
        "flows": flows,
        "record": { "packets": true },
    }))
    .expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    run(&scenario, seed, 0, &mut |_| true).expect("nobody stops it")
}

fn bulk(transport: &str) -> Value {
    json!({ "source": { "kind": "bulk" }, "transport": transport, "direction": "down" })
}

/// Shares of the bytes that the flows got through the bottleneck after the warm-up, in the order of their numbers.
fn shares(outcome: &Outcome) -> Vec<f64> {
    let [down, _] = outcome.logs.as_ref().expect("the scenario keeps them");
    let mut bytes = BTreeMap::new();
    for i in 0..down.rows() as usize {
        if down.depart_ns[i] >= 40_000_000_000 {
            *bytes.entry(down.flow[i]).or_insert(0.0) += f64::from(down.size_bytes[i]);
        }
    }
    let all: f64 = bytes.values().sum();
    bytes.values().map(|b| b / all).collect()
}

#[test]
fn two_equal_flows_share() {
    for (transport, limit) in [("bic", "80pkt"), ("compound", "80pkt"), ("ledbat", "200pkt"), ("ledbat++", "200pkt")] {
        let mut off = 0.0;
        for seed in 1..=4 {
            let outcome = outcome(seed, "340s", "10Mbit", limit, &json!([bulk(transport), bulk(transport)]));
            let utilisation = outcome.summary.links["down"].utilisation;
            assert!(utilisation > 0.97, "{transport}: {utilisation}");
            off += (shares(&outcome)[0] - 0.5).abs() / 4.0;
        }
        assert!(off < 0.05, "{transport}: {off} from an equal share on average");
    }
}

#[test]
fn ledbat_alone_settles_at_its_target() {
    for (transport, target_ms) in [("ledbat", 25.0), ("ledbat", 100.0), ("ledbat++", 60.0)] {
        let mut flow = bulk(transport);
        flow["ledbat-target"] = format!("{target_ms}ms").into();
        let outcome = outcome(1, "240s", "10Mbit", "2000pkt", &json!([flow]));
        let summary = serde_json::to_value(&outcome.summary).expect("it has no odd keys");
        let delay = summary["links"]["down"]["queue_delay_ms"]["mean"].as_f64().expect("a number");
        assert!((delay / target_ms - 1.0).abs() < 0.1, "{transport}: {delay} for {target_ms}");
    }
}

#[test]
fn ledbat_yields_to_cubic_where_the_buffer_is_deeper_than_its_target() {
    for transport in ["ledbat", "ledbat++"] {
        let mut first = bulk(transport);
        first["start-within"] = "0s".into();
        let shares = shares(&outcome(1, "240s", "10Mbit", "200pkt", &json!([first, bulk("cubic")])));
        assert!(shares[0] < 0.05, "{transport}: {shares:?}");
    }
}

#[test]
fn a_latecomer_takes_all_from_ledbat_but_not_from_ledbat_plus_plus() {
    for (transport, least, most) in [("ledbat", 0.85, 1.0), ("ledbat++", 0.45, 0.55)] {
        let mut flow = bulk(transport);
        flow["start-within"] = "30s".into();
        let shares = shares(&outcome(2, "340s", "10Mbit", "200pkt", &json!([flow, flow])));
        assert!((least..most).contains(&shares[1]), "{transport}: {shares:?}");
    }
}

#[test]
fn hystart_ends_slow_start_before_a_deep_buffer_is_full() {
    for (hystart, early) in [("none", true), ("linux", false), ("rfc9406", false)] {
        let mut flow = bulk("cubic");
        flow["hystart"] = hystart.into();
        let outcome = outcome(1, "41s", "10Mbit", "1000pkt", &json!([flow]));
        let [down, _] = outcome.logs.as_ref().expect("the scenario keeps them");
        let first = down.drop_cause.iter().position(|cause| *cause != 255).map(|i| down.arrive_ns[i]);
        assert_eq!(first.is_some_and(|at| at < 5_000_000_000), early, "{hystart}: {first:?}");
    }
}

#[test]
fn every_controller_survives_a_hard_life() {
    let flows = |transport: &str, sack: bool, hystart: &str| {
        let mut flow = bulk(transport);
        flow["sack"] = sack.into();
        flow["hystart"] = hystart.into();
        let mut sessions = flow.clone();
        sessions["source"] = json!({ "kind": "sessions", "preset": "imc14" });
        sessions["count"] = 3.into();
        json!([flow, sessions])
    };
    for (transport, hystart) in [
        ("bic", "none"),
        ("compound", "none"),
        ("ledbat", "none"),
        ("ledbat++", "none"),
        ("cubic", "linux"),
        ("cubic-rfc9438", "rfc9406"),
    ] {
        for (sack, limit) in [(true, "2pkt"), (false, "2pkt"), (true, "30pkt"), (false, "30pkt")] {
            let outcome = outcome(3, "60s", "2Mbit", limit, &flows(transport, sack, hystart));
            let utilisation = outcome.summary.links["down"].utilisation;
            assert!(utilisation > 0.5, "{transport}, SACK {sack}, {limit}: {utilisation}");
            assert!(outcome.summary.flows.completed > 0, "{transport}, SACK {sack}, {limit}");
        }
    }
}
