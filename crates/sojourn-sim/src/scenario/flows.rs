//! Groups of background flows: what sends, over which transport, with which settings.

mod names;
mod packmime;
mod recorded;
mod sources;
mod tcp;
mod video;

pub use packmime::{HttpVersion, Packmime};
pub use recorded::{Recorded, Whose};
pub use sources::{Sessions, SourceSpec};
pub(super) use tcp::with_tcp_keys;
pub use tcp::{HyStart, Recovery, Stack, Tcp, Transport};
pub use video::Video;

use sojourn_net::{Span, refuse_if};

use super::{Access, Invalid, Path};
use crate::scenario::defaults::{count, secs};

pub use crate::engine::direction::Direction;

with_tcp_keys! {
    initial_window = "count::<10>";
    /// A group of background flows.
    pub struct Flows {
        /// Names the group in results and its random stream. By default the stream is `flows-N`, or `workload-N` in a
        /// workload, N from 0, and results name transport, direction and base round-trip time: `bbr-down-40ms`.
        pub name: Option<String>,
        /// What sends.
        pub source: SourceSpec,
        /// `udp` for sources that pace themselves (cbr, poisson, video, on-off), a TCP variant for the others.
        pub transport: Transport,
        /// Which way the data goes.
        pub direction: Direction,
        /// Number of flows, or of sessions.
        pub count: u32 = "count::<1>",
        /// This group's own base round-trip time; by default the path's.
        pub rtt: Option<Span>,
        /// Starts are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
        /// None of them starts earlier: `start-within` begins here. Not for sessions and recorded traffic.
        pub start: Option<Span>,
        /// When they stop. A bulk transfer is cut off at both ends at once; cbr and poisson send no more. Not for
        /// other sources.
        pub stop: Option<Span>,
        /// The hops that it crosses, by name, neighbours on the path; all if absent.
        pub over: Option<Vec<String>>,
        /// A link of its own for each sender, before its first hop.
        pub access: Option<Access>,
    }
}

/// Refuses a base round trip of a group's own that the delays between its hosts do not fit in.
pub(super) fn check_rtt(rtt: Option<Span>, between: Span) -> Result<(), Invalid> {
    let Some(rtt) = rtt.filter(|rtt| between * 2 > *rtt) else { return Ok(()) };
    let message = format!("{rtt} is less than the delays of the links that it crosses, {} there and back", between * 2);
    Err(Invalid::new("rtt", message))
}

/// Refuses a precision of scores that is none.
pub(crate) fn check_precision(key: &str, precision: Option<f64>) -> Result<(), Invalid> {
    let Some(precision) = precision.filter(|precision| !(0.01..=1.0).contains(precision)) else { return Ok(()) };
    Err(Invalid::new(key, format!("{precision} is no precision in MOS; write 0.01 to 1, or leave it out")))
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
    /// What its random streams are called; `place` is its place among the groups.
    pub(crate) fn stream_name(&self, place: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("flows-{place}"))
    }

    /// What results call the access links of all its senders together.
    pub(crate) fn access_name(&self, place: usize) -> String {
        format!("{}.access", self.stream_name(place))
    }

    /// The delays on its way that are not its hosts': of the hops that it crosses and of its access link.
    pub(crate) fn delay_on(&self, path: &Path) -> Result<Span, Invalid> {
        let hops = &path.hops[path.crossed(self.over.as_deref())?];
        let access = self.access.as_ref().map_or(Span::ZERO, |access| access.delay);
        Ok(hops.iter().fold(access, |sum, hop| sum + hop.delay))
    }

    /// Checks what depends on the path.
    pub(crate) fn check_on(&self, path: &Path, duration: Span) -> Result<(), Invalid> {
        let between = self.delay_on(path)?;
        if let Some(access) = &self.access {
            access.link().check(duration).map_err(|invalid| invalid.under("access"))?;
        }
        check_rtt(self.rtt, between)
    }

    /// Checks when they start and stop; `kind` is their source's.
    fn check_times(&self, kind: &str) -> Result<(), Invalid> {
        let starts_itself = ["sessions", "recorded"].contains(&kind) && self.start.is_some();
        refuse_if!(starts_itself, "start", "a {kind} source has times of its own; leave start out");
        let Some(stop) = self.stop else { return Ok(()) };
        let stops = ["bulk", "cbr", "poisson"].contains(&kind);
        refuse_if!(!stops, "stop", "a {kind} source cannot be stopped; only bulk, cbr and poisson can");
        let last = self.start.unwrap_or_default() + self.start_within;
        refuse_if!(stop <= last, "stop", "{stop} is not after the last start, at {last}: start + start-within");
        Ok(())
    }

    /// Checks ranges, and that source and transport go together.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        self.tcp().check()?;
        let udp = self.transport == Transport::Udp;
        let (kind, paces_itself) = self.source.check()?;
        self.check_times(kind)?;
        let message = match (udp, paces_itself) {
            (true, false) => format!("a {kind} source needs TCP to pace it; write reno, newreno or cubic, not udp"),
            (false, true) => format!("a {kind} source paces itself; write transport = \"udp\""),
            _ => return Ok(()),
        };
        Err(Invalid::new("transport", message))
    }
}
