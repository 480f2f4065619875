//! What stands in the files that a study names.

use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Reads the text of a file, where it was filled in.
pub(super) fn filled_in<'de, T: FromStr<Err = String>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<T>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map(Arc::new).map_err(D::Error::custom)).transpose()
}
