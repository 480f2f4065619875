//! The links of the path and the delay lines behind them.
//!
//! The delays between hosts and links are folded: a packet that leaves its last link reaches its host after *twice* the
//! delay between that link and the host, and a packet that a host sends is at its first link at once. Hosts thus live
//! on clocks shifted by their distance from the path; every round trip, queue and interval at one host is as if the
//! delays stood where they belong, at fewer events. What compares clocks of both ends (a datagram's one-way delay) is
//! corrected by the difference of the two distances. Delays between links are where they are: times at every link are
//! of one clock.
//!
//! Of what happens at one instant a packet's arrival from another link comes before a departure: so it is in ns-2, and
//! where rates divide one another it is no rare case. Packets that hosts send come after it.
//!
//! A packet carries the number of its route. Each link knows for every route the delay line behind it, and each line
//! where it leads: to the next link, or to hosts.

use crate::engine::access::AccessLinks;
use crate::engine::direction::Direction;
use crate::engine::event_queue::{EventQueue, Stream};
use crate::engine::jitter::Jitter;
use crate::engine::packet::{NO_SACK, Packet};
use crate::engine::route::{self, Way};
use crate::stats::hop_tap::HopTap;
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
    jitter: Option<Box<Jitter>>,
    stream: usize,
    /// For each route that crosses the link, the delay line behind it.
    lines: Vec<u16>,
    /// The transmission started last.
    pub(crate) last: (Time, Time, u32),
}

/// Where a delay line leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Hosts(Direction),
    Link(u16),
}

/// Packets under way from one link, or from the access links of a group, to hosts at one distance or to a link.
struct DelayLine {
    from: From,
    target: Target,
    delay: Span,
    packets: VecDeque<(Time, Packet)>,
    stream: usize,
    /// With packet logs, of each packet its number in the run.
    journeys: VecDeque<u32>,
}

/// What a delay line is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Link(u16),
    AccessLinks,
}

/// The path: its links, hop by hop, and what is under way between them.
pub(crate) struct Bottleneck {
    /// The link down and the link up of the first hop, then of the next.
    pub(crate) ports: Vec<LinkPort>,
    pub(crate) access: AccessLinks,
    hop_delays: Vec<Span>,
    delay_lines: Vec<DelayLine>,
    /// The links of each route, in the order in which it crosses them, with the lines behind them.
    routes: Vec<Vec<(u16, u16)>>,
    sacks: SackPool,
    pub(crate) tap: Option<HopTap>,
    /// Number of the next packet that a host sends, if the packet logs are to tell which rows are of one packet.
    journeys: Option<u32>,
}

/// Where a packet of a host enters the path: a link, or behind them the access links.
pub(crate) type Entry = u16;

impl LinkPort {
    pub(crate) fn new(
        link: Link<Packet>,
        record: LinkRecord,
        overhead: u32,
        loss: f64,
        [queue_rng, loss_rng]: [Pcg64Mcg; 2],
    ) -> Self {
        Self {
            link,
            record,
            overhead,
            loss,
            loss_rng,
            queue_rng,
            jitter: None,
            stream: 0,
            lines: Vec::new(),
            last: (Time::ZERO, Time::ZERO, 0),
        }
    }

    /// Hosts behind the link answer in different times.
    pub(crate) fn with_jitter(self, jitter: Jitter) -> Self {
        Self { jitter: Some(Box::new(jitter)), ..self }
    }

    /// A packet arrives; what departs at once is returned.
    #[inline(always)] // Or each packet is copied once more.
    fn send(&mut self, now: Time, mut packet: Packet) -> Option<Departure<Packet>> {
        packet.id = self.record.next_row();
        let mut cx = Cx { now, rng: &mut self.queue_rng, probe: &mut self.record };
        if is_lost(self.loss, &mut self.loss_rng) {
            drop_on_path(packet, &mut cx);
            return None;
        }
        self.link.send(packet, &mut cx)
    }

    /// The next step is due; what departs is returned.
    #[inline(always)] // Or each departure is copied once more.
    fn poll(&mut self, now: Time) -> Option<Departure<Packet>> {
        self.link.poll(&mut Cx { now, rng: &mut self.queue_rng, probe: &mut self.record })
    }
}

