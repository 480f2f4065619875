//! Packets that wait in order of arrival, each with its time of arrival: what the disciplines decide about.

use super::{Backlog, Cx};
use crate::Time;
use crate::{Packet, Span};
use std::collections::VecDeque;

/// A queue without a rule of its own, within a limit in packets and one in bytes.
pub(super) struct Line<P> {
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
}

impl<P: Packet> Line<P> {
    /// An empty line, with room for so many packets before it grows.
    pub(super) fn with_capacity(packets: u32) -> Self {
        Self { waiting: VecDeque::with_capacity(packets as usize), bytes: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u32, bytes: self.bytes }
    }

    /// Takes the packet in and says so.
    pub(super) fn push(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        cx.probe.enqueued(cx.now, &packet);
        self.bytes += u64::from(packet.size());
        self.waiting.push_back((cx.now, packet));
    }

    /// The oldest packet and the time it has waited; its fate is still to be told.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Span, P)> {
        let (arrived, packet) = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.size());
        Some((now.since(arrived), packet))
    }

    /// How long the oldest packet has waited; zero if there is none.
    pub(super) fn head_delay(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |(arrived, _)| now.since(*arrived))
    }
}
