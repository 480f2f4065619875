//! A study file and those that it extends, merged into one table whose values know their places in the files.
//!
//! Every text is read behind as many line ends as the texts before it have characters. So a place is unique among all
//! files, and an error of a merged table is shown in the file that it comes from.

use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::schema::StudyFile;
use super::{defaults, excerpt, keys, stand_in};
use crate::document;
use crate::scenario::Invalid;

/// A study file's name and text.
#[derive(Clone, Copy, Debug)]
pub struct StudyText<'t> {
    /// What errors call it.
    pub name: &'t str,
    /// TOML.
    pub text: &'t str,
}

/// A text behind line ends that take the places of those before it.
pub(super) struct Padded<'t> {
    name: &'t str,
    text: String,
    from: usize,
}

/// Texts at places of their own.
pub(super) fn padded<'t>(chain: &[StudyText<'t>]) -> Vec<Padded<'t>> {
    let mut from = 0;
    let place = |file: &StudyText<'t>| {
        let padded = file.padded(from);
        from = padded.text.len() + 1;
        padded
    };
    chain.iter().map(place).collect()
}

impl<'t> StudyText<'t> {
    pub(super) fn padded(&self, from: usize) -> Padded<'t> {
        Padded { name: self.name, text: "\n".repeat(from) + self.text, from }
    }
}

/// A study file, what it extends merged in, and the places of all values.
pub(super) struct Files<'t> {
    chain: &'t [Padded<'t>],
    table: Spanned<DeTable<'t>>,
}

impl<'t> Files<'t> {
    /// Reads the file, and those that it extends after it; an error is a message with its place.
    pub(super) fn new(chain: &'t [Padded<'t>]) -> Result<Self, String> {
        let mut merged: Option<Spanned<DeTable<'t>>> = None;
        for file in chain.iter().rev() {
            let read = DeTable::parse(&file.text);
            let mut table = read.map_err(|error| show(chain, file, error.span(), error.message()))?;
            if let Some(extended) = merged.take() {
                let own = std::mem::replace(table.get_mut(), extended.into_inner());
                merge(table.get_mut(), own);
            }
            merged = Some(table);
        }
        let table = merged.ok_or("there is no study file")?;
        Ok(Self { chain, table })
    }

    /// What the file says that it extends.
    pub(super) fn extends(&self) -> Result<Option<String>, String> {
        match self.table.get_ref().get("extends") {
            None => Ok(None),
            Some(value) => value.get_ref().as_str().map(|name| Some(name.to_owned())).ok_or_else(|| {
                let message = "extends must be the name of a study file, as in \"imc14-access.toml\"";
                self.at(Some(value.span()), message)
            }),
        }
    }

    /// The document, checked by its types, with its defaults in a table of their own.
    pub(super) fn document(&self) -> Result<Value, String> {
        let wrong = |error: toml::de::Error| self.at(error.span(), error.message());
        if let (1, Some(name)) = (self.chain.len(), self.extends()?) {
            let span = self.table.get_ref().get("extends").map(Spanned::span);
            return Err(self.at(span, &format!("the study that it extends is not given: {name}")));
        }
        let values = |table| Value::deserialize(Deserializer::from(table)).map_err(wrong);
        let with_defaults = values(self.with_defaults())?;
        keys::make_plain(&mut with_defaults.clone()).map_err(|invalid| self.at_key(&invalid))?;
        document::read::<StudyFile>(&with_defaults).map_err(|invalid| {
            let place = excerpt::place(self.with_defaults().get_ref(), &invalid);
            self.at(place.or(Some(self.table.span())), &invalid.message)
        })?;
        let mut document = values(self.table.clone())?;
        if let Some(table) = document.as_object_mut() {
            table.shift_remove("extends");
        }
        Ok(document)
    }

    /// An error of a key, with its place.
    pub(super) fn at_key(&self, invalid: &Invalid) -> String {
        self.at(excerpt::locate(self.with_defaults().get_ref(), &invalid.key), &invalid.sentence())
    }

    fn with_defaults(&self) -> Spanned<DeTable<'t>> {
        let mut table = self.table.clone();
        defaults::take_in_file(table.get_mut());
        stand_in::take_in_file(table.get_mut());
        table
    }

    fn at(&self, span: Option<Range<usize>>, message: &str) -> String {
        show(self.chain, &self.chain[0], span, message)
    }
}

