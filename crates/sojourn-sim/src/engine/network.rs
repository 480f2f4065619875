//! The network that sources act on: connections, the links, time.

mod connections;
mod sample;
mod timers;
mod totals;

use crate::engine::bottleneck::{Bottleneck, Entry};
use crate::engine::connection::{Connection, ConnectionId};
use crate::engine::direction::{Direction, End};
use crate::engine::event::Event;
use crate::engine::event_queue::{EventQueue, Stream, Timer};
use crate::engine::packet::{Body, Kind, Packet};
use crate::engine::route::Way;
use crate::stats::flow_record::FlowRecord;
use crate::stats::group_record::GroupRecord;
use crate::stats::host_tap::{Captured, HostTap};
use crate::stats::series::SeriesRecord;
use sojourn_net::congestion::CongestionControl;
use sojourn_net::tcp::{self, Sack};
use sojourn_net::{Ecn, Span, Time};
use std::collections::VecDeque;

const IP_AND_TCP: u32 = 40;
const TIMESTAMPS: u32 = 12;
const SYN_OPTIONS: u32 = 20;
const IP_AND_UDP: u64 = 28;

/// Makes the congestion controller of a new endpoint.
pub type Control = Box<dyn Fn() -> Box<dyn CongestionControl>>;

/// Hosts at the same distance with the same TCP.
pub struct Group {
    /// How their endpoints behave.
    pub config: tcp::Config,
    /// Makes the controller of a new endpoint.
    pub control: Control,
    /// How they reach one another.
    pub way: Way,
    /// Counts in the summary of flows.
    pub background: bool,
    /// By direction, the route of their packets and where these enter the path.
    routes: [(u16, Entry); 2],
    /// Place among the scenario's groups of flows and users.
    pub(crate) origin: u16,
    ack_timers: usize,
}

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    /// Hosts between which it goes.
    pub group: u16,
    /// Which link it crosses.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Number of its flow.
    pub flow: u32,
    /// The source that sends it.
    pub owner: u32,
    /// A number of the source's choice.
    pub seq: u64,
    /// Bytes at IP.
    pub size: u16,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// Delayed-ACK timers of one length: first in, first out.
struct AckTimers {
    delay: Span,
    timers: VecDeque<(Time, u32, u32, u8)>,
    stream: usize,
}

/// Connections, links and pending events.
pub struct Network {
    now: Time,
    pub(crate) event_queue: EventQueue,
    pub(crate) bottleneck: Bottleneck,
    groups: Vec<Group>,
    connections: Vec<Connection>,
    free: VecDeque<u32>,
    /// The group of each flow number; there is no flow 0.
    group_of_flow: Vec<u16>,
    ack_timers: Vec<AckTimers>,
    notices: VecDeque<(u32, Event)>,
    /// What the hosts of each group did.
    pub(crate) group_records: Vec<GroupRecord>,
    /// Payload bytes that have arrived of each source, but for connections that are open.
    delivered: Vec<u64>,
    pub(crate) events: u64,
    pub(crate) flow_record: Option<FlowRecord>,
    pub(crate) tap: Option<HostTap>,
    pub(crate) series: Option<SeriesRecord>,
    /// How long applications take to read on average, and what the seeds of their times are made of.
    reading: (Span, u64),
}

