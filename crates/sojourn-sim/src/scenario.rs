//! One complete scenario: a dumbbell with one bottleneck link in each direction, background flows, and users.
//!
//! This is the *document* of a point. Every default is filled in when it is read and written out again, so its JSON
//! describes the whole simulation and its hash can name the result. Keys and units are those of study files.

mod flows;
mod rate;
mod users;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Limit, Rate, Span};

pub use sojourn_net::Invalid;
pub use sojourn_net::queue::QueueSpec;

pub use flows::{
    Direction, Flows, HttpVersion, HyStart, Packmime, Recorded, Recovery, Sessions, SourceSpec, Stack, Tcp, Transport,
    Video as VideoTraffic,
};
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

/// The dumbbell: clients, a bottleneck in each direction, servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "PathFile")]
pub struct Path {
    /// One-way delay between clients and the bottleneck.
    pub client_delay: Span,
    /// One-way delay between the bottleneck and servers.
    pub server_delay: Span,
    /// Towards the clients.
    pub down: LinkSpec,
    /// Towards the servers.
    pub up: LinkSpec,
}

/// `[path]` as study files write it: delays on both sides, or the round trip.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Path")]
struct PathFile {
    /// One-way delay between clients and the bottleneck.
    client_delay: Option<Span>,
    /// One-way delay between the bottleneck and servers.
    server_delay: Option<Span>,
    /// Base round-trip time, instead of the two delays: a quarter of it on each side, each way.
    rtt: Option<Span>,
    /// Towards the clients.
    down: LinkSpec,
    /// Towards the servers.
    up: LinkSpec,
}

impl TryFrom<PathFile> for Path {
    type Error = String;

    fn try_from(file: PathFile) -> Result<Self, String> {
        let half = |rtt: Span| Span(rtt.0 / 2);
        let (client_delay, server_delay) = match (file.client_delay, file.server_delay, file.rtt) {
            (Some(client), Some(server), rtt) => {
                let round_trip = (client + server) * 2;
                if let Some(rtt) = rtt.filter(|rtt| *rtt != round_trip) {
                    return Err(format!(
                        "rtt = \"{rtt}\" disagrees with the delays: twice client-delay + server-delay is {round_trip}; \
                         give one or the other"
                    ));
                }
                (client, server)
            }
            (None, None, Some(rtt)) => (half(half(rtt)), half(rtt) - half(half(rtt))),
            (Some(one), None, Some(rtt)) | (None, Some(one), Some(rtt)) if one > half(rtt) => {
                return Err(format!("a delay of {one} each way does not fit in rtt = \"{rtt}\""));
            }
            (Some(client), None, Some(rtt)) => (client, half(rtt) - client),
            (None, Some(server), Some(rtt)) => (half(rtt) - server, server),
            _ => return Err("give client-delay and server-delay, or rtt".to_owned()),
        };
        Ok(Self { client_delay, server_delay, down: file.down, up: file.up })
    }
}

impl JsonSchema for Path {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        PathFile::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PathFile::json_schema(generator)
    }
}

impl Path {
    /// The base round-trip time: both delays, both ways, and what queues add whatever the load.
    pub fn rtt(&self) -> Span {
        (self.client_delay + self.server_delay) * 2 + self.down.queue.delay() + self.up.queue.delay()
    }
}

/// One direction of the bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkSpec {
    /// How fast it sends.
    pub rate: RateSpec,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    pub overhead: Bytes,
    /// Share of packets lost at random before the queue (cause `path`).
    #[serde(default)]
    pub loss: f64,
    /// How the link keeps its rate.
    #[serde(default, skip_serializing_if = "LinkRule::is_default")]
    pub rule: LinkRule,
    /// With the rule `htb`: bytes of tokens that an idle link saves up, 1600 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// The queue's limit as (most packets, most bytes) for a path of this base round-trip time.
    pub fn capacity(&self, rtt: Span) -> (u32, u64) {
        let rate = self.rate.mean().unwrap_or(Rate(u64::MAX));
        self.queue.limit().resolve(rate, rtt)
    }
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
