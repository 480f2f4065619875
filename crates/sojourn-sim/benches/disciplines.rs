//! What a queue discipline costs in the engine: wall time per data packet, as a ratio to FIFO's.
//!
//! `cargo bench -p sojourn-sim --bench disciplines` simulates 10 long flows at 100 Mbit/s and 20 ms with each
//! discipline in both directions, turn by turn so that whatever else the machine does meets all of them alike, and
//! prints medians. `-- NAME` runs that discipline once, for a profiler.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use serde_json::{Value, json};
use sojourn_sim::scenario::Scenario;
use std::time::Instant;

const TURNS: usize = 15;

fn scenario(queue: &Value) -> Scenario {
    let link = json!({ "rate": "100Mbit", "queue": queue });
    let document = json!({
        "duration": "30s", "warmup": "1s",
        "path": { "rtt": "20ms", "down": link, "up": link },
        "flows": [{ "source": { "kind": "bulk" }, "transport": "newreno", "direction": "down", "count": 10 }],
    });
    serde_json::from_value(document).expect("the bench's own scenario")
}

/// Nanoseconds of wall time per data packet that crossed the link, and the link's utilisation.
fn nanoseconds(scenario: &Scenario) -> (f64, f64) {
    let begun = Instant::now();
    let outcome = sojourn_sim::run(scenario, 1, 0, &mut |_| true).expect("nobody stops it");
    let wall = begun.elapsed().as_nanos() as f64;
    let down = &outcome.summary.links["down"];
    let share = (scenario.duration.0 - scenario.warmup.0) as f64 / scenario.duration.0 as f64;
    (wall * share / down.departed_data_pkts as f64, down.utilisation)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let limit = "1000pkt";
    let disciplines = [
        ("fifo", json!({ "kind": "fifo", "limit": "167pkt" })),
        ("codel", json!({ "kind": "codel", "limit": limit })),
        ("codel-linux", json!({ "kind": "codel", "limit": limit, "variant": "linux" })),
        ("pie", json!({ "kind": "pie", "limit": limit })),
        ("red", json!({ "kind": "red", "limit": limit, "mean-packet": "1500B" })),
        ("ared", json!({ "kind": "red", "limit": limit, "mean-packet": "1500B", "adaptive": true })),
        ("cobalt", json!({ "kind": "cobalt", "limit": limit })),
        ("dualpi2", json!({ "kind": "dualpi2" })),
        ("fq-codel", json!({ "kind": "fq-codel" })),
        ("fq-pie", json!({ "kind": "fq-pie" })),
        ("cake", json!({ "kind": "cake" })),
        ("sfq", json!({ "kind": "sfq", "limit": limit })),
        ("sfq-codel", json!({ "kind": "sfq-codel", "limit": limit })),
    ];
    let scenarios: Vec<_> = disciplines
        .iter()
        .filter(|(name, _)| chosen.is_empty() || chosen.iter().any(|c| c == name))
        .map(|(name, queue)| (*name, scenario(queue)))
        .collect();
    let turns = if chosen.is_empty() { TURNS } else { 1 };
    let mut found = vec![Vec::new(); scenarios.len()];
    let mut ratios = vec![Vec::new(); scenarios.len()];
    let mut utilisation = vec![0.0; scenarios.len()];
    for _ in 0..turns {
        for (i, (_, scenario)) in scenarios.iter().enumerate() {
            let (ns, used) = nanoseconds(scenario);
            found[i].push(ns);
            ratios[i].push(ns / found[0][found[0].len() - 1]);
            utilisation[i] = used;
        }
    }
    for (i, (name, _)) in scenarios.iter().enumerate() {
        let (ns, ratio) = (median(&mut found[i]), median(&mut ratios[i]));
        println!(
            "{name:12} {ns:6.0} ns per data packet, {ratio:.2} of {}; utilisation {:.3}",
            scenarios[0].0, utilisation[i]
        );
    }
}
