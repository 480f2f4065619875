//! HyStart: leaving slow start before it overflows the queue.
//!
//! Sources: [`HyStart::Rfc9406`] is HyStart++ (RFC 9406 §4.2–4.3): when a round's smallest RTT has risen, growth goes
//! on at a quarter of the speed for at most five rounds, and at full speed again if the RTT falls back; the first slow
//! start only. [`HyStart::Linux`] is that of Linux's `tcp_cubic` (after Ha and Rhee, "Taming the elephants", 2008):
//! slow start ends at once when a round's smallest RTT is well above the connection's, or when acknowledgements have
//! kept coming closely for half a round trip; the first slow start and those after timeouts. [`HyStart::Linux`] counts
//! rounds from a window of sixteen segments on, as Linux did from 5.16 until January 2025 and as packetdrill's scripts
//! have it; [`HyStart::Linux2025`] counts them at any window, as Linux does since. Difference: Linux's allowance for
//! the delay of segmentation offload is left out.

use super::control::{Ack, Round};
use super::variables::Variables;
use crate::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How CUBIC's slow start ends before a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HyStart {
    /// It does not.
    #[default]
    None,
    /// As in Linux: by delay or by the length of a train of ACKs; rounds are counted from sixteen segments on.
    Linux,
    /// The same with rounds counted at any window: what `linux` is for `stack = "linux"`.
    #[serde(skip)]
    Linux2025,
    /// HyStart++ (RFC 9406).
    Rfc9406,
}

const LEAST_SAMPLES: u32 = 8;
const LEAST_RISE: Span = Span::from_millis(4);
const MOST_RISE: Span = Span::from_millis(16);
/// Linux: the smallest window, in segments, at which anything is concluded.
const LOW_WINDOW: u64 = 16;
/// Linux: ACKs that follow one another within this belong to one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// RFC 9406: most segments that one ACK is worth (L, without pacing).
const LIMIT: u64 = 8;
/// RFC 9406: conservative slow start is slower by this factor …
const CONSERVATIVE_DIVISOR: u64 = 4;
/// … and lasts so many rounds.
const CONSERVATIVE_ROUNDS: u32 = 5;
const UNKNOWN: Span = Span(u64::MAX);

/// The rise above `rtt` that counts: an eighth of it, but 4 to 16 ms.
fn rise(rtt: Span) -> Span {
    Span(rtt.0 / 8).clamp(LEAST_RISE, MOST_RISE)
}

/// The watch over one sender's slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    kind: HyStart,
    round: Round,
    /// Smallest round-trip time of this round, and how many were measured.
    rtt: Span,
    samples: u32,
    /// Linux: beginning of the round, and the last ACK of the train that began it.
    began: Time,
    train: Time,
    /// RFC 9406: the smallest of the last round.
    last_rtt: Span,
    /// RFC 9406: conservative slow start, begun at this round-trip time, so many rounds ago.
    conservative: Option<(Span, u32)>,
    done: bool,
}

impl Watch {
    /// The watch of this kind, if there is anything to watch for.
    pub(super) fn of(kind: HyStart) -> Option<Self> {
        (kind != HyStart::None).then(|| Self::new(kind))
    }

    fn new(kind: HyStart) -> Self {
        Self { kind, rtt: UNKNOWN, last_rtt: UNKNOWN, ..Self::default() }
    }

    pub(super) fn variables(&self, show: &mut Variables<'_>) {
        let known = |rtt: Span| if rtt == UNKNOWN { f64::NAN } else { rtt.as_secs() };
        show.tell("round_min_rtt", known(self.rtt));
        show.tell("round_samples", f64::from(self.samples));
        show.tell("last_round_min_rtt", known(self.last_rtt));
        show.tell("css", f64::from(self.conservative.is_some()));
        show.tell("css_baseline", self.conservative.map_or(f64::NAN, |(rtt, _)| rtt.as_secs()));
        show.tell("css_rounds", self.conservative.map_or(0.0, |(_, rounds)| f64::from(rounds)));
        show.tell("slow_start_over", f64::from(self.done));
    }

