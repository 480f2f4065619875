use super::*;
use proptest::prelude::*;

fn data(seq: u64, len: u32) -> Segment {
    Segment {
        seq,
        len,
        syn: false,
        fin: false,
        ack: Some(0),
        retransmission: false,
        push: false,
        stamp: Time(seq),
        echo: Time::NEVER,
        ecn: crate::Ecn::NotEct,
        feedback: 0,
    }
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once_a_single_one_after_the_delay() {
    let mut receiver = Receiver::new(1000, Span::from_millis(40), true);
    receiver.on_segment(Time(0), &data(0, 1000));
    assert!(!receiver.wants_ack());
    assert_eq!(receiver.ack_at(), Time(40_000_000));
    receiver.on_segment(Time(5), &data(1000, 1000));
    assert!(receiver.wants_ack());
    let (ack, echo) = receiver.acknowledge();
    assert_eq!((ack, echo), (2000, Time(0)), "the stamp of the earliest unacknowledged segment");
    assert_eq!(receiver.ack_at(), Time::NEVER);
}

#[test]
fn a_duplicate_is_echoed_or_its_round_trip_would_seem_as_long_as_the_wait_for_it() {
    let mut receiver = Receiver::new(1000, Span::ZERO, true);
    receiver.on_segment(Time(0), &data(0, 1000));
    receiver.acknowledge();
    receiver.on_segment(Time(900), &Segment { stamp: Time(800), ..data(0, 1000) });
    assert_eq!(receiver.acknowledge().1, Time(800));
}

#[test]
fn the_stamp_of_an_empty_segment_is_echoed_unless_data_before_it_waits_to_be_acknowledged() {
    let mut receiver = Receiver::new(1000, Span::from_millis(40), true);
    receiver.on_segment(Time(0), &data(0, 1000));
    receiver.acknowledge();
    let empty = |seq, stamp| Segment { stamp: Time(stamp), ..data(seq, 0) };
    receiver.on_empty(&empty(1000, 700));
    assert!(!receiver.wants_ack(), "it is not answered");
    assert_eq!(receiver.acknowledge().1, Time(700));
    receiver.on_segment(Time(800), &Segment { stamp: Time(800), ..data(1000, 1000) });
    receiver.on_empty(&empty(2000, 900));
    assert_eq!(receiver.acknowledge().1, Time(800), "of the earliest segment not acknowledged");
}

#[test]
fn linux_does_not_echo_what_ends_before_its_last_acknowledgement() {
    let mut receiver =
        Receiver::new(1000, Span::ZERO, true).with_extras(EcnMode::Off, true, Some(WindowGrowth::new(1000, 0, 0)));
    for (at, seq) in [(0, 0), (1, 1000)] {
        receiver.on_segment(Time(at), &Segment { stamp: Time(at), ..data(seq, 1000) });
        receiver.acknowledge();
    }
    receiver.on_segment(Time(900), &Segment { stamp: Time(800), ..data(0, 1000) });
    assert_eq!(receiver.acknowledge(), (2000, Time(1)), "its round trip seems as long as the wait for it");
    receiver.on_segment(Time(950), &Segment { stamp: Time(850), ..data(1000, 1000) });
    assert_eq!(receiver.acknowledge(), (2000, Time(850)), "what ends there is looked at");
}

#[test]
fn data_beyond_a_hole_is_reported_most_recent_first() {
    let mut receiver = Receiver::new(1000, Span::from_millis(40), true);
    for seq in [2000, 4000, 6000, 8000, 5000] {
        receiver.on_segment(Time(0), &data(seq, 1000));
        assert!(receiver.wants_ack());
    }
    let (ack, _) = receiver.acknowledge();
    let sack = receiver.sack();
    assert_eq!(ack, 0);
    let block = |start, end| Block { start, end };
    assert_eq!(sack.blocks(), [block(4000, 7000), block(8000, 9000), block(2000, 3000)]);
    receiver.on_segment(Time(0), &data(0, 2000));
    assert_eq!(receiver.next(), 3000);
    assert!(receiver.wants_ack(), "a filled hole is acknowledged at once");
}

#[test]
fn a_second_segment_that_is_short_may_wait() {
    let mut receiver = Receiver::new(1000, Span::from_millis(40), true);
    let mut wants = |seq, length| {
        receiver.on_segment(Time(0), &data(seq, length));
        receiver.wants_ack()
    };
    assert_eq!([(0, 1000), (1000, 999), (1999, 1)].map(|(seq, length)| wants(seq, length)), [false, false, true]);
}

#[test]
fn linux_tells_at_once_of_what_was_pushed_unless_there_is_a_hole() {
    let after_quick = || {
        let mut receiver = Receiver::new(1000, Span::from_millis(40), true).with_extras(
            EcnMode::Off,
            false,
            Some(WindowGrowth::new(1000, 0, 0)),
        );
        for seq in 0..16 {
            let now = Time(seq);
            receiver.on_data(now, &data(seq * 1000, 1000), Time::NEVER, || (Span::ZERO, Span::from_secs(1)));
            receiver.on_segment(now, &data(seq * 1000, 1000));
            assert!(receiver.wants_ack(), "quick at the start");
            receiver.acknowledge();
        }
        receiver
    };
    let mut receiver = after_quick();
    receiver.on_segment(Time(20), &data(16_000, 1000));
    assert!(!receiver.wants_ack());
    assert_eq!(receiver.ack_at(), Time(44_000_000), "the tick after 40 ms");
    receiver.on_segment(Time(21), &data(17_000, 1));
    assert!(receiver.wants_ack(), "more than one");
    let mut receiver = after_quick();
    receiver.on_segment(Time(20), &Segment { push: true, ..data(16_000, 1000) });
    assert!(receiver.wants_ack());
    let mut receiver = after_quick();
    receiver.on_sent(Time(16));
    receiver.on_segment(Time(20), &Segment { push: true, ..data(16_000, 1000) });
    assert!(!receiver.wants_ack(), "an end that has answered");
    // A pause is one of data in order: what arrives beyond a hole does not end it.
    let mut receiver = after_quick();
    let timing = || (Span::ZERO, Span::from_millis(250));
    for (at, seq) in [(200_000_000, 17_000), (300_000_000, 16_000)] {
        receiver.on_data(Time(at), &data(seq, 1000), Time::NEVER, timing);
        receiver.on_segment(Time(at), &data(seq, 1000));
        receiver.acknowledge();
    }
    receiver.on_segment(Time(300_000_001), &data(18_000, 1000));
    assert!(receiver.wants_ack(), "quick again after 300 ms");
}

#[test]
fn an_acknowledgement_of_linux_waits_until_the_application_has_read() {
    let linux = || {
        Receiver::new(1000, Span::from_millis(40), true).with_extras(
            EcnMode::Off,
            false,
            Some(WindowGrowth::new(1000, 0, 0)),
        )
    };
    let after_quick = |mut receiver: Receiver| {
        for seq in 0..16 {
            receiver.on_segment(Time(seq), &data(seq * 1000, 1000));
            assert!(receiver.wants_ack(), "quick ones do not wait");
            receiver.acknowledge();
        }
        receiver
    };
    // Of a second segment, and of one with PSH.
    let mut receiver = after_quick(linux().with_reader(Span(40_000), 1));
    receiver.on_segment(Time(20), &data(16_000, 1000));
    assert_eq!((receiver.wants_ack(), receiver.held_until()), (false, Time::NEVER), "not of the first of two");
    receiver.on_segment(Time(50), &data(17_000, 1000));
    let read = receiver.held_until();
    assert!(!receiver.wants_ack() && Time(50) < read && read < Time(400_000), "{read:?}");
    for i in 0..10 {
        receiver.on_segment(Time(60 + i), &data(18_000 + 1000 * i, 1000));
        assert_eq!(receiver.held_until(), read, "one reading takes all");
    }
    receiver.on_timeout(Time(read.0 - 1));
    assert!(!receiver.wants_ack());
    receiver.on_timeout(read);
    assert!(receiver.wants_ack());
    assert_eq!((receiver.acknowledge().0, receiver.held_until()), (28_000, Time::NEVER));
    receiver.on_segment(Time(500_000), &Segment { push: true, ..data(28_000, 1000) });
    assert!(!receiver.wants_ack() && Time(500_000) < receiver.held_until() && receiver.held_until() < Time(900_000));
    // What is sent meanwhile takes it with it.
    receiver.acknowledge();
    assert_eq!(receiver.held_until(), Time::NEVER);
    // A hole that is filled, and the end, are told at once; so is everything where nobody takes time to read.
    let mut receiver = after_quick(linux().with_reader(Span(40_000), 1));
    for seq in [17_000, 18_000, 16_000] {
        receiver.on_segment(Time(20), &data(seq, 1000));
        assert!(receiver.wants_ack());
        receiver.acknowledge();
    }
    receiver.on_segment(Time(30), &Segment { fin: true, ..data(19_000, 1001) });
    assert!(receiver.wants_ack());
    let mut receiver = after_quick(linux());
    receiver.on_segment(Time(20), &Segment { push: true, ..data(16_000, 1000) });
    assert!(receiver.wants_ack());
}

#[test]
fn what_a_filled_hole_releases_has_been_read_at_once() {
    let linux = |receive_buffer| Some(WindowGrowth::new(1000, receive_buffer, u64::MAX));
    let mut receiver =
        Receiver::new(1000, Span::from_millis(40), true).with_extras(EcnMode::Off, false, linux(64 << 10));
    receiver.on_segment(Time(0), &Segment { syn: true, ..data(0, 1) });
    let timing = || (Span::ZERO, Span::from_secs(1));
    let mut arrive = |at, seq, len| {
        receiver.on_data(Time(at), &data(seq, len), Time(at - 1), timing);
        receiver.on_segment(Time(at), &data(seq, len));
        receiver.policy().unwrap().window.room
    };
    assert_eq!(arrive(3, 20_001, 10_000), 20_000 + 30_000, "two initial windows, and up to the farthest byte");
    assert_eq!(arrive(5, 40_001, 1000), 20_000 + 41_000);
    // 30,000 bytes were read, 20,000 more than ten segments: 2 × 30,000 × (1 + 2 × 2); and 11,000 more are there.
    assert_eq!(arrive(9, 1, 20_000), 300_000 + 11_000);
}

#[test]
fn data_that_tells_of_nothing_new_costs_no_quick_acknowledgement() {
    let window = WindowGrowth::new(1000, 0, 0);
    let mut receiver = Receiver::new(1000, Span::from_millis(40), true).with_extras(EcnMode::Off, false, Some(window));
    receiver.on_data(Time(0), &data(0, 1000), Time::NEVER, || (Span::ZERO, Span::from_secs(1)));
    receiver.on_segment(Time(0), &data(0, 1000));
    (0..20).for_each(|_| _ = receiver.acknowledge());
    for k in 1..16 {
        receiver.on_segment(Time(k), &data(k * 1000, 1000));
        assert!(receiver.wants_ack());
        receiver.acknowledge();
    }
    receiver.on_segment(Time(16), &data(16_000, 1000));
    assert!(!receiver.wants_ack());
}

#[test]
fn linux_tells_of_each_of_the_first_22_segments_and_of_each_while_its_window_grows_again() {
    let window = WindowGrowth::new(1448, 128 << 10, u64::MAX);
    let mut receiver = Receiver::new(1448, Span::from_millis(40), true).with_extras(EcnMode::Off, false, Some(window));
    let syn = Segment { syn: true, ..data(0, 1) };
    receiver.on_data(Time(0), &syn, Time::NEVER, || (Span::ZERO, Span::from_secs(1)));
    receiver.on_segment(Time(0), &syn);
    receiver.acknowledge();
    receiver.on_sent(Time(0)); // A request: an answer to no data.
    let (mut told, mut seq) = (0, 1);
    let mut arrive = |receiver: &mut Receiver, now: Time, echo: Time| {
        let segment = Segment { stamp: now, ..data(seq, 1448) };
        receiver.on_data(now, &segment, echo, || (Span::ZERO, Span::from_secs(1)));
        receiver.on_segment(now, &segment);
        seq += 1448;
        let at_once = receiver.wants_ack();
        if at_once {
            receiver.acknowledge();
        }
        at_once
    };
    while arrive(&mut receiver, Time(told), Time::NEVER) {
        told += 1;
    }
    assert_eq!(told, 22);
    for k in 1..9 {
        assert_eq!(arrive(&mut receiver, Time(told), Time::NEVER), k % 2 == 1, "every second one");
    }
    // A round trip of 10 ms is seen, in which more was read than what the window has twice the room for.
    let ms = |ms: u64| Time(ms * 1_000_000);
    arrive(&mut receiver, ms(10), ms(0));
    assert!((0..60).all(|_| arrive(&mut receiver, ms(11), ms(1))));
}

proptest! {
    #[test]
    fn whatever_the_order_all_of_it_is_delivered(order in Just((0..40u64).collect::<Vec<_>>()).prop_shuffle()) {
        let mut receiver = Receiver::new(100, Span::ZERO, true);
        for i in order {
            receiver.on_segment(Time(0), &data(i * 100, 100));
            let (ack, _) = receiver.acknowledge();
            let sack = receiver.sack();
            prop_assert!(sack.blocks().iter().all(|b| b.start > ack && b.end > b.start));
        }
        prop_assert_eq!(receiver.next(), 4000);
        prop_assert!(receiver.held.is_empty());
    }
}

#[test]
fn what_arrives_twice_is_reported_once_before_what_is_held() {
    let mut receiver = Receiver::new(1000, Span::ZERO, true).with_extras(EcnMode::Off, true, None);
    for seq in [0, 2000, 0] {
        receiver.on_segment(Time(0), &data(seq, 1000));
    }
    let (ack, _) = receiver.acknowledge();
    let block = |start, end| Block { start, end };
    assert_eq!((ack, receiver.sack().blocks()), (1000, &[block(0, 1000), block(2000, 3000)][..]));
    assert!(receiver.sack().is_dsack(ack));
    receiver.on_segment(Time(0), &data(4000, 1000));
    receiver.acknowledge();
    assert_eq!(receiver.sack().blocks(), [block(4000, 5000), block(2000, 3000)]);
    assert!(!receiver.sack().is_dsack(ack));
}

#[test]
fn the_bytes_of_the_application_are_those_between_syn_and_fin() {
    let mut receiver = Receiver::new(1000, Span::ZERO, true);
    receiver.on_segment(Time(0), &Segment { syn: true, ..data(0, 1) });
    receiver.on_segment(Time(0), &data(1, 700));
    assert_eq!((receiver.delivered(), receiver.is_finished()), (700, false));
    receiver.on_segment(Time(0), &Segment { fin: true, ..data(701, 301) });
    assert_eq!((receiver.delivered(), receiver.is_finished()), (1000, true));
}

#[test]
fn a_filled_hole_is_told_at_once_even_by_a_single_segment() {
    let mut receiver = Receiver::new(1000, Span::from_millis(40), true);
    receiver.on_segment(Time(0), &data(1000, 1000));
    receiver.acknowledge();
    receiver.on_segment(Time(0), &data(0, 1000));
    assert!(receiver.wants_ack());
    assert_eq!(receiver.acknowledge().0, 2000);
}
