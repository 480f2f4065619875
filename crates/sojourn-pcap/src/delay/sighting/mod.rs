//! From frames to sightings: what a packet's headers say, and of which flow it is. This is the half of measuring that
//! looks at bytes; [`super::meter`] is the other, which asks what packets say of connections, hosts and queues.
//!
//! The [`classifier`] decodes each frame, finds its flow in the [`flow_table`], and writes a sighting to a batch. The
//! meter takes batches in, which may have passed from one thread to another ([`super::read_ahead`]).

pub(super) mod classifier;
pub(super) mod flow_table;

use crate::decode::Skip;
use crate::decode::tcp::Segment;
use crate::delay::sighting::flow_table::Key;
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
