//! Ranges of the options of players.

/// Nothing, or the key that is wrong and a sentence.
pub(super) type Wrong = Result<(), (&'static str, String)>;

/// Refuses a value that is not above `low` and at most `high`.
pub(super) fn within(key: &'static str, value: f64, low: f64, high: f64) -> Wrong {
    let fits = value > low && value <= high;
    if fits { Ok(()) } else { Err((key, format!("{value}: expected more than {low}, at most {high}"))) }
}

/// Refuses a number that is not from 1 to `high`.
pub(super) fn count(key: &'static str, value: u32, high: u32) -> Wrong {
    let fits = (1..=high).contains(&value);
    if fits { Ok(()) } else { Err((key, format!("{value}: expected 1 to {high}"))) }
}
