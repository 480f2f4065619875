//! PIE held to published vectors.

use super::*;
use crate::Bytes;
use crate::queue::tests::check::{self, Fixed, Script, ms, packet};
use proptest::prelude::*;

fn queue(config: &Config) -> Pie<check::Numbered> {
    Pie::new(1000, u64::MAX, config)
}

/// Delays in ms at the updates of the vectors that start at rest.
const RISE_AND_FALL: [f64; 9] = [0.0, 5.0, 20.0, 40.0, 60.0, 60.0, 50.0, 30.0, 15.0];

fn steps(mut p: f64, delays: &[f64], step: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
    let mut last = 0.0;
    let one = |delay: &f64| {
        let delay = delay * 1e-3;
        p = step(p, delay, std::mem::replace(&mut last, delay));
        p
    };
    delays.iter().map(one).collect()
}

fn same(found: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= relative * expected.abs(), "{found:?} is not {expected:?}");
    }
}

#[test]
fn rfc8033_steps() {
    let pie = Config::default();
    let step = |p, delay, last| pie.rfc8033_step(p, delay, last);
    #[rustfmt::skip]
    same(&steps(0.0, &RISE_AND_FALL, step), &[
        0.0, 2.44140625e-6, 4.0283203125e-5, 2.60009765625e-4, 1.217041015625e-3, 1.920166015625e-3,
        9.04541015625e-4, 1.8188476562e-4, 0.0,
    ], 1e-9);
    same(&steps(0.0, &[15.0, 10.0, 5.0, 0.0, 0.0], step)[1..], &[0.0; 4], 0.0);
    let high = [20.0, 60.0, 60.0, 20.0, 0.0, 0.0];
    same(&steps(0.15, &high, step), &[0.17, 0.19, 0.195625, 0.14625, 0.119375, 0.11515], 1e-9);
    same(&[step(0.0, 100.0, 50.0)], &[0.036620178], 1e-8);
}

#[test]
fn ns2_steps() {
    let pie = Config::of(Variant::Ns2Authors);
    let step = |p, delay, last| pie.ns2_step(p, delay, last);
    #[rustfmt::skip]
    same(&steps(0.0, &RISE_AND_FALL, step), &[
        0.0, 1.3671875e-4, 7.2265625e-4, 1.58203125e-3, 5.33203125e-3, 5.95703125e-3, 4.86328125e-3, 1.89453125e-3,
        0.0,
    ], 1e-9);
    let high = [20.0, 60.0, 60.0, 20.0, 0.0, 0.0];
    same(&steps(0.15, &high, step), &[0.17, 0.19, 0.20, 0.10, 0.045, 0.042875], 1e-9);
    assert!(step(0.999, 0.3, 0.3) > 1.0, "nothing bounds it");
}

#[test]
fn linux_steps() {
    let pie = Config::of(Variant::Linux);
    let (mut p, mut last) = (0, 0);
    let mut found = Vec::new();
    for delay in RISE_AND_FALL {
        let delay = ticks(Span::from_secs_f64(delay * 1e-3));
        p = pie.linux_step(p, delay, last, delay == 0);
        last = delay;
        found.push(p as f64 / PIE_LINUX_ONE as f64);
    }
    #[rustfmt::skip]
    same(&found, &[
        0.0, 2.4414075e-6, 4.02832032e-5, 2.600097611e-4, 1.2170410057e-3, 1.9201660054e-3, 9.045410059e-4,
        1.818847547e-4, 0.0,
    ], 2e-8);
    let half = PIE_LINUX_ONE / 2;
    let kept = pie.linux_step(half, 0, 0, false);
    assert_eq!(pie.linux_step(half, 0, 0, true), kept - kept / 64, "decays only when nothing waits");
    let gap = pie.linux_step(half, ticks(Span::from_millis(251)), ticks(Span::from_millis(251)), false) - half;
    assert!(gap > PIE_LINUX_ONE / 50, "2 % more above 250 ms");
}

