//! The numbers of each group of flows, and how evenly flows share: what `run --json` prints as `groups` and `fairness`.
//!
//! Source: Jain's index (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984) over the goodput of flows in the measured period,
//! (Σx)² / (n·Σx²): 1 if all have the same, 1/n if one has everything.

use super::digits::tidy;
use super::histogram::Histogram;
use crate::engine::connection::FlowTotals;
use crate::engine::direction::Direction;
use crate::scenario::{Flows, Transport};
use serde::{Serialize, Serializer};
use sojourn_net::Span;
use std::collections::BTreeMap;

/// What was counted of one group in the measured period.
pub(crate) struct GroupCounts<'a> {
    pub(crate) name: String,
    pub(crate) flows: &'a Flows,
    pub(crate) base_rtt: Span,
    /// Connections at the beginning and at the end of the period.
    pub(crate) totals: [FlowTotals; 2],
    /// Payload bytes that each of its flows delivered.
    pub(crate) delivered: Vec<u64>,
    /// Packets sent, and those of them that links dropped, by direction.
    pub(crate) sent: [u64; 2],
    pub(crate) dropped: [u64; 2],
    pub(crate) rtt: Histogram,
}

/// The groups of flows, in the order of the study.
#[derive(Clone, Debug, Default)]
pub struct Groups(pub Vec<(String, GroupSummary)>);

impl Groups {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Groups {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, group)| (name, group)))
    }
}

/// One group of flows over the measured period.
#[derive(Clone, Debug, Serialize)]
pub struct GroupSummary {
    /// As study files write it.
    pub transport: Transport,
    /// Which way its data goes.
    pub direction: Direction,
    /// Round-trip time without queueing.
    pub base_rtt_ms: f64,
    /// Number of flows, or of sessions.
    pub flows: u32,
    /// Payload that arrived (TCP's in order), by time, of all its flows.
    pub goodput_bps: f64,
    /// The same for one flow, on average.
    pub goodput_per_flow_bps: f64,
    /// Of the goodput of all groups in this direction; null if there was none.
    pub share: Option<f64>,
    /// Jain's index over the goodput of its flows; null if they had none.
    pub jain: Option<f64>,
    /// Packets that its senders sent in this direction.
    pub sent_pkts: u64,
    /// Packets of its own that links dropped in this direction.
    pub dropped_pkts: u64,
    /// Dropped over sent; null if nothing was sent.
    pub loss: Option<f64>,
    /// What TCP knows besides.
    #[serde(flatten)]
    pub tcp: Option<TcpSummary>,
}

/// What is known of a group of connections besides.
#[derive(Clone, Debug, Serialize)]
pub struct TcpSummary {
    /// Packets the other way: acknowledgements and requests.
    pub reverse: ReverseSummary,
    /// Connections that ended.
    pub completed: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Round-trip times as the senders measured them; absent if they measured none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<RttSummary>,
}

/// Packets against the direction of a group's data.
#[derive(Clone, Debug, Serialize)]
pub struct ReverseSummary {
    /// Packets sent.
    pub sent_pkts: u64,
    /// Packets dropped.
    pub dropped_pkts: u64,
    /// Dropped over sent; null if nothing was sent.
    pub loss: Option<f64>,
}

/// Round-trip times in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct RttSummary {
    mean: f64,
    p50: f64,
    p95: f64,
}

/// How evenly all flows of one direction share, whichever group they belong to.
#[derive(Clone, Debug, Serialize)]
pub struct Fairness {
    /// Number of flows.
    pub flows: u32,
    /// Jain's index over their goodput; null if they had none.
    pub jain: Option<f64>,
}

/// Jain's index; none if nobody has anything.
fn jain(delivered: &[u64]) -> Option<f64> {
    let (sum, squares) =
        delivered.iter().map(|bytes| *bytes as f64).fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (squares > 0.0).then(|| tidy(sum * sum / (delivered.len() as f64 * squares)))
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| tidy(part as f64 / whole as f64))
}

/// Summarises groups that were measured for some seconds.
pub(crate) fn summarise(groups: Vec<GroupCounts<'_>>, seconds: f64) -> (Groups, BTreeMap<&'static str, Fairness>) {
    let mut fairness = BTreeMap::new();
    let mut all = [0; 2];
    for direction in Direction::BOTH {
        let of = groups.iter().filter(|group| group.flows.direction == direction);
        let delivered: Vec<u64> = of.flat_map(|group| group.delivered.iter().copied()).collect();
        all[direction as usize] = delivered.iter().sum();
        if !delivered.is_empty() {
            fairness.insert(direction.name(), Fairness { flows: delivered.len() as u32, jain: jain(&delivered) });
        }
    }
    let summaries = groups.into_iter().map(|group| {
        let all = all[group.flows.direction as usize];
        (group.name.clone(), GroupSummary::new(&group, all, seconds))
    });
    (Groups(summaries.collect()), fairness)
}

impl GroupSummary {
    fn new(group: &GroupCounts<'_>, all: u64, seconds: f64) -> Self {
        let GroupCounts { flows, totals: [before, after], sent, dropped, rtt, .. } = group;
        let (own, other) = (flows.direction as usize, flows.direction.reverse() as usize);
        let delivered: u64 = group.delivered.iter().sum();
        let goodput = delivered as f64 * 8.0 / seconds;
        let ms = |ns: f64| tidy(ns * 1e-6);
        let tcp = (flows.transport != Transport::Udp).then(|| TcpSummary {
            reverse: ReverseSummary {
                sent_pkts: sent[other],
                dropped_pkts: dropped[other],
                loss: ratio(dropped[other], sent[other]),
            },
            completed: after.completed - before.completed,
            retransmits: after.retransmits - before.retransmits,
            timeouts: after.timeouts - before.timeouts,
            rtt_ms: (rtt.count() > 0).then(|| RttSummary {
                mean: ms(rtt.mean()),
                p50: ms(rtt.quantile(0.5)),
                p95: ms(rtt.quantile(0.95)),
            }),
        });
        Self {
            transport: flows.transport,
            direction: flows.direction,
            base_rtt_ms: ms(group.base_rtt.0 as f64),
            flows: flows.count,
            goodput_bps: tidy(goodput),
            goodput_per_flow_bps: tidy(goodput / f64::from(flows.count)),
            share: ratio(delivered, all),
            jain: jain(&group.delivered),
            sent_pkts: sent[own],
            dropped_pkts: dropped[own],
            loss: ratio(dropped[own], sent[own]),
            tcp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_s_index_is_one_for_equals_and_one_nth_for_a_winner() {
        assert_eq!(jain(&[5, 5, 5]), Some(1.0));
        assert_eq!(jain(&[0, 9, 0, 0]), Some(0.25));
        assert_eq!(jain(&[1, 3]), Some(0.8));
        assert_eq!((jain(&[7]), jain(&[0, 0]), jain(&[])), (Some(1.0), None, None));
    }
}
