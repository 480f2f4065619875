//! RED and Adaptive RED held to published vectors.

use super::*;
use crate::queue::tests::check::{self, Script, ms, packet};
use crate::{Bytes, Rate, Span};
use proptest::prelude::*;

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1e-3), "{found} is not {expected}");
}

/// Thresholds of 5 and 15 packets of 1000 bytes, weight 0.1, 2 Mbit/s.
fn small() -> Config {
    Config { mean_packet: Bytes(1000), min: Some(5.0), max: Some(15.0), weight: Some(0.1), ..Config::default() }
}

const RATE: Rate = Rate(2_000_000);

fn core(config: &Config) -> Core {
    Core::new(config, RATE)
}

fn red(config: &Config) -> Red<check::Numbered> {
    Red::new(100, u64::MAX, config, RATE)
}

/// Probabilities of the gaps between drops when p_b is constant.
fn gaps(p: f64, wait: bool) -> Vec<f64> {
    let mut left = 1.0;
    let of_gap = |n: u32| {
        let here = uniform(p, f64::from(n), wait);
        let gap = left * here;
        left -= gap;
        gap
    };
    (1..=45).map(of_gap).collect()
}

#[test]
fn gaps_between_drops_are_uniform() {
    for (n, gap) in (1..).zip(gaps(0.05, true)) {
        assert!((gap - if (20..40).contains(&n) { 0.05 } else { 0.0 }).abs() < 1e-9, "wait: gap {n} has {gap}");
    }
    for (n, gap) in (1..).zip(gaps(0.05, false)) {
        assert!((gap - if n < 20 { 1.0 / 19.0 } else { 0.0 }).abs() < 1e-2 * 0.05, "gap {n} has {gap}");
    }
}

#[test]
fn p_a_is_a_probability() {
    for wait in [false, true] {
        for (p, count) in (1..=20).flat_map(|p| (0..60).map(move |count| (f64::from(p) / 20.0, f64::from(count)))) {
            let p_a = uniform(p, count, wait);
            assert!((0.0..=1.0).contains(&p_a), "{p_a} from p_b {p} and count {count}");
        }
    }
    // ns-2's modify_p: 0.9 / (2 - 0.9 · 2) is 4.5, and clipped.
    assert_eq!(uniform(0.9, 2.0, true), 1.0);
    assert_eq!(uniform(0.4, 3.0, true), 0.4 / (2.0 - 0.4 * 3.0));
}

#[test]
fn a_full_queue_starts_the_count_again() {
    let config = Config { min: Some(1.0), max: Some(50.0), max_p: 0.01, weight: Some(0.9), ..small() };
    let mut red: Red<check::Numbered> = Red::new(5, u64::MAX, &config, RATE);
    let mut script = Script::new();
    script.draw = 0.999;
    for n in 0..5 {
        script.at(ms(0), |cx| red.enqueue(packet(n, 1000), cx));
    }
    assert!(red.core.count > 1 && red.core.count_bytes > 1000, "packets have been counted");
    script.at(ms(0), |cx| red.enqueue(packet(5, 1000), cx));
    assert_eq!(script.fates.dropped, [(5, DropCause::Full)]);
    assert_eq!((red.core.count, red.core.count_bytes), (0, 0));
}

#[test]
fn automatic_settings_follow_the_link() {
    #[rustfmt::skip]
    let rows = [
        (500_000, 1000, 10, 62.5, [0.015872680, 0.014705615, 0.147856211], 5.0, 15.0),
        (2_000_000, 1000, 10, 250.0, [0.003992011, 0.003992011, 0.039210561], 5.0, 15.0),
        (2_000_000, 1000, 50, 250.0, [0.003992011, 0.003992011, 0.039210561], 6.25, 18.75),
        (2_000_000, 500, 5, 500.0, [0.001998001, 0.001998001, 0.019801327], 5.0, 15.0),
        (1_500_000, 500, 5, 375.0, [0.002663114, 0.002663114, 0.026314251], 5.0, 15.0),
        (155_000_000, 1000, 5, 19375.0, [0.000051612, 0.000051612, 0.000515996], 48.4375, 145.3125),
    ];
    for (rate, mean_packet, target, ptc, weights, min, max) in rows {
        let rate = Rate(rate);
        let of = |averaging| Config {
            mean_packet: Bytes(mean_packet),
            target: Span::from_millis(target),
            averaging: Some(averaging),
            ..Config::default()
        };
        let all = [Averaging::OneSecond, Averaging::TenRtts, Averaging::TenthOfSecond];
        for (averaging, expected) in all.into_iter().zip(weights) {
            let found = of(averaging).weight(rate);
            assert!((found - expected).abs() < 6e-10, "{averaging:?}: {found}");
        }
        assert_eq!(of(Averaging::TenRtts).packets_per_second(rate), ptc);
        assert_eq!(of(Averaging::TenRtts).thresholds(rate), (min, max));
    }
}

/// Lets one packet arrive when the average is (and stays) the given one.
fn arrive_at_average(core: &mut Core, seconds: f64, average: f64) {
    core.weight = 0.0;
    core.average = average;
    core.idle_since = None;
    let now = Time::ZERO + Span::from_secs_f64(seconds);
    core.decide(now, Backlog { packets: 1, bytes: 1000 }, 1000, |_| false);
}

