//! A player written in Python, as a study names it. Whoever runs the study makes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::quote::quoted;

use super::range::Wrong;

/// A player written in Python.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PythonPlayer {
    /// `module:Class`.
    pub class: String,
    /// Keyword arguments of the class.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub options: serde_json::Map<String, serde_json::Value>,
}

impl PythonPlayer {
    /// Checks ranges: the key and a sentence.
    pub(super) fn check(&self) -> Wrong {
        match self.class.split_once(':') {
            Some((module, class)) if !module.is_empty() && !class.is_empty() => Ok(()),
            _ => Err(("class", format!("{}: expected \"module:Class\"", quoted(&self.class)))),
        }
    }
}
