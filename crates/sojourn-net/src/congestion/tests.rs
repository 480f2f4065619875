//! For tests: acknowledgements, and one sender with endless data on a path of one FIFO link, every packet acknowledged.

use super::control::{Ack, Congestion, CongestionControl, RateSample};
use crate::{Rate, Span, Time};
use std::collections::VecDeque;

pub(super) const MSS: u64 = 1000;

/// The path and what was seen on it.
pub(super) struct Path {
    pub(super) rate: Rate,
    pub(super) base: Span,
    /// Packets that may wait.
    pub(super) limit: usize,
    /// Every n-th packet is lost; 0 is none.
    pub(super) lose_each: u64,
    /// Packets that have waited longer than this are marked.
    pub(super) mark_above: Span,
    pub(super) now: Time,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// Longest and summed waiting times since they were last reset.
    pub(super) longest: Span,
    waited: Span,
    acks: u64,
    flight: VecDeque<Sent>,
    in_flight: u64,
    free_at: Time,
    next_send: Time,
    sent: u64,
    recovery: Option<u64>,
    /// Last packet sent when a mark was last told.
    reacted: u64,
    min_rtt: Span,
    srtt: Span,
    last_ack: Time,
    first_sent: Time,
}

/// 8 Mbit/s and 50 ms: a bandwidth-delay product of 50 packets.
pub(super) fn of_fifty_packets(limit: usize) -> Path {
    Path::new(Rate(8_000_000), Span::from_millis(50), limit)
}

#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    at: Time,
    /// When it is acknowledged; `NEVER` if it is lost.
    back: Time,
    waited: Span,
    delivered: u64,
    lost: u64,
    last_ack: Time,
    first_sent: Time,
    in_flight: u64,
}

impl Path {
    pub(super) fn new(rate: Rate, base: Span, limit: usize) -> Self {
        let (never, zero) = (Span(u64::MAX), Time::ZERO);
        Self {
            rate,
            base,
            limit,
            lose_each: 0,
            mark_above: never,
            now: zero,
            delivered: 0,
            lost: 0,
            longest: Span::ZERO,
            waited: Span::ZERO,
            acks: 0,
            flight: VecDeque::new(),
            in_flight: 0,
            free_at: zero,
            next_send: zero,
            sent: 0,
            recovery: None,
            reacted: 0,
            min_rtt: never,
            srtt: Span::ZERO,
            last_ack: zero,
            first_sent: zero,
        }
    }

    /// Runs for so long; returns the share of the link that was used, and the mean waiting time.
    pub(super) fn run(&mut self, control: &mut dyn CongestionControl, seconds: f64) -> (f64, Span) {
        let (end, before) = (self.now + Span::from_secs_f64(seconds), self.delivered);
        (self.longest, self.waited, self.acks) = (Span::ZERO, Span::ZERO, 0);
        while self.now < end {
            let ack_at = self.flight.iter().map(|sent| sent.back).find(|back| *back != Time::NEVER);
            let window = control.window();
            let send_at = if self.in_flight + MSS <= window.cwnd { self.next_send.max(self.now) } else { Time::NEVER };
            let ack_at = ack_at.unwrap_or(Time::NEVER);
            self.now = send_at.min(ack_at);
            if self.now == Time::NEVER {
                // Nothing will come back: the timer.
                self.now = self.last_ack + Span::from_secs(1);
                control.on_congestion(self.now, Congestion::Timeout, self.in_flight);
                self.lost += self.in_flight;
                self.in_flight = 0;
                self.flight.clear();
                self.recovery = Some(self.sent);
            } else if send_at <= ack_at {
                self.next_send = self.now + window.pacing.map_or(Span::ZERO, |rate| rate.transmission(MSS));
                self.send();
            } else {
                self.hear(control);
            }
        }
        let capacity = self.rate.bytes_in(Span::from_secs_f64(seconds)) as f64;
        ((self.delivered - before) as f64 / capacity, Span(self.waited.0 / self.acks.max(1)))
    }

