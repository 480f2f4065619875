//! Gathers what each group of flows did in the measured period.

use super::Engine;
use super::hosts::Placed;
use crate::engine::Direction;
use crate::engine::connection::Totals;
use crate::scenario::{Scenario, Transport};
use crate::stats::group_summary::GroupCounts;
use crate::stats::histogram::Histogram;
use crate::stats::series::{SeriesRecord, Subject};

impl Engine {
    /// Follows the flows of a scenario over time, if it asks for that.
    pub(super) fn follow(&mut self, scenario: &Scenario) {
        if !scenario.record.series {
            return;
        }
        let directions = scenario.flows.iter().map(|flows| flows.direction).collect();
        let mut series = SeriesRecord::new(scenario.record.step(scenario.duration), directions);
        for (place, (placed, flows)) in self.groups.iter().zip(&scenario.flows).enumerate() {
            if flows.transport == Transport::Udp {
                placed.sources.clone().for_each(|source| series.follow(place as u16, Subject::Source(source as u32)));
            }
        }
        self.network.series = Some(series);
    }

    /// The counts of every group of flows, `end` being the network's at the end of the run.
    pub(super) fn group_counts<'a>(&self, scenario: &'a Scenario, end: &Totals) -> Vec<GroupCounts<'a>> {
        let dropped = Direction::BOTH.map(|direction| self.network.dropped_by_group(direction));
        let placed = self.groups.iter().zip(&scenario.flows).zip(scenario.group_names());
        placed
            .map(|((Placed { groups, sources }, flows), name)| {
                let records = &self.network.group_records[groups.clone()];
                let mut rtt = Histogram::default();
                records.iter().for_each(|record| rtt.add_all(&record.rtt));
                let before = self.at_warmup.delivered[sources.clone()].iter();
                GroupCounts {
                    name,
                    flows,
                    base_rtt: scenario.base_rtt(flows),
                    totals: [&self.at_warmup, end].map(|totals| totals.of_groups(groups.clone())),
                    delivered: end.delivered[sources.clone()]
                        .iter()
                        .zip(before)
                        .map(|(end, before)| end - before)
                        .collect(),
                    sent: Direction::BOTH.map(|way| records.iter().map(|record| record.sent[way as usize]).sum()),
                    dropped: Direction::BOTH.map(|way| dropped[way as usize][groups.clone()].iter().sum()),
                    rtt,
                }
            })
            .collect()
    }
}
