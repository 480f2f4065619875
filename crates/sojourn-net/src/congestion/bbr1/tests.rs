//! BBR on a path of one link, and what it does about losses.

use super::super::tests::{MSS, of_fifty_packets as path};
use super::*;
use crate::congestion::RateSample;

fn bbr(seed: u64) -> Bbr1 {
    Bbr1::new(MSS, 10 * MSS, seed)
}

#[test]
fn it_fills_the_link_with_little_queue() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 2.0);
    assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
    let (share, waited) = path.run(&mut bbr, 7.0);
    assert!(share > 0.98 && waited < Span::from_millis(8), "{share}, {waited}");
    assert!((7_900_000..8_300_000).contains(&bbr.bandwidth.get()), "{}", bbr.bandwidth.get());
    assert!((51_000_000..52_500_000).contains(&bbr.min_rtt.0), "{}", bbr.min_rtt);
}

#[test]
fn the_start_leaves_at_most_two_products_behind_and_drains_them() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 1.0);
    assert!(path.longest < Span::from_millis(110), "{}", path.longest);
    path.run(&mut bbr, 1.0);
    assert!(path.longest < Span::from_millis(30), "{}", path.longest);
}

#[test]
fn the_round_trip_time_is_looked_for_every_ten_seconds() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    let mut changes = vec![];
    let mut looking = false;
    while path.now < Time::ZERO + Span::from_secs(30) {
        path.run(&mut bbr, 0.001);
        if matches!(bbr.mode, Mode::ProbeRtt { .. }) != looking {
            looking = !looking;
            changes.push(path.now.as_secs());
        }
        assert!(!looking || bbr.cwnd <= 4 * MSS);
    }
    let [begin, end, again, ..] = changes[..] else { panic!("{changes:?}") };
    assert!((0.25..0.36).contains(&(end - begin)), "200 ms, and round trips to drain and to return: {changes:?}");
    assert!((10.0..10.1).contains(&(again - end)), "{changes:?}");
}

#[test]
fn random_losses_do_not_slow_it_down() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.lose_each = 100;
    path.run(&mut bbr, 2.0);
    let (share, _) = path.run(&mut bbr, 7.0);
    assert!(share > 0.98, "{share} of a link that loses 1 %");
}

#[test]
fn a_change_of_rate_is_followed() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 3.0);
    path.rate = Rate(16_000_000);
    path.run(&mut bbr, 2.0);
    assert!(path.run(&mut bbr, 3.0).0 > 0.95);
    path.rate = Rate(4_000_000);
    path.run(&mut bbr, 8.0);
    assert!(path.run(&mut bbr, 1.0).1 < Span::from_millis(60));
}

#[test]
fn the_first_phase_is_drawn_and_never_the_slow_one() {
    let mut seen = [0; 8];
    for seed in 0..400 {
        let mut bbr = bbr(seed);
        bbr.probe_bandwidth(Time::ZERO);
        let Mode::ProbeBw { phase, .. } = bbr.mode else { panic!() };
        seen[phase] += 1;
    }
    assert!(seen[1] == 0 && [0, 2, 3, 4, 5, 6, 7].iter().all(|phase| seen[*phase] > 30), "{seen:?}");
}

#[test]
fn a_loss_conserves_packets_for_a_round_and_gives_the_window_back_after_recovery() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 3.0);
    let before = bbr.cwnd;
    bbr.on_congestion(path.now, Congestion::Loss, 60 * MSS);
    let ack = |lost: u64, left: u64| Ack {
        left_in_flight: left * MSS,
        total_delivered: path.delivered,
        total_lost: path.lost + lost * MSS,
        recovering: true,
        ..Ack::of(MSS, Span::from_millis(55))
    };
    bbr.on_ack(path.now, &ack(1, 58));
    assert_eq!((bbr.cwnd, bbr.repair), (59 * MSS, Repair::Conserving));
    bbr.on_ack(path.now, &ack(3, 55));
    assert_eq!(bbr.cwnd, 57 * MSS, "two more were lost, and 56 + 1 remain");
    bbr.on_recovered(path.now);
    assert_eq!(bbr.cwnd, before);
}

#[test]
fn what_is_in_flight_counts_when_pacing_lets_the_next_quantum_leave() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 3.0);
    let now = path.now;
    bbr.bandwidth = MaxFilter::default();
    bbr.bandwidth.update(0, 8 * MSS * 1000); // A segment a millisecond.
    bbr.pace.rate = Rate(8 * MSS * 1000);
    let mut in_network = |phase, wait_us| {
        bbr.mode = Mode::ProbeBw { phase, since: now };
        bbr.in_network(now, 10 * MSS, now + Span(1000u64 * wait_us)) / MSS
    };
    assert_eq!(in_network(2, 0), 10);
    assert_eq!([in_network(2, 999), in_network(2, 2500)], [10, 8], "whole segments arrive meanwhile");
    assert_eq!([in_network(1, 2500), in_network(0, 2500)], [8, 10], "two more leave while probing");
    assert_eq!(in_network(2, 20_000), 0);
}

