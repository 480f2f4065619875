//! What is in flight, how long a round trip takes, and what is lost.
//!
//! Source: RFC 9002: first round trip 333 ms (Chromium's clients take 100), packet threshold 3, time threshold 9/8,
//! granularity 1 ms, probes after `srtt + 4 rttvar + max_ack_delay`, doubled each time (without that delay until the
//! handshake is over); persistent congestion after three of them.

use super::packet::{Frame, Packet};
use super::received::MOST_ACK_DELAY;
use crate::{Span, Time, with_defaults};
use std::collections::VecDeque;

const FIRST_RTT: Span = Span::from_millis(333);
/// What Chromium's clients take a round trip for (quiche, `kInitialRtt`): their first probe comes after 300 ms.
pub(super) const CHROMIUMS_FIRST_RTT: Span = Span::from_millis(100);
const GRANULARITY: Span = Span::from_millis(1);
const PACKET_THRESHOLD: u64 = 3;
const PERSISTENT: u64 = 3;
const MOST_DOUBLINGS: u32 = 10;

/// A packet in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) number: u64,
    pub(super) at: Time,
    pub(super) bytes: u64,
    pub(super) frames: Vec<Frame>,
}

/// What an acknowledgement, or time, brought.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) acknowledged: Vec<InFlight>,
    pub(super) lost: Vec<InFlight>,
    /// The sample of the round trip, if there is one.
    pub(super) rtt: Option<Span>,
    /// Everything sent over a long time was lost.
    pub(super) persistent: bool,
}

with_defaults! {
    /// The state of one sender.
    #[derive(Debug)]
    pub(super) struct Recovery {
        in_flight: VecDeque<InFlight>,
        bytes: u64,
        largest: Option<u64>,
        srtt: Option<Span>,
        /// What a round trip is taken for until one is measured.
        first_rtt: Span = FIRST_RTT,
        rttvar: Span = Span(FIRST_RTT.0 / 2),
        latest: Span = FIRST_RTT,
        least: Span,
        first_sample: Option<Time>,
        loss_time: Option<Time>,
        last_eliciting: Time,
        probes: u32,
        /// For how long the peer may put an acknowledgement off: not at all while the handshake lasts (§6.2.1).
        max_ack_delay: Span,
    }
}

impl Recovery {
    /// One that takes a round trip for so long until one is measured.
    pub(super) fn expecting(first_rtt: Span) -> Self {
        Self { first_rtt, rttvar: Span(first_rtt.0 / 2), latest: first_rtt, ..Self::default() }
    }

    /// Bytes in flight.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Smoothed round-trip time, and the least.
    pub(super) fn rtt(&self) -> (Span, Span) {
        (self.srtt.unwrap_or(self.first_rtt), self.least)
    }

    /// The handshake is over: the peer may put acknowledgements off.
    pub(super) fn confirm(&mut self) {
        self.max_ack_delay = MOST_ACK_DELAY;
    }

    /// The number of the oldest packet in flight, or `next` if there is none.
    pub(super) fn una(&self, next: u64) -> u64 {
        self.in_flight.front().map_or(next, |packet| packet.number)
    }

    /// An eliciting packet was sent.
    pub(super) fn sent(&mut self, packet: &Packet, now: Time) {
        self.last_eliciting = now;
        self.bytes += packet.bytes;
        let frames = packet.frames.iter().filter(|frame| matches!(frame, Frame::Stream { .. })).cloned().collect();
        self.in_flight.push_back(InFlight { number: packet.number, at: now, bytes: packet.bytes, frames });
    }

    /// The data of the oldest packet in flight, to be sent again as a probe.
    pub(super) fn oldest(&self) -> &[Frame] {
        self.in_flight.front().map_or(&[], |packet| &packet.frames)
    }

