//! What is asked about the traffic of groups: at which links, sampled how often, in which phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::quote::quoted;
use sojourn_net::{Span, refuse_if};

use super::Invalid;

/// `record.traffic`: goodput, queueing delay and drops of each group of flows and users at links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrafficRecord {
    /// Links, by the names that results give them.
    pub links: Vec<String>,
    /// Time over which goodput is taken for one sample; ten base round-trip times of the path if absent (RFC 7928).
    pub sample: Option<Span>,
    /// Phases that are summed up by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
}

/// A time of the run, or one that comes again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Phase {
    /// What results call it.
    pub name: String,
    /// When it begins, in simulated time.
    pub from: Span,
    /// When it ends.
    pub to: Span,
    /// After this time it comes again.
    pub every: Option<Span>,
}

impl TrafficRecord {
    /// Checks what types cannot; that the links exist is checked with the others.
    pub(super) fn check(&self, duration: Span) -> Result<(), Invalid> {
        let empty = self.links.is_empty();
        refuse_if!(empty, "record.traffic.links", "names no link; write at least one, such as [\"down\"]");
        refuse_if!(self.sample == Some(Span::ZERO), "record.traffic.sample", "must be longer than zero");
        for (i, phase) in self.phases.iter().enumerate() {
            let Phase { name, from, to, every } = phase;
            let key = format!("record.traffic.phases.{i}");
            let twice = self.phases[..i].iter().any(|other| other.name == *name);
            refuse_if!(twice, format!("{key}.name"), "two phases are named {}", quoted(name));
            let never = from >= to || *from >= duration;
            refuse_if!(never, key, "from {from} to {to} is no time of a run of {duration}");
            if let Some(every) = every.filter(|every| *every < *to - *from) {
                let message = format!("{every} is shorter than the phase, {}", *to - *from);
                return Err(Invalid::new(format!("{key}.every"), message));
            }
        }
        Ok(())
    }
}
