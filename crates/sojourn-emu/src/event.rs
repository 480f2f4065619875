//! What the loop tells the thread that keeps the records: each fate of a packet, and each write.

use crate::frame::{Frame, Headers};
use rtrb::Producer;
use sojourn_net::probe::{DropCause, Probe};
use sojourn_net::{Span, Time};

/// One line of the record, in the order in which things happened at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of the packet log")]
pub enum Event {
    /// A packet arrived and was let in.
    Enqueued { link: u8, row: u32, at: Time, size: u32, journey: u32, headers: Headers },
    /// A packet arrived and was dropped.
    Refused { link: u8, row: u32, at: Time, size: u32, journey: u32, headers: Headers, cause: DropCause },
    /// A packet's transmission started.
    Dequeued { link: u8, row: u32, at: Time, waited: Span },
    /// The transmission that started last ends then.
    Transmitted { link: u8, start: Time, end: Time, bytes: u32 },
    /// A packet was marked.
    Marked { link: u8, row: u32, at: Time },
    /// A packet that had been let in was dropped.
    Dropped { link: u8, row: u32, at: Time, waited: Span, cause: DropCause },
    /// A packet was given to the host at the end of a direction: due then, given so much later.
    Written { way: u8, due: Time, late: Span, size: u32 },
}

/// The number of a packet in the run and its first bytes, for a capture.
pub type Snapshot = (u32, [u8; SNAPSHOT]);
/// Most bytes of a packet that a capture has: IPv6 with a full TCP header.
pub const SNAPSHOT: usize = 100;

/// Takes events from the loop; never waits. What does not fit is counted.
pub struct EventSink {
    ring: Producer<Event>,
    snapshots: Option<Producer<Snapshot>>,
    /// Events that did not fit.
    pub lost: u64,
    /// Slots of dropped packets, to be given back.
    pub freed: Vec<u32>,
}

impl EventSink {
    /// Events into a ring; the first bytes of packets into another, if there is a capture.
    pub fn new(ring: Producer<Event>, snapshots: Option<Producer<Snapshot>>) -> Self {
        Self { ring, snapshots, lost: 0, freed: Vec::with_capacity(1024) }
    }

    /// Tells of an event.
    #[inline]
    pub fn tell(&mut self, event: Event) {
        self.lost += u64::from(self.ring.push(event).is_err());
    }

    /// Keeps the first bytes of a packet, if there is a capture.
    pub fn snap(&mut self, journey: u32, packet: &[u8]) {
        if let Some(ring) = &mut self.snapshots {
            let mut snapshot = [0; SNAPSHOT];
            let bytes = packet.len().min(SNAPSHOT);
            snapshot[..bytes].copy_from_slice(&packet[..bytes]);
            self.lost += u64::from(ring.push((journey, snapshot)).is_err());
        }
    }
}

/// The probe of one link.
pub struct LinkProbe<'s> {
    /// The link's code in the packet log.
    pub link: u8,
    /// Where its events go.
    pub sink: &'s mut EventSink,
}

impl Probe<Frame> for LinkProbe<'_> {
    fn enqueued(&mut self, now: Time, packet: &Frame) {
        let Frame { row, size, journey, ecn_before, .. } = *packet;
        // A queue may mark an arriving packet before it lets it in.
        let headers = Headers { ecn: ecn_before, ..packet.headers };
        self.sink.tell(Event::Enqueued { link: self.link, row, at: now, size, journey, headers });
    }

    fn dequeued(&mut self, now: Time, packet: &Frame, sojourn: Span) {
        self.sink.tell(Event::Dequeued { link: self.link, row: packet.row, at: now, waited: sojourn });
    }

    fn marked(&mut self, now: Time, packet: &Frame) {
        self.sink.tell(Event::Marked { link: self.link, row: packet.row, at: now });
    }

    fn dropped(&mut self, now: Time, packet: Frame, cause: DropCause, waited: Option<Span>) {
        let Frame { slot, row, size, journey, ecn_before, .. } = packet;
        let headers = Headers { ecn: ecn_before, ..packet.headers };
        let link = self.link;
        self.sink.tell(match waited {
            None => Event::Refused { link, row, at: now, size, journey, headers, cause },
            Some(waited) => Event::Dropped { link, row, at: now, waited, cause },
        });
        self.sink.freed.push(slot);
    }
}
