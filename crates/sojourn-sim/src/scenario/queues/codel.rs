//! Study keys of CoDel and COBALT.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{cobalt, codel};
use sojourn_net::{Bytes, Limit, Span};

use super::super::Invalid;
use super::{check_interval, check_packet, count};

/// CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CodelSpec {
    /// How much it holds.
    pub limit: Limit,
    /// Waiting time that is acceptable.
    #[serde(default = "target")]
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    #[serde(default = "interval")]
    pub interval: Span,
    /// Whose CoDel.
    #[serde(default)]
    pub variant: CodelVariant,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
    /// Mark ECN-capable packets that waited longer than this (`linux` and `ns3`); never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
    /// Judge ECT(1) and CE packets by `ce-threshold` alone, and others not by it (default false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l4s: Option<bool>,
    /// A queue with no more bytes than this is left alone (default 1500B); the ns-2 variants and `acmq2012` learn it from the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

/// Published CoDels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodelVariant {
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
}

/// COBALT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CobaltSpec {
    /// How much it holds.
    pub limit: Limit,
    /// Waiting time that is acceptable.
    #[serde(default = "target")]
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    #[serde(default = "interval")]
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
    /// Mark ECN-capable packets that waited longer than this; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
    /// Let BLUE drop more when packets wait longer than this (ns-3: 400ms); never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blue_threshold: Option<Span>,
}

pub(super) fn target() -> Span {
    Span::from_millis(5)
}

pub(super) fn interval() -> Span {
    Span::from_millis(100)
}

impl From<CodelVariant> for codel::Variant {
    fn from(variant: CodelVariant) -> Self {
        match variant {
            CodelVariant::Rfc8289 => Self::Rfc8289,
            CodelVariant::Linux => Self::Linux,
            CodelVariant::Ns3 => Self::Ns3,
            CodelVariant::Ns2_2013 => Self::Ns2_2013,
            CodelVariant::Ns2_2012 => Self::Ns2_2012,
            CodelVariant::Acmq2012 => Self::Acmq2012,
        }
    }
}

impl CodelSpec {
    pub(super) fn settings(&self) -> codel::Settings {
        let Self { limit: _, target, interval, variant, ecn, ce_threshold, l4s, mtu } = *self;
        let default = codel::Settings::default();
        codel::Settings {
            variant: variant.into(),
            target,
            interval,
            ecn,
            ce_threshold,
            l4s: l4s.unwrap_or(default.l4s),
            mtu: mtu.map_or(default.mtu, count),
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_packet("mtu", self.mtu)?;
        check(&self.settings())
    }
}

/// Checks what any CoDel is told.
pub(super) fn check(codel: &codel::Settings) -> Result<(), Invalid> {
    check_interval(codel.interval)?;
    if codel.ecn && !codel.variant.has_ecn() {
        return Err(Invalid::new("ecn", "this variant cannot mark; take rfc8289, linux or ns3"));
    }
    if codel.ce_threshold.is_some() && !codel.variant.has_ce_threshold() {
        return Err(Invalid::new("ce-threshold", "this variant has no such threshold; take linux or ns3"));
    }
    if codel.l4s && codel.ce_threshold.is_none() {
        return Err(Invalid::new("l4s", "L4S packets are judged by ce-threshold: give that too"));
    }
    Ok(())
}

impl CobaltSpec {
    pub(super) fn settings(&self) -> cobalt::Settings {
        let Self { limit: _, target, interval, ecn, ce_threshold, blue_threshold } = *self;
        cobalt::Settings { target, interval, ecn, ce_threshold, blue_threshold }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_interval(self.interval)
    }
}
