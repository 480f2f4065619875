//! Queues in front of links: a struct of settings for each kind of discipline, and the discipline built from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{
    self, Cobalt, Codel, Fifo, FqCodel, QueueDiscipline, Sfq, SfqCodel, cobalt, codel, fq_codel, sfq, sfq_codel,
};
use sojourn_net::{Bytes, Limit, Packet, Span};

use super::Invalid;

/// The queue in front of a link: discipline and limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum QueueSpec {
    /// First in, first out; what does not fit is dropped.
    Fifo(FifoSpec),
    /// CoDel: drops from the head what has waited too long for too long.
    Codel(CodelSpec),
    /// FQ-CoDel: flows take turns, each with its own CoDel.
    FqCodel(FqCodelSpec),
    /// COBALT: CoDel that forgets slowly, with BLUE against floods.
    Cobalt(CobaltSpec),
    /// SFQ-CoDel of ns-2: bins take turns, each with its own CoDel.
    SfqCodel(SfqCodelSpec),
    /// Stochastic fairness queueing: flows take turns.
    Sfq(SfqSpec),
}

/// First in, first out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FifoSpec {
    /// How much it holds.
    pub limit: Limit,
    /// Which packet is dropped when it is full.
    #[serde(default)]
    pub drop: DropFrom,
}

/// Which end of a full queue loses a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    /// The packet that arrives.
    #[default]
    Tail,
    /// The packet that has waited longest.
    Head,
}

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
    /// Mark ECN-capable packets that waited longer than this (`linux` and `ns3`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
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
    /// Mark ECN-capable packets that waited longer than this (`linux` and `ns3`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
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
    /// Let BLUE drop more when packets wait longer than this (ns-3: 400ms).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blue_threshold: Option<Span>,
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
}

fn target() -> Span {
    Span::from_millis(5)
}

fn interval() -> Span {
    Span::from_millis(100)
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

fn linux() -> CodelVariant {
    CodelVariant::Linux
}

fn yes() -> bool {
    true
}

impl QueueSpec {
    /// How much the queue holds.
    pub fn limit(&self) -> Limit {
        match self {
            Self::Fifo(spec) => spec.limit,
            Self::Codel(spec) => spec.limit,
            Self::FqCodel(spec) => spec.limit,
            Self::Cobalt(spec) => spec.limit,
            Self::SfqCodel(spec) => spec.limit,
            Self::Sfq(spec) => spec.limit,
        }
    }

    /// The discipline, holding at most so many packets and bytes; `MAX` of the type means no limit.
    pub fn build<P: Packet + Send + 'static>(&self, max_packets: u32, max_bytes: u64) -> Box<dyn QueueDiscipline<P>> {
        match self {
            Self::Fifo(spec) => Box::new(Fifo::new(max_packets, max_bytes, spec.drop.into())),
            Self::Codel(spec) => Box::new(Codel::new(max_packets, max_bytes, &spec.settings())),
            Self::FqCodel(spec) => Box::new(FqCodel::new(max_packets, max_bytes, &spec.settings())),
            Self::Cobalt(spec) => Box::new(Cobalt::new(max_packets, max_bytes, &spec.settings())),
            Self::SfqCodel(spec) => Box::new(SfqCodel::new(max_packets, max_bytes, &spec.settings())),
            Self::Sfq(spec) => Box::new(Sfq::new(max_packets, max_bytes, &spec.settings())),
        }
    }

    /// Checks what types cannot.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Fifo(_) => Ok(()),
            Self::Codel(spec) => check_codel(spec.interval, &spec.settings()),
            Self::FqCodel(spec) => spec.check(),
            Self::Cobalt(spec) => check_interval(spec.interval),
            Self::SfqCodel(spec) => spec.check(),
            Self::Sfq(spec) => check_lines("flows", spec.flows).and_then(|()| check_quantum(spec.quantum)),
        }
    }
}

fn check_interval(interval: Span) -> Result<(), Invalid> {
    if interval < Span(2048) {
        return Err(Invalid::new("interval", format!("{interval} is too short an interval; write at least \"3us\"")));
    }
    Ok(())
}

fn check_lines(key: &str, lines: u32) -> Result<(), Invalid> {
    if !(1..=65536).contains(&lines) {
        return Err(Invalid::new(key, format!("{lines} lines; write 1 to 65536")));
    }
    Ok(())
}

fn check_quantum(quantum: Bytes) -> Result<(), Invalid> {
    if quantum < Bytes(64) {
        return Err(Invalid::new("quantum", format!("a quantum of {quantum} is too small; write at least \"64B\"")));
    }
    Ok(())
}

fn check_codel(interval: Span, codel: &codel::Settings) -> Result<(), Invalid> {
    check_interval(interval)?;
    if codel.ecn && !codel.variant.has_ecn() {
        return Err(Invalid::new("ecn", "this variant cannot mark; take rfc8289, linux or ns3"));
    }
    if codel.ce_threshold.is_some() && !codel.variant.has_ce_threshold() {
        return Err(Invalid::new("ce-threshold", "this variant has no such threshold; take linux or ns3"));
    }
    Ok(())
}

impl From<DropFrom> for queue::DropFrom {
    fn from(drop: DropFrom) -> Self {
        match drop {
            DropFrom::Tail => Self::Tail,
            DropFrom::Head => Self::Head,
        }
    }
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
    fn settings(&self) -> codel::Settings {
        let Self { limit: _, target, interval, variant, ecn, ce_threshold } = *self;
        let variant = variant.into();
        codel::Settings { variant, target, interval, ecn, ce_threshold, ..codel::Settings::default() }
    }
}

impl FqCodelSpec {
    fn settings(&self) -> fq_codel::Settings {
        let Self { limit: _, flows, quantum, target, interval, variant, ecn, ce_threshold } = *self;
        let variant = variant.into();
        let codel = codel::Settings { variant, target, interval, ecn, ce_threshold, ..codel::Settings::default() };
        fq_codel::Settings { codel, flows, quantum: quantum.0.min(u64::from(u32::MAX)) as u32 }
    }

    fn check(&self) -> Result<(), Invalid> {
        check_lines("flows", self.flows)?;
        check_quantum(self.quantum)?;
        check_codel(self.interval, &self.settings().codel)
    }
}

impl CobaltSpec {
    fn settings(&self) -> cobalt::Settings {
        let Self { limit: _, target, interval, ecn, blue_threshold } = *self;
        cobalt::Settings { target, interval, ecn, blue_threshold }
    }
}

impl SfqCodelSpec {
    fn settings(&self) -> sfq_codel::Settings {
        let Self { limit: _, bins, quantum, target, interval } = *self;
        let default = sfq_codel::Settings::default();
        let codel = codel::Settings { target, interval, ..default.codel };
        sfq_codel::Settings { codel, bins, quantum: quantum.0.min(u64::from(u32::MAX)) as u32 }
    }

    fn check(&self) -> Result<(), Invalid> {
        check_lines("bins", self.bins)?;
        if (1..64).contains(&self.quantum.0) {
            let message = format!("a quantum of {} is too small; write \"0B\" or at least \"64B\"", self.quantum);
            return Err(Invalid::new("quantum", message));
        }
        check_interval(self.interval)
    }
}

impl SfqSpec {
    fn settings(&self) -> sfq::Settings {
        let Self { limit: _, flows, quantum } = *self;
        sfq::Settings { flows, quantum: quantum.0.min(u64::from(u32::MAX)) as u32 }
    }
}
