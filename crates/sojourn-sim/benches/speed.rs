//! Data packets across the bottleneck per second of wall time, in the scenarios that peers are compared in.
//!
//! `cargo bench -p sojourn-sim` prints the best and median of five runs; arguments after `--` choose scenarios by part
//! of their name, and `--once` runs each once, for a profiler.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use serde_json::json;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::{LinkSummary, Summary};
use std::time::Instant;

fn dumbbell(rate: &str, rtt: &str, limit: u32, transport: &str, count: u32, window: u32, duration: &str) -> Scenario {
    let link = |rate: &str| json!({ "rate": rate, "queue": { "kind": "fifo", "limit": format!("{limit}pkt") } });
    let document = json!({
        "duration": duration, "warmup": "5s",
        "path": { "rtt": rtt, "down": link(rate), "up": link(rate) },
        "flows": [{ "source": { "kind": "bulk" }, "transport": transport, "direction": "down", "count": count,
                    "start-within": if count > 100 { "5s" } else { "1s" }, "initial-window": window }],
    });
    serde_json::from_value(document).expect("the bench's own scenario")
}

/// The same with another discipline in both directions, holding at most 1000 packets.
fn with_queue(mut scenario: Scenario, kind: &str) -> Scenario {
    let queue = json!({ "kind": kind, "limit": "1000pkt" });
    let hop = &mut scenario.path.hops[0];
    for link in [&mut hop.down, &mut hop.up] {
        link.queue = serde_json::from_value(queue.clone()).expect("the bench's own queue");
    }
    scenario
}

/// The same round trip over three hops, of which the middle one is the bottleneck.
fn three_hops() -> Scenario {
    let hop = |name: &str, rate: &str| {
        let link = json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "167pkt" } });
        json!({ "name": name, "delay": "2ms", "down": link, "up": link })
    };
    let document = json!({
        "duration": "120s", "warmup": "5s",
        "path": { "rtt": "20ms", "hop": [hop("home", "200Mbit"), hop("line", "100Mbit"), hop("core", "200Mbit")] },
        "flows": [{ "source": { "kind": "bulk" }, "transport": "newreno", "direction": "down", "count": 10,
                    "start-within": "1s", "initial-window": 10 }],
    });
    serde_json::from_value(document).expect("the bench's own scenario")
}

/// An access line with short sessions both ways, a caller and a reader.
fn access() -> Scenario {
    let link = |rate: &str| json!({ "rate": rate, "overhead": "38B", "queue": { "kind": "fifo", "limit": "64pkt" } });
    let sessions = |direction: &str| {
        json!({ "source": { "kind": "sessions", "preset": "imc14", "closed-loop": true, "parallel": 3,
                            "interconnection": { "kind": "exponential", "mean": "1.3s" } },
                "transport": "cubic", "direction": direction, "count": 16, "initial-window": 3 })
    };
    let document = json!({
        "duration": "300s", "warmup": "20s",
        "path": { "client-delay": "5ms", "server-delay": "20ms", "down": link("16Mbit"), "up": link("1Mbit") },
        "flows": [sessions("up"), sessions("down")],
        "users": [{ "kind": "voice", "codec": "g711a" }, { "kind": "web", "transport": "newreno", "pause": "4s" }],
    });
    serde_json::from_value(document).expect("the bench's own scenario")
}

/// The only link of a direction, or that of the middle hop.
fn bottleneck<'a>(summary: &'a Summary, way: &str) -> &'a LinkSummary {
    summary.links.get(way).unwrap_or_else(|| &summary.links[&format!("line.{way}")])
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runs = if arguments.iter().any(|a| a == "--once") { 1 } else { 5 };
    let chosen: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let scenarios = [
        ("speed-newreno-fifo", dumbbell("100Mbit", "20ms", 167, "newreno", 10, 10, "120s")),
        ("speed-cubic-fifo", dumbbell("100Mbit", "20ms", 167, "cubic", 10, 10, "120s")),
        ("speed-newreno-codel", with_queue(dumbbell("100Mbit", "20ms", 167, "newreno", 10, 10, "120s"), "codel")),
        ("speed-newreno-fq-codel", with_queue(dumbbell("100Mbit", "20ms", 167, "newreno", 10, 10, "120s"), "fq-codel")),
        ("speed-three-hops", three_hops()),
        ("access-sessions", access()),
        ("backbone-long-28", dumbbell("149.76Mbit", "60ms", 28, "newreno", 768, 3, "60s")),
        ("backbone-long-749", dumbbell("149.76Mbit", "60ms", 749, "newreno", 768, 3, "60s")),
    ];
    for (name, scenario) in scenarios {
        if !chosen.is_empty() && !chosen.iter().any(|c| name.contains(c.as_str())) {
            continue;
        }
        let mut rates = Vec::new();
        let mut last = None;
        for _ in 0..runs {
            let begun = Instant::now();
            let outcome = sojourn_sim::run(&scenario, 1, 0, &mut |_| true).expect("nobody stops it");
            let wall = begun.elapsed().as_secs_f64();
            let down = bottleneck(&outcome.summary, "down");
            let share = (scenario.duration.0 - scenario.warmup.0) as f64 / scenario.duration.0 as f64;
            rates.push(down.departed_data_pkts as f64 / share / wall / 1e6);
            last = Some(outcome.summary);
        }
        rates.sort_by(f64::total_cmp);
        let summary = last.expect("at least one run");
        let down = bottleneck(&summary, "down");
        println!(
            "{name:22} {:6.2} M data packets/s best, {:6.2} median; events/packet {:.2}; delay {} ms, loss {}, utilisation {}, up {}",
            rates[runs - 1],
            rates[runs / 2],
            summary.engine.events as f64 / summary.engine.packets as f64,
            serde_json::to_value(&down.queue_delay_ms).expect("numbers")["mean"],
            down.loss,
            down.utilisation,
            bottleneck(&summary, "up").utilisation,
        );
    }
}
