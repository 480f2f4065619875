//! The loop: packets from one host to the other and back, through the queues, each written at the time it is due.
//!
//! One thread does both directions. It takes what has been sent, lets the queues do all that is due at the times it was
//! due, writes what is due, and waits for whatever comes next.

use crate::device::{Device, VNET_HEADER};
use crate::event::{Event, EventSink};
use crate::forward::clock::Clock;
use crate::forward::gro::Joined;
use crate::forward::gso::{Cut, VnetHeader};
use crate::forward::slab::Slab;
use crate::forward::way::Way;
use crate::frame::{self, Frame, Headers};
use crate::lateness::Lateness;
use sojourn_net::{Packet, Rate, Span, Time};
use sojourn_sim::Direction;
use std::io;
use std::os::fd::BorrowedFd;

/// So many packets are taken from one device before those that are due are written, or more by a super-packet's; and so
/// many are written before others are taken. A host that was not looked at for long has dozens of super-packets ready,
/// of some forty packets each.
const MOST_TOGETHER: usize = 64;
/// A sender's stamp is this old at most, or half the delay, when its packet can be read.
const GUARD: Span = Span(50_000);
/// How long a queue's next step may be left undone, if the delay behind it gives that time.
const LAZY: Span = Span::from_millis(1);
/// Largest packet that a device gives.
const LARGEST: usize = 65_536;

/// What is set about hosts.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// Largest packet at IP.
    pub mtu: usize,
    /// The rate of the hosts' network cards, at which a super-packet goes onto the wire.
    pub access: Rate,
}

/// One direction: what its sender sends is read here.
struct Side {
    direction: Direction,
    device: Device,
    way: Way,
    /// When the sender's card is free again.
    card: Time,
    /// How late packets were given to the host at the other end.
    written: Lateness,
    /// How late packets were read.
    read: Lateness,
    counts: Counts,
}

/// What happened to packets outside the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Packets that a host sent, as they are on the wire.
    pub sent_pkts: u64,
    /// Super-packets that were cut.
    pub super_pkts: u64,
    /// Packets that were given to the host at the other end.
    pub delivered_pkts: u64,
    /// Packets that the host at the other end did not take.
    pub refused_pkts: u64,
    /// Packets larger than the MTU, or that could not be read.
    pub unfit_pkts: u64,
    /// The kernel's own announcements to neighbours, which are not passed on.
    pub link_local_pkts: u64,
}

/// The emulator's loop over two devices.
pub struct Forwarder {
    sides: [Side; 2],
    slab: Slab,
    hosts: Hosts,
    /// Takes the events.
    pub sink: EventSink,
    buffer: Vec<u8>,
    /// Packets that are written next, as one if there are several.
    together: Vec<(Time, Frame)>,
    joined: Joined,
    journeys: u32,
}

impl Forwarder {
    /// A loop between the client's device and the server's. `ways`: down, then up.
    pub fn new(client: Device, server: Device, ways: [Way; 2], hosts: Hosts, sink: EventSink) -> Self {
        let [down, up] = ways;
        let side = |direction, device, way| Side {
            direction,
            device,
            way,
            card: Time::ZERO,
            written: Lateness::default(),
            read: Lateness::default(),
            counts: Counts::default(),
        };
        Self {
            sides: [side(Direction::Down, server, down), side(Direction::Up, client, up)],
            slab: Slab::new(hosts.mtu + VNET_HEADER, 4096),
            hosts,
            sink,
            buffer: vec![0; LARGEST + VNET_HEADER],
            together: Vec::with_capacity(MOST_TOGETHER),
            joined: Joined::new(),
            journeys: 0,
        }
    }

    /// The descriptors that packets are read from.
    pub fn readable(&self) -> [BorrowedFd<'_>; 2] {
        [self.sides[0].device.as_fd(), self.sides[1].device.as_fd()]
    }

