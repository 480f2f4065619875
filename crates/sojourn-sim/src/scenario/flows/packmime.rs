//! PackMime-HTTP in study files.
//!
//! The preset `packmime-002` is the web load of a study of AQM on slow links, which prints 8 requests a second and 80
//! to 100 kbit/s: the model at 8 connections a second has responses of 8 kB in the mean, and so five times that load.
//! The preset keeps the 8 connections and brings the mean of the responses to 1.4 kB, which is 90 kbit/s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, refuse_if};

use crate::scenario::Invalid;

/// Web connections in the sense of PackMime-HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "PackmimeFile")]
pub struct Packmime {
    /// Connections that start in a second, on average.
    pub rate: f64,
    /// Which HTTP.
    pub http: HttpVersion,
    /// Responses are scaled to this mean.
    pub response_mean: Option<Bytes>,
}

/// `source = { kind = "packmime", … }` as study files write it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Packmime")]
pub(super) struct PackmimeFile {
    /// Fills in `rate` and `response-mean`.
    preset: Option<PackmimePreset>,
    /// Connections that start in a second, on average; most parameters of the model depend on it.
    rate: Option<f64>,
    /// Which HTTP.
    #[serde(default)]
    http: HttpVersion,
    /// Scales responses to this mean; by default they are the model's own, of 8 kB or so.
    response_mean: Option<Bytes>,
}

/// Published web loads.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
enum PackmimePreset {
    /// 8 connections a second with responses of 1.4 kB in the mean: 90 kbit/s.
    #[serde(rename = "packmime-002")]
    Packmime002,
}

/// Versions of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// One request a connection.
    #[default]
    #[serde(rename = "1.0")]
    V1_0,
    /// Nine connections in a hundred are persistent.
    #[serde(rename = "1.1")]
    V1_1,
}

impl TryFrom<PackmimeFile> for Packmime {
    type Error = &'static str;

    fn try_from(PackmimeFile { preset, rate, http, response_mean }: PackmimeFile) -> Result<Self, &'static str> {
        let of_preset = preset.map(|PackmimePreset::Packmime002| (8.0, Bytes(1400)));
        Ok(Self {
            rate: rate
                .or(of_preset.map(|p| p.0))
                .ok_or("packmime needs a rate in connections a second, as in rate = 8")?,
            http,
            response_mean: response_mean.or(of_preset.map(|p| p.1)),
        })
    }
}

impl Packmime {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let known = (0.01..=100_000.0).contains(&self.rate);
        refuse_if!(!known, "source.rate", "{} connections a second; write 0.01 to 100000", self.rate);
        refuse_if!(self.response_mean == Some(Bytes(0)), "source.response-mean", "a response has at least one byte");
        Ok(())
    }
}
