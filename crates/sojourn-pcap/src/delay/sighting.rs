//! From frames to sightings: what a packet's headers say, and of which flow it is. This is the half of measuring that
//! looks at bytes; [`super::meter`] is the other, which asks what packets say of connections, hosts and queues.

use crate::decode::glance::{Glance, glance};
use crate::decode::tcp::Segment;
use crate::decode::{Packet, Skip, Transport, decode};
use crate::delay::flow::{End4, Found, Key, Table};
use crate::read::{Copies, Frame};
use std::mem::MaybeUninit;

/// Captures longer than this, or clocks that jump further, are not measured.
const LONGEST_NS: i64 = 10 * 365 * 86_400 * 1_000_000_000;

/// A packet of a flow as it was seen. What one thread writes of it another reads, so it is kept short.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    /// Capture time since the first packet, ns.
    pub(crate) time: i64,
    /// Frame number, from the batch's first on.
    frame: u32,
    pub(crate) what: What,
    /// Where its flow is.
    pub(crate) place: u32,
    /// Which end of the key sent it.
    side: u8,
    /// The flow is new.
    pub(crate) fresh: bool,
    /// Length on the wire, as far as 16 bits tell it.
    pub(crate) length: u16,
    /// IPv4 identification, or 0.
    pub(crate) id: u16,
    /// Its hop limit.
    pub(crate) ttl: u8,
}

const _: () = assert!(size_of::<Sighting>() <= 56);

/// What is inside.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Segment(Segment),
    /// So many of the payloads' next bytes, of a payload of this length.
    Datagram(u32, u32),
}

/// Sightings in the order of the capture, and what goes with them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) sightings: Vec<Sighting>,
    /// Frame number of the first sighting.
    pub(crate) first: u64,
    /// Keys of the flows that are new, in the order of their first packets.
    pub(crate) keys: Vec<Key>,
    /// Payloads of UDP, one after another.
    pub(crate) payloads: Vec<u8>,
    /// Frames looked at, those of no use by reason, and those whose capture time is years from the first.
    pub(crate) frames: u64,
    pub(crate) skipped: [u64; Skip::ALL.len()],
    pub(crate) out_of_range: u64,
    /// Capture time of the first packet of all, ns since 1970.
    pub(crate) start_ns: Option<i64>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.sightings.clear();
        self.keys.clear();
        self.payloads.clear();
        (self.frames, self.skipped, self.out_of_range) = Default::default();
    }

    /// Clear it, and take the memory of `most` sightings from the thread that read them last. One line of the cache
    /// after the other costs much less than one whenever a sighting is written: where processors are far from each
    /// other, what takes 150 ms of a second took 620.
    #[inline(never)]
    pub(crate) fn take_over(&mut self, most: usize) {
        self.clear();
        self.sightings.reserve(most);
        let what = What::Datagram(0, 0);
        let blank = Sighting { time: 0, frame: 0, what, place: 0, side: 0, fresh: false, length: 0, id: 0, ttl: 0 };
        self.sightings.spare_capacity_mut()[..most].fill(MaybeUninit::new(blank));
    }
}

/// Tells flows apart.
pub(crate) struct Lookout {
    table: Table,
    copies: Copies,
    /// Capture time of the first packet, ns since 1970.
    pub(crate) start_ns: Option<i64>,
}

impl Lookout {
    /// One that tells at most so many flows apart at a time.
    pub(crate) fn new(most_flows: usize) -> Self {
        Self { table: Table::new(most_flows), copies: Copies::default(), start_ns: None }
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
            return self.add(frame, (time, found), (id, ttl), What::Segment(segment), batch);
        }
        match decode(frame.link, frame.data, frame.wire_len) {
            Ok(packet) => self.packet(frame, &packet, batch),
            Err(skip) => batch.skipped[skip as usize] += 1,
        }
    }

    /// A packet that is not of the commonest kind.
    fn packet(&mut self, frame: &Frame<'_>, packet: &Packet<'_>, batch: &mut Batch) {
        let Some(time) = self.time(frame, batch) else { return };
        let (source, destination) = ((packet.source, packet.ports[0]), (packet.destination, packet.ports[1]));
        let (protocol, what) = match packet.transport {
            Transport::Tcp(segment) => (6, What::Segment(segment)),
            Transport::Udp { payload, length } => {
                batch.payloads.extend_from_slice(payload);
                (17, What::Datagram(payload.len() as u32, length))
            }
        };
        let found = self.table.find(source, destination, protocol, time);
        self.add(frame, (time, found), (packet.id, packet.ttl), what, batch);
    }

    #[inline(always)]
    fn add(&self, frame: &Frame<'_>, (time, found): (i64, Found), (id, ttl): (u16, u8), what: What, batch: &mut Batch) {
        if found.fresh {
            batch.keys.push(*self.table.key(found.place));
        }
        if batch.sightings.is_empty() {
            batch.first = frame.number;
        }
        let Found { place, side, fresh } = found;
        let (frame, length) = ((frame.number - batch.first) as u32, frame.wire_len.min(65_535) as u16);
        batch.sightings.push(Sighting { time, frame, what, place, side, fresh, length, id, ttl });
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

/// A sighting as its flow takes it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) key: &'a Key,
    pub(crate) side: usize,
    pub(crate) id: u16,
    pub(crate) ttl: u8,
    pub(crate) frame: u64,
    pub(crate) time: i64,
    pub(crate) length: u16,
}

impl Sighting {
    /// With the key of its flow, and the number of its batch's first frame.
    #[inline]
    pub(crate) fn of<'a>(&self, key: &'a Key, first: u64) -> Seen<'a> {
        let Self { time, frame, side, length, id, ttl, .. } = *self;
        Seen { key, side: usize::from(side), id, ttl, frame: first + u64::from(frame), time, length }
    }
}
