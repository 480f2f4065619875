//! Reading documents into their types.
//!
//! Whatever the text was (TOML of a study file, JSON of a point), it becomes a [`Value`] first, and types are read from
//! that alone: each of the schema's many types is then compiled for one reader instead of for each that a library has.

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
        let key: Vec<String> = track.path().iter().filter_map(name).collect();
        Invalid::new(key.join("."), plain(&error.to_string()))
    })
}

/// The message without the name of a type of ours.
fn plain(message: &str) -> String {
    match message.split_once(", expected struct ") {
        Some((found, _)) => format!("{found}, expected a table"),
        None => message.to_owned(),
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

    #[test]
    fn an_error_has_its_key() {
        let (key, message) = wrong(json!({ "rows": [{ "length": 1 }, { "length": "x" }] }));
        assert_eq!((key.as_str(), message.as_str()), ("rows.1.length", "invalid type: string \"x\", expected u8"));
        assert_eq!(wrong(json!({ "rows": [{}] })).0, "rows.0");
        assert_eq!(wrong(json!({ "rows": [{ "width": 1 }] })).0, "rows.0.width");
        assert_eq!(wrong(json!({ "columns": 1 })).0, "columns");
        assert_eq!(wrong(json!(3)), (String::new(), "invalid type: integer `3`, expected a table".to_owned()));
        assert_eq!(wrong(json!({ "rows": ["x"] })).1, "invalid type: string \"x\", expected a table");
    }

    #[test]
    fn json_that_is_none_says_where() {
        assert!(from_json::<Outer>("{\"rows\": [").unwrap_err().contains("line 1 column"));
        assert_eq!(from_json::<Outer>("{}").unwrap().rows.len(), 0);
    }
}