impl Bottleneck {
    /// The links in order, the delay of each hop, and for each group of access links the first link behind them with
    /// the delay to it. `follow`: the packet logs tell which rows are of one packet.
    pub(crate) fn new(
        mut ports: Vec<LinkPort>,
        hop_delays: Vec<Span>,
        access: &[(u16, Span)],
        follow: bool,
        event_queue: &mut EventQueue,
    ) -> Self {
        let mut path = Self {
            ports: Vec::new(),
            access: AccessLinks::default(),
            hop_delays,
            delay_lines: Vec::new(),
            routes: Vec::new(),
            sacks: SackPool::default(),
            tap: None,
            journeys: follow.then_some(0),
        };
        // Ties are broken by the place in the list: the lines that lead to links come first.
        for (first, delay) in access {
            path.line(From::AccessLinks, Target::Link(*first), *delay, event_queue);
        }
        for hop in 1..path.hop_delays.len() {
            let [up, down] = [(hop - 1, hop, Direction::Up), (hop, hop - 1, Direction::Down)];
            for (from, to, direction) in [up, down] {
                let (link, next) = (route::link(from, direction), route::link(to, direction));
                path.line(From::Link(link), Target::Link(next), path.hop_delays[from], event_queue);
            }
        }
        for (place, port) in ports.iter_mut().enumerate() {
            port.stream = event_queue.add_stream(Stream::Link(place as u16));
            event_queue.set(port.stream, port.link.poll_at().unwrap_or(Time::NEVER));
        }
        Self { ports, ..path }
    }

    /// The line behind a link to a target at a delay; made if there is none yet.
    fn line(&mut self, from: From, target: Target, delay: Span, event_queue: &mut EventQueue) -> u16 {
        let same = |l: &DelayLine| l.from == from && l.target == target && l.delay == delay;
        let found = self.delay_lines.iter().position(same);
        found.unwrap_or_else(|| {
            let number = self.delay_lines.len() as u16;
            let stream = event_queue.add_stream(match target {
                Target::Hosts(_) => Stream::DelayLine(number),
                Target::Link(_) => Stream::Transit(number),
            });
            let (packets, journeys) = (VecDeque::new(), VecDeque::new());
            self.delay_lines.push(DelayLine { from, target, delay, packets, stream, journeys });
            usize::from(number)
        }) as u16
    }

    /// Lays the route of a way in one direction, if it is not there yet; its number, and where its packets enter.
    pub(crate) fn route(&mut self, way: &Way, direction: Direction, event_queue: &mut EventQueue) -> (u16, Entry) {
        let links: Vec<u16> = way.links(direction).collect();
        let to = direction.destination();
        let to_hosts = way.distance(to) * 2 + way.access_delay(to);
        let mut steps = Vec::new();
        for (i, link) in links.iter().enumerate() {
            let hop = self.hop_delays[route::hop(*link)];
            let (target, delay) = match links.get(i + 1) {
                Some(next) => (Target::Link(*next), hop),
                None => (Target::Hosts(direction), hop + to_hosts),
            };
            steps.push((*link, self.line(From::Link(*link), target, delay, event_queue)));
        }
        let first = links[0];
        let number = self.routes.iter().position(|route| *route == steps).unwrap_or_else(|| {
            self.routes.push(steps.clone());
            self.routes.len() - 1
        });
        for (link, line) in &steps {
            let lines = &mut self.ports[usize::from(*link)].lines;
            if lines.len() <= number {
                lines.resize(number + 1, u16::MAX);
            }
            lines[number] = *line;
        }
        let entry = match way.access.filter(|access| access.end == direction.source()) {
            None => first,
            Some(access) => {
                let line = self.line(From::AccessLinks, Target::Link(first), access.delay, event_queue);
                self.access.link_mut(access.number).line = line;
                self.ports.len() as u16 + access.number
            }
        };
        (number as u16, entry)
    }

    /// Packets of a flow that arrived at the first link of a route, and how many of them were dropped on the route.
    pub(crate) fn of_flow(&self, route: u16, flow: u32) -> [u32; 2] {
        let mut counts =
            self.routes[usize::from(route)].iter().map(|(link, _)| self.ports[usize::from(*link)].record.of_flow(flow));
        let [arrived, dropped] = counts.next().unwrap_or_default();
        [arrived, counts.fold(dropped, |sum, [_, dropped]| sum + dropped)]
    }