impl Network {
    pub(crate) fn new(event_queue: EventQueue, bottleneck: Bottleneck, reading: (Span, u64)) -> Self {
        Self {
            now: Time::ZERO,
            event_queue,
            bottleneck,
            groups: Vec::new(),
            connections: Vec::new(),
            free: VecDeque::new(),
            group_of_flow: vec![0],
            ack_timers: Vec::new(),
            notices: VecDeque::new(),
            group_records: Vec::new(),
            delivered: Vec::new(),
            events: 0,
            flow_record: None,
            tap: None,
            series: None,
            reading,
        }
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many groups of hosts there are.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Adds a group of hosts; returns its number.
    ///
    /// `origin` is its place among the scenario's groups: first those of flows, then each user.
    pub fn add_group(&mut self, config: tcp::Config, control: Control, way: Way, origin: u16, background: bool) -> u16 {
        let routes = Direction::BOTH.map(|direction| self.bottleneck.route(&way, direction, &mut self.event_queue));
        let ack_timers = self.ack_timers.iter().position(|l| l.delay == config.ack_delay).unwrap_or_else(|| {
            let stream = self.event_queue.add_stream(Stream::DelayedAcks(self.ack_timers.len() as u16));
            self.ack_timers.push(AckTimers { delay: config.ack_delay, timers: VecDeque::new(), stream });
            self.ack_timers.len() - 1
        });
        self.group_records.push(GroupRecord::default());
        self.groups.push(Group { config, control, way, background, routes, origin, ack_timers });
        self.groups.len() as u16 - 1
    }

    /// A new flow number, of a group.
    pub fn new_flow(&mut self, group: u16) -> u32 {
        self.group_of_flow.push(group);
        self.group_of_flow.len() as u32 - 1
    }

    /// Sends a datagram. Its owner is told of its arrival, unless it is a plain one: those are only counted.
    pub fn datagram(&mut self, datagram: &Datagram) {
        let Datagram { group, direction, kind, flow, owner, seq, size, ecn } = *datagram;
        let (route, entry) = self.groups[group as usize].routes[direction as usize];
        let packet = Packet::datagram(kind, seq, self.now, flow, (group, owner), route, size).with_ecn(ecn);
        if let Some(tap) = &mut self.tap {
            let seen = Captured {
                at: self.now,
                direction,
                group: self.groups[group as usize].origin,
                link: entry,
                packet: packet.clone(),
                sack: Sack::NONE,
            };
            tap.pass(direction.source(), seen);
        }
        self.group_records[group as usize].sent[direction as usize] += 1;
        self.bottleneck.send(self.now, entry, packet, None, &mut self.event_queue);
    }

    /// One-way delay of a datagram that arrives now. The two hosts' clocks are shifted by their distances (see
    /// [`Bottleneck`]).
    fn one_way(&self, packet: &Packet, group: u16, direction: Direction) -> Span {
        let way = &self.groups[group as usize].way;
        let (near, far) = (way.distance(direction.source()), way.distance(direction.destination()));
        self.now.since(packet.stamp) + near - far
    }

    /// Wakes a source with `token` at `at`.
    pub fn wake_at(&mut self, at: Time, source: u32, token: u64) {
        self.event_queue.push(at.max(self.now), Timer::Source { source, token });
    }

    /// Takes out what the tap at a hop has seen up to now.
    pub(crate) fn take_seen(&mut self) -> Vec<Captured> {
        let mut seen = self.bottleneck.tap.as_mut().map_or(Vec::new(), |tap| tap.take(self.now));
        for packet in &mut seen {
            if let Body::Datagram { group, .. } = packet.packet.body() {
                packet.group = self.groups[group as usize].origin;
            }
        }
        seen
    }

    /// Numbers of a source's voice or video packets that were dropped.
    pub fn lost(&self, source: u32) -> impl Iterator<Item = u64> {
        let lost = self.bottleneck.records().flat_map(|record| &record.lost);
        lost.filter(move |(owner, _)| *owner == source).map(|(_, seq)| *seq)
    }

    /// The next thing for a source, if any.
    pub(crate) fn notice(&mut self) -> Option<(u32, Event)> {
        self.notices.pop_front()
    }

    /// Does the next thing, if it is due before `end`; otherwise moves the clock to `end` and returns false.
    #[inline]
    pub(crate) fn step(&mut self, end: Time) -> bool {
        let (stream, at) = self.event_queue.next();
        if at >= end {
            self.now = end;
            return false;
        }
        debug_assert!(at >= self.now, "time runs backwards: {at} after {}", self.now);
        self.now = at;
        self.events += 1;
        match stream {
            Stream::Link(link) => self.bottleneck.poll(at, link, &mut self.event_queue),
            Stream::Transit(line) => self.bottleneck.pass_on(at, line, &mut self.event_queue),
            Stream::Access => self.bottleneck.poll_access(at, &mut self.event_queue),
            Stream::DelayLine(line) => self.arrive(line),
            Stream::DelayedAcks(line) => self.on_ack_timer(line),
            Stream::Timers => self.on_timer(),
        }
        true
    }

    #[inline]
    fn arrive(&mut self, line: u16) {
        let Some((direction, packet)) = self.bottleneck.arrive(line, &mut self.event_queue) else { return };
        let sack = self.bottleneck.sack(&packet);
        if let Some(tap) = &mut self.tap {
            let group = match packet.body() {
                Body::Segment { connection } => self.connections[connection as usize].group,
                Body::Datagram { group, .. } => group,
            };
            let group = self.groups[group as usize].origin;
            let link = self.bottleneck.last_link(packet.route());
            tap.pass(
                direction.destination(),
                Captured { at: self.now, direction, group, link, packet: packet.clone(), sack: *sack },
            );
        }
        let place = match packet.body() {
            Body::Segment { connection } => connection,
            Body::Datagram { group, source } => {
                self.delivered[source as usize] += u64::from(packet.bytes()).saturating_sub(IP_AND_UDP);
                if packet.reports_delivery() {
                    let delay = self.one_way(&packet, group, direction);
                    self.notices.push_back((source, Event::Datagram { packet, delay }));
                }
                return;
            }
        };
        let slot = place as usize;
        let connection = &mut self.connections[slot];
        if connection.flow != packet.flow {
            return; // A late copy for a connection that has ended.
        }
        let end = direction.destination();
        let segment = packet.to_segment();
        let endpoint = &mut connection.ends[end as usize];
        let progress = endpoint.on_segment(self.now, &segment, sack);
        if progress.acknowledged {
            if connection.background {
                self.group_records[connection.group as usize].measured(endpoint.sender().latest_rtt());
            }
            if let Some(record) = &mut self.flow_record {
                record.acknowledged(place, end, endpoint.sender());
            }
        }
        if connection.told {
            let (owner, id) = (connection.owner, ConnectionId { slot: place, flow: packet.flow });
            if progress.received {
                let bytes = endpoint.receiver().delivered();
                self.notices.push_back((owner, Event::Received { connection: id, at: end, bytes }));
            }
            if progress.acknowledged && endpoint.sender().is_idle() {
                self.notices.push_back((owner, Event::Sent { connection: id, at: end }));
            }
        }
        let closing = connection.closing;
        self.flush(slot, end);
        if closing {
            self.end_if_closed(slot);
        }
    }

    /// Sends all that an endpoint has to send, and arms its timers.
    #[inline]
    fn flush(&mut self, slot: usize, end: End) {
        let connection = &mut self.connections[slot];
        let direction = if end == End::Client { Direction::Up } else { Direction::Down };
        let (route, entry) = connection.routes[direction as usize];
        let options = if connection.timestamps { TIMESTAMPS } else { 0 };
        let endpoint = &mut connection.ends[end as usize];
        let mut sent = 0;
        while let Some(segment) = endpoint.poll(self.now) {
            sent += 1;
            let sack = endpoint.has_sack().then(|| endpoint.sack());
            let options = if segment.syn { SYN_OPTIONS } else { options + sack.as_ref().map_or(0, sack_option) };
            let size = segment.payload() + IP_AND_TCP + options;
            let packet = Packet::segment(&segment, connection.flow, slot as u32, route, size as u16);
            if let Some(tap) = &mut self.tap {
                let sack = sack.unwrap_or(Sack::NONE);
                tap.pass(
                    end,
                    Captured {
                        at: self.now,
                        direction,
                        group: self.groups[connection.group as usize].origin,
                        link: entry,
                        packet: packet.clone(),
                        sack,
                    },
                );
            }
            self.bottleneck.send(self.now, entry, packet, sack.as_ref(), &mut self.event_queue);
        }
        if sent > 0 {
            self.group_records[connection.group as usize].sent[direction as usize] += sent;
        }
        let side = end as usize;
        let (timer_at, ack_at) = (endpoint.next_timer(), endpoint.ack_at());
        if timer_at < connection.armed[side] {
            connection.armed[side] = timer_at;
            let timer = Timer::Retransmission { slot: slot as u32, flow: connection.flow, side: side as u8 };
            self.event_queue.push(timer_at, timer);
        }
        let send_at = endpoint.send_at();
        if send_at < connection.send_armed[side] {
            connection.send_armed[side] = send_at;
            let timer = Timer::Pacing { slot: slot as u32, flow: connection.flow, side: side as u8 };
            self.event_queue.push(send_at, timer);
        }
        if ack_at != Time::NEVER && !connection.ack_armed[side] {
            connection.ack_armed[side] = true;
            let line = &mut self.ack_timers[self.groups[connection.group as usize].ack_timers];
            let (slot, flow, side) = (slot as u32, connection.flow, side as u8);
            match line.timers.back() {
                // A timer that was put off is out of turn.
                Some((last, ..)) if *last > ack_at => {
                    self.event_queue.push(ack_at, Timer::DelayedAck { slot, flow, side })
                }
                last => {
                    if last.is_none() {
                        self.event_queue.set(line.stream, ack_at);
                    }
                    line.timers.push_back((ack_at, slot, flow, side));
                }
            }
        }
    }
}

/// Bytes of the SACK option that carries some blocks, padded to a multiple of four (RFC 2018 §3, RFC 7323 appendix A).
fn sack_option(sack: &Sack) -> u32 {
    4 + 8 * sack.blocks().len() as u32
}
