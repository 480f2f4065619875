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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_packet_says_congestion_experienced_whatever_it_said_before() {
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let mut packet = Replayed { number: 3, arrival: Arrival { at: Time(7), size: 100, flow: 5, ecn } };
            packet.mark();
            assert_eq!((packet.ecn(), packet.size(), packet.flow()), (Ecn::Ce, 100, 5));
        }
    }
}
