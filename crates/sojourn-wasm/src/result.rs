//! The bytes of a result, as `sojourn run` stores them: the name of the point, the result, and its SHA-256.
//!
//! Differences: none. Numbers are written as Python writes them (shortest digits; an exponent of two digits below 1e-4
//! and from 1e16 on), since it is Python that stores what a run gives.

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Serializer, Value};
use sha2::{Digest, Sha256};
use sojourn_sim::stats::Summary;
use sojourn_sim::study::Point;
use std::io;

/// The name of a point: 32 hexadecimal digits, of all that decides its result. `text` is the point as JSON.
pub(crate) fn point_hash(text: &str, format: u32, build: &str) -> Result<String, String> {
    let mut point: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let identity = serde_json::json!({
        "document": point["document"].take(),
        "seed": point["seed"],
        "replication": point["replication"],
        "format": format,
        "engine": build,
    });
    let mut hash = sha256(written(&sorted(identity))?.as_bytes());
    hash.truncate(32);
    Ok(hash)
}

/// The text of the result's file.
pub(crate) fn stored(
    hash: &str,
    point: &Point,
    summary: &Summary,
    scores: Map<String, Value>,
    build: &str,
) -> Result<String, String> {
    let mut result = Map::new();
    result.insert("hash".into(), hash.into());
    result.insert("study".into(), point.study.clone().into());
    result.insert("point".into(), Value::Object(point.point.clone()));
    result.insert("replication".into(), point.replication.into());
    let Ok(Value::Object(mut summary)) = serde_json::to_value(summary) else {
        return Err("a summary is no object".into());
    };
    let counts = summary.shift_remove("engine");
    result.extend(summary);
    result.extend(scores);
    let mut engine = Map::new();
    engine.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    engine.insert("build".into(), build.into());
    if let Some(Value::Object(counts)) = counts {
        engine.extend(counts.into_iter().filter(|(name, _)| name != "wall_s"));
    }
    result.insert("engine".into(), Value::Object(engine));
    let text = written(&Value::Object(result))?;
    let text = &text[..text.len() - 1];
    Ok(format!("{text},\"sha256\":\"{}\"}}\n", sha256(text.as_bytes())))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn written(value: &Value) -> Result<String, String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Repr)).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// JSON without spaces, numbers as Python's `repr` writes them.
struct Repr;

impl Formatter for Repr {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(repr(value).as_bytes())
    }
}

fn repr(value: f64) -> String {
    let shortest = format!("{value:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => {
            let plain = format!("{value}");
            if plain.contains('.') { plain } else { format!("{plain}.0") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (2.75e-7, "2.75e-07"),
            (123_456_789.0, "123456789.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
        ] {
            assert_eq!(repr(value), expected);
        }
    }

    #[test]
    fn the_name_of_a_point_does_not_depend_on_the_order_of_keys() {
        let one = point_hash(r#"{"seed": 1, "replication": 0, "document": {"b": 1, "a": [0.5]}}"#, 2, "x").unwrap();
        let other = point_hash(r#"{"document": {"a": [0.5], "b": 1}, "replication": 0, "seed": 1}"#, 2, "x").unwrap();
        assert_eq!((one.len(), &one), (32, &other));
        assert_ne!(one, point_hash(r#"{"seed": 2, "replication": 0, "document": {}}"#, 2, "x").unwrap());
    }
}
