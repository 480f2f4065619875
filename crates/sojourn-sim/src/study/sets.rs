//! Keys replaced from the command line: `--set path.down.rate=8Mbit`.
//!
//! A value is read as TOML if it is that (`5`, `true`, `["8pkt", "64pkt"]`), else as text (`8Mbit`).

use serde_json::Value;
use sojourn_net::quote::{printable, short};

use super::check::check;
use super::{excerpt, keys};

/// The document with every set applied, checked; the error names the set.
pub(super) fn apply(document: Value, sets: &[(String, String)]) -> Result<Value, String> {
    let mut changed = document.clone();
    for (key, value) in sets {
        put(&mut changed, key, value).map_err(|message| printable(&format!("{}: {message}", shown(key, value))))?;
    }
    let finish = |mut document: Value| {
        keys::make_plain(&mut document)?;
        check(&document).map(|()| document)
    };
    finish(changed).map_err(|invalid| {
        // Whose fault is it? The first that is wrong on its own, else all together.
        let alone = sets.iter().find_map(|(key, value)| {
            let mut document = document.clone();
            put(&mut document, key, value).ok()?;
            Some((shown(key, value), finish(document).err()?))
        });
        let all = || sets.iter().map(|(key, value)| shown(key, value)).collect::<Vec<_>>().join(" ");
        let (set, invalid) = alone.unwrap_or_else(|| (all(), invalid));
        printable(&format!("{set}: {}", excerpt::suggest(&invalid.sentence())))
    })
}

/// A set as it was given, cut.
fn shown(key: &str, value: &str) -> String {
    format!("--set {}", short(&format!("{key}={value}")))
}

/// Puts one value in its place.
fn put(document: &mut Value, key: &str, value: &str) -> Result<(), String> {
    let path = path_of(key)?;
    if let Some(axis) = swept(document, &path.join(".")) {
        return Err(format!(
            "the key is swept or tied, so the value would be replaced in every point; set sweep.{axis}, or choose points with --only"
        ));
    }
    keys::put(document, &path, value_of(value))
}

/// The parts of a key; the name of an axis or of a tied key, which has dots of its own, is one part.
fn path_of(key: &str) -> Result<Vec<String>, String> {
    let wrong = || "this is not a key; write names with dots between, as in path.down.rate".to_owned();
    let mut table: toml::Table = toml::from_str(&format!("{key} = 0")).map_err(|_| wrong())?;
    let mut path = Vec::new();
    while let Some((name, value)) = std::mem::take(&mut table).into_iter().next() {
        path.push(name);
        match value {
            toml::Value::Table(inner) => table = inner,
            toml::Value::Integer(0) if !key.contains(['\n', '#', '=']) => {
                if path[0] == "sweep" && path.len() > 2 {
                    path = vec!["sweep".to_owned(), path[1..].join(".")];
                }
                return Ok(path);
            }
            _ => break,
        }
    }
    Err(wrong())
}

/// The axis that already gives a key its values, if any.
fn swept(document: &Value, key: &str) -> Option<String> {
    let meets = |other: &str| {
        let within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        within(key, other)
    };
    let sweep = document.get("sweep").and_then(Value::as_object);
    if let Some(axis) = sweep.and_then(|sweep| sweep.keys().find(|axis| *axis != "workload" && meets(axis))) {
        return Some(axis.clone());
    }
    let ties = document.get("tie").and_then(Value::as_array);
    let tie = ties?
        .iter()
        .find(|tie| tie.get("set").and_then(Value::as_object).is_some_and(|set| set.keys().any(|key| meets(key))))?;
    tie.get("with").and_then(Value::as_str).map(str::to_owned)
}

/// The value: TOML if it is that, else text.
fn value_of(text: &str) -> Value {
    let table: Option<serde_json::Map<String, Value>> = toml::from_str(&format!("value = {text}")).ok();
    match table {
        Some(mut table) if table.len() == 1 => table.swap_remove("value"),
        _ => None,
    }
    .unwrap_or_else(|| Value::String(text.to_owned()))
}
