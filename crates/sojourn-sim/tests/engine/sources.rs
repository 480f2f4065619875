//! Sources and time-varying links through the whole engine.

use rand::RngExt;
use serde_json::{Value, json};
use sojourn_net::Span;
use sojourn_sim::distribution::Distribution;
use sojourn_sim::scenario::Scenario;
use sojourn_sim::stats::Log;
use sojourn_sim::stream::stream;
use sojourn_sim::{Outcome, run};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

fn outcome(document: Value) -> Outcome {
    let scenario: Scenario = serde_json::from_value(document).expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    run(&scenario, 1, 0, &mut |_| true).expect("nobody stops it")
}

/// One group of flows down an empty link of 100 Mbit/s.
fn alone(duration: &str, flows: &Value) -> (Outcome, Log) {
    let link = json!({ "rate": "100Mbit", "queue": { "kind": "fifo", "limit": "10000pkt" } });
    let mut outcome = outcome(json!({
        "duration": duration,
        "path": { "rtt": "20ms", "down": link, "up": link },
        "flows": [flows],
        "record": { "packets": true },
    }));
    let down = outcome.logs.take().expect("the scenario keeps them").swap_remove(0);
    (outcome, down)
}

fn bits_per_second(log: &Log, seconds: f64) -> f64 {
    log.size_bytes.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() * 8.0 / seconds
}

#[test]
fn web_connections_carry_requests_and_answers_and_end() {
    let flows = |http: &str, rate: u32| json!({ "source": { "kind": "packmime", "rate": rate, "http": http }, "transport": "newreno", "direction": "down" });
    // 8 connections a second for 200 s. Those that persist stay open between requests.
    for (http, open) in [("1.0", 0.5..1.2), ("1.1", 2.4..3.8)] {
        let (outcome, log) = alone("200s", &flows(http, 8));
        let flows = &outcome.summary.flows;
        assert!((1450..1950).contains(&flows.completed), "{http}: {} connections", flows.completed);
        assert!(open.contains(&flows.mean_concurrent), "{http}: {} open", flows.mean_concurrent);
        // Responses of 8 kB each in the mean, of which a heavy tail is a part.
        let load = bits_per_second(&log, 200.0) / 1e3;
        assert!((430.0..780.0).contains(&load), "{http}: {load} kbit/s");
    }
}

