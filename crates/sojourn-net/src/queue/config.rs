//! The settings of a discipline are the keys of a study file: what each `Config` can do, and checks of single keys.

use super::discipline::QueueDiscipline;
use crate::{Bytes, Invalid, Limit, Packet, Rate, Span, refuse_if};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of one discipline, beside its limit.
pub(super) trait Config: Clone + Default + Serialize {
    /// The limit if none is given; without one it must be given.
    const LIMIT: Option<Limit> = None;

    /// The delays at which it acts, by their keys, on a link of this rate: a queue that never gets so long starves it.
    fn acts_at(&self, _: Rate) -> Vec<(&'static str, Option<Span>)> {
        Vec::new()
    }

    /// The defaults of each published variant, that of [`Default`] first.
    fn variants() -> Vec<Self> {
        vec![Self::default()]
    }

    /// Checks what types cannot.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// The discipline, holding at most `limit` packets and bytes (`MAX` of the type means no limit), on a link of this
    /// rate.
    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), rate: Rate) -> Box<dyn QueueDiscipline<P>>;
}

/// The settings of a discipline with its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Limited<C> {
    /// How much it holds, all flows together.
    pub limit: Limit,
    /// The discipline's own settings.
    #[serde(flatten)]
    pub config: C,
}

/// Bytes that a discipline counts in 32 bits.
pub(super) fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

pub(super) fn check_interval(interval: Span) -> Result<(), Invalid> {
    refuse_if!(interval < Span(2048), "interval", "{interval} is too short an interval; write at least \"3us\"");
    Ok(())
}

/// Rejects packets of no size.
pub(super) fn check_packet(key: &str, size: Bytes) -> Result<(), Invalid> {
    refuse_if!(!(1..=65_535).contains(&size.0), key, "a packet of {size}; write \"1B\" to \"65535B\"");
    Ok(())
}

/// Rejects what is no probability.
pub(super) fn check_probability(key: &str, p: f64) -> Result<(), Invalid> {
    refuse_if!(!(0.0..=1.0).contains(&p), key, "{p} is not a probability; write 0 to 1");
    Ok(())
}

/// Rejects negative and non-finite values.
pub(super) fn check_gain(key: &str, gain: f64) -> Result<(), Invalid> {
    refuse_if!(!(gain.is_finite() && gain >= 0.0), key, "{gain} is not a gain; write 0 or more");
    Ok(())
}

/// Rejects times of no length.
pub(super) fn check_span(key: &str, span: Span) -> Result<(), Invalid> {
    refuse_if!(span == Span::ZERO, key, "must be longer than zero");
    Ok(())
}

/// Rejects timers that would do nothing but fire.
pub(super) fn check_update(update: Span) -> Result<(), Invalid> {
    refuse_if!(update < Span(1000), "update", "{update} is too short a time between updates; write at least \"1us\"");
    Ok(())
}

/// Rejects numbers of queues that are none, or too many.
pub(super) fn check_queues(key: &str, queues: u32) -> Result<(), Invalid> {
    refuse_if!(!(1..=65536).contains(&queues), key, "{queues} lines; write 1 to 65536");
    Ok(())
}

/// Rejects sets that do not fill the queues.
pub(super) fn check_ways(ways: u32, flows: u32) -> Result<(), Invalid> {
    let fill = ways > 0 && flows.is_multiple_of(ways);
    refuse_if!(!fill, "ways", "sets of {ways} lines do not fill {flows} lines; write a divisor of flows");
    Ok(())
}

pub(super) fn check_quantum(quantum: Bytes) -> Result<(), Invalid> {
    refuse_if!(quantum < Bytes(64), "quantum", "a quantum of {quantum} is too small; write at least \"64B\"");
    Ok(())
}
