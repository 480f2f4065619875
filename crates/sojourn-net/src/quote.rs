//! Foreign text in messages: names, keys and values of files, whatever bytes they hold.
//!
//! A message is one line that a terminal prints as it stands: text is cut, and characters that would end the line or
//! steer the terminal are escaped. Messages of other libraries, which quote without cutting, pass through
//! [`printable`].

/// Characters of foreign text that a message repeats.
const QUOTED: usize = 60;
/// Characters of a whole message.
const MESSAGE: usize = 380;

/// The text in quotation marks, cut to 60 characters, control characters escaped.
pub fn quoted(text: &str) -> String {
    format!("{:?}", cut(text, QUOTED))
}

/// The same without quotation marks.
pub fn short(text: &str) -> String {
    printable(&cut(text, QUOTED))
}

/// A message in one line: what it quotes between `` ` `` or `"` is cut as by [`quoted`], a list of choices to those
/// that fit, and what cannot be printed is escaped.
pub fn printable(message: &str) -> String {
    let mut line = String::new();
    for (i, part) in message.split('`').enumerate() {
        let tick = if i == 0 { "" } else { "`" };
        let part = if i % 2 == 1 { cut(part, QUOTED) } else { shorten_values(part) };
        line.push_str(tick);
        for c in part.chars() {
            match c {
                '"' | '\'' | '\\' => line.push(c),
                '\n' | '\t' => line.push(' '),
                _ => line.extend(c.escape_debug()),
            }
        }
    }
    cut(&line, MESSAGE)
}

/// Cuts what stands in quotation marks.
fn shorten_values(text: &str) -> String {
    let cut_inside = |(i, part): (usize, &str)| if i % 2 == 1 { cut(part, QUOTED) } else { part.to_owned() };
    text.split('"').enumerate().map(cut_inside).collect::<Vec<_>>().join("\"")
}

/// The first characters; an ellipsis stands for the rest.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_text_is_cut_and_escaped() {
        assert_eq!(quoted("2 parsec"), "\"2 parsec\"");
        assert_eq!(quoted("\u{1b}[31mred\n"), "\"\\u{1b}[31mred\\n\"");
        assert_eq!(quoted(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
        assert_eq!(quoted(&"é".repeat(60)), format!("\"{}\"", "é".repeat(60)));
    }

    #[test]
    fn messages_of_libraries_are_cut_where_they_quote() {
        let key = "k".repeat(5000);
        let told = printable(&format!("unknown field `{key}`, expected `name`"));
        assert_eq!(told, format!("unknown field `{}…`, expected `name`", "k".repeat(60)));
        let told = printable(&format!("invalid type: string \"{key}\", expected u32\n"));
        assert_eq!(told, format!("invalid type: string \"{}…\", expected u32 ", "k".repeat(60)));
        assert_eq!(printable("a `b` \"c\" d's \\ µ"), "a `b` \"c\" d's \\ µ");
    }

    proptest! {
        #[test]
        fn any_message_is_one_short_line(text in "(\\PC|[\\x00-\\x1f`\"])*|[\\x00-\\u{ffff}]{0,2000}") {
            for line in [printable(&text), quoted(&text)] {
                prop_assert!(line.chars().count() <= MESSAGE + 1, "{line}");
                prop_assert!(!line.contains(|c: char| c.is_control() || c == '\u{2028}'), "{line}");
            }
        }
    }
}
