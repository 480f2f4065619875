//! CoDel's parameters and variants. See [`super`] for how the variants differ.
//!
//! Source: RFC 8289 §4.2 and §4.3 (interval and target, with their defaults); the other keys are those of Linux's
//! `codel` and of ns-3's `CoDelQueueDisc`.

use crate::{Bytes, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published CoDels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CodelVariant")]
pub enum Variant {
    /// RFC 8289, exact square roots.
    #[default]
    Rfc8289,
    /// Linux.
    Linux,
    /// ns-3.
    Ns3,
    /// ns-2.35.
    #[serde(rename = "ns2_2013")]
    Ns2_2013,
    /// The authors' ns-2 file of 2012.
    #[serde(rename = "ns2_2012")]
    Ns2_2012,
    /// The listing in ACM Queue, May 2012.
    Acmq2012,
    /// ns-2.35, inside `sfqcodel.cc`.
    #[serde(skip)]
    Ns2Sfq,
}

impl Variant {
    /// True if it can mark packets instead of dropping them.
    pub const fn has_ecn(self) -> bool {
        matches!(self, Self::Rfc8289 | Self::Linux | Self::Ns3)
    }

    /// True if it can mark packets above a threshold of their own.
    pub const fn has_ce_threshold(self) -> bool {
        matches!(self, Self::Linux | Self::Ns3)
    }
}

with_defaults! {
    /// CoDel.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[schemars(rename = "CodelConfig")]
    pub struct Config {
        /// Waiting time that is acceptable.
        pub target: Span = Span::from_millis(5),
        /// How long it must be exceeded: about a worst-case round trip.
        pub interval: Span = Span::from_millis(100),
        /// Whose CoDel.
        pub variant: Variant,
        /// Mark ECN-capable packets instead of dropping them.
        pub ecn: bool,
        /// Mark ECN-capable packets that waited longer than this (`linux` and `ns3`); never if absent.
        pub ce_threshold: Option<Span>,
        /// Judge ECT(1) and CE packets by `ce-threshold` alone, and others not by it (ns-3's `UseL4s`).
        pub l4s: bool,
        /// A queue with no more bytes than this is left alone; the ns-2 variants and `acmq2012` learn it from the
        /// packets.
        pub mtu: Bytes = Bytes(1500),
    }
}
