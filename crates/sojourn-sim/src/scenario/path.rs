//! The path between clients and servers: delays, and the queues that packets cross.
//!
//! Study files write one queue each way as `path.down` and `path.up`, several in a row as `[[path.hop]]`. Both are hops
//! here; the plain form is one hop without a name or a delay of its own.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use sojourn_net::queue::QueueSpec;
use sojourn_net::{Bytes, Limit, Rate, Span};

use super::hops::{Hop, check_names};
use super::{Direction, Invalid, RateSpec};

/// Clients, one hop or several in a row, servers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "PathFile")]
pub struct Path {
    /// One-way delay between clients and the first hop that they cross.
    pub client_delay: Span,
    /// One-way delay between the last hop and servers.
    pub server_delay: Span,
    /// From the clients to the servers; never empty.
    pub hops: Vec<Hop>,
}

/// `[path]` as study files write it: delays on both sides, or the round trip.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Path")]
struct PathFile {
    /// One-way delay between a client and the first hop that it crosses.
    client_delay: Option<Span>,
    /// One-way delay between the last hop and a server.
    server_delay: Option<Span>,
    /// Base round-trip time, instead of the two delays: what the hops do not take of it is split evenly.
    rtt: Option<Span>,
    /// Towards the clients, if there is one queue each way.
    down: Option<LinkSpec>,
    /// Towards the servers, if there is one queue each way.
    up: Option<LinkSpec>,
    /// Several queues in a row: the hops, from the clients to the servers.
    hop: Option<Vec<Hop>>,
}

impl TryFrom<PathFile> for Path {
    type Error = String;

    fn try_from(mut file: PathFile) -> Result<Self, String> {
        let hops = file.hops()?;
        let of_hops = hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.delay);
        let half = |rtt: Span| Span(rtt.0 / 2);
        let (client_delay, server_delay) = match (file.client_delay, file.server_delay, file.rtt) {
            (Some(client), Some(server), rtt) => {
                let round_trip = (client + server + of_hops) * 2;
                if let Some(rtt) = rtt.filter(|rtt| *rtt != round_trip) {
                    let and_hops = if of_hops > Span::ZERO { " + the hops' delays" } else { "" };
                    return Err(format!(
                        "rtt = \"{rtt}\" disagrees with the delays: twice client-delay + server-delay{and_hops} is \
                         {round_trip}; give one or the other"
                    ));
                }
                (client, server)
            }
            (.., Some(rtt)) if of_hops > half(rtt) => {
                return Err(format!("the hops' delays of {of_hops} each way do not fit in rtt = \"{rtt}\""));
            }
            (None, None, Some(rtt)) => {
                let left = half(rtt) - of_hops;
                (half(left), left - half(left))
            }
            (Some(one), None, Some(rtt)) | (None, Some(one), Some(rtt)) if one + of_hops > half(rtt) => {
                return Err(format!("a delay of {one} each way does not fit in rtt = \"{rtt}\""));
            }
            (Some(client), None, Some(rtt)) => (client, half(rtt) - of_hops - client),
            (None, Some(server), Some(rtt)) => (half(rtt) - of_hops - server, server),
            _ => return Err("give client-delay and server-delay, or rtt".to_owned()),
        };
        Ok(Self { client_delay, server_delay, hops })
    }
}

impl PathFile {
    /// Takes the hops out, whichever way they are written.
    fn hops(&mut self) -> Result<Vec<Hop>, String> {
        match (self.hop.take(), self.down.take(), self.up.take()) {
            (Some(hops), None, None) if hops.is_empty() => {
                Err("path.hop is empty; write at least one [[path.hop]], or down and up".to_owned())
            }
            (Some(hops), None, None) => Ok(hops),
            (Some(_), down, _) => {
                let other = if down.is_some() { "down" } else { "up" };
                Err(format!(
                    "the path has both hop and {other}; write [[path.hop]] for several queues in a row, or down and up for one each way"
                ))
            }
            (None, Some(down), Some(up)) => Ok(vec![Hop { name: String::new(), delay: Span::ZERO, up, down }]),
            (None, None, _) => Err("missing field `down`".to_owned()),
            (None, Some(_), None) => Err("missing field `up`".to_owned()),
        }
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("client-delay", &self.client_delay)?;
        map.serialize_entry("server-delay", &self.server_delay)?;
        if self.is_plain() {
            map.serialize_entry("down", &self.hops[0].down)?;
            map.serialize_entry("up", &self.hops[0].up)?;
        } else {
            map.serialize_entry("hop", &self.hops)?;
        }
        map.end()
    }
}

