//! Queue disciplines: which packets are held, which leave, which are dropped.

pub mod cake;
pub mod cobalt;
pub mod codel;
mod dualpi2;
mod fifo;
pub mod fq_codel;
mod fq_pie;
pub mod inspect;
mod line;
mod lines;
mod netem;
mod pie;
mod red;
mod rounds;
pub mod sfq;
pub mod sfq_codel;
pub mod spread;

pub use cake::Cake;
pub use cobalt::Cobalt;
pub use codel::Codel;
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fifo::{DropFrom, Fifo};
pub use fq_codel::FqCodel;
pub use fq_pie::{FqPie, FqPieConfig};
pub use netem::Netem;
pub use pie::{PIE_LINUX_ONE, Pie, PieConfig, PieDelay, PieVariant};
pub use red::{AdaptiveRed, FengRed, Red, RedConfig, RedVariant, RedWeight};
pub use sfq::Sfq;
pub use sfq_codel::SfqCodel;
pub use spread::Hash;

use self::inspect::Inspector;
use crate::probe::Probe;
use crate::{Packet, Time};
use rand::Rng;

/// What a discipline may use while it decides: the time, its own random stream, and the probe.
pub struct Cx<'a, P> {
    /// The time at which this happens.
    pub now: Time,
    /// The queue's own random stream.
    pub rng: &'a mut dyn Rng,
    /// Must hear of every packet's fate.
    pub probe: &'a mut dyn Probe<P>,
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
    /// True if it must be asked for a packet once more when it is empty, at the end of the last transmission.
    fn minds_emptiness(&self) -> bool {
        false
    }
    /// When the packet at its head may leave, if it may not yet: the link asks for it then. Asked when [`dequeue`](Self::dequeue) gave
    /// nothing although packets are inside; `None` from disciplines that always give what they have.
    fn opens_at(&self) -> Option<Time> {
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

#[cfg(test)]
pub(crate) mod check;
