//! Paths with several queues: what must hold of each hop, whatever the disciplines, rates and losses.

use proptest::prelude::*;
use serde_json::{Value, json};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::Log;
use sojourn_sim::{Outcome, run};
use std::collections::BTreeMap;

fn link(rate: &str, limit: &str) -> Value {
    json!({ "rate": rate, "queue": { "kind": "fifo", "limit": limit } })
}

fn hop(name: &str, delay: &str, up: &Value, down: &Value) -> Value {
    json!({ "name": name, "delay": delay, "up": up, "down": down })
}

fn scenario(document: Value) -> Scenario {
    let scenario: Scenario = serde_json::from_value(document).expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    scenario
}

fn outcome(document: Value) -> Outcome {
    run(&scenario(document), 3, 0, &mut |_| true).expect("nobody stops it")
}

fn delay(outcome: &Outcome, link: &str) -> f64 {
    serde_json::to_value(&outcome.summary.links[link].queue_delay_ms).unwrap()["mean"].as_f64().unwrap()
}

fn bulk(direction: &str, count: u32, over: &[&str]) -> Value {
    let mut flows =
        json!({ "source": { "kind": "bulk" }, "transport": "newreno", "direction": direction, "count": count });
    if !over.is_empty() {
        flows["over"] = json!(over);
    }
    flows
}

/// Departures of a packet from one link and its arrival at the next, by its number in the run.
fn rows_by_journey(log: &Log) -> BTreeMap<u32, usize> {
    log.journey.iter().enumerate().map(|(row, journey)| (*journey, row)).collect()
}

/// Conservation at every link, and that nothing is at the second link before it has left the first.
fn conserved(outcome: &Outcome, names: &[String]) {
    let logs = outcome.logs.as_ref().expect("the scenario keeps them");
    assert_eq!(logs.len(), names.len());
    for (name, log) in names.iter().zip(logs) {
        let link = &outcome.summary.links[name];
        assert_eq!(link.arrived_pkts, link.departed_pkts + link.dropped_pkts + u64::from(link.backlog_pkts), "{name}");
        let departed = log.depart_ns.iter().filter(|t| **t >= 0).count() as u64;
        let dropped = log.drop_cause.iter().filter(|c| **c != 255).count() as u64;
        assert_eq!(
            [u64::from(log.rows()), departed, dropped],
            [link.arrived_pkts, link.departed_pkts, link.dropped_pkts]
        );
        assert!(log.arrive_ns.is_sorted(), "{name}");
        let mut waits = log.arrive_ns.iter().zip(&log.depart_ns).filter(|(_, d)| **d >= 0);
        assert!(waits.all(|(a, d)| *d >= *a as i64), "{name}: no negative sojourn");
        assert!(link.utilisation <= 1.0 + 1e-9, "{name}: {}", link.utilisation);
        let distinct = rows_by_journey(log);
        assert_eq!(distinct.len(), log.rows() as usize, "{name}: a packet is at a link once");
    }
}

/// What leaves the first log and what arrives in the second: each packet once, `delay_ns` and its transmission later.
fn follows(first: &Log, second: &Log, delay_ns: u64, bits_per_s: u64) -> usize {
    let rows = rows_by_journey(second);
    let mut followed = 0;
    for (journey, before) in rows_by_journey(first) {
        let Some(after) = rows.get(&journey) else { continue };
        assert_eq!((first.flow[before], first.seq[before]), (second.flow[*after], second.seq[*after]));
        let sent = first.depart_ns[before];
        assert!(sent >= 0 && first.drop_cause[before] == 255, "what was dropped goes no further");
        let transmission = (u64::from(first.size_bytes[before]) * 8_000_000_000).div_ceil(bits_per_s);
        assert_eq!(second.arrive_ns[*after], sent as u64 + transmission + delay_ns);
        followed += 1;
    }
    followed
}

#[test]
fn a_packet_is_followed_from_link_to_link() {
    let (slow, fast) = (link("8Mbit", "20pkt"), link("10Mbit", "5pkt"));
    let document = json!({
        "duration": "10s",
        "path": { "client-delay": "3ms", "server-delay": "1ms",
                  "hop": [hop("home", "2ms", &slow, &slow), hop("core", "4ms", &fast, &fast)] },
        "flows": [bulk("up", 2, &[]), bulk("down", 2, &[]), bulk("up", 1, &["core"])],
        "record": { "packets": true },
    });
    let names = scenario(document.clone()).link_names();
    assert_eq!(names, ["home.down", "home.up", "core.down", "core.up"]);
    let outcome = outcome(document);
    conserved(&outcome, &names);
    let logs = outcome.logs.as_ref().unwrap();
    // Up from the home to the core, down from the core to the home: the hop's own delay is behind its queue.
    assert!(follows(&logs[1], &logs[3], 2_000_000, 8_000_000) > 5000);
    assert!(follows(&logs[2], &logs[0], 4_000_000, 10_000_000) > 5000);
    let dropped = |name: &str| outcome.summary.links[name].dropped_pkts;
    assert!(dropped("home.up") > 0 && dropped("core.up") > 0, "drops at several hops at once");
}