    /// Puts the queues of a new run in, and forgets what was counted.
    pub fn restart(&mut self, ways: [Way; 2], sink: EventSink) {
        for (side, way) in self.sides.iter_mut().zip(ways) {
            for frame in std::mem::replace(&mut side.way, way).due.into_frames() {
                self.slab.give_back(frame.slot);
            }
            (side.written, side.read, side.counts) = (Lateness::default(), Lateness::default(), Counts::default());
            side.card = Time::ZERO;
        }
        self.sink = sink;
        self.journeys = 0;
    }

    /// Does all that is due, and says when there is something to do again.
    ///
    /// # Errors
    /// A device is gone.
    pub fn turn(&mut self, clock: &impl Clock) -> io::Result<Time> {
        let mut next = Time::NEVER;
        for side in 0..2 {
            let drained = self.take(side, clock)?;
            let Side { way, .. } = &mut self.sides[side];
            way.advance(drained, &mut self.sink);
            for slot in self.sink.freed.drain(..) {
                self.slab.give_back(slot);
            }
        }
        for side in 0..2 {
            self.give(side, clock);
            let way = &self.sides[side].way;
            let slack = way.slack();
            let event = way.next_event();
            let step = if event == Time::NEVER { event } else { event + LAZY.min(Span(slack.0 / 2)) };
            next = next.min(step).min(way.due.next());
        }
        Ok(next)
    }

    /// Takes what has been sent; returns the time up to which all that has been sent is known.
    fn take(&mut self, side: usize, clock: &impl Clock) -> io::Result<Time> {
        let begun = clock.now();
        let stamped = self.sides[side].device.is_stamped();
        let mut last = Time::ZERO;
        let enough = self.sides[side].counts.sent_pkts + MOST_TOGETHER as u64;
        for _ in 0..MOST_TOGETHER {
            if self.sides[side].counts.sent_pkts >= enough {
                break;
            }
            let Some(length) = self.sides[side].device.read(&mut self.buffer)? else {
                let guard = if stamped { GUARD.min(Span(self.sides[side].way.slack().0 / 2)) } else { Span::ZERO };
                return Ok((begun - guard).max(last));
            };
            let now = clock.now();
            let device = &mut self.sides[side].device;
            let stamp = device.stamp(length).map_or(now, |stamp| stamp.min(now));
            self.sides[side].read.add(now.since(stamp));
            self.admit(side, stamp, length);
            last = stamp;
        }
        Ok(last)
    }

    /// A packet, or a super-packet, of the buffer goes onto the wire.
    fn admit(&mut self, side: usize, stamp: Time, length: usize) {
        let (head, packet) = self.buffer[..VNET_HEADER + length].split_at(VNET_HEADER);
        let header = VnetHeader::read(head.try_into().unwrap_or(&[0; VNET_HEADER]));
        let Side { way, card, counts, .. } = &mut self.sides[side];
        let Some(first) = Headers::read(packet) else {
            counts.unfit_pkts += 1;
            return;
        };
        if first.link_local {
            counts.link_local_pkts += 1;
            return;
        }
        let cut = header.is_super().then(|| Cut::new(header, packet));
        let pieces = match &cut {
            None => 1,
            Some(Some(cut)) => cut.count(),
            Some(None) => 0,
        };
        counts.unfit_pkts += u64::from(pieces == 0);
        counts.super_pkts += u64::from(pieces > 1);
        for place in 0..pieces {
            let slot = self.slab.take();
            let bytes = self.slab.bytes(slot);
            bytes[..VNET_HEADER].copy_from_slice(&header.plain());
            let room = &mut bytes[VNET_HEADER..VNET_HEADER + self.hosts.mtu];
            let size = match &cut {
                Some(Some(cut)) => cut.segment(place, room),
                _ => room.get_mut(..length).map(|room| {
                    room.copy_from_slice(packet);
                    length
                }),
            };
            let Some((size, headers)) = size.and_then(|size| Some((size, Headers::read(&room[..size])?))) else {
                counts.unfit_pkts += 1;
                self.slab.give_back(slot);
                continue;
            };
            counts.sent_pkts += 1;
            let at = stamp.max(*card);
            *card = at + Span((size as u64 * 8_000_000_000) / self.hosts.access.0.max(1));
            let journey = self.journeys;
            self.journeys = self.journeys.wrapping_add(1);
            self.sink.snap(journey, &room[..size]);
            way.arrive(
                at,
                Frame { slot, row: 0, journey, size: size as u32, headers, ecn_before: headers.ecn, marked: false },
            );
        }
    }

