//! One complete scenario: a dumbbell with one bottleneck link in each direction, background flows, and users.
//!
//! This is the *document* of a point. Every default is filled in when it is read and written out again, so its JSON
//! describes the whole simulation and its hash can name the result. Keys and units are those of study files.

mod buffer;
mod content;
pub(crate) mod defaults;
mod flows;
mod hops;
mod limit;
mod link;
mod path;
mod provenance;
mod rate;
mod traffic;
mod users;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::quote::quoted;
use sojourn_net::{Span, refuse_if};

pub use sojourn_net::Invalid;
pub use sojourn_net::queue::QueueSpec;

pub use buffer::Buffer;
pub(crate) use flows::check_precision;
pub use flows::{
    Direction, Flows, HttpVersion, HyStart, Packmime, Recorded, Recovery, Sessions, SourceSpec, Stack, Tcp, Transport,
    Video as VideoTraffic, Whose,
};
pub use hops::{Access, Hop};
pub use limit::QueueLimit;
pub use link::{LinkRule, LinkSpec};
pub use path::{LinkOf, Path};
pub use provenance::Provenance;
pub use rate::{RateDrawn, RateSpec, RateSteps, RateTrace};
pub use traffic::{Phase, TrafficRecord};
pub use users::{
    Adaptive, Browser, Call, CallDirection, Class, ClipGenerated, ClipSizes, ClipSpec, CloudGaming, Codec, Concealment,
    DelayModel, Gaming, Household, Http3Server, HttpOfPage, LowLatency, Median, Opus, Page, Playout, Profile,
    Resolution, Responsiveness, ScoreMethod, TalkSpurts, Users, Video, Voice, Web, household,
};

/// One complete scenario, every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    /// Simulated time, warm-up included.
    pub duration: Span,
    /// Time at the beginning that every statistic leaves out.
    #[serde(default)]
    pub warmup: Span,
    /// The bottleneck and what surrounds it.
    pub path: Path,
    /// Background traffic.
    #[serde(default)]
    pub flows: Vec<Flows>,
    /// Those whose experience is scored.
    #[serde(default)]
    pub users: Vec<Users>,
    /// What is kept beyond the summaries.
    #[serde(default, skip_serializing_if = "Record::is_default")]
    pub record: Record,
}

/// What a run keeps beyond its summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Record {
    /// Keep the packet log.
    #[serde(default)]
    pub packets: bool,
    /// Keep the table of connections: a row for each with its bytes, losses, window, threshold and round-trip time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub flows: bool,
    /// Keep the series: windows, rates and round-trip times of flows, and the queues, over time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub series: bool,
    /// Time between two samples of the series; 50 ms by default, or as much more as keeps it to 12 000 samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_step: Option<Span>,
    /// Links, by the names that results give them, whose loss process is analysed into the result, whether or not the
    /// packet log is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<String>,
    /// What each group of flows and users did at links: goodput, queueing delay and drops, as distributions and by
    /// phase, analysed into the result whether or not the packet log is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficRecord>,
}

/// Most samples of a series.
const MOST_SAMPLES: u64 = 12_000;

/// The shortest step, in whole milliseconds, that makes no more.
fn least_step(duration: Span) -> Span {
    Span(duration.0.div_ceil(MOST_SAMPLES).div_ceil(1_000_000) * 1_000_000)
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Record {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Time between two samples of the series of a run.
    pub fn step(&self, duration: Span) -> Span {
        self.series_step.unwrap_or(Span::from_millis(50).max(least_step(duration)))
    }

    fn check(&self, duration: Span) -> Result<(), Invalid> {
        match self.series_step {
            Some(_) if !self.series => Err(Invalid::new("series-step", "needs series = true")),
            Some(Span::ZERO) => Err(Invalid::new("series-step", "must be longer than zero")),
            Some(step) if duration.0 / step.0 > MOST_SAMPLES => {
                let least = least_step(duration);
                let message =
                    format!("{step} in {duration} is more than {MOST_SAMPLES} samples; write {least} or more");
                Err(Invalid::new("series-step", message))
            }
            _ => Ok(()),
        }
    }
}

/// The packet log has a byte for the code of a link.
const MOST_LINKS: usize = 255;
/// More senders with access links than this are taken for a slip.
const MOST_ACCESS_LINKS: u64 = 10_000;

impl Scenario {
    /// A file whose content must be filled in before a run, if there is one.
    pub fn missing_file(&self) -> Option<&str> {
        let access = self.flows.iter().filter_map(|group| group.access.as_ref()).map(|access| &access.rate);
        let rates = self.path.links().map(|link| &link.spec.rate).chain(access).filter_map(RateSpec::missing);
        rates.chain(self.flows.iter().filter_map(|group| group.source.missing())).next()
    }

    /// Checks what types cannot: ranges, and keys that must agree with one another.
    pub fn check(&self) -> Result<(), Invalid> {
        let Self { duration, warmup, path, flows, users, record } = self;
        refuse_if!(*duration == Span::ZERO, "duration", "a run must last longer than zero");
        refuse_if!(warmup >= duration, "warmup", "a warm-up of {warmup} leaves nothing of a duration of {duration}");
        path.check(*duration)?;
        record.check(*duration).map_err(|invalid| invalid.under("record"))?;
        for (i, group) in flows.iter().enumerate() {
            let checked = group.check().and_then(|()| group.check_on(path, *duration));
            checked.map_err(|invalid| invalid.under(&format!("flows.{i}")))?;
        }
        for (i, user) in users.iter().enumerate() {
            let checked = user.check().and_then(|()| user.check_on(path));
            checked.map_err(|invalid| invalid.under(&format!("users.{i}")))?;
        }
        let senders: u64 =
            flows.iter().filter(|group| group.access.is_some()).map(|group| u64::from(group.count)).sum();
        if senders > MOST_ACCESS_LINKS {
            let message =
                format!("{senders} senders with an access link of their own are more than {MOST_ACCESS_LINKS}");
            return Err(Invalid::new("flows", message));
        }
        let names = self.link_names();
        refuse_if!(names.len() > MOST_LINKS, "path", "{} links are more than {MOST_LINKS}", names.len());
        let followed = record.traffic.iter().flat_map(|traffic| &traffic.links).enumerate();
        let named = record.losses.iter().enumerate().map(|(i, name)| (format!("record.losses.{i}"), name));
        for (key, name) in named.chain(followed.map(|(i, name)| (format!("record.traffic.links.{i}"), name))) {
            let known = names.contains(name);
            refuse_if!(!known, key, "{} is not a link; this path has {}", quoted(name), names.join(", "));
        }
        record.traffic.as_ref().map_or(Ok(()), |traffic| traffic.check(*duration))
    }

    /// True if a packet crosses one link each way, and no more.
    pub fn has_one_queue(&self) -> bool {
        self.path.hops.len() == 1 && self.flows.iter().all(|group| group.access.is_none())
    }

    /// The names of all links, in the order of their codes in the packet log: those of the path, then one for all the
    /// access links of a group of flows.
    pub fn link_names(&self) -> Vec<String> {
        let access = self.flows.iter().enumerate().filter(|(_, group)| group.access.is_some());
        self.path.links().map(|link| link.name()).chain(access.map(|(i, group)| group.access_name(i))).collect()
    }
}