#[test]
fn a_hop_that_never_fills_changes_nothing() {
    let slow = link("8Mbit", "20pkt");
    let flows = json!([bulk("up", 3, &[]), bulk("down", 2, &[]),
        { "source": { "kind": "poisson", "rate": "500kbit", "size": "300B" }, "transport": "udp", "direction": "up" }]);
    let one = outcome(json!({
        "duration": "40s", "warmup": "5s",
        "path": { "client-delay": "5ms", "server-delay": "15ms", "down": slow, "up": slow }, "flows": flows,
    }));
    let idle = json!({ "rate": "unlimited", "queue": { "kind": "fifo", "limit": "1000pkt" } });
    let of = |server_delay: &str, hops: Value| {
        let path = json!({ "client-delay": "5ms", "server-delay": server_delay, "hop": hops });
        outcome(json!({ "duration": "40s", "warmup": "5s", "path": path, "flows": flows }))
    };
    let (home, core) = (hop("home", "0s", &slow, &slow), hop("core", "0s", &idle, &idle));
    for hops in [json!([home, core]), json!([core, home])] {
        let two = of("15ms", hops);
        for way in ["down", "up"] {
            let links = [&one.summary.links[way], &two.summary.links[&format!("home.{way}")]];
            let [alone, of_two] = links.map(|link| serde_json::to_value(link).unwrap());
            assert_eq!(alone, of_two, "{way}");
            let idle = &two.summary.links[&format!("core.{way}")];
            assert_eq!((delay(&two, &format!("core.{way}")), idle.dropped_pkts), (0.0, 0));
        }
    }
    // A part of the delay between the hops: hosts start at other times, so runs differ as replications do.
    let two = of("5ms", json!([home, hop("core", "10ms", &idle, &idle)]));
    for way in ["down", "up"] {
        let (alone, of_two) = (&one.summary.links[way], &two.summary.links[&format!("home.{way}")]);
        assert!((alone.utilisation - of_two.utilisation).abs() < 0.05, "{way}: {}", of_two.utilisation);
        let delays = [delay(&one, way), delay(&two, &format!("home.{way}"))];
        assert!((delays[0] - delays[1]).abs() < 0.2 * delays[0], "{way}: {delays:?}");
    }
}

#[test]
fn a_path_turned_round_gives_the_same_the_other_way() {
    let (slow, fast) = (link("5Mbit", "15pkt"), link("8Mbit", "10pkt"));
    let (home, core) = (hop("home", "3ms", &slow, &slow), hop("core", "7ms", &fast, &fast));
    let of = |direction: &str, hops: Value, client: &str, server: &str| {
        outcome(json!({
            "duration": "30s",
            "path": { "client-delay": client, "server-delay": server, "hop": hops },
            "flows": [bulk(direction, 4, &[]), bulk(direction, 3, &["core"])],
        }))
    };
    // Data meets the home's queue and then the core's; a hop's delay is behind its queue either way.
    let up = of("up", json!([home, core]), "1ms", "2ms");
    let down = of("down", json!([core, home]), "2ms", "1ms");
    for name in ["home", "core"] {
        let (a, b) = (format!("{name}.up"), format!("{name}.down"));
        let both = [&up.summary.links[&a], &down.summary.links[&b]].map(|link| {
            let value = serde_json::to_value(link).unwrap();
            (value["arrived_pkts"].clone(), value["dropped_pkts"].clone(), value["queue_delay_ms"].clone())
        });
        assert_eq!(both[0], both[1], "{name}");
        assert!(up.summary.links[&a].dropped_pkts > 0);
    }
}

#[test]
fn a_flow_that_enters_at_the_second_hop_does_not_see_the_first() {
    let dead = link("1kbit", "1pkt");
    let core = link("10Mbit", "30pkt");
    let found = outcome(json!({
        "duration": "20s",
        "path": { "client-delay": "5ms", "server-delay": "5ms",
                  "hop": [hop("home", "500ms", &dead, &dead), hop("core", "10ms", &core, &core)] },
        "flows": [bulk("up", 2, &["core"])],
        "users": [{ "kind": "voice", "codec": "g711a", "call": "2s", "over": ["core"] }],
    }));
    let links = &found.summary.links;
    assert_eq!((links["home.up"].arrived_pkts, links["home.down"].arrived_pkts), (0, 0));
    assert!(links["core.up"].utilisation > 0.95, "{}", links["core.up"].utilisation);
    // The one-way delay of the calls down: hosts, the core's own delay and its queue down, which only ACKs cross.
    let calls = &found.tables.voice;
    let to_user = calls.delay_ns.iter().zip(&calls.direction).filter(|(delay, way)| **way == 1 && **delay >= 0);
    let least = to_user.map(|(delay, _)| *delay).min().unwrap();
    assert!((20_000_000..20_400_000).contains(&least), "{least}");
}

