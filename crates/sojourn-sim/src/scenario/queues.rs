//! Queues in front of links: a struct of settings for each kind of discipline, and the discipline built from it.
//!
//! A key that is absent has the default that its description names, or the one of the published variant.

mod codel;
mod fair;
mod pie;
mod red;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::{
    self, Cake, Cobalt, Codel, DualPi2, DualPi2Config, Fifo, FqCodel, FqPie, Netem, Pie, PieConfig, QueueDiscipline,
    Red, RedConfig, Sfq, SfqCodel,
};
use sojourn_net::{Bytes, Limit, Packet, Rate, Span};

pub use codel::{CobaltSpec, CodelSpec, CodelVariant};
pub use fair::{CakeSpec, FqCodelSpec, FqPieSpec, HashSpec, SfqCodelSpec, SfqSpec};
pub use pie::{DualPi2Spec, PieDelay, PieSpec, PieVariant};
pub use red::{RedAveraging, RedSpec, RedVariant};

use super::Invalid;

/// The queue in front of a link: discipline and limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[serde(expecting = "a table such as { kind = \"fifo\", limit = \"64pkt\" }")]
pub enum QueueSpec {
    /// First in, first out; what does not fit is dropped.
    Fifo(FifoSpec),
    /// netem: a delay and a queue in one, as below Mininet's links; the limit counts packets that wait out their delay, too.
    Netem(NetemSpec),
    /// CoDel: drops from the head what has waited too long for too long.
    Codel(CodelSpec),
    /// FQ-CoDel: flows take turns, each with its own CoDel.
    FqCodel(FqCodelSpec),
    /// COBALT: CoDel that forgets slowly, with BLUE against floods.
    Cobalt(CobaltSpec),
    /// CAKE without its shaper: flows isolated by a set-associative hash, sparse ones first, each with its own COBALT.
    Cake(CakeSpec),
    /// SFQ-CoDel of ns-2: bins take turns, each with its own CoDel.
    SfqCodel(SfqCodelSpec),
    /// PIE: drops arrivals with a probability that a timer steers by the queueing delay.
    Pie(PieSpec),
    /// FQ-PIE: flows take turns, each with its own PIE.
    FqPie(FqPieSpec),
    /// DualPI2: one queue for classic and one for L4S traffic, with a coupled controller.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Spec),
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

/// A delay and a queue in one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetemSpec {
    /// How much it holds, what only waits out its delay included; a BDP counts the delay too.
    pub limit: Limit,
    /// Time that a packet spends inside at least, beside the path's own delays.
    #[serde(default)]
    pub delay: Span,
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

impl From<DropFrom> for queue::DropFrom {
    fn from(drop: DropFrom) -> Self {
        match drop {
            DropFrom::Tail => Self::Tail,
            DropFrom::Head => Self::Head,
        }
    }
}

impl QueueSpec {
    /// How much the queue holds.
    pub fn limit(&self) -> Limit {
        match self {
            Self::Fifo(spec) => spec.limit,
            Self::Netem(spec) => spec.limit,
            Self::Codel(spec) => spec.limit,
            Self::FqCodel(spec) => spec.limit,
            Self::Cobalt(spec) => spec.limit,
            Self::Cake(spec) => spec.limit,
            Self::SfqCodel(spec) => spec.limit,
            Self::Pie(spec) => spec.limit,
            Self::FqPie(spec) => spec.limit,
            Self::DualPi2(spec) => spec.limit,
            Self::Red(spec) => spec.limit,
            Self::Sfq(spec) => spec.limit,
        }
    }

    /// Time that every packet spends in it, whatever the load.
    pub fn delay(&self) -> Span {
        match self {
            Self::Netem(spec) => spec.delay,
            _ => Span::ZERO,
        }
    }

