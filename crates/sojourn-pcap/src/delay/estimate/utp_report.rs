//! uTP's reported differences: equations (1) and (2) of the method.
//!
//! The receiver answers with its clock minus the stamp of the packet that it saw last. Observed near the receiver,
//! that packet is the last that passed; observed near the sender, the one that the answer acknowledges. Differences
//! are modulo 2^32 with any offset, so they are only ever compared as signed 32-bit numbers; 0 means that nothing was
//! seen yet.
//!
//! Far from the receiver, an answer to a packet that was sent again acknowledges another one, whose difference it does
//! not tell: the last before which nothing is missing any more, or the last that had come long before. So what is sent
//! again waits for no answer, and until all is acknowledged that had been sent by then, no answer counts; nor does the
//! one that says so. The method as published does not say this.

use crate::delay::discard::Discard;
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
    /// The latest number, and what it was when one was sent again.
    highest: Option<u16>,
    hole: Option<u16>,
}

const MOST_WAITING: usize = 2048;
/// Numbers that are further back were not sent before.
const MOST_BACK: i16 = -(MOST_WAITING as i16);

/// How far `a` is behind `b` in the space of numbers, negative if before it.
#[inline]
fn behind(a: u16, b: u16) -> i16 {
    a.wrapping_sub(b) as i16
}

impl Reports {
    /// Places of its queues.
    #[inline]
    pub fn places(&self) -> usize {
        self.waiting.capacity()
    }

    /// A packet passed, with data or not. `far`: its receiver is not near, so its report comes a round trip later.
    pub fn sent(&mut self, sent: Sent, data: bool, far: bool) {
        self.last = Some(sent);
        if !far || !data {
            return;
        }
        match self.highest.map(|highest| (highest, behind(sent.seq, highest))) {
            Some((highest, MOST_BACK..=0)) => {
                self.hole = Some(highest);
                return;
            }
            // Another connection between the same ports.
            Some((_, i16::MIN..0)) => {
                self.hole = None;
                self.waiting.clear();
            }
            _ => {}
        }
        self.highest = Some(sent.seq);
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(sent);
    }

    /// The packet that an answer with this acknowledgement reports on; each is told once. `count` is told how many were
    /// discarded and why.
    pub fn reported(&mut self, ack: u16, far: bool, mut count: impl FnMut(Discard, u64)) -> Option<Sent> {
        if !far {
            return self.last.take();
        }
        let (mut found, mut others) = (None, 0);
        while let Some(front) = self.waiting.front() {
            if behind(front.seq, ack) > 0 {
                break;
            }
            found = self.waiting.pop_front();
            others += 1;
        }
        if let Some(hole) = self.hole {
            if behind(ack, hole) >= 0 {
                self.hole = None;
            }
            if others > 0 {
                count(Discard::DuringHole, others);
            }
            return None;
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
        near.sent(sent(7), true, false);
        near.sent(sent(8), false, false);
        assert_eq!(near.reported(7, false, |_, _| {}).map(|sent| sent.frame), Some(8));
        assert!(near.reported(8, false, |_, _| {}).is_none());
        let mut far = Reports::default();
        for seq in [65_534, 65_535, 0, 1] {
            far.sent(sent(seq), true, true);
        }
        assert_eq!(far.reported(0, true, |_, _| {}).map(|sent| sent.seq), Some(0));
        assert!(far.reported(0, true, |_, _| {}).is_none());
        assert_eq!(far.reported(1, true, |_, _| {}).map(|sent| sent.seq), Some(1));
    }

    /// What answers report on, and how many packets were discarded: packets by (number, acknowledged by now).
    fn far(packets: &[(Option<u16>, Option<u16>)]) -> (Vec<u16>, u64) {
        let (mut reports, mut found, mut discarded) = (Reports::default(), Vec::new(), 0);
        for (frame, (seq, ack)) in (0..).zip(packets) {
            if let Some(seq) = *seq {
                reports.sent(Sent { frame, time: 0, seq, length: 0 }, true, true);
            }
            found.extend(ack.and_then(|ack| reports.reported(ack, true, |_, n| discarded += n)).map(|sent| sent.seq));
        }
        (found, discarded)
    }

    #[test]
    fn answers_to_what_is_sent_again_report_on_nothing() {
        let sent = |seq| (Some(seq), None);
        let acked = |ack| (None, Some(ack));
        // 6 is lost. Its repetition is acknowledged as 8, which came long before, and 9 with the difference of 9.
        let lost = [sent(5), acked(5), sent(7), acked(5), sent(8), sent(6), acked(5), acked(8), sent(9), acked(9)];
        assert_eq!(far(&lost), (vec![5, 9], 2));
        // All had come, and their answers had not: 7 and 8 are sent again needlessly, and answered as 8.
        let needless = [sent(6), sent(7), sent(8), acked(8), sent(7), sent(8), acked(8), acked(8), sent(9), acked(9)];
        assert_eq!(far(&needless), (vec![8, 9], 0));
        // More was sent meanwhile: the answer that passes what had been sent by then may be that to the repetition.
        let more = [sent(5), sent(7), sent(8), sent(6), sent(9), acked(9), sent(10), acked(10)];
        assert_eq!(far(&more), (vec![10], 4));
    }

    #[test]
    fn another_connection_between_the_same_ports_has_numbers_of_its_own() {
        let sent = |seq| (Some(seq), None);
        assert_eq!(far(&[sent(30_000), sent(20_000), (None, Some(20_000))]), (vec![20_000], 0));
        assert_eq!(far(&[sent(65_535), sent(0), (None, Some(0))]), (vec![0], 0));
        // What is counted of a queue's places grows as long as there is the queue.
        let mut reports = Reports::default();
        for seq in (30_000..30_020).chain([20_000]) {
            let before = reports.places();
            reports.sent(Sent { frame: 0, time: 0, seq, length: 0 }, true, true);
            assert!(reports.places() >= before);
        }
    }
}
