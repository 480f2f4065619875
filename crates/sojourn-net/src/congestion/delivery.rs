//! What both versions of BBR keep of deliveries: the largest of the last rounds, rounds, how far acknowledgements run
//! ahead, and the rates that follow.
//!
//! Source: draft-ietf-ccwg-bbr §4.5.1 (windowed maximum), §4.5.5 (estimating ACK aggregation). Difference: the maximum
//! is exact, one slot a round; Linux keeps the three best of the window.

use super::control::Round;
use crate::{Rate, Span, Time};

/// The largest value of the last `N` rounds (or cycles).
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    slots: [u64; N],
    newest: u64,
}

impl<const N: usize> Default for MaxFilter<N> {
    fn default() -> Self {
        Self { slots: [0; N], newest: 0 }
    }
}

impl<const N: usize> MaxFilter<N> {
    /// A value seen in this round; rounds never go back.
    pub(super) fn update(&mut self, round: u64, value: u64) {
        for passed in self.newest..round.min(self.newest + N as u64) {
            self.slots[((passed + 1) % N as u64) as usize] = 0;
        }
        if round > self.newest + N as u64 {
            self.slots = [0; N];
        }
        self.newest = round;
        let slot = &mut self.slots[(round % N as u64) as usize];
        *slot = value.max(*slot);
    }

    pub(super) fn get(&self) -> u64 {
        self.slots.into_iter().max().unwrap_or_default()
    }

    /// The largest of the present round alone.
    pub(super) fn newest(&self) -> u64 {
        self.slots[(self.newest % N as u64) as usize]
    }
}

/// Bytes acknowledged beyond what a bandwidth would have delivered, counted from the last time that it was not
/// exceeded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    since: Time,
    acked: u64,
}

impl Aggregation {
    pub(super) fn on_ack(&mut self, now: Time, delivered: u64, bandwidth: Rate) -> u64 {
        let mut expected = bandwidth.bytes_in(now.since(self.since));
        if self.acked <= expected {
            *self = Self { since: now, acked: 0 };
            expected = 0;
        }
        self.acked += delivered;
        self.acked - expected
    }
}

/// Gains are in 256ths.
pub(super) const UNIT: u64 = 256;
const PACING_PERCENT: u64 = 99;

/// The pacing rate at a gain, a little below it so that queues drain.
pub(super) fn paced(bandwidth: Rate, gain: u64) -> Rate {
    Rate((u128::from(bandwidth.0) * u128::from(gain * PACING_PERCENT) / u128::from(UNIT * 100)) as u64)
}

/// The pacing rate of a window, while no bandwidth is known.
fn paced_window(cwnd: u64, rtt: Span, gain: u64) -> Rate {
    let bits = u128::from(cwnd) * 8_000_000_000 / u128::from(rtt.0.max(1));
    paced(Rate(bits as u64), gain)
}

const FIRST_RTT: Span = Span::from_millis(1);

/// The pacing rate: of the window until a bandwidth is known, and never lower at the start than it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) rate: Rate,
    has_rtt: bool,
}

impl Pace {
    /// That of the first window, sent as if a round trip took a millisecond.
    pub(super) fn new(initial: u64, start_gain: u64) -> Self {
        Self { rate: paced_window(initial, FIRST_RTT, start_gain), has_rtt: false }
    }

    /// After an acknowledgement: towards the `target`, at once if the pipe is known to be `full`.
    pub(super) fn update(&mut self, srtt: Span, cwnd: u64, start_gain: u64, target: Rate, full: bool) {
        if !self.has_rtt && srtt > Span::ZERO {
            self.has_rtt = true;
            self.rate = paced_window(cwnd, srtt, start_gain);
        }
        if full || target > self.rate {
            self.rate = target;
        }
    }
}

/// What a bandwidth delivers in a time, times a gain; a petabyte at most.
pub(super) fn product(bandwidth: Rate, time: Span, gain: u64) -> u64 {
    let bytes = u128::from(bandwidth.bytes_in(time)) * u128::from(gain) / u128::from(UNIT);
    bytes.min(1_000_000_000_000_000) as u64
}

/// Bytes that a host sends at once at this rate, to save work (draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.2).
pub(super) fn quantum(pacing: Rate, mss: u64) -> u64 {
    if pacing < Rate(1_200_000) {
        mss
    } else if pacing < Rate(24_000_000) {
        2 * mss
    } else {
        pacing.bytes_in(Span::from_millis(1)).min(65_536).max(2 * mss)
    }
}

/// Rounds counted in bytes delivered: each ends when something sent after its beginning is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRound {
    round: Round,
    pub(super) count: u64,
}

impl DeliveryRound {
    /// True if a segment sent when `prior` bytes had been delivered ends the round; `total` have been by now.
    pub(super) fn ends(&mut self, prior: u64, total: u64) -> bool {
        let ends = prior >= self.round.end;
        if ends {
            self.restart(total);
            self.count += 1;
        }
        ends
    }

    /// The round ends with what is sent from now on.
    pub(super) fn restart(&mut self, total: u64) {
        self.round.end = total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_forgets_what_is_older_than_its_window() {
        let mut filter = MaxFilter::<3>::default();
        let seen = [(0, 5), (1, 9), (2, 4), (2, 2), (3, 3), (4, 1), (9, 2)].map(|(round, value)| {
            filter.update(round, value);
            filter.get()
        });
        assert_eq!(seen, [5, 9, 9, 9, 9, 4, 2]);
    }

    #[test]
    fn two_segments_are_sent_at_once_however_large_they_are() {
        let at_once = [1448, 9000, 32_768, 64_000].map(|mss| quantum(Rate(100_000_000), mss));
        assert_eq!(at_once, [12_500, 18_000, 65_536, 128_000]);
        assert_eq!(quantum(Rate(10_000_000_000), 1448), 65_536);
    }

    #[test]
    fn acknowledgements_in_lumps_run_ahead() {
        let mut aggregation = Aggregation::default();
        let rate = Rate(8_000_000); // 1000 bytes a millisecond
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let extra =
            [(10, 4000), (11, 4000), (15, 1000), (30, 1000)].map(|(ms, bytes)| aggregation.on_ack(at(ms), bytes, rate));
        assert_eq!(extra, [4000, 7000, 4000, 1000]);
    }

    #[test]
    fn a_round_ends_with_what_was_sent_after_its_beginning() {
        let mut rounds = DeliveryRound::default();
        assert!(rounds.ends(0, 1000), "the first");
        assert!(!rounds.ends(0, 2000));
        assert!(!rounds.ends(999, 3000));
        assert!(rounds.ends(1000, 4000));
        assert_eq!(rounds.count, 2);
    }
}
