//! Study files: errors that point at the place, expansion in order, documents that stay the same under renaming.

use proptest::prelude::*;
use serde_json::{Value, json};
use sojourn_sim::study::{self, Point, StudyError, StudyText, points, schema};

const STUDY: &str = r#"
name     = "small"
duration = "20s"
repeat   = 2

[path]
client-delay = "5ms"
server-delay = "20ms"
down = { rate = "16Mbit", queue = { kind = "fifo", limit = "64pkt" } }
up   = { rate = "1Mbit", queue = { kind = "fifo", limit = "64pkt" } }

[[workload.long]]
source    = { kind = "bulk" }
transport = "cubic"
direction = "down"
count     = 8

[[users]]
kind  = "voice"
codec = "g711a"

[sweep]
workload = ["none", "long"]
"path.down.queue.limit" = ["8pkt", "64pkt", "256pkt"]

[[tie]]
with = "path.down.queue.limit"
set  = { "path.up.queue.limit" = ["8pkt", "64pkt", "256pkt"] }

[[figures]]
kind  = "heatmap"
x     = "path.down.queue.limit"
y     = "workload"
value = "voice.talks.mos.median"
"#;

fn parse(text: &str, name: &str, sets: &[(String, String)]) -> Result<String, StudyError> {
    study::parse(&[StudyText { name, text }], sets)
}

