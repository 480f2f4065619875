//! From frames to sightings: each frame is decoded and finds its flow, and a segment its place in its connection.

use crate::decode::glance::{Glance, glance};
use crate::decode::tcp::Segment;
use crate::decode::{Packet, Skip, Transport, decode};
use crate::delay::sighting::flow_table::{End4, FlowTable, Found};
use crate::delay::sighting::tcp_connection::Connection;
use crate::delay::sighting::{Batch, Sighting, What};
use crate::read::{Copies, Frame};

/// Captures longer than this, or clocks that jump further, are not measured.
const LONGEST_NS: i64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Tells flows apart.
pub(crate) struct Classifier {
    table: FlowTable,
    /// By place.
    connections: Vec<Connection>,
    copies: Copies,
    /// Capture time of the first packet, ns since 1970.
    pub(crate) start_ns: Option<i64>,
}

impl Classifier {
    /// One that tells at most so many flows apart at a time.
    pub(crate) fn new(most_flows: usize) -> Self {
        let (table, connections) = (FlowTable::new(most_flows), Vec::new());
        Self { table, connections, copies: Copies::default(), start_ns: None }
    }

    /// Add what is seen of a frame to a batch.
    #[inline]
    pub(crate) fn look(&mut self, frame: &Frame<'_>, batch: &mut Batch) {
        batch.frames += 1;
        if frame.dropped {
            // Nobody received it, and a round trip or a delay that it told would be none.
            batch.skipped[Skip::Dropped as usize] += 1;
            return;
        }
        if self.copies.is_copy(frame) {
            batch.skipped[Skip::Again as usize] += 1;
            return;
        }
        if let Some(Glance { addresses, ports, ttl, id, segment }) = glance(frame.link, frame.data, frame.wire_len) {
            let Some(time) = self.time(frame, batch) else { return };
            let [source, destination] = [0, 1].map(|end| End4::new(addresses[end], ports[end]));
            let found = self.table.find_v4(source, destination, 6, time);
            return self.segment(frame, (time, found), (id, ttl), segment, batch);
        }
        match decode(frame.link, frame.data, frame.wire_len) {
            Ok(packet) => self.packet(*frame, &packet, batch),
            Err(skip) => batch.skipped[skip as usize] += 1,
        }
    }

    /// A packet that is not of the commonest kind. By value, as its frame need not be in memory for the others.
    #[inline(never)]
    fn packet(&mut self, frame: Frame<'_>, packet: &Packet<'_>, batch: &mut Batch) {
        let Some(time) = self.time(&frame, batch) else { return };
        let (source, destination) = ((packet.source, packet.ports[0]), (packet.destination, packet.ports[1]));
        match packet.transport {
            Transport::Tcp(segment) => {
                let found = self.table.find(source, destination, 6, time);
                self.segment(&frame, (time, found), (packet.id, packet.ttl), segment, batch);
            }
            Transport::Udp { payload, length } => {
                let found = self.table.find(source, destination, 17, time);
                batch.payloads.extend_from_slice(payload);
                let what = What::Datagram(payload.len() as u32, length);
                self.add(&frame, (time, found), (packet.ttl, 0), what, batch);
            }
        }
    }

    /// Add a segment of a flow, with what it is within its connection.
    #[inline(always)]
    fn segment(
        &mut self,
        frame: &Frame<'_>,
        (time, found): (i64, Found),
        (id, ttl): (u16, u8),
        segment: Segment,
        batch: &mut Batch,
    ) {
        let place = found.place as usize;
        if found.fresh {
            self.renew(place);
        }
        let heard = self.connections[place].segment(usize::from(found.side), (id, ttl), &segment, time);
        batch.round_trips.extend(heard.round_trip);
        self.add(frame, (time, found), (ttl, heard.marks), What::Segment(segment, heard.stamp), batch);
    }

    /// A new connection takes its place, perhaps another's. Those of datagrams stay unused.
    #[cold]
    fn renew(&mut self, place: usize) {
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, Connection::default);
        }
        self.connections[place] = Connection::default();
    }

    #[inline(always)]
    fn add(
        &self,
        frame: &Frame<'_>,
        (time, found): (i64, Found),
        (ttl, marks): (u8, u16),
        what: What,
        batch: &mut Batch,
    ) {
        if found.fresh {
            batch.keys.push(*self.table.key(found.place));
        }
        if batch.sightings.is_empty() {
            batch.first = frame.number;
        }
        let Found { place, side, fresh } = found;
        let (frame, length) = ((frame.number - batch.first) as u32, frame.wire_len.min(65_535) as u16);
        batch.sightings.push(Sighting { time, frame, what, place, length, marks, side, fresh, ttl });
    }

    /// Time since the first packet, if it can be.
    #[inline]
    fn time(&mut self, frame: &Frame<'_>, batch: &mut Batch) -> Option<i64> {
        let time = frame.time_ns.wrapping_sub(*self.start_ns.get_or_insert(frame.time_ns));
        let within = (-LONGEST_NS..LONGEST_NS).contains(&time);
        batch.out_of_range += u64::from(!within);
        within.then_some(time)
    }
}