#[test]
fn the_preset_of_the_aqm_study_is_written_out_and_brings_its_load() {
    let source = json!({ "kind": "packmime", "preset": "packmime-002", "rate": 4.0 });
    let (outcome, _) =
        alone("1000s", &json!({ "source": source, "transport": "newreno", "direction": "down", "count": 2 }));
    let goodput = outcome.summary.flows.goodput_bps / 1e3;
    // Responses of 90 kbit/s within the tables, and requests of 37 kbit/s.
    assert!((100.0..150.0).contains(&goodput), "{goodput} kbit/s");
    let scenario: Scenario = serde_json::from_value(json!({
        "duration": "1s",
        "path": { "rtt": "20ms", "down": { "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } },
                  "up": { "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } } },
        "flows": [{ "source": source, "transport": "newreno", "direction": "down" }],
    }))
    .unwrap();
    let written = serde_json::to_value(&scenario).unwrap();
    let expected = json!({ "kind": "packmime", "rate": 4.0, "http": "1.0", "response-mean": "1400B" });
    assert_eq!(written["flows"][0]["source"], expected);
}

#[test]
fn what_web_sources_send_does_not_depend_on_the_queue() {
    let starts = |limit: &str| {
        let link = json!({ "rate": "300kbit", "queue": { "kind": "fifo", "limit": limit } });
        let outcome = outcome(json!({
            "duration": "60s",
            "path": { "rtt": "20ms", "down": link, "up": { "rate": "10Mbit", "queue": { "kind": "fifo", "limit": "1000pkt" } } },
            "flows": [{ "source": { "kind": "packmime", "rate": 4 }, "transport": "newreno", "direction": "down" }],
            "record": { "packets": true },
        }));
        let up = &outcome.logs.unwrap()[1];
        // The first control packet of each flow is its SYN.
        let mut seen = BTreeMap::new();
        for i in 0..up.rows() as usize {
            seen.entry(up.flow[i]).or_insert(up.arrive_ns[i]);
        }
        seen
    };
    let (shallow, deep) = (starts("3pkt"), starts("100pkt"));
    assert!(shallow.len() > 100);
    assert_eq!(shallow, deep);
}

#[test]
fn video_has_its_rate_and_loops() {
    let (_, log) = alone(
        "100s",
        &json!({ "source": { "kind": "video" }, "transport": "udp", "direction": "down", "start-within": "0s" }),
    );
    assert!(log.size_bytes.iter().all(|bytes| (41..=1064).contains(bytes)));
    let headers = 40.0 * 8.0 * f64::from(log.rows()) / 100.0;
    let load = (bits_per_second(&log, 100.0) - headers) / 1e3;
    assert!((load - 450.0).abs() < 25.0, "{load} kbit/s");
    // Frames leave at once, 24 a second, and the clip of 1065 repeats.
    let mut times = log.arrive_ns.clone();
    times.dedup();
    assert_eq!(times.len(), 2400);
    let sizes_at = |frame: usize| -> u32 {
        let at = times[frame];
        log.arrive_ns.iter().zip(&log.size_bytes).filter(|(time, _)| **time == at).map(|(_, size)| size).sum()
    };
    assert!((0..50).all(|frame| sizes_at(frame) == sizes_at(frame + 1065)));
}

#[test]
fn video_can_follow_a_file_of_frames() {
    let content = "1 I 2000 2 0.0\n2 P 500 1 0.04\n3 P 1500 2 0.08\n";
    let source = json!({ "kind": "video", "trace": "a.st", "content": content, "packet": "1064B" });
    let flows = json!({ "source": source, "transport": "udp", "direction": "down", "start-within": "0s" });
    let (_, log) = alone("0.13s", &flows);
    assert_eq!(log.arrive_ns.iter().map(|ns| ns / 1_000_000).collect::<Vec<_>>(), [0, 0, 40, 80, 80, 120, 120]);
    assert_eq!(log.size_bytes, [1064, 1016, 540, 1064, 516, 1064, 1016]);
}

#[test]
fn a_chirp_doubles_every_second() {
    let flows = json!({ "source": { "kind": "chirp", "bursts": 5 }, "transport": "newreno", "direction": "down",
                        "mss": "1000B", "start-within": "0s" });
    let (_, log) = alone("60s", &flows);
    let in_second = |second: u64| {
        let of = log.arrive_ns.iter().zip(&log.size_bytes).filter(|(ns, size)| **ns / SECOND == second && **size > 900);
        of.count()
    };
    assert_eq!((0..7).map(in_second).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 0, 0]);
    assert_eq!((30..36).map(in_second).collect::<Vec<_>>(), [1, 2, 4, 8, 16, 0]);
}

#[test]
fn a_heartbeat_beats() {
    let flows = json!({ "source": { "kind": "heartbeat" }, "transport": "newreno", "direction": "down",
                        "timestamps": false, "start-within": "0s" });
    let (_, log) = alone("10s", &flows);
    let beats: Vec<u64> =
        log.arrive_ns.iter().zip(&log.size_bytes).filter(|(_, size)| **size == 64 + 40).map(|(ns, _)| *ns).collect();
    assert_eq!(beats.len(), 50);
    assert!(beats[1..].windows(2).all(|pair| pair[1] - pair[0] == SECOND / 5));
}

#[test]
fn on_and_off_have_their_shares() {
    let exponential = |mean: &str| json!({ "kind": "exponential", "mean": mean });
    let flows = json!({
        "source": { "kind": "on-off", "rate": "1Mbit", "size": "500B", "on": exponential("500ms"), "off": exponential("1s") },
        "transport": "udp", "direction": "down", "count": 20,
    });
    let (_, log) = alone("300s", &flows);
    let load = bits_per_second(&log, 300.0) / 20.0 / 1e6;
    assert!((load - 1.0 / 3.0).abs() < 0.03, "{load} Mbit/s of each");
    // A heavy tail goes the same way.
    let pareto = |mean: &str| json!({ "kind": "pareto", "shape": 1.5, "mean": mean });
    let source =
        json!({ "kind": "on-off", "rate": "1Mbit", "size": "500B", "on": pareto("500ms"), "off": pareto("500ms") });
    let (_, log) = alone("300s", &json!({ "source": source, "transport": "udp", "direction": "down", "count": 20 }));
    let load = bits_per_second(&log, 300.0) / 20.0 / 1e6;
    assert!((0.35..0.65).contains(&load), "{load} Mbit/s of each");
}

#[test]
fn an_on_time_ends_within_a_packet_s_interval() {
    let source = json!({ "kind": "on-off", "rate": "1Mbit", "size": "500B", "on": "99ms", "off": "200ms" });
    let (_, log) = alone("2s", &json!({ "source": source, "transport": "udp", "direction": "down" }));
    let ms = |row: usize| (log.arrive_ns[row] - log.arrive_ns[0]) / 1_000_000;
    // 25 packets, 4 ms apart; the next would be due at 100 ms, but the off-time begins at 99.
    let begins: Vec<_> = (1..log.size_bytes.len()).filter(|row| ms(*row) - ms(row - 1) > 4).collect();
    assert_eq!(begins[..3], [25, 50, 75]);
    assert_eq!(begins[..3].iter().map(|row| ms(*row)).collect::<Vec<_>>(), [299, 598, 897]);
}

#[test]
fn the_times_of_datagrams_are_rounded_and_the_sum_of_their_gaps_is_not() {
    let source = json!({ "kind": "poisson", "rate": "10Mbit", "size": "500B" });
    let (_, log) =
        alone("2s", &json!({ "source": source, "transport": "udp", "direction": "down", "start-within": "0s" }));
    let (mut rng, mut due) = (stream(1, 0, "flows-0.0"), 0.0);
    let _start: f64 = rng.random();
    let gap = Distribution::Exponential { mean: Span(400_000) };
    assert!(log.arrive_ns.len() > 4500);
    for at in &log.arrive_ns {
        due += gap.sample(&mut rng);
        assert_eq!(*at, due as u64);
    }
}

#[test]
fn a_transfer_is_over_with_its_last_byte_and_loops_of_a_session_start_apart() {
    // Four bytes of length and the file fill 20 segments of 1448 bytes, or two bytes of another.
    let second_start = |size: u32| {
        let source =
            json!({ "kind": "sessions", "sizes": format!("{size}B"), "interconnection": "1s", "closed-loop": true });
        let flows = json!({ "source": source, "transport": "newreno", "direction": "down", "start-within": "0s" });
        let (_, log) = alone("3s", &flows);
        let first = log.flow[0];
        (0..log.flow.len()).find(|row| log.flow[*row] != first).map(|row| log.arrive_ns[row]).expect("it comes")
    };
    let (whole, more) = (second_start(20 * 1448 - 4), second_start(20 * 1448 - 2));
    assert!((1000..10_000).contains(&(more - whole)), "{whole} and {more}: a packet of 54 bytes takes 4.3 µs");
    let source =
        json!({ "kind": "sessions", "sizes": "1kB", "interconnection": "100s", "closed-loop": true, "parallel": 4 });
    let flows = json!({ "source": source, "transport": "newreno", "direction": "down", "start-within": "1s" });
    let (_, log) = alone("3s", &flows);
    let mut starts = BTreeMap::new();
    for (flow, at) in log.flow.iter().zip(&log.arrive_ns) {
        starts.entry(*flow).or_insert(*at);
    }
    let mut starts: Vec<_> = starts.into_values().collect();
    starts.sort_unstable();
    assert_eq!(starts.len(), 4);
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] > 1_000_000), "{starts:?}");
}