/// Shows a message in the file that the span lies in; without a span, in `file`.
fn show(chain: &[Padded<'_>], file: &Padded<'_>, span: Option<Range<usize>>, message: &str) -> String {
    let start = span.as_ref().map_or(file.from, |span| span.start);
    let file = chain.iter().rfind(|file| file.from <= start).unwrap_or(file);
    let span = span.map(|span| span.start - file.from..span.end.max(span.start) - file.from);
    excerpt::render(file.name, &file.text[file.from..], span, message)
}

/// Puts the entries of one table over those of another: tables are merged, everything else is replaced.
fn merge<'t>(into: &mut DeTable<'t>, own: DeTable<'t>) {
    for (key, value) in own {
        let Some(place) = into.get_mut(key.get_ref().as_ref()) else {
            into.insert(key, value);
            continue;
        };
        let span = value.span();
        match (place.get_mut(), value.into_inner()) {
            (DeValue::Table(table), DeValue::Table(own)) => merge(table, own),
            (_, value) => *place = Spanned::new(span, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::study::{extends, parse};

    const WHOLE: &str = r#"name = "whole"
duration = "9s"
[path]
rtt = "40ms"
down = { rate = "2Mbit", queue = { kind = "fifo", limit = "9pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }
[[users]]
kind = "voice"
codec = "g711a"
[sweep]
"path.up.rate" = ["1Mbit", "2Mbit"]
"#;

    fn read(texts: &[&str]) -> Result<Value, String> {
        let names = ["own.toml", "above.toml", "top.toml"];
        let chain: Vec<_> = texts.iter().zip(names).map(|(text, name)| StudyText { name, text }).collect();
        let document = parse(&chain, &[]).map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&document).unwrap())
    }

    #[test]
    fn tables_are_merged_and_everything_else_is_replaced() {
        let own = "extends = 'above.toml'\nname = 'own'\n[path]\ndown.queue = { kind = 'codel', target = '7ms' }\n\
                   [sweep]\nseed = [1, 2]\n'path.up.rate' = ['3Mbit']\n";
        let above = "extends = 'top.toml'\n[[users]]\nkind = 'web'\n[path]\ndown.rate = '8Mbit'\nup.rate = '5Mbit'\n";
        let found = read(&[own, above, WHOLE]).unwrap();
        assert_eq!((&found["name"], &found["duration"]), (&json!("own"), &json!("9s")));
        assert_eq!(found["path"]["down"]["rate"], "8Mbit", "the nearest that says it");
        assert_eq!(found["path"]["down"]["queue"], json!({ "kind": "codel", "limit": "9pkt", "target": "7ms" }));
        assert_eq!(found["path"]["up"], json!({ "rate": "5Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } }));
        assert_eq!(found["users"], json!([{ "kind": "web" }]), "an array is replaced whole");
        let axes: Vec<_> =
            found["sweep"].as_object().unwrap().iter().map(|(key, values)| (key.as_str(), values)).collect();
        assert_eq!(axes, [("path.up.rate", &json!(["3Mbit"])), ("seed", &json!([1, 2]))], "axes keep their places");
        assert!(found.get("extends").is_none());
    }

    #[test]
    fn errors_show_the_file_that_they_are_in() {
        let own = "extends = 'above.toml'\nname = 'own'\n";
        for (texts, wanted) in [
            ([own, &WHOLE.replace("2Mbit", "2Mbps")], "above.toml:5:18: \"2Mbps\" is not a rate"),
            ([own, &WHOLE.replace("codec =", "codex =")], "above.toml:9:1: unknown field `codex`"),
            ([own, &WHOLE.replace("\"2Mbit\"]", "\"x\"]")], "above.toml:11:28: sweep.path.up.rate.1: \"x\" is not"),
            ([own, &WHOLE.replace("[sweep]", "[sweep")], "above.toml:10:7: unclosed table"),
            ([own, &WHOLE.replace("duration", "# ")], "own.toml:1:1: missing field `duration`"),
            (["extends = 'x'\nduration = '0s'\n", WHOLE], "own.toml:2:12: duration: a run must last longer"),
            (["extends = 'x'\nwarmup = '9s'\n", WHOLE], "own.toml:2:10: warmup: a warm-up of 9s"),
            (["extends = 'x'\n[path]\nup.rate = 7\n", WHOLE], "own.toml:3:11: \"7\" is not a rate: it has no unit"),
        ] {
            let error = read(&texts).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
        let error = read(&[own, &WHOLE.replace("2Mbit", "2Mbps")]).unwrap_err();
        assert!(error.contains("\n5 | down = { rate = \"2Mbps\", queue"), "{error}");
    }

    #[test]
    fn a_study_is_not_read_without_what_it_extends() {
        let error = read(&["extends = 'above.toml'\nname = 'own'\n"]).unwrap_err();
        assert!(error.starts_with("own.toml:1:11: the study that it extends is not given: above.toml\n"), "{error}");
        let named = |text| extends(StudyText { name: "own.toml", text }).map_err(|error| error.to_string());
        assert_eq!(named("extends = 'a/b.toml'"), Ok(Some("a/b.toml".to_owned())));
        assert_eq!(named("name = 'own'"), Ok(None));
        assert!(
            named("extends = 7").unwrap_err().starts_with("own.toml:1:11: extends must be the name of a study file")
        );
        assert!(named("extends = [").unwrap_err().starts_with("own.toml:1:"));
    }
}
