//! What FQ-CoDel, FQ-PIE and CAKE have in common: a queue for each flow, the state of its AQM, and deficit round robin.

use super::drr::DrrScheduler;
use super::flow_hash::{FlowHash, Hash};
use super::flow_queues::FlowQueues;
use crate::Packet;
use crate::queue::discipline::Cx;
use crate::queue::inspect::Inspector;

/// Flows in queues of their own, each with an AQM whose state is `S`.
pub(in crate::queue) struct Flows<P, S> {
    pub(in crate::queue) queues: FlowQueues<P>,
    pub(in crate::queue) states: Vec<S>,
    pub(in crate::queue) drr: DrrScheduler,
    pub(in crate::queue) hash: FlowHash,
}

impl<P: Packet, S: Clone> Flows<P, S> {
    /// So many queues, in sets of `ways`, that are to hold at most so much together; every AQM starts as `state`.
    pub(in crate::queue) fn new(
        (max_packets, max_bytes): (u32, u64),
        (flows, ways, hash): (u32, u32, Hash),
        quantum: u32,
        state: S,
    ) -> Self {
        let flows = flows.max(1);
        Self {
            queues: FlowQueues::new(flows, max_packets, max_bytes),
            states: vec![state; flows as usize],
            drr: DrrScheduler::new(flows, quantum),
            hash: FlowHash::new(flows, ways, hash),
        }
    }

    /// The queue for an arriving packet.
    #[inline(always)] // Or each packet is copied once more.
    pub(in crate::queue) fn queue_for(&mut self, packet: &P, cx: &mut Cx<'_, P>) -> u32 {
        let drr = &self.drr;
        self.hash.queue_for(packet.flow(), cx.rng, |queue| drr.is_active(queue))
    }

    /// Shows the variables of the flow's queue; returns the state of its AQM, whose variables follow.
    pub(in crate::queue) fn inspect(&mut self, inspector: &mut Inspector<'_>) -> Option<&mut S> {
        inspector.of_flow();
        let queue = self.hash.known_queue(inspector.flow())?;
        self.queues.inspect(queue, inspector);
        self.drr.inspect(queue, inspector);
        self.states.get_mut(queue as usize)
    }
}
