//! Reading documents into their types.
//!
//! Whatever the text was (TOML of a study file, JSON of a point), it becomes a [`Value`] first, and types are read from
//! that alone: each of the schema's many types is then compiled for one reader instead of for each that a library has.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Segment, Track};

use crate::scenario::Invalid;

/// Reads a value into its type; an error has the dotted key that it is about, as far as it is known: inside of tables
/// that are told apart by their `kind` it is that of the table.
pub fn read<T: DeserializeOwned>(document: &Value) -> Result<T, Invalid> {
    let mut track = Track::new();
    let tracked = serde_path_to_error::Deserializer::new(document, &mut track);
    T::deserialize(tracked).map_err(|error| {
        let name = |segment: &Segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        let path = track.path();
        let key: Vec<String> = path.iter().filter_map(name).collect();
        let message = plain(&error.to_string());
        let message = if is_table_for_name(at(document, path.iter()), &message) {
            message.split_once(", expected ").map_or(message.clone(), |(_, names)| format!("{TABLE}, expected {names}"))
        } else {
            message
        };
        Invalid::new(key.join("."), message)
    })
}

/// What is said of a table that stands for a name.
const TABLE: &str = "invalid type: table";

/// The value that a path leads to.
fn at<'v, 's>(document: &'v Value, mut path: impl Iterator<Item = &'s Segment>) -> Option<&'v Value> {
    path.try_fold(document, |value, segment| match segment {
        Segment::Seq { index } => value.get(index),
        Segment::Map { key } => value.get(key),
        Segment::Enum { .. } | Segment::Unknown => Some(value),
    })
}

/// Whether a table stands where a name is expected: its key was then read as the name.
fn is_table_for_name(value: Option<&Value>, message: &str) -> bool {
    let unknown = message.strip_prefix("unknown variant `").and_then(|rest| rest.split('`').next());
    value.and_then(Value::as_object).zip(unknown).is_some_and(|(table, name)| table.contains_key(name))
}

/// A reader's message in the words of who writes a file: no type of ours or of Rust's.
pub fn plain(message: &str) -> String {
    let Some((found, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    let found = found.replace("type: sequence", "type: list").replace("type: map", "type: table");
    let found = found.replace("type: floating point", "type: number");
    let whole = |most: u64| format!("a whole number from 0 to {most}");
    let expected = match expected {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => "a whole number from 0".to_owned(),
        "i64" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "fewer elements in array" => "a shorter list".to_owned(),
        "variant identifier" => "a name in quotes".to_owned(),
        "string or map" => "a name in quotes".to_owned(),
        // A table of one key is read as a name with something inside, which no name of a study has.
        "map with a single key" | "unit" => return format!("{TABLE}, expected a name in quotes"),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => match other.strip_prefix("a tuple of size ") {
            Some(size) => format!("a list of {size} values"),
            None => other.to_owned(),
        },
    };
    format!("{found}, expected {expected}")
}

/// Writes a type; keys that have no value are left out.
///
/// # Errors
/// A sentence, if it cannot be a document.
pub(crate) fn written(found: &impl Serialize) -> Result<Value, String> {
    let mut document = serde_json::to_value(found).map_err(|error| error.to_string())?;
    leave_out_nulls(&mut document);
    Ok(document)
}

fn leave_out_nulls(document: &mut Value) {
    match document {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(leave_out_nulls);
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_nulls),
        _ => {}
    }
}

/// Reads JSON into a type; the error is a sentence without a key.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    read(&document).map_err(|invalid| invalid.message)
}