#[test]
fn max_p_moves_at_arrivals() {
    let mut core = core(&Config { adaptive: true, ..small() });
    let steps = [
        (0.2, 12.0, 0.1),
        (0.5, 12.0, 0.1),
        (0.51, 12.0, 0.11),
        (0.9, 12.0, 0.11),
        (1.02, 12.0, 0.12),
        (1.6, 10.9, 0.12),
        (2.2, 8.9, 0.108),
        (2.8, 8.9, 0.0972),
        (3.4, 11.1, 0.1072),
        (4.0, 4.0, 0.09648),
    ];
    for (seconds, average, max_p) in steps {
        arrive_at_average(&mut core, seconds, average);
        close(core.max_p, max_p);
    }
}

#[test]
fn max_p_rises_above_the_band_and_falls_below_it() {
    let thresholds = Config { min: Some(100.0), max: Some(200.0), ..small() };
    let mut core = core(&Config { adaptive: true, ..thresholds });
    arrive_at_average(&mut core, 0.6, 180.0);
    close(core.max_p, 0.11);
    arrive_at_average(&mut core, 1.2, 120.0);
    close(core.max_p, 0.099);
    arrive_at_average(&mut core, 1.8, 150.0);
    close(core.max_p, 0.099);
}

#[test]
fn the_paper_moves_max_p_by_a_timer() {
    let config = Config { variant: Variant::Paper, adaptive: true, ..small() };
    let mut red = red(&config);
    let mut script = Script::new();
    red.core.average = 14.0;
    assert_eq!(red.wake_at(), Some(ms(500)));
    script.at(ms(500), |cx| red.wake(cx));
    close(red.max_p(), 0.11);
    assert_eq!(red.wake_at(), Some(ms(1000)));
    red.core.average = 4.0;
    script.at(ms(1000), |cx| red.wake(cx));
    close(red.max_p(), 0.099);
    assert_eq!(red.core.gentle_max_p, red.max_p());
}

/// 40 arrivals 2 ms apart, departures at 4.5 ms and every 6 ms from then on, given random numbers.
fn ramp(config: Config) -> (Vec<[f64; 4]>, Vec<u64>) {
    let mut red = red(&config);
    let mut script = Script::new();
    let mut trace = Vec::new();
    for k in 0..40 {
        let now = ms(2 * k);
        while script.departures < 13 && Time(4_500_000 + 6_000_000 * script.departures) < now {
            script.at(Time(4_500_000 + 6_000_000 * script.departures), |cx| red.dequeue(cx));
            script.departures += 1;
        }
        script.draw = [0.07, 0.9, 0.5, 0.02, 0.3][k as usize % 5];
        script.at(now, |cx| red.enqueue(packet(k as usize, 1000), cx));
        trace.push([red.core.average, red.core.p_b, red.core.p_a, red.core.count as f64]);
    }
    assert!(script.fates.dropped.iter().all(|(_, cause)| *cause == DropCause::Early));
    (trace, script.fates.dropped.iter().map(|(number, _)| 2 * *number as u64).collect())
}

#[test]
fn decisions_with_wait() {
    let (trace, dropped) = ramp(small());
    for (k, average) in [0.0, 0.1, 0.29, 0.461, 0.7149, 1.04341].into_iter().enumerate() {
        close(trace[k][0], average);
    }
    assert!(trace[14][0] < 5.0);
    close(trace[15][0], 5.490282);
    assert_eq!(trace[15][3], 1.0);
    assert_eq!(dropped, [56, 70, 78]);
    assert!((trace[34][2] - 0.252196).abs() < 1e-6);
    let expected =
        [(28, 13.286137, 0.082861, 0.098651), (35, 17.310487, 0.238629, 0.724007), (39, 19.384211, 0.363053, 0.662759)];
    for (k, average, p_b, p_a) in expected {
        assert!((trace[k][0] - average).abs() < 1e-6);
        assert!((trace[k][1] - p_b).abs() < 1e-6);
        assert!((trace[k][2] - p_a).abs() < 1e-6, "{} is not {p_a}", trace[k][2]);
    }
    assert_eq!((trace[27][3], trace[34][3], trace[38][3]), (13.0, 6.0, 3.0), "counts before the drops");
}

#[test]
fn decisions_without_wait() {
    let (trace, dropped) = ramp(Config { wait: false, ..small() });
    assert_eq!(dropped, [36, 46, 56, 60, 66, 70, 76]);
    assert!((trace[18][2] - 0.023804).abs() < 1e-6);
    assert!((trace[38][2] - 0.360473).abs() < 1e-6);
}

