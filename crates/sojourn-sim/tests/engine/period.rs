//! The measured period: every number of the summary, recomputed from the packet log, which keeps the warm-up too.

use serde_json::{Value, json};
use sojourn_net::log::Kind;
use sojourn_net::probe::{DropCause, Probe as _};
use sojourn_net::{Span, Time};
use sojourn_sim::engine::Packet;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::{LinkRecord, Log};
use sojourn_sim::{Outcome, run};

const SECOND: u64 = 1_000_000_000;
const NOT_DROPPED: u8 = 255;

fn outcome(document: Value) -> Outcome {
    let scenario: Scenario = serde_json::from_value(document).expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    run(&scenario, 1, 0, &mut |_| true).expect("nobody stops it")
}

/// The rows of the packets for which something holds.
fn rows(log: &Log, holds: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..log.rows() as usize).filter(|row| holds(*row)).collect()
}

fn close(found: &Value, expected: f64, within: f64) {
    let found = found.as_f64().expect("a number");
    assert!((found - expected).abs() <= within * expected.abs().max(1e-12), "{found}, expected {expected}");
}

/// Loaded in its warm-up by a transfer that the period does not see, and by datagrams and another transfer throughout.
fn loaded() -> Value {
    let link = |rate: &str| json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "20pkt" }, "overhead": "18B" });
    json!({
        "duration": "11.5s", "warmup": "3.25s",
        "path": { "client-delay": "5ms", "server-delay": "15ms", "down": link("2Mbit"), "up": link("1Mbit") },
        "flows": [
            { "source": { "kind": "bulk", "size": "500kB" }, "transport": "newreno", "direction": "down", "start-within": "0s" },
            { "source": { "kind": "poisson", "rate": "1.5Mbit", "size": "700B" }, "transport": "udp", "direction": "down" },
            { "source": { "kind": "sessions", "preset": "imc14" }, "transport": "cubic", "direction": "down", "count": 2 },
        ],
        "record": { "packets": true },
    })
}

