//! Explicit congestion notification: what packets carry, and how the receiver tells of marks.
//!
//! Sources: RFC 3168 §6.1 (data only is ECN-capable, and no retransmission; an echo until the sender says that it has
//! reduced), RFC 8257 §3 (DCTCP: the echo follows each packet's mark, and an acknowledgement that is held back leaves
//! at once when that changes), RFC 9768 (accurate feedback: the three-bit counter of marked packets in every header).
//! Both ends of a connection are set alike, so nothing is negotiated; SYNs are never ECN-capable. Differences:
//! accurate feedback has no options for bytes (a marked packet counts as a full segment, at most what was delivered),
//! its counter starts at zero, and of several counts that the three bits may mean the least is taken; with DCTCP and
//! accurate feedback every segment but the SYN is ECN-capable, as in Linux.

use super::segment::Segment;
use crate::Ecn;

/// How a connection uses ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Not at all.
    #[default]
    Off,
    /// An echo until it is answered (RFC 3168).
    Classic,
    /// An echo packet by packet (RFC 8257).
    Dctcp,
    /// A counter of marked packets (RFC 9768).
    Accurate,
}

/// ECN-Echo, as a bit of [`Segment::feedback`] without accurate feedback.
const ECE: u8 = 1;
/// Congestion window reduced.
const CWR: u8 = 2;
const COUNTER: u8 = 7;

/// The receiver's side: what it has seen and must tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    mode: EcnMode,
    /// Classic: an echo is due. DCTCP: the latest packet was marked.
    echoing: bool,
    last_ce: bool,
    ce_packets: u8,
}

impl Echo {
    pub(super) fn new(mode: EcnMode) -> Self {
        Self { mode, ..Self::default() }
    }

    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.mode == EcnMode::Off
    }

    /// True if an acknowledgement held back must leave before this segment of data is told of.
    pub(super) fn turns(&self, segment: &Segment) -> bool {
        self.mode == EcnMode::Dctcp && (segment.ecn == Ecn::Ce) != self.echoing
    }

    /// A segment of data arrived. True if that is to be told at once.
    pub(super) fn on_segment(&mut self, segment: &Segment) -> bool {
        let ce = segment.ecn == Ecn::Ce;
        let turned = ce != std::mem::replace(&mut self.last_ce, ce);
        match self.mode {
            EcnMode::Off => false,
            EcnMode::Classic => {
                let reduced = segment.feedback & CWR != 0;
                self.echoing = ce || (self.echoing && !reduced);
                reduced
            }
            EcnMode::Dctcp => {
                self.echoing = ce;
                turned
            }
            EcnMode::Accurate => {
                self.ce_packets = (self.ce_packets + u8::from(ce)) & COUNTER;
                turned
            }
        }
    }

    /// What an acknowledgement says now.
    pub(super) fn feedback(&self) -> u8 {
        if self.mode == EcnMode::Accurate { self.ce_packets } else { u8::from(self.echoing) * ECE }
    }
}

/// The sender's side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marking {
    mode: EcnMode,
    code: Ecn,
    /// The counter as last heard.
    heard: u8,
    /// The next new data says that the window was reduced.
    reduced: bool,
}

impl Marking {
    /// `code` is what the controller wants data to carry.
    pub(super) fn new(mode: EcnMode, code: Ecn) -> Self {
        Self { mode, code, heard: 0, reduced: false }
    }

    /// What an acknowledgement says of marks: whether it echoes any (ECE), and in how many of the bytes that it
    /// delivers (CE bytes).
    #[inline(never)]
    pub(super) fn on_feedback(&mut self, feedback: u8, delivered: u64, mss: u32) -> (bool, u64) {
        match self.mode {
            EcnMode::Off => (false, 0),
            EcnMode::Classic | EcnMode::Dctcp if feedback & ECE != 0 => (true, delivered),
            EcnMode::Classic | EcnMode::Dctcp => (false, 0),
            EcnMode::Accurate => {
                let more = u64::from(feedback.wrapping_sub(std::mem::replace(&mut self.heard, feedback)) & COUNTER);
                (more > 0, (more * u64::from(mss)).min(delivered))
            }
        }
    }

    /// The window was reduced.
    pub(super) fn on_reduction(&mut self) {
        self.reduced = matches!(self.mode, EcnMode::Classic | EcnMode::Dctcp);
    }

