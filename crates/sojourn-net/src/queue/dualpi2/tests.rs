use super::*;
use crate::queue::tests::check::{self, Desk, Numbered, Script, ms, packet};
use proptest::prelude::*;

fn queue(p: f64) -> DualPi2<Numbered> {
    DualPi2 { p, ..DualPi2::new(10_000, u64::MAX, &Config::default()) }
}

#[test]
fn the_controller_moves_p() {
    let config = Config::default();
    let delays = [0.0, 0.01, 0.02, 0.03, 0.03, 0.02, 0.015, 0.015, 0.01, 0.0];
    let expected = [0.0, 0.0312, 0.064, 0.0984, 0.1008, 0.0696, 0.0536, 0.0536, 0.0368, 0.0024];
    let (mut p, mut last) = (0.0, 0.0);
    for (delay, expected) in delays.into_iter().zip(expected) {
        p = config.step_p(p, delay, last);
        last = delay;
        assert!((p - expected).abs() < 1e-12, "{p} is not {expected}");
    }
    assert_eq!(config.step_p(0.9, 1.0, 0.0), 1.0);
}

/// Share of the verdicts over a fine grid of both draws.
fn shares(p: f64, l4s: bool, ecn: Ecn) -> [f64; 3] {
    let queue = queue(p);
    let mut counts = [0u32; 3];
    for i in 0..500u32 {
        for j in 0..500u32 {
            let mut draws = [i, j].map(|n| (f64::from(n) + 0.5) / 500.0).into_iter();
            let verdict = queue.decide(l4s, ecn, false, 1 << 20, || draws.next().expect("two draws at most"));
            counts[verdict as usize] += 1;
        }
    }
    counts.map(|count| f64::from(count) / 250_000.0)
}

#[test]
fn classic_gets_the_square_and_l4s_k_times_p() {
    assert_eq!(shares(0.1, false, Ecn::NotEct), [0.99, 0.0, 0.01]);
    assert_eq!(shares(0.1, false, Ecn::Ect0), [0.99, 0.01, 0.0]);
    assert_eq!(shares(0.1, true, Ecn::Ect1), [0.8, 0.2, 0.0]);
    assert!((0.0984f64 * 0.0984 - 0.00968256).abs() < 1e-12);
}

#[test]
fn overload_drops_ecn_packets_too() {
    assert_eq!(shares(0.6, false, Ecn::Ect0), [0.64, 0.0, 0.36]);
    assert_eq!(shares(0.6, true, Ecn::Ect1), [0.0, 0.64, 0.36]);
    assert_eq!(shares(0.5, true, Ecn::Ect1), [0.0, 1.0, 0.0], "k p' = 1 is not yet overload");
}

#[test]
fn nothing_but_the_step_acts_on_a_short_queue() {
    let queue = queue(0.6);
    assert_eq!(queue.decide(false, Ecn::NotEct, false, 3027, || 0.0), Verdict::Pass);
    assert_eq!(queue.decide(true, Ecn::Ect1, false, 3027, || 0.0), Verdict::Pass);
    assert_eq!(queue.decide(true, Ecn::Ect1, true, 3027, || 0.0), Verdict::Mark);
    assert_eq!(queue.decide(false, Ecn::NotEct, false, 3028, || 0.0), Verdict::Drop);
}

#[test]
fn l4s_packets_that_waited_too_long_are_marked() {
    let (mut queue, mut script) = (queue(0.0), Script::new());
    for n in 0..3 {
        script.at(Time(0), |cx| queue.enqueue(packet(n, 1000).with_ecn(Ecn::Ect1), cx));
    }
    script.at(Time(0), |cx| queue.enqueue(packet(3, 1000).with_ecn(Ecn::Ect0), cx));
    for now in [0, 1_000_000, 1_000_001, 9_000_000] {
        script.at(Time(now), |cx| queue.dequeue(cx));
    }
    assert_eq!((script.fates.marked, script.fates.dequeued), (vec![2], vec![0, 1, 2, 3]));
}

#[test]
fn a_packet_that_came_to_an_empty_queue_is_not_marked_for_its_waiting() {
    for (min_qlen_step, marked) in [(0, vec![0, 1, 2]), (1, vec![1, 2]), (2, vec![2])] {
        let config = Config { min_qlen_step, ..Config::default() };
        let (mut queue, mut script) = (DualPi2::new(10_000, u64::MAX, &config), Script::new());
        for n in 0..3 {
            script.at(Time(0), |cx| queue.enqueue(packet(n, 1000).with_ecn(Ecn::Ect1), cx));
        }
        (0..3).for_each(|_| _ = script.at(ms(2), |cx| queue.dequeue(cx)));
        assert_eq!(script.fates.marked, marked, "{min_qlen_step}");
    }
}

