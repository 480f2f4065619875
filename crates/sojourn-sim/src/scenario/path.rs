//! The path between clients and servers: delays, and the queues that packets cross.
//!
//! Study files write one queue each way as `path.down` and `path.up`, several in a row as `[[path.hop]]`. Both are hops
//! here; the plain form is one hop without a name or a delay of its own.

use std::ops::RangeInclusive;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use sojourn_net::Span;
use sojourn_net::queue::QueueSpec;
use sojourn_net::quote::quoted;

use super::hops::{Hop, HopFile, check_names};
use super::link::{LinkFile, LinkSpec};
use super::{Direction, Invalid};

/// What an application takes to read on average, unless a study says it: half of the times are shorter than 20 µs, as
/// between Linux hosts of one machine (`tcp::reader`).
const READING: Span = Span(29_000);

/// Clients, one hop or several in a row, servers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "PathFile")]
pub struct Path {
    /// One-way delay between clients and the first hop that they cross.
    pub client_delay: Span,
    /// One-way delay between the last hop and servers.
    pub server_delay: Span,
    /// The most that a packet's way from its last link to its host takes longer, uniformly from nothing.
    pub jitter: Span,
    /// What an application takes to read what has arrived, on average, where the stack waits for it.
    pub reading: Span,
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
    /// The most that a packet's way from its last link to its host takes longer, uniformly from nothing and in order:
    /// hosts answer in different times. It breaks ties between packets that no network of real hosts has.
    #[serde(default)]
    #[schemars(extend("default" = "0ns"))]
    jitter: Span,
    /// What an application takes to read what has arrived, on average: acknowledgements of `stack = "linux"` wait for
    /// it. Its times are exponential. Between Linux hosts 7 to 56 µs were measured, the less the busier they are.
    #[serde(default = "reading")]
    #[schemars(extend("default" = "29us"))]
    reading: Span,
    /// The queue of all links, each with its own packets; a link's own `queue` goes before it.
    queue: Option<QueueSpec>,
    /// Towards the clients, if there is one queue each way.
    down: Option<LinkFile>,
    /// Towards the servers, if there is one queue each way.
    up: Option<LinkFile>,
    /// Several queues in a row: the hops, from the clients to the servers.
    hop: Option<Vec<HopFile>>,
}

fn reading() -> Span {
    READING
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
        Ok(Self { client_delay, server_delay, jitter: file.jitter, reading: file.reading, hops })
    }
}

impl PathFile {
    /// Takes the hops out, whichever way they are written.
    fn hops(&mut self) -> Result<Vec<Hop>, String> {
        let shared = self.queue.as_ref();
        match (self.hop.take(), self.down.take(), self.up.take()) {
            (Some(hops), None, None) if hops.is_empty() => {
                Err("path.hop is empty; write at least one [[path.hop]], or down and up".to_owned())
            }
            (Some(hops), None, None) => hops.into_iter().map(|hop| hop.with(shared)).collect(),
            (Some(_), down, _) => {
                let other = if down.is_some() { "down" } else { "up" };
                Err(format!(
                    "the path has both hop and {other}; write [[path.hop]] for several queues in a row, or down and up for one each way"
                ))
            }
            (None, Some(down), Some(up)) => {
                let (down, up) = (down.with("down", shared)?, up.with("up", shared)?);
                Ok(vec![Hop { name: String::new(), delay: Span::ZERO, up, down }])
            }
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
        if self.jitter > Span::ZERO {
            map.serialize_entry("jitter", &self.jitter)?;
        }
        if self.reading != READING {
            map.serialize_entry("reading", &self.reading)?;
        }
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

    /// The hops that a group crosses, by place, from the clients to the servers: those that it names, which must be
    /// neighbours on the path, or all.
    pub fn crossed(&self, over: Option<&[String]>) -> Result<RangeInclusive<usize>, Invalid> {
        let Some(over) = over else { return Ok(0..=self.hops.len() - 1) };
        let wrong = |message: String| Err(Invalid::new("over", message));
        if self.is_plain() {
            return wrong("the path has one queue each way and no hops to name; leave over out".to_owned());
        }
        let all = self.hops.iter().map(|hop| hop.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut places = Vec::new();
        for name in over {
            match self.hops.iter().position(|hop| hop.name == *name) {
                Some(place) if places.contains(&place) => return wrong(format!("{} is named twice", quoted(name))),
                Some(place) => places.push(place),
                None => return wrong(format!("{} is not a hop; the path has {all}", quoted(name))),
            }
        }
        places.sort_unstable();
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return wrong(format!("names no hop; the path has {all}, and all are crossed if over is left out"));
        };
        if last - first + 1 != places.len() {
            let names = over.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
            return wrong(format!("{names} are not neighbours on the path, which has {all}"));
        }
        Ok(*first..=*last)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_reading_that_is_the_usual_one_makes_no_other_document() {
        let document = |reading: &str| {
            let link = r#"{ "rate": "1Mbit" }"#;
            let file = format!(
                r#"{{ "rtt": "30ms", "queue": {{ "kind": "codel" }}, {reading} "down": {link}, "up": {link} }}"#
            );
            serde_json::to_value(serde_json::from_str::<Path>(&file).unwrap()).unwrap()
        };
        assert_eq!(document(r#""reading": "29us","#), document(""));
        assert_eq!(document(r#""reading": "0ns","#)["reading"], "0s");
    }
}