#[test]
fn the_burst_allowance_is_spent_by_the_timer() {
    let config = Config::default();
    let mut control = Control::new(&config);
    for n in 1..=10 {
        control.update(&config, Span::from_millis(100), 50_000);
        assert_eq!(control.allowance, Span::from_millis(150 - 15 * n));
    }
    control.p = 0.0;
    control.update(&config, Span::ZERO, 0);
    control.update(&config, Span::ZERO, 0);
    assert_eq!((control.p, control.allowance), (0.0, config.burst), "calm: a new burst gets in");
}

#[test]
fn linux_spends_the_burst_allowance_between_dequeues() {
    let config = Config::of(Variant::Linux);
    let mut control = Control::new(&config);
    control.departed(&config, ms(10), 1000, Span::from_millis(9), 5000);
    control.update(&config, Span::ZERO, 5000);
    assert_eq!(control.allowance, config.burst);
    control.departed(&config, ms(50), 1000, Span::from_millis(9), 5000);
    assert_eq!((control.allowance, control.delay), (Span::from_millis(110), Span::from_millis(9)));
    control.departed(&config, ms(250), 1000, Span::from_millis(9), 0);
    assert_eq!((control.allowance, control.delay), (Span::ZERO, Span::ZERO));
}

#[test]
fn the_authors_arm_the_allowance_at_the_first_packet_after_a_calm() {
    let config = Config::of(Variant::Ns2Authors);
    let mut control = Control::new(&config);
    assert!(!control.should_drop(&config, 5000, 1000, &mut Fixed(0.0)));
    assert_eq!((control.burst, control.allowance), (Burst::Protecting, config.burst));
    (0..4).for_each(|_| control.update(&config, Span::ZERO, 0));
    assert_eq!((control.burst, control.allowance), (Burst::Calm(0), Span::ZERO));
    (0..50).for_each(|_| control.update(&config, Span::ZERO, 0));
    assert_eq!(control.burst, Burst::Calm(50));
    control.update(&config, Span::ZERO, 0);
    assert_eq!(control.burst, Burst::None);
}

/// Early drops of ten packets that arrive 10 ms after the update at which a queue with p = 1 and a long delay had this
/// allowance left.
fn drops_with_allowance(variant: Variant, allowance: Span) -> usize {
    let config = Config { derandomise: false, ..Config::of(variant) };
    let (mut pie, mut script) = (queue(&config), Script::new());
    (0..10).for_each(|n| script.at(ms(0), |cx| pie.enqueue(packet(n, 1000), cx)));
    (pie.control.p, pie.control.fixed, pie.control.delay) = (1.0, PIE_LINUX_ONE, Span::from_millis(400));
    (pie.control.allowance, pie.control.burst) = (allowance, Burst::Protecting);
    (10..20).for_each(|n| script.at(ms(10), |cx| pie.enqueue(packet(n, 1000), cx)));
    script.fates.dropped.len()
}

/// RFC 8033 section 4.4: nothing is dropped while the burst allowance lasts, whatever p is.
#[test]
fn nothing_is_dropped_while_the_burst_allowance_lasts() {
    for variant in [Variant::Rfc8033, Variant::Linux, Variant::Ns2Authors] {
        assert_eq!(drops_with_allowance(variant, Span(1)), 0, "{variant:?}");
        assert_eq!(drops_with_allowance(variant, Span::ZERO), 10, "{variant:?}");
    }
}

/// RFC 8033 section 4.4: the allowance is `MAX_BURST` again after an update with p = 0 and both delays below half the
/// target, and not otherwise.
#[test]
fn a_calm_gives_the_whole_burst_allowance_back() {
    let config = Config::default();
    let after = |p: f64, last: u64, head: u64| {
        let mut control = Control::new(&config);
        (control.p, control.last_delay, control.allowance) = (p, Span(last * 1000), Span::from_millis(20));
        control.update(&config, Span(head * 1000), 10_000);
        control.allowance
    };
    assert_eq!(after(0.0, 0, 0), Span::from_millis(150));
    assert_eq!(after(0.0, 7_499, 7_000), Span::from_millis(150));
    let spent = Span::from_millis(20) - config.update;
    assert_eq!(after(0.0, 7_000, 7_500), spent, "the delay is half the target");
    assert_eq!(after(0.0, 7_500, 7_000), spent, "the delay was half the target");
    assert_eq!(after(0.5, 0, 0), spent, "p is not zero");
}

