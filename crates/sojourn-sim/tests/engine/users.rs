//! Users: each with a random stream of its own, and what their tables say.

use serde_json::{Value, json};
use sojourn_net::Span;
use sojourn_sim::app::{Schedule, Tables};
use sojourn_sim::scenario::{Scenario, Users};
use sojourn_sim::{Outcome, run};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn outcome(document: Value) -> Outcome {
    let mut scenario: Scenario = serde_json::from_value(document).expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    for user in &mut scenario.users {
        if let Users::Video(video) = user {
            // Two packets at once and one 30 ms later; then a clip of a single packet.
            let two = Schedule::new(vec![Span::ZERO, Span::ZERO, Span(30 * MS)], vec![1356, 700, 200]);
            let one = Schedule::new(vec![Span(5 * MS)], vec![900]);
            video.schedules = [two, one].map(|schedule| Arc::new(schedule.expect("in order"))).to_vec();
        }
    }
    run(&scenario, 1, 0, &mut |_| true).expect("nobody stops it")
}

/// A path on which nobody is in another's way.
fn alone(users: Value) -> Tables {
    let link = json!({ "rate": "unlimited", "queue": { "kind": "fifo", "limit": "unlimited" } });
    let path = json!({ "client-delay": "5ms", "server-delay": "20ms", "down": link, "up": link });
    outcome(json!({ "duration": "60s", "warmup": "4s", "path": path, "users": users })).tables
}

fn entry(kind: &str, count: u32) -> Value {
    match kind {
        "voice" => {
            json!({ "kind": "voice", "codec": "g711a", "call": "2s", "gap": "1s", "start-within": "3s", "count": count })
        }
        "video" => {
            json!({ "kind": "video", "clips": ["a", "b"], "gap": "200ms", "start-within": "3s", "count": count })
        }
        "web" => json!({ "kind": "web", "pause": "1s", "start-within": "3s", "count": count }),
        "browser" => {
            json!({ "kind": "browser", "start-within": "3s", "dwell-scales": ["2s"], "dwell-bounds": ["1s", "4s"], "count": count })
        }
        _ => json!({ "kind": "adaptive", "algorithm": "bba2", "start-within": "3s", "length": "20s", "count": count,
                     "clips": [{ "spread": 0.25, "segment-s": 2.0, "rates-kbps": [500.0, 1000.0, 2000.0] }] }),
    }
}

/// For each user of a kind: a row of numbers for each row of the table.
fn rows(tables: &Tables, kind: &str, user: u32) -> Vec<Vec<i64>> {
    let t = tables;
    let (users, columns): (&[u32], Vec<Vec<i64>>) = match kind {
        "voice" => (
            &t.voice.user,
            vec![
                t.voice.sent_ns.iter().map(|ns| *ns as i64).collect(),
                t.voice.delay_ns.clone(),
                t.voice.seq.iter().map(|n| i64::from(*n)).collect(),
                t.voice.call.iter().map(|n| i64::from(*n)).collect(),
                t.voice.direction.iter().map(|n| i64::from(*n)).collect(),
            ],
        ),
        "video" => (
            &t.video.user,
            vec![
                t.video.sent_ns.iter().map(|ns| *ns as i64).collect(),
                t.video.delay_ns.clone(),
                t.video.seq.iter().map(|n| i64::from(*n)).collect(),
                t.video.clip.iter().map(|n| i64::from(*n)).collect(),
                t.video.showing.iter().map(|n| i64::from(*n)).collect(),
            ],
        ),
        "web" => (
            &t.web.user,
            vec![
                t.web.start_ns.iter().map(|ns| *ns as i64).collect(),
                t.web.plt_ns.iter().map(|ns| *ns as i64).collect(),
            ],
        ),
        "browser" => (
            &t.browser.user,
            vec![
                t.browser.start_ns.iter().map(|ns| *ns as i64).collect(),
                t.browser.page.iter().map(|n| i64::from(*n)).collect(),
                t.browser.plt_ns.iter().map(|ns| *ns as i64).collect(),
            ],
        ),
        _ => (
            &t.adaptive.user,
            vec![t.adaptive.request_ns.clone(), t.adaptive.bytes.iter().map(|n| *n as i64).collect()],
        ),
    };
    (0..users.len()).filter(|i| users[*i] == user).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
}

#[test]
fn every_user_of_an_entry_has_a_stream_of_its_own() {
    for kind in ["voice", "video", "web", "browser", "adaptive"] {
        let (one, three) = (alone(json!([entry(kind, 1)])), alone(json!([entry(kind, 3)])));
        let starts: Vec<i64> = (0..3).map(|user| rows(&three, kind, user)[0][0]).collect();
        // Viewers of adaptive video start one after another, so it is the pauses that must differ.
        assert!(starts[0] != starts[1] && starts[1] != starts[2], "{kind}: {starts:?}");
        assert_ne!(starts[1] - starts[0], starts[2] - starts[1], "{kind}: {starts:?}");
        // Further users change nothing for the first, and come after those of an entry before them.
        assert_eq!(rows(&one, kind, 0), rows(&three, kind, 0), "{kind}");
        assert!(rows(&one, kind, 0).len() > 5, "{kind}");
        let after = alone(json!([entry("voice", 2), entry(kind, 1)]));
        assert!(!rows(&after, kind, 2).is_empty(), "{kind}: users are counted over all entries");
    }
}

