//! One queue of packets for each flow over one store, for the disciplines that keep flows apart.
//!
//! Packets live in a slab whose free places are reused, last freed first, so that nothing is allocated once it has
//! grown to the longest queue.

use crate::queue::discipline::{Backlog, Cx};
use crate::queue::head::Head;
use crate::queue::inspect::Inspector;
use crate::{Packet, Span, Time};

/// No place, no queue.
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
    backlog: Backlog,
}

pub(in crate::queue) struct FlowQueues<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    ends: Vec<Ends>,
    total: Backlog,
    limit: Backlog,
}

impl<P: Packet> FlowQueues<P> {
    /// So many queues that are to hold at most so much together; `MAX` means no limit.
    pub(in crate::queue) fn new(queues: u32, max_packets: u32, max_bytes: u64) -> Self {
        let capacity = max_packets.min(1024) as usize;
        let empty = Ends { oldest: NONE, newest: NONE, backlog: Backlog::default() };
        Self {
            nodes: Vec::with_capacity(capacity),
            free: NONE,
            ends: vec![empty; queues as usize],
            total: Backlog::default(),
            limit: Backlog { packets: max_packets, bytes: max_bytes },
        }
    }

    /// More is held than may be.
    #[inline]
    pub(in crate::queue) fn is_over(&self) -> bool {
        self.total.packets > self.limit.packets || self.total.bytes > self.limit.bytes
    }

    /// There is no room for so many bytes more.
    #[inline]
    pub(in crate::queue) fn is_full_for(&self, size: u32) -> bool {
        self.total.packets >= self.limit.packets || self.total.bytes + u64::from(size) > self.limit.bytes
    }

    /// Not even empty queues have room for so many bytes.
    #[inline]
    pub(in crate::queue) fn never_fits(&self, size: u32) -> bool {
        self.limit.packets == 0 || u64::from(size) > self.limit.bytes
    }

    /// Lets a packet into a queue, whatever the limit.
    #[inline(always)] // Or each packet is copied once more.
    pub(in crate::queue) fn push(&mut self, queue: u32, packet: P, cx: &mut Cx<'_, P>) {
        cx.accept(&packet);
        let size = u64::from(packet.size());
        let ends = &mut self.ends[queue as usize];
        let node = Node { arrived: cx.now, packet: Some(packet), older: ends.newest, newer: NONE };
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
        for backlog in [&mut ends.backlog, &mut self.total] {
            backlog.packets += 1;
            backlog.bytes += size;
        }
    }

    /// Takes the oldest packet of a queue.
    #[inline]
    pub(in crate::queue) fn pop_oldest(&mut self, queue: u32) -> Option<(Time, P)> {
        self.pop(queue, self.ends[queue as usize].oldest)
    }

    /// Takes the newest packet of a queue.
    pub(in crate::queue) fn pop_newest(&mut self, queue: u32) -> Option<(Time, P)> {
        self.pop(queue, self.ends[queue as usize].newest)
    }

    /// Takes the packet at one end of a queue.
    #[inline]
    fn pop(&mut self, queue: u32, place: u32) -> Option<(Time, P)> {
        let ends = &mut self.ends[queue as usize];
        let node = self.nodes.get_mut(place as usize)?;
        let arrived = node.arrived;
        let packet = node.packet.take()?;
        let (older, newer) = (node.older, node.newer);
        node.newer = self.free;
        self.free = place;
        match older {
            NONE => ends.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => ends.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        let size = u64::from(packet.size());
        for backlog in [&mut ends.backlog, &mut self.total] {
            backlog.packets -= 1;
            backlog.bytes -= size;
        }
        Some((arrived, packet))
    }

    pub(in crate::queue) fn backlog(&self, queue: u32) -> Backlog {
        self.ends[queue as usize].backlog
    }

    pub(in crate::queue) fn total(&self) -> Backlog {
        self.total
    }

    /// How long the oldest packet of a queue has waited; zero if there is none.
    pub(in crate::queue) fn head_delay(&self, queue: u32, now: Time) -> Span {
        let oldest = self.nodes.get(self.ends[queue as usize].oldest as usize);
        oldest.map_or(Span::ZERO, |node| now.since(node.arrived))
    }

    pub(in crate::queue) fn inspect(&self, queue: u32, inspector: &mut Inspector<'_>) {
        inspector.tell("line", f64::from(queue));
        inspector.tell("line_pkts", f64::from(self.backlog(queue).packets));
    }

    /// The queue that holds most of what `measure` takes from a backlog, the first of equals.
    pub(in crate::queue) fn longest<N: Ord>(&self, measure: impl Fn(Backlog) -> N) -> u32 {
        let longest = self.ends.iter().enumerate().rev().max_by_key(|(_, ends)| measure(ends.backlog));
        longest.map_or(0, |(queue, _)| queue as u32)
    }

    /// A queue as CoDel takes packets from it.
    pub(in crate::queue) fn flow(&mut self, queue: u32, counted: CodelBacklog) -> FlowQueue<'_, P> {
        FlowQueue { queues: self, queue, counted }
    }
}

/// Which bytes count in CoDel's test of a queue with less than an MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum CodelBacklog {
    /// Those of the flow's queue.
    Flow,
    /// Those of all queues.
    All,
    /// Those of all queues, none if the flow's is empty.
    AllUnlessEmpty,
}

/// One of the queues, as CoDel takes packets from it.
pub(in crate::queue) struct FlowQueue<'a, P> {
    queues: &'a mut FlowQueues<P>,
    queue: u32,
    counted: CodelBacklog,
}

impl<P: Packet> Head<P> for FlowQueue<'_, P> {
    fn next(&mut self) -> Option<(Time, P)> {
        self.queues.pop_oldest(self.queue)
    }

    fn bytes(&self) -> u64 {
        let own = self.queues.backlog(self.queue).bytes;
        match self.counted {
            CodelBacklog::Flow => own,
            CodelBacklog::AllUnlessEmpty if own == 0 => 0,
            CodelBacklog::All | CodelBacklog::AllUnlessEmpty => self.queues.total.bytes,
        }
    }
}