fn calls(extra: &Value) -> Outcome {
    let link = json!({ "rate": "10Mbit", "queue": { "kind": "fifo", "limit": "100pkt" } });
    let mut user = json!({ "kind": "voice", "codec": "g729a", "call": "60s", "gap": "0s" });
    for (key, value) in extra.as_object().unwrap() {
        user[key] = value.clone();
    }
    outcome(json!({
        "duration": "610s",
        "path": { "rtt": "20ms", "down": link, "up": link },
        "users": [user],
        "record": { "packets": true },
    }))
}

#[test]
fn g729_packets_have_60_bytes_every_20_ms() {
    let outcome = calls(&json!({}));
    assert!(outcome.logs.as_ref().unwrap().iter().all(|log| log.size_bytes.iter().all(|bytes| *bytes == 60)));
    let voice = &outcome.tables.voice;
    assert_eq!(voice.seq.len(), 10 * 2 * 3000);
}

#[test]
fn callers_with_talk_spurts_speak_for_their_share() {
    let outcome = calls(&json!({ "talk-spurts": {} }));
    let voice = &outcome.tables.voice;
    let share = voice.seq.len() as f64 / (10.0 * 2.0 * 3000.0);
    assert!((share - 1004.0 / (1004.0 + 1587.0)).abs() < 0.04, "{share}");
    assert_eq!(voice.call.last(), Some(&9));
    // Numbers go on through silence: a receiver knows when a packet was due.
    let mine: Vec<usize> = (0..voice.seq.len()).filter(|i| voice.direction[*i] == 0 && voice.call[*i] == 0).collect();
    for pair in mine.windows(2) {
        let packets = u64::from(voice.seq[pair[1]] - voice.seq[pair[0]]);
        assert_eq!(voice.sent_ns[pair[1]] - voice.sent_ns[pair[0]], packets * SECOND / 50);
    }
}

