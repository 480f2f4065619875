//! Errors with the line they are about, and a caret under the words.

use std::ops::Range;

use sojourn_net::quote::printable;
use toml::de::{DeTable, DeValue};

use crate::scenario::Invalid;

/// Characters of a line that are shown.
const SHOWN: usize = 100;

/// `file:line:column: sentence`, then the line and carets; without a span, `file: sentence`. Every line is printable
/// and short, whatever the file holds.
pub(super) fn render(file: &str, text: &str, span: Option<Range<usize>>, message: &str) -> String {
    let sentence = printable(&suggest(message.trim_end()));
    let file = printable(file);
    let Some(span) = span.filter(|span| span.start <= text.len()) else {
        return format!("{file}: {sentence}");
    };
    let span = narrow(text, span, message);
    let start = boundary(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line = text[line_start..line_end].trim_end_matches('\r');
    let number = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count();
    let end = boundary(text, span.end.clamp(start, line_start + line.len().max(start - line_start)));
    let width = text[start..end].chars().count().max(1);
    // Of a long line, what is around the words; one character for each, so that carets stand right.
    let skipped = column.saturating_sub(SHOWN / 2);
    let skipped = if line.chars().count() > SHOWN { skipped } else { 0 };
    let shown: String = line.chars().skip(skipped).take(SHOWN).map(one_column).collect();
    let gutter = " ".repeat(number.to_string().len());
    let (pad, carets) =
        (" ".repeat(column - skipped), "^".repeat(width.min(SHOWN - (column - skipped).min(SHOWN - 1))));
    format!("{file}:{number}:{}: {sentence}\n{gutter} |\n{number} | {shown}\n{gutter} | {pad}{carets}", column + 1)
}

/// The character, or what stands for one that cannot be printed.
fn one_column(c: char) -> char {
    match c {
        '\t' => ' ',
        '"' | '\'' | '\\' => c,
        _ if c.escape_debug().len() > 1 => '\u{fffd}',
        _ => c,
    }
}

/// The last boundary between characters up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Keys that a list of what was expected shows. Names that a key can have are all shown: no other list has them.
const LISTED: usize = 12;

/// Names that other programs have for keys of ours.
const ELSEWHERE: [(&str, &str); 9] = [
    ("congestion", "transport"),
    ("congestion-control", "transport"),
    ("cc", "transport"),
    ("tcp", "transport"),
    ("bandwidth", "rate"),
    ("delay", "rtt"),
    ("latency", "rtt"),
    ("qdisc", "queue"),
    ("aqm", "queue"),
];

/// Adds "did you mean" to serde's complaint about an unknown key or name, and shortens a long list of keys that it
/// expected.
pub(super) fn suggest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = message.contains("unknown field") || message.contains("unknown variant");
    let Some(found) = names.next().filter(|_| unknown) else {
        return message.to_owned();
    };
    let names: Vec<&str> = names.collect();
    let elsewhere = ELSEWHERE.iter().find(|(other, ours)| *other == found && names.contains(ours));
    let near = elsewhere
        .map_or_else(|| names.iter().map(|name| (distance(found, name), *name)).min(), |(_, ours)| Some((0, *ours)));
    let listed =
        message.split_once("expected one of").filter(|_| message.contains("unknown field") && names.len() > LISTED + 1);
    let message = listed.map_or(message.to_owned(), |(said, _)| {
        let first = names[..LISTED].join("`, `");
        format!("{said}expected one of `{first}` and {} more", names.len() - LISTED)
    });
    match near {
        Some((edits, name)) if names.len() > 1 && edits <= 1 + found.chars().count().min(64) / 4 => {
            format!("{message}; did you mean `{name}`?")
        }
        _ => message,
    }
}

