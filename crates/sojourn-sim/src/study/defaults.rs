//! `[defaults.flows]`: keys that every entry of `[[flows]]` and `[[workload.X]]` takes unless it has them itself.
//!
//! TCP's keys pass by the entries with `transport = "udp"`, to which they mean nothing. Entries take keys whole: one
//! that has a `source` takes nothing of the default one.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// The keys of a group of flows that are not TCP's.
const NOT_OF_TCP: [&str; 11] =
    ["name", "source", "transport", "direction", "count", "rtt", "start-within", "start", "stop", "over", "access"];

/// Puts the defaults of a document in their places and removes them.
pub(super) fn take(document: &mut Value) {
    let Some(Value::Object(table)) = document.as_object_mut().and_then(|table| table.shift_remove("defaults")) else {
        return;
    };
    let Some(Value::Object(given)) = table.get("flows") else { return };
    let workloads =
        |document: &mut Value| document.get_mut("workload").and_then(Value::as_object_mut).map(std::mem::take);
    let mut all = workloads(document).unwrap_or_default();
    let lists = all.values_mut().chain(document.get_mut("flows"));
    for entry in lists.filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut) {
        let udp = entry.get("transport").or(given.get("transport")).and_then(Value::as_str) == Some("udp");
        for (key, value) in given.iter().filter(|(key, _)| !udp || NOT_OF_TCP.contains(&key.as_str())) {
            entry.entry(key).or_insert_with(|| value.clone());
        }
    }
    if let Some(place) = document.get_mut("workload").filter(|place| place.is_object()) {
        *place = Value::Object(all);
    }
}

/// The same in a file, for errors that name the line; the defaults stay to be read, too.
pub(super) fn take_in_file(file: &mut DeTable<'_>) {
    let defaults = file.get("defaults").and_then(|value| value.get_ref().get("flows"));
    let Some(DeValue::Table(given)) = defaults.map(|value| value.get_ref().clone()) else { return };
    for (name, value) in file.iter_mut() {
        let lists: Vec<&mut DeValue<'_>> = match (name.get_ref().as_ref(), value.get_mut()) {
            ("flows", list) => vec![list],
            ("workload", DeValue::Table(all)) => all.iter_mut().map(|(_, list)| list.get_mut()).collect(),
            _ => Vec::new(),
        };
        for list in lists {
            let DeValue::Array(entries) = list else { continue };
            for entry in entries.iter_mut() {
                let DeValue::Table(entry) = entry.get_mut() else { continue };
                let transport = entry.get("transport").or(given.get("transport"));
                let udp = transport.and_then(|value| value.get_ref().as_str()) == Some("udp");
                for (key, value) in given.iter().filter(|(key, _)| !udp || NOT_OF_TCP.contains(&key.get_ref().as_ref()))
                {
                    if !entry.contains_key(key.get_ref().as_ref()) {
                        entry.insert(key.clone(), value.clone());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::study::{StudyText, parse, points};
    use serde_json::{Value, json};

    const STUDY: &str = r#"name = "own"
duration = "9s"
[path]
rtt = "40ms"
down = { rate = "2Mbit", queue = { kind = "fifo", limit = "9pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }
[defaults.flows]
source = { kind = "sessions", preset = "imc14" }
transport = "cubic"
direction = "down"
initial-window = 3
[[flows]]
source = { kind = "bulk" }
initial-window = 4
[[flows]]
source = { kind = "cbr", rate = "1Mbit", size = "200B" }
transport = "udp"
[[workload.many]]
count = 9
"#;

    fn read(text: &str, sets: &[(&str, &str)]) -> Result<Value, String> {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let document = parse(&[StudyText { name: "own.toml", text }], &sets).map_err(|error| error.to_string())?;
        points(&document).map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&document).unwrap())
    }

    #[test]
    fn entries_take_the_keys_that_they_lack() {
        let found = read(STUDY, &[]).unwrap();
        let bulk =
            json!({ "source": { "kind": "bulk" }, "initial-window": 4, "transport": "cubic", "direction": "down" });
        assert_eq!(found["flows"][0], bulk, "a source is taken whole or not at all");
        let probes = json!({ "source": { "kind": "cbr", "rate": "1Mbit", "size": "200B" }, "transport": "udp", "direction": "down" });
        assert_eq!(found["flows"][1], probes, "TCP's keys mean nothing to UDP");
        assert_eq!(found["workload"]["many"][0]["initial-window"], 3);
        assert_eq!(found["workload"]["many"][0]["source"]["preset"], "imc14");
        assert!(found.get("defaults").is_none(), "what is stored says everything itself");
    }

    #[test]
    fn probes_take_all_keys_that_are_not_of_tcp() {
        let of_all = "count = 3\nrtt = '80ms'\nstart-within = '2s'\nstart = '3s'\nstop = '8s'\nover = ['down']\naccess = { rate = '9Mbit' }\ninitial-window = 3\n";
        let text = STUDY.replace("initial-window = 3\n", of_all);
        let mut found: Value = toml::from_str(&text).unwrap();
        super::take(&mut found);
        let probes = json!({
            "source": { "kind": "cbr", "rate": "1Mbit", "size": "200B" }, "transport": "udp", "direction": "down",
            "count": 3, "rtt": "80ms", "start-within": "2s", "start": "3s", "stop": "8s",
            "over": ["down"], "access": { "rate": "9Mbit" },
        });
        assert_eq!(found["flows"][1], probes);
        assert_eq!((&found["flows"][0]["over"], &found["flows"][0]["count"]), (&json!(["down"]), &json!(3)));
    }

    #[test]
    fn a_default_can_be_set() {
        let found = read(STUDY, &[("defaults.flows.initial-window", "7")]).unwrap();
        assert_eq!(found["workload"]["many"][0]["initial-window"], 7);
        assert_eq!(found["flows"][0]["initial-window"], 4);
        let found = read(STUDY, &[("flows.0.initial-window", "8"), ("workload.many.0.mss", "\"500B\"")]).unwrap();
        assert_eq!(
            (&found["flows"][0]["initial-window"], &found["workload"]["many"][0]["mss"]),
            (&json!(8), &json!("500B"))
        );
    }

    #[test]
    fn a_key_inside_a_default_can_be_set_for_one_entry() {
        let found = read(STUDY, &[("workload.many.0.source.closed-loop", "true")]).unwrap();
        let source = json!({ "kind": "sessions", "preset": "imc14", "closed-loop": true });
        assert_eq!(found["workload"]["many"][0]["source"], source);
        let found = read(STUDY, &[("workload.many", "[{ count = 2 }]")]).unwrap();
        assert_eq!(found["workload"]["many"][0]["transport"], "cubic", "an entry that is set takes the defaults, too");
        assert!(found.get("defaults").is_none());
    }

    #[test]
    fn a_wrong_default_is_shown_in_its_place() {
        for (from, to, wanted) in [
            ("initial-window = 3", "initial-widow = 3", "own.toml:11:1: unknown field `initial-widow`"),
            ("\"cubic\"", "\"cubi\"", "own.toml:9:14: unknown variant `cubi`"),
            ("initial-window = 3", "initial-window = 0", "own.toml:11:18: workload.many.0.initial-window: "),
            ("[defaults.flows]", "[defaults.flow]", "own.toml:7:11: unknown field `flow`, expected `flows`"),
            ("[defaults.flows]", "[defaults.flows.x]", "own.toml:"),
        ] {
            let error = read(&STUDY.replacen(from, to, 1), &[]).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