    /// The discipline, holding at most so many packets and bytes (`MAX` of the type means no limit), on a link of this rate.
    pub fn build<P: Packet + Send + 'static>(
        &self,
        (max_packets, max_bytes): (u32, u64),
        rate: Rate,
    ) -> Box<dyn QueueDiscipline<P>> {
        match self {
            Self::Fifo(spec) => Box::new(Fifo::new(max_packets, max_bytes, spec.drop.into())),
            Self::Netem(spec) => Box::new(Netem::new(max_packets, max_bytes, spec.delay)),
            Self::Codel(spec) => Box::new(Codel::new(max_packets, max_bytes, &spec.settings())),
            Self::FqCodel(spec) => {
                let max_bytes = max_bytes.min(spec.memory.map_or(u64::MAX, |memory| memory.0));
                Box::new(FqCodel::new(max_packets, max_bytes, &spec.settings()))
            }
            Self::Cobalt(spec) => Box::new(Cobalt::new(max_packets, max_bytes, &spec.settings())),
            Self::Cake(spec) => Box::new(Cake::new(max_packets, max_bytes, &spec.settings())),
            Self::SfqCodel(spec) => Box::new(SfqCodel::new(max_packets, max_bytes, &spec.settings())),
            Self::Pie(spec) => Box::new(Pie::new(PieConfig { max_packets, max_bytes, ..spec.settings() })),
            Self::FqPie(spec) => {
                let config = spec.settings();
                let pie = PieConfig { max_packets, max_bytes, ..config.pie };
                Box::new(FqPie::new(queue::FqPieConfig { pie, ..config }))
            }
            Self::DualPi2(spec) => Box::new(DualPi2::new(DualPi2Config { max_packets, max_bytes, ..spec.settings() })),
            Self::Red(spec) => {
                let rate = spec.rate.unwrap_or(rate);
                Box::new(Red::new(RedConfig { max_packets, max_bytes, rate, ..spec.settings() }))
            }
            Self::Sfq(spec) => Box::new(Sfq::new(max_packets, max_bytes, &spec.settings())),
        }
    }

    /// Whether settings that were left out follow from the link's rate.
    pub(crate) fn needs_rate(&self) -> bool {
        matches!(self, Self::Red(spec) if spec.needs_rate())
    }

    /// Checks what types cannot.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Fifo(_) | Self::Netem(_) => Ok(()),
            Self::Codel(spec) => spec.check(),
            Self::FqCodel(spec) => spec.check(),
            Self::Cobalt(spec) => spec.check(),
            Self::Cake(spec) => spec.check(),
            Self::SfqCodel(spec) => spec.check(),
            Self::Pie(spec) => spec.check(),
            Self::FqPie(spec) => spec.check(),
            Self::DualPi2(spec) => spec.check(),
            Self::Red(spec) => spec.check(),
            Self::Sfq(spec) => spec.check(),
        }
    }
}

/// Bytes that a discipline counts in 32 bits.
fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

fn check_interval(interval: Span) -> Result<(), Invalid> {
    if interval < Span(2048) {
        return Err(Invalid::new("interval", format!("{interval} is too short an interval; write at least \"3us\"")));
    }
    Ok(())
}

/// Refuses packets of no size.
fn check_packet(key: &str, size: Option<Bytes>) -> Result<(), Invalid> {
    match size {
        Some(Bytes(size)) if !(1..=65_535).contains(&size) => {
            Err(Invalid::new(key, format!("a packet of {}; write \"1B\" to \"65535B\"", Bytes(size))))
        }
        _ => Ok(()),
    }
}

/// Refuses what is no probability.
fn check_probability(key: &str, p: Option<f64>) -> Result<(), Invalid> {
    match p {
        Some(p) if !(0.0..=1.0).contains(&p) => {
            Err(Invalid::new(key, format!("{p} is not a probability; write 0 to 1")))
        }
        _ => Ok(()),
    }
}

/// Refuses numbers below zero and such that are no numbers.
fn check_gain(key: &str, gain: Option<f64>) -> Result<(), Invalid> {
    match gain {
        Some(gain) if !(gain.is_finite() && gain >= 0.0) => {
            Err(Invalid::new(key, format!("{gain} is not a gain; write 0 or more")))
        }
        _ => Ok(()),
    }
}

/// Refuses times of no length.
fn check_spans(spans: &[(&str, Option<Span>)]) -> Result<(), Invalid> {
    match spans.iter().find(|(_, span)| *span == Some(Span::ZERO)) {
        Some((key, _)) => Err(Invalid::new(*key, "must be longer than zero")),
        None => Ok(()),
    }
}

/// Refuses timers that would do nothing but fire.
fn check_update(update: Option<Span>) -> Result<(), Invalid> {
    match update {
        Some(span) if span < Span(1000) => {
            Err(Invalid::new("update", format!("{span} is too short a time between updates; write at least \"1us\"")))
        }
        _ => Ok(()),
    }
}
