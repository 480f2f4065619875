//! What analyses of losses read: the packet log taken during the run, and the table of connections.

use serde_json::json;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::Log;
use sojourn_sim::{RunHooks, run, run_into};
use std::collections::BTreeMap;

fn scenario(down: &str, drop: &str, flows: bool) -> Scenario {
    let link = |rate: &str| json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "20pkt", "drop": drop } });
    let scenario: Scenario = serde_json::from_value(json!({
        "duration": "30s",
        "warmup": "2s",
        "path": { "rtt": "40ms", "down": link(down), "up": link("20Mbit") },
        "flows": [
            { "source": { "kind": "sessions", "preset": "imc14", "closed-loop": true }, "transport": "newreno", "direction": "down", "count": 120 },
            { "source": { "kind": "bulk", "size": "400kB" }, "transport": "cubic", "direction": "up", "count": 3 },
            { "source": { "kind": "bulk" }, "transport": "newreno", "direction": "down", "count": 30 },
            { "source": { "kind": "cbr", "rate": "80kbit", "size": "200B" }, "transport": "udp", "direction": "down" },
        ],
        "record": { "packets": true, "flows": flows },
    }))
    .expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    scenario
}

#[test]
fn a_log_taken_in_pieces_is_the_log() {
    let scenario = scenario("400Mbit", "tail", false);
    let whole = run(&scenario, 3, 0, &mut |_| true).expect("nobody stops it").logs.expect("the scenario keeps them");
    let mut pieces = [Log::default(), Log::default()];
    let mut count = 0;
    let mut sink = |link: usize, first: u32, mut log: Log| {
        let so_far = &mut pieces[link];
        assert_eq!(first, so_far.rows(), "rows are numbered through");
        so_far.append(&mut log);
        count += 1;
    };
    let hooks = RunHooks { log: Some(&mut sink), ..RunHooks::default() };
    let outcome = run_into(&scenario, 3, 0, &mut |_| true, hooks).expect("nobody stops it");
    assert!(outcome.logs.is_none());
    assert!(count > 3, "{count} pieces");
    for (piece, whole) in pieces.iter().zip(&whole) {
        assert!(piece == whole);
    }
}

#[test]
fn the_table_of_connections_agrees_with_the_log() {
    // A packet is dropped when it arrives, or when it has waited.
    agrees("tail");
    agrees("head");
}

fn agrees(drop: &str) {
    let outcome = run(&scenario("100Mbit", drop, true), 3, 0, &mut |_| true).expect("nobody stops it");
    let logs = outcome.logs.expect("the scenario keeps them");
    let table = outcome.flows.expect("the scenario keeps it");
    let mut by_flow = [BTreeMap::new(), BTreeMap::new()];
    for (log, counts) in logs.iter().zip(&mut by_flow) {
        for (flow, cause) in log.flow.iter().zip(&log.drop_cause) {
            let [packets, lost] = counts.entry(*flow).or_insert([0u32; 2]);
            *packets += 1;
            *lost += u32::from(*cause != 255);
        }
    }
    assert!(table.flow.len() > 100);
    let mut lost_at_all = 0;
    for row in 0..table.flow.len() {
        let counted = by_flow[usize::from(table.link[row])].get(&table.flow[row]).copied().unwrap_or_default();
        assert_eq!([table.packets[row], table.lost[row]], counted, "flow {}", table.flow[row]);
        lost_at_all += table.lost[row];
        if table.end_ns[row] >= 0 {
            assert!(table.end_ns[row] > table.start_ns[row] as i64);
            assert!(table.mean_cwnd_pkts[row] >= 1.0);
            assert!(table.mean_rtt_ns[row] >= 40_000_000, "no round trip is shorter than the path's");
        }
        // A threshold is what a loss leaves behind.
        assert!(table.initial_ssthresh_pkts[row].is_nan() || table.retransmits[row] > 0 || table.lost[row] > 0);
    }
    assert!(lost_at_all > 100);
    let uploads: Vec<_> =
        (0..table.flow.len()).filter(|row| table.link[*row] == 1 && table.end_ns[*row] >= 0).collect();
    assert_eq!(uploads.iter().map(|row| table.bytes[*row]).collect::<Vec<_>>(), [400_000; 3]);
}

#[test]
fn the_initial_threshold_of_a_connection_is_that_of_its_first_loss() {
    let table = |duration: &str| {
        let link = json!({ "rate": "4Mbit", "queue": { "kind": "fifo", "limit": "30pkt" } });
        let scenario: Scenario = serde_json::from_value(json!({
            "duration": duration,
            "path": { "rtt": "100ms", "down": link, "up": link },
            "flows": [{ "source": { "kind": "bulk" }, "transport": "newreno", "direction": "down", "start-within": "0s" }],
            "record": { "flows": true },
        }))
        .expect("the test's own scenario");
        run(&scenario, 1, 0, &mut |_| true).expect("nobody stops it").flows.expect("the scenario keeps it")
    };
    let (short, long) = (table("5s"), table("60s"));
    assert!(short.lost[0] > 0 && long.lost[0] > short.lost[0], "{} and {} losses", short.lost[0], long.lost[0]);
    assert!(short.initial_ssthresh_pkts[0] > 0.0);
    assert_eq!(short.initial_ssthresh_pkts, long.initial_ssthresh_pkts, "later losses do not change it");
}

#[test]
fn keeping_the_table_changes_nothing_else() {
    let [with, without] = [true, false]
        .map(|flows| run(&scenario("100Mbit", "tail", flows), 5, 0, &mut |_| true).expect("nobody stops it"));
    assert!(with.flows.is_some() && without.flows.is_none());
    assert_eq!(
        serde_json::to_string(&with.summary).expect("plain numbers"),
        serde_json::to_string(&without.summary).expect("plain numbers")
    );
}
