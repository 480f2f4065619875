//! Transport-wide feedback: the receiver's reports of what arrived when.
//!
//! Source: libwebrtc `transport_sequence_number_feedback_generator.cc`: every 100 ms at first, then as often as reports
//! of 68 bytes take 5 % of the rate that the receiver itself may send, between 50 and 250 ms. What is missing below the
//! last that arrived is reported lost.

use sojourn_net::{Span, Time};
use std::collections::BTreeMap;

const FIRST: Span = Span::from_millis(100);
const REPORT_BITS: f64 = 68.0 * 8.0;
const SHARE: f64 = 0.05;

/// What one receiver has not reported yet.
#[derive(Debug, Default)]
pub(super) struct FeedbackGenerator {
    arrived: BTreeMap<u64, Time>,
    next: u64,
}

impl FeedbackGenerator {
    /// A packet arrived.
    pub(super) fn arrived(&mut self, seq: u64, now: Time) {
        self.arrived.entry(seq).or_insert(now);
    }

    /// The report now; `None` if nothing arrived.
    pub(super) fn report(&mut self) -> Option<Vec<(u64, Option<Time>)>> {
        let (last, _) = self.arrived.last_key_value()?;
        let next = self.next.max(last + 1);
        // What came after a report that called it lost is first.
        let late = self.arrived.range(..self.next).map(|(seq, at)| (*seq, Some(*at)));
        let fates = late.chain((self.next..next).map(|seq| (seq, self.arrived.get(&seq).copied()))).collect();
        self.next = next;
        self.arrived.clear();
        Some(fates)
    }
}

/// Time between two reports of a receiver that may itself send at a rate in bit/s, once that is known.
pub(super) fn interval(rate: Option<f64>) -> Span {
    let shortest = Span::from_millis(50);
    rate.map_or(FIRST, |rate| Span::from_secs_f64(REPORT_BITS / (SHARE * rate)).clamp(shortest, Span::from_millis(250)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_below_the_last_is_lost() {
        let mut generator = FeedbackGenerator::default();
        assert_eq!(generator.report(), None);
        [0, 1, 3].iter().for_each(|seq| generator.arrived(*seq, Time(seq * 10)));
        let expected = [(0, Some(Time(0))), (1, Some(Time(10))), (2, None), (3, Some(Time(30)))];
        assert_eq!(generator.report().unwrap(), expected);
        generator.arrived(2, Time(50));
        assert_eq!(generator.report().unwrap(), [(2, Some(Time(50)))]);
        generator.arrived(5, Time(60));
        assert_eq!(generator.report().unwrap(), [(4, None), (5, Some(Time(60)))]);
    }

    #[test]
    fn reports_come_every_50_ms_above_218_kbps() {
        let ms = |rate| interval(rate).as_millis();
        assert_eq!([ms(None), ms(Some(1e6)), ms(Some(217.6e3)), ms(Some(10e3))], [100.0, 50.0, 50.0, 250.0]);
        assert!((ms(Some(100e3)) - 108.8).abs() < 1e-9);
    }
}