#[test]
fn the_summary_is_what_the_log_says_of_the_period() {
    let outcome = outcome(loaded());
    let (from, to) = (3_250_000_000u64, 11_500_000_000u64);
    let within = |at: u64| (from..to).contains(&at);
    for ((name, log), rate) in ["down", "up"].iter().zip(outcome.logs.as_ref().unwrap()).zip([2e6, 1e6]) {
        let link = serde_json::to_value(&outcome.summary.links[*name]).unwrap();
        let count = |key: &str| link[key].as_u64().unwrap() as usize;
        let left = |row: usize| (log.depart_ns[row] >= 0).then_some(log.depart_ns[row] as u64);
        let is_dropped = |row: usize| log.drop_cause[row] != NOT_DROPPED;
        let arrived = rows(log, |row| within(log.arrive_ns[row]));
        let departed = rows(log, |row| left(row).is_some_and(within));
        // The queue drops at its tail, so a packet is dropped when it arrives.
        let dropped = rows(log, |row| within(log.arrive_ns[row]) && is_dropped(row));
        assert_eq!((count("arrived_pkts"), count("departed_pkts")), (arrived.len(), departed.len()));
        assert_eq!(count("dropped_pkts"), dropped.len());
        assert_eq!(link["drops_by_cause"], json!({ "full": dropped.len() }));
        close(&link["loss"], dropped.len() as f64 / arrived.len() as f64, 1e-8);
        let is_data = |row: &&usize| !matches!(log.kind[**row], 1 | 2);
        assert_eq!(count("departed_data_pkts"), departed.iter().filter(is_data).count());
        assert_eq!(count("departed_bytes"), departed.iter().map(|row| log.size_bytes[*row] as usize).sum::<usize>());
        let waiting = rows(log, |row| left(row).is_none() && !is_dropped(row));
        assert_eq!(count("backlog_pkts"), waiting.len());
        // Delays, of the packets that left in the period.
        let mut delays: Vec<u64> = departed.iter().map(|row| left(*row).unwrap() - log.arrive_ns[*row]).collect();
        delays.sort_unstable();
        let quantile = |q: f64| delays[(q * delays.len() as f64) as usize] as f64 * 1e-6;
        let delay = &link["queue_delay_ms"];
        close(&delay["mean"], delays.iter().sum::<u64>() as f64 * 1e-6 / delays.len() as f64, 1e-8);
        for (key, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            close(&delay[key], quantile(q), 1e-3);
        }
        close(&delay["max"], *delays.last().unwrap() as f64 * 1e-6, 1e-8);
        // Packets × time, of the part of each wait that lies in the period.
        let waited = |row: usize| {
            let end = left(row).unwrap_or(if is_dropped(row) { log.arrive_ns[row] } else { to }).min(to);
            end.saturating_sub(log.arrive_ns[row].max(from))
        };
        let occupancy = (0..log.rows() as usize).map(waited).sum::<u64>() as f64 / (to - from) as f64;
        close(&link["occupancy_pkts"], occupancy, 1e-8);
        close(&link["occupancy_delay_ms"], occupancy * 1500.0 * 8.0 / rate * 1e3, 1e-8);
        // A transmission takes its bytes and the overhead at the rate; its bytes count as they are sent.
        let carried = |from: u64, to: u64| {
            departed
                .iter()
                .map(|row| {
                    let (start, bytes) = (left(*row).unwrap() as f64, f64::from(log.size_bytes[*row] + 18));
                    let end = start + bytes * 8e9 / rate;
                    let part = (end.min(to as f64) - start.max(from as f64)).max(0.0);
                    bytes * part / (end - start)
                })
                .sum::<f64>()
        };
        let share = |from: u64, to: u64| carried(from, to) * 8e9 / rate / (to - from) as f64;
        // What was under way when the period began is not counted: a packet of 1518 bytes at most.
        close(&link["utilisation"], share(from, to), 1e-7);
        let mut by_second: Vec<f64> = (0..8).map(|k| share(from + k * SECOND, from + (k + 1) * SECOND)).collect();
        let mean = by_second.iter().sum::<f64>() / 8.0;
        let variance = by_second.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / 7.0;
        // Seconds are counted in whole bytes.
        let bytes = |found: &Value, expected: f64, within: f64| {
            let (found, expected) = (found.as_f64().unwrap() * rate / 8.0, expected * rate / 8.0);
            assert!((found - expected).abs() <= 1.0 + within * expected, "{found} bytes, expected {expected}");
        };
        bytes(&link["utilisation_sd_1s"], variance.sqrt(), 0.0);
        by_second.sort_by(f64::total_cmp);
        for (key, place) in [("p5", 0), ("p25", 2), ("p50", 4), ("p75", 6), ("p95", 7)] {
            bytes(&link["utilisation_quantiles"][key], by_second[place], 1e-3);
        }
        // Bins of a second from the end of the warm-up; the last is a quarter. A packet's bytes are in the bin of its
        // end.
        let series = &link["series"];
        assert_eq!(series["bin_s"], json!(1.0));
        let bins: Vec<(u64, u64)> = (0..9).map(|k| (from + k * SECOND, (from + (k + 1) * SECOND).min(to))).collect();
        assert!(
            ["utilisation", "queue_delay_ms", "dropped_pkts"]
                .iter()
                .all(|key| series[key].as_array().unwrap().len() == 9)
        );
        for (k, (from, to)) in bins.into_iter().enumerate() {
            let inside: Vec<&usize> =
                departed.iter().filter(|row| left(**row).is_some_and(|at| (from..to).contains(&at))).collect();
            let waits: u64 = inside.iter().map(|row| left(**row).unwrap() - log.arrive_ns[**row]).sum();
            match inside.len() {
                0 => assert_eq!(series["queue_delay_ms"][k], Value::Null),
                n => close(&series["queue_delay_ms"][k], waits as f64 * 1e-6 / n as f64, 1e-8),
            }
            let gone = dropped.iter().filter(|row| (from..to).contains(&log.arrive_ns[**row])).count();
            assert_eq!(series["dropped_pkts"][k], json!(gone));
            let found = series["utilisation"][k].as_f64().unwrap();
            let packet = 1518.0 * 8e9 / rate / (to - from) as f64;
            assert!((found - share(from, to)).abs() <= packet, "bin {k}: {found}");
        }
    }
    let down = &outcome.logs.as_ref().unwrap()[0];
    // What a packet finds are those before it that have not left yet (a departure at the same instant may be before or
    // after it).
    for row in 0..down.rows() as usize {
        let at = down.arrive_ns[row] as i64;
        let found = |stays: &dyn Fn(i64) -> bool| {
            let before = (0..row).filter(|i| down.drop_cause[*i] == NOT_DROPPED);
            before
                .filter(|i| down.depart_ns[*i] < 0 || stays(down.depart_ns[*i]))
                .fold((0, 0), |(packets, bytes), i| (packets + 1, bytes + down.size_bytes[i]))
        };
        let backlog = (down.backlog_pkts[row], down.backlog_bytes[row]);
        assert!(backlog == found(&|left| left > at) || backlog == found(&|left| left >= at), "row {row}: {backlog:?}");
    }
    assert!(outcome.summary.links["down"].dropped_pkts > 20, "else drops are not tested");
    assert!(
        down.drop_cause.iter().zip(&down.arrive_ns).any(|(cause, at)| *cause == 0 && *at < from),
        "nor the warm-up"
    );
}

