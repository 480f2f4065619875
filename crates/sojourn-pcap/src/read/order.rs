//! Whether captures that are read as one stream are each named once, and follow one another in time.

use std::collections::HashSet;
use std::path::Path;

/// A file that begins so much before the end of the one before it is another of the same time. Frames of one capture
/// are out of order by less, as where several processors took them.
const OVERLAP_NS: i64 = 100_000_000;

/// Which of these files was named before, in whatever words: its packets would count twice. Of another file with the
/// same packets only times tell.
pub(super) fn named_before<'a>(mut paths: impl Iterator<Item = &'a Path>) -> Option<usize> {
    let mut named = HashSet::new();
    // The ends of pipes have no names of their own.
    paths.position(|path| !named.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned())))
}

/// What was found of the files so far.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The last file that had frames, and the times of its first and its last.
    before: Option<(String, [i64; 2])>,
    /// A sentence for each file that does not follow the one before it.
    pub(super) sentences: Vec<String>,
}

impl Order {
    /// The first frame of a file is of such a time.
    pub(super) fn begins(&mut self, name: &str, time_ns: i64) {
        if let Some((before, [began, ended])) = &self.before
            && (time_ns <= *began || ended.saturating_sub(time_ns) > OVERLAP_NS)
        {
            let how = if time_ns <= *began { "begins no later than" } else { "begins before the end of" };
            self.sentences.push(format!(
                "{name} {how} {before}, which was read before it; captures are read as one stream: expected each \
                 once, in order of time"
            ));
        }
        self.before = Some((name.to_owned(), [time_ns; 2]));
    }

    /// The last frame of the file was of such a time.
    pub(super) fn ended(&mut self, time_ns: i64) {
        if let Some((_, times)) = &mut self.before {
            times[1] = time_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_named_before_is_known_in_whatever_words() {
        let again = |paths: &[&str]| named_before(paths.iter().map(Path::new));
        assert_eq!(again(&["src/lib.rs", "Cargo.toml", "none", "-"]), None);
        for [one, other] in [["src/lib.rs", "src/../src/lib.rs"], ["none", "none"], ["-", "-"]] {
            assert_eq!(again(&["Cargo.toml", one, other]), Some(2));
        }
    }

    #[test]
    fn a_file_follows_the_one_before_it_but_for_what_processors_put_out_of_order() {
        const S: i64 = 1_000_000_000;
        let said = |[first, last]: [i64; 2], begins: i64| {
            let mut order = Order::default();
            order.begins("a", first);
            order.ended(last);
            order.begins("b", begins);
            let how = |sentence: &String| sentence["b begins ".len()..].split(" a, ").next().map(str::to_owned);
            order.sentences.iter().filter_map(how).collect::<Vec<_>>()
        };
        for begins in [9 * S, 8 * S, 8 * S - OVERLAP_NS] {
            assert!(said([S, 8 * S], begins).is_empty(), "{begins}");
        }
        assert_eq!(said([S, 8 * S], 8 * S - OVERLAP_NS - 1), ["before the end of"]);
        assert_eq!(said([S, 8 * S], S + 1), ["before the end of"]);
        assert_eq!(said([S, 8 * S], S), ["no later than"]);
        assert_eq!(said([S, S], S), ["no later than"]);
        assert!(said([S, S], S + 1).is_empty());
    }
}
