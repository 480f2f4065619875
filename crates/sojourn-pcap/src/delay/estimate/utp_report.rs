//! uTP's reported differences: equations (1) and (2) of the method.
//!
//! The receiver answers with its clock minus the stamp of the packet that it saw last. Observed near the receiver,
//! that packet is the last that passed; observed near the sender, the one that the answer acknowledges. Differences
//! are modulo 2^32 with any offset, so they are only ever compared as signed 32-bit numbers; 0 means that nothing was
//! seen yet.

use std::collections::VecDeque;

/// A packet that may be reported on.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Frame number.
    pub frame: u64,
    /// Capture time, ns.
    pub time: i64,
    /// Its number in the flow.
    pub seq: u16,
    /// Bytes of the frame.
    pub length: u16,
}

/// Packets of one sender that were not reported on yet.
#[derive(Debug, Default)]
pub struct Reports {
    last: Option<Sent>,
    waiting: VecDeque<Sent>,
}

const MOST_WAITING: usize = 2048;

impl Reports {
    /// Places of its queues.
    #[inline]
    pub fn places(&self) -> usize {
        self.waiting.capacity()
    }

    /// A data packet passed. `far`: its receiver is not near, so its report comes a round trip later.
    pub fn sent(&mut self, sent: Sent, far: bool) {
        self.last = Some(sent);
        if far {
            if self.waiting.len() == MOST_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(sent);
        }
    }

    /// The packet that an answer with this acknowledgement reports on; each is told once.
    pub fn reported(&mut self, ack: u16, far: bool) -> Option<Sent> {
        if !far {
            return self.last.take();
        }
        let mut found = None;
        while let Some(front) = self.waiting.front() {
            if (front.seq.wrapping_sub(ack) as i16) > 0 {
                break;
            }
            found = self.waiting.pop_front();
        }
        found.filter(|sent| sent.seq == ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_belongs_to_the_last_packet_near_and_to_the_acknowledged_one_far() {
        let sent = |seq| Sent { frame: u64::from(seq), time: 0, seq, length: 0 };
        let mut near = Reports::default();
        near.sent(sent(7), false);
        near.sent(sent(8), false);
        assert_eq!(near.reported(7, false).map(|sent| sent.frame), Some(8));
        assert!(near.reported(8, false).is_none());
        let mut far = Reports::default();
        for seq in [65_534, 65_535, 0, 1] {
            far.sent(sent(seq), true);
        }
        assert_eq!(far.reported(0, true).map(|sent| sent.seq), Some(0));
        assert!(far.reported(0, true).is_none());
        assert_eq!(far.reported(1, true).map(|sent| sent.seq), Some(1));
    }
}