    /// The last link of a route.
    pub(crate) fn last_link(&self, route: u16) -> u16 {
        self.routes[usize::from(route)].last().map_or(0, |(link, _)| *link)
    }

    /// The records of all links, in the order of their codes in the packet log.
    pub(crate) fn records(&self) -> impl Iterator<Item = &LinkRecord> {
        self.ports.iter().map(|port| &port.record).chain(self.access.records.iter().map(|access| &access.record))
    }

    /// The records of the links that packets cross in a direction.
    pub(crate) fn records_towards(&self, direction: Direction) -> impl Iterator<Item = &LinkRecord> {
        let ports = self.ports.iter().skip(direction as usize).step_by(2).map(|port| &port.record);
        let access = self.access.records.iter().filter(move |access| access.direction == direction);
        ports.chain(access.map(|access| &access.record))
    }

    /// All records, to change them.
    pub(crate) fn records_mut(&mut self) -> impl Iterator<Item = &mut LinkRecord> {
        let access = self.access.records.iter_mut().map(|access| &mut access.record);
        self.ports.iter_mut().map(|port| &mut port.record).chain(access)
    }

    /// A host sends a packet into its first link, with SACK blocks if it has any.
    #[inline(always)] // Or each packet is copied once more.
    pub(crate) fn send(
        &mut self,
        now: Time,
        entry: Entry,
        mut packet: Packet,
        sack: Option<&Sack>,
        event_queue: &mut EventQueue,
    ) {
        if let Some(sack) = sack {
            packet.sack = self.sacks.put(*sack);
        }
        if self.journeys.is_some() {
            self.set_out(entry);
        }
        if usize::from(entry) < self.ports.len() {
            self.enter(now, entry, packet, event_queue);
        } else {
            self.enter_access(now, entry - self.ports.len() as u16, packet, event_queue);
        }
    }

    /// A packet arrives at a link.
    #[inline(always)] // Or each packet is copied once more.
    fn enter(&mut self, now: Time, link: u16, packet: Packet, event_queue: &mut EventQueue) {
        let departure = self.ports[usize::from(link)].send(now, packet);
        self.after(link, departure, event_queue);
    }

