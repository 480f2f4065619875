//! Connections come and go: opened, written to, closed, ended, and counted.

use super::Network;
use crate::engine::connection::{Connection, ConnectionId, FlowTotals, delivered};
use crate::engine::direction::End;
use crate::stats::flow_record::{FlowRecord, FlowTable};
use crate::stats::series::Subject;
use sojourn_net::Time;
use sojourn_net::tcp::{Endpoint, Role};

impl Network {
    /// Opens a connection of a group from one end. `owner` is told of what happens if `told`.
    pub fn connect(&mut self, group: u16, opener: End, owner: u32, told: bool) -> ConnectionId {
        let flow = self.new_flow(group);
        let g = &self.groups[group as usize];
        if g.background {
            self.group_records[group as usize].opened(self.now);
        }
        let end = |end| {
            let role = if end == opener { Role::Active } else { Role::Passive };
            let (mean, seed) = self.reading;
            let seed = seed.wrapping_add(2 * u64::from(flow) + end as u64);
            Endpoint::new(role, &g.config, (g.control)()).with_reader(mean, seed)
        };
        let ends = [end(End::Client), end(End::Server)];
        let connection = Connection {
            flow,
            group,
            background: g.background,
            closing: false,
            timestamps: g.config.timestamps,
            told,
            owner,
            routes: g.routes,
            armed: [Time::NEVER; 2],
            ack_armed: [false; 2],
            send_armed: [Time::NEVER; 2],
            ends,
        };
        let slot = match self.free.pop_front() {
            Some(slot) => {
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                self.connections.len() as u32 - 1
            }
        };
        if let Some(tap) = &mut self.bottleneck.tap {
            tap.opened(flow, self.groups[group as usize].origin);
        }
        if let Some(record) = &mut self.flow_record {
            record.opened(self.now, slot);
        }
        let id = ConnectionId { slot, flow };
        if let Some(series) = &mut self.series {
            series.follow(self.groups[group as usize].origin, Subject::Connection(id));
        }
        self.flush(slot as usize, opener);
        id
    }

    /// Writes `bytes` at one end of a connection; `u64::MAX` is an endless stream.
    pub fn write(&mut self, id: ConnectionId, end: End, bytes: u64) {
        if let Some(connection) = self.get_mut(id) {
            connection.ends[end as usize].write(bytes);
            self.flush(id.slot as usize, end);
        }
    }

    /// One end starts again from its initial window before what it writes next.
    pub fn restart(&mut self, id: ConnectionId, end: End) {
        let now = self.now;
        if let Some(connection) = self.get_mut(id) {
            connection.ends[end as usize].restart(now);
        }
    }

    /// One end has written its last byte. The connection ends when both have, and all has arrived.
    pub fn close(&mut self, id: ConnectionId, end: End) {
        if let Some(connection) = self.get_mut(id) {
            connection.closing = true;
            connection.ends[end as usize].close();
            self.flush(id.slot as usize, end);
            self.end_if_closed(id.slot as usize);
        }
    }

    /// Ends a connection at both ends at once; what is on its way arrives nowhere.
    pub fn abort(&mut self, id: ConnectionId) {
        if self.get_mut(id).is_some() {
            self.end(id.slot as usize);
        }
    }

    /// As [`Self::abort`], of a connection that is seen no longer and would go on: it is in the table.
    pub fn cut_off(&mut self, id: ConnectionId) {
        if self.get_mut(id).is_some() {
            self.tell(id.slot as usize, None);
            self.end(id.slot as usize);
        }
    }

    /// An end of a connection, if it still exists.
    pub fn endpoint(&self, id: ConnectionId, end: End) -> Option<&Endpoint> {
        let connection = self.connections.get(id.slot as usize)?;
        (connection.flow == id.flow).then(|| &connection.ends[end as usize])
    }

    pub(super) fn end_if_closed(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        if !connection.closing || !connection.ends.iter().all(Endpoint::is_closed) {
            return;
        }
        self.tell(slot, Some(self.now));
        self.end(slot);
    }

    /// Puts a connection into the table, if there is one.
    fn tell(&mut self, slot: usize, ended: Option<Time>) {
        let Some(record) = &mut self.flow_record else { return };
        let connection = &self.connections[slot];
        let group = &self.groups[connection.group as usize];
        let counts = group.routes.map(|(route, _)| self.bottleneck.of_flow(route, connection.flow));
        record.closed((slot as u32, connection.flow), ended, &connection.ends, group.config.mss, counts);
    }

    fn end(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        connection.flow = 0;
        self.delivered[connection.owner as usize] += delivered(&connection.ends);
        if connection.background {
            let mut counts = FlowTotals::default();
            counts.add_connection(&connection.ends);
            self.group_records[connection.group as usize].ended(self.now, &counts);
        }
        self.free.push_back(slot as u32);
    }

    /// For each flow number, the place of its group among the scenario's groups of flows, then users.
    pub(crate) fn origins(&self) -> Vec<u16> {
        let groups = self.group_of_flow.iter();
        groups.map(|group| self.groups.get(*group as usize).map_or(u16::MAX, |group| group.origin)).collect()
    }

    /// The table of connections, those that are still open last.
    pub(crate) fn take_flows(&mut self) -> Option<FlowTable> {
        for slot in 0..self.connections.len() {
            if self.connections[slot].flow != 0 {
                self.tell(slot, None);
            }
        }
        self.flow_record.take().map(FlowRecord::finish)
    }

    fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id.slot as usize).filter(|c| c.flow == id.flow)
    }
}