#[test]
fn one_way_delays_count_every_hop_and_queue() {
    let wide = link("1000Mbit", "100pkt");
    let found = outcome(json!({
        "duration": "10s",
        "path": { "client-delay": "7ms", "server-delay": "2ms",
                  "hop": [hop("a", "3ms", &wide, &wide), hop("b", "5ms", &wide, &wide), hop("c", "11ms", &wide, &wide)] },
        "users": [{ "kind": "voice", "codec": "g711a", "call": "2s" }],
    }));
    let calls = &found.tables.voice;
    assert!(calls.delay_ns.len() > 100 && calls.delay_ns.iter().all(|ns| (28_000_000..28_020_000).contains(ns)));
}

#[test]
fn an_access_link_slower_than_the_next_keeps_its_queue_empty() {
    let of = |rate: &str| {
        let mut flows = bulk("up", 2, &[]);
        flows["name"] = json!("long");
        flows["access"] = json!({ "rate": rate, "delay": "5ms", "queue": { "kind": "fifo", "limit": "1000pkt" } });
        let core = link("50Mbit", "8pkt");
        outcome(json!({
            "duration": "20s",
            "path": { "client-delay": "1ms", "server-delay": "4ms", "down": core, "up": core }, "flows": [flows],
            "record": { "packets": true },
        }))
    };
    // Two senders of 20 Mbit/s never have more than one packet at a link of 50 wait for another.
    let (slow, fast) = (of("20Mbit"), of("500Mbit"));
    conserved(&slow, &["down", "up", "long.access"].map(str::to_owned));
    let core = |outcome: &Outcome| serde_json::to_value(&outcome.summary.links["up"]).unwrap();
    assert!(core(&slow)["queue_delay_ms"]["max"].as_f64().unwrap() < 1500.0 * 8.0 / 50e6 * 1e3);
    assert_eq!(core(&slow)["dropped_pkts"], 0);
    assert!(core(&fast)["dropped_pkts"].as_u64().unwrap() > 10);
    let access = serde_json::to_value(&slow.summary.links["long.access"]).unwrap();
    assert_eq!(access["rate_bps"], 40_000_000, "the rates of all senders together");
    let logs = slow.logs.as_ref().unwrap();
    assert!(follows(&logs[2], &logs[1], 5_000_000, 20_000_000) > 10_000, "a packet is followed off its access link");
}

fn queue(kind: usize, limit: u32) -> Value {
    let kinds = [
        "fifo",
        "codel",
        "red",
        "pie",
        "fq-codel",
        "fq-pie",
        "cobalt",
        "sfq",
        "sfq-codel",
        "cake",
        "dualpi2",
        "policer",
    ];
    json!({ "kind": kinds[kind % kinds.len()], "limit": format!("{limit}pkt") })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_packet_is_accounted_for_at_every_hop(
        kinds in prop::array::uniform3(0usize..12), limits in prop::array::uniform3(4u32..60), loss in 0.0f64..0.05,
        seed in 0u64..1000, steps: bool,
    ) {
        let rate = |i: usize| match (i, steps) {
            (1, true) => json!({ "steps": [["0s", "4Mbit"], ["1s", "1Mbit"], ["2s", "1kbit"]], "repeat": "2200ms" }),
            _ => json!(["5Mbit", "4Mbit", "3Mbit"][i]),
        };
        let hops: Vec<Value> = (0..3).map(|i| {
            let link = json!({ "rate": rate(i), "queue": queue(kinds[i], limits[i]), "loss": if i == 1 { loss } else { 0.0 } });
            hop(["a", "b", "c"][i], ["1ms", "0s", "20ms"][i], &link, &link)
        }).collect();
        let mut behind = bulk("up", 3, &["b", "c"]);
        behind["access"] = json!({ "rate": "2Mbit", "loss": loss, "queue": queue(kinds[0], 20) });
        let document = json!({
            "duration": "8s",
            "path": { "client-delay": "2ms", "server-delay": "6ms", "hop": hops },
            "flows": [bulk("up", 3, &[]), bulk("down", 3, &["a", "b"]), behind,
                { "source": { "kind": "sessions", "preset": "imc14" }, "transport": "cubic", "direction": "down", "count": 2, "rtt": "150ms" },
                { "source": { "kind": "poisson", "rate": "400kbit", "size": "300B" }, "transport": "udp", "direction": "up", "over": ["c"] }],
            "record": { "packets": true },
        });
        let scenario = scenario(document);
        let outcome = run(&scenario, seed, 0, &mut |_| true).expect("nobody stops it");
        conserved(&outcome, &scenario.link_names());
    }
}