    /// Gives the host at the other end what is due, and joins what is due together where the host would.
    fn give(&mut self, side: usize, clock: &impl Clock) {
        let joins = self.sides[1 - side].device.joins();
        let mut given = 0;
        while given < MOST_TOGETHER {
            let now = clock.now();
            let Some(first) = self.sides[side].way.due.pop(now) else { return };
            let bytes = outgoing(&mut self.slab, &first.1);
            let joined = joins && self.sides[side].way.due.next() <= now && self.joined.begin(bytes);
            self.together.push(first);
            while joined && let Some(next) = self.sides[side].way.due.first(now) {
                if !self.joined.add(outgoing(&mut self.slab, next)) {
                    break;
                }
                self.together.extend(self.sides[side].way.due.pop(now));
            }
            given += self.together.len();
            self.write(side, now);
        }
    }

    /// Writes the packets that are together, as one if they were joined.
    fn write(&mut self, side: usize, now: Time) {
        let bytes = match &self.together[..] {
            [(_, alone)] => outgoing(&mut self.slab, alone),
            _ => self.joined.finish(),
        };
        let taken = self.sides[1 - side].device.write(bytes);
        let Side { direction, written, counts, .. } = &mut self.sides[side];
        for (due, frame) in self.together.drain(..) {
            let late = now.since(due);
            written.add(late);
            counts.delivered_pkts += u64::from(taken);
            counts.refused_pkts += u64::from(!taken);
            self.sink.tell(Event::Written { way: *direction as u8, due, late, size: frame.size() });
            self.slab.give_back(frame.slot);
        }
    }

    /// Lets the queues do what is due up to the end of the run.
    pub fn finish(&mut self, end: Time) {
        for side in &mut self.sides {
            side.way.advance(end, &mut self.sink);
        }
    }

    /// What each direction came to: down, then up.
    pub fn sides(&self) -> [SideReport; 2] {
        [0, 1].map(|side| {
            let Side { device, written, read, counts, way, .. } = &self.sides[side];
            SideReport {
                written: written.clone(),
                read: device.is_stamped().then(|| read.clone()),
                counts: *counts,
                clamped: way.clamped,
                unstamped: device.unstamped(),
                under_way: way.due.len() as u64,
            }
        })
    }
}

/// The bytes of a packet as the host at the other end gets them, with the device's header in front.
#[inline]
fn outgoing<'s>(slab: &'s mut Slab, frame: &Frame) -> &'s [u8] {
    let bytes = &mut slab.bytes(frame.slot)[..VNET_HEADER + frame.size as usize];
    if frame.marked {
        frame::mark(&mut bytes[VNET_HEADER..]);
    }
    bytes
}

/// What one direction came to.
#[derive(Clone, Debug)]
pub struct SideReport {
    /// How late packets were given to the host at the other end.
    pub written: Lateness,
    /// How late packets were read after they had been sent; `None` without the kernel's stamps.
    pub read: Option<Lateness>,
    /// Packets outside the queues.
    pub counts: Counts,
    /// Packets whose stamp came too late to count, and by how much at most.
    pub clamped: (u64, Span),
    /// Packets without a stamp although there are stamps.
    pub unstamped: u64,
    /// Packets that had left the last queue and were not yet due at the end.
    pub under_way: u64,
}