/// Which of so many arrivals are dropped at a constant p, when every draw is `u`.
fn should_drop(config: &Config, p: f64, u: f64, arrivals: u32) -> Vec<u32> {
    let mut control = Control::new(config);
    control.allowance = Span::ZERO;
    control.delay = Span::from_millis(100);
    control.p = p;
    control.fixed = (p * PIE_LINUX_ONE as f64) as u64;
    (1..=arrivals).filter(|_| control.should_drop(config, 50_000, 1000, &mut Fixed(u))).collect()
}

#[test]
fn derandomisation_keeps_drops_apart_and_coming() {
    for config in [Config::default(), Config::of(Variant::Linux)] {
        assert_eq!(should_drop(&config, 0.1, 0.05, 40), [9, 18, 27, 36]);
        assert_eq!(should_drop(&config, 0.1, 0.99, 40), [0; 0]);
        let forced = should_drop(&config, 0.1, 0.99, 100);
        assert!(forced == [85] || forced == [86], "{forced:?}");
    }
    let plain = Config { derandomise: false, ..Config::default() };
    assert_eq!(should_drop(&plain, 0.1, 0.05, 3), [1, 2, 3]);
}

#[test]
fn small_queues_and_short_delays_let_everything_in() {
    for (variant, two, more) in
        [(Variant::Rfc8033, 2000, 2001), (Variant::Ns2Authors, 2000, 2001), (Variant::Linux, 3027, 3028)]
    {
        let config = Config { derandomise: false, ..Config::of(variant) };
        let mut control = Control::new(&config);
        (control.allowance, control.burst) = (Span::ZERO, Burst::Protecting);
        (control.p, control.fixed) = (0.19, PIE_LINUX_ONE / 100 * 19);
        control.delay = Span(config.target.0 / 2);
        assert!(!control.should_drop(&config, two, 1000, &mut Fixed(0.0)));
        assert!(control.should_drop(&config, more, 1000, &mut Fixed(0.0)));
        control.delay = Span(config.target.0 / 2 - 1);
        assert!(!control.should_drop(&config, more, 1000, &mut Fixed(0.0)));
        (control.p, control.fixed) = (0.21, PIE_LINUX_ONE / 100 * 21);
        assert!(control.should_drop(&config, more, 1000, &mut Fixed(0.0)));
    }
}

#[test]
fn in_packet_mode_every_packet_counts_alike() {
    let backlog = Backlog { packets: 10, bytes: 7900 };
    let config = Config { mean_packet: Bytes(500), ..Config::of(Variant::Ns2Authors) };
    assert_eq!(config.backlog_bytes(backlog), 7900);
    assert_eq!(Config { in_packets: true, ..config }.backlog_bytes(backlog), 5000);
}

#[test]
fn the_departure_rate_is_averaged_over_cycles() {
    for (threshold, weight, packets, lengths, rates) in [
        (10_000, 0.5, 10, [41_600_000, 20_800_000, 41_600_000], [250_000.0, 375_000.0, 312_500.0]),
        (16_384, 0.25, 16, [66_560_000, 33_280_000, 66_560_000], [250_000.0, 312_500.0, 296_875.0]),
    ] {
        let config =
            Config { rate_threshold: Bytes(threshold), rate_weight: weight, ..Config::of(Variant::Ns2Authors) };
        let mut meter = RateMeter::default();
        assert_eq!(meter.departed(&config, Time(0), 1040, threshold - 1), None);
        assert!(meter.cycle.is_none(), "the queue is too short to begin");
        let mut now = Time(0);
        meter.departed(&config, now, 1040, 100_000);
        let mut left = packets - 1;
        for (length, rate) in lengths.into_iter().zip(rates) {
            (1..left).for_each(|_| _ = meter.departed(&config, now, 1040, 100_000));
            now += Span(length);
            assert_eq!(meter.departed(&config, now, 1040, 100_000), Some(Span(length)));
            assert!((meter.rate - rate).abs() < 1e-6, "{} is not {rate}", meter.rate);
            left = packets;
        }
    }
}