    fn send(&mut self) {
        if self.in_flight == 0 {
            (self.first_sent, self.last_ack) = (self.now, self.now);
        }
        self.sent += 1;
        self.in_flight += MSS;
        let start = self.free_at.max(self.now);
        let waited = start.since(self.now);
        let full = waited > self.rate.transmission(MSS) * self.limit as u64;
        let lost = full || (self.lose_each > 0 && self.sent.is_multiple_of(self.lose_each));
        if !full {
            self.free_at = start + self.rate.transmission(MSS);
        }
        self.flight.push_back(Sent {
            number: self.sent,
            at: self.now,
            back: if lost { Time::NEVER } else { self.free_at + self.base },
            waited,
            delivered: self.delivered,
            lost: self.lost,
            last_ack: self.last_ack,
            first_sent: self.first_sent,
            in_flight: self.in_flight,
        });
    }

    fn hear(&mut self, control: &mut dyn CongestionControl) {
        let in_flight = self.in_flight;
        let at = self.flight.iter().position(|sent| sent.back != Time::NEVER).expect("an acknowledgement is due");
        let sent = self.flight.remove(at).expect("it is there");
        self.delivered += MSS;
        self.in_flight -= MSS;
        // Three that were sent later have arrived: what was sent before them is lost.
        let lost = self.flight.iter().take_while(|s| s.number + 3 <= sent.number).count();
        self.flight.drain(..lost);
        self.lost += lost as u64 * MSS;
        self.in_flight -= lost as u64 * MSS;
        let rtt = self.now.since(sent.at);
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt == Span::ZERO { rtt } else { Span((7 * self.srtt.0 + rtt.0) / 8) };
        self.longest = self.longest.max(sent.waited);
        self.waited = self.waited + sent.waited;
        self.acks += 1;
        if self.recovery.is_some_and(|point| sent.number > point) {
            self.recovery = None;
            control.on_recovered(self.now);
        }
        if lost > 0 && self.recovery.is_none() {
            self.recovery = Some(self.sent);
            control.on_congestion(self.now, Congestion::Loss, in_flight);
        }
        let marked = sent.waited > self.mark_above;
        if marked && sent.number > self.reacted {
            self.reacted = self.sent;
            control.on_congestion(self.now, Congestion::Mark, in_flight);
        }
        let interval = sent.at.since(sent.first_sent).max(self.now.since(sent.last_ack));
        self.first_sent = sent.at;
        self.last_ack = self.now;
        let ack = Ack {
            in_flight,
            una: sent.number * MSS,
            next: self.sent * MSS,
            one_way: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            recovering: self.recovery.is_some(),
            left_in_flight: self.in_flight,
            total_delivered: self.delivered,
            total_lost: self.lost,
            ce_bytes: if marked { MSS } else { 0 },
            sample: Some(RateSample {
                delivered: self.delivered - sent.delivered,
                interval,
                prior_delivered: sent.delivered,
                lost: self.lost - sent.lost,
                tx_in_flight: sent.in_flight,
                app_limited: false,
            }),
            ..Ack::of(MSS, rtt)
        };
        control.on_ack(self.now, &ack);
    }
}

impl Ack {
    /// An acknowledgement of `delivered` bytes after a round trip as short as any, in a window that was filled.
    pub(super) fn of(delivered: u64, rtt: Span) -> Self {
        Self {
            delivered,
            in_flight: u64::MAX,
            una: 0,
            next: 0,
            rtt: Some(rtt),
            one_way: None,
            srtt: rtt,
            min_rtt: rtt,
            app_limited: false,
            recovering: false,
            left_in_flight: u64::MAX,
            next_send: Time::ZERO,
            total_delivered: 0,
            total_lost: 0,
            ce_bytes: 0,
            sample: None,
        }
    }
}
