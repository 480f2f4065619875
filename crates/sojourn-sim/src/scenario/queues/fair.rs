//! Study keys of the disciplines that queue flows apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{FqPieConfig, Hash, cake, cobalt, codel, fq_codel, sfq, sfq_codel};
use sojourn_net::{Bytes, Limit, Span};

use super::super::Invalid;
use super::codel::{CodelVariant, check as check_codel, interval, target};
use super::pie::{PieVariant, with_pie_keys};
use super::{check_interval, check_packet, count};

/// How flows are spread over lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HashSpec {
    /// By a well mixed hash with a salt of each replication's own.
    #[default]
    Salted,
    /// By the flow's number modulo the lines: to say in a replay who shares a line with whom.
    Plain,
}

impl From<HashSpec> for Hash {
    fn from(hash: HashSpec) -> Self {
        match hash {
            HashSpec::Salted => Self::Salted,
            HashSpec::Plain => Self::Plain,
        }
    }
}

/// FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FqCodelSpec {
    /// How much it holds, all flows together.
    #[serde(default = "many")]
    pub limit: Limit,
    /// Lines that flows are spread over by a hash.
    #[serde(default = "lines")]
    pub flows: u32,
    /// Bytes that a flow may send in a round.
    #[serde(default = "quantum")]
    pub quantum: Bytes,
    /// Waiting time that is acceptable.
    #[serde(default = "target")]
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    #[serde(default = "interval")]
    pub interval: Span,
    /// Whose CoDel.
    #[serde(default = "linux")]
    pub variant: CodelVariant,
    /// Mark ECN-capable packets instead of dropping them.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Mark ECN-capable packets that waited longer than this (`linux` and `ns3`); never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
    /// Judge ECT(1) and CE packets by `ce-threshold` alone, and others not by it (default false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l4s: Option<bool>,
    /// Lines with no more bytes than this are left alone (default 1500B); the ns-2 variants and `acmq2012` learn it from the packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// Most bytes that it holds, beside `limit`; no such limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Most packets that one overflow takes from the fattest flow (default 64).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_batch: Option<u32>,
    /// Lines in a set, of which a flow takes a free one; 1, the default, means that it has no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// How flows are spread over the lines (default salted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<HashSpec>,
}

/// SFQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SfqCodelSpec {
    /// How much it holds, all bins together.
    pub limit: Limit,
    /// Bins that flows are spread over by a hash.
    #[serde(default = "lines")]
    pub bins: u32,
    /// Bytes that a bin may send in a round; `"0B"` means one packet.
    #[serde(default)]
    pub quantum: Bytes,
    /// Waiting time that is acceptable.
    #[serde(default = "target")]
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    #[serde(default = "interval")]
    pub interval: Span,
    /// How flows are spread over the bins (default salted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<HashSpec>,
}

/// Stochastic fairness queueing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SfqSpec {
    /// How much it holds, all flows together.
    pub limit: Limit,
    /// Lines that flows are spread over by a hash.
    #[serde(default = "lines")]
    pub flows: u32,
    /// Bytes that a flow may send in a round.
    #[serde(default = "quantum")]
    pub quantum: Bytes,
    /// How flows are spread over the lines (default salted).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<HashSpec>,
}

/// CAKE without its shaper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct CakeSpec {
    /// How much it holds, all flows together.
    pub limit: Limit,
    /// Lines that flows are spread over by a hash.
    pub flows: u32,
    /// Lines in a set, of which a flow takes a free one.
    pub ways: u32,
    /// How flows are spread over the lines.
    pub hash: HashSpec,
    /// Bytes that a flow may send in a round.
    pub quantum: Bytes,
    /// Waiting time that is acceptable.
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them, except by BLUE.
    pub ecn: bool,
}

impl Default for CakeSpec {
    fn default() -> Self {
        let cake::Settings { cobalt, flows, quantum, hash: _, ways } = cake::Settings::default();
        let cobalt::Settings { target, interval, ecn, .. } = cobalt;
        let quantum = Bytes(u64::from(quantum));
        Self { limit: many(), flows, ways, hash: HashSpec::Salted, quantum, target, interval, ecn }
    }
}

with_pie_keys! {
    variant = "linux_pie";
    /// FQ-PIE.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct FqPieSpec {
        /// How much it holds, all flows together.
        #[serde(default = "many")]
        pub limit: Limit,
        /// Lines that flows are spread over by a hash.
        #[serde(default = "lines")]
        pub flows: u32,
        /// Bytes that a flow may send in a round.
        #[serde(default = "quantum")]
        pub quantum: Bytes,
        /// Lines in a set, of which a flow takes a free one; 1 means that it has no choice.
        #[serde(default = "one")]
        pub ways: u32,
        /// How flows are spread over the lines.
        #[serde(default)]
        pub hash: HashSpec,
    }
}

