//! What a sender has done, for summaries and for the applications that ask.

use crate::{Span, Time};

/// What a sender has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Time for which nothing had been sent when it expired.
    pub waited: Span,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions of the window because of a mark.
    pub marks: u64,
    /// Tail loss probes sent.
    pub probes: u64,
}

/// Time spent waiting for losses to be repaired, overlapping repairs counted once: from the previous sending of each
/// retransmitted segment to its retransmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The sum.
    pub total: Span,
    until: Time,
}

impl Repair {
    pub(super) fn add(&mut self, sent: Time, resent: Time) {
        self.total = self.total + resent.since(sent.max(self.until));
        self.until = resent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_that_overlap_are_counted_once() {
        let mut repair = Repair::default();
        repair.add(Time(10), Time(20));
        repair.add(Time(15), Time(25));
        repair.add(Time(12), Time(25));
        repair.add(Time(40), Time(43));
        assert_eq!(repair.total, Span(18));
    }
}
