//! Two endpoints and a wire: segments in order, with chosen ones lost.

use super::*;
use crate::congestion::{CongestionControl, Counting, Reno, Window};
use crate::{Ecn, Span, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

mod feedback;
mod rack_tlp;

const MSS: u32 = 1000;

/// A network in one struct: a fixed delay each way and a set of data transmissions that get lost.
struct Pair {
    now: Time,
    ends: [Endpoint; 2],
    wires: [VecDeque<(Time, Segment, Sack)>; 2],
    delay: Span,
    /// Numbers of the data-bearing transmissions of end 0 that are lost, first is 0.
    lose: Vec<u64>,
    /// Those that are marked, if they are ECN-capable.
    mark: Vec<u64>,
    sent: u64,
    log: Vec<(Time, u64, bool)>,
}

impl Pair {
    fn new(config: &Config, lose: &[u64]) -> Self {
        let reno = || Reno::new(u64::from(config.mss), config.initial_window(), Counting::Bytes);
        Self::with(config, lose, [Box::new(reno()), Box::new(reno())])
    }

    fn with(config: &Config, lose: &[u64], [first, second]: [Box<dyn CongestionControl>; 2]) -> Self {
        let end = |role, control| Endpoint::new(role, config, control);
        Self {
            now: Time::ZERO,
            ends: [end(Role::Active, first), end(Role::Passive, second)],
            wires: [VecDeque::new(), VecDeque::new()],
            delay: Span::from_millis(50),
            lose: lose.to_vec(),
            mark: Vec::new(),
            sent: 0,
            log: Vec::new(),
        }
    }

    fn transmit(&mut self) {
        for side in 0..2 {
            while let Some(mut segment) = self.ends[side].poll(self.now) {
                if side == 0 && segment.payload() > 0 {
                    self.log.push((self.now, segment.seq, segment.retransmission));
                    self.sent += 1;
                    if self.lose.contains(&(self.sent - 1)) {
                        continue;
                    }
                    if self.mark.contains(&(self.sent - 1)) && segment.ecn != Ecn::NotEct {
                        segment.ecn = Ecn::Ce;
                    }
                }
                let sack = self.ends[side].sack();
                self.wires[side].push_back((self.now + self.delay, segment, sack));
            }
        }
    }

    fn next_event(&self) -> Time {
        let wires = self.wires.iter().filter_map(|w| w.front().map(|f| f.0));
        let timers = self.ends.iter().map(|e| e.next_timer().min(e.ack_at()).min(e.send_at()));
        wires.chain(timers).min().unwrap_or(Time::NEVER)
    }

    /// Runs until nothing more happens, or `until`.
    fn run(&mut self, until: Time) {
        loop {
            self.transmit();
            let next = self.next_event();
            if next > until || next == Time::NEVER {
                return;
            }
            self.now = next;
            for side in 0..2 {
                while self.wires[side].front().is_some_and(|f| f.0 <= next) {
                    if let Some((_, segment, sack)) = self.wires[side].pop_front() {
                        self.ends[1 - side].on_segment(next, &segment, &sack);
                        self.transmit();
                    }
                }
                self.ends[side].on_timeout(next);
            }
        }
    }
}

fn config() -> Config {
    Config { mss: MSS, ack_delay: Span::ZERO, ..Config::default() }
}

fn transfer(config: &Config, bytes: u64, lose: &[u64]) -> Pair {
    let mut pair = Pair::new(config, lose);
    pair.ends[0].write(bytes);
    pair.ends[0].close();
    pair.ends[1].close();
    pair.run(Time(600_000_000_000));
    pair
}

#[test]
fn a_connection_opens_carries_its_bytes_and_closes() {
    let pair = transfer(&config(), 25_500, &[]);
    assert_eq!(pair.ends[1].receiver().delivered(), 25_500);
    assert!(pair.ends.iter().all(Endpoint::is_closed));
    assert_eq!(pair.sent, 26);
}

#[test]
fn slow_start_sends_twice_as_much_each_round() {
    let pair = transfer(&Config { initial_segments: 2, ..config() }, 30_000, &[]);
    let rounds: Vec<usize> =
        (0..4).map(|k| pair.log.iter().filter(|l| l.0 == Time(100_000_000 * (k + 1))).count()).collect();
    assert_eq!(rounds, [2, 4, 8, 16]);
}

#[test]
fn one_lost_segment_is_sent_again_after_three_duplicates_and_halves_the_window() {
    for sack in [true, false] {
        let pair = transfer(&Config { sack, ..config() }, 40_000, &[0]);
        let statistics = pair.ends[0].sender().statistics();
        assert_eq!((statistics.retransmits, statistics.timeouts, statistics.recoveries), (1, 0, 1), "sack {sack}");
        // Sent at 100 ms, its retransmission when the third duplicate is there, 100 ms later.
        let again: Vec<_> = pair.log.iter().filter(|l| l.2).map(|l| (l.0, l.1)).collect();
        assert_eq!(again, [(Time(200_000_000), 1)]);
        assert_eq!(pair.ends[0].sender().window().ssthresh, 5000);
    }
}

#[test]
fn data_that_acknowledges_nothing_new_is_no_duplicate() {
    // Ten segments each way at once: none of those that come tells of any of those that left (RFC 5681 §2).
    for sack in [true, false] {
        let mut pair = Pair::new(&Config { sack, ..config() }, &[]);
        for end in &mut pair.ends {
            end.write(1000);
        }
        pair.run(Time(1_000_000_000));
        pair.now = Time(1_000_000_000);
        for end in &mut pair.ends {
            end.write(10_000);
        }
        pair.run(Time(600_000_000_000));
        for (end, other) in [(0, 1), (1, 0)] {
            let statistics = pair.ends[end].sender().statistics();
            assert_eq!((statistics.retransmits, statistics.recoveries), (0, 0), "sack {sack}");
            assert_eq!(pair.ends[other].receiver().delivered(), 11_000);
        }
    }
}

#[test]
fn limited_transmit_releases_one_new_segment_for_each_of_the_first_two_duplicates() {
    // Ten out, the first lost, and nine duplicates: two new segments before recovery, then the retransmission.
    for (limited_transmit, before) in [(true, 2), (false, 0)] {
        let mut pair = Pair::new(&Config { limited_transmit, ..config() }, &[0]);
        pair.ends[0].write(100_000);
        pair.run(Time(199_999_999));
        let duplicates = std::mem::take(&mut pair.wires[1]);
        assert_eq!(duplicates.len(), 9);
        pair.now = Time(200_000_000);
        for (_, segment, sack) in duplicates.iter().take(2) {
            pair.ends[0].on_segment(pair.now, segment, sack);
            pair.transmit();
        }
        let new = pair.log.iter().filter(|l| l.0 == pair.now).count();
        assert_eq!(new, before, "limited transmit {limited_transmit}");
        pair.ends[0].on_segment(pair.now, &duplicates[2].1, &duplicates[2].2);
        pair.transmit();
        assert_eq!(pair.log.iter().filter(|l| l.2).count(), 1);
    }
}

#[test]
fn without_proportional_reduction_nothing_new_leaves_until_the_pipe_has_drained_to_the_halved_window() {
    for (prr, at_half) in [(true, 3), (false, 0)] {
        let config = Config { prr, limited_transmit: false, initial_segments: 20, ..config() };
        let mut pair = Pair::new(&config, &[0]);
        pair.ends[0].write(100_000);
        pair.run(Time(199_999_999));
        let duplicates = std::mem::take(&mut pair.wires[1]);
        pair.now = Time(200_000_000);
        let mut new = Vec::new();
        for (_, segment, sack) in &duplicates {
            pair.ends[0].on_segment(pair.now, segment, sack);
            pair.transmit();
            new.push(pair.log.iter().filter(|l| l.0 == pair.now && !l.2).count());
        }
        assert_eq!((new.len(), new[9], new[18]), (19, at_half, 9), "prr {prr}: {new:?}");
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let pair = transfer(&config(), 10_000, &[0, 10]);
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!(statistics.timeouts, 1);
    assert!(statistics.waited >= Span::from_millis(100), "{:?}", statistics.waited);
    assert_eq!(pair.ends[1].receiver().delivered(), 10_000);
}

#[test]
fn a_timer_that_expires_in_a_recovery_ends_its_rate() {
    let lose =
        [0..=3, 5..=22, 27..=28, 30..=30, 38..=41, 45..=46, 68..=68, 80..=80, 86..=86, 104..=104, 111..=111, 115..=115];
    let lose: Vec<u64> = lose.into_iter().flatten().chain([121, 123, 125, 129, 132, 133, 136, 140]).collect();
    let mut pair = Pair::new(&Config { timestamps: false, partial_acks: false, ..config() }, &lose);
    pair.ends[0].write(96_001);
    pair.ends[0].close();
    pair.run(Time(100_000_000_000_000));
    assert_eq!(pair.ends[1].receiver().delivered(), 96_001);
}

#[test]
fn newreno_repairs_one_hole_a_round_trip_reno_waits_for_the_timer() {
    let lose = [0, 2, 4];
    let newreno = transfer(&Config { sack: false, ..config() }, 60_000, &lose);
    let times: Vec<_> = newreno.log.iter().filter(|l| l.2).map(|l| l.0.0 / 1_000_000).collect();
    assert_eq!(times, [200, 300, 400]);
    assert_eq!(newreno.ends[0].sender().statistics().timeouts, 0);
    let reno = transfer(&Config { sack: false, partial_acks: false, ..config() }, 60_000, &lose);
    assert!(reno.ends[0].sender().statistics().timeouts + reno.ends[0].sender().statistics().recoveries > 1);
}

#[test]
fn sack_repairs_several_holes_in_one_round_trip() {
    let pair = transfer(&config(), 60_000, &[0, 2, 4]);
    let times: Vec<_> = pair.log.iter().filter(|l| l.2).map(|l| l.0.0 / 1_000_000).collect();
    assert!(times.iter().all(|t| *t == 200), "{times:?}");
}

#[test]
fn an_idle_sender_starts_again_from_the_initial_window() {
    for idle_restart in [true, false] {
        let mut pair = Pair::new(&Config { idle_restart, ..config() }, &[]);
        pair.ends[0].write(100_000);
        pair.run(Time(20_000_000_000));
        let grown = pair.ends[0].sender().window().cwnd;
        assert!(grown > 30_000);
        pair.now = Time(30_000_000_000);
        pair.ends[0].write(200_000);
        pair.transmit();
        let burst = pair.log.iter().filter(|l| l.0 == pair.now).count();
        assert_eq!(burst as u64, if idle_restart { 10 } else { grown / 1000 });
    }
}

#[test]
fn the_receive_window_bounds_what_is_outstanding() {
    let mut pair = Pair::new(&Config { receive_window: 7000, ..config() }, &[]);
    pair.ends[0].write(u64::MAX);
    for ms in 0..2000 {
        pair.run(Time(ms * 1_000_000));
        let sender = pair.ends[0].sender();
        assert!(sender.next() - sender.acknowledged() <= 7000);
    }
    assert_eq!(pair.ends[0].sender().in_flight(), 7000);
}

#[test]
fn an_application_that_sends_little_does_not_grow_the_window() {
    let mut pair = Pair::new(&config(), &[]);
    for round in 0..50 {
        pair.now = Time(round * 250_000_000);
        pair.ends[0].write(5000);
        pair.run(Time(round * 250_000_000 + 249_999_999));
    }
    assert_eq!(pair.ends[0].sender().window(), Window { cwnd: 10_000, ssthresh: u64::MAX, pacing: None });
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second() {
    let mut pair = Pair::new(&config(), &[]);
    pair.ends[0].write(1000);
    pair.transmit();
    pair.wires[0].clear();
    pair.run(Time(10_000_000_000));
    assert_eq!(pair.log[0].0, Time(1_100_000_000));
    assert_eq!(pair.ends[1].receiver().delivered(), 1000);
    assert_eq!(pair.ends[0].sender().window().cwnd, 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_is_lost_every_byte_arrives_and_the_accounts_balance(
        bytes in 1u64..120_000,
        lose in prop::collection::vec(0u64..160, 0..60),
        sack: bool, limited_transmit: bool, timestamps: bool, partial_acks: bool, delayed: bool, by_time: bool,
    ) {
        let ack_delay = Span::from_millis(if delayed { 40 } else { 0 });
        let recovery = if by_time && sack { Recovery::RackTlp } else { Recovery::Rfc6675 };
        let config = Config { recovery, sack, limited_transmit, timestamps, partial_acks, ack_delay, ..config() };
        let mut pair = Pair::new(&config, &lose);
        pair.ends[0].write(bytes);
        pair.ends[0].close();
        pair.ends[1].close();
        pair.run(Time(100_000_000_000_000));
        prop_assert_eq!(pair.ends[1].receiver().delivered(), bytes);
        prop_assert!(pair.ends.iter().all(Endpoint::is_closed));
        prop_assert_eq!(pair.ends[0].sender().in_flight(), 0);
    }

    #[test]
    fn no_segment_from_a_stranger_makes_an_endpoint_panic(
        segments in prop::collection::vec(
            (0u64..50_000, 0u32..3000, any::<bool>(), any::<bool>(), prop::option::of(0u64..60_000),
             prop::collection::vec((0u64..60_000, 0u64..60_000), 0..4)), 0..60),
        by_time: bool,
    ) {
        let recovery = if by_time { Recovery::RackTlp } else { Recovery::Rfc6675 };
        let mut pair = Pair::new(&Config { recovery, ecn: EcnMode::Classic, ..config() }, &[]);
        pair.ends[0].write(30_000);
        pair.run(Time(150_000_000));
        for (i, (seq, len, syn, fin, ack, blocks)) in segments.into_iter().enumerate() {
            let now = Time(200_000_000 + i as u64 * 1_000_000);
            let mut sack = Sack::default();
            for (start, end) in blocks {
                sack.push(Block { start, end });
            }
            let len = len + u32::from(syn) + u32::from(fin);
            let segment = Segment { seq, len, syn, fin, ack, retransmission: false, push: fin, stamp: now, echo: Time::NEVER, ecn: Ecn::Ce, feedback: i as u8 & 7 };
            for end in &mut pair.ends {
                end.on_segment(now, &segment, &sack);
                while end.poll(now).is_some() {}
                end.on_timeout(now);
            }
        }
    }
}

#[test]
fn a_second_timeout_in_a_row_reduces_nothing_more() {
    // All ten are lost, and so is the first retransmission. The timer: 300 ms, and then twice that.
    let mut pair = Pair::new(&config(), &(0..=10).collect::<Vec<_>>());
    pair.ends[0].write(10_000);
    let mut seen = Vec::new();
    for until in [399, 401, 999, 1001] {
        pair.run(Time(until * 1_000_000));
        let sender = pair.ends[0].sender();
        seen.push((sender.statistics().timeouts, sender.window().ssthresh));
    }
    assert_eq!(seen, [(0, u64::MAX), (1, 5000), (1, 5000), (2, 5000)]);
}

#[test]
fn a_least_variance_of_zero_lets_the_timer_expire_before_the_repair() {
    // On a steady round trip of 100 ms, RTO is 300 ms by default, and a little more than the round trip by the RFC.
    let rto = |min_rttvar| {
        let mut pair = Pair::new(&Config { min_rttvar, min_rto: Span::from_millis(1), ..config() }, &[]);
        pair.ends[0].write(1_000_000);
        pair.run(Time(20_000_000_000));
        pair.ends[0].write(1000);
        pair.now = Time(20_000_000_000);
        pair.transmit();
        pair.ends[0].next_timer().since(pair.now)
    };
    assert_eq!(rto(Span::from_millis(200)), Span::from_millis(300));
    assert!(rto(Span::ZERO) < Span::from_millis(101));
}

#[test]
fn a_copy_that_arrives_ends_the_back_off_but_not_by_karns_rule() {
    // On a steady round trip of 100 ms the timer waits for 300 ms, and for 600 while it is backed off.
    for (karn_backoff, timestamps, after_copy) in [(false, true, 300), (true, true, 600), (false, false, 600)] {
        let mut pair = Pair::new(&Config { karn_backoff, timestamps, ..config() }, &[12]);
        let mut waits = Vec::new();
        for bytes in [12_000, 1000, 1000, 1000] {
            pair.ends[0].write(bytes);
            pair.run(Time::NEVER);
            waits.push(pair.ends[0].sender().srtt_and_rto().1);
        }
        let waits: Vec<_> = waits.iter().map(|wait| wait.0.div_ceil(1_000_000)).collect();
        assert_eq!(waits[1..], [after_copy, 300, 300], "{karn_backoff} {timestamps} {waits:?}");
        assert_eq!(pair.ends[0].sender().statistics().timeouts, 1);
    }
}

#[test]
fn idle_is_what_lasts_longer_than_the_retransmission_timeout() {
    // On a steady round trip of 100 ms that is 300 ms.
    for (idle_ms, restarts) in [(299, false), (301, true)] {
        let mut pair = Pair::new(&config(), &[]);
        pair.ends[0].write(100_000);
        pair.run(Time(20_000_000_000));
        let grown = pair.ends[0].sender().window().cwnd;
        pair.now = pair.log.last().expect("it has sent").0 + Span::from_millis(idle_ms);
        pair.ends[0].write(200_000);
        pair.transmit();
        let burst = pair.log.iter().filter(|l| l.0 == pair.now).count() as u64;
        assert_eq!(burst, if restarts { 10 } else { grown / 1000 }, "{idle_ms} ms");
    }
}
