//! Queues in front of links: a struct of settings for each kind of discipline, and the discipline built from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{
    self, AdaptiveRed, Cobalt, Codel, Fifo, FqCodel, Pie, PieConfig, QueueDiscipline, Red, RedConfig, Sfq, SfqCodel,
    cobalt, codel, fq_codel, sfq, sfq_codel,
};
use sojourn_net::{Bytes, Limit, Packet, Rate, Span};

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
    /// PIE: drops arrivals with a probability that a timer steers by the queueing delay.
    Pie(PieSpec),
    /// RED, or Adaptive RED: drops arrivals with a probability that grows with the average queue.
    Red(RedSpec),
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

/// PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PieSpec {
    /// How much it holds.
    pub limit: Limit,
    /// Whose PIE.
    #[serde(default)]
    pub variant: PieVariant,
    /// Queueing delay aimed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,
    /// Time between two updates of the probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Span>,
    /// How long a burst gets in after a calm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Span>,
}

/// Published PIEs; what is not given has the variant's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PieVariant {
    /// RFC 8033.
    #[default]
    Rfc8033,
    /// Linux `sch_pie`.
    Linux,
    /// The authors' ns-2 code of 2013.
    Ns2Authors,
}

/// RED and Adaptive RED, in packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RedSpec {
    /// How much it holds.
    pub limit: Limit,
    /// Whose RED.
    #[serde(default)]
    pub variant: RedVariant,
    /// Move the greatest probability so that the average stays between the thresholds.
    #[serde(default)]
    pub adaptive: bool,
    /// Queueing delay aimed at, where the lower threshold is not given.
    #[serde(default = "target")]
    pub target: Span,
    /// Lower threshold in packets; by default from the target and the link's rate, and at least 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Upper threshold in packets; by default three times the lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Probability at the upper threshold, at first.
    #[serde(default = "tenth")]
    pub max_p: f64,
    /// Rise to 1 between one and two upper thresholds instead of jumping.
    #[serde(default = "yes")]
    pub gentle: bool,
    /// Mean packet size.
    #[serde(default = "mean_packet")]
    pub mean_packet: Bytes,
    /// Rate that it takes for the link's, where the link's varies or is not known to it; by default the link's mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Published REDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedVariant {
    /// ns-2.35.
    #[default]
    Ns2,
    /// The papers of 1993 and 2001.
    Paper,
}

fn tenth() -> f64 {
    0.1
}

fn mean_packet() -> Bytes {
    Bytes(500)
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
            Self::Pie(spec) => spec.limit,
            Self::Red(spec) => spec.limit,
            Self::Sfq(spec) => spec.limit,
        }
    }

    /// The discipline, holding at most so many packets and bytes (`MAX` of the type means no limit), on a link of this rate.
    pub fn build<P: Packet + Send + 'static>(
        &self,
        (max_packets, max_bytes): (u32, u64),
        rate: Rate,
    ) -> Box<dyn QueueDiscipline<P>> {
        match self {
            Self::Pie(spec) => Box::new(Pie::new(PieConfig { max_packets, max_bytes, ..spec.settings() })),
            Self::Red(spec) => {
                let rate = spec.rate.unwrap_or(rate);
                Box::new(Red::new(RedConfig { max_packets, max_bytes, rate, ..spec.settings() }))
            }
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
            Self::Pie(spec) => spec.check(),
            Self::Red(spec) => spec.check(),
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

impl PieSpec {
    fn settings(&self) -> PieConfig {
        let default = PieConfig::of(match self.variant {
            PieVariant::Rfc8033 => queue::PieVariant::Rfc8033,
            PieVariant::Linux => queue::PieVariant::Linux,
            PieVariant::Ns2Authors => queue::PieVariant::Ns2Authors,
        });
        PieConfig {
            target: self.target.unwrap_or(default.target),
            update: self.update.unwrap_or(default.update),
            burst: self.burst.unwrap_or(default.burst),
            ..default
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        for (key, span) in [("target", self.target), ("update", self.update)] {
            if span == Some(Span::ZERO) {
                return Err(Invalid::new(key, "must be longer than zero"));
            }
        }
        Ok(())
    }
}

impl RedSpec {
    fn settings(&self) -> RedConfig {
        let default = match self.variant {
            RedVariant::Ns2 => RedConfig::default(),
            RedVariant::Paper => RedConfig::paper(),
        };
        RedConfig {
            target: self.target,
            min_threshold: self.min,
            max_threshold: self.max,
            max_p: self.max_p,
            gentle: self.gentle,
            mean_packet: self.mean_packet.0.clamp(1, 65_535) as u32,
            adaptive: self.adaptive.then(AdaptiveRed::default),
            ..default
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        if !(0.0..=1.0).contains(&self.max_p) || self.max_p == 0.0 {
            return Err(Invalid::new("max-p", format!("{} is not a probability above 0", self.max_p)));
        }
        let least = self.min.unwrap_or(f64::MIN_POSITIVE);
        if !(least.is_finite() && least > 0.0 && self.max.is_none_or(|max| max.is_finite() && max > least)) {
            return Err(Invalid::new("min", "thresholds are packets: min above 0, max above min"));
        }
        if self.max.is_some() && self.min.is_none() {
            return Err(Invalid::new("max", "an upper threshold needs a lower one: give min too"));
        }
        Ok(())
    }
}

impl SfqSpec {
    fn settings(&self) -> sfq::Settings {
        let Self { limit: _, flows, quantum } = *self;
        sfq::Settings { flows, quantum: quantum.0.min(u64::from(u32::MAX)) as u32 }
    }
}
