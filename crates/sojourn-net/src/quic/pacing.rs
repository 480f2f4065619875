//! Pacing: a window leaves over a round trip, not at once.
//!
//! Source: RFC 9002 §7.7: a bucket that fills at 5/4 of a window in a smoothed round trip, and holds ten full packets,
//! the initial window of §7.2, which is the longest burst. Packets that only acknowledge and probes do not wait. Who
//! has emptied it may wait for the next packet, or, as quinn (0.11) does, until it is full again; an acknowledgement
//! lets quinn send what it has by then.

use super::packet::DATAGRAM;
use crate::{Span, Time, with_defaults};

/// The longest burst, in full packets.
const BURST: u64 = 10;
/// The rate, in windows a round trip.
const RATE: (u128, u128) = (5, 4);

with_defaults! {
    /// The bucket of one sender.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Pacer {
        bytes: u64 = BURST * DATAGRAM,
        at: Time,
        /// Once it is empty, it is waited for until it is full.
        in_bursts: bool,
    }
}

impl Pacer {
    /// One that waits for whole bursts.
    pub(super) fn in_bursts() -> Self {
        Self { in_bursts: true, ..Self::default() }
    }

    /// The bucket fills until `now`; true if a full packet, of so many bytes, may leave.
    pub(super) fn lets(&mut self, now: Time, full: u64, window: u64, srtt: Span) -> bool {
        let (over, under) = RATE;
        let came = u128::from(now.since(self.at).0) * u128::from(window) * over / (u128::from(srtt.0).max(1) * under);
        self.bytes = u128::from(self.bytes).saturating_add(came).min(u128::from(BURST * full)) as u64;
        self.at = now;
        self.bytes >= full
    }

    /// So many bytes leave.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// When the next full packet is to leave.
    pub(super) fn next(&self, full: u64, window: u64, srtt: Span) -> Time {
        let (over, under) = RATE;
        let wanted = if self.in_bursts && self.bytes < full { BURST * full } else { full };
        let lacking = u128::from(wanted.saturating_sub(self.bytes));
        let wait = (lacking * u128::from(srtt.0) * under).div_ceil(u128::from(window.max(1)) * over);
        self.at + Span(wait.min(u128::from(u64::MAX / 4)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_ten_packets_a_window_takes_four_fifths_of_a_round_trip() {
        let (window, srtt) = (40 * DATAGRAM, Span::from_millis(100));
        let (mut pacer, mut now, mut left) = (Pacer::default(), Time(7), Vec::new());
        while left.len() < 50 {
            if pacer.lets(now, DATAGRAM, window, srtt) {
                pacer.sent(DATAGRAM);
                left.push(now.0);
            } else {
                let next = pacer.next(DATAGRAM, window, srtt);
                assert!(next > now);
                now = next;
            }
        }
        assert!(left[..10].iter().all(|at| *at == 7) && left[10] == 2_000_007, "{left:?}");
        let forty = left[49] - left[9];
        assert!((80_000_000..80_001_000).contains(&forty), "{forty}");
    }

    #[test]
    fn a_burst_after_a_pause_is_no_longer_than_the_bucket() {
        let mut pacer = Pacer::default();
        let mut burst = |now| {
            let leaves =
                || pacer.lets(Time(now), DATAGRAM, 1 << 30, Span::from_millis(1)).then(|| pacer.sent(DATAGRAM));
            std::iter::from_fn(leaves).count()
        };
        assert_eq!([burst(0), burst(0), burst(9_000_000_000)], [10, 0, 10]);
    }

    #[test]
    fn in_bursts_the_bucket_is_waited_for_until_it_is_full() {
        let (window, srtt) = (40 * DATAGRAM, Span::from_millis(100));
        let mut pacer = Pacer::in_bursts();
        let mut burst = |now| {
            let leaves = || pacer.lets(now, DATAGRAM, window, srtt).then(|| pacer.sent(DATAGRAM));
            (std::iter::from_fn(leaves).count(), pacer.next(DATAGRAM, window, srtt))
        };
        let (first, next) = burst(Time(0));
        assert_eq!((first, next), (10, Time(20_000_000)));
        // Whoever asks before, as an acknowledgement does, sends what there is by then.
        assert_eq!(burst(Time(5_000_000)), (2, Time(24_000_000)));
        assert_eq!(burst(Time(24_000_000)).0, 10);
    }
}