#[test]
fn the_paper_counts_from_the_first_packet_above_the_threshold() {
    let mut core = core(&Config { min: Some(5.0), max: Some(15.0), weight: Some(0.0), ..Config::paper() });
    let backlog = Backlog { packets: 10, bytes: 10_000 };
    core.idle_since = None;
    core.average = 10.0;
    for n in 0..100u32 {
        let mut p_a = 0.0;
        let verdict = core.decide(Time::ZERO, backlog, 1000, |p| {
            p_a = p;
            false
        });
        close(p_a, 0.01 / (1.0 - f64::from(n) * 0.01));
        assert_eq!(verdict, Verdict::Accept);
    }
    core.average = 15.0;
    assert_eq!(core.decide(Time::ZERO, backlog, 1000, |_| false), Verdict::Forced);
    core.average = 4.9;
    core.decide(Time::ZERO, backlog, 1000, |_| true);
    assert_eq!(core.count, -1);
}

#[test]
fn bytes_weigh_in_byte_mode() {
    let at = |variant, size| {
        let mut core = core(&Config { variant, by_size: true, wait: false, ..small() });
        (core.average, core.count, core.count_bytes) = (10.0, 4, 4500);
        core.test(size);
        (core.p_b, core.p_a)
    };
    assert_eq!(at(Variant::Ns2, 500), (0.05, 0.05 / (1.0 - 4.0 * 0.05) * 0.5));
    assert_eq!(at(Variant::Paper, 500), (0.025, 0.025 / (1.0 - 4.0 * 0.025)));
}

#[test]
fn an_idle_time_counts_as_small_packets() {
    let mut red = red(&small());
    let mut script = Script::new();
    script.at(ms(0), |cx| red.enqueue(packet(0, 1000), cx));
    script.at(ms(0), |cx| red.dequeue(cx));
    red.core.average = 4.0;
    // The link is busy for 4 ms with the packet, asks for another, and is idle for 2.5 packets of 4 ms.
    assert!(red.wants_idle_dequeue() && script.at(ms(4), |cx| red.dequeue(cx)).is_none());
    script.at(ms(14), |cx| red.enqueue(packet(1, 1000), cx));
    close(red.average(), 4.0 * 0.9 * 0.9 * 0.9);
    script.at(ms(15), |cx| red.enqueue(packet(2, 1000), cx));
    close(red.average(), 4.0 * 0.9 * 0.9 * 0.9 * 0.9 + 0.1);
}

#[test]
fn ecn_marks_below_mark_p_and_drops_above() {
    for (average, ecn, fate) in
        [(12.0, Ecn::Ect0, "marked"), (12.0, Ecn::NotEct, "dropped"), (16.0, Ecn::Ect0, "dropped")]
    {
        let mut red = red(&Config { ecn: true, weight: Some(0.0), ..small() });
        let mut script = Script::new();
        (0..2).for_each(|n| script.at(ms(0), |cx| red.enqueue(packet(n, 1000), cx)));
        (red.core.average, red.core.above, red.core.count) = (average, true, 1000);
        script.at(ms(0), |cx| red.enqueue(packet(2, 1000).with_ecn(ecn), cx));
        let fates = &script.fates;
        assert_eq!(
            (fates.marked.contains(&2), fates.dropped.len()),
            (fate == "marked", usize::from(fate == "dropped"))
        );
    }
}

#[test]
fn the_share_of_drops_at_a_constant_queue_is_the_formula() {
    // The levels, thresholds and weight of DPDK's statistical test, with narrower tolerances.
    let mut rng = <rand_pcg::Pcg64Mcg as rand::SeedableRng>::seed_from_u64(7);
    for wait in [false, true] {
        for level in (6..=144).step_by(6) {
            let mut core = core(&Config {
                weight: Some(1.0 / 512.0),
                min: Some(32.0),
                max: Some(128.0),
                gentle: false,
                wait,
                ..small()
            });
            let backlog = Backlog { packets: level, bytes: 0 };
            (0..10_000).for_each(|_| _ = core.decide(Time::ZERO, backlog, 1000, |_| false));
            assert!((core.average / f64::from(level) - 1.0).abs() < 0.05);
            core.restart();
            let mut drops = 0;
            for _ in 0..50_000 {
                let verdict = core.decide(Time::ZERO, backlog, 1000, |p| rng.random::<f64>() <= p);
                drops += u32::from(verdict != Verdict::Accept);
            }
            let share = f64::from(drops) / 50_000.0;
            let p = 0.1 * (f64::from(level) - 32.0) / 96.0;
            let expected = match level {
                ..=32 => 0.0,
                128.. => 1.0,
                _ if wait => 2.0 * p / 3.0,
                _ => 2.0 * p,
            };
            assert!((share - expected).abs() <= 0.15 * expected + 2e-4, "level {level}: {share}, expected {expected}");
        }
    }
}

proptest! {
    #[test]
    fn every_packet_leaves_by_one_door(
        events in check::events(), packets in 0u32..30, bytes in 0u64..40_000, paper: bool, in_bytes: bool,
        by_size: bool, wait: bool, gentle: bool, weight in 0.0f64..1.0, adaptive: bool,
    ) {
        let config = Config {
            variant: if paper { Variant::Paper } else { Variant::Ns2 },
            weight: Some(weight),
            adaptive,
            in_bytes, by_size, wait, gentle,
            ..small()
        };
        check::conserves(&mut Red::new(packets, bytes, &config, RATE), &events)?;
    }
}
