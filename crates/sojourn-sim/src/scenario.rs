//! One complete scenario: a dumbbell with one bottleneck link in each direction, background flows, and users.
//!
//! This is the *document* of a point. Every default is filled in when it is read and written out again, so its JSON
//! describes the whole simulation and its hash can name the result. Keys and units are those of study files.

mod flows;
mod queues;
mod users;

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_net::rate::RateProfile;
use sojourn_net::{Bytes, Limit, Rate, Span};

pub use flows::{Direction, Flows, HyStart, Sessions, SourceSpec, Tcp, Transport};
pub use queues::{
    CobaltSpec, CodelSpec, CodelVariant, DropFrom, FifoSpec, FqCodelSpec, PieSpec, PieVariant, QueueSpec, RedSpec,
    RedVariant, SfqCodelSpec, SfqSpec,
};
pub use users::{
    Adaptive, Browser, CallDirection, ClipGenerated, ClipSizes, ClipSpec, Codec, Concealment, DelayModel, Playout,
    ScoreMethod, Users, Voice, Web,
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
    /// The base round-trip time: both delays, both ways.
    pub fn rtt(&self) -> Span {
        (self.client_delay + self.server_delay) * 2
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
}

impl LinkSpec {
    /// The queue's limit as (most packets, most bytes) for a path of this base round-trip time.
    pub fn capacity(&self, rtt: Span) -> (u32, u64) {
        let rate = self.rate.profile().mean().unwrap_or(Rate(u64::MAX));
        self.queue.limit().resolve(rate, rtt)
    }
}

/// The rate of a link: `"16Mbit"`, `"unlimited"`, or `{ steps = [["0s", "16Mbit"], ["10s", "8Mbit"]], repeat = "20s" }`.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSpec(RateProfile);

/// A rate that changes at given times.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RateSteps {
    /// `[from, rate]` pairs in order of time, the first from `"0s"`.
    steps: Vec<(Span, Rate)>,
    /// Start again after this time; without it the last rate stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<Span>,
}

impl RateSpec {
    /// A constant rate.
    pub fn constant(rate: Rate) -> Self {
        Self(RateProfile::Constant(rate))
    }

    /// The rate over time, as links take it.
    pub fn profile(&self) -> &RateProfile {
        &self.0
    }
}

impl TryFrom<RateSteps> for RateSpec {
    type Error = String;

    fn try_from(RateSteps { steps, repeat }: RateSteps) -> Result<Self, String> {
        if steps.first().is_none_or(|(from, _)| *from != Span::ZERO) {
            return Err("the first of the steps must be from \"0s\"".to_owned());
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!("steps must be in order of time, but {} comes after {}", pair[1].0, pair[0].0));
        }
        let last = steps.last().map_or(Span::ZERO, |step| step.0);
        if let Some(repeat) = repeat.filter(|repeat| *repeat <= last) {
            return Err(format!("repeat = \"{repeat}\" must come after the last step, at {last}"));
        }
        Ok(Self(RateProfile::Steps { steps, repeat }))
    }
}

impl Serialize for RateSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            RateProfile::Constant(rate) => rate.serialize(serializer),
            RateProfile::Unlimited => serializer.serialize_str("unlimited"),
            RateProfile::Steps { steps, repeat } => {
                RateSteps { steps: steps.clone(), repeat: *repeat }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for RateSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateOrSteps;
        impl<'de> Visitor<'de> for RateOrSteps {
            type Value = RateSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a rate such as \"16Mbit\", \"unlimited\", or a table { steps = [[\"0s\", \"16Mbit\"], …] }",
                )
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RateSpec, E> {
                if text == "unlimited" {
                    return Ok(RateSpec(RateProfile::Unlimited));
                }
                text.parse().map(RateSpec::constant).map_err(E::custom)
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<RateSpec, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<RateSpec, E> {
                self.visit_str(&number.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RateSpec, A::Error> {
                let steps = RateSteps::deserialize(MapAccessDeserializer::new(map))?;
                steps.try_into().map_err(serde::de::Error::custom)
            }
        }
        deserializer.deserialize_any(RateOrSteps)
    }
}

impl JsonSchema for RateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkRate".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = generator.subschema_for::<RateSteps>();
        json_schema!({ "anyOf": [rate, { "const": "unlimited" }, steps] })
    }
}

/// What a run keeps beyond its summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Record {
    /// Keep the packet log.
    #[serde(default)]
    pub packets: bool,
}

impl Record {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What does not hold in a scenario, and the key where it shows (`path.down.loss`, `flows.0.count`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct Invalid {
    /// Dotted path of the key.
    pub key: String,
    /// What was found and what was expected.
    pub message: String,
}

impl Invalid {
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }

    /// The error as a sentence; without the key if that is not known.
    pub(crate) fn sentence(&self) -> String {
        if self.key.is_empty() { self.message.clone() } else { self.to_string() }
    }

    /// The same under an outer key.
    pub(crate) fn under(self, outer: &str) -> Self {
        Self { key: format!("{outer}.{}", self.key), ..self }
    }
}

impl Scenario {
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
            link.queue.check().map_err(|invalid| invalid.under(&format!("{name}.queue")))?;
            let limit = link.queue.limit();
            let needs_rate = matches!(limit, Limit::Time(_) | Limit::Bdp(_));
            if needs_rate && *link.rate.profile() == RateProfile::Unlimited {
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
