//! Rates, sizes, times and limits with their units: `16Mbit`, `96kB`, `20ms`, `64pkt`, `2BDP`.
//!
//! Numbers are read as exact decimals, never through floating point, so `149.76Mbit` is 149 760 000 bit/s everywhere.
//! `Mbps` is refused: ns-3 reads it as megabits and Linux `tc` as megabytes. So is `kb`: 1024 bytes to `tc`. What can
//! be read in one way only is taken as other tools write it (`10mbit`, `10Mbit/s`, `100p`, `5msec`), and printed in
//! ours.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::Span;
use crate::quote::quoted;

/// Bytes of a full-sized packet: what limits in bandwidth-delay products are counted in.
pub const FULL_PACKET: u64 = 1500;

/// The longest time that can be written: 366 days. Anything longer is taken for a slip of the unit; the clock's
/// 64 bits of nanoseconds end after 584 years.
pub const LONGEST: Span = Span(366 * 24 * 3_600_000_000_000);

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// How much a queue may hold: `64pkt`, `96kB`, `100ms` (at the link's rate), `2BDP`, or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many packets, whatever their size.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
    /// What the link sends in this time.
    Time(Span),
    /// So many bandwidth-delay products of the path.
    Bdp(f64),
    /// No limit.
    Unlimited,
}

impl Rate {
    /// Time to send so many bytes, rounded up to a nanosecond.
    pub fn transmission(self, bytes: u64) -> Span {
        let bit_ns = u128::from(bytes) * 8 * 1_000_000_000;
        Span(u64::try_from(bit_ns.div_ceil(u128::from(self.0.max(1)))).unwrap_or(u64::MAX))
    }

    /// Bytes sent in this time, rounded down.
    pub fn bytes_in(self, span: Span) -> u64 {
        let bytes = u128::from(self.0) * u128::from(span.0) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Limit {
    /// The limit as (most packets, most bytes) on a link of this rate and a path of this base RTT; `MAX` means no
    /// limit.
    ///
    /// A bandwidth-delay product counts full packets of 1500 bytes, rounded to the nearest and at least one; a time
    /// becomes the bytes that the link sends in it, at least one full packet.
    pub fn resolve(self, rate: Rate, rtt: Span) -> (u32, u64) {
        match self {
            Self::Packets(packets) => (packets, u64::MAX),
            Self::Bytes(bytes) => (u32::MAX, bytes),
            Self::Time(span) => (u32::MAX, rate.bytes_in(span).max(FULL_PACKET)),
            Self::Bdp(count) => {
                let packets = count * rate.0 as f64 * rtt.as_secs() / (8 * FULL_PACKET) as f64;
                ((packets + 0.5).max(1.0) as u32, u64::MAX)
            }
            Self::Unlimited => (u32::MAX, u64::MAX),
        }
    }
}

/// Text that is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not a {what}: {hint}")]
pub struct UnitError {
    found: String,
    what: &'static str,
    hint: String,
}

/// A kind of quantity: what errors call it, its units (largest decimal one first for printing), how others spell them,
/// and what to write instead.
struct Kind {
    what: &'static str,
    units: &'static [(&'static str, u64)],
    aliases: &'static [(&'static str, &'static str)],
    hint: &'static str,
}