#[test]
fn calls_and_showings_that_began_in_the_warm_up_or_were_cut_are_left_out() {
    let tables = alone(json!([entry("voice", 1), entry("video", 1)]));
    let voice = &tables.voice;
    let firsts: Vec<usize> = (0..voice.seq.len()).filter(|i| *i == 0 || voice.call[*i] != voice.call[*i - 1]).collect();
    let calls: Vec<u32> = firsts.iter().map(|i| voice.call[*i]).collect();
    // A call of 2 s every 3 s: the first begins in the warm-up.
    assert!(calls[0] > 0 && calls.windows(2).all(|pair| pair[1] == pair[0] + 1), "{calls:?}");
    assert!(voice.sent_ns.iter().all(|ns| (4 * SECOND..60 * SECOND).contains(ns)));
    assert!((17..=19).contains(&calls.len()), "{calls:?}");
    assert!(voice.seq.iter().all(|seq| *seq < 100));
    let video = &tables.video;
    assert!(video.sent_ns[0] >= 4 * SECOND && video.showing[0] > 0);
    for i in 1..video.seq.len() {
        let (gap, same) = (video.sent_ns[i] - video.sent_ns[i - 1], video.showing[i] == video.showing[i - 1]);
        let expected = match (same, video.seq[i], video.clip[i]) {
            (true, 1, 0) => 0,
            (true, 2, 0) => 30 * MS,
            (false, 0, 1) => 205 * MS,
            (false, 0, 0) => 200 * MS,
            found => panic!("{found:?}"),
        };
        assert_eq!(gap, expected, "row {i}");
        assert_eq!(u32::from(video.clip[i]), video.showing[i] % 2, "clips in turn");
    }
    // On an empty path a packet takes the two distances.
    assert!(voice.delay_ns.iter().chain(&video.delay_ns).all(|ns| *ns == 25 * MS as i64));
}

#[test]
fn a_call_goes_the_ways_asked_for() {
    for (direction, expected) in [("up", vec![0u8]), ("down", vec![1]), ("both", vec![0, 1])] {
        let tables = alone(json!([{ "kind": "voice", "codec": "g711a", "call": "2s", "direction": direction }]));
        let mut found = tables.voice.direction.clone();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{direction}");
    }
}

#[test]
fn a_reader_rests_after_each_page_and_the_last_is_told_as_it_stands() {
    let link = |rate: &str| json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "100pkt" } });
    let outcome = outcome(json!({
        "duration": "30s", "warmup": "2s",
        "path": { "rtt": "100ms", "down": link("1Mbit"), "up": link("1Mbit") },
        "users": [{ "kind": "web", "pause": "3s", "start-within": "0s" }],
    }));
    let web = outcome.tables.web;
    assert!(web.start_ns[0] >= 2 * SECOND, "the load of the warm-up is left out");
    let last = web.start_ns.len() - 1;
    for i in 0..last {
        assert_eq!(web.start_ns[i + 1], web.start_ns[i] + web.plt_ns[i] + 3 * SECOND);
        assert!(web.complete[i]);
        assert!(web.rtt_ns[i] > 100 * MS);
    }
    assert_eq!(web.complete[last], web.start_ns[last] + web.plt_ns[last] < 30 * SECOND);
    assert!(web.user.iter().all(|user| *user == 0));
}

#[test]
fn the_round_trip_of_a_page_is_that_of_its_server_s_data() {
    // Ten segments of 1500 bytes at once wait for each other, 12 ms each; requests and handshake meet no queue.
    let link = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "100pkt" } });
    let outcome = outcome(json!({
        "duration": "20s",
        "path": { "rtt": "100ms", "down": link, "up": link },
        "users": [{ "kind": "web", "initial-window": 10, "start-within": "0s" }],
    }));
    let rtt_ms = outcome.tables.web.rtt_ns[0] / MS;
    assert!((130..220).contains(&rtt_ms), "{rtt_ms} ms; the client's own is about 110 ms");
}

#[test]
fn a_page_that_takes_too_long_is_given_up_and_the_next_begins_at_once() {
    let link = |rate: &str| json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "50pkt" } });
    let outcome = outcome(json!({
        "duration": "300s", "warmup": "1s",
        "path": { "rtt": "40ms", "down": link("3Mbit"), "up": link("1Mbit") },
        "users": [{ "kind": "browser", "start-within": "0s", "patience": "6s" }],
    }));
    let browser = outcome.tables.browser;
    let (complete, abandoned) = (1u8, 2u8);
    assert!(browser.fate.contains(&complete) && browser.fate.contains(&abandoned));
    for i in 0..browser.fate.len() - 1 {
        let pause = browser.start_ns[i + 1] - browser.start_ns[i] - browser.plt_ns[i];
        if browser.fate[i] == abandoned {
            assert_eq!((browser.plt_ns[i], pause), (6 * SECOND, 0), "row {i}");
        } else {
            assert_eq!(browser.fate[i], complete);
            assert!(browser.plt_ns[i] < 6 * SECOND && pause > 0, "row {i}");
            // A 3 Mbit/s link carries no more than it can.
            assert!(browser.plt_ns[i] as f64 / 1e9 > browser.bytes[i] as f64 * 8.0 / 3e6, "row {i}");
        }
    }
}
