//! One direction of the path: the links that its packets cross, and the delays between them.
//!
//! The delay between a sender and its first link is added behind the last one. That shifts the clock of the queues
//! against the sender's, and nothing else: every round trip, one-way delay and queue is as if the delay stood where it
//! belongs. So a packet leaves its queue on paper that much before it must be written, which is the time that the loop
//! has to be late in.
//!
//! Arrivals are taken in the order of their stamps, and events done in the order of their times, up to the time before
//! which nothing can arrive any more. So no decision depends on when the loop woke. A packet whose stamp is before that
//! all the same (its sender was interrupted between stamping and queueing it) arrives as early as it still can.

use crate::event::{Event, EventSink, LinkProbe};
use crate::forward::due::Due;
use crate::frame::Frame;
use crate::setup::Pair;
use rand_pcg::Pcg64Mcg;
use sojourn_net::link::{Departure, Link, drop_on_path, is_lost};
use sojourn_net::queue::Cx;
use sojourn_net::{Packet, Span, Time};
use sojourn_sim::LoneLink;
use sojourn_sim::scenario::{Direction, Scenario};
use std::collections::VecDeque;

/// A link with what belongs to it.
struct Port {
    /// The link's code in the packet log.
    number: u8,
    link: Link<Frame>,
    queue_rng: Pcg64Mcg,
    loss_rng: Pcg64Mcg,
    loss: f64,
    overhead: u32,
    /// Behind the link.
    delay: Span,
    next_row: u32,
    /// Packets under way to it from the link before.
    transit: VecDeque<(Time, Frame)>,
}

/// One direction of the path.
pub struct Way {
    ports: Vec<Port>,
    arrivals: VecDeque<(Time, Frame)>,
    /// Everything before this has happened.
    horizon: Time,
    /// Packets to be given to the host at the end, and when.
    pub due: Due,
    /// Packets whose stamp came too late to count, and by how much at most.
    pub clamped: (u64, Span),
}

impl Way {
    /// The direction of a scenario's path, as a run of it has it; some pairs of hosts are at distances of their own.
    pub fn new(scenario: &Scenario, seed: u64, replication: u32, direction: Direction, pairs: &[Pair]) -> Self {
        let path = &scenario.path;
        let mut links: Vec<_> = (0u8..).zip(path.links()).filter(|(_, link)| link.direction == direction).collect();
        if direction == Direction::Down {
            links.reverse();
        }
        let ports = links.iter().map(|(number, of)| {
            let LoneLink { link, queue_rng, loss_rng } = LoneLink::new(scenario, seed, replication, of);
            Port {
                number: *number,
                link,
                queue_rng,
                loss_rng,
                loss: of.spec.loss,
                overhead: of.spec.overhead.0 as u32,
                delay: of.hop.delay,
                next_row: 0,
                transit: VecDeque::new(),
            }
        });
        let ports: Vec<Port> = ports.collect();
        let between = ports.last().map_or(Span::ZERO, |port| port.delay);
        let due = Due::new(between + path.client_delay + path.server_delay, between, pairs);
        Self { ports, arrivals: VecDeque::with_capacity(4096), horizon: Time::ZERO, due, clamped: (0, Span::ZERO) }
    }

    /// The delay behind the last link: how long before it must be written a packet's fate is settled.
    pub fn slack(&self) -> Span {
        self.due.slack()
    }

    /// A packet leaves its sender, not before those that did before.
    pub fn arrive(&mut self, stamp: Time, frame: Frame) {
        let at = stamp.max(self.horizon).max(self.arrivals.back().map_or(Time::ZERO, |last| last.0));
        if at > stamp {
            self.clamped = (self.clamped.0 + 1, self.clamped.1.max(at.since(stamp)));
        }
        self.arrivals.push_back((at, frame));
    }

    /// When something happens next.
    pub fn next_event(&self) -> Time {
        let of_port = |port: &Port| {
            let transit = port.transit.front().map_or(Time::NEVER, |first| first.0);
            port.link.poll_at().unwrap_or(Time::NEVER).min(transit)
        };
        let arrival = self.arrivals.front().map_or(Time::NEVER, |first| first.0);
        self.ports.iter().map(of_port).fold(arrival, Time::min)
    }

    /// Does everything that is due up to `until`, each at its own time. At one instant, what a link has to do comes
    /// before what arrives at it.
    pub fn advance(&mut self, until: Time, sink: &mut EventSink) {
        self.horizon = self.horizon.max(until);
        loop {
            let next = self.next_event();
            if next > until || next == Time::NEVER {
                return;
            }
            if let Some(place) = self.ports.iter().position(|port| port.link.poll_at() == Some(next)) {
                self.poll(place, next, sink);
            } else if let Some(place) =
                self.ports.iter().position(|port| port.transit.front().is_some_and(|first| first.0 == next))
            {
                if let Some((_, frame)) = self.ports[place].transit.pop_front() {
                    self.enter(place, next, frame, sink);
                }
            } else if let Some((_, frame)) = self.arrivals.pop_front() {
                self.enter(0, next, frame, sink);
            }
        }
    }

    fn enter(&mut self, place: usize, now: Time, mut frame: Frame, sink: &mut EventSink) {
        let port = &mut self.ports[place];
        (frame.row, frame.ecn_before) = (port.next_row, frame.headers.ecn);
        port.next_row = port.next_row.wrapping_add(1);
        let mut probe = LinkProbe { link: port.number, sink };
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut probe };
        if is_lost(port.loss, &mut port.loss_rng) {
            drop_on_path(frame, &mut cx);
            return;
        }
        let departure = port.link.send(frame, &mut cx);
        self.pass_on(place, departure, sink);
    }

    fn poll(&mut self, place: usize, now: Time, sink: &mut EventSink) {
        let port = &mut self.ports[place];
        let mut probe = LinkProbe { link: port.number, sink };
        let mut cx = Cx { now, rng: &mut port.queue_rng, probe: &mut probe };
        let departure = port.link.poll(&mut cx);
        self.pass_on(place, departure, sink);
    }

    fn pass_on(&mut self, place: usize, departure: Option<Departure<Frame>>, sink: &mut EventSink) {
        let Some(Departure { packet, start, end }) = departure else { return };
        let Port { number, overhead, delay, .. } = self.ports[place];
        sink.tell(Event::Transmitted { link: number, start, end, bytes: packet.size() + overhead });
        match self.ports.get_mut(place + 1) {
            Some(next) => next.transit.push_back((end + delay, packet)),
            None => self.due.push(end, packet),
        }
    }
}