const RATE: Kind = Kind {
    what: "rate",
    units: &[("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)],
    aliases: &[],
    hint: "write a number and bit, kbit, Mbit or Gbit, as in \"10Mbit\"",
};
const SPAN: Kind = Kind {
    what: "time",
    units: &[
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    aliases: &[
        ("sec", "s"),
        ("secs", "s"),
        ("msec", "ms"),
        ("msecs", "ms"),
        ("usec", "us"),
        ("usecs", "us"),
        ("µs", "us"),
    ],
    hint: "write a number and ns, us, ms, s, min or h, as in \"20ms\"",
};
const BYTES: Kind = Kind {
    what: "size",
    units: &[
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("B", 1),
    ],
    aliases: &[],
    hint: "write a number and B, kB, MB, GB, KiB, MiB or GiB, as in \"96kB\"",
};
const LIMIT: Kind = Kind {
    what: "limit",
    units: &[("pkt", 1), ("BDP", 1)],
    aliases: &[("p", "pkt"), ("pkts", "pkt"), ("packet", "pkt"), ("packets", "pkt"), ("bdp", "BDP")],
    hint: "write packets (\"64pkt\"), bytes (\"96kB\"), time at the link's rate (\"100ms\"), \
           bandwidth-delay products (\"2BDP\"), or \"unlimited\"",
};

/// Splits `"16 Mbit"` into its digits and its unit; no sign, exponent or separator is a number here.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `digits × scale` exactly, if it is a whole number that fits.
fn exact(digits: &str, scale: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || (digits.contains('.') && fraction.is_empty()) || fraction.contains('.') {
        return Err("it has no number in front");
    }
    let fraction = fraction.trim_end_matches('0');
    let whole: u128 = whole.parse().map_err(|_| "it is too large")?;
    let mut total = whole.checked_mul(u128::from(scale)).ok_or("it is too large")?;
    if !fraction.is_empty() {
        if fraction.len() > 18 {
            return Err("it has too many decimals");
        }
        let part: u128 = fraction.parse().map_err(|_| "it has no number in front")?;
        let scaled = part * u128::from(scale);
        let divisor = 10_u128.pow(fraction.len() as u32);
        if !scaled.is_multiple_of(divisor) {
            return Err("it is not a whole number of the smallest unit");
        }
        total = total.checked_add(scaled / divisor).ok_or("it is too large")?;
    }
    u64::try_from(total).map_err(|_| "it is too large")
}

impl Kind {
    fn error(&self, text: &str, hint: impl Into<String>) -> UnitError {
        UnitError { found: quoted(text), what: self.what, hint: hint.into() }
    }

    /// The unit that is written so, and how much it is. Bits are bits in any case, and by the second in a rate.
    fn unit(&self, written: &str) -> Option<(&'static str, u64)> {
        let alias = self.aliases.iter().find(|(alias, _)| *alias == written);
        let name = alias.map_or(written, |(_, name)| *name);
        let bits = name.strip_suffix("/s").unwrap_or(name);
        let same = |unit: &str| unit == name || (unit.ends_with("bit") && unit.eq_ignore_ascii_case(bits));
        self.units.iter().find(|(unit, _)| same(unit)).copied()
    }

    /// Reads a number with one of this kind's units; a bare number counts `bare` if that is given.
    fn read(&self, text: &str, bare: Option<u64>) -> Result<u64, UnitError> {
        let (digits, unit) = split(text);
        if text.trim_start().starts_with('-') {
            return Err(self.error(text, format!("it is negative; {}", self.hint)));
        }
        if digits.is_empty() {
            return Err(self.error(text, self.hint));
        }
        let scale = match unit {
            "" => bare.ok_or_else(|| self.error(text, self.no_unit()))?,
            _ => match self.unit(unit) {
                Some((_, scale)) => scale,
                None => return Err(self.error(text, self.explain(digits, unit))),
            },
        };
        exact(digits, scale).map_err(|reason| self.error(text, format!("{reason}; {}", self.hint)))
    }

    fn no_unit(&self) -> String {
        format!("it has no unit; {}", self.hint)
    }

    /// Says why a unit is refused and what to write instead.
    fn explain(&self, digits: &str, unit: &str) -> String {
        if digits.len() + unit.len() > 40 {
            return self.hint.to_owned();
        }
        let lower = unit.to_ascii_lowercase();
        let rate_like = lower.ends_with("bps") || lower.ends_with("b/s");
        if self.what == RATE.what && rate_like {
            let (prefix, name) = match lower.as_bytes().first() {
                Some(b'k') => ("kbit", "kilobits to some tools and kilobytes"),
                Some(b'm') => ("Mbit", "megabits to some tools and megabytes"),
                Some(b'g') => ("Gbit", "gigabits to some tools and gigabytes"),
                _ => ("bit", "bits to some tools and bytes"),
            };
            return format!("{unit} is {name} to others; write \"{digits}{prefix}\"");
        }
        let of_size = self.what == BYTES.what || self.what == LIMIT.what;
        if let Some(reason) = two_sizes(digits, unit).filter(|_| of_size) {
            return reason;
        }
        match self.units.iter().find(|(name, _)| name.to_ascii_lowercase() == lower) {
            Some((name, _)) => format!("the unit is spelt {name}; write \"{digits}{name}\""),
            None => format!("{} is not a unit of it; {}", quoted(unit), self.hint),
        }
    }
}

/// What a unit of size means to some and to others, if they differ, and what to write instead.
fn two_sizes(digits: &str, unit: &str) -> Option<String> {
    let (prefix, binary) = match unit {
        "b" => return Some(format!("b is bytes to tc and bits to others; write \"{digits}B\"")),
        "KB" => ("k", "Ki"),
        _ => match unit.strip_suffix(['b', 'B']).unwrap_or(unit) {
            "k" | "K" => ("k", "Ki"),
            "m" | "M" => ("M", "Mi"),
            "g" | "G" => ("G", "Gi"),
            _ => return None,
        },
    };
    let tc = match binary {
        "Ki" => "1024",
        "Mi" => "1048576",
        _ => "1073741824",
    };
    Some(format!(
        "{unit} is {tc} bytes to tc, and a thousand-fold or bits to others; write \"{digits}{prefix}B\" or \"{digits}{binary}B\""
    ))
}

/// Prints a whole number of base units as a decimal of `scale` (a power of ten), without trailing zeros.
fn decimal(f: &mut fmt::Formatter<'_>, value: u64, scale: u64, unit: &str) -> fmt::Result {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return write!(f, "{whole}{unit}");
    }
    let width = scale.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    write!(f, "{whole}.{}{unit}", fraction.trim_end_matches('0'))
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = RATE.units.iter().find(|(_, scale)| self.0 >= *scale).unwrap_or(&("bit", 1));
        decimal(f, self.0, *scale, unit)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = SPAN.units[..4].iter().find(|(_, scale)| self.0 >= *scale).unwrap_or(&SPAN.units[0]);
        decimal(f, self.0, *scale, unit)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |scale: u64| self.0 >= scale && self.0.is_multiple_of(scale);
        let (unit, scale) = BYTES.units.iter().find(|(_, scale)| whole(*scale)).unwrap_or(&("B", 1));
        write!(f, "{}{unit}", self.0 / scale)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets}pkt"),
            Self::Bytes(bytes) => Bytes(*bytes).fmt(f),
            Self::Time(span) => span.fmt(f),
            Self::Bdp(count) => write!(f, "{count}BDP"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match RATE.read(text, None)? {
            0 => Err(RATE.error(text, "a link that never sends is not a link; write a rate above zero")),
            rate => Ok(Self(rate)),
        }
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match Self(SPAN.read(text, None)?) {
            span if span <= LONGEST => Ok(span),
            _ => Err(SPAN.error(text, "it is longer than a year; write at most \"8784h\"")),
        }
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        BYTES.read(text, Some(1)).map(Self)
    }
}

impl FromStr for Limit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (digits, unit) = split(text);
        let known = |kind: &Kind| kind.unit(unit).is_some();
        let limit = if text.trim() == "unlimited" {
            Self::Unlimited
        } else if LIMIT.unit(unit).is_some_and(|(name, _)| name == "BDP") {
            let count = digits.parse().ok().filter(|count: &f64| count.is_finite());
            Self::Bdp(count.ok_or_else(|| LIMIT.error(text, LIMIT.hint))?)
        } else if known(&BYTES) {
            Self::Bytes(BYTES.read(text, None)?)
        } else if known(&SPAN) {
            Self::Time(text.parse()?)
        } else {
            let packets = LIMIT.read(text, None)?;
            Self::Packets(u32::try_from(packets).map_err(|_| LIMIT.error(text, "it is too large"))?)
        };
        match limit {
            Self::Packets(0) | Self::Bytes(0) | Self::Time(Span::ZERO) | Self::Bdp(0.0) => {
                Err(LIMIT.error(text, "a queue must hold something; write a limit above zero"))
            }
            limit => Ok(limit),
        }
    }
}

