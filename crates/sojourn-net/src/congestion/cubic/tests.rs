use super::*;

const MSS: u64 = 1000;

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn ack(segments: u64, rtt_ms: u64) -> Ack {
    Ack::of(segments * MSS, Span::from_millis(rtt_ms))
}

fn after_loss(w_max: u64, cwnd: u64) -> Cubic {
    Cubic { ssthresh: cwnd, w_max, ..Cubic::new(MSS, cwnd * MSS, HyStart::None, true) }
}

#[test]
fn a_bulk_transfer_in_packetdrill() {
    // google/packetdrill, cubic-bulk-166k.pkt: two segments acknowledged each 100 ms. HyStart ends
    // slow start at 48; from 120 acknowledged on each ACK adds one.
    let mut cubic = Cubic { ssthresh: 48, ..Cubic::new(MSS, 48 * MSS, HyStart::None, true) };
    let mut windows = vec![];
    for number in 20..=200 {
        let ack = Ack { min_rtt: Span::from_millis(100), ..ack(2, 1900) };
        cubic.on_ack(ms(100 * number), &ack);
        windows.push((2 * number, cubic.cwnd));
    }
    let at = |acked: u64| windows[(acked as usize - 40) / 2].1;
    assert_eq!([40, 60, 80, 100, 120].map(at), [48, 49, 50, 52, 58]);
    assert!((122..=400).step_by(2).all(|acked| at(acked) == 58 + (acked - 120) / 2), "{windows:?}");
}

#[test]
fn a_timeout_in_packetdrill() {
    // cubic-rto-ss-ca-cwnd-bump.pkt: each segment acknowledged; milliseconds after the timeout.
    let gaps = [100, 100, 2, 98, 2, 2, 2, 98, 2, 2, 2, 2, 2, 2, 98, 3, 2, 2, 2, 2, 2, 98];
    let mut cubic = Cubic::new(MSS, 10 * MSS, HyStart::None, true);
    cubic.on_congestion(ms(600), Congestion::Timeout, 0);
    assert_eq!((cubic.cwnd, cubic.ssthresh), (1, 7));
    let mut now = 600;
    let windows = gaps.map(|gap| {
        now += gap;
        cubic.on_ack(ms(now), &ack(1, 100));
        cubic.cwnd
    });
    assert_eq!(windows[..6], [2, 3, 4, 5, 6, 7]);
    assert!(windows[6..21].iter().all(|cwnd| *cwnd == 7), "{windows:?}");
    assert_eq!(windows[21], 8);
}

#[test]
fn k_and_the_cubic_function_are_whole_numbers() {
    let epoch = Epoch::begin(0, 70, 100);
    assert_eq!((epoch.k, epoch.origin), (4316, 100), "4.2158 s");
    assert_eq!([0, 1000, 2000, 5000, 10_000].map(|ms| epoch.window(ms, 1000)), [71, 87, 96, 100, 177]);
}

#[test]
fn the_price_stands_for_a_thirty_second_part_of_a_second() {
    let mut cubic = after_loss(100, 70);
    let prices = [0, 31, 32, 1000, 1031, 1032, 2000].map(|at| {
        cubic.update_cnt(at, 0);
        cubic.cnt
    });
    assert_eq!(prices, [70, 70, 70, 4, 4, 3, 2]);
}

#[test]
fn in_jiffies_time_goes_by_four_milliseconds() {
    let mut cubic = after_loss(8, 5).in_jiffies();
    let prices = [0, 7, 8].map(|tick| {
        cubic.update_cnt(tick, 5 * (tick / 8));
        (cubic.cnt, cubic.cnt_at.1)
    });
    assert_eq!(prices, [(5, 0), (5, 0), (5, 8)], "a 32nd of a second is seven ticks");
    // K is 1.956 s: from 62 ticks on W is 7, and 52.3 ms of round trip are 14 of them.
    let mut cubic = Cubic { min_rtt: Span(52_300_000), ..after_loss(8, 6).in_jiffies() };
    cubic.epoch = Some(Epoch::begin(0, 5, 8));
    let seen = [191_999, 192_000].map(|at: u64| {
        cubic.cnt_at = (0, 0);
        cubic.update_cnt(cubic.clock.ticks(Time(at * 1000)), 0);
        cubic.cnt
    });
    assert_eq!(seen, [600, 6]);
}

#[test]
fn in_jiffies_the_handshake_is_no_round_trip_and_none_is_for_a_second_after_a_loss() {
    let mut cubic = Cubic::new(MSS, 10 * MSS, HyStart::None, true).in_jiffies();
    let mut least = |at, rtt| {
        cubic.on_ack(ms(at), &Ack { min_rtt: Span::from_millis(40), ..ack(1, rtt) });
        cubic.min_rtt
    };
    assert_eq!([(100, 60), (200, 52), (300, 53)].map(|(at, rtt)| least(at, rtt).0 / 1_000_000), [60, 52, 52]);
    cubic.on_congestion(ms(300), Congestion::Loss, 0);
    let mut least = |at, rtt| {
        cubic.on_ack(ms(at), &ack(1, rtt));
        cubic.min_rtt
    };
    assert_eq!([(400, 60), (1399, 50), (1400, 51)].map(|(at, rtt)| least(at, rtt).0 / 1_000_000), [52, 52, 51]);
}

#[test]
fn a_friendly_segment_for_every_fifteen_eighths_of_a_window() {
    let mut cubic = after_loss(0, 7);
    cubic.update_cnt(0, 1);
    assert_eq!(cubic.cnt, 20);
    cubic.update_cnt(100, 12);
    assert_eq!(cubic.cnt, 20);
    cubic.update_cnt(200, 1);
    assert_eq!((cubic.cnt, cubic.epoch.expect("begun").w_est), (7, 8));
}

#[test]
fn a_loss_sets_maximum_and_threshold() {
    for (cwnd, w_max, maximum, threshold) in
        [(10, 0, 10, 7), (80, 100, 68, 56), (3, 0, 3, 2), (10_000, 0, 10_000, 7001)]
    {
        let mut cubic = after_loss(w_max, cwnd);
        cubic.on_congestion(Time::ZERO, Congestion::Loss, 0);
        assert_eq!((cubic.w_max, cubic.ssthresh, cubic.cwnd), (maximum, threshold, threshold));
    }
}

#[test]
fn time_stands_still_while_nothing_is_in_flight() {
    // A second of ACKs, the last of which leaves nothing in flight; 4 s of silence; the next was sent then.
    let heard = |rests: bool| {
        let mut cubic = after_loss(100, 70);
        for number in 0..=10u64 {
            let left_in_flight = if rests && number == 10 { 0 } else { MSS };
            cubic.on_ack(ms(100 * number), &Ack { left_in_flight, app_limited: number == 10, ..ack(1, 100) });
        }
        cubic.on_ack(ms(5100), &ack(1, 100));
        cubic.epoch.expect("begun").start
    };
    assert_eq!((heard(false), heard(true)), (0, 4100), "sent at 0.9 s, then at 5 s");
}

#[test]
fn a_restart_after_idleness_keeps_three_quarters_as_threshold() {
    let mut cubic = after_loss(100, 70);
    cubic.on_idle(ms(9000), 10 * MSS);
    assert_eq!((cubic.cwnd, cubic.ssthresh), (10, 70));
    let mut cubic = Cubic { ssthresh: 20, ..after_loss(100, 70) };
    cubic.on_idle(ms(9000), 10 * MSS);
    assert_eq!((cubic.cwnd, cubic.ssthresh), (10, 52));
}
