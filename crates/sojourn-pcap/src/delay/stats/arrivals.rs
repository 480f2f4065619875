//! How many packets without data arrived that nothing echoed.
//!
//! That a packet without data arrived, echoes alone say: one that is not echoed was lost, or others came before its
//! receiver had something to send. As many of them count as arrived of the data that was sent the same way, which is
//! sent again if it is lost. Where less data went there than such packets, and too little to tell how much is lost,
//! nothing is known of them, and none counts: the mean is a lower bound if it would be more with them.

use crate::delay::estimate::SentAt;

/// So many segments tell what share is lost, however many packets went beside them.
const TELLING: u64 = 200;

/// Packets of which nothing tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Untold {
    pub(super) connection: u32,
    pub(super) sent: SentAt,
    pub(super) packets: u32,
    /// The time at which that was seen; those of one time belong together.
    pub(super) seen: i64,
}

/// How much went to a host, since the capture began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Went {
    /// Segments with data, all copies.
    pub(super) data: u64,
    /// Those that were sent again.
    pub(super) again: u64,
    /// Packets without data that nothing echoed.
    pub(super) unproven: u64,
}

impl Went {
    /// The share of packets that arrives, as data tell; 0 if they are too few.
    pub(super) fn arrives(&self) -> f64 {
        let few = self.data < self.unproven.min(TELLING);
        if self.data == 0 || few { 0.0 } else { 1.0 - self.again as f64 / self.data as f64 }
    }

    /// Of all that nothing echoed as large a share, evenly.
    pub(super) fn arrived(self, mut unproven: Vec<Untold>) -> Vec<Untold> {
        unproven.sort_by_key(|untold| untold.sent.1);
        let mut owed = 0.5;
        for untold in &mut unproven {
            owed += f64::from(untold.packets) * self.arrives();
            untold.packets = owed as u32;
            owed -= f64::from(untold.packets);
        }
        unproven.retain(|untold| untold.packets > 0);
        unproven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_segments_tell_nothing_of_many_packets_beside_them() {
        let arrives = |data, unproven| Went { data, again: data / 10, unproven }.arrives();
        assert_eq!([(0, 0), (50, 50), (50, 51)].map(|(data, unproven)| arrives(data, unproven)), [0.0, 0.9, 0.0]);
        assert_eq!([TELLING - 1, TELLING].map(|data| arrives(data, 9999)), [0.0, 0.9]);
    }

    #[test]
    fn those_that_arrived_lie_evenly_among_those_that_may_have() {
        let of = |frame| Untold { connection: 0, sent: (0, frame), packets: 3, seen: 0 };
        // Of ten segments so many were sent again.
        let arrived = |again| {
            let went = Went { data: 10, again, unproven: 4 };
            went.arrived((0..4).rev().map(of).collect())
        };
        let packets = |again| arrived(again).iter().map(|of| of.packets).collect::<Vec<_>>();
        assert_eq!((packets(0), packets(5), packets(9)), (vec![3; 4], vec![2, 1, 2, 1], vec![1]));
        let frames: Vec<_> = arrived(0).iter().map(|of| of.sent.1).collect();
        assert_eq!(frames, [0, 1, 2, 3]);
    }
}
