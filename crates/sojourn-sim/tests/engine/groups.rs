//! Groups of flows: what they add up to, and that each gets its own.

use serde_json::{Value, json};
use sojourn_sim::run;
use sojourn_sim::scenario::Scenario;

fn result(document: Value) -> Value {
    let scenario: Scenario = serde_json::from_value(document).expect("the test's own scenario");
    scenario.check().expect("the test's own scenario");
    serde_json::to_value(run(&scenario, 3, 0, &mut |_| true).expect("nobody stops it").summary).unwrap()
}

fn link(rate: &str, limit: &str) -> Value {
    json!({ "rate": rate, "queue": { "kind": "fifo", "limit": limit } })
}

fn bulk(name: &str, transport: &str, direction: &str, count: u32) -> Value {
    json!({ "name": name, "source": { "kind": "bulk" }, "transport": transport, "direction": direction, "count": count })
}

/// Everything at once, all of it lossy: both directions, long and short connections, UDP of two kinds.
fn crowd(warmup: &str, users: &Value) -> Value {
    let mut down = link("6Mbit", "20pkt");
    down["loss"] = 0.004.into();
    result(json!({
        "duration": "14s",
        "warmup": warmup,
        "path": { "rtt": "40ms", "down": down, "up": link("2Mbit", "12pkt") },
        "flows": [
            bulk("long", "cubic", "down", 3),
            bulk("back", "bbr", "up", 2),
            { "name": "short", "source": { "kind": "sessions", "preset": "imc14" }, "transport": "reno", "direction": "down",
              "count": 6, "rtt": "90ms" },
            { "name": "paced", "source": { "kind": "poisson", "rate": "400kbit", "size": "300B" }, "transport": "udp",
              "direction": "up", "count": 2 },
            { "name": "film", "source": { "kind": "cbr", "rate": "1Mbit", "size": "1000B" }, "transport": "udp",
              "direction": "down" },
        ],
        "users": users,
    }))
}

fn sum(result: &Value, keys: &[&str], wanted: impl Fn(&Value) -> bool) -> f64 {
    let number = |group: &Value| keys.iter().fold(group, |at, key| &at[*key]).as_f64().unwrap_or(0.0);
    result["groups"].as_object().unwrap().values().filter(|group| wanted(group)).map(number).sum()
}

fn close(ours: f64, all: &Value) {
    let all = all.as_f64().unwrap();
    assert!((ours - all).abs() <= 1e-6 * all.abs(), "the groups have {ours}, all together {all}");
}

#[test]
fn groups_add_up_to_the_totals_of_flows_and_links() {
    for warmup in ["0s", "5s"] {
        let found = crowd(warmup, &json!([]));
        let tcp = |group: &Value| group["transport"] != "udp";
        for key in ["goodput_bps", "retransmits", "timeouts", "completed"] {
            assert!(found["flows"][key].as_f64().unwrap() > 0.0, "{key} happens");
            close(sum(&found, &[key], tcp), &found["flows"][key]);
        }
        for (way, other) in [("down", "up"), ("up", "down")] {
            let [own, against] = [way, other].map(|way| move |group: &Value| group["direction"] == way);
            for (ours, links) in [("sent_pkts", "arrived_pkts"), ("dropped_pkts", "dropped_pkts")] {
                let packets = sum(&found, &[ours], own) + sum(&found, &["reverse", ours], against);
                assert!(packets > 0.0, "{ours} {way}");
                close(packets, &found["links"][way][links]);
            }
            close(sum(&found, &["share"], own), &json!(1.0));
        }
    }
}

#[test]
fn users_belong_to_no_group_and_change_no_sum() {
    let found = crowd("5s", &json!([{ "kind": "voice", "codec": "g711a", "call": "2s" }, { "kind": "web" }]));
    assert_eq!(found["groups"].as_object().unwrap().len(), 5);
    close(sum(&found, &["goodput_bps"], |group| group["transport"] != "udp"), &found["flows"]["goodput_bps"]);
    let sent = sum(&found, &["sent_pkts"], |group| group["direction"] == "down");
    assert!(sent < found["links"]["down"]["arrived_pkts"].as_f64().unwrap(), "the users' packets are at the link too");
}