#[test]
fn updates_come_when_they_are_due() {
    let mut script = Script::new();
    for (variant, first, next) in
        [(Variant::Rfc8033, 15, 30), (Variant::Linux, 500, 515), (Variant::Ns2Authors, 30, 60)]
    {
        let mut pie = queue(&Config::of(variant));
        assert_eq!(pie.wake_at(), Some(ms(first)));
        script.at(ms(first), |cx| pie.wake(cx));
        assert_eq!(pie.wake_at(), Some(ms(next)));
    }
    let mut pie = queue(&Config { burst: Span::ZERO, ..Config::default() });
    (0..9).for_each(|n| script.at(Time::ZERO, |cx| pie.enqueue(packet(n, 1000), cx)));
    script.at(ms(15), |cx| pie.wake(cx));
    same(&[pie.p()], &[1.25 * 0.015 / 2048.0], 1e-12);
}

#[test]
fn ecn_marks_below_mark_p_and_drops_above() {
    for (p, ecn, marked) in [(0.05, Ecn::Ect0, true), (0.05, Ecn::NotEct, false), (0.15, Ecn::Ect0, false)] {
        for variant in [Variant::Rfc8033, Variant::Linux, Variant::Ns2Authors] {
            let mut pie = queue(&Config { ecn: true, derandomise: false, ..Config::of(variant) });
            let mut script = Script::new();
            (0..4).for_each(|n| script.at(ms(0), |cx| pie.enqueue(packet(n, 1000), cx)));
            (pie.control.p, pie.control.fixed) = (p, (p * PIE_LINUX_ONE as f64) as u64);
            (pie.control.allowance, pie.control.delay) = (Span::ZERO, Span::from_millis(40));
            script.at(ms(1), |cx| pie.enqueue(packet(4, 1000).with_ecn(ecn), cx));
            let expected: &[usize] = &[4];
            assert_eq!(script.fates.marked, if marked { expected } else { &[] });
            assert_eq!(script.fates.dropped.len(), usize::from(!marked));
        }
    }
}

/// Early drops when 400 packets arrive every 10 ms and leave every `every` ms, as in ns-3's tests.
fn early_drops(config: Config, every: i32) -> usize {
    let mut pie = queue(&config);
    let mut rng = <rand_pcg::Pcg64Mcg as rand::SeedableRng>::seed_from_u64(3);
    let mut told = check::Fates::default();
    for now in 0..4000 {
        let mut cx = Cx { now: ms(now), rng: &mut rng, probe: &mut told };
        if pie.wake_at() == Some(cx.now) {
            pie.wake(&mut cx);
        }
        if now % every == 0 {
            pie.dequeue(&mut cx);
        }
        if now % 10 == 0 {
            pie.enqueue(packet(now as usize, 1000), &mut cx);
        }
    }
    assert!(told.dropped.iter().all(|(_, cause)| *cause == DropCause::Early));
    told.dropped.len()
}

#[test]
fn more_load_means_more_drops_and_a_longer_target_fewer() {
    let ns2 = Config::of(Variant::Ns2Authors);
    let base = early_drops(ns2, 12);
    assert!(base > 0);
    assert!(early_drops(Config { target: Span::from_millis(80), ..ns2 }, 12) < base);
    assert!(early_drops(ns2, 15) > base);
    for variant in [Variant::Rfc8033, Variant::Linux] {
        let drops = early_drops(Config::of(variant), 12);
        assert!(drops > 20, "{variant:?}: {drops}, a sixth of the load is too much");
    }
}

proptest! {
    #[test]
    fn every_packet_leaves_by_one_door(
        events in check::events(), packets in 0u32..60, bytes in 0u64..80_000, variant in 0usize..3, rate: bool,
        by_size: bool,
    ) {
        let variant = [Variant::Rfc8033, Variant::Linux, Variant::Ns2Authors][variant];
        let config = Config {
                    burst: Span::from_millis(10),
            target: Span::from_millis(2),
            delay: if rate { Delay::Rate } else { Delay::Timestamps },
            by_size,
            ..Config::of(variant)
        };
        check::conserves(&mut Pie::new(packets, bytes, &config), &events)?;
    }
}
