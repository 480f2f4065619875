//! The two bottleneck links and the delay lines behind them.
//!
//! A path's fixed delays are folded: a packet that leaves a link reaches its host after *twice* the delay between link and host,
//! and a packet that a host sends is at the next link at once. Hosts thus live on clocks shifted by their distance from the link; every
//! round trip, queue and interval at one host is as if the delays stood where they belong, at half the events. What compares
//! clocks of both ends (a datagram's one-way delay) is corrected by the difference of the two distances.

use crate::agenda::{Agenda, Stream};
use crate::packet::{NO_SACK, Packet};
use crate::record::LinkRecord;
use crate::way::Way;
use rand_pcg::Pcg64Mcg;
use sojourn_net::link::{Departure, Link, drop_on_path, is_lost};
use sojourn_net::queue::Cx;
use sojourn_net::tcp::Sack;
use sojourn_net::{Packet as _, Span, Time};
use std::collections::VecDeque;

/// A link with what belongs to it.
pub(crate) struct Port {
    pub(crate) link: Link<Packet>,
    pub(crate) record: LinkRecord,
    overhead: u32,
    /// Probability that a packet is lost before the queue, and the random stream that decides.
    loss: f64,
    loss_rng: Pcg64Mcg,
    /// The queue's random stream.
    queue_rng: Pcg64Mcg,
    stream: usize,
    /// The transmission started last.
    pub(crate) last: (Time, Time, u32),
}

/// Packets under way from a link to hosts at one distance.
struct Line {
    way: Way,
    delay: Span,
    packets: VecDeque<(Time, Packet)>,
    stream: usize,
}

pub(crate) struct Wire {
    pub(crate) ports: [Port; 2],
    lines: Vec<Line>,
    sacks: SackPool,
}

impl Port {
    pub(crate) fn new(
        link: Link<Packet>,
        record: LinkRecord,
        overhead: u32,
        loss: f64,
        [queue_rng, loss_rng]: [Pcg64Mcg; 2],
    ) -> Self {
        Self { link, record, overhead, loss, loss_rng, queue_rng, stream: 0, last: (Time::ZERO, Time::ZERO, 0) }
    }
}

impl Wire {
    pub(crate) fn new(mut ports: [Port; 2], agenda: &mut Agenda) -> Self {
        for way in Way::BOTH {
            let port = &mut ports[way as usize];
            port.stream = agenda.add_stream(Stream::Link(way));
            agenda.set(port.stream, port.link.poll_at().unwrap_or(Time::NEVER));
        }
        Self { ports, lines: Vec::new(), sacks: SackPool::default() }
    }

    /// The line for packets that leave `way`'s link towards hosts at `distance`; made if there is none yet.
    pub(crate) fn line(&mut self, way: Way, distance: Span, agenda: &mut Agenda) -> u16 {
        let delay = distance * 2;
        let found = self.lines.iter().position(|l| l.way == way && l.delay == delay);
        found.unwrap_or_else(|| {
            let stream = agenda.add_stream(Stream::Line(self.lines.len() as u16));
            self.lines.push(Line { way, delay, packets: VecDeque::new(), stream });
            self.lines.len() - 1
        }) as u16
    }

    /// A host sends a packet into a link, with SACK blocks if it has any.
    #[inline(always)] // Or each packet is copied once more.
    pub(crate) fn send(&mut self, now: Time, way: Way, mut packet: Packet, sack: Option<&Sack>, agenda: &mut Agenda) {
        if let Some(sack) = sack {
            packet.sack = self.sacks.put(*sack);
        }
        let port = &mut self.ports[way as usize];
        packet.id = port.record.next_row();
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut port.record };
        if is_lost(port.loss, &mut port.loss_rng) {
            drop_on_path(packet, &mut cx);
            self.free_orphans(way);
            return;
        }
        let departure = port.link.send(packet, &mut cx);
        self.after(way, departure, agenda);
    }

    /// The link's next step is due.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time, way: Way, agenda: &mut Agenda) {
        let port = &mut self.ports[way as usize];
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut port.record };
        let departure = port.link.poll(&mut cx);
        self.after(way, departure, agenda);
    }

    #[inline(always)] // Or each departure is copied once more.
    fn after(&mut self, way: Way, departure: Option<Departure<Packet>>, agenda: &mut Agenda) {
        let port = &mut self.ports[way as usize];
        agenda.set(port.stream, port.link.poll_at().unwrap_or(Time::NEVER));
        if let Some(Departure { packet, start, end }) = departure {
            let bytes = packet.size() + port.overhead;
            port.record.transmitted(start, end, bytes);
            port.last = (start, end, bytes);
            let line = &mut self.lines[packet.line() as usize];
            let arrival = end + line.delay;
            if line.packets.is_empty() {
                agenda.set(line.stream, arrival);
            }
            line.packets.push_back((arrival, packet));
        }
        if !self.ports[way as usize].record.orphans.is_empty() {
            self.free_orphans(way);
        }
    }

    #[cold]
    fn free_orphans(&mut self, way: Way) {
        while let Some(place) = self.ports[way as usize].record.orphans.pop() {
            self.sacks.free.push(place);
        }
    }

    /// The first packet of a line has reached its host. Its SACK blocks are there until the next packet is sent.
    #[inline]
    pub(crate) fn arrive(&mut self, line: u16, agenda: &mut Agenda) -> Option<(Way, Packet)> {
        let line = &mut self.lines[line as usize];
        let (_, packet) = line.packets.pop_front()?;
        agenda.set(line.stream, line.packets.front().map_or(Time::NEVER, |p| p.0));
        if packet.sack != NO_SACK {
            self.sacks.free.push(packet.sack);
        }
        Some((line.way, packet))
    }

    /// The SACK blocks of a packet that has just arrived.
    #[inline]
    pub(crate) fn sack(&self, packet: &Packet) -> &Sack {
        if packet.sack == NO_SACK { &Sack::NONE } else { &self.sacks.places[packet.sack as usize] }
    }
}

/// SACK blocks of packets under way; few packets have any.
#[derive(Default)]
struct SackPool {
    places: Vec<Sack>,
    free: Vec<u32>,
}

impl SackPool {
    fn put(&mut self, sack: Sack) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = sack;
            return place;
        }
        self.places.push(sack);
        self.places.len() as u32 - 1
    }
}
