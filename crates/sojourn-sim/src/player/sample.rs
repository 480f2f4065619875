//! What a sample of throughput is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule::Segment;

/// The throughput of a segment: from which moment to its last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    /// From the request: a round trip is in it.
    #[default]
    Request,
    /// From the first byte of the answer.
    FirstByte,
}

impl Sample {
    /// The throughput of a segment in kb/s.
    pub(super) fn kbps(self, segment: &Segment) -> f64 {
        match self {
            Self::Request => segment.throughput_kbps(),
            Self::FirstByte => segment.transfer_kbps(),
        }
    }
}
