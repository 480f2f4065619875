//! Groups of background flows: what sends, over which transport, with which settings.

mod packmime;
mod recorded;
mod sources;
mod tcp;
mod video;

pub use packmime::{HttpVersion, Packmime};
pub use recorded::Recorded;
pub use sources::{Sessions, SourceSpec};
pub(super) use tcp::with_tcp_keys;
pub use tcp::{HyStart, Recovery, Stack, Tcp, Transport};
pub use video::Video;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::Span;

use super::Invalid;

pub use crate::engine::direction::Direction;

with_tcp_keys! {
    initial_window = 10;
    /// A group of background flows.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct Flows {
        /// Names the group's random stream; by default `flows-N`, or `workload-N` in a workload, N from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// What sends.
        pub source: SourceSpec,
        /// `udp` for sources that pace themselves (cbr, poisson, video, on-off), a TCP variant for the others.
        pub transport: Transport,
        /// Which way the data goes.
        pub direction: Direction,
        /// Number of flows, or of sessions.
        #[serde(default = "one")]
        pub count: u32,
        /// This group's own base round-trip time; by default the path's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub rtt: Option<Span>,
        /// Starts are spread uniformly over this time.
        #[serde(default = "start_within")]
        pub start_within: Span,
    }
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn start_within() -> Span {
    Span::from_secs(1)
}

/// More of anything than this is taken for a slip.
const MANY: u32 = 100_000;

/// Refuses a number outside 1 to `MANY`.
pub(super) fn check_count(key: &str, count: u32) -> Result<(), Invalid> {
    match count {
        0 => Err(Invalid::new(key, "must be at least 1; leave the entry out to have none")),
        1..=MANY => Ok(()),
        _ => Err(Invalid::new(key, format!("{count} is more than {MANY}"))),
    }
}

impl Flows {
    /// Checks ranges, and that source and transport go together.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        self.tcp().check()?;
        let udp = self.transport == Transport::Udp;
        let (kind, paces_itself) = self.source.check()?;
        match (udp, paces_itself) {
            (true, false) => Err(Invalid::new(
                "transport",
                format!("a {kind} source needs TCP to pace it; write reno, newreno or cubic, not udp"),
            )),
            (false, true) => {
                Err(Invalid::new("transport", format!("a {kind} source paces itself; write transport = \"udp\"")))
            }
            _ => Ok(()),
        }
    }
}
