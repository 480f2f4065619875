//! Samples of the delivery rate: how fast the network took what was sent.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02 (2022), also draft-ietf-ccwg-bbr §4.5. Every segment carries
//! a stamp of what was known when it was sent; an acknowledgement's sample spans from the sending of the latest-sent
//! segment that it shows to have arrived until now. Difference: "nothing in flight" means nothing unacknowledged (as
//! in Linux), not an empty pipe. Kept only for controllers that ask for it
//! ([`CongestionControl::wants_samples`](crate::congestion::CongestionControl::wants_samples)).

use crate::congestion::RateSample;
use crate::{Span, Time};
use std::collections::VecDeque;

/// What was known when a segment was sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    /// When the segment that was then the latest-sent of those delivered was sent.
    first_sent: Time,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
    resent: bool,
}

/// The delivery accounts of one sender.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Of the outstanding segments, in the order of their sequence numbers.
    stamps: VecDeque<Stamp>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// The sender had nothing to send before so much had been delivered; zero if it had.
    app_limited_until: u64,
    /// Of the segments that the present acknowledgement delivers, the stamp of the one sent last, and where it ends.
    newest: Option<(Stamp, u64)>,
}

impl Delivery {
    fn stamp(&mut self, now: Time, in_flight: u64, lost: u64) -> Stamp {
        Stamp {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight,
            lost,
            app_limited: self.app_limited_until > 0,
            resent: false,
        }
    }

    /// A new segment is sent, after which `in_flight` bytes are in flight; `lost` were found to be lost so far.
    #[inline(never)]
    pub(super) fn sent(&mut self, now: Time, in_flight: u64, lost: u64) {
        if self.stamps.is_empty() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let stamp = self.stamp(now, in_flight, lost);
        self.stamps.push_back(stamp);
    }

    /// Outstanding segment number `i` is sent again.
    #[inline(never)]
    pub(super) fn resent(&mut self, i: usize, now: Time, in_flight: u64, lost: u64) {
        self.stamps[i] = Stamp { resent: true, ..self.stamp(now, in_flight, lost) };
    }

    /// Outstanding segment number `i`, which ends at `end`, is delivered.
    #[inline(never)]
    pub(super) fn arrived(&mut self, i: usize, end: u64) {
        let stamp = self.stamps[i];
        if self.newest.is_none_or(|(newest, its_end)| (stamp.sent, end) > (newest.sent, its_end)) {
            self.newest = Some((stamp, end));
        }
    }

    /// The first outstanding segment is forgotten.
    pub(super) fn forget_first(&mut self) {
        self.stamps.pop_front();
    }

