//! What groups of flows are called in results.
//!
//! A group has the name that the study gives it. Without one its name is made of what tells it apart: transport,
//! direction and base round-trip time, `bbr-down-40ms`; of several that are alike the second ends in `-2`.

use crate::scenario::{Flows, Hop, Scenario};
use sojourn_net::Span;

impl Scenario {
    /// Base round-trip time of a group's hosts: its own or the path's, and what queues add whatever the load.
    pub fn base_rtt(&self, flows: &Flows) -> Span {
        let path = &self.path;
        let access = flows.access.as_ref().map_or(Span::ZERO, |access| access.delay);
        let between = self.crossed(flows).iter().fold(access, |sum, hop| sum + hop.delay);
        flows.rtt.unwrap_or((path.client_delay + path.server_delay + between) * 2) + self.delay_of_queues(flows)
    }

    /// What the queues that a group crosses add to a round trip, whatever the load (`netem`).
    pub fn delay_of_queues(&self, flows: &Flows) -> Span {
        let each = |hop: &Hop| hop.down.queue.delay() + hop.up.queue.delay();
        self.crossed(flows).iter().fold(Span::ZERO, |sum, hop| sum + each(hop))
    }

    fn crossed(&self, flows: &Flows) -> &[Hop] {
        let path = &self.path;
        path.crossed(flows.over.as_deref()).map_or(&path.hops[..], |crossed| &path.hops[crossed])
    }

    /// The name of each group of flows, all different.
    pub fn group_names(&self) -> Vec<String> {
        let given = |flows: &Flows| flows.name.clone().filter(|name| !is_placeholder(name));
        let mut names: Vec<String> = self.flows.iter().filter_map(given).collect();
        self.flows
            .iter()
            .map(|flows| {
                given(flows).unwrap_or_else(|| {
                    let transport = serde_json::to_value(flows.transport).unwrap_or_default();
                    let transport = transport.as_str().unwrap_or_default();
                    let made = format!("{transport}-{}-{}", flows.direction.name(), text(self.base_rtt(flows)));
                    let numbered = (2..).map(|n| format!("{made}-{n}"));
                    let name = std::iter::once(made.clone()).chain(numbered).find(|name| !names.contains(name));
                    names.extend(name.clone());
                    name.unwrap_or(made)
                })
            })
            .collect()
    }
}

/// True for `flows-N` and `workload-N`, which groups without a name get for their random streams.
fn is_placeholder(name: &str) -> bool {
    let number = name.strip_prefix("flows-").or_else(|| name.strip_prefix("workload-"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A time without a decimal point, which separates the keys of a result.
fn text(time: Span) -> String {
    match time.0 {
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns if ns % 1_000 == 0 => format!("{}us", ns / 1_000),
        ns => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn names(flows: &Value) -> Vec<String> {
        let link = json!({ "rate": "1Mbit", "queue": { "kind": "fifo", "limit": "9pkt" } });
        let scenario: Scenario = serde_json::from_value(
            json!({ "duration": "1s", "path": { "rtt": "25ms", "down": link, "up": link }, "flows": flows }),
        )
        .unwrap();
        scenario.group_names()
    }

    fn bulk(name: &str, transport: &str, rtt: &str) -> Value {
        let mut group =
            json!({ "source": { "kind": "bulk" }, "transport": transport, "direction": "down", "name": name });
        if !rtt.is_empty() {
            group["rtt"] = rtt.into();
        }
        group
    }

    #[test]
    fn a_group_has_its_name_or_one_that_says_what_it_is() {
        let flows = json!([
            bulk("mine", "bbr", ""),
            bulk("flows-1", "ledbat++", ""),
            bulk("workload-0", "cubic", "12.5ms"),
            bulk("flows-x", "udp", ""),
        ]);
        assert_eq!(names(&flows), ["mine", "ledbat++-down-25ms", "cubic-down-12500us", "flows-x"]);
    }

    #[test]
    fn groups_that_are_alike_are_numbered_and_leave_given_names_alone() {
        let flows = json!([
            bulk("flows-0", "bbr", ""),
            bulk("flows-1", "bbr", ""),
            bulk("bbr-down-25ms-2", "cubic", ""),
            bulk("flows-3", "bbr", "25ms"),
        ]);
        assert_eq!(names(&flows), ["bbr-down-25ms", "bbr-down-25ms-3", "bbr-down-25ms-2", "bbr-down-25ms-4"]);
    }
}
