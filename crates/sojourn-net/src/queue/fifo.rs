//! First in, first out, with a limit in packets, in bytes or both; drops the newest (tail) or the oldest (head).
//!
//! How it works: An arriving packet joins the tail; the link takes packets from the head, in order of arrival. When the
//! limit is reached, tail drop discards the arriving packet, and head drop discards the oldest ones until the new one
//! fits. No packet is treated according to its flow, and none is dropped early, so a loss-based sender fills the buffer
//! before it sees the first loss: the standing queue is about as long as the limit, and the delay is limit / rate.
//!
//! Use it when: you ask what a plain buffer of a given size does to its users, or as the baseline beside an AQM. Head
//! drop tells a sender of congestion earlier by one queueing delay.
//!
//! Source: the plain router buffer ("DropTail"). A packet is refused when the packets waiting have reached the
//! packet limit, or when its bytes would exceed the byte limit. The packet in transmission does not count: as in
//! ns-3 and Linux `pfifo`, and unlike ns-2's DropTail, whose limit of N holds N − 1. Head drop makes room by
//! dropping from the front instead; a packet larger than the byte limit itself is always refused.

use super::config;
use super::discipline::{Backlog, Cx, QueueDiscipline};
use super::packet_queue::PacketQueue;
use crate::probe::DropCause;
use crate::{Packet, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Which packet is dropped when it is full.
    pub drop: DropFrom,
}

/// Which end of a full queue loses a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    /// The packet that arrives.
    #[default]
    Tail,
    /// The packet that has waited longest.
    Head,
}

impl config::Config for Config {
    fn build<P: Packet + Send + 'static>(&self, limit: (u32, u64), _: Rate) -> Box<dyn QueueDiscipline<P>> {
        Box::new(Fifo::new(limit.0, limit.1, self.drop))
    }
}

/// The FIFO queue.
pub struct Fifo<P> {
    waiting: PacketQueue<P>,
    drop_from: DropFrom,
}

impl<P: Packet> Fifo<P> {
    /// A queue that holds at most `max_packets` packets and `max_bytes` bytes; `MAX` of the type means no limit.
    pub fn new(max_packets: u32, max_bytes: u64, drop_from: DropFrom) -> Self {
        Self { waiting: PacketQueue::new(max_packets, max_bytes), drop_from }
    }

    #[cold]
    fn make_room(&mut self, size: u32, cx: &mut Cx<'_, P>) {
        while self.waiting.is_full_for(size) {
            let Some((arrived, oldest)) = self.waiting.pop() else { break };
            cx.drop_queued(arrived, oldest, DropCause::Full);
        }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Fifo<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let size = packet.size();
        if self.drop_from == DropFrom::Head && self.waiting.is_full_for(size) && !self.waiting.never_fits(size) {
            self.make_room(size, cx);
        }
        self.waiting.push(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        let (arrived, packet) = self.waiting.pop()?;
        Some(cx.deliver(arrived, packet))
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::check::{self, Event};
    use proptest::prelude::*;

    #[test]
    fn the_packet_limit_counts_waiting_packets() {
        let fates = check::drive(&mut Fifo::new(2, u64::MAX, DropFrom::Tail), &[Event::Arrive(100); 3]);
        assert_eq!(fates.dropped, [(2, DropCause::Full)]);
    }

    #[test]
    fn head_drop_gives_up_the_oldest() {
        let fates = check::drive(&mut Fifo::new(2, u64::MAX, DropFrom::Head), &[Event::Arrive(100); 4]);
        assert_eq!(fates.dropped, [(0, DropCause::Full), (1, DropCause::Full)]);
    }

    #[test]
    fn the_byte_limit_refuses_what_would_exceed_it() {
        let events = [Event::Arrive(600), Event::Arrive(500), Event::Arrive(400)];
        let fates = check::drive(&mut Fifo::new(u32::MAX, 1000, DropFrom::Tail), &events);
        assert_eq!(fates.dropped, [(1, DropCause::Full)]);
    }

    proptest! {
        #[test]
        fn every_packet_leaves_by_one_door(
            events in check::events(), packets in 0u32..20, bytes in 0u64..20_000, head: bool,
        ) {
            let drop_from = if head { DropFrom::Head } else { DropFrom::Tail };
            check::conserves(&mut Fifo::new(packets, bytes, drop_from), &events)?;
        }
    }
}
