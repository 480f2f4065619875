use super::*;

/// Reports every 50 ms of packets of 1250 bytes at a rate, each `every`-th of them lost.
fn run(estimator: &mut LossBased, seconds: f64, rate: f64, every: u64, delay_based: f64) -> f64 {
    let gap = 10_000.0 / rate;
    let from = FROM.with(|from| from.get());
    let packets = (seconds / gap) as u64;
    let mut report = Vec::new();
    let mut next = 0.05;
    for i in 0..packets {
        let at = i as f64 * gap;
        let sent = Time(((from + at) * 1e9) as u64);
        let arrived = (i % every != every - 1).then_some(sent);
        report.push(PacketResult { seq: i, bytes: 1250, sent, arrived, probe: None });
        if at > next {
            next += 0.05;
            estimator.report(&report, delay_based, false);
            report.clear();
        }
    }
    FROM.with(|cell| cell.set(from + seconds));
    estimator.result().expect("enough was seen").0
}

thread_local! {
    static FROM: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) };
}

#[test]
fn without_losses_delays_decide() {
    let mut estimator = LossBased::new(5e3, 30e6);
    estimator.set_arriving(1e6);
    assert_eq!(run(&mut estimator, 2.0, 1e6, u64::MAX, 1.2e6), 1.2e6);
    assert_eq!(estimator.state, State::DelayBased);
}

#[test]
fn two_percent_are_taken_for_the_paths_own() {
    let mut estimator = LossBased::new(5e3, 30e6);
    estimator.set_arriving(0.98e6);
    run(&mut estimator, 20.0, 1e6, 50, 1.2e6);
    let rate = estimator.result().unwrap().0;
    assert!(rate >= 0.98e6, "{rate}");
    assert!((estimator.observations.average_loss() - 0.02).abs() < 0.005);
}

#[test]
fn a_third_lost_bounds_it_by_what_arrives() {
    let mut estimator = LossBased::new(5e3, 30e6);
    run(&mut estimator, 1.0, 1e6, u64::MAX, 1e6);
    estimator.set_arriving(0.67e6);
    // 100 kbit/s / (0.33 − 0.05) is 357 kbit/s; what arrives is more.
    let rate = run(&mut estimator, 5.0, 1e6, 3, 1e6);
    assert!((rate - 0.67e6).abs() < 1e3, "{rate}");
    assert_eq!(estimator.state, State::Decreasing);
}

#[test]
fn nothing_is_said_before_three_periods() {
    let mut estimator = LossBased::new(5e3, 30e6);
    let sent = |ms: u64| Time(ms * 1_000_000);
    let packet = |ms| PacketResult { seq: ms, bytes: 1250, sent: sent(ms), arrived: Some(sent(ms)), probe: None };
    for ms in (0..=500).step_by(10) {
        estimator.report(&[packet(ms)], 1e6, false);
    }
    assert_eq!(estimator.result(), None);
    for ms in (510..=760).step_by(10) {
        estimator.report(&[packet(ms)], 1e6, false);
    }
    assert_eq!(estimator.result(), Some((1e6, State::DelayBased)));
}