#[test]
fn a_period_that_begins_after_the_load_sees_none_of_it() {
    let link = json!({ "rate": "4Mbit", "queue": { "kind": "fifo", "limit": "30pkt" } });
    let outcome = outcome(json!({
        "duration": "20s", "warmup": "10s",
        "path": { "rtt": "40ms", "down": link, "up": link },
        "flows": [{ "source": { "kind": "bulk", "size": "1MB" }, "transport": "cubic", "direction": "down", "start-within": "0s" }],
        "record": { "packets": true, "flows": true },
    }));
    let down = &outcome.logs.as_ref().unwrap()[0];
    assert!(down.backlog_pkts.iter().max() > Some(&20), "the warm-up is loaded");
    for link in outcome.summary.links.values() {
        let link = serde_json::to_value(link).unwrap();
        for key in ["occupancy_pkts", "occupancy_delay_ms", "utilisation", "utilisation_sd_1s", "loss"] {
            assert_eq!(link[key], json!(0.0), "{key}");
        }
        for key in
            ["arrived_pkts", "departed_pkts", "departed_data_pkts", "departed_bytes", "dropped_pkts", "backlog_pkts"]
        {
            assert_eq!(link[key], json!(0), "{key}");
        }
        assert_eq!(link["queue_delay_ms"]["max"], json!(0.0));
        assert_eq!(link["drops_by_cause"], json!({ "full": 0 }));
        assert!(link["series"]["dropped_pkts"].as_array().unwrap().iter().all(|n| *n == json!(0)));
    }
    let flows = serde_json::to_value(&outcome.summary.flows).unwrap();
    assert_eq!(
        flows,
        json!({ "completed": 0, "mean_concurrent": 0.0, "goodput_bps": 0.0, "retransmits": 0, "timeouts": 0, "timeout_wait_s": 0.0 })
    );
    // The work of the engine is that of the whole run, and so is the table of connections.
    let departed = |log: &Log| log.depart_ns.iter().filter(|at| **at >= 0).count() as u64;
    assert_eq!(outcome.summary.engine.packets, outcome.logs.as_ref().unwrap().iter().map(departed).sum::<u64>());
    assert_eq!(outcome.flows.unwrap().bytes, [1_000_000]);
}

#[test]
fn flows_are_counted_from_the_end_of_the_warm_up() {
    // One transfer ends in the warm-up; one crosses its end; one goes on for ever.
    let link = json!({ "rate": "100Mbit", "queue": { "kind": "fifo", "limit": "1000pkt" } });
    let bulk = |size: Value| json!({ "source": { "kind": "bulk", "size": size }, "transport": "reno", "direction": "down", "start-within": "0s", "receive-window": "14480B" });
    let outcome = outcome(json!({
        "duration": "10s", "warmup": "4s",
        "path": { "rtt": "100ms", "down": link, "up": link },
        "flows": [bulk(json!("100kB")), bulk(json!("700kB")), bulk(Value::Null)],
        "record": { "flows": true },
    }));
    let table = outcome.flows.unwrap();
    let ends: Vec<f64> = table.end_ns.iter().map(|ns| *ns as f64 / 1e9).collect();
    assert!(ends[0] < 4.0 && ends[1] > 4.0 && ends[1] < 9.0 && table.end_ns[2] == -1, "{ends:?}");
    let flows = outcome.summary.flows;
    assert_eq!((flows.completed, flows.retransmits, flows.timeouts), (1, 0, 0));
    assert!((flows.mean_concurrent - (1.0 + (ends[1] - 4.0) / 6.0)).abs() < 1e-3, "{}", flows.mean_concurrent);
    // Ten segments of 1448 bytes a round trip each, while they last.
    let windows = 1.0 + (ends[1] - 4.0) / 6.0;
    assert!((flows.goodput_bps / (windows * 14_480.0 * 8.0 / 0.1) - 1.0).abs() < 0.04, "{}", flows.goodput_bps);
}

#[test]
fn a_packet_waits_until_it_leaves_or_is_dropped_and_a_new_period_counts_what_is_still_there() {
    let mut record = LinkRecord::new(Span::from_secs(1), false);
    let packet = |row| Packet::observed(Kind::Datagram, 0, 0, 1000, row);
    for row in 0..3 {
        record.enqueued(Time(0), &packet(row));
    }
    record.marked(Time(5), &packet(0));
    // Three wait for 10 ns, two for 20 more, one for 30 more.
    record.dropped(Time(10), packet(0), DropCause::Sojourn, Some(Span(10)));
    record.dequeued(Time(30), &packet(1), Span(30));
    assert_eq!((record.occupancy(Time(60)), record.marked), (100, 1));
    record.reset(Time(60));
    assert_eq!((record.occupancy(Time(67)), record.marked, record.total_dropped()), (7, 0, 0));
}