impl JsonSchema for Path {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        PathFile::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = PathFile::json_schema(generator);
        let forms = json_schema!({ "oneOf": [{ "required": ["down", "up"] }, { "required": ["hop"] }] });
        schema.ensure_object().extend(forms.as_object().cloned().unwrap_or_default());
        schema
    }
}

/// A link of the path.
#[derive(Clone, Copy, Debug)]
pub struct LinkOf<'p> {
    /// The hop.
    pub hop: &'p Hop,
    /// Which way.
    pub direction: Direction,
    /// The link.
    pub spec: &'p LinkSpec,
}

impl LinkOf<'_> {
    /// What results call it: `home.up`, or `up` on a path with one queue each way.
    pub fn name(&self) -> String {
        let way = self.direction.name();
        if self.hop.name.is_empty() { way.to_owned() } else { format!("{}.{way}", self.hop.name) }
    }

    /// Its key in a study file, which names its random streams too: `path.hop.home.up`, or `path.up`.
    pub fn key(&self) -> String {
        let hop = if self.hop.name.is_empty() { "path" } else { "path.hop" };
        format!("{hop}.{}", self.name())
    }
}

impl Path {
    /// True if it has one queue each way and no hops.
    pub fn is_plain(&self) -> bool {
        self.hops.len() == 1 && self.hops[0].name.is_empty()
    }

    /// The links: hop by hop, the one down before the one up. This is the order of their codes in the packet log.
    pub fn links(&self) -> impl Iterator<Item = LinkOf<'_>> {
        self.hops.iter().flat_map(|hop| {
            let of = |direction| LinkOf { hop, direction, spec: hop.link(direction) };
            Direction::BOTH.map(of)
        })
    }

    /// The base round-trip time over all hops: every delay, both ways, and what queues add whatever the load.
    pub fn rtt(&self) -> Span {
        let hops = self
            .hops
            .iter()
            .fold(Span::ZERO, |sum, hop| sum + hop.delay * 2 + hop.down.queue.delay() + hop.up.queue.delay());
        (self.client_delay + self.server_delay) * 2 + hops
    }

    /// Checks what types cannot.
    pub(super) fn check(&self, duration: Span) -> Result<(), Invalid> {
        if !self.is_plain() {
            check_names(&self.hops)?;
        }
        self.links().try_for_each(|link| link.spec.check(duration).map_err(|invalid| invalid.under(&link.key())))
    }
}

/// A queue, and the link behind it.
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
    /// Checks ranges, and keys that must agree with one another.
    pub(super) fn check(&self, duration: Span) -> Result<(), Invalid> {
        if !(0.0..1.0).contains(&self.loss) {
            let message = format!("{} is not a share of packets; write 0 to below 1", self.loss);
            return Err(Invalid::new("loss", message));
        }
        self.rate.check(duration).map_err(|invalid| invalid.under("rate"))?;
        if self.rule == LinkRule::Strict && self.burst.is_some() {
            return Err(Invalid::new("burst", "a burst needs rule = \"htb\""));
        }
        self.queue.check().map_err(|invalid| invalid.under("queue"))?;
        let limit = self.queue.limit();
        let needs_rate = matches!(limit, Limit::Time(_) | Limit::Bdp(_));
        if needs_rate && self.rate == RateSpec::Unlimited {
            let message = format!("a limit of {limit} needs a rate, but the link's is unlimited");
            return Err(Invalid::new("queue.limit", message));
        }
        Ok(())
    }

    /// The queue's limit as (most packets, most bytes) for a path of this base round-trip time: a limit in time or BDP
    /// goes by this link's own rate.
    pub fn capacity(&self, rtt: Span) -> (u32, u64) {
        let rate = self.rate.mean().unwrap_or(Rate(u64::MAX));
        self.queue.limit().resolve(rate, rtt)
    }
}
