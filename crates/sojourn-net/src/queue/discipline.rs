//! What every queue discipline is: the trait, what it holds, and the doors through which packets pass.

use super::inspect::Inspector;
use crate::probe::{DropCause, Probe};
use crate::{Ecn, Packet, Time};
use rand::Rng;

/// What a discipline may use while it decides: the time, its own random stream, and the probe.
///
/// The methods are the only doors through which a discipline lets packets in, marks, drops or hands them out, so that
/// every fate is told, and counts the same, whatever the discipline.
pub struct Cx<'a, P> {
    /// The time at which this happens.
    pub now: Time,
    /// The queue's own random stream.
    pub rng: &'a mut dyn Rng,
    /// Must hear of every packet's fate.
    pub probe: &'a mut dyn Probe<P>,
}

impl<P: Packet> Cx<'_, P> {
    /// Lets an arriving packet in.
    #[inline(always)] // Or each packet is copied once more.
    pub fn accept(&mut self, packet: &P) {
        self.probe.enqueued(self.now, packet);
    }

    /// Refuses an arriving packet.
    #[inline(always)] // Or each packet is copied once more.
    pub fn drop_arriving(&mut self, packet: P, cause: DropCause) {
        self.probe.dropped(self.now, packet, cause, None);
    }

    /// Drops a packet that was let in at `arrived`.
    #[inline(always)] // Or each packet is copied once more.
    pub fn drop_queued(&mut self, arrived: Time, packet: P, cause: DropCause) {
        self.probe.dropped(self.now, packet, cause, Some(self.now.since(arrived)));
    }

    /// Hands out a packet that was let in at `arrived`.
    #[inline(always)] // Or each packet is copied once more.
    pub fn deliver(&mut self, arrived: Time, packet: P) -> P {
        self.probe.dequeued(self.now, &packet, self.now.since(arrived));
        packet
    }

    /// Sets Congestion Experienced instead of dropping; false if the packet's transport does not understand it.
    ///
    /// A packet that arrived with CE stands as marked already: it is let pass, and not counted.
    #[inline(always)] // Or each packet is copied once more.
    pub fn mark(&mut self, packet: &mut P) -> bool {
        match packet.ecn() {
            Ecn::NotEct => return false,
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.mark();
                self.probe.marked(self.now, packet);
            }
            Ecn::Ce => {}
        }
        true
    }
}

/// What a queue holds. The packet in transmission is outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
}

/// A queue discipline. It never reads a clock: `cx.now` is the time, and never goes back.
///
/// Arrivals = departures + drops + backlog at every instant, and each fate is told to `cx.probe`
/// exactly once; the property tests hold every implementation to that.
pub trait QueueDiscipline<P: Packet>: Send {
    /// Takes the packet in, or drops it (or others) and says so.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>);
    /// The packet whose transmission starts now. May drop packets on the way, and return `None`.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P>;
    /// What is waiting.
    fn backlog(&self) -> Backlog;
    /// True if `dequeue` must also be called when the link goes idle with the queue empty.
    fn wants_idle_dequeue(&self) -> bool {
        false
    }
    /// When the packet at the head may leave, if it may not yet: the link calls `dequeue` then. Asked when
    /// [`dequeue`](Self::dequeue) gave nothing although packets are inside; `None` from work-conserving disciplines.
    fn next_eligible(&self) -> Option<Time> {
        None
    }
    /// When it next wants [`wake`](Self::wake), if ever. Only `wake` may change it: a link asks again after that.
    fn wake_at(&self) -> Option<Time> {
        None
    }
    /// Work of its own at the time it asked for, such as PIE's periodic update.
    fn wake(&mut self, cx: &mut Cx<'_, P>) {
        let _ = cx;
    }
    /// Shows its named variables, for traces.
    fn inspect(&mut self, inspector: &mut Inspector<'_>) {
        let _ = inspector;
    }
}