/// Reads data that ships with the engine, as TOML.
pub(crate) fn shipped<T: DeserializeOwned>(text: &str) -> T {
    let document: Value = toml::from_str(text).expect("what ships is TOML");
    read(&document).expect("what ships is right")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(default)]
        rows: Vec<Row>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        #[allow(dead_code)]
        length: u8,
    }

    fn wrong(document: Value) -> (String, String) {
        let Invalid { key, message } = read::<Outer>(&document).unwrap_err();
        (key, message)
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One {},
    }

    #[test]
    fn an_error_has_its_key() {
        let (key, message) = wrong(json!({ "rows": [{ "length": 1 }, { "length": "x" }] }));
        assert_eq!(
            (key.as_str(), message.as_str()),
            ("rows.1.length", "invalid type: string \"x\", expected a whole number from 0 to 255")
        );
        assert_eq!(wrong(json!({ "rows": [{}] })).0, "rows.0");
        assert_eq!(wrong(json!({ "rows": [{ "width": 1 }] })).0, "rows.0.width");
        assert_eq!(wrong(json!({ "columns": 1 })).0, "columns");
        assert_eq!(wrong(json!(3)), (String::new(), "invalid type: integer `3`, expected a table".to_owned()));
        assert_eq!(wrong(json!({ "rows": ["x"] })).1, "invalid type: string \"x\", expected a table");
    }

    #[test]
    fn a_message_has_no_type_of_the_language() {
        let told = |document: Value, expected: &str| match expected {
            "pair" => read::<Vec<(u8, u8)>>(&document).unwrap_err().message,
            "number" => read::<f64>(&document).unwrap_err().message,
            "flag" => read::<bool>(&document).unwrap_err().message,
            _ => read::<u64>(&document).unwrap_err().message,
        };
        assert_eq!(told(json!([[1]]), "pair"), "invalid length 1, expected a list of 2 values");
        assert_eq!(told(json!([[1, 2, 3]]), "pair"), "invalid length 3, expected a shorter list");
        assert_eq!(told(json!([{ "at": 1 }]), "pair"), "invalid type: table, expected a list of 2 values");
        assert_eq!(told(json!(1), "pair"), "invalid type: integer `1`, expected a list");
        assert_eq!(
            told(json!([[1, 300]]), "pair"),
            "invalid value: integer `300`, expected a whole number from 0 to 255"
        );
        assert_eq!(told(json!([1]), "number"), "invalid type: list, expected a number");
        assert_eq!(told(json!(0), "flag"), "invalid type: integer `0`, expected true or false");
        assert_eq!(told(json!(1.5), "count"), "invalid type: number `1.5`, expected a whole number from 0");
        assert!(matches!(read(&json!({ "kind": "One" })), Ok(Tagged::One {})));
        assert_eq!(
            read::<Tagged>(&json!({ "kind": [] })).unwrap_err().message,
            "invalid type: list, expected a name in quotes"
        );
    }

    #[test]
    fn a_table_for_a_name_is_called_a_table() {
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Named {
            One,
            Two,
        }
        let wrong = |value: Value| read::<Vec<Named>>(&json!([value])).unwrap_err().message;
        let (table, name) = ("invalid type: table, expected", "a name in quotes");
        assert_eq!(wrong(json!({})), format!("{table} {name}"));
        assert_eq!(wrong(json!({ "one": 1, "two": 2 })), format!("{table} {name}"));
        assert_eq!(wrong(json!({ "one": 1 })), format!("{table} {name}"));
        assert_eq!(wrong(json!({ "kind": "one" })), format!("{table} `one` or `two`"));
        assert_eq!(wrong(json!(1)), format!("invalid type: integer `1`, expected {name}"));
        assert_eq!(wrong(json!("on")), "unknown variant `on`, expected `one` or `two`");
        assert!(matches!(read::<Vec<Named>>(&json!(["one", "two"])).unwrap()[..], [Named::One, Named::Two]));
        assert!(matches!(read(&json!({ "kind": "One" })), Ok(Tagged::One {})));
        assert_eq!(
            read::<Tagged>(&json!({ "kind": "Two" })).unwrap_err().message,
            "unknown variant `Two`, expected `One`"
        );
    }

    #[test]
    fn json_that_is_none_says_where() {
        assert!(from_json::<Outer>("{\"rows\": [").unwrap_err().contains("line 1 column"));
        assert_eq!(from_json::<Outer>("{}").unwrap().rows.len(), 0);
    }
}
