//! Counts of the whole network up to now: taken at the end of the warm-up and of the run, whose difference is measured.

use super::Network;
use crate::engine::connection::{Totals, delivered};
use crate::engine::direction::Direction;

impl Network {
    /// Makes room for what the sources deliver, once all are known.
    pub(crate) fn expect_sources(&mut self, sources: usize) {
        self.delivered = vec![0; sources];
    }

    /// Counts up to now.
    pub(crate) fn totals(&self) -> Totals {
        let groups = self.group_records.iter().map(|record| record.totals(self.now)).collect();
        let mut totals = Totals { groups, delivered: self.delivered.clone() };
        for connection in self.connections.iter().filter(|c| c.flow != 0) {
            totals.delivered[connection.owner as usize] += delivered(&connection.ends);
            if connection.background {
                totals.groups[connection.group as usize].add_connection(&connection.ends);
            }
        }
        totals
    }

    /// The measured period of links and groups starts.
    pub(crate) fn reset_groups(&mut self) {
        self.group_records.iter_mut().for_each(|record| record.reset());
    }

    /// Packets of each group of hosts that the links in a direction have dropped since their records were reset.
    pub(crate) fn dropped_by_group(&self, direction: Direction) -> Vec<u64> {
        let mut dropped = vec![0; self.groups.len()];
        for record in self.bottleneck.records_towards(direction) {
            for (flow, count) in record.drops_by_flow.iter().enumerate().filter(|(_, count)| **count > 0) {
                dropped[self.group_of_flow[flow] as usize] += u64::from(*count);
            }
        }
        dropped
    }
}
