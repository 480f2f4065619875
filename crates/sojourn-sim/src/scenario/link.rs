//! One link: its rate, the queue in front of it, and what it loses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::QueueSpec;
use sojourn_net::{Bytes, Limit, Rate, Span, refuse_if};

use super::{Invalid, QueueLimit, RateSpec};

/// One link as study files write it: its queue may be that of the path.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "LinkSpec")]
pub(super) struct LinkFile {
    /// How fast it sends.
    rate: RateSpec,
    /// The queue in front of it; by default the path's.
    queue: Option<QueueSpec>,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    overhead: Bytes,
    /// Share of packets lost at random before the queue (cause `path`).
    #[serde(default)]
    loss: f64,
    /// How the link keeps its rate.
    #[serde(default)]
    rule: LinkRule,
    /// With the rule `htb`: bytes of tokens that an idle link saves up, 1600 if absent.
    #[serde(default)]
    burst: Option<Bytes>,
}

impl LinkFile {
    /// The link called `name`, with the path's queue if it has none of its own.
    pub(super) fn with(self, name: &str, shared: Option<&QueueSpec>) -> Result<LinkSpec, String> {
        let Self { rate, queue, overhead, loss, rule, burst } = self;
        let queue = queue.or_else(|| shared.cloned()).ok_or_else(|| {
            format!(
                "missing field `queue`: path.{name} has none, and path has none for all; write one such as \
                 queue = {{ kind = \"fifo\", limit = \"64pkt\" }}"
            )
        })?;
        Ok(LinkSpec { rate, queue, overhead, loss, rule, burst })
    }
}

/// A queue, and the link behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkSpec {
    /// How fast it sends.
    pub rate: RateSpec,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// Bytes that the link layer adds to each packet.
    pub overhead: Bytes,
    /// Share of packets lost at random before the queue (cause `path`).
    pub loss: f64,
    /// How the link keeps its rate.
    #[serde(skip_serializing_if = "LinkRule::is_default")]
    pub rule: LinkRule,
    /// With the rule `htb`: bytes of tokens that an idle link saves up, 1600 if absent.
    pub burst: Option<Bytes>,
}

/// How a link keeps its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkRule {
    /// One packet at a time: it has arrived when its last bit has been sent.
    #[default]
    Strict,
    /// By tokens, as Linux's `htb`: a packet has arrived when its transmission starts, and an idle link passes `burst`
    /// at once.
    Htb,
}

impl LinkRule {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl LinkSpec {
    /// Checks ranges, and keys that must agree with one another.
    pub(super) fn check(&self, duration: Span) -> Result<(), Invalid> {
        let loss = self.loss;
        refuse_if!(!(0.0..1.0).contains(&loss), "loss", "{loss} is not a share of packets; write 0 to below 1");
        self.rate.check(duration).map_err(|invalid| invalid.under("rate"))?;
        refuse_if!(self.rule == LinkRule::Strict && self.burst.is_some(), "burst", "a burst needs rule = \"htb\"");
        self.queue.check().map_err(|invalid| invalid.under("queue"))?;
        let limit = self.queue.limit();
        let lacks_rate = matches!(limit, Limit::Time(_) | Limit::Bdp(_)) && self.rate == RateSpec::Unlimited;
        refuse_if!(lacks_rate, "queue.limit", "a limit of {limit} needs a rate, but the link's is unlimited");
        Ok(())
    }

    /// What its queue holds at most, for a path of this base round-trip time; None without a limit, or where the limit
    /// goes by a rate that is not known.
    pub fn holds(&self, rtt: Span) -> Option<QueueLimit> {
        let relative = matches!(self.queue.limit(), Limit::Time(_) | Limit::Bdp(_));
        let rate = self.rate.mean();
        (rate.is_some() || !relative).then(|| QueueLimit::new(self.capacity(rtt), rate))?
    }

    /// The queue's limit as (most packets, most bytes) for a path of this base round-trip time: a limit in time or BDP
    /// goes by this link's own rate.
    pub fn capacity(&self, rtt: Span) -> (u32, u64) {
        let rate = self.rate.mean().unwrap_or(Rate(u64::MAX));
        self.queue.limit().resolve(rate, rtt)
    }
}