fn expand(text: &str) -> Vec<Point> {
    let document = parse(text, "study.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    points(&document).unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn error(text: &str) -> String {
    parse(text, "study.toml", &[]).expect_err("this study is wrong").to_string()
}

pub(crate) fn error_with(from: &str, to: &str) -> String {
    assert!(STUDY.contains(from), "{from}");
    error(&STUDY.replacen(from, to, 1))
}

#[test]
fn an_error_is_said_of_the_value_tied_to_a_workload_and_of_an_axis_where_it_is_wrong() {
    let tie = "[[tie]]\nwith = \"workload\"\nset  = { \"path.up.rate\" = [\"1Mbit\", \"fast\"] }\n\n[[figures]]";
    let said = error_with("[[figures]]", tie);
    assert!(said.contains("tie.1.set.path.up.rate.1: \"fast\""), "{said}");
    let said = error_with("\"8pkt\", \"64pkt\", \"256pkt\"]\n\n", "\"pkt\", \"64pkt\", \"256pkt\"]\n\n");
    assert!(said.contains("sweep.path.down.queue.limit.0: \"pkt\""), "{said}");
}

fn set(pairs: &[(&str, &str)]) -> Result<Value, String> {
    let sets: Vec<_> = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    parse(STUDY, "study.toml", &sets)
        .map(|text| serde_json::from_str(&text).unwrap())
        .map_err(|error| error.to_string())
}

#[test]
fn points_come_in_study_order() {
    let points = expand(STUDY);
    let labels: Vec<_> = points
        .iter()
        .map(|point| {
            let label = |axis: &str| point.point[axis].as_str().unwrap().to_owned();
            (label("workload"), label("path.down.queue.limit"), point.replication)
        })
        .collect();
    assert_eq!(labels.len(), 12);
    assert_eq!(labels[0], ("none".to_owned(), "8pkt".to_owned(), 0));
    assert_eq!(labels[1], ("none".to_owned(), "8pkt".to_owned(), 1));
    assert_eq!(labels[2], ("none".to_owned(), "64pkt".to_owned(), 0));
    assert_eq!(labels[11], ("long".to_owned(), "256pkt".to_owned(), 1));
    let last = &points[11].document;
    assert_eq!(last.path.hops[0].up.queue.limit(), last.path.hops[0].down.queue.limit());
    assert_eq!(last.flows[0].name.as_deref(), Some("workload-0"));
    assert_eq!(last.users[0].name(), Some("users-0"));
    assert!(points[0].document.flows.is_empty());
}

#[test]
fn a_scenario_is_complete_and_reads_back_as_itself() {
    let point = &expand(STUDY)[6];
    let document = serde_json::to_value(&point.document).unwrap();
    assert_eq!(document["flows"][0]["mss"], "1448B");
    assert_eq!(document["flows"][0]["initial-window"], 10);
    assert_eq!(document["users"][0]["playout"], json!({"kind": "adaptive"}));
    assert_eq!(document["users"][0]["delay-model"], "half_rtt");
    assert_eq!(document["warmup"], "0s");
    let again: sojourn_sim::scenario::Scenario = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(again, point.document);
    assert_eq!(serde_json::to_value(&again).unwrap(), document);
}

#[test]
fn what_does_not_change_the_simulation_does_not_change_the_document() {
    let before: Vec<_> = expand(STUDY).into_iter().map(|point| point.document).collect();
    for (from, to) in [
        ("name     = \"small\"", "name = \"other\"\ndescription = \"text\""),
        ("workload.long]", "workload.renamed]"),
        ("[\"none\", \"long\"]", "[\"none\", \"long\"]\n\"path.client-delay\" = [\"5ms\"]"),
        ("\"20s\"", "\"20000ms\""),
        ("\"1Mbit\"", "\"1000kbit\""),
        ("client-delay = \"5ms\"", "client-delay = \"5ms\"\nrtt = \"50ms\""),
        ("kind = \"fifo\", limit = \"64pkt\" } }\nup", "kind = \"fifo\", limit = \"8pkt\", drop = \"tail\" } }\nup"),
        ("count     = 8", "count = 8\nmss = 1448\nsack = true"),
        ("codec = \"g711a\"", "codec = \"g711a\"\nscore = \"auto\""),
    ] {
        let mut text = STUDY.replacen(from, to, 1);
        if to.contains("renamed") {
            text = text.replace("\"none\", \"long\"", "\"none\", \"renamed\"");
        }
        assert_ne!(text, STUDY, "{from}");
        let after: Vec<_> = expand(&text).into_iter().map(|point| point.document).collect();
        assert_eq!(before, after, "{to}");
    }
}

#[test]
fn errors_show_the_place() {
    insta::assert_snapshot!(error_with("\"16Mbit\"", "\"16Mbps\""), @r#"
    study.toml:9:18: "16Mbps" is not a rate: Mbps is megabits to some tools and megabytes to others; write "16Mbit"
      |
    9 | down = { rate = "16Mbps", queue = { kind = "fifo", limit = "64pkt" } }
      |                  ^^^^^^
    "#);
    insta::assert_snapshot!(error_with("kind = \"fifo\"", "kind = \"fofi\""), @r#"
    study.toml:9:45: unknown variant `fofi`, expected one of `fifo`, `netem`, `codel`, `fq-codel`, `cobalt`, `cake`, `sfq-codel`, `pie`, `fq-pie`, `dualpi2`, `red`, `policer`, `sfq`; did you mean `fifo`?
      |
    9 | down = { rate = "16Mbit", queue = { kind = "fofi", limit = "64pkt" } }
      |                                             ^^^^
    "#);
    insta::assert_snapshot!(error_with("limit = \"64pkt\"", "limt = \"64pkt\""), @r#"
    study.toml:9:52: unknown field `limt`, expected one of `limit`, `drop`; did you mean `limit`?
      |
    9 | down = { rate = "16Mbit", queue = { kind = "fifo", limt = "64pkt" } }
      |                                                    ^^^^
    "#);
    insta::assert_snapshot!(error_with("count     = 8", "cuont     = 8"), @r#"
    study.toml:16:1: unknown field `cuont`, expected one of `name`, `source`, `transport`, `direction`, `count`, `rtt`, `start-within`, `start`, `stop`, `over`, `access`, `mss` and 22 more; did you mean `count`?
       |
    16 | cuont     = 8
       | ^^^^^
    "#);
    insta::assert_snapshot!(error_with("codec = \"g711a\"", "codex = \"g711a\""), @r#"
    study.toml:20:1: unknown field `codex`, expected one of `name`, `over`, `codec`, `opus`, `direction`, `count`, `call`, `gap`, `talk-spurts`, `playout`, `delay-model`, `score` and 4 more; did you mean `codec`?
       |
    20 | codex = "g711a"
       | ^^^^^
    "#);
    insta::assert_snapshot!(error_with("\"64pkt\", \"256pkt\"]\n\n[[tie", "\"64pakets\", \"256pkt\"]\n\n[[tie"), @r#"
    study.toml:24:36: sweep.path.down.queue.limit.1: "64pakets" is not a limit: "pakets" is not a unit of it; write packets ("64pkt"), bytes ("96kB"), time at the link's rate ("100ms"), bandwidth-delay products ("2BDP"), or "unlimited"
       |
    24 | "path.down.queue.limit" = ["8pkt", "64pakets", "256pkt"]
       |                                    ^^^^^^^^^^
    "#);
    insta::assert_snapshot!(error_with("\"256pkt\"] }", "\"256pakets\"] }"), @r#"
    study.toml:28:52: tie.0.set.path.up.queue.limit.2: "256pakets" is not a limit: "pakets" is not a unit of it; write packets ("64pkt"), bytes ("96kB"), time at the link's rate ("100ms"), bandwidth-delay products ("2BDP"), or "unlimited"
       |
    28 | set  = { "path.up.queue.limit" = ["8pkt", "64pkt", "256pakets"] }
       |                                                    ^^^^^^^^^^^
    "#);
    insta::assert_snapshot!(error_with("[\"8pkt\", \"64pkt\", \"256pkt\"] }", "[\"8pkt\"] }"), @r#"
    study.toml:28:34: tie.0.set.path.up.queue.limit: 1 values are tied to the axis path.down.queue.limit, which has 3; give one for each
       |
    28 | set  = { "path.up.queue.limit" = ["8pkt"] }
       |                                  ^^^^^^^^
    "#);
    insta::assert_snapshot!(error_with("with = \"path.down", "with = \"path.dwon"), @r#"
    study.toml:27:8: tie.0.with: "path.dwon.queue.limit" is not an axis; the sweep has the axes workload, path.down.queue.limit
       |
    27 | with = "path.dwon.queue.limit"
       |        ^^^^^^^^^^^^^^^^^^^^^^^
    "#);
    insta::assert_snapshot!(error_with("workload = [\"none\", \"long\"]", "\"users.0.cuont\" = [1, 2]"), @r#"
    study.toml:23:20: sweep.users.0.cuont.0: unknown field `cuont`, expected one of `name`, `over`, `codec`, `opus`, `direction`, `count`, `call`, `gap`, `talk-spurts`, `playout`, `delay-model`, `score` and 4 more; did you mean `count`?
       |
    23 | "users.0.cuont" = [1, 2]
       |                    ^
    "#);
    insta::assert_snapshot!(error_with("y     = \"workload\"", "y     = \"load\""), @r#"
    study.toml:33:9: figures.0.y: "load" is not an axis; the sweep has the axes workload, path.down.queue.limit
       |
    33 | y     = "load"
       |         ^^^^^^
    "#);
    insta::assert_snapshot!(error_with("\"cubic\"", "\"udp\""), @r#"
    study.toml:14:13: workload.long.0.transport: a bulk source needs TCP to pace it; write reno, newreno or cubic, not udp
       |
    14 | transport = "udp"
       |             ^^^^^
    "#);
    insta::assert_snapshot!(error_with("[path]", "[path"), @r#"
    study.toml:6:6: unclosed table, expected `]`
      |
    6 | [path
      |      ^
    "#);
}

#[test]
fn a_value_of_another_type_is_shown_where_it_stands_in_its_table() {
    let red = |keys: &str| error_with("\"fifo\", limit", &format!("\"red\", {keys}, limit"));
    insta::assert_snapshot!(red("min = \"9pkt\""), @r#"
    study.toml:9:58: invalid type: string "9pkt", expected a number
      |
    9 | down = { rate = "16Mbit", queue = { kind = "red", min = "9pkt", limit = "64pkt" } }
      |                                                          ^^^^
    "#);
    insta::assert_snapshot!(error_with("codec = \"g711a\"", "call = \"10s\"\ncount = -1"), @r#"
    study.toml:21:9: invalid value: integer `-1`, expected a whole number from 0 to 4294967295
       |
    21 | count = -1
       |         ^^
    "#);
    // Which of two it is, nobody knows: the table.
    insta::assert_snapshot!(red("min = \"9pkt\", max = \"9pkt\""), @r#"
    study.toml:9:35: invalid type: string "9pkt", expected a number
      |
    9 | down = { rate = "16Mbit", queue = { kind = "red", min = "9pkt", max = "9pkt", limit = "64pkt" } }
      |                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    for (from, to, says) in [
        ("\"20s\"", "\"20s\"\nwarmup = \"20s\"", "leaves nothing"),
        ("\"20s\"", "\"0s\"", "longer than zero"),
        ("repeat   = 2", "repeat = 0", "at least 1"),
        ("repeat   = 2", "repeat = 4000000000", "more than 1000000 points"),
        ("name     = \"small\"", "name = \"a/b\"", "is not a name"),
        ("client-delay = \"5ms\"", "client-delay = \"5ms\"\nrtt = \"60ms\"", "disagrees with the delays"),
        ("client-delay = \"5ms\"", "", "give client-delay and server-delay, or rtt"),
        ("rate = \"1Mbit\",", "rate = \"1Mbit\", loss = 1.0,", "share of packets"),
        ("rate = \"1Mbit\",", "rate = \"1Mbit\", loss = nan,", "not a finite number"),
        (
            "rate = \"1Mbit\", queue = { kind = \"fifo\", limit = \"64pkt\"",
            "rate = \"unlimited\", queue = { kind = \"fifo\", limit = \"1BDP\"",
            "needs a rate",
        ),
        ("kind = \"fifo\"", "kind = \"codel\", variant = \"ns2_2013\", ecn = true", "cannot mark"),
        ("kind = \"fifo\"", "kind = \"codel\", ce-threshold = \"1ms\"", "take linux or ns3"),
        ("kind = \"fifo\"", "kind = \"cobalt\", interval = \"1ns\"", "too short"),
        ("kind = \"fifo\"", "kind = \"fq-codel\", flows = 0", "1 to 65536"),
        ("kind = \"fifo\"", "kind = \"sfq-codel\", quantum = \"63B\"", "too small"),
        ("kind = \"fifo\"", "kind = \"fq-codel\", quantum = \"1B\"", "too small"),
        ("\"1Mbit\"", "{ steps = [[\"1s\", \"1Mbit\"]] }", "must be from \"0s\""),
        ("\"1Mbit\"", "{ steps = [[\"0s\", \"1Mbit\"], [\"2s\", \"2Mbit\"]], repeat = \"1s\" }", "after the last step"),
        ("count     = 8", "count = 0", "at least 1"),
        ("count     = 8", "mss = \"9B\"", "not a segment size"),
        ("count     = 8", "initial-window = 0", "initial window"),
        ("{ kind = \"bulk\" }", "{ kind = \"sessions\" }", "sessions need sizes"),
        ("{ kind = \"bulk\" }", "{ kind = \"cbr\", rate = \"1Mbit\", size = 200 }", "transport = \"udp\""),
        ("workload.long]", "workload.none]", "the name is taken"),
        ("[\"none\", \"long\"]", "[]", "has no values"),
        ("[\"none\", \"long\"]", "\"long\"", "must be an array"),
        ("[\"none\", \"long\"]", "[\"none\", \"lnog\"]", "is not a workload; this study has long, none"),
        ("[\"none\", \"long\"]", "[\"none\", \"none\"]", "twice"),
        ("workload = [\"none\", \"long\"]", "workload = [\"none\"]\nrepeat = [1, 2]", "no axis can change \"repeat\""),
        ("workload = [\"none\", \"long\"]", "workload = [\"none\"]\n\"flows.0.count\" = [1]", "flows is empty"),
        ("workload = [\"none\", \"long\"]", "workload = [\"none\"]\n\"duration.x\" = [1]", "single value"),
        ("workload = [\"none\", \"long\"]", "workload = [\"none\"]\n\"users.1.count\" = [1]", "entries 0 to 0"),
        ("set  = { \"path.up.queue.limit\"", "set  = { \"workload\"", "is an axis itself"),
        (
            "\"256pkt\"] }",
            "\"256pkt\", \"9pkt\"] }",
            "4 values are tied to the axis path.down.queue.limit, which has 3",
        ),
        ("value = \"voice", "only = { workload = [\"lnog\"] }\nvalue = \"voice", "is not a label of the axis"),
        (
            "codec = \"g711a\"",
            "codec = \"g711a\"\nname = \"x\"\n[[users]]\nkind = \"web\"\nname = \"x\"",
            "names must differ",
        ),
        ("codec = \"g711a\"", "codec = \"g711a\"\n[[users]]\nkind = \"web\"\nplt-min = \"7s\"", "below plt-max"),
    ] {
        let error = error_with(from, to);
        assert!(error.contains(says), "{to}: {error}");
        assert!(error.starts_with("study.toml:"), "{error}");
    }
}

#[test]
fn sets_replace_keys() {
    assert_eq!(set(&[("path.down.rate", "8Mbit")]).unwrap()["path"]["down"]["rate"], "8Mbit");
    assert_eq!(set(&[("users.0.count", "3")]).unwrap()["users"][0]["count"], 3);
    assert_eq!(set(&[("warmup", "1s"), ("duration", "2s")]).unwrap()["warmup"], "1s");
    assert_eq!(set(&[("sweep.workload", "[\"long\"]")]).unwrap()["sweep"]["workload"], json!(["long"]));
    let limits = "[\"8pkt\", \"16pkt\", \"32pkt\"]";
    for key in ["sweep.path.down.queue.limit", "sweep.\"path.down.queue.limit\""] {
        assert_eq!(set(&[(key, limits)]).unwrap()["sweep"]["path.down.queue.limit"][1], "16pkt");
    }
}

#[test]
fn wrong_sets_are_named() {
    let message = |pairs: &[(&str, &str)]| set(pairs).unwrap_err();
    assert_eq!(
        message(&[("path.down.rate", "8Mbps")]),
        "study.toml: --set path.down.rate=8Mbps: \"8Mbps\" is not a rate: \
         Mbps is megabits to some tools and megabytes to others; write \"8Mbit\""
    );
    assert!(
        message(&[("repeat", "1"), ("pth.down.rate", "8Mbit")]).contains("pth.down.rate=8Mbit: unknown field `pth`")
    );
    assert!(message(&[("path.dwon.rate", "8Mbit")]).contains("did you mean `down`?"));
    assert!(message(&[("path.down.queue.limit", "8pkt")]).contains("set sweep.path.down.queue.limit"));
    assert!(message(&[("path.up.queue.limit", "8pkt")]).contains("is swept or tied"));
    assert!(message(&[("warmup", "30s"), ("seed", "2")]).contains("--set warmup=30s: warmup: a warm-up of 30s"));
    for key in ["", "=", "a b", "path.", "x = 1\ny", "seed # "] {
        assert!(message(&[(key, "1")]).contains("not a key"), "{key:?}");
    }
}

#[test]
fn the_presets_of_sessions_are_written_out() {
    let with = |source: &str| {
        let document = parse(&STUDY.replace("{ kind = \"bulk\" }", source), "study.toml", &[]).unwrap();
        let point: Value = serde_json::from_str(&points(&document).unwrap()[6]).unwrap();
        point["document"]["flows"][0]["source"].clone()
    };
    let preset = with("{ kind = \"sessions\", preset = \"imc14\" }");
    assert_eq!(preset["sizes"], json!({"kind": "weibull", "shape": 0.35, "scale": "10039B"}));
    assert_eq!(preset["interconnection"], json!({"kind": "exponential", "mean": "500ms"}));
    assert!(preset.get("preset").is_none());
    let printed = with("{ kind = \"sessions\", preset = \"imc14-as-printed\", sizes = \"50kB\" }");
    assert_eq!(printed["interconnection"]["mean"], "2s");
    assert_eq!(printed["sizes"], json!({"kind": "fixed", "value": "50kB"}));
}

#[test]
fn whole_tables_can_be_axes() {
    let text = STUDY.replace(
        "workload = [\"none\", \"long\"]",
        "\"path.up.queue\" = [{ kind = \"fifo\", limit = \"9pkt\" }, { kind = \"fifo\", limit = \"10pkt\" }]",
    );
    let text = text.replace("y     = \"workload\"", "y = \"path.up.queue\"");
    let points = expand(&text);
    assert_eq!(points[0].point["path.up.queue"], "fifo limit=9pkt");
    let text = text.replace("{ kind = \"fifo\", limit = \"10pkt\" }", "{ kind = \"codel\", limit = \"9pkt\" }");
    assert_eq!(expand(&text)[0].point["path.up.queue"], "fifo");
}

#[test]
fn the_schema_names_every_key() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    for key in ["extends", "defaults", "name", "path", "flows", "users", "workload", "sweep", "tie", "figures"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
    // A study that extends another may lack what the other has, an entry of flows what is among the defaults.
    assert_eq!(schema["anyOf"], json!([{ "required": ["name", "duration", "path"] }, { "required": ["extends"] }]));
    assert!(schema.get("required").or(schema["$defs"]["Flows"].get("required")).is_none());
    assert_eq!(schema["$defs"]["Defaults"]["properties"]["flows"]["$ref"], "#/$defs/Flows");
    let text = schema.to_string();
    for key in ["initial-window", "client-delay", "plt-min", "interconnection", "published-where", "half_rtt"] {
        assert!(text.contains(key), "{key}");
    }
}

/// A shipped study with the texts that it extends.
fn shipped(path: &std::path::Path) -> Vec<(String, String)> {
    let (mut path, mut chain) = (path.to_owned(), Vec::new());
    loop {
        let (name, text) = (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        let extended = study::extends(StudyText { name: &name, text: &text }).unwrap();
        chain.push((name, text));
        match extended {
            Some(name) => path = path.with_file_name(name),
            None => return chain,
        }
    }
}

#[test]
fn published_studies_parse() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let mut extending = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let chain = shipped(&path);
            extending += usize::from(chain.len() > 1);
            let texts: Vec<_> = chain.iter().map(|(name, text)| StudyText { name, text }).collect();
            let document = study::parse(&texts, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(!points(&document).unwrap().is_empty());
            let plain: Value = serde_json::from_str(&document).unwrap();
            assert!(plain.get("extends").or(plain.get("defaults")).is_none(), "{path:?}");
        }
    }
    assert!(extending >= 10);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = parse(&text, "study.toml", &[]);
        let _ = points(&text);
    }

    #[test]
    fn damaged_studies_never_panic(at in 0..STUDY.len(), length in 0..20_usize, with in "\\PC{0,4}|[\\[\\]{}=\"'.,\\n]{0,4}") {
        let (start, end) = (at, (at + length).min(STUDY.len()));
        let text = format!("{}{with}{}", &STUDY[..start], &STUDY[end..]);
        if let Ok(document) = parse(&text, "study.toml", &[]) {
            prop_assume!(document.len() < 10_000);
            points(&document).expect("a document that was parsed expands");
        }
    }

    #[test]
    fn arbitrary_sets_never_panic(key in "\\PC{0,20}|(path|users|sweep|tie|flows|workload)(\\.[a-z0-9-]{1,8}){0,3}", value in "\\PC{0,20}|[0-9]{1,20}[a-zA-Z]{0,4}") {
        let _ = parse(STUDY, "study.toml", &[(key, value)]);
    }
}
