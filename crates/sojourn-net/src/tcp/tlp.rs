//! Tail loss probes: rather than wait for the retransmission timer, send one segment that provokes an acknowledgement.
//!
//! Source: RFC 8985 §7 (2021) with Linux's rules: a probe two smoothed round trips after the last news (and 200 ms more if a single segment
//! is out, 2 ms otherwise), but never later than the timer; of new data if there is any, whatever the window, else of the last segment; one at a
//! time; only while no loss is known. If the probe was a retransmission and more than it is acknowledged later without a sign of two copies, it
//! repaired a loss, and the window is reduced.

use super::sender::Sender;
use crate::congestion::Congestion;
use crate::{Span, Time};

const SINGLE_SEGMENT: Span = Span::from_millis(200);
const SEVERAL_SEGMENTS: Span = Span::from_millis(2);
const NO_RTT: Span = Span::from_secs(1);

/// The probe of one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tlp {
    /// When it is due.
    pub(super) at: Time,
    /// The next segment leaves as a probe.
    pub(super) due: bool,
    /// Where what had been sent after the probe ends, and whether that was a retransmission.
    out: Option<(u64, bool)>,
}

impl Default for Tlp {
    fn default() -> Self {
        Self { at: Time::NEVER, due: false, out: None }
    }
}

/// Time until a probe.
pub(super) fn timeout(srtt: Span, single: bool, until_rto: Span) -> Span {
    let wait =
        if srtt == Span::ZERO { NO_RTT } else { srtt * 2 + if single { SINGLE_SEGMENT } else { SEVERAL_SEGMENTS } };
    wait.min(until_rto)
}

impl Sender {
    /// News came, or new data left: the probe is put off.
    #[inline(never)]
    pub(super) fn arm_probe(&mut self, now: Time) {
        let outstanding = self.board.outstanding();
        self.tlp.at = if outstanding == 0 || self.una == 0 || !self.state.has_no_loss() || self.board.has_sacked() {
            Time::NEVER
        } else {
            let single = outstanding <= u64::from(self.mss);
            let wait = timeout(self.rtt.smoothed(), single, self.rto_at.since(now));
            self.rtt.expiry(now, wait).min(self.rto_at)
        };
    }

    /// The time for a probe has come: true if one should leave now.
    pub(super) fn probe(&mut self, now: Time) {
        self.tlp.at = Time::NEVER;
        self.tlp.due = self.tlp.out.is_none() && self.board.outstanding() > 0;
        if self.tlp.due {
            self.rto_at = self.rtt.deadline(now);
        }
    }

    /// The probe leaves.
    pub(super) fn probed(&mut self, retransmission: bool) {
        self.tlp.due = false;
        self.tlp.out = Some((self.nxt, retransmission));
        self.statistics.probes += 1;
    }

    /// What an acknowledgement says of the probe. `two_copies`: it reports a duplicate, or neither advances nor has news of
    /// arrivals.
    #[inline(never)]
    pub(super) fn on_probe_ack(&mut self, now: Time, two_copies: bool, in_flight: u64) {
        let Some((end, retransmission)) = self.tlp.out else { return };
        if self.una < end || (retransmission && self.una == end && !two_copies) {
            return;
        }
        self.tlp.out = None;
        if retransmission && !two_copies && self.una > end && self.state.has_no_loss() {
            self.marking.on_reduction();
            self.control.on_congestion(now, Congestion::Loss, in_flight);
            self.control.on_recovered(now);
            self.refresh_window();
        }
    }

    /// A loss was found otherwise.
    pub(super) fn forget_probe(&mut self) {
        self.tlp = Tlp::default();
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
}