    /// An acknowledgement of these ranges came.
    pub(super) fn on_ack(&mut self, now: Time, ranges: &[(u64, u64)], delay: Span) -> News {
        let mut news = News::default();
        let Some((_, largest)) = ranges.first().copied() else { return news };
        self.largest = Some(self.largest.map_or(largest, |before| before.max(largest)));
        let is_acknowledged = |number: u64| ranges.iter().any(|(from, to)| (*from..=*to).contains(&number));
        let mut left = VecDeque::with_capacity(self.in_flight.len());
        for packet in self.in_flight.drain(..) {
            if is_acknowledged(packet.number) {
                self.bytes -= packet.bytes;
                news.acknowledged.push(packet);
            } else {
                left.push_back(packet);
            }
        }
        self.in_flight = left;
        if news.acknowledged.is_empty() {
            return news;
        }
        if let Some(newest) = news.acknowledged.last().filter(|newest| newest.number == largest) {
            let sample = now.since(newest.at);
            news.rtt = Some(sample);
            self.sample(sample, delay.min(MOST_ACK_DELAY), now);
        }
        self.probes = 0;
        self.find_lost(now, &mut news);
        news
    }

    fn sample(&mut self, sample: Span, delay: Span, now: Time) {
        self.latest = sample;
        self.first_sample.get_or_insert(now);
        let Some(srtt) = self.srtt else {
            (self.least, self.srtt, self.rttvar) = (sample, Some(sample), Span(sample.0 / 2));
            return;
        };
        self.least = self.least.min(sample);
        let adjusted = if sample >= self.least + delay { sample - delay } else { sample };
        let error = Span(srtt.0.abs_diff(adjusted.0));
        self.rttvar = Span((3 * self.rttvar.0 + error.0) / 4);
        self.srtt = Some(Span((7 * srtt.0 + adjusted.0) / 8));
    }

    /// Packets that three later ones, or time, have overtaken.
    fn find_lost(&mut self, now: Time, news: &mut News) {
        self.loss_time = None;
        let Some(largest) = self.largest else { return };
        let (srtt, _) = self.rtt();
        let wait = Span(srtt.max(self.latest).0 * 9 / 8).max(GRANULARITY);
        let mut left = VecDeque::with_capacity(self.in_flight.len());
        for packet in self.in_flight.drain(..) {
            let overtaken = packet.number + PACKET_THRESHOLD <= largest;
            if packet.number < largest && (overtaken || packet.at + wait <= now) {
                self.bytes -= packet.bytes;
                news.lost.push(packet);
                continue;
            }
            if packet.number < largest {
                let at = packet.at + wait;
                self.loss_time = Some(self.loss_time.map_or(at, |before| before.min(at)));
            }
            left.push_back(packet);
        }
        self.in_flight = left;
        let since = |packet: &&InFlight| self.first_sample.is_some_and(|first| packet.at > first);
        let mut lost = news.lost.iter().filter(since);
        if let (Some(first), Some(last)) = (lost.next(), lost.next_back()) {
            let in_a_row = last.number - first.number + 1 == news.lost.iter().filter(since).count() as u64;
            let long = last.at.since(first.at) > self.probe_timeout(MOST_ACK_DELAY) * PERSISTENT;
            news.persistent = in_a_row && long;
        }
    }

    /// Time after which a probe is sent.
    fn probe_timeout(&self, max_ack_delay: Span) -> Span {
        let (srtt, _) = self.rtt();
        srtt + (self.rttvar * 4).max(GRANULARITY) + max_ack_delay
    }

    /// The next timer; `always` keeps the probe timer running with nothing in flight.
    pub(super) fn timer(&self, always: bool) -> Option<Time> {
        if self.loss_time.is_some() {
            return self.loss_time;
        }
        let armed = always || !self.in_flight.is_empty();
        let wait = self.probe_timeout(self.max_ack_delay) * (1 << self.probes.min(MOST_DOUBLINGS));
        armed.then(|| self.last_eliciting + wait)
    }

