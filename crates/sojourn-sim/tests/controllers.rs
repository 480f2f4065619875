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
    for transport in ["bic", "compound"] {
        let mut off = 0.0;
        for seed in 1..=4 {
            let outcome = outcome(seed, "340s", "10Mbit", "80pkt", &json!([bulk(transport), bulk(transport)]));
            let utilisation = outcome.summary.links["down"].utilisation;
            assert!(utilisation > 0.97, "{transport}: {utilisation}");
            off += (shares(&outcome)[0] - 0.5).abs() / 4.0;
        }
        assert!(off < 0.05, "{transport}: {off} from an equal share on average");
    }
}
