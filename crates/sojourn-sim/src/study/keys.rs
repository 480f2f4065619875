//! Dotted keys (`path.down.queue.limit`, `flows.0.count`, `path.hop.home.delay`) and the values that they name in a
//! study document. An entry of an array goes by its place or, if it has one, by its `name`.

use serde_json::{Map, Value};

use crate::scenario::Invalid;

/// Puts `value` in the place that `key` names; tables on the way are made, entries of arrays must exist.
pub(super) fn put(document: &mut Value, key: &[String], value: Value) -> Result<(), String> {
    let mut place = document;
    for (depth, name) in key.iter().enumerate() {
        let so_far = || key[..depth].join(".");
        place = match place {
            Value::Object(table) => {
                let next = key.get(depth + 1);
                if let Some(next) = next.filter(|next| !table.contains_key(name) && next.parse::<usize>().is_ok()) {
                    return Err(format!("{} is empty, so there is no {next} in it", key[..=depth].join(".")));
                }
                table.entry(name).or_insert_with(|| next.map_or(Value::Null, |_| Value::Object(Map::new())))
            }
            Value::Array(entries) => {
                let count = entries.len();
                let names: Vec<_> = entries.iter().filter_map(|entry| entry.get("name")?.as_str()).collect();
                let listed = if names.len() == count { format!(" ({})", names.join(", ")) } else { String::new() };
                place_of(entries, name).and_then(|i| entries.get_mut(i)).ok_or_else(|| match count {
                    0 => format!("{} is empty, so there is no {name} in it", so_far()),
                    _ => format!("{} has the entries 0 to {}{listed}, not {name}", so_far(), count - 1),
                })?
            }
            _ => return Err(format!("{} is a single value, so there is no {name} in it", so_far())),
        };
    }
    *place = value;
    Ok(())
}

/// Whether there is something in the place that `key` names.
pub(super) fn has(document: &Value, key: &[String]) -> bool {
    let mut place = Some(document);
    for name in key {
        place = match place {
            Some(Value::Array(entries)) => place_of(entries, name).and_then(|i| entries.get(i)),
            Some(other) => other.get(name),
            None => None,
        };
    }
    place.is_some()
}

/// The place of an entry by its number or its name.
fn place_of(entries: &[Value], name: &str) -> Option<usize> {
    let named = |entry: &Value| entry.get("name").is_some_and(|own| own == name);
    name.parse().ok().or_else(|| entries.iter().position(named))
}

/// Splits a dotted key.
pub(super) fn split(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// Makes a document plain: axes that were written as nested tables (`path.down.rate = […]` without quotes) get their
/// dotted names, dates become text, and numbers that JSON does not have are refused.
pub(super) fn make_plain(document: &mut Value) -> Result<(), Invalid> {
    plain_values(document, &mut Vec::new())?;
    if let Some(sweep) = document.get_mut("sweep") {
        flatten(sweep);
    }
    for tie in document.get_mut("tie").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(set) = tie.get_mut("set") {
            flatten(set);
        }
    }
    Ok(())
}

fn plain_values(value: &mut Value, at: &mut Vec<String>) -> Result<(), Invalid> {
    match value {
        Value::Null => Err(Invalid::new(at.join("."), "is not a finite number")),
        Value::Array(entries) => entries.iter_mut().enumerate().try_for_each(|(i, entry)| {
            at.push(i.to_string());
            plain_values(entry, at)?;
            at.pop();
            Ok(())
        }),
        Value::Object(table) => {
            if let Some(Value::String(date)) = table.get("$__toml_private_datetime") {
                *value = Value::String(date.clone());
                return Ok(());
            }
            table.iter_mut().try_for_each(|(key, entry)| {
                at.push(key.clone());
                plain_values(entry, at)?;
                at.pop();
                Ok(())
            })
        }
        _ => Ok(()),
    }
}

/// Joins the keys of nested tables with dots.
fn flatten(value: &mut Value) {
    fn collect(prefix: &str, table: Map<String, Value>, flat: &mut Map<String, Value>) {
        for (key, value) in table {
            let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
            match value {
                Value::Object(inner) if !inner.is_empty() => collect(&key, inner, flat),
                value => drop(flat.insert(key, value)),
            }
        }
    }
    if let Value::Object(table) = value {
        let mut flat = Map::new();
        collect("", std::mem::take(table), &mut flat);
        *table = flat;
    }
}