/// Levenshtein's edit distance of two short words.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// The words that a message quotes, where the span is of a whole table: serde keeps no finer one inside tagged tables.
fn narrow(text: &str, span: Range<usize>, message: &str) -> Range<usize> {
    let start = boundary(text, span.start);
    let rest = &text[start..];
    let table = rest.starts_with('[');
    let length = if table {
        // A header: the table reaches to the next one.
        rest.match_indices("\n[").next().map_or(rest.len(), |(at, _)| at)
    } else {
        boundary(text, span.end).saturating_sub(start)
    };
    let region = &rest[..length];
    let quoted = message.split('`').nth(1).unwrap_or_default();
    let found = if message.starts_with("unknown field") {
        let word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        region.match_indices(quoted).find(|(at, _)| {
            let after = region[at + quoted.len()..].trim_start_matches(['"', '\'', ' ', '\t']);
            !region[..*at].ends_with(word) && after.starts_with('=')
        })
    } else if message.starts_with("unknown variant") {
        // Of a table that is written as a dotted key, the span ends with that key.
        let region = &rest[..length.max(rest.find('\n').unwrap_or(rest.len()))];
        region.match_indices(quoted).find(|(at, _)| region[..*at].ends_with(['"', '\'']))
    } else if let Some(wrong) = message.strip_prefix("invalid ").filter(|_| region.starts_with(['[', '{'])) {
        // A value of another type: where the table has it once, that is the place.
        let value = wrong.split(['"', '`']).nth(1).unwrap_or_default();
        let mut values = region.match_indices(value).filter(|(at, _)| is_value(region, *at, value));
        values.next().filter(|_| values.next().is_none())
    } else {
        let value = message.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default();
        region.match_indices(value).find(|(at, _)| region[..*at].ends_with(['"', '\'']))
    };
    match found.filter(|(_, words)| !words.is_empty()) {
        Some((at, words)) => start + at..start + at + words.len(),
        None => span,
    }
}

/// Whether the words at a place are all of a key's value.
fn is_value(text: &str, at: usize, words: &str) -> bool {
    let (before, after) = (&text[..at], &text[at + words.len()..]);
    let quote = before.chars().next_back().filter(|last| ['"', '\''].contains(last));
    let key = quote.map_or(before, |quote| before.trim_end_matches(quote));
    let ends = match quote {
        Some(quote) => after.starts_with(quote),
        None => !after.starts_with(|c: char| c.is_alphanumeric() || ['.', '_', '-', ':'].contains(&c)),
    };
    ends && key.trim_end_matches([' ', '\t']).ends_with('=')
}

/// Where the value of a dotted key stands, or what comes nearest to it from the outside.
pub(super) fn locate(document: &DeTable<'_>, key: &str) -> Option<Range<usize>> {
    follow(document, key).map(|(_, value)| value)
}

/// Where something is wrong: an unknown key itself, the value of any other.
pub(super) fn place(document: &DeTable<'_>, invalid: &Invalid) -> Option<Range<usize>> {
    let unknown = invalid.message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    // Tables that are told apart by their `kind` keep no key of their own.
    let last = unknown.is_some_and(|name| invalid.key.rsplit('.').next() == Some(name));
    follow(document, &invalid.key).map(|(name, value)| name.filter(|_| last).unwrap_or(value))
}

/// Where a dotted key stands, if it is all there and no place in an array, and its value, or what comes nearest to it
/// from the outside.
fn follow(document: &DeTable<'_>, key: &str) -> Option<(Option<Range<usize>>, Range<usize>)> {
    let mut place: Option<&toml::Spanned<DeValue<'_>>> = None;
    let mut rest = key;
    loop {
        let next = match place.map(toml::Spanned::get_ref) {
            None => step(document, rest),
            Some(DeValue::Table(table)) => step(table, rest),
            Some(DeValue::Array(entries)) => {
                let (index, after) = rest.split_once('.').unwrap_or((rest, ""));
                let named = |entry: &toml::Spanned<DeValue<'_>>| name_of(entry) == Some(index);
                let place = index.parse().ok().or_else(|| entries.iter().position(named));
                place.and_then(|i: usize| entries.get(i)).map(|entry| (None, entry, after))
            }
            Some(_) => None,
        };
        match next {
            Some((name, value, "")) => return Some((name, value.span())),
            Some((_, value, after)) => (place, rest) = (Some(value), after),
            None => return place.map(|value| (None, value.span())),
        }
    }
}

/// An entry on the way: where its name stands, the entry, and the rest of the key.
type Step<'t, 'k> = (Option<Range<usize>>, &'t toml::Spanned<DeValue<'t>>, &'k str);

/// The entry of a table that a dotted key begins with; names may have dots themselves.
fn step<'t, 'k>(table: &'t DeTable<'_>, key: &'k str) -> Option<Step<'t, 'k>> {
    table
        .iter()
        .filter_map(|(name, value)| {
            let after = key.strip_prefix(name.get_ref().as_ref())?;
            let after = if after.is_empty() { after } else { after.strip_prefix('.')? };
            Some((Some(name.span()), value, after))
        })
        .min_by_key(|(_, _, after)| after.len())
}

/// The `name` of an entry.
fn name_of<'t>(entry: &'t toml::Spanned<DeValue<'_>>) -> Option<&'t str> {
    entry.get_ref().get("name")?.get_ref().as_str()
}