#[test]
fn the_classic_queue_keeps_its_share() {
    let (mut queue, mut script) = (queue(0.0), Script::new());
    for n in 0..400 {
        let ecn = if n % 2 == 0 { Ecn::NotEct } else { Ecn::Ce };
        script.at(ms(0), |cx| queue.enqueue(packet(n, 1514).with_ecn(ecn), cx));
    }
    (0..200).for_each(|_| _ = script.at(ms(0), |cx| queue.dequeue(cx)));
    let classic: Vec<_> = (0..200).filter(|i| script.fates.dequeued[*i] % 2 == 0).collect();
    assert_eq!(classic.len(), 20);
    assert_eq!(classic[0], 9, "eight L4S packets bring the credit to zero, a ninth above it");
    assert!(classic.windows(2).all(|pair| pair[1] - pair[0] == 10));
}

#[test]
fn an_idle_link_gets_the_first_credit_again() {
    let (mut queue, mut script) = (queue(0.0), Script::new());
    let first = Config::default().first_credit();
    assert_eq!(first, 1514 * (100 - 900));
    for n in 0..9 {
        let ecn = if n < 4 { Ecn::NotEct } else { Ecn::Ect1 };
        script.at(ms(0), |cx| queue.enqueue(packet(n, 1514).with_ecn(ecn), cx));
    }
    (0..9).for_each(|_| assert!(script.at(ms(0), |cx| queue.dequeue(cx)).is_some()));
    assert_ne!(queue.credit, first, "both queues have been served");
    assert!(queue.wants_idle_dequeue() && script.at(ms(0), |cx| queue.dequeue(cx)).is_none());
    assert_eq!(queue.credit, first);
}

#[test]
fn the_older_head_is_the_delay_of_the_controller() {
    let (mut queue, mut script) = (queue(0.0), Script::new());
    script.at(ms(6), |cx| queue.enqueue(packet(0, 1000).with_ecn(Ecn::Ect1), cx));
    script.at(ms(1), |cx| queue.enqueue(packet(1, 1000), cx));
    assert_eq!(queue.wake_at(), Some(ms(16)));
    script.at(ms(16), |cx| queue.wake(cx));
    assert_eq!((queue.last_delay, queue.wake_at()), (Span::from_millis(15), Some(ms(32))));
    assert!((queue.p() - 3.2 * 0.015).abs() < 1e-12);
}

#[test]
fn the_classic_queue_alone_spends_no_credit() {
    let mut desk = Desk::new(DualPi2::new(100, u64::MAX, &Config::default()));
    let [first] = desk.variables(0, [("credit", None)]);
    for _ in 0..4 {
        desk.arrive(ms(0.0), 0, 1000, Ecn::NotEct);
    }
    assert_eq!([0; 2].map(|_| desk.serve(ms(0.0))), [Some(0), Some(1)]);
    assert_eq!(desk.variables(0, [("credit", Some(1.0))]), [first]);
    desk.arrive(ms(0.0), 1, 1000, Ecn::Ect1);
    assert_eq!(desk.serve(ms(0.0)), Some(2));
    assert_eq!(desk.variables(0, [("credit", None)]), [1.0 - 900.0 * 1000.0], "900 of 1000 are the other's");
}

proptest! {
    #[test]
    fn every_packet_leaves_by_one_door(events in check::events(), packets in 0u32..60, bytes in 0u64..80_000) {
        let config = Config {
            target: Span::from_millis(1),
            ..Config::default()
        };
        check::conserves(&mut DualPi2::new(packets, bytes, &config), &events)?;
    }

    #[test]
    fn both_queues_conserve(events in prop::collection::vec((0u8..6, 100u32..1500), 0..300), p in 0.0f64..1.0) {
        let (mut queue, mut script) = (queue(p), Script::new());
        let (mut arrived, mut asked) = (0, 0);
        for (i, (kind, size)) in events.into_iter().enumerate() {
            script.draw = (i % 7) as f64 / 7.0;
            let now = ms(i as u32);
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].get(usize::from(kind)).copied();
            match ecn {
                Some(ecn) => script.at(now, |cx| queue.enqueue(packet(i, size).with_ecn(ecn), cx)),
                None => asked += u32::from(script.at(now, |cx| queue.dequeue(cx)).is_some()),
            }
            arrived += usize::from(ecn.is_some());
        }
        prop_assert_eq!(asked as usize, script.fates.dequeued.len());
        let gone = script.fates.dequeued.len() + script.fates.dropped.len();
        prop_assert_eq!(arrived, gone + queue.backlog().packets as usize);
    }
}
