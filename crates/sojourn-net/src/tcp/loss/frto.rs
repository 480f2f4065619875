//! F-RTO: was a timeout called for?
//!
//! Source: RFC 5682 §3.1 (F-RTO with SACK) as in Linux's `tcp_input.c` (`tcp_process_loss`), by its rules. After the
//! first retransmission, if that is acknowledged, two new segments are sent before any other is sent again: what was
//! never sent again and yet arrives then shows that the timeout was spurious.

/// What may be sent in answer to one acknowledgement after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// What was lost, then new data.
    #[default]
    Repair,
    /// New data first.
    New,
    /// New data was sent: nothing else until the next acknowledgement.
    Wait,
}

/// What an acknowledgement says of the timeout before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Verdict {
    /// It was spurious: what it held for lost had not been.
    Spurious,
    /// The first retransmission is acknowledged: new data goes first, and decides.
    Probe,
    /// Go on repairing.
    Repair,
}

/// An acknowledgement while a timeout is being repaired.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct LossAck {
    /// It advances.
    pub(in crate::tcp) advanced: bool,
    /// It has news of selective arrivals.
    pub(in crate::tcp) sacked: bool,
    /// It delivers a segment that was out when the timer expired and was never sent again.
    pub(in crate::tcp) original: bool,
    /// All that was out then is acknowledged.
    pub(in crate::tcp) repaired: bool,
    /// New data has been sent since.
    pub(in crate::tcp) sent_new: bool,
}

/// The detection of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Frto {
    /// The timeout is still under suspicion.
    suspect: bool,
    turn: Turn,
}

impl Frto {
    /// The timer expired; `suspect`: that may have been spurious.
    pub(in crate::tcp) fn on_timeout(&mut self, suspect: bool) {
        *self = Self { suspect, turn: Turn::Repair };
    }

    /// Fast recovery begins, which no timeout caused.
    pub(in crate::tcp) fn clear(&mut self) {
        *self = Self::default();
    }

    /// An acknowledgement begins: it is the next to be answered.
    pub(in crate::tcp) fn begin_ack(&mut self) {
        self.turn = Turn::Repair;
    }

    /// True if new data comes before repairs.
    #[inline]
    pub(in crate::tcp) fn has_turned(&self) -> bool {
        self.turn != Turn::Repair
    }

    /// True if new data has been sent for this acknowledgement, and nothing else may be.
    pub(in crate::tcp) fn waits(&self) -> bool {
        self.turn == Turn::Wait
    }

    /// No more new data may be sent for this acknowledgement; `sent`: some has been since the timeout. True if nothing
    /// else is to be sent either; else repairs go on, and nothing can be learnt about the timeout.
    pub(in crate::tcp) fn on_no_new_data(&mut self, sent: bool) -> bool {
        self.suspect &= sent;
        self.turn = if sent { Turn::Wait } else { Turn::Repair };
        sent
    }

    /// Judges the timeout.
    pub(in crate::tcp) fn on_ack(&mut self, ack: LossAck) -> Verdict {
        if !self.suspect {
            return Verdict::Repair;
        }
        if ack.original {
            return Verdict::Spurious;
        }
        if ack.sent_new {
            self.suspect &= !ack.sacked;
        } else if ack.advanced && !ack.repaired {
            self.turn = Turn::New;
            return Verdict::Probe;
        }
        Verdict::Repair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWS: LossAck = LossAck { advanced: true, sacked: false, original: false, repaired: false, sent_new: false };

    fn suspicious() -> Frto {
        let mut frto = Frto::default();
        frto.on_timeout(true);
        frto
    }

    #[test]
    fn the_first_retransmission_acknowledged_gives_new_data_the_turn_until_some_has_left() {
        let mut frto = suspicious();
        assert!(!frto.has_turned());
        assert_eq!(frto.on_ack(NEWS), Verdict::Probe);
        assert!(frto.has_turned() && !frto.waits());
        assert!(frto.on_no_new_data(true) && frto.waits());
        frto.begin_ack();
        assert!(!frto.has_turned());
        assert_eq!(frto.on_ack(LossAck { original: true, sent_new: true, ..NEWS }), Verdict::Spurious);
    }

    #[test]
    fn selective_news_of_the_new_data_or_want_of_it_ends_the_suspicion() {
        let mut frto = suspicious();
        assert_eq!(frto.on_ack(LossAck { sacked: true, sent_new: true, ..NEWS }), Verdict::Repair);
        assert_eq!(frto.on_ack(LossAck { original: true, ..NEWS }), Verdict::Repair);
        let mut frto = suspicious();
        frto.on_ack(NEWS);
        assert!(!frto.on_no_new_data(false) && !frto.has_turned());
        assert_eq!(frto.on_ack(LossAck { original: true, ..NEWS }), Verdict::Repair);
    }

    #[test]
    fn an_acknowledgement_of_everything_or_of_nothing_new_gives_no_turn() {
        for ack in [LossAck { repaired: true, ..NEWS }, LossAck { advanced: false, ..NEWS }] {
            let mut frto = suspicious();
            assert_eq!(frto.on_ack(ack), Verdict::Repair);
            assert!(!frto.has_turned());
        }
    }
}
