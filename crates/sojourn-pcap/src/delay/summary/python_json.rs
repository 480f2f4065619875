//! JSON as Python's `json.dumps` writes it, letter by letter: a host's line is the same, whoever writes it.

use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use std::io::{self, Write};

/// A value in one line, all of it ASCII.
pub(crate) fn line(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 << 11);
    // Values are JSON, and writing to memory does not fail.
    serde::Serialize::serialize(value, &mut Serializer::with_formatter(&mut bytes, AsPython)).ok();
    bytes
}

/// Write a finite number with a point or an exponent: both languages have the fewest digits that tell the number from
/// others. Python has exponents beyond these bounds, with a sign and of two digits.
pub(crate) fn float<W: ?Sized + Write>(writer: &mut W, value: f64) -> io::Result<()> {
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        return CompactFormatter.write_f64(writer, value);
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |below| ('-', below));
    write!(writer, "{digits}e{sign}{exponent:0>2}")
}

/// Spaces behind commas and colons, floats as Python has them, and nothing but ASCII.
struct AsPython;

impl Formatter for AsPython {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        float(writer, value)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(|c| !matches!(c, ' '..='~')) {
            let plain = part.trim_end_matches(|c| !matches!(c, ' '..='~'));
            writer.write_all(plain.as_bytes())?;
            for unit in part[plain.len()..].encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_python_writes_them() {
        let value = json!({
            "a → 𝄞\u{7f}\"\\\n\u{1}é": [null, true, -3, u64::MAX, [], {}],
            "floats": [0.0, -0.0, 2e-5, 1.5e-10, 1e-4, 0.1, -2.5, 1e15, 1e16, 1.25e22, -1e300, 5e-324],
        });
        let expected = concat!(
            r#"{"a \u2192 \ud834\udd1e\u007f\"\\\n\u0001\u00e9": [null, true, -3, 18446744073709551615, [], {}], "#,
            r#""floats": [0.0, -0.0, 2e-05, 1.5e-10, 0.0001, 0.1, -2.5, 1000000000000000.0, 1e+16, 1.25e+22, -1e+300, "#,
            r#"5e-324]}"#,
        );
        assert_eq!(String::from_utf8(line(&value)).unwrap(), expected);
    }
}