    /// The link's next step is due.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time, link: u16, event_queue: &mut EventQueue) {
        let departure = self.ports[usize::from(link)].poll(now);
        self.after(link, departure, event_queue);
    }

    /// A link has done something: says when it is due next, and sends what leaves it on its way.
    #[inline(always)] // Or each departure is copied once more.
    fn after(&mut self, link: u16, departure: Option<Departure<Packet>>, event_queue: &mut EventQueue) {
        let port = &mut self.ports[usize::from(link)];
        event_queue.set(port.stream, port.link.poll_at().unwrap_or(Time::NEVER));
        let orphans = !port.record.orphans.is_empty();
        if let Some(Departure { packet, start, end }) = departure {
            let bytes = packet.size() + port.overhead;
            port.record.transmitted(start, end, bytes);
            port.last = (start, end, bytes);
            let behind = port.lines[usize::from(packet.route())];
            if self.journeys.is_some() || self.tap.is_some() {
                self.follow(link, behind, end, &packet);
            }
            let line = &mut self.delay_lines[usize::from(behind)];
            let mut arrival = end + line.delay;
            if let (Target::Hosts(_), Some(jitter)) = (line.target, &mut self.ports[usize::from(link)].jitter) {
                arrival = jitter.delay(arrival, line.packets.back().map_or(Time::ZERO, |last| last.0));
            }
            if line.packets.is_empty() {
                event_queue.set(line.stream, arrival);
            }
            line.packets.push_back((arrival, packet));
        }
        if orphans {
            self.free_orphans(link);
        }
    }

    /// A packet that is followed has left a link at `end` for the line behind it.
    #[cold]
    fn follow(&mut self, link: u16, line: u16, end: Time, packet: &Packet) {
        if self.journeys.is_some() {
            let journey = self.ports[usize::from(link)].record.journey_of(packet.id);
            self.delay_lines[usize::from(line)].journeys.push_back(journey);
        }
        if let Some(tap) = self.tap.as_mut().filter(|tap| tap.hop == route::hop(link)) {
            tap.pass(end, route::direction(link), link, packet, *self.sacks.of(packet));
        }
    }

    #[cold]
    fn free_orphans(&mut self, link: u16) {
        while let Some(place) = self.ports[usize::from(link)].record.orphans.pop() {
            self.sacks.free.push(place);
        }
    }

    /// The first packet of a line has reached its host. Its SACK blocks are there until the next packet is sent.
    #[inline]
    pub(crate) fn arrive(&mut self, line: u16, event_queue: &mut EventQueue) -> Option<(Direction, Packet)> {
        let line = &mut self.delay_lines[usize::from(line)];
        let Target::Hosts(direction) = line.target else { return None };
        let (_, packet) = line.packets.pop_front()?;
        event_queue.set(line.stream, line.packets.front().map_or(Time::NEVER, |p| p.0));
        if packet.sack != NO_SACK {
            self.sacks.free.push(packet.sack);
        }
        Some((direction, packet))
    }

    /// The first packet of a line has reached the next link.
    #[inline(never)] // Or the step of a path with one queue each way has room for it, and gets slower.
    pub(crate) fn pass_on(&mut self, now: Time, line: u16, event_queue: &mut EventQueue) {
        let line = &mut self.delay_lines[usize::from(line)];
        let Target::Link(link) = line.target else { return };
        let Some((_, packet)) = line.packets.pop_front() else { return };
        event_queue.set(line.stream, line.packets.front().map_or(Time::NEVER, |p| p.0));
        if let Some(journey) = line.journeys.pop_front() {
            self.ports[usize::from(link)].record.set_journey(journey);
        }
        self.enter(now, link, packet, event_queue);
    }

    /// The packet that a host is about to send gets its number in the run.
    #[cold]
    fn set_out(&mut self, entry: Entry) {
        let Some(journeys) = &mut self.journeys else { return };
        let journey = *journeys;
        *journeys += 1;
        match self.ports.get_mut(usize::from(entry)) {
            Some(port) => port.record.set_journey(journey),
            None => self.access.record_of(entry - self.ports.len() as u16).set_journey(journey),
        }
    }

    /// A packet arrives at an access link.
    #[cold]
    fn enter_access(&mut self, now: Time, number: u16, packet: Packet, event_queue: &mut EventQueue) {
        let departure = self.access.send(now, number, packet, event_queue);
        self.after_access(number, departure, event_queue);
    }

    /// The next step of the access links is due.
    #[inline(never)]
    pub(crate) fn poll_access(&mut self, now: Time, event_queue: &mut EventQueue) {
        if let Some((number, departure)) = self.access.poll(now, event_queue) {
            self.after_access(number, departure, event_queue);
        }
    }

    /// What has left an access link goes into the line that it shares with others, by the time of arrival.
    fn after_access(&mut self, number: u16, departure: Option<Departure<Packet>>, event_queue: &mut EventQueue) {
        if let Some(Departure { packet, end, .. }) = departure {
            let line = &mut self.delay_lines[usize::from(self.access.link_mut(number).line)];
            let arrival = end + line.delay;
            let place = line.packets.len() - line.packets.iter().rev().take_while(|other| other.0 > arrival).count();
            if self.journeys.is_some() {
                line.journeys.insert(place, self.access.record_of(number).journey_of(packet.id));
            }
            line.packets.insert(place, (arrival, packet));
            if place == 0 {
                event_queue.set(line.stream, arrival);
            }
        }
        let orphans = std::mem::take(&mut self.access.record_of(number).orphans);
        self.sacks.free.extend(orphans);
    }

    /// The SACK blocks of a packet that has just arrived.
    #[inline]
    pub(crate) fn sack(&self, packet: &Packet) -> &Sack {
        self.sacks.of(packet)
    }
}

/// SACK blocks of packets under way; few packets have any.
#[derive(Default)]
struct SackPool {
    places: Vec<Sack>,
    free: Vec<u32>,
}

impl SackPool {
    #[inline]
    fn of(&self, packet: &Packet) -> &Sack {
        if packet.sack == NO_SACK { &Sack::NONE } else { &self.places[packet.sack as usize] }
    }

    fn put(&mut self, sack: Sack) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = sack;
            return place;
        }
        self.places.push(sack);
        self.places.len() as u32 - 1
    }
}
