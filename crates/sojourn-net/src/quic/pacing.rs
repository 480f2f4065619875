//! Pacing: a window leaves over a round trip, not at once.
//!
//! Source: RFC 9002 §7.7: a bucket that fills at 5/4 of a window in a smoothed round trip, and holds ten full packets,
//! the initial window of §7.2, which is the longest burst. Packets that only acknowledge and probes do not wait.

use super::packet::DATAGRAM;
use crate::{Span, Time, with_defaults};

/// The longest burst.
const BUCKET: u64 = 10 * DATAGRAM;
/// The rate, in windows a round trip.
const RATE: (u128, u128) = (5, 4);

with_defaults! {
    /// The bucket of one sender.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Pacer {
        bytes: u64 = BUCKET,
        at: Time,
    }
}

impl Pacer {
    /// The bucket fills until `now`; true if a full packet may leave.
    pub(super) fn lets(&mut self, now: Time, window: u64, srtt: Span) -> bool {
        let (over, under) = RATE;
        let came = u128::from(now.since(self.at).0) * u128::from(window) * over / (u128::from(srtt.0).max(1) * under);
        self.bytes = u128::from(self.bytes).saturating_add(came).min(u128::from(BUCKET)) as u64;
        self.at = now;
        self.bytes >= DATAGRAM
    }

    /// So many bytes leave.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// When the next full packet may leave.
    pub(super) fn next(&self, window: u64, srtt: Span) -> Time {
        let (over, under) = RATE;
        let lacking = u128::from(DATAGRAM.saturating_sub(self.bytes));
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
            if pacer.lets(now, window, srtt) {
                pacer.sent(DATAGRAM);
                left.push(now.0);
            } else {
                let next = pacer.next(window, srtt);
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
            let leaves = || pacer.lets(Time(now), 1 << 30, Span::from_millis(1)).then(|| pacer.sent(DATAGRAM));
            std::iter::from_fn(leaves).count()
        };
        assert_eq!([burst(0), burst(0), burst(9_000_000_000)], [10, 0, 10]);
    }
}
