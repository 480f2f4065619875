//! Driving controllers: rounds, wrong input, and any events at all.

use super::*;
use events::{MOST_NS, MOST_SEGMENTS};
use proptest::prelude::*;
use serde_json::json;

fn driven(setup: &serde_json::Value, events: &serde_json::Value) -> Result<Vec<Row>, String> {
    let mut all = json!({ "mss": "1000B", "cwnd": 10, "seed": 1 });
    all.as_object_mut().expect("a table").extend(setup.as_object().expect("a table").clone());
    drive(&all.to_string(), &events.to_string())
}

#[test]
fn a_round_is_a_window_unless_an_event_says_so() {
    let ack =
        |round: serde_json::Value| json!({ "event": "ack", "at": 0, "delivered": 1, "marked": 1, "round": round });
    let alphas = |rounds: [serde_json::Value; 4]| -> Vec<f64> {
        let rows = driven(&json!({ "kind": "dctcp", "state": { "alpha": 512 } }), &json!(rounds.map(ack)));
        rows.expect("they are right").iter().map(|row| row.state["alpha"]).collect()
    };
    assert_eq!(alphas([true.into(), true.into(), false.into(), true.into()]), [544.0, 574.0, 574.0, 603.0]);
    let none = serde_json::Value::Null;
    assert_eq!(
        alphas([none.clone(), none.clone(), none.clone(), none]),
        [544.0; 4],
        "the first ends the one before all"
    );
}

#[test]
fn wrong_input_is_told_in_a_sentence() {
    let ok = json!([]);
    for (setup, events, want) in [
        (
            json!({ "kind": "vegas" }),
            &ok,
            "\"vegas\" is not a congestion controller; write one of reno, newreno, cubic,",
        ),
        (json!({ "kind": "udp" }), &ok, "udp has no congestion controller"),
        (
            json!({ "kind": "reno", "state": { "w_max": 1 } }),
            &ok,
            "reno has no variable w_max that can be set; it has cwnd",
        ),
        (
            json!({ "kind": "ledbat", "state": { "ssthresh": 1 } }),
            &ok,
            "ledbat has no variable ssthresh that can be set; it has cwnd",
        ),
        (json!({ "kind": "reno", "state": { "cwnd": -1.0 } }), &ok, "cwnd = -1: a variable must be 0 to 1e12"),
        (json!({ "kind": "reno" }), &json!([{ "event": "ack" }]), "event 0: missing field `at`"),
        (json!({ "kind": "reno" }), &json!([{ "event": "nack", "at": 0 }]), "event 0: unknown variant `nack`"),
        (
            json!({ "kind": "reno" }),
            &json!([{ "event": "ack", "at": 0, "delivered": 2, "marked": "2001B" }]),
            "event 0: 2001 bytes are marked of 2000 delivered; write as many at most",
        ),
        (
            json!({ "kind": "reno" }),
            &json!([{ "event": "loss", "at": 0.5 }]),
            "event 0: invalid type: floating point `0.5`",
        ),
        (
            json!({ "kind": "reno" }),
            &json!([{ "event": "loss", "at": "5 parsecs" }]),
            "event 0: \"5 parsecs\" is not a time",
        ),
        (
            json!({ "kind": "reno" }),
            &json!([{ "event": "loss", "at": 5 }, { "event": "loss", "at": 4 }]),
            "event 1: it is at 4 ns, before the one at 5 ns; events must be in order",
        ),
    ] {
        let error = driven(&setup, events).expect_err("it is wrong");
        assert!(error.starts_with(want), "{error}");
        assert!(!want.starts_with("ledbat") || error == want, "{error}");
    }
}