    /// The sender ran out of data with `in_flight` bytes in flight.
    pub(super) fn ran_dry(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// The round-trip time of the segment sent last of those that the acknowledgement delivers, if it was sent once
    /// (`RS.rtt` of draft-ietf-ccwg-bbr, `ca_rtt_us` of Linux). A timestamp's echo is the first one's, which a delayed
    /// acknowledgement made wait.
    pub(super) fn rtt(&self, now: Time) -> Option<Span> {
        self.newest.filter(|(stamp, _)| !stamp.resent).map(|(stamp, _)| now.since(stamp.sent))
    }

    /// The sample of an acknowledgement after which `delivered` bytes have been delivered and `lost` found to be lost.
    /// None if it delivers nothing, or sooner than a round trip can be.
    pub(super) fn sample(&mut self, now: Time, delivered: u64, lost: u64, min_rtt: Span) -> Option<RateSample> {
        let (stamp, _) = self.newest.take()?;
        (self.delivered, self.delivered_at) = (delivered, now);
        if delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        self.first_sent = self.first_sent.max(stamp.sent);
        let sending = stamp.sent.since(stamp.first_sent);
        let acknowledging = now.since(stamp.delivered_at);
        let interval = sending.max(acknowledging);
        (interval >= min_rtt).then(|| RateSample {
            delivered: delivered - stamp.delivered,
            interval,
            prior_delivered: stamp.delivered,
            lost: lost - stamp.lost,
            tx_in_flight: stamp.in_flight,
            app_limited: stamp.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn a_window_sent_at_once_is_delivered_at_the_rate_of_its_acknowledgements() {
        let mut delivery = Delivery::default();
        for i in 1..=4 {
            delivery.sent(ms(0), i * 1000, 0);
        }
        let mut samples = Vec::new();
        for i in 1..=4u64 {
            delivery.arrived(0, i * 1000);
            delivery.forget_first();
            samples.extend(delivery.sample(ms(100 + 10 * i), i * 1000, 0, RTT));
            delivery.sent(ms(100 + 10 * i), 4000, 0);
        }
        assert_eq!(
            samples.iter().map(|s| (s.delivered, s.interval.0 / 1_000_000)).collect::<Vec<_>>(),
            [(1000, 110), (2000, 120), (3000, 130), (4000, 140)]
        );
        // The first of the second window: sent 10 ms after the first delivery began to count, acknowledged 140 ms
        // later.
        delivery.arrived(0, 5000);
        let sample = delivery.sample(ms(210), 5000, 0, RTT).expect("an interval of a round trip");
        assert_eq!((sample.delivered, sample.interval, sample.prior_delivered), (4000, Span::from_millis(110), 1000));
        assert_eq!((sample.tx_in_flight, sample.app_limited), (4000, false));
    }

    #[test]
    fn a_round_trip_is_that_of_the_segment_sent_last_if_it_was_sent_once() {
        let mut delivery = Delivery::default();
        (1..=3).for_each(|i| delivery.sent(ms(10 * i), 1000 * i, 0));
        assert_eq!(delivery.rtt(ms(100)), None);
        for i in 1..=2 {
            delivery.arrived(0, 1000 * i);
            delivery.forget_first();
        }
        assert_eq!(delivery.rtt(ms(120)), Some(RTT), "one acknowledgement for both");
        delivery.sample(ms(120), 2000, 0, RTT);
        delivery.resent(0, ms(150), 1000, 0);
        delivery.arrived(0, 3000);
        assert_eq!(delivery.rtt(ms(260)), None, "of which time it was sent?");
    }

    #[test]
    fn losses_and_want_of_data_are_told_with_the_segment_that_was_sent_meanwhile() {
        let mut delivery = Delivery::default();
        delivery.sent(ms(0), 1000, 0);
        delivery.ran_dry(1000);
        delivery.sent(ms(10), 2000, 0);
        delivery.arrived(0, 1000);
        delivery.forget_first();
        assert!(!delivery.sample(ms(100), 1000, 0, RTT).expect("a sample").app_limited);
        delivery.sent(ms(101), 2000, 300);
        delivery.arrived(0, 2000);
        delivery.forget_first();
        let sample = delivery.sample(ms(110), 2000, 500, RTT).expect("a sample");
        assert!(sample.app_limited && sample.lost == 500);
        delivery.arrived(0, 3000);
        let sample = delivery.sample(ms(201), 3000, 500, RTT).expect("a sample");
        assert_eq!((sample.lost, sample.app_limited, sample.prior_delivered), (200, true, 1000));
    }

    #[test]
    fn an_acknowledgement_that_comes_sooner_than_a_round_trip_can_gives_no_sample() {
        let mut delivery = Delivery::default();
        delivery.sent(ms(0), 1000, 0);
        delivery.sent(ms(0), 2000, 0);
        delivery.arrived(1, 2000);
        assert!(delivery.sample(ms(100), 1000, 0, RTT).is_some());
        // Sent again at 110 ms, but what arrives 5 ms later must be the original.
        delivery.resent(0, ms(110), 1000, 1000);
        delivery.arrived(0, 1000);
        assert_eq!(delivery.sample(ms(115), 2000, 1000, RTT * 2), None);
    }
}