#[test]
fn what_was_repaired_in_the_warm_up_is_left_out() {
    // One transfer through a path that loses a third of all packets; it is over after some 20 s.
    let repairs = |warmup: &str| {
        let link = json!({ "rate": "4Mbit", "loss": 0.3, "queue": { "kind": "fifo", "limit": "30pkt" } });
        let flows = outcome(json!({
            "duration": "500s", "warmup": warmup,
            "path": { "rtt": "40ms", "down": link, "up": link },
            "flows": [{ "source": { "kind": "bulk", "size": "60kB" }, "transport": "reno", "direction": "down", "start-within": "0s" }],
        }));
        let flows = flows.summary.flows;
        (flows.completed, flows.retransmits > 0, flows.timeouts > 0, flows.timeout_wait_s > 0.0)
    };
    assert_eq!(repairs("0s"), (1, true, true, true));
    assert_eq!(repairs("450s"), (0, false, false, false));
}

#[test]
fn by_little_s_law_packets_waiting_are_arrivals_times_the_mean_wait() {
    let link = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "200pkt" } });
    let outcome = outcome(json!({
        "duration": "120s", "warmup": "40s",
        "path": { "rtt": "40ms", "down": link, "up": link },
        "flows": [
            { "source": { "kind": "bulk", "size": "1MB" }, "transport": "cubic", "direction": "down", "start-within": "0s" },
            { "source": { "kind": "poisson", "rate": "700kbit", "size": "500B" }, "transport": "udp", "direction": "down" },
        ],
    }));
    let down = serde_json::to_value(&outcome.summary.links["down"]).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let waiting = number(&down["departed_pkts"]) / 80.0 * number(&down["queue_delay_ms"]["mean"]) * 1e-3;
    assert!((number(&down["occupancy_pkts"]) / waiting - 1.0).abs() < 0.01, "{waiting} {down}");
    // M/D/1 at a load of 0.7: ρ² / (2 (1 − ρ)) wait.
    assert!((waiting - 0.8167).abs() < 0.08, "{waiting}");
}

#[test]
fn another_queue_loses_the_same_packets_on_the_path() {
    let lost = |queue: Value| {
        let down = json!({ "rate": "2Mbit", "queue": queue, "loss": 0.02 });
        let outcome = outcome(json!({
            "duration": "30s",
            "path": { "rtt": "40ms", "down": down, "up": { "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } } },
            "flows": [{ "source": { "kind": "cbr", "rate": "2.2Mbit", "size": "1500B" }, "transport": "udp", "direction": "down" }],
            "record": { "packets": true },
        }));
        let down = outcome.logs.unwrap().swap_remove(0);
        let path = rows(&down, |row| down.drop_cause[row] == 3);
        let by_the_queue = rows(&down, |row| !matches!(down.drop_cause[row], 3 | NOT_DROPPED));
        assert!(by_the_queue.len() > 50, "the queue draws, or it shows nothing: {}", by_the_queue.len());
        path
    };
    let fifo = lost(json!({ "kind": "fifo", "limit": "20pkt" }));
    assert!((80..130).contains(&fifo.len()), "2 % of 5,500: {}", fifo.len());
    for kind in ["pie", "codel", "red", "cobalt"] {
        assert_eq!(fifo, lost(json!({ "kind": kind, "limit": "100pkt" })), "{kind}");
    }
}

#[test]
fn each_direction_loses_packets_of_its_own() {
    let link = json!({ "rate": "10Mbit", "queue": { "kind": "fifo", "limit": "9pkt" }, "loss": 0.1 });
    let cbr = |direction: &str| json!({ "source": { "kind": "cbr", "rate": "1Mbit", "size": "500B" }, "transport": "udp", "direction": direction });
    let outcome = outcome(json!({
        "duration": "10s", "path": { "rtt": "40ms", "down": link, "up": link },
        "flows": [cbr("down"), cbr("up")], "record": { "packets": true },
    }));
    let logs = outcome.logs.unwrap();
    let [down, up] = [&logs[0], &logs[1]].map(|log| rows(log, |row| log.drop_cause[row] == 3));
    assert!((200..300).contains(&down.len()) && (200..300).contains(&up.len()));
    assert_ne!(down, up);
}
