//! Many lines of packets over one store, for the disciplines that queue flows apart.
//!
//! Packets live in a slab whose free places are reused, last freed first, so that nothing is allocated once it has grown
//! to the longest queue.

use super::Backlog;
use super::codel::Head;
use super::inspect::Inspector;
use crate::{Packet, Span, Time};

/// No place, no line.
const NONE: u32 = u32::MAX;

struct Node<P> {
    arrived: Time,
    packet: Option<P>,
    older: u32,
    newer: u32,
}

#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    newest: u32,
    held: Backlog,
}

pub(super) struct Lines<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    ends: Vec<Ends>,
    total: Backlog,
    most: Backlog,
}

impl<P: Packet> Lines<P> {
    /// So many lines that are to hold at most so much together; `MAX` means no limit.
    pub(super) fn new(lines: u32, max_packets: u32, max_bytes: u64) -> Self {
        let capacity = max_packets.min(1024) as usize;
        let empty = Ends { oldest: NONE, newest: NONE, held: Backlog::default() };
        Self {
            nodes: Vec::with_capacity(capacity),
            free: NONE,
            ends: vec![empty; lines as usize],
            total: Backlog::default(),
            most: Backlog { packets: max_packets, bytes: max_bytes },
        }
    }

    /// More is held than may be.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.total.packets > self.most.packets || self.total.bytes > self.most.bytes
    }

    /// There is no room for so many bytes more.
    #[inline]
    pub(super) fn is_full_for(&self, size: u32) -> bool {
        self.total.packets >= self.most.packets || self.total.bytes + u64::from(size) > self.most.bytes
    }

    /// Not even empty lines have room for so many bytes.
    #[inline]
    pub(super) fn never_holds(&self, size: u32) -> bool {
        self.most.packets == 0 || u64::from(size) > self.most.bytes
    }

    #[inline]
    pub(super) fn push(&mut self, line: u32, arrived: Time, packet: P) {
        let size = u64::from(packet.size());
        let ends = &mut self.ends[line as usize];
        let node = Node { arrived, packet: Some(packet), older: ends.newest, newer: NONE };
        let place = if self.free == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let place = self.free;
            let slot = &mut self.nodes[place as usize];
            self.free = slot.newer;
            *slot = node;
            place
        };
        match ends.newest {
            NONE => ends.oldest = place,
            last => self.nodes[last as usize].newer = place,
        }
        ends.newest = place;
        for held in [&mut ends.held, &mut self.total] {
            held.packets += 1;
            held.bytes += size;
        }
    }

    /// Takes the oldest packet of a line.
    #[inline]
    pub(super) fn pop_oldest(&mut self, line: u32) -> Option<(Time, P)> {
        let ends = &mut self.ends[line as usize];
        let place = ends.oldest;
        let node = self.nodes.get_mut(place as usize)?;
        let arrived = node.arrived;
        let packet = node.packet.take()?;
        ends.oldest = node.newer;
        node.newer = self.free;
        self.free = place;
        match ends.oldest {
            NONE => ends.newest = NONE,
            oldest => self.nodes[oldest as usize].older = NONE,
        }
        let size = u64::from(packet.size());
        for held in [&mut ends.held, &mut self.total] {
            held.packets -= 1;
            held.bytes -= size;
        }
        Some((arrived, packet))
    }

    /// Takes the newest packet of a line.
    pub(super) fn pop_newest(&mut self, line: u32) -> Option<(Time, P)> {
        let ends = &mut self.ends[line as usize];
        let place = ends.newest;
        let node = self.nodes.get_mut(place as usize)?;
        let arrived = node.arrived;
        let packet = node.packet.take()?;
        ends.newest = node.older;
        node.newer = self.free;
        self.free = place;
        match ends.newest {
            NONE => ends.oldest = NONE,
            newest => self.nodes[newest as usize].newer = NONE,
        }
        let size = u64::from(packet.size());
        for held in [&mut ends.held, &mut self.total] {
            held.packets -= 1;
            held.bytes -= size;
        }
        Some((arrived, packet))
    }

    pub(super) fn held(&self, line: u32) -> Backlog {
        self.ends[line as usize].held
    }

    pub(super) fn total(&self) -> Backlog {
        self.total
    }

    pub(super) fn count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// How long the oldest packet of a line has waited; zero if there is none.
    pub(super) fn head_delay(&self, line: u32, now: Time) -> Span {
        let oldest = self.nodes.get(self.ends[line as usize].oldest as usize);
        oldest.map_or(Span::ZERO, |node| now.since(node.arrived))
    }

    pub(super) fn inspect(&self, line: u32, inspector: &mut Inspector<'_>) {
        inspector.tell("line", f64::from(line));
        inspector.tell("line_pkts", f64::from(self.held(line).packets));
    }

    /// The line that holds most bytes, the first of equals.
    pub(super) fn fattest(&self) -> u32 {
        let fattest = self.ends.iter().enumerate().rev().max_by_key(|(_, ends)| ends.held.bytes);
        fattest.map_or(0, |(line, _)| line as u32)
    }

    /// A line as CoDel takes packets from it.
    pub(super) fn line(&mut self, line: u32, short: Short) -> OneLine<'_, P> {
        OneLine { lines: self, line, short }
    }
}

/// Which bytes count in CoDel's test of a short queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// Those of the line.
    Line,
    /// Those of all lines.
    All,
    /// Those of all lines, none if the line is empty.
    AllUnlessEmpty,
}

pub(super) struct OneLine<'a, P> {
    lines: &'a mut Lines<P>,
    line: u32,
    short: Short,
}

impl<P: Packet> Head<P> for OneLine<'_, P> {
    fn next(&mut self) -> Option<(Time, P)> {
        self.lines.pop_oldest(self.line)
    }

    fn bytes(&self) -> u64 {
        let own = self.lines.held(self.line).bytes;
        match self.short {
            Short::Line => own,
            Short::AllUnlessEmpty if own == 0 => 0,
            Short::All | Short::AllUnlessEmpty => self.lines.total.bytes,
        }
    }
}