    /// Fills in a segment that leaves; its feedback is the receiver's.
    #[inline(never)]
    pub(super) fn label(&mut self, segment: &mut Segment) {
        let new_data = segment.payload() > 0 && !segment.retransmission;
        segment.ecn = match self.mode {
            EcnMode::Classic if new_data => self.code,
            EcnMode::Dctcp | EcnMode::Accurate if !segment.syn => self.code,
            _ => Ecn::NotEct,
        };
        if self.reduced && new_data {
            self.reduced = false;
            segment.feedback |= CWR;
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.mode == EcnMode::Off
    }

    /// How many packets were marked is told, and what answers that does so in proportion.
    pub(super) fn is_proportional(&self) -> bool {
        matches!(self.mode, EcnMode::Dctcp | EcnMode::Accurate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Time;

    fn data(ecn: Ecn, feedback: u8) -> Segment {
        let (stamp, echo) = (Time::ZERO, Time::NEVER);
        Segment {
            seq: 1,
            len: 9,
            syn: false,
            fin: false,
            ack: Some(1),
            retransmission: false,
            push: false,
            stamp,
            echo,
            ecn,
            feedback,
        }
    }

    #[test]
    fn the_classic_echo_lasts_until_the_sender_says_that_it_has_reduced() {
        let mut echo = Echo::new(EcnMode::Classic);
        let mut said = Vec::new();
        for (ecn, flags) in
            [(Ecn::Ect0, 0), (Ecn::Ce, 0), (Ecn::Ect0, 0), (Ecn::Ect0, CWR), (Ecn::Ce, CWR), (Ecn::Ect0, 0)]
        {
            echo.on_segment(&data(ecn, flags));
            said.push(echo.feedback());
        }
        assert_eq!(said, [0, ECE, ECE, 0, ECE, ECE]);
    }

    #[test]
    fn the_echo_of_dctcp_follows_each_packet() {
        let mut echo = Echo::new(EcnMode::Dctcp);
        let mut seen = Vec::new();
        for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0] {
            let turns = echo.turns(&data(ecn, 0));
            assert_eq!(echo.on_segment(&data(ecn, 0)), turns);
            seen.push((turns, echo.feedback()));
        }
        assert_eq!(seen, [(false, 0), (true, ECE), (false, ECE), (true, 0)]);
    }

    #[test]
    fn accurate_feedback_counts_modulo_eight() {
        let (mut echo, mut marking) = (Echo::new(EcnMode::Accurate), Marking::new(EcnMode::Accurate, Ecn::Ect1));
        let mut bytes = 0;
        for i in 0..40 {
            echo.on_segment(&data(if i % 3 == 0 { Ecn::Ce } else { Ecn::Ect1 }, 0));
            if i % 5 == 4 {
                bytes += marking.on_feedback(echo.feedback(), 5000, 1000).1;
            }
        }
        assert_eq!(bytes, 14_000);
    }

    #[test]
    fn what_is_ecn_capable_depends_on_the_mode() {
        for (mode, want) in [
            (EcnMode::Off, [Ecn::NotEct; 4]),
            (EcnMode::Classic, [Ecn::Ect0, Ecn::NotEct, Ecn::NotEct, Ecn::NotEct]),
            (EcnMode::Dctcp, [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct]),
        ] {
            let new = data(Ecn::NotEct, 0);
            let segments = [
                new,
                Segment { retransmission: true, ..new },
                Segment { len: 0, ..new },
                Segment { len: 1, syn: true, ..new },
            ];
            let mut marking = Marking::new(mode, Ecn::Ect0);
            marking.on_reduction();
            let labelled = segments.map(|mut segment| {
                marking.label(&mut segment);
                segment
            });
            assert_eq!(labelled.map(|s| s.ecn), want, "{mode:?}");
            assert_eq!(labelled[0].feedback, if mode == EcnMode::Off { 0 } else { CWR });
        }
    }

    #[test]
    fn the_counter_of_marks_goes_round_at_eight_and_counts_no_more_than_was_delivered() {
        let mut marking = Marking::new(EcnMode::Accurate, Ecn::Ect1);
        assert_eq!(marking.on_feedback(6, 10_000, 1000), (true, 6000));
        assert_eq!(marking.on_feedback(6, 1000, 1000), (false, 0));
        assert_eq!(marking.on_feedback(1, 10_000, 1000), (true, 3000));
        assert_eq!(marking.on_feedback(3, 1500, 1000), (true, 1500));
        let mut echo = Echo::new(EcnMode::Accurate);
        (0..9).for_each(|_| _ = echo.on_segment(&data(Ecn::Ce, 0)));
        assert_eq!(echo.feedback(), 1);
    }
}