#[test]
fn every_controller_takes_every_event() {
    let text = kind("?").expect_err("no such controller");
    let (_, names) = text.split_once("one of ").expect("it lists them");
    assert_eq!(names.split(", ").count(), KINDS.len(), "{names}");
    let events = json!([
        { "event": "ack", "at": "100ms", "delivered": 2, "rtt": "100ms", "one_way": "50ms", "marked": 1, "rate": "8Mbit" },
        { "event": "mark", "at": "110ms" },
        { "event": "loss", "at": "200ms", "in_flight": "9000B" },
        { "event": "ack", "at": "250ms", "delivered": 1.5, "lost": 1, "recovering": true, "left_in_flight": 5 },
        { "event": "recovered", "at": "300ms" },
        { "event": "timeout", "at": "1s" },
        { "event": "recovered", "at": "1s" },
        { "event": "idle", "at": "3s", "restart": 10 },
        { "event": "ack", "at": "20s", "delivered": 1, "rtt": "20s", "app_limited": true },
    ]);
    for name in names.split(", ") {
        let rows = driven(&json!({ "kind": name, "state": { "cwnd": 20.0 } }), &events).expect("they are right");
        assert_eq!(rows.len(), 9);
        assert!(rows.iter().all(|row| row.cwnd.is_finite() && row.window > 0), "{name}: {rows:?}");
    }
}

const KINDS: [&str; 16] = [
    "reno",
    "newreno",
    "bic",
    "cubic",
    "cubic-rfc9438",
    "cubic-ns2",
    "compound",
    "compound-ns2",
    "ledbat",
    "ledbat++",
    "ledbat-ns2",
    "utp",
    "bbr",
    "bbr3",
    "dctcp",
    "prague",
];

const VARIABLES: [&str; 14] = [
    "ssthresh",
    "counted",
    "w_max",
    "cwnd_prior",
    "dwnd",
    "base_delay",
    "counter",
    "alpha",
    "rounds",
    "bw",
    "max_bw",
    "min_rtt",
    "inflight_hi",
    "inflight_lo",
];

fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.001..4.0, 1.0..1e4, Just(MOST_SEGMENTS)]
}

fn moment() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..1_000_000u64, 1_000_000..1_000_000_000u64, Just(MOST_NS)]
}

fn event() -> impl Strategy<Value = serde_json::Value> {
    let what = prop_oneof![6 => Just("ack"), 1 => Just("loss"), 1 => Just("mark"), 1 => Just("timeout"), 1 => Just("recovered")];
    let times = (moment(), moment(), proptest::option::of(moment()));
    let amounts = (amount(), amount(), amount(), amount());
    let flags = (any::<bool>(), any::<bool>(), proptest::option::of(any::<bool>()));
    (what, 0..2_000_000_000u64, times, amounts, flags).prop_map(|(what, gap, times, amounts, flags)| {
        let (rtt, one_way, srtt) = times;
        let (delivered, in_flight, marked, lost) = amounts;
        let (app_limited, recovering, round) = flags;
        match what {
            "ack" => json!({
                "event": "ack", "at": gap, "delivered": delivered, "rtt": rtt, "one_way": one_way, "srtt": srtt,
                "in_flight": in_flight, "marked": marked.min(delivered), "lost": lost, "app_limited": app_limited,
                "recovering": recovering, "round": round,
            }),
            "recovered" => json!({ "event": what, "at": gap }),
            _ => json!({ "event": what, "at": gap, "in_flight": in_flight }),
        }
    })
}

proptest! {
    #[test]
    fn no_events_make_a_controller_panic(
        kind in 0..KINDS.len(),
        cwnd in 1.0..1e5,
        hystart in 0..3usize,
        name in proptest::sample::select(&VARIABLES[..]),
        value in prop_oneof![Just(0.0), 0.0..2.0, 1.0..1e6, Just(MOST_VALUE)],
        events in proptest::collection::vec(event(), 0..80),
    ) {
        let mut now = 0;
        let events: Vec<_> = events
            .into_iter()
            .map(|mut event| {
                now += event["at"].as_u64().expect("a time");
                event["at"] = now.into();
                event
            })
            .collect();
        let hystart = ["none", "linux", "rfc9406"][hystart];
        let setup = json!({ "kind": KINDS[kind], "cwnd": cwnd, "hystart": hystart, "state": { name: value } });
        let rows = match driven(&setup, &json!(events)) {
            Ok(rows) => rows,
            Err(text) => {
                prop_assert!(text.contains("has no variable"), "{}", text);
                return Ok(());
            }
        };
        prop_assert!(rows.iter().all(|row| row.cwnd.is_finite() && row.cwnd >= 0.0 && row.window > 0), "{:?}", rows.last());
    }
}
