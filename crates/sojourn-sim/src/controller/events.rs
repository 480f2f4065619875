//! What can be told to a controller, as JSON.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use sojourn_net::{Bytes, Rate, Span, Time, read_as};

/// Longest time: a thousand hours.
pub(super) const MOST_NS: u64 = 3_600_000_000_000_000;
/// Largest amounts.
pub(super) const MOST_SEGMENTS: f64 = 1e9;
const MOST_BYTES: u64 = 1_000_000_000_000;

/// A time: whole nanoseconds, or text with a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment(pub Span);

/// A delivery rate: whole bits per second, or text with a unit.
fn delivery_rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    match value.as_u64() {
        Some(bits) if bits > 0 => Ok(Some(Rate(bits))),
        _ => Option::deserialize(value).map_err(Error::custom),
    }
}

/// An amount of data: a number of segments, or text in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Segments.
    Segments(f64),
    /// Bytes.
    Bytes(Bytes),
}

impl Amount {
    pub(super) fn bytes(self, mss: u64) -> u64 {
        match self {
            Self::Segments(segments) => (segments * mss as f64 + 0.5) as u64,
            Self::Bytes(Bytes(bytes)) => bytes,
        }
    }
}

read_as! {
    Moment, "a time: whole nanoseconds, or text such as \"20ms\"";

    fn visit_u64<E: Error>(self, ns: u64) -> Result<Moment, E> {
        if ns > MOST_NS {
            return Err(E::custom(format!("{ns} ns is too long a time; write up to 1000h")));
        }
        Ok(Moment(Span(ns)))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Moment, E> {
        let Span(ns) = text.parse().map_err(E::custom)?;
        self.visit_u64(ns)
    }
}

read_as! {
    Amount, "an amount of data: a number of segments, or text such as \"2892B\"";

    fn visit_u64<E: Error>(self, segments: u64) -> Result<Amount, E> {
        self.visit_f64(segments as f64)
    }
    fn visit_f64<E: Error>(self, segments: f64) -> Result<Amount, E> {
        if (0.0..=MOST_SEGMENTS).contains(&segments) {
            Ok(Amount::Segments(segments))
        } else {
            Err(E::custom(format!("{segments} is not a number of segments; write 0 to 1e9")))
        }
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        let Bytes(bytes) = text.parse().map_err(E::custom)?;
        if bytes > MOST_BYTES {
            return Err(E::custom(format!("{text} is too large an amount; write up to 1000GB")));
        }
        Ok(Amount::Bytes(Bytes(bytes)))
    }
}

/// One thing that a controller hears of.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Event {
    Ack(News),
    Loss { at: Moment, in_flight: Option<Amount> },
    Timeout { at: Moment, in_flight: Option<Amount> },
    Mark { at: Moment, in_flight: Option<Amount> },
    Recovered { at: Moment },
    Idle { at: Moment, restart: Amount },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct News {
    pub(super) at: Moment,
    pub(super) delivered: Amount,
    pub(super) rtt: Option<Moment>,
    pub(super) one_way: Option<Moment>,
    pub(super) srtt: Option<Moment>,
    pub(super) min_rtt: Option<Moment>,
    pub(super) in_flight: Option<Amount>,
    pub(super) left_in_flight: Option<Amount>,
    pub(super) marked: Option<Amount>,
    pub(super) lost: Option<Amount>,
    #[serde(default, deserialize_with = "delivery_rate")]
    pub(super) rate: Option<Rate>,
    pub(super) round: Option<bool>,
    #[serde(default)]
    pub(super) app_limited: bool,
    #[serde(default)]
    pub(super) recovering: bool,
}

impl News {
    /// Says what cannot be.
    pub(super) fn check(&self, mss: u64) -> Result<(), String> {
        let (marked, delivered) = (self.marked.map_or(0, |amount| amount.bytes(mss)), self.delivered.bytes(mss));
        if marked > delivered {
            return Err(format!("{marked} bytes are marked of {delivered} delivered; write as many at most"));
        }
        Ok(())
    }
}

impl Event {
    pub(super) fn at(&self) -> Time {
        let (Self::Ack(News { at, .. })
        | Self::Loss { at, .. }
        | Self::Timeout { at, .. }
        | Self::Mark { at, .. }
        | Self::Recovered { at }
        | Self::Idle { at, .. }) = self;
        Time(at.0.0)
    }
}
