//! BBR version 3 on a path of one link.

use super::super::tests::{MSS, of_fifty_packets as path};
use super::*;

fn bbr(seed: u64) -> Bbr3 {
    Bbr3::new(MSS, 10 * MSS, seed)
}

#[test]
fn it_fills_the_link_with_little_queue() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 2.0);
    assert!(bbr.mode.probes_bandwidth(), "{:?}", bbr.mode);
    let (share, waited) = path.run(&mut bbr, 18.0);
    assert!(share > 0.95 && waited < Span::from_millis(10), "{share}, {waited}");
    assert!((7_900_000..8_300_000).contains(&bbr.max_bw.get()), "{}", bbr.max_bw.get());
}

#[test]
fn a_cycle_goes_down_cruises_refills_and_goes_up() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.run(&mut bbr, 2.0);
    let mut modes = vec![bbr.mode];
    let mut ups = vec![];
    while path.now < Time::ZERO + Span::from_secs(20) {
        path.run(&mut bbr, 0.001);
        if modes.last() != Some(&bbr.mode) && !matches!(bbr.mode, Mode::ProbeRtt { .. }) {
            modes.push(bbr.mode);
            if bbr.mode == Mode::Up {
                ups.push(path.now.as_secs());
            }
        }
    }
    let follows = |a: Mode, b: Mode| modes.windows(2).filter(|pair| pair[0] == a).all(|pair| pair[1] == b);
    assert!(follows(Mode::Refill, Mode::Up) && follows(Mode::Up, Mode::Down), "{modes:?}");
    assert!((4..=9).contains(&ups.len()), "2 to 3 s after the last or after a look at the round-trip time: {ups:?}");
}

#[test]
fn the_round_trip_time_is_looked_for_every_five_seconds_at_half_a_product() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    let mut begun = vec![];
    let mut looking = false;
    while path.now < Time::ZERO + Span::from_secs(20) {
        path.run(&mut bbr, 0.001);
        let looks = matches!(bbr.mode, Mode::ProbeRtt { .. });
        if looks && !looking {
            begun.push(path.now.as_secs());
        }
        looking = looks;
        assert!(!looking || bbr.cwnd <= 26 * MSS, "{}", bbr.cwnd);
    }
    assert_eq!(begun.len(), 3, "{begun:?}");
    assert!((5.0..5.6).contains(&(begun[2] - begun[1])), "{begun:?}");
}

#[test]
fn a_shallow_buffer_bounds_the_flight() {
    let (mut bbr, mut path) = (bbr(1), path(15));
    path.run(&mut bbr, 5.0);
    let before = (path.delivered, path.lost);
    let (share, _) = path.run(&mut bbr, 20.0);
    let loss = (path.lost - before.1) as f64 / (path.delivered - before.0) as f64;
    assert!(share > 0.9 && loss < 0.02, "{share}, {loss}");
    assert!((50 * MSS..75 * MSS).contains(&bbr.bounds.inflight_hi), "{}", bbr.bounds.inflight_hi);
}

#[test]
fn losses_of_one_percent_do_not_slow_it_down() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.lose_each = 100;
    path.run(&mut bbr, 2.0);
    let (share, _) = path.run(&mut bbr, 18.0);
    assert!(share > 0.7, "{share}");
}

#[test]
fn startup_ends_after_many_losses() {
    let (mut bbr, mut path) = (bbr(1), path(20));
    path.run(&mut bbr, 1.5);
    assert!(bbr.full.reached);
    assert!(bbr.bounds.inflight_hi < 150 * MSS, "{}", bbr.bounds.inflight_hi);
}

#[test]
fn marks_bound_the_flight_too() {
    let (mut bbr, mut path) = (bbr(1), path(1000));
    path.mark_above = Span::from_millis(1);
    path.run(&mut bbr, 5.0);
    let (share, waited) = path.run(&mut bbr, 20.0);
    assert!(share > 0.85 && waited < Span::from_millis(3), "{share}, {waited}");
}

#[test]
fn a_change_of_rate_is_followed() {
    let (mut bbr, mut path) = (bbr(1), path(100));
    path.run(&mut bbr, 3.0);
    path.rate = Rate(16_000_000);
    path.run(&mut bbr, 10.0);
    assert!(path.run(&mut bbr, 5.0).0 > 0.9);
    path.rate = Rate(4_000_000);
    path.run(&mut bbr, 20.0);
    assert!(path.run(&mut bbr, 5.0).1 < Span::from_millis(15));
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
