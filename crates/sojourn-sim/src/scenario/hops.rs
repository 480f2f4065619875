//! Hops in a row, which of them a group crosses, and the access link that each sender of a group has to itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::queue::QueueSpec;
use sojourn_net::quote::quoted;
use sojourn_net::{Bytes, Span, refuse_if};

use super::link::{LinkFile, LinkSpec};
use super::{Direction, Invalid, RateSpec};

/// One hop as study files write it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Hop")]
pub(super) struct HopFile {
    /// What keys and results call it.
    name: String,
    /// One-way delay of the hop itself, behind its queue, the same in both directions.
    #[serde(default)]
    delay: Span,
    /// Towards the servers.
    up: LinkFile,
    /// Towards the clients.
    down: LinkFile,
}

impl HopFile {
    /// The hop, its links with the path's queue where they have none of their own.
    pub(super) fn with(self, shared: Option<&QueueSpec>) -> Result<Hop, String> {
        let Self { name, delay, up, down } = self;
        let key = |way: &str| format!("hop.{}.{way}", quoted(&name));
        let (up, down) = (up.with(&key("up"), shared)?, down.with(&key("down"), shared)?);
        Ok(Hop { name, delay, up, down })
    }
}

/// One hop of a path: a link each way, with a queue in front of each.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hop {
    /// What keys and results call it; empty in the path that has one queue each way and no hops.
    pub name: String,
    /// One-way delay of the hop itself, behind its queue, the same in both directions.
    pub delay: Span,
    /// Towards the servers.
    pub up: LinkSpec,
    /// Towards the clients.
    pub down: LinkSpec,
}

impl Hop {
    /// The link of a direction.
    pub fn link(&self, direction: Direction) -> &LinkSpec {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

/// More hops than this are taken for a slip.
const MOST_HOPS: usize = 100;

/// Checks the names of the hops of a path.
pub(super) fn check_names(hops: &[Hop]) -> Result<(), Invalid> {
    refuse_if!(hops.len() > MOST_HOPS, "path.hop", "{} hops are more than {MOST_HOPS}", hops.len());
    for (i, hop) in hops.iter().enumerate() {
        let name = &hop.name;
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) || name.len() > 50 {
            let message =
                format!("{} is not the name of a hop; write a letter, then letters, digits, - or _", quoted(name));
            return Err(Invalid::new(format!("path.hop.{i}.name"), message));
        }
        let twice = hops[..i].iter().any(|other| other.name == *name);
        refuse_if!(twice, format!("path.hop.{i}.name"), "two hops are named {}; names must differ", quoted(name));
    }
    Ok(())
}

/// A link that each sender of a group has to itself, before the first hop that it crosses. What comes back to the
/// sender has the same delay and no queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Access {
    /// How fast it sends.
    pub rate: RateSpec,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// One-way delay behind it, the same in both directions.
    #[serde(default)]
    pub delay: Span,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    pub overhead: Bytes,
    /// Share of packets lost at random before the queue (cause `path`).
    #[serde(default)]
    pub loss: f64,
}

impl Access {
    /// The link, as those of hops are described.
    pub fn link(&self) -> LinkSpec {
        let Self { rate, queue, delay: _, overhead, loss } = self.clone();
        LinkSpec { rate, queue, overhead, loss, rule: Default::default(), burst: None }
    }
}
