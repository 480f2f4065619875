//! Packets in order of arrival, each with its time of arrival, within a limit: what the disciplines decide about.

use super::discipline::{Backlog, Cx};
use super::head::Head;
use crate::probe::DropCause;
use crate::{Packet, Span, Time};
use std::collections::VecDeque;

/// A queue without a rule of its own, within a limit in packets and one in bytes.
pub(super) struct PacketQueue<P> {
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
    max_packets: u32,
    max_bytes: u64,
}

impl<P: Packet> PacketQueue<P> {
    /// An empty queue that holds at most so many packets and bytes; `MAX` of the type means no limit.
    pub(super) fn new(max_packets: u32, max_bytes: u64) -> Self {
        let capacity = max_packets.min(1024) as usize;
        Self { waiting: VecDeque::with_capacity(capacity), bytes: 0, max_packets, max_bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }

    /// Whether a packet of this size does not fit.
    #[inline]
    pub(super) fn is_full_for(&self, size: u32) -> bool {
        self.waiting.len() >= self.max_packets as usize || self.bytes + u64::from(size) > self.max_bytes
    }

    /// Whether it would not fit even in the empty queue.
    pub(super) fn never_fits(&self, size: u32) -> bool {
        self.max_packets == 0 || u64::from(size) > self.max_bytes
    }

    /// Takes the packet in, or drops it (cause `full`) and returns false.
    #[inline]
    pub(super) fn push(&mut self, packet: P, cx: &mut Cx<'_, P>) -> bool {
        let size = packet.size();
        if self.is_full_for(size) {
            cx.drop_arriving(packet, DropCause::Full);
            return false;
        }
        cx.accept(&packet);
        self.bytes += u64::from(size);
        self.waiting.push_back((cx.now, packet));
        true
    }

    /// The oldest packet and the time of its arrival; its fate is still to be told.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Time, P)> {
        let head = self.waiting.pop_front()?;
        self.bytes -= u64::from(head.1.size());
        Some(head)
    }

    /// When the oldest packet arrived.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.waiting.front().map(|(arrived, _)| *arrived)
    }

    /// How long the oldest packet has waited; zero if there is none.
    pub(super) fn head_delay(&self, now: Time) -> Span {
        self.oldest().map_or(Span::ZERO, |arrived| now.since(arrived))
    }
}

impl<P: Packet> Head<P> for PacketQueue<P> {
    #[inline]
    fn next(&mut self) -> Option<(Time, P)> {
        self.pop()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}