fn many() -> Limit {
    Limit::Packets(10240)
}

fn lines() -> u32 {
    1024
}

fn quantum() -> Bytes {
    Bytes(1514)
}

fn one() -> u32 {
    1
}

fn linux() -> CodelVariant {
    CodelVariant::Linux
}

fn linux_pie() -> PieVariant {
    PieVariant::Linux
}

fn yes() -> bool {
    true
}

fn check_lines(key: &str, lines: u32) -> Result<(), Invalid> {
    if !(1..=65536).contains(&lines) {
        return Err(Invalid::new(key, format!("{lines} lines; write 1 to 65536")));
    }
    Ok(())
}

fn check_ways(ways: u32, flows: u32) -> Result<(), Invalid> {
    if ways == 0 || !flows.is_multiple_of(ways) {
        let message = format!("sets of {ways} lines do not fill {flows} lines; write a divisor of flows");
        return Err(Invalid::new("ways", message));
    }
    Ok(())
}

fn check_quantum(quantum: Bytes) -> Result<(), Invalid> {
    if quantum < Bytes(64) {
        return Err(Invalid::new("quantum", format!("a quantum of {quantum} is too small; write at least \"64B\"")));
    }
    Ok(())
}

impl FqCodelSpec {
    pub(super) fn settings(&self) -> fq_codel::Settings {
        let default = fq_codel::Settings::default();
        let codel = codel::Settings {
            variant: self.variant.into(),
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            l4s: self.l4s.unwrap_or(default.codel.l4s),
            mtu: self.mtu.map_or(default.codel.mtu, count),
        };
        fq_codel::Settings {
            codel,
            flows: self.flows,
            quantum: count(self.quantum),
            drop_batch: self.drop_batch.unwrap_or(default.drop_batch),
            hash: self.hash.unwrap_or_default().into(),
            ways: self.ways.unwrap_or(default.ways),
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_lines("flows", self.flows)?;
        check_ways(self.ways.unwrap_or(1), self.flows)?;
        check_quantum(self.quantum)?;
        check_packet("mtu", self.mtu)?;
        if self.drop_batch == Some(0) {
            return Err(Invalid::new("drop-batch", "an overflow must drop something; write 1 or more"));
        }
        check_codel(&self.settings().codel)
    }
}

impl SfqCodelSpec {
    pub(super) fn settings(&self) -> sfq_codel::Settings {
        let Self { limit: _, bins, quantum, target, interval, hash } = *self;
        let default = sfq_codel::Settings::default();
        let codel = codel::Settings { target, interval, ..default.codel };
        sfq_codel::Settings { codel, bins, quantum: count(quantum), hash: hash.unwrap_or_default().into() }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_lines("bins", self.bins)?;
        if (1..64).contains(&self.quantum.0) {
            let message = format!("a quantum of {} is too small; write \"0B\" or at least \"64B\"", self.quantum);
            return Err(Invalid::new("quantum", message));
        }
        check_interval(self.interval)
    }
}

impl SfqSpec {
    pub(super) fn settings(&self) -> sfq::Settings {
        let Self { limit: _, flows, quantum, hash } = *self;
        sfq::Settings { flows, quantum: count(quantum), hash: hash.unwrap_or_default().into() }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_lines("flows", self.flows)?;
        check_quantum(self.quantum)
    }
}

impl CakeSpec {
    pub(super) fn settings(&self) -> cake::Settings {
        let Self { limit: _, flows, ways, hash, quantum, target, interval, ecn } = *self;
        let default = cake::Settings::default();
        let cobalt = cobalt::Settings { target, interval, ecn, ..default.cobalt };
        cake::Settings { cobalt, flows, quantum: count(quantum), hash: hash.into(), ways }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_lines("flows", self.flows)?;
        check_ways(self.ways, self.flows)?;
        check_quantum(self.quantum)?;
        check_interval(self.interval)
    }
}

impl FqPieSpec {
    pub(super) fn settings(&self) -> FqPieConfig {
        let Self { flows, ways, hash, .. } = *self;
        FqPieConfig { pie: self.pie(), flows, quantum: count(self.quantum), hash: hash.into(), ways }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_lines("flows", self.flows)?;
        check_ways(self.ways, self.flows)?;
        check_quantum(self.quantum)?;
        self.check_pie()
    }
}
