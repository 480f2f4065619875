//! From frames to sightings: what a packet's headers say, of which flow it is, and what a segment is within its own
//! connection. This is the half of measuring that looks at bytes; [`super::meter`] is the other, which asks what
//! packets say of hosts and queues.
//!
//! The [`classifier`] decodes each frame, finds its flow in the [`flow_table`], asks [`tcp_connection`] what a segment
//! is within its own connection, and writes a sighting to a batch. The meter takes batches in, which may have passed
//! from one thread to another ([`super::read_ahead`]).

pub(super) mod classifier;
pub(super) mod flow_table;
pub(super) mod tcp_connection;

use crate::decode::Skip;
use crate::decode::tcp::Segment;
use crate::delay::sighting::flow_table::Key;
use crate::delay::sighting::tcp_connection::{Heard, TIMED};
use std::mem::MaybeUninit;

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
    /// Length on the wire, as far as 16 bits tell it.
    length: u16,
    /// What a segment is within its connection, as [`Heard`] has it; a round trip is among the batch's.
    marks: u16,
    /// Which end of the key sent it.
    side: u8,
    /// The flow is new.
    pub(crate) fresh: bool,
    /// Its hop limit.
    ttl: u8,
}

/// A line of the cache.
const _: () = assert!(size_of::<Sighting>() <= 64);

/// What is inside.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    /// A segment, and its stamp on a line without end, ticks.
    Segment(Segment, i64),
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
    /// Round trips that segments end, in the order of these, ns.
    pub(crate) round_trips: Vec<i64>,
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
        self.round_trips.clear();
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
        let blank = Sighting { time: 0, frame: 0, what, place: 0, length: 0, marks: 0, side: 0, fresh: false, ttl: 0 };
        self.sightings.spare_capacity_mut()[..most].fill(MaybeUninit::new(blank));
    }
}

/// A sighting as its flow takes it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) key: &'a Key,
    pub(crate) side: usize,
    pub(crate) ttl: u8,
    pub(crate) frame: u64,
    pub(crate) time: i64,
    pub(crate) length: u16,
}

impl Sighting {
    /// What a segment with that stamp is; its round trip is the next of those.
    #[inline]
    pub(crate) fn heard(&self, stamp: i64, round_trips: &mut impl Iterator<Item = i64>) -> Heard {
        let round_trip = if self.marks & TIMED != 0 { round_trips.next() } else { None };
        Heard { stamp, round_trip, marks: self.marks }
    }

    /// With the key of its flow, and the number of its batch's first frame.
    #[inline]
    pub(crate) fn of<'a>(&self, key: &'a Key, first: u64) -> Seen<'a> {
        let Self { time, frame, side, length, ttl, .. } = *self;
        Seen { key, side: usize::from(side), ttl, frame: first + u64::from(frame), time, length }
    }
}