fn loaded(rate: &Value, queue: &Value) -> Outcome {
    outcome(json!({
        "duration": "60s",
        "path": { "rtt": "40ms", "down": { "rate": rate, "queue": queue },
                  "up": { "rate": "10Mbit", "queue": { "kind": "fifo", "limit": "100pkt" } } },
        "flows": [{ "source": { "kind": "cbr", "rate": "6Mbit", "size": "1500B" }, "transport": "udp", "direction": "down",
                    "start-within": "0s" }],
        "record": { "packets": true },
    }))
}

#[test]
fn every_queue_meets_the_same_drawn_rates() {
    let rate = json!({ "choose": ["0.5Mbit", "1Mbit", "2Mbit", "3.5Mbit"], "every": ["10ms", "30ms"] });
    let queues = [
        json!({ "kind": "fifo", "limit": "20pkt" }),
        json!({ "kind": "fifo", "limit": "50pkt" }),
        json!({ "kind": "pie", "limit": "100pkt" }),
    ];
    let found = queues.map(|queue| loaded(&rate, &queue));
    let departures = |outcome: &Outcome| -> Vec<i64> {
        outcome.logs.as_ref().unwrap()[0].depart_ns.iter().copied().filter(|ns| *ns >= 0).collect()
    };
    let bps = found[0].summary.links["down"].rate_bps.unwrap();
    assert!((1.6e6..1.9e6).contains(&(bps as f64)), "{bps}");
    for outcome in &found {
        let down = &outcome.summary.links["down"];
        assert_eq!(down.rate_bps, Some(bps));
        assert!(down.utilisation <= 1.0 + 1e-9 && down.utilisation > 0.98, "{}", down.utilisation);
    }
    // A link that is never idle starts the same transmissions whatever queue it has.
    assert_eq!(departures(&found[0]), departures(&found[1]));
}

#[test]
fn each_link_draws_rates_of_its_own() {
    let rate = json!({ "choose": ["0.5Mbit", "1Mbit", "2Mbit", "3.5Mbit"], "every": ["10ms", "30ms"] });
    let link = json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "20pkt" } });
    let cbr = |direction: &str| {
        json!({ "source": { "kind": "cbr", "rate": "4Mbit", "size": "1500B" }, "transport": "udp",
                                        "direction": direction, "start-within": "0s" })
    };
    let outcome = outcome(json!({
        "duration": "20s", "path": { "rtt": "40ms", "down": link, "up": link }, "flows": [cbr("down"), cbr("up")],
    }));
    let [down, up] = ["down", "up"].map(|name| outcome.summary.links[name].rate_bps);
    assert!(down.is_some() && down != up, "{down:?} {up:?}");
}

#[test]
fn a_traced_link_sends_at_the_trace_s_times_only() {
    // 1504 bytes every 2 ms: 6 Mbit/s, for 1500-byte packets a little less.
    let rate = json!({ "trace": "a.down", "content": "2\n4\n6\n8\n10\n" });
    let outcome = loaded(&rate, &json!({ "kind": "fifo", "limit": "20pkt" }));
    let down = &outcome.summary.links["down"];
    assert_eq!(down.rate_bps, Some(6_016_000));
    assert!(outcome.logs.as_ref().unwrap()[0].depart_ns.iter().all(|ns| *ns < 0 || ns % 2_000_000 == 0));
    assert!((down.utilisation - 6.0 / 6.016).abs() < 0.01, "{}", down.utilisation);
    let half = json!({ "trace": "a.down", "content": "2\n4\n12\n" });
    let outcome = loaded(&half, &json!({ "kind": "fifo", "limit": "20pkt" }));
    assert!((outcome.summary.links["down"].utilisation - 1.0).abs() < 0.002);
}

