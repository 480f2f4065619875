//! What users of a study are owed, and how often its points are run to tell whether they get it.
//!
//! The engine only checks goals; the report judges them, and `repeat = "auto"` runs until each verdict is certain.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::Error;
use sojourn_net::quote::short;
use sojourn_net::{read_as, refuse_if};

use crate::scenario::Invalid;

use super::threshold::Threshold;

/// A limit that a value of the results must keep.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(dead_code, reason = "the report reads it from the document")]
pub struct Goal {
    /// What the report calls it; by default the value's name.
    pub name: Option<String>,
    /// The value, as `run --json` names it: `voice.talks.mos.p5`, `links.up.queue_delay_ms.p95`. A goal has this and a
    /// limit, or `threshold`.
    pub value: Option<String>,
    /// A threshold that operators quote, by name, in place of a value and its limit.
    threshold: Option<Threshold>,
    /// The value is good from here upwards. A goal about a value has this or `at-most`.
    pub at_least: Option<f64>,
    /// The value is good up to here.
    pub at_most: Option<f64>,
    /// Confidence of a verdict that is called certain, 0.95 if absent.
    #[serde(default = "confident")]
    #[schemars(range(min = 0.5, max = 0.9999))]
    pub confidence: f64,
}

fn confident() -> f64 {
    0.95
}

impl Goal {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let limits = usize::from(self.at_least.is_some()) + usize::from(self.at_most.is_some());
        if self.threshold.is_some() {
            let own = self.value.is_some() || limits > 0;
            refuse_if!(own, "threshold", "has its own value and limit; write two goals");
        } else {
            let nothing = self.value.as_deref().is_none_or(str::is_empty);
            refuse_if!(nothing, "value", "must name a value of the results, as in \"voice.talks.mos.p5\"");
            let empty = self.name.as_deref().is_some_and(|name| name.trim().is_empty());
            refuse_if!(empty, "name", "is empty; leave it out, or say what the goal is called");
            refuse_if!(limits > 1, "at-most", "a goal has at-least or at-most, not both; write two goals");
            refuse_if!(limits == 0, "at-least", "is missing: a goal has at-least or at-most, as in at-least = 3.6");
        }
        let share = self.confidence;
        let known = (0.5..=0.9999).contains(&share);
        refuse_if!(!known, "confidence", "{share} is not a confidence; write a share from 0.5 to 0.9999");
        Ok(())
    }
}

/// How often every point is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// So many times.
    Times(u32),
    /// Until every verdict is certain, or so often as `repeat-at-most` says.
    Auto,
}

impl Repeat {
    /// Replications with which `auto` begins: the fewest from which a spread can be told.
    const FIRST: u32 = 3;

    /// Replications that are known before anything has run.
    pub(super) fn first(self, at_most: u32) -> u32 {
        match self {
            Self::Times(times) => times,
            Self::Auto => at_most.min(Self::FIRST),
        }
    }

    /// The most replications that there can be.
    pub(super) fn most(self, at_most: u32) -> u32 {
        if let Self::Times(times) = self { times } else { at_most }
    }
}

