//! Always the same level: no adaptation, for comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::with_defaults;

use super::range::{Wrong, count};
use super::rule::{Choice, Player, Segment, State};

with_defaults! {
    /// Options of the fixed level.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
    pub struct FixedOptions {
        /// The level, from 1.
        pub level: u32 = 1,
    }
}

impl FixedOptions {
    /// Checks ranges: the key and a sentence.
    pub(super) fn check(&self) -> Wrong {
        count("level", self.level, 100)
    }
}

/// A player that does not adapt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    /// The level; the highest if the clip has fewer.
    pub(super) level: usize,
}

impl Player for Fixed {
    fn segment_done(&mut self, _: &Segment) {}

    fn choose(&mut self, state: &State<'_>) -> Choice {
        Choice::at_once(self.level.min(state.clip.levels() - 1))
    }
}
