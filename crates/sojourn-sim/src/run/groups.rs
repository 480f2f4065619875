//! Gathers what each group of flows did in the measured period.

use super::Engine;
use super::hosts::Placed;
use crate::engine::Direction;
use crate::engine::connection::Totals;
use crate::scenario::{Scenario, Transport};
use crate::stats::group_summary::GroupCounts;
use crate::stats::series::{SeriesRecord, Subject};

impl Engine {
    /// Follows the flows of a scenario over time, if it asks for that.
    pub(super) fn follow(&mut self, scenario: &Scenario) {
        if !scenario.record.series {
            return;
        }
        let directions = scenario.flows.iter().map(|flows| flows.direction).collect();
        let mut series = SeriesRecord::new(scenario.record.step(scenario.duration), directions);
        for (Placed { group, sources }, flows) in self.groups.iter().zip(&scenario.flows) {
            if flows.transport == Transport::Udp {
                sources.clone().for_each(|source| series.follow(*group, Subject::Source(source as u32)));
            }
        }
        self.network.series = Some(series);
    }

    /// The counts of every group of flows, `end` being the network's at the end of the run.
    pub(super) fn group_counts<'a>(&'a self, scenario: &'a Scenario, end: &Totals) -> Vec<GroupCounts<'a>> {
        let dropped = Direction::BOTH.map(|direction| self.network.dropped_by_group(direction));
        let placed = self.groups.iter().zip(&scenario.flows).zip(scenario.group_names());
        placed
            .map(|((Placed { group, sources }, flows), name)| {
                let group = *group as usize;
                let record = &self.network.group_records[group];
                let before = self.at_warmup.delivered[sources.clone()].iter();
                GroupCounts {
                    name,
                    flows,
                    base_rtt: scenario.base_rtt(flows),
                    totals: [self.at_warmup.groups[group], end.groups[group]],
                    delivered: end.delivered[sources.clone()]
                        .iter()
                        .zip(before)
                        .map(|(end, before)| end - before)
                        .collect(),
                    sent: record.sent,
                    dropped: [dropped[0][group], dropped[1][group]],
                    rtt: &record.rtt,
                }
            })
            .collect()
    }
}
