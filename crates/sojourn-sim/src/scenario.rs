//! One complete scenario: a dumbbell with one bottleneck link in each direction, background flows, and users.
//!
//! This is the *document* of a point. Every default is filled in when it is read and written out again, so its JSON
//! describes the whole simulation and its hash can name the result. Keys and units are those of study files.

mod flows;
mod path;
mod rate;
mod users;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Limit, Span};

pub use sojourn_net::Invalid;
pub use sojourn_net::queue::QueueSpec;

pub use flows::{
    Direction, Flows, HttpVersion, HyStart, Packmime, Recovery, Sessions, SourceSpec, Stack, Tcp, Transport,
    Video as VideoTraffic,
};
pub use path::{LinkRule, LinkSpec, Path};
pub use rate::{RateDrawn, RateSpec, RateSteps, RateTrace};
pub use users::{
    Adaptive, Browser, CallDirection, ClipGenerated, ClipSizes, ClipSpec, Codec, Concealment, DelayModel, Playout,
    Profile, Resolution, ScoreMethod, TalkSpurts, Users, Video, Voice, Web,
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
    /// Links whose loss process is analysed into the result, whether or not the packet log is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Direction>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Record {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Scenario {
    /// A file whose content must be filled in before a run, if there is one.
    pub fn missing_file(&self) -> Option<&str> {
        let rates = [&self.path.down, &self.path.up].into_iter().filter_map(|link| link.rate.missing());
        rates.chain(self.flows.iter().filter_map(|group| group.source.missing())).next()
    }

    /// Checks what types cannot: ranges, and keys that must agree with one another.
    pub fn check(&self) -> Result<(), Invalid> {
        let Self { duration, warmup, path, flows, users, record: _ } = self;
        if *duration == Span::ZERO {
            return Err(Invalid::new("duration", "a run must last longer than zero"));
        }
        if warmup >= duration {
            let message = format!("a warm-up of {warmup} leaves nothing of a duration of {duration}");
            return Err(Invalid::new("warmup", message));
        }
        for (name, link) in [("path.down", &path.down), ("path.up", &path.up)] {
            if !(0.0..1.0).contains(&link.loss) {
                let message = format!("{} is not a share of packets; write 0 to below 1", link.loss);
                return Err(Invalid::new(format!("{name}.loss"), message));
            }
            link.rate.check(*duration).map_err(|invalid| invalid.under(&format!("{name}.rate")))?;
            if link.rule == LinkRule::Strict && link.burst.is_some() {
                return Err(Invalid::new(format!("{name}.burst"), "a burst needs rule = \"htb\""));
            }
            link.queue.check().map_err(|invalid| invalid.under(&format!("{name}.queue")))?;
            let limit = link.queue.limit();
            let needs_rate = matches!(limit, Limit::Time(_) | Limit::Bdp(_));
            if needs_rate && link.rate == RateSpec::Unlimited {
                let message = format!("a limit of {limit} needs a rate, but the link's is unlimited");
                return Err(Invalid::new(format!("{name}.queue.limit"), message));
            }
        }
        for (i, group) in flows.iter().enumerate() {
            group.check().map_err(|invalid| invalid.under(&format!("flows.{i}")))?;
        }
        for (i, user) in users.iter().enumerate() {
            user.check().map_err(|invalid| invalid.under(&format!("users.{i}")))?;
        }
        Ok(())
    }
}
