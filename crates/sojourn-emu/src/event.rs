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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::ipv4;
    use rtrb::RingBuffer;
    use sojourn_net::Ecn;

    #[test]
    fn every_fate_is_told_with_the_bits_that_the_packet_came_with() {
        let (producer, mut told) = RingBuffer::new(8);
        let mut sink = EventSink::new(producer, None);
        let headers = Headers { ecn: Ecn::Ce, ..Headers::read(&ipv4(17, 3, &[0; 8])).unwrap() };
        let came = Headers { ecn: Ecn::Ect0, ..headers };
        let (slot, row, journey, size, at, waited) = (5, 6, 7, 800, Time(9), Span(10));
        let frame = || Frame { slot, row, journey, size, headers, ecn_before: Ecn::Ect0, marked: true };
        let mut probe = LinkProbe { link: 3, sink: &mut sink };
        probe.enqueued(at, &frame());
        probe.marked(at, &frame());
        probe.dequeued(at, &frame(), waited);
        assert!(probe.sink.freed.is_empty());
        probe.dropped(at, frame(), DropCause::Early, None);
        probe.dropped(at, frame(), DropCause::Full, Some(waited));
        assert_eq!(sink.freed, [5, 5], "a packet that was dropped needs its slot no more");
        let link = 3;
        for event in [
            Event::Enqueued { link, row, at, size, journey, headers: came },
            Event::Marked { link, row, at },
            Event::Dequeued { link, row, at, waited },
            Event::Refused { link, row, at, size, journey, headers: came, cause: DropCause::Early },
            Event::Dropped { link, row, at, waited, cause: DropCause::Full },
        ] {
            assert_eq!(told.pop(), Ok(event));
        }
        assert_eq!((sink.lost, told.pop().is_err()), (0, true));
    }

    #[test]
    fn what_does_not_fit_is_counted_and_a_capture_has_the_first_bytes() {
        let ((producer, mut told), (heads, mut snapshots)) = (RingBuffer::new(1), RingBuffer::new(2));
        let mut sink = EventSink::new(producer, Some(heads));
        let marked = |row| Event::Marked { link: 0, row, at: Time::ZERO };
        (0..3).for_each(|row| sink.tell(marked(row)));
        assert_eq!((sink.lost, told.pop()), (2, Ok(marked(0))), "the first is not thrown out for a later one");
        for (journey, length) in [(8, 40), (9, SNAPSHOT + 1), (10, 40)] {
            sink.snap(journey, &vec![0xee; length]);
        }
        assert_eq!(sink.lost, 3);
        let (first, second) = (snapshots.pop().unwrap(), snapshots.pop().unwrap());
        assert_eq!((first.0, &first.1[..40], first.1[40]), (8, &[0xee; 40][..], 0));
        assert_eq!((second.0, second.1), (9, [0xee; SNAPSHOT]));
        let mut none = EventSink::new(RingBuffer::new(1).0, None);
        none.snap(1, &[1]);
        assert_eq!(none.lost, 0, "without a capture nothing is missing in it");
    }
}
