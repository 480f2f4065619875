//! Access links: one for each sender of a group, before the first link that all share.
//!
//! There may be thousands, so they do not compete in the list of ordered streams: a heap holds when each has something
//! to do, and its head is one stream. All links of a group of flows share one record.

use crate::engine::direction::Direction;
use crate::engine::event_queue::{EventQueue, Stream};
use crate::engine::packet::Packet;
use crate::stats::link_record::LinkRecord;
use rand_pcg::Pcg64Mcg;
use sojourn_net::Time;
use sojourn_net::link::{Departure, Link, drop_on_path, is_lost};
use sojourn_net::queue::Cx;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One sender's link.
pub(crate) struct AccessLink {
    link: Link<Packet>,
    record: usize,
    overhead: u32,
    loss: f64,
    loss_rng: Pcg64Mcg,
    queue_rng: Pcg64Mcg,
    /// The delay line behind it; set when the group's way is.
    pub(super) line: u16,
    /// When its earliest entry on the heap is due.
    armed: Time,
    /// The transmission started last.
    last: (Time, Time, u32),
}

impl AccessLink {
    pub(crate) fn new(
        link: Link<Packet>,
        record: usize,
        overhead: u32,
        loss: f64,
        [queue_rng, loss_rng]: [Pcg64Mcg; 2],
    ) -> Self {
        let last = (Time::ZERO, Time::ZERO, 0);
        Self { link, record, overhead, loss, loss_rng, queue_rng, line: 0, armed: Time::NEVER, last }
    }
}

/// What the access links of one group of flows share.
pub(crate) struct AccessRecord {
    pub(crate) record: LinkRecord,
    pub(super) direction: Direction,
    /// Numbers of the links.
    links: Vec<u16>,
}

/// All access links.
#[derive(Default)]
pub(crate) struct AccessLinks {
    links: Vec<AccessLink>,
    pub(crate) records: Vec<AccessRecord>,
    due: BinaryHeap<Reverse<(Time, u16)>>,
    stream: Option<usize>,
}

impl AccessLinks {
    /// Adds the record that the links of a group will share; returns its place.
    pub(crate) fn add_record(&mut self, record: LinkRecord, direction: Direction) -> usize {
        self.records.push(AccessRecord { record, direction, links: Vec::new() });
        self.records.len() - 1
    }

    /// Adds a link; returns its number.
    pub(crate) fn add(&mut self, link: AccessLink, event_queue: &mut EventQueue) -> u16 {
        self.stream.get_or_insert_with(|| event_queue.add_stream(Stream::Access));
        let number = self.links.len() as u16;
        self.records[link.record].links.push(number);
        self.links.push(link);
        self.arm(number, event_queue);
        number
    }

    /// A link.
    pub(super) fn link_mut(&mut self, number: u16) -> &mut AccessLink {
        &mut self.links[usize::from(number)]
    }

    /// The record of a link's group.
    pub(super) fn record_of(&mut self, number: u16) -> &mut LinkRecord {
        &mut self.records[self.links[usize::from(number)].record].record
    }

    /// A packet arrives; what departs at once is returned.
    pub(super) fn send(
        &mut self,
        now: Time,
        number: u16,
        mut packet: Packet,
        event_queue: &mut EventQueue,
    ) -> Option<Departure<Packet>> {
        let port = &mut self.links[usize::from(number)];
        let record = &mut self.records[port.record].record;
        packet.id = record.next_row();
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: record };
        if is_lost(port.loss, &mut port.loss_rng) {
            drop_on_path(packet, &mut cx);
            return None;
        }
        let departure = port.link.send(packet, &mut cx);
        self.after(number, departure, event_queue)
    }

    /// The link that is due first; it takes its next step.
    pub(super) fn poll(&mut self, now: Time, event_queue: &mut EventQueue) -> Option<(u16, Option<Departure<Packet>>)> {
        let Reverse((at, number)) = self.due.pop()?;
        let port = &mut self.links[usize::from(number)];
        if port.armed != at {
            self.set(event_queue); // An entry that an earlier one has overtaken is void.
            return None;
        }
        port.armed = Time::NEVER;
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut self.records[port.record].record };
        let departure = port.link.poll(&mut cx);
        Some((number, self.after(number, departure, event_queue)))
    }

    fn after(
        &mut self,
        number: u16,
        departure: Option<Departure<Packet>>,
        event_queue: &mut EventQueue,
    ) -> Option<Departure<Packet>> {
        if let Some(departure) = &departure {
            let port = &mut self.links[usize::from(number)];
            let bytes = departure.packet.bytes() + port.overhead;
            port.last = (departure.start, departure.end, bytes);
            self.records[port.record].record.transmitted(departure.start, departure.end, bytes);
        }
        self.arm(number, event_queue);
        departure
    }

    fn arm(&mut self, number: u16, event_queue: &mut EventQueue) {
        let port = &mut self.links[usize::from(number)];
        if let Some(at) = port.link.poll_at().filter(|at| *at < port.armed) {
            port.armed = at;
            self.due.push(Reverse((at, number)));
        }
        self.set(event_queue);
    }

    fn set(&mut self, event_queue: &mut EventQueue) {
        if let Some(stream) = self.stream {
            event_queue.set(stream, self.due.peek().map_or(Time::NEVER, |entry| entry.0.0));
        }
    }

    /// Closes the series of all records.
    pub(crate) fn finish(&mut self, now: Time) {
        for port in &self.links {
            self.records[port.record].record.bins.finish(now, port.last);
        }
    }

    /// The links of a record.
    pub(crate) fn links_of(&self, record: usize) -> impl Iterator<Item = &Link<Packet>> {
        self.records[record].links.iter().map(|number| &self.links[usize::from(*number)].link)
    }
}
