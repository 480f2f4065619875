//! The two bottleneck links and the delay lines behind them.
//!
//! A path's fixed delays are folded: a packet that leaves a link reaches its host after *twice* the delay between link
//! and host, and a packet that a host sends is at the next link at once. Hosts thus live on clocks shifted by their
//! distance from the link; every round trip, queue and interval at one host is as if the delays stood where they
//! belong, at half the events. What compares clocks of both ends (a datagram's one-way delay) is corrected by the
//! difference of the two distances.

use crate::engine::direction::Direction;
use crate::engine::event_queue::{EventQueue, Stream};
use crate::engine::packet::{NO_SACK, Packet};
use crate::stats::link_record::LinkRecord;
use rand_pcg::Pcg64Mcg;
use sojourn_net::link::{Departure, Link, drop_on_path, is_lost};
use sojourn_net::queue::Cx;
use sojourn_net::tcp::Sack;
use sojourn_net::{Packet as _, Span, Time};
use std::collections::VecDeque;

/// A link with what belongs to it.
pub(crate) struct LinkPort {
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
struct DelayLine {
    direction: Direction,
    delay: Span,
    packets: VecDeque<(Time, Packet)>,
    stream: usize,
}

pub(crate) struct Bottleneck {
    pub(crate) ports: [LinkPort; 2],
    delay_lines: Vec<DelayLine>,
    sacks: SackPool,
}

impl LinkPort {
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

impl Bottleneck {
    pub(crate) fn new(mut ports: [LinkPort; 2], event_queue: &mut EventQueue) -> Self {
        for direction in Direction::BOTH {
            let port = &mut ports[direction as usize];
            port.stream = event_queue.add_stream(Stream::Link(direction));
            event_queue.set(port.stream, port.link.poll_at().unwrap_or(Time::NEVER));
        }
        Self { ports, delay_lines: Vec::new(), sacks: SackPool::default() }
    }

    /// The line for packets that leave `direction`'s link towards hosts at `distance`; made if there is none yet.
    pub(crate) fn line(&mut self, direction: Direction, distance: Span, event_queue: &mut EventQueue) -> u16 {
        let delay = distance * 2;
        let found = self.delay_lines.iter().position(|l| l.direction == direction && l.delay == delay);
        found.unwrap_or_else(|| {
            let stream = event_queue.add_stream(Stream::DelayLine(self.delay_lines.len() as u16));
            self.delay_lines.push(DelayLine { direction, delay, packets: VecDeque::new(), stream });
            self.delay_lines.len() - 1
        }) as u16
    }

    /// A host sends a packet into a link, with SACK blocks if it has any.
    #[inline(always)] // Or each packet is copied once more.
    pub(crate) fn send(
        &mut self,
        now: Time,
        direction: Direction,
        mut packet: Packet,
        sack: Option<&Sack>,
        event_queue: &mut EventQueue,
    ) {
        if let Some(sack) = sack {
            packet.sack = self.sacks.put(*sack);
        }
        let port = &mut self.ports[direction as usize];
        packet.id = port.record.next_row();
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut port.record };
        if is_lost(port.loss, &mut port.loss_rng) {
            drop_on_path(packet, &mut cx);
            self.free_orphans(direction);
            return;
        }
        let departure = port.link.send(packet, &mut cx);
        self.after(direction, departure, event_queue);
    }

    /// The link's next step is due.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time, direction: Direction, event_queue: &mut EventQueue) {
        let port = &mut self.ports[direction as usize];
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut port.record };
        let departure = port.link.poll(&mut cx);
        self.after(direction, departure, event_queue);
    }

    #[inline(always)] // Or each departure is copied once more.
    fn after(&mut self, direction: Direction, departure: Option<Departure<Packet>>, event_queue: &mut EventQueue) {
        let port = &mut self.ports[direction as usize];
        event_queue.set(port.stream, port.link.poll_at().unwrap_or(Time::NEVER));
        if let Some(Departure { packet, start, end }) = departure {
            let bytes = packet.size() + port.overhead;
            port.record.transmitted(start, end, bytes);
            port.last = (start, end, bytes);
            let line = &mut self.delay_lines[packet.delay_line() as usize];
            let arrival = end + line.delay;
            if line.packets.is_empty() {
                event_queue.set(line.stream, arrival);
            }
            line.packets.push_back((arrival, packet));
        }
        if !self.ports[direction as usize].record.orphans.is_empty() {
            self.free_orphans(direction);
        }
    }

    #[cold]
    fn free_orphans(&mut self, direction: Direction) {
        while let Some(place) = self.ports[direction as usize].record.orphans.pop() {
            self.sacks.free.push(place);
        }
    }

    /// The first packet of a line has reached its host. Its SACK blocks are there until the next packet is sent.
    #[inline]
    pub(crate) fn arrive(&mut self, line: u16, event_queue: &mut EventQueue) -> Option<(Direction, Packet)> {
        let line = &mut self.delay_lines[line as usize];
        let (_, packet) = line.packets.pop_front()?;
        event_queue.set(line.stream, line.packets.front().map_or(Time::NEVER, |p| p.0));
        if packet.sack != NO_SACK {
            self.sacks.free.push(packet.sack);
        }
        Some((line.direction, packet))
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
