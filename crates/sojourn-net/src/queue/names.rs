//! What others call a discipline: Linux's `tc`, routers, papers. A line that is copied from them works.
//!
//! Letters may be of either case and `_` stands for `-`, so `fq_codel` and `FQ-CoDel` are `fq-codel`. `pfifo` and
//! `bfifo` are `fifo` with a limit that counts packets, or bytes; they have the limits that Linux gives them on a
//! device whose `txqueuelen` is 1000.

use serde_json::{Map, Value};

use crate::Limit;
use crate::quote::quoted;

const ALIASES: [(&str, &str); 10] = [
    ("pfifo", "fifo"),
    ("bfifo", "fifo"),
    ("droptail", "fifo"),
    ("drop-tail", "fifo"),
    ("taildrop", "fifo"),
    ("tail-drop", "fifo"),
    ("fqcodel", "fq-codel"),
    ("fqpie", "fq-pie"),
    ("sfqcodel", "sfq-codel"),
    ("dual-pi2", "dualpi2"),
];

/// Gives a queue the name that results have for it, if it is written as others write it; `is_kind` knows these names.
pub(super) fn settle(given: &mut Map<String, Value>, is_kind: impl Fn(&str) -> bool) -> Result<(), String> {
    let Some(Value::String(written)) = given.get("kind") else { return Ok(()) };
    let name = written.to_ascii_lowercase().replace('_', "-");
    let kind = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, kind)| kind);
    if is_kind(kind) {
        let kind = kind.to_owned();
        match name.as_str() {
            "pfifo" => counted(given, "pfifo", Limit::Packets(1000))?,
            "bfifo" => counted(given, "bfifo", Limit::Bytes(1_514_000))?,
            _ => {}
        }
        given.insert("kind".to_owned(), kind.into());
    }
    Ok(())
}

/// Gives a queue that counts packets, or bytes, its limit if it has none, and refuses one of the other sort.
fn counted(given: &mut Map<String, Value>, name: &str, usual: Limit) -> Result<(), String> {
    let limit = given.entry("limit").or_insert_with(|| usual.to_string().into());
    let Some(limit) = limit.as_str().and_then(|text| text.parse::<Limit>().ok()) else { return Ok(()) };
    let (packets, bytes) = (matches!(usual, Limit::Packets(_)), matches!(limit, Limit::Bytes(_) | Limit::Time(_)));
    if packets == bytes && limit != Limit::Unlimited {
        let (counts, write) = if packets { ("packets", "64pkt") } else { ("bytes", "96kB") };
        let found = quoted(&limit.to_string());
        return Err(format!(
            "{name} counts {counts}, not {found}; write a limit such as \"{write}\", or kind = \"fifo\""
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::queue::QueueSpec;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<Value, String> {
        let queue: QueueSpec = serde_json::from_value(value).map_err(|error| error.to_string())?;
        Ok(serde_json::to_value(queue).unwrap())
    }

    #[test]
    fn other_names_are_the_same_queue() {
        for (written, kind) in [
            ("fq_codel", "fq-codel"),
            ("FQ-CoDel", "fq-codel"),
            ("fqcodel", "fq-codel"),
            ("fq_pie", "fq-pie"),
            ("PIE", "pie"),
            ("CoDel", "codel"),
            ("red", "red"),
            ("sfq", "sfq"),
            ("cake", "cake"),
            ("dualpi2", "dualpi2"),
            ("dual_pi2", "dualpi2"),
            ("pfifo", "fifo"),
            ("droptail", "fifo"),
            ("drop-tail", "fifo"),
            ("drop_tail", "fifo"),
            ("DropTail", "fifo"),
        ] {
            let named = |name: &str| read(json!({ "kind": name, "limit": "64pkt" })).unwrap();
            assert_eq!(named(written), named(kind), "{written}");
            assert_eq!(named(written)["kind"], kind);
        }
        assert_eq!(read(json!({ "kind": "bfifo", "limit": "96kB" })).unwrap()["kind"], "fifo");
        assert!(read(json!({ "kind": "fq_codle" })).unwrap_err().contains("unknown variant `fq_codle`"));
    }

    #[test]
    fn a_limit_that_is_left_out_is_linux_s() {
        for (kind, limit) in [
            ("codel", "1000pkt"),
            ("pie", "1000pkt"),
            ("fq_codel", "10240pkt"),
            ("fq_pie", "10240pkt"),
            ("dualpi2", "10000pkt"),
            ("netem", "1000pkt"),
            ("sfq", "127pkt"),
            ("pfifo", "1000pkt"),
            ("bfifo", "1514000B"),
        ] {
            let read = read(json!({ "kind": kind })).unwrap();
            let found: crate::Limit = read["limit"].as_str().unwrap().parse().unwrap();
            assert_eq!(found, limit.parse().unwrap(), "{kind}");
        }
        for kind in ["fifo", "droptail", "red"] {
            assert!(read(json!({ "kind": kind })).unwrap_err().contains("missing field `limit`"), "{kind}");
        }
    }

    #[test]
    fn a_fifo_of_packets_does_not_count_bytes() {
        for (kind, limit, said) in [
            ("pfifo", "96kB", "pfifo counts packets, not \"96kB\"; write a limit such as \"64pkt\""),
            ("pfifo", "100ms", "pfifo counts packets"),
            ("bfifo", "64pkt", "bfifo counts bytes, not \"64pkt\"; write a limit such as \"96kB\""),
            ("bfifo", "2BDP", "bfifo counts bytes"),
        ] {
            let error = read(json!({ "kind": kind, "limit": limit })).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        for (kind, limit) in [("pfifo", "64p"), ("pfifo", "1BDP"), ("bfifo", "100ms"), ("bfifo", "unlimited")] {
            read(json!({ "kind": kind, "limit": limit })).unwrap();
        }
    }
}