#[test]
fn adaptive_red_can_be_set_for_another_rate() {
    let delay = |rate: Value| {
        let mut queue =
            json!({ "kind": "red", "limit": "200pkt", "adaptive": true, "target": "50ms", "mean-packet": "1000B" });
        if rate != Value::Null {
            queue["rate"] = rate;
        }
        let link = json!({ "rate": "4Mbit", "queue": queue });
        let outcome = outcome(json!({
            "duration": "40s", "warmup": "10s",
            "path": { "rtt": "40ms", "down": link, "up": { "rate": "10Mbit", "queue": { "kind": "fifo", "limit": "100pkt" } } },
            "flows": [{ "source": { "kind": "bulk" }, "transport": "newreno", "direction": "down", "count": 4 }],
        }));
        serde_json::to_value(&outcome.summary.links["down"].queue_delay_ms).unwrap()["mean"].as_f64().unwrap()
    };
    let [own, same, high] = [Value::Null, json!("4Mbit"), json!("12Mbit")].map(delay);
    assert!(own.to_bits() == same.to_bits());
    assert!(high > 2.0 * own, "{high} ms against {own}");
}

#[test]
fn a_scenario_knows_which_file_it_still_needs() {
    let scenario = |content: Value| -> Scenario {
        let mut rate = json!({ "trace": "a.down" });
        if content != Value::Null {
            rate["content"] = content;
        }
        let link = json!({ "rate": rate, "queue": { "kind": "fifo", "limit": "9pkt" } });
        let up = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } });
        serde_json::from_value(json!({ "duration": "1s", "path": { "rtt": "20ms", "down": link, "up": up } })).unwrap()
    };
    assert_eq!(scenario(Value::Null).missing_file(), Some("a.down"));
    assert_eq!(scenario(json!("5\n")).missing_file(), None);
    let link = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } });
    let source = json!({ "kind": "recorded", "file": "lab.parquet" });
    let recorded: Scenario = serde_json::from_value(json!({
        "duration": "1s", "path": { "rtt": "20ms", "down": link, "up": link },
        "flows": [{ "source": source, "transport": "cubic", "direction": "down" }],
    }))
    .unwrap();
    assert_eq!(recorded.missing_file(), Some("lab.parquet"));
}

#[test]
fn a_source_that_starts_at_once_is_on_for_its_first_time_too() {
    let source = json!({ "kind": "on-off", "rate": "800kbit", "size": "1000B", "on": "100ms", "off": "1s" });
    let flows = json!({ "source": source, "transport": "udp", "direction": "down", "start-within": "0s" });
    let (_, log) = alone("2s", &flows);
    let times: Vec<u64> = log.arrive_ns.iter().map(|at| at / 1_000_000).collect();
    let on = |from: u64| (0..10).map(move |n| from + 10 * n);
    assert_eq!(times, on(0).chain(on(1100)).collect::<Vec<_>>());
}

#[test]
fn what_a_queue_adds_to_every_round_trip_is_part_of_the_one_that_was_recorded() {
    let up = json!({ "rate": "100Mbit", "queue": { "kind": "fifo", "limit": "100pkt" } });
    let down = json!({ "rate": "100Mbit", "queue": { "kind": "netem", "limit": "100pkt", "delay": "40ms" } });
    // Three connections: one whose round trip is the path's, one longer, and one that is shorter than the queue alone.
    for (recorded, is) in [(40, 40), (60, 60), (20, 40)] {
        let content = format!("length 1000000000\ns c 0 {recorded}000000 a100+0 b100+0\n");
        let source = json!({ "kind": "recorded", "file": "lab.parquet", "content": content });
        let mut outcome = outcome(json!({
            "duration": "1s", "path": { "client-delay": "0s", "server-delay": "0s", "down": down, "up": up },
            "flows": [{ "source": source, "transport": "cubic", "direction": "down" }],
            "record": { "packets": true },
        }));
        let sent = outcome.logs.take().expect("the scenario keeps them").swap_remove(1).arrive_ns;
        let handshake = (sent[1] - sent[0]) as f64 / 1e6;
        assert!((handshake - f64::from(is)).abs() < 1.0, "{recorded} ms: {handshake}");
    }
}