#[test]
fn aggregation_is_remembered_for_five_to_ten_rounds() {
    let mut extra = MaxFilter::<2>::default();
    let seen: Vec<_> = (0..12u64)
        .map(|round| {
            extra.update(round / AGGREGATION_ROUNDS, if round == 3 { 7 } else { 1 });
            extra.get()
        })
        .collect();
    assert_eq!(seen, [1, 1, 1, 7, 7, 7, 7, 7, 7, 7, 1, 1]);
}

#[test]
fn a_window_is_a_product_rounded_up_room_rounded_down_and_three_quanta_in_an_even_number() {
    // (bandwidth in b/s, the window in segments) where a round trip takes 157 ms: Linux counts packets.
    for (bandwidth, window) in [(257_700, 12), (262_000, 14), (330_000, 14), (100_000_000, 2744)] {
        let mut bbr = Bbr1 { mss: 1448, cwnd: 10_000 * 1448, full_rounds: FULL_ROUNDS, ..bbr(1) };
        bbr.mode = Mode::ProbeBw { phase: 3, since: Time::ZERO };
        bbr.min_rtt = Span::from_millis(157);
        bbr.pace.rate = Rate(bandwidth);
        bbr.bandwidth.update(0, bandwidth);
        bbr.extra.update(0, 8 * 1448);
        bbr.set_window(&Ack::of(1448, Span::from_millis(600)), 0);
        assert_eq!(bbr.cwnd, window * 1448, "{bandwidth}");
    }
}

#[test]
fn acknowledgements_run_ahead_by_whole_segments() {
    let mut bbr = Bbr1 { cwnd: 100 * MSS, ..bbr(1) };
    bbr.bandwidth.update(0, 8 * MSS * 1000); // A segment a millisecond.
    for (ms, extra) in [(10.0, 2), (11.5, 3), (12.0, 4)] {
        bbr.watch_aggregation(Time::ZERO + Span((ms * 1e6) as u64), 2 * MSS);
        assert_eq!(bbr.extra.get(), extra * MSS, "{ms}");
    }
}

#[test]
fn what_leaves_when_the_last_of_what_was_held_back_has_come_tells_nothing_either() {
    let mut bbr = Bbr1 { mode: Mode::ProbeRtt { until: None, round_done: false }, ..bbr(1) };
    let ack = Ack { total_delivered: 100_000, left_in_flight: 4 * MSS, ..Ack::of(MSS, Span::from_millis(55)) };
    bbr.probe_rtt(Time::ZERO, &ack);
    let last = 100_000 + 4 * MSS;
    assert_eq!([last, last + 1].map(|delivered| bbr.held_back.contains(&delivered)), [true, false]);
}

#[test]
fn a_timeout_leaves_one_segment() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 3.0);
    let before = bbr.cwnd;
    bbr.on_congestion(path.now, Congestion::Timeout, 60 * MSS);
    assert_eq!(bbr.window().cwnd, MSS);
    bbr.on_recovered(path.now);
    assert_eq!(bbr.window().cwnd, before);
}

#[test]
fn rounds_that_were_held_back_to_look_for_the_round_trip_time_tell_nothing_of_a_policer() {
    // Rounds of 100 ms that lose a quarter; the round from which a policer's rate is used.
    let used_from = |held_back| {
        let mut bbr = Bbr1 { held_back, ..bbr(1) };
        (1..30u64).find(|round| {
            let (delivered, lost, took) = (100_000, 25_000, Span::from_millis(100));
            let prior_delivered = delivered * (round - 1);
            let sample = RateSample {
                delivered,
                interval: took,
                prior_delivered,
                lost,
                tx_in_flight: 100_000,
                app_limited: false,
            };
            let (total_delivered, total_lost) = (delivered * round, lost * round);
            let ack = Ack { sample: Some(sample), total_delivered, total_lost, ..Ack::of(delivered, took) };
            bbr.update_bandwidth(Time::ZERO + took * *round, &ack, lost);
            bbr.policer.rate().is_some()
        })
    };
    assert_eq!(used_from(0..0), Some(9));
    // Of the fourth round nothing is believed, and the fifth begins anew.
    assert_eq!(used_from(250_000..350_000), Some(13));
}