/// Text in study files: serde through `FromStr` and `Display`, and a JSON Schema with an example.
macro_rules! as_text {
    ($Type:ident, $kind:ident, bare: $bare:literal, $schema:literal, $example:literal) => {
        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        crate::read_as! {
            $Type, format!("a {} such as \"{}\"", $kind.what, $example);

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$Type, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$Type, E> {
                if $bare {
                    return number.to_string().parse().map_err(E::custom);
                }
                Err(E::custom($kind.error(&number.to_string(), $kind.no_unit())))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$Type, E> {
                Err(E::custom($kind.error(&number.to_string(), $kind.no_unit())))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$Type, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => number.to_string().parse().map_err(E::custom),
                }
            }
        }

        impl JsonSchema for $Type {
            fn schema_name() -> Cow<'static, str> {
                $schema.into()
            }
            fn inline_schema() -> bool {
                false
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let kinds: &[&str] = if $bare { &["string", "integer"] } else { &["string"] };
                json_schema!({ "type": kinds, "description": $kind.hint, "examples": [$example] })
            }
        }
    };
}

as_text!(Rate, RATE, bare: false, "Rate", "16Mbit");
as_text!(Bytes, BYTES, bare: true, "Size", "96kB");
as_text!(Span, SPAN, bare: false, "Time", "20ms");
as_text!(Limit, LIMIT, bare: false, "Limit", "64pkt");