#[test]
fn a_group_of_datagrams_has_the_rate_that_arrived_and_the_loss_of_its_own() {
    let found = result(json!({
        "duration": "41s", "warmup": "1s",
        "path": { "rtt": "20ms", "down": link("1Mbit", "10pkt"), "up": link("1Mbit", "10pkt") },
        "flows": [{ "name": "flood", "source": { "kind": "cbr", "rate": "2Mbit", "size": "1028B" }, "transport": "udp",
                    "direction": "down", "start-within": "0s" }],
    }));
    let flood = &found["groups"]["flood"];
    let near = |value: &Value, wanted: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / wanted - 1.0).abs() < 0.01, "{value} is not near {wanted}");
    };
    // Twice the rate of the link: half is lost, and of 1028 bytes 1000 are payload.
    near(&flood["loss"], 0.5);
    near(&flood["goodput_bps"], 1e6 * 1000.0 / 1028.0);
    assert_eq!((&flood["share"], &flood["jain"], flood.get("rtt_ms")), (&json!(1.0), &json!(1.0), None));
}

#[test]
fn round_trips_are_the_base_and_what_the_queue_adds_and_the_warm_up_is_left_out() {
    let of = |warmup: &str| {
        result(json!({
            "duration": "20s", "warmup": warmup,
            "path": { "rtt": "40ms", "down": link("10Mbit", "200pkt"), "up": link("100Mbit", "1000pkt") },
            "flows": [bulk("near", "cubic", "down", 1),
                      { "name": "far", "source": { "kind": "bulk", "size": "6kB" }, "transport": "cubic", "direction": "down",
                        "rtt": "200ms", "start-within": "0s" }],
        }))
    };
    let (whole, later) = (of("0s"), of("10s"));
    let near = &later["groups"]["near"];
    let (rtt, queue) =
        (near["rtt_ms"]["p50"].as_f64().unwrap(), later["links"]["down"]["queue_delay_ms"]["p50"].as_f64().unwrap());
    assert!(queue > 40.0 && (rtt - 40.0 - queue).abs() < 0.1 * queue, "{rtt} ms, of which the queue is {queue}");
    assert_eq!((&near["base_rtt_ms"], &later["groups"]["far"]["base_rtt_ms"]), (&json!(40.0), &json!(200.0)));
    // The short transfer is over before the warm-up is: nothing of it is left.
    let far = &later["groups"]["far"];
    assert_eq!((far.get("rtt_ms"), &far["jain"], &far["loss"]), (None, &Value::Null, &Value::Null));
    assert_eq!((&far["goodput_bps"], &far["share"], &far["completed"]), (&json!(0.0), &json!(0.0), &json!(0)));
    assert_eq!(whole["groups"]["far"]["completed"], json!(1));
    assert!(whole["groups"]["far"]["rtt_ms"]["mean"].as_f64().unwrap() >= 200.0);
}

#[test]
fn flows_that_share_evenly_have_an_index_near_one_and_a_starved_group_pulls_it_down() {
    let found = result(json!({
        "duration": "40s", "warmup": "10s",
        "path": { "rtt": "40ms", "down": link("20Mbit", "25pkt"), "up": link("20Mbit", "100pkt") },
        "flows": [bulk("bbr", "bbr", "down", 4), bulk("ledbat", "ledbat++", "down", 4)],
    }));
    let jain = |value: &Value| value["jain"].as_f64().unwrap();
    let [bbr, ledbat] = ["bbr", "ledbat"].map(|name| &found["groups"][name]);
    assert!(jain(bbr) > 0.9, "{bbr}");
    assert!(bbr["share"].as_f64().unwrap() > 0.8, "{bbr} {ledbat}");
    let all = &found["fairness"]["down"];
    assert!(all["flows"] == 8 && jain(all) < 0.7, "{all}");
    assert!(found["fairness"].get("up").is_none());
}
