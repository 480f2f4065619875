//! Tail loss probes: rather than wait for the retransmission timer, send one segment that provokes an acknowledgement.
//!
//! Source: RFC 8985 §7 (2021) with Linux's rules:
//! - the probe leaves two smoothed round trips after the last news, and 200 ms more if a single segment is out, 2 ms
//!   otherwise, but never later than the RTO;
//! - it is new data if there is any, whatever the window, else the last segment again;
//! - one probe at a time, and only while no loss is known;
//! - if the probe was a retransmission, and data beyond it is acknowledged without a sign of two copies, it repaired a
//!   loss, and the window is reduced.

use crate::{Span, Time};

const SINGLE_SEGMENT: Span = Span::from_millis(200);
const SEVERAL_SEGMENTS: Span = Span::from_millis(2);
const NO_RTT: Span = Span::from_secs(1);

/// The probe of one sender.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Tlp {
    /// When the probe timer (PTO) expires.
    pub(in crate::tcp) at: Time,
    /// The next segment leaves as a probe.
    pub(in crate::tcp) due: bool,
    /// It is to be put off when all that may be sent now has left.
    pub(in crate::tcp) put_off: bool,
    /// What had been sent when the probe left (RFC 8985 `TLP.end_seq`), and whether that was a retransmission.
    out: Option<(u64, bool)>,
}

impl Default for Tlp {
    fn default() -> Self {
        Self { at: Time::NEVER, due: false, put_off: false, out: None }
    }
}

/// Probe timeout (PTO): the time until a probe.
pub(in crate::tcp) fn timeout(srtt: Span, single: bool, until_rto: Span) -> Span {
    let wait =
        if srtt == Span::ZERO { NO_RTT } else { srtt * 2 + if single { SINGLE_SEGMENT } else { SEVERAL_SEGMENTS } };
    wait.min(until_rto)
}

impl Tlp {
    /// The probe timer expired, with data outstanding or not. True if a probe is to leave.
    pub(in crate::tcp) fn expire(&mut self, outstanding: bool) -> bool {
        self.at = Time::NEVER;
        self.due = self.out.is_none() && outstanding;
        self.due
    }

    /// A probe leaves, after which everything below `next` has been sent.
    pub(in crate::tcp) fn on_probe(&mut self, next: u64, retransmission: bool) {
        *self = Self { out: Some((next, retransmission)), ..Self::default() };
    }

    /// Everything below `una` is acknowledged. `duplicate`: the acknowledgement reports that something arrived twice,
    /// or has no news at all. True if the probe turns out to have repaired a loss.
    #[inline]
    pub(in crate::tcp) fn on_ack(&mut self, una: u64, duplicate: bool) -> bool {
        let Some((end, retransmission)) = self.out else { return false };
        if una < end || (retransmission && una == end && !duplicate) {
            return false;
        }
        self.out = None;
        retransmission && !duplicate && una > end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_of_a_single_segment_waits_for_its_delayed_acknowledgement_and_none_waits_for_the_timer() {
        let ms = Span::from_millis;
        assert_eq!(timeout(ms(100), true, Span::from_secs(1)), ms(400));
        assert_eq!(timeout(ms(100), false, Span::from_secs(1)), ms(202));
        assert_eq!(timeout(ms(100), false, ms(150)), ms(150));
        assert_eq!(timeout(Span::ZERO, false, Span::from_secs(3)), Span::from_secs(1));
    }

    #[test]
    fn a_probe_repaired_a_loss_if_data_beyond_it_is_acknowledged_without_a_duplicate() {
        for (retransmission, una, duplicate, repaired) in
            [(true, 11, false, true), (true, 11, true, false), (true, 10, true, false), (false, 11, false, false)]
        {
            let mut tlp = Tlp::default();
            assert!(tlp.expire(true) && tlp.due);
            tlp.on_probe(10, retransmission);
            assert!(!tlp.on_ack(9, true) && !tlp.expire(true), "one at a time");
            assert_eq!(tlp.on_ack(una, duplicate), repaired, "{retransmission} {una} {duplicate}");
            assert!(tlp.expire(true), "it is over");
        }
        let mut tlp = Tlp::default();
        assert!(!tlp.expire(false), "nothing is outstanding");
        tlp.on_probe(10, true);
        assert!(!tlp.on_ack(10, false) && !tlp.expire(true), "it may be of the original or of the probe");
    }
}