    /// Slow start was left by a loss.
    pub(super) fn on_congestion(&mut self, timeout: bool) {
        *self = Self { done: self.kind == HyStart::Rfc9406 || (self.done && !timeout), ..Self::new(self.kind) };
    }

    /// An acknowledgement in slow start: the bytes by which the window, now `cwnd`, may grow; `None` ends slow start.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack, cwnd: u64, mss: u64) -> Option<u64> {
        if self.done {
            return Some(ack.delivered);
        }
        let growth = match self.kind {
            HyStart::None => Some(ack.delivered),
            HyStart::Linux | HyStart::Linux2025 => self.linux(now, ack, cwnd / mss).then_some(ack.delivered),
            HyStart::Rfc9406 => self.rfc9406(ack).map(|divisor| ack.delivered.min(LIMIT * mss) / divisor),
        };
        self.done = growth.is_none();
        growth
    }

    /// False if slow start is to end.
    fn linux(&mut self, now: Time, ack: &Ack, cwnd: u64) -> bool {
        let Some(rtt) = ack.rtt else { return true };
        let low = cwnd < LOW_WINDOW;
        if low && self.kind == HyStart::Linux {
            return true;
        }
        if self.round.ends(ack) {
            (self.rtt, self.samples) = (UNKNOWN, 0);
            (self.began, self.train) = (now, now);
        }
        if low {
            return true;
        }
        if now.since(self.train) <= TRAIN_GAP {
            self.train = now;
            if now.since(self.began) > Span(ack.min_rtt.0 / 2) {
                return false;
            }
        }
        self.rtt = self.rtt.min(rtt);
        if self.samples < LEAST_SAMPLES {
            self.samples += 1;
            return true;
        }
        self.rtt <= ack.min_rtt + rise(ack.min_rtt)
    }

    /// What to divide the growth by; `None` if slow start is to end.
    fn rfc9406(&mut self, ack: &Ack) -> Option<u64> {
        if self.round.ends(ack) {
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds == CONSERVATIVE_ROUNDS {
                    return None;
                }
            }
            self.last_rtt = self.rtt;
            (self.rtt, self.samples) = (UNKNOWN, 0);
        }
        if let Some(rtt) = ack.rtt {
            self.rtt = self.rtt.min(rtt);
            self.samples += 1;
        }
        if self.samples >= LEAST_SAMPLES {
            self.conservative = match self.conservative {
                Some((baseline, _)) if self.rtt < baseline => None,
                None if self.last_rtt != UNKNOWN && self.rtt >= self.last_rtt + rise(self.last_rtt) => {
                    Some((self.rtt, 0))
                }
                same => same,
            };
        }
        Some(if self.conservative.is_some() { CONSERVATIVE_DIVISOR } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Feeds rounds of ten ACKs with these round-trip times: the round and the ACK in it (from 1) of every change, and
    /// what it was.
    fn changes(rounds_ms: &[u64]) -> Vec<(usize, u32, Option<u64>)> {
        let mut watch = Watch::new(HyStart::Rfc9406);
        let mut changes = vec![];
        let mut last = Some(MSS);
        let mut una = 0;
        for (round, ms) in rounds_ms.iter().enumerate() {
            for i in 1..=10 {
                una += 1;
                let next = 10 * (round as u64 + 1);
                let ack = Ack { una, next, ..Ack::of(MSS, Span::from_millis(*ms)) };
                let growth = watch.on_ack(Time::ZERO, &ack, 20 * MSS, MSS);
                if growth != last {
                    changes.push((round + 1, i, growth));
                    last = growth;
                }
                if growth.is_none() {
                    return changes;
                }
            }
        }
        changes
    }

    #[test]
    fn a_rise_slows_growth_down_and_five_rounds_later_ends_it() {
        let got = changes(&[40, 40, 45, 47, 46, 46, 46, 46]);
        assert_eq!(got, [(3, 8, Some(MSS / 4)), (8, 1, None)], "the first ACK of round 8 is the end of round 7");
    }

    #[test]
    fn a_fall_below_the_baseline_resumes_slow_start() {
        assert_eq!(changes(&[40, 46, 44]), [(2, 8, Some(MSS / 4)), (3, 8, Some(MSS))]);
    }

    #[test]
    fn an_ack_is_worth_at_most_eight_segments() {
        let mut watch = Watch::new(HyStart::Rfc9406);
        let ack = Ack::of(20 * MSS, Span::from_millis(40));
        assert_eq!(watch.on_ack(Time::ZERO, &ack, 20 * MSS, MSS), Some(8 * MSS));
    }

    fn linux(rtts_ms: impl Iterator<Item = u64>, gap: Span, min_rtt: Span) -> Option<(usize, u64)> {
        let mut watch = Watch::new(HyStart::Linux);
        let mut cwnd = 20;
        for (i, ms) in rtts_ms.enumerate() {
            let now = Time::ZERO + Span::from_secs(1) + gap * i as u64;
            let una = 10 + 2 * i as u64;
            let ack = Ack { una, next: una + cwnd, min_rtt, ..Ack::of(2 * MSS, Span::from_millis(ms)) };
            if watch.on_ack(now, &ack, cwnd * MSS, MSS).is_none() {
                return Some((i + 1, cwnd));
            }
            cwnd += 2;
        }
        None
    }

    #[test]
    fn linux_ends_it_at_the_ninth_delayed_sample_of_a_round() {
        let min_rtt = Span::from_millis(200);
        let gap = Span::from_millis(3);
        assert_eq!(linux([240; 20].into_iter(), gap, min_rtt), Some((9, 36)));
        assert_eq!(linux([216; 10].into_iter(), gap, min_rtt), None, "16 ms more are not enough");
    }

    #[test]
    fn linux_ends_it_when_the_train_is_half_a_round_trip_long() {
        let min_rtt = Span::from_millis(10);
        let length = |gap_us: u64| linux([10; 10].into_iter(), Span(gap_us * 1000), min_rtt).map(|(i, _)| i);
        assert_eq!(length(1000), Some(7), "6 ms after the first");
        assert_eq!(length(500), None);
        assert_eq!(length(2100), None, "no train");
    }

    #[test]
    fn linux_concludes_nothing_from_small_windows() {
        let mut watch = Watch::new(HyStart::Linux);
        let ack = Ack { min_rtt: Span::from_millis(10), next: 100, ..Ack::of(MSS, Span::from_millis(90)) };
        assert!((0..20).all(|_| watch.on_ack(Time::ZERO, &ack, 15 * MSS, MSS).is_some()));
    }

    #[test]
    fn linux_counts_the_rounds_of_small_windows_since_2025() {
        let ended = |kind| {
            let mut watch = Watch::new(kind);
            (1..).find(|una| {
                let (next, cwnd) = if *una <= 35 { (40, 10) } else { (80, 20) };
                let ack =
                    Ack { una: *una, next, min_rtt: Span::from_millis(20), ..Ack::of(MSS, Span::from_millis(40)) };
                watch.on_ack(Time::ZERO + Span::from_millis(10) * *una, &ack, cwnd * MSS, MSS).is_none()
            })
        };
        assert_eq!(ended(HyStart::Linux2025), Some(49), "the ninth of the round that began at 41");
        assert_eq!(ended(HyStart::Linux), Some(44), "of the one that the window of 20 began at 36");
    }

    #[test]
    fn a_timeout_makes_linux_watch_again_but_not_the_rfc() {
        for (kind, done) in [(HyStart::Linux, false), (HyStart::Rfc9406, true)] {
            let mut watch = Watch { done: true, ..Watch::new(kind) };
            watch.on_congestion(true);
            assert_eq!(watch.done, done);
        }
    }
}
