//! RACK-TLP between two endpoints: RFC 8985's cases.

use super::*;

fn by_time() -> Config {
    Config { recovery: Recovery::RackTlp, ..config() }
}

fn retransmissions(pair: &Pair) -> Vec<(u64, u64)> {
    pair.log.iter().filter(|l| l.2).map(|l| (l.0.0 / 1_000_000, l.1)).collect()
}

#[test]
fn a_loss_is_repaired_a_round_trip_after_it_was_sent() {
    let pair = transfer(&by_time(), 40_000, &[0]);
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!((statistics.retransmits, statistics.timeouts, statistics.recoveries, statistics.probes), (1, 0, 1, 0));
    assert_eq!(retransmissions(&pair), [(200, 1)]);
    assert_eq!(pair.ends[0].sender().window().ssthresh, 5000);
}

#[test]
fn two_duplicates_are_enough_after_the_time_for_reordering() {
    // Three segments, the first lost: too few duplicates for RFC 6675, which waits for its timer.
    let three = |config: &Config| {
        let mut pair = Pair::new(config, &[0]);
        pair.ends[0].write(3000);
        pair.run(Time(60_000_000_000));
        pair
    };
    let pair = three(&by_time());
    // A quarter of the smallest round trip, and the timer's 2 ms; the last was sent 2 ns after the first.
    assert_eq!(retransmissions(&pair), [(226, 1)]);
    assert_eq!(pair.ends[0].sender().statistics().timeouts, 0);
    assert_eq!(three(&config()).ends[0].sender().statistics().timeouts, 1);
}

#[test]
fn linux_counts_a_segment_as_delivered_when_the_timer_for_reordering_begins_the_repair() {
    for (stack, timer, expected) in [(Stack::Plain, 226, 270), (Stack::Linux, 232, 250)] {
        let mut pair = Pair::new(&Config { stack, ..by_time() }, &[0]);
        pair.ends[0].write(3000);
        // Seven more in a window of ten, ten milliseconds apart, so that their acknowledgements follow the timer.
        for ms in (140..=200).step_by(10) {
            pair.run(Time(ms * 1_000_000));
            pair.now = Time(ms * 1_000_000);
            pair.ends[0].write(1000);
        }
        pair.run(Time(239_000_000));
        assert_eq!(retransmissions(&pair), [(timer, 1)], "{stack:?}");
        pair.ends[0].write(10_000);
        pair.run(Time(300_000_000));
        let new = pair.log.iter().find(|sent| sent.1 > 10_000).map(|sent| sent.0.0 / 1_000_000);
        assert_eq!(new, Some(expected), "{stack:?}");
    }
}

#[test]
fn a_lost_retransmission_needs_no_timer() {
    let pair = transfer(&by_time(), 40_000, &[0, 12]);
    let again = retransmissions(&pair);
    assert_eq!(again, [(200, 1), (300, 1)]);
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!((statistics.timeouts, statistics.recoveries), (0, 1));
}

#[test]
fn a_lost_tail_is_probed_for_and_costs_half_the_window_if_the_probe_repaired_it() {
    // Ten segments, the last lost. The probe: with the timer, which is sooner than two round trips and 200 ms.
    let mut pair = Pair::new(&by_time(), &[9]);
    pair.ends[0].write(10_000);
    pair.run(Time(1_000_000_000));
    assert_eq!(retransmissions(&pair), [(500, 9001)]);
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!((statistics.probes, statistics.timeouts, statistics.recoveries), (1, 0, 0));
    assert_eq!(pair.ends[0].sender().window().ssthresh, u64::MAX);
    pair.ends[0].write(3000);
    pair.run(Time(2_000_000_000));
    assert!(
        pair.ends[0].sender().window().ssthresh < 15_000,
        "acknowledged beyond the probe, with no sign of two copies"
    );
}

#[test]
fn a_probe_that_was_not_needed_costs_nothing() {
    // The acknowledgements of a whole window are lost; the probe's answer reports a duplicate.
    let mut pair = Pair::new(&by_time(), &[]);
    pair.ends[0].write(10_000);
    pair.run(Time(160_000_000));
    pair.wires[1].clear();
    pair.run(Time(2_000_000_000));
    pair.ends[0].write(10_000);
    pair.run(Time(4_000_000_000));
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!((statistics.probes, statistics.timeouts, statistics.retransmits), (1, 0, 1));
    assert_eq!(pair.ends[0].sender().window().ssthresh, u64::MAX);
}

#[test]
fn a_probe_is_new_data_if_there_is_any_whatever_the_window() {
    let mut pair = Pair::new(&by_time(), &[]);
    pair.ends[0].write(u64::MAX);
    pair.run(Time(160_000_000));
    pair.wires[1].clear();
    let before = pair.sent;
    pair.run(Time(330_000_000));
    assert_eq!((before, pair.sent), (10, 11));
    assert_eq!(pair.ends[0].sender().statistics().retransmits, 0);
}

#[test]
fn probes_lost_too_leave_the_rest_to_the_timer() {
    let pair = transfer(&by_time(), 10_000, &[9, 10]);
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!((statistics.probes, statistics.timeouts), (1, 1));
    assert_eq!(pair.ends[1].receiver().delivered(), 10_000);
}