read_as! {
    Repeat, "a number of replications, as in 3, or \"auto\"";

    fn visit_u64<E: Error>(self, number: u64) -> Result<Repeat, E> {
        let times = u32::try_from(number).ok().filter(|times| *times > 0);
        times.map(Repeat::Times).ok_or_else(|| match number {
            0 => E::custom("must be at least 1"),
            _ => E::custom(format!("{number} replications are too many; expected at most {}", u32::MAX)),
        })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Repeat, E> {
        let number = u64::try_from(number).map_err(|_| E::custom("must be at least 1"))?;
        self.visit_u64(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Repeat, E> {
        let refused = || E::custom(format!("{} is not a number of replications, nor \"auto\"", short(text)));
        if text == "auto" { Ok(Repeat::Auto) } else { Err(refused()) }
    }
}

impl JsonSchema for Repeat {
    fn schema_name() -> Cow<'static, str> {
        "Repeat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1, "maximum": u32::MAX }, { "const": "auto" }] })
    }
}

#[cfg(test)]
mod tests {
    use crate::study::{StudyText, parse, points};

    const STUDY: &str = "name = 'own'\nduration = '9s'\n[path]\nrtt = '40ms'\n\
        down = { rate = '2Mbit', queue = { kind = 'fifo', limit = '9pkt' } }\n\
        up = { rate = '1Mbit', queue = { kind = 'fifo', limit = '9pkt' } }\n";

    fn count(before: &str, after: &str) -> Result<usize, String> {
        let text = format!("{before}{STUDY}{after}");
        let document = parse(&[StudyText { name: "own.toml", text: &text }], &[]).map_err(|error| error.to_string())?;
        points(&document).map(|points| points.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn replications_are_a_number_or_begin_with_three() {
        for (keys, replications) in [
            ("", 1),
            ("repeat = 7\n", 7),
            ("repeat = 'auto'\n", 3),
            ("repeat = 'auto'\nrepeat-at-most = 2\n", 2),
            ("repeat = 4\nrepeat-at-most = 2\n", 4),
        ] {
            assert_eq!(count(keys, ""), Ok(replications), "{keys}");
        }
    }

    #[test]
    fn what_is_no_number_of_replications_is_refused() {
        for (keys, wanted) in [
            ("repeat = 0\n", "own.toml:1:10: must be at least 1"),
            ("repeat = -1\n", "own.toml:1:10: must be at least 1"),
            ("repeat = 'often'\n", "own.toml:1:10: often is not a number of replications, nor \"auto\""),
            ("repeat = 1.5\n", "own.toml:1:10: invalid type: number `1.5`, expected a number of replications"),
            ("repeat = 'auto'\nrepeat-at-most = 1\n", "own.toml:2:18: repeat-at-most: must be at least 2"),
            ("repeat = 'auto'\nrepeat-at-most = 2000000\n", "make more than 1000000 points"),
        ] {
            let error = count(keys, "").unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_goal_has_one_limit_and_a_confidence() {
        let goal = |keys: &str| count("", &format!("[[goals]]\nvalue = 'links.up.loss'\n{keys}\n"));
        assert_eq!(goal("at-most = 1"), Ok(1));
        assert_eq!(count("", "[[goals]]\nthreshold = 'bufferbloat-a'\n"), Ok(1));
        let both = goal("threshold = 'bufferbloat-a'").unwrap_err();
        assert!(both.contains("goals.0.threshold: has its own value and limit"), "{both}");
        let unknown = count("", "[[goals]]\nthreshold = 'bufferbloat-e'\n").unwrap_err();
        assert!(unknown.contains("\"bufferbloat-e\" is no threshold that is known by name; those are bufferbloat-a,"));
        assert_eq!(goal("at-least = 0.5\nconfidence = 0.9\nname = 'mine'"), Ok(1));
        for (keys, wanted) in [
            ("", "a goal has at-least or at-most, as in at-least = 3.6"),
            ("at-most = 1\nat-least = 1", "own.toml:9:11: goals.0.at-most: a goal has at-least or at-most, not both"),
            ("at-most = 1\nconfidence = 95", "own.toml:10:14: goals.0.confidence: 95 is not a confidence"),
            ("at-most = 1\nname = ' '", "goals.0.name: is empty"),
            ("atmost = 1", "unknown field `atmost`"),
            ("at-most = 'x'", "own.toml:9:11: invalid type: string \"x\", expected a number"),
        ] {
            let error = goal(keys).unwrap_err();
            assert!(error.contains(wanted), "{keys}: {error}");
        }
        let error = count("", "[[goals]]\nvalue = ''\nat-most = 1\n").unwrap_err();
        assert!(error.contains("goals.0.value: must name a value"), "{error}");
    }
}
