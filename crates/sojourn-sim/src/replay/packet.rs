//! What is sent through the queue.

use sojourn_net::{Ecn, Packet, Time};

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrives.
    pub at: Time,
    /// Its bytes.
    pub size: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// Its ECN bits.
    pub ecn: Ecn,
}

/// A packet of the list, and its place in it.
pub struct Replayed {
    /// Its place.
    pub number: u32,
    /// When it arrives, and what it is.
    pub arrival: Arrival,
}

impl Packet for Replayed {
    fn size(&self) -> u32 {
        self.arrival.size
    }
    fn flow(&self) -> u32 {
        self.arrival.flow
    }
    fn ecn(&self) -> Ecn {
        self.arrival.ecn
    }
    fn mark(&mut self) {
        self.arrival.ecn = Ecn::Ce;
    }
}