    /// The timer is due: losses, or a probe is to be sent.
    pub(super) fn on_timeout(&mut self, now: Time) -> Option<News> {
        if self.loss_time.is_some_and(|at| at <= now) {
            let mut news = News::default();
            self.find_lost(now, &mut news);
            return Some(news);
        }
        self.probes += 1;
        self.last_eliciting = now;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// Packets of 1000 bytes that were sent at these times (ms).
    fn sent(times: &[u64]) -> Recovery {
        let mut recovery = Recovery::default();
        for (number, at) in times.iter().enumerate() {
            let packet = Packet::new(number as u64, vec![Frame::Ping], 1000);
            recovery.sent(&packet, ms(*at));
        }
        recovery
    }

    #[test]
    fn probes_wait_twice_as_long_each_time_until_something_is_acknowledged() {
        let mut recovery = sent(&[0, 10]);
        assert_eq!(recovery.timer(false), Some(ms(10) + Span::from_millis(999)), "the handshake's is not put off");
        recovery.confirm();
        let first = recovery.probe_timeout(MOST_ACK_DELAY);
        assert_eq!(first, Span(333_000_000 + 4 * 166_500_000) + MOST_ACK_DELAY);
        assert_eq!(recovery.timer(false), Some(ms(10) + first));
        assert!(recovery.on_timeout(ms(1100)).is_none());
        assert_eq!(recovery.timer(false), Some(ms(1100) + first * 2));
        assert!(recovery.on_timeout(ms(3400)).is_none());
        assert_eq!(recovery.timer(false), Some(ms(3400) + first * 4));
        let news = recovery.on_ack(ms(3500), &[(0, 0)], Span::ZERO);
        assert_eq!((news.acknowledged.len(), recovery.bytes()), (1, 1000));
        assert_eq!(recovery.timer(false), Some(ms(3400) + recovery.probe_timeout(MOST_ACK_DELAY)));
        recovery.on_ack(ms(3500), &[(0, 1)], Span::ZERO);
        assert_eq!((recovery.timer(false), recovery.bytes()), (None, 0));
        assert_eq!(recovery.timer(true), Some(ms(3400) + recovery.probe_timeout(MOST_ACK_DELAY)));
    }

    #[test]
    fn the_first_probe_comes_after_three_round_trips_as_they_are_expected() {
        let mut recovery = Recovery::expecting(CHROMIUMS_FIRST_RTT);
        recovery.sent(&Packet::new(0, vec![Frame::Ping], 1000), ms(5));
        assert_eq!(recovery.timer(false), Some(ms(305)));
    }

    #[test]
    fn the_delay_that_a_peer_reports_counts_off_the_round_trip_but_not_below_the_least() {
        let mut recovery = sent(&[0, 100, 200]);
        recovery.on_ack(ms(40), &[(0, 0)], Span::from_millis(20));
        assert_eq!(
            recovery.rtt(),
            (Span::from_millis(40), Span::from_millis(40)),
            "the first sample is taken as it is"
        );
        recovery.on_ack(ms(170), &[(1, 1)], Span::from_millis(20));
        assert_eq!(recovery.rtt().0, Span((7 * 40_000_000 + 50_000_000) / 8));
        let before = recovery.rtt().0;
        recovery.on_ack(ms(250), &[(2, 2)], Span::from_millis(20));
        assert_eq!(recovery.rtt().0, Span((7 * before.0 + 50_000_000) / 8), "50 ms less 20 is below 40");
        // An acknowledgement whose largest was known brings no sample.
        let mut two = sent(&[0, 0]);
        assert!(two.on_ack(ms(30), &[(1, 1)], Span::ZERO).rtt.is_some());
        assert!(two.on_ack(ms(90), &[(0, 1)], Span::ZERO).rtt.is_none());
    }

    #[test]
    fn three_later_ones_or_nine_eighths_of_a_round_trip_make_a_loss() {
        let mut recovery = sent(&[0, 0, 0, 0, 0]);
        let lost = |news: &News| news.lost.iter().map(|packet| packet.number).collect::<Vec<_>>();
        assert_eq!(lost(&recovery.on_ack(ms(80), &[(3, 3)], Span::ZERO)), [0]);
        assert_eq!(recovery.timer(false), Some(ms(90)), "the others after 80 ms × 9/8");
        assert!(lost(&recovery.on_timeout(ms(90)).expect("it was a loss")) == [1, 2]);
        assert_eq!(recovery.bytes(), 1000);
    }
}
