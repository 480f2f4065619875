use super::*;
use crate::Span;
use crate::queue::tests::check::{self, Desk, ms};
use proptest::prelude::*;

const ALL: [Variant; 6] =
    [Variant::Rfc8289, Variant::Linux, Variant::Ns3, Variant::Ns2_2013, Variant::Ns2_2012, Variant::Acmq2012];

fn config(variant: Variant) -> Config {
    Config { variant, ..Config::default() }
}

fn law(variant: Variant) -> Law {
    Law::new(&config(variant))
}

/// Times of the first drops after one at 0, in ms.
fn sums(variant: Variant) -> Vec<f64> {
    let law = law(variant);
    let mut state = State { count: 1, ..State::default() };
    let mut sums = Vec::new();
    for count in 1..=10 {
        if count > 1 {
            state.set_count(count);
        }
        state.drop_next = law.control_law(&state, state.drop_next);
        sums.push(((state.drop_next << law.shift) as f64 / 1e3).round() / 1e3);
    }
    sums
}

#[test]
fn exact_gaps_shrink_with_the_square_root() {
    let expected = [100.0, 170.711, 228.446, 278.446, 323.167, 363.992, 401.788, 437.144, 470.477, 502.1];
    assert_eq!(sums(Variant::Rfc8289), expected);
}

#[test]
fn newton_steps_give_the_reciprocals_and_gaps_of_linux() {
    let mut state = State::default();
    let mut reciprocals = vec![state.rec_inv_sqrt];
    for count in 2..=16 {
        state.set_count(count);
        reciprocals.push(state.rec_inv_sqrt);
    }
    let expected = [
        65535, 32769, 36864, 31968, 28935, 26481, 24588, 23037, 21746, 20647, 19699, 18869, 18136, 17481, 16893, 16360,
    ];
    assert_eq!(reciprocals, expected);
    let expected = [99.998, 150.0, 206.25, 255.029, 299.181, 339.587, 377.106, 412.257, 445.439, 476.944];
    for (i, (sum, expected)) in sums(Variant::Linux).iter().zip(expected).enumerate() {
        // The expected sums are not cut to ticks; each gap loses less than one, 1.024 µs, and so does the interval.
        assert!((sum - expected).abs() < 0.00103 * (i + 1) as f64, "{sum} instead of {expected}");
    }
}

/// ns-3's scenario: twenty packets at once, four dequeues. Numbers here are from 0.
#[test]
fn the_packet_that_waited_too_long_goes_and_the_next_one_leaves() {
    for variant in ALL {
        let mut desk = Desk::new(Codel::new(1000, u64::MAX, &config(variant)));
        for _ in 0..20 {
            desk.arrive(Time::ZERO, 0, 1000, Ecn::NotEct);
        }
        assert_eq!(desk.serve(ms(10.0)), Some(0));
        // ACM Queue's waits one more interval, which is over at 210 ms as well.
        assert_eq!(desk.serve(ms(210.0)), Some(2), "{variant:?}");
        assert_eq!(desk.queue.state.count, 1);
        assert_eq!(desk.serve(ms(210.0)), Some(3), "{variant:?}");
        let (leaves, drops, count, next) = match variant.rules().fixed_point {
            true => (7, vec![1, 4, 5, 6], 4, 465.03),
            false => (6, vec![1, 4, 5], 3, 438.446),
        };
        assert_eq!(desk.serve(ms(420.0)), Some(leaves), "{variant:?}");
        assert_eq!(desk.dropped(), drops, "{variant:?}");
        let state = desk.queue.state;
        assert_eq!(state.count, count, "{variant:?}");
        let planned = (state.drop_next << desk.queue.law.shift) as f64 / 1e6;
        assert!((planned - next).abs() < 0.005, "{variant:?}: {planned}");
        assert!(desk.fates.dropped.iter().all(|d| d.1 == DropCause::Sojourn));
    }
}

#[test]
fn dropping_resumes_with_the_count_of_each_variant() {
    let inputs = [(20, 5, 500), (2, 1, 50), (150, 20, 300), (10, 9, 1000), (30, 1, 1700)];
    let columns = [
        (Variant::Rfc8289, [15, 1, 130, 1, 1]),
        (Variant::Linux, [15, 1, 130, 1, 1]),
        (Variant::Ns3, [15, 1, 130, 1, 1]),
        (Variant::Ns2_2013, [18, 1, 147, 1, 1]),
        (Variant::Ns2_2012, [19, 1, 149, 9, 1]),
        (Variant::Ns2Sfq, [18, 1, 148, 1, 1]),
        (Variant::Acmq2012, [1; 5]),
    ];
    for (variant, expected) in columns {
        let law = law(variant);
        for ((count, last_count, since), expected) in inputs.into_iter().zip(expected) {
            let drop_next = law.ticks(ms(5000.0));
            let mut state = State { count, last_count, drop_next, ..State::default() };
            law.start_count(&mut state, law.ticks(ms(5000.0 + f64::from(since))));
            assert_eq!(state.count, expected, "{variant:?} from {count}, {last_count}, {since}");
            assert_eq!(state.last_count, expected);
        }
    }
}

/// Numbers (from 1) of packets dropped by a server that takes 4 ms for each of 420 packets in two bursts.
fn server(config: &Config) -> Vec<usize> {
    let mut desk = Desk::new(Codel::new(1000, u64::MAX, config));
    let spaced = |k: u64| Time(k * 3_213_700);
    let arrivals = (0..260).map(spaced).chain((0..160).map(|k| spaced(k) + Span::from_millis(1400)));
    let mut free = Time::ZERO;
    let mut busy = false;
    for at in arrivals {
        while busy && free <= at {
            busy = desk.serve(free).is_some();
            free += Span::from_millis(4 * u64::from(busy));
        }
        desk.arrive(at, 0, 1000, Ecn::NotEct);
        if !busy {
            busy = desk.serve(at).is_some();
            free = at + Span::from_millis(4);
        }
    }
    while busy {
        busy = desk.serve(free).is_some();
        free += Span::from_millis(4);
    }
    desk.dropped().iter().map(|n| n + 1).collect()
}

const FIRST: [usize; 23] =
    [35, 61, 80, 96, 109, 121, 132, 143, 153, 162, 171, 180, 188, 196, 203, 211, 218, 225, 232, 239, 245, 252, 258];
const SECOND: [usize; 23] =
    [295, 302, 308, 314, 320, 326, 332, 338, 343, 349, 354, 360, 365, 370, 376, 381, 386, 391, 396, 401, 406, 411, 415];

#[test]
fn a_server_behind_each_variant_loses_these_packets() {
    for variant in [Variant::Rfc8289, Variant::Ns2_2012] {
        assert_eq!(server(&config(variant)), [FIRST, SECOND].concat(), "{variant:?}");
    }
    let linux =
        [36, 62, 76, 91, 104, 116, 127, 138, 148, 157, 166, 174, 182, 190, 198, 205, 213, 220, 227, 233, 240, 246, 253];
    for variant in [Variant::Linux, Variant::Ns3] {
        assert_eq!(server(&config(variant)), [linux, SECOND].concat(), "{variant:?}");
    }
    let ns2_2013 = [
        276, 283, 290, 296, 302, 308, 314, 320, 326, 332, 337, 343, 348, 354, 359, 364, 370, 375, 380, 385, 390, 395,
        400, 405, 409, 414,
    ];
    assert_eq!(server(&config(Variant::Ns2_2013)), [&FIRST[..], &ns2_2013].concat());
    let acmq = [
        58, 84, 103, 119, 132, 144, 155, 166, 176, 185, 194, 203, 211, 219, 226, 234, 241, 248, 255, 318, 344, 363,
        379, 392, 404, 415,
    ];
    assert_eq!(server(&config(Variant::Acmq2012)), acmq);
}

#[test]
fn a_server_with_a_target_of_35_ms_loses_these_packets() {
    let late = |variant| server(&Config { target: Span::from_millis(35), ..config(variant) });
    let first = [71, 97, 116, 132, 145, 157, 168, 179, 189, 198, 207, 216, 224, 232, 239, 247, 254];
    let second = [331, 339, 346, 353, 359, 366, 372, 379, 385, 391, 397, 403, 409, 415];
    assert_eq!(late(Variant::Rfc8289), [&first[..], &second].concat());
    let second = [313, 321, 328, 335, 342, 349, 355, 362, 368, 374, 381, 387, 392, 398, 404, 410, 415];
    assert_eq!(late(Variant::Ns2_2013), [first, second].concat());
}

/// Packets marked and dropped after each dequeue of twenty packets, the first `capable` of them ECN-capable.
fn marks(ce_threshold: Option<Span>, capable: usize, times: &[f64]) -> Vec<(usize, usize)> {
    let config = Config { ecn: true, ce_threshold, ..config(Variant::Ns3) };
    let mut desk = Desk::new(Codel::new(1000, u64::MAX, &config));
    for i in 0..20 {
        desk.arrive(Time::ZERO, 0, 1000, if i < capable { Ecn::Ect0 } else { Ecn::NotEct });
    }
    let counts = times.iter().map(|at| {
        desk.serve(ms(*at));
        (desk.fates.marked.len(), desk.fates.dropped.len())
    });
    counts.collect()
}

#[test]
fn ns3_marks_where_it_would_drop() {
    let times = [10.0, 210.0, 210.0, 420.0];
    assert_eq!(marks(None, 0, &times)[1], (0, 1));
    assert_eq!(marks(None, 20, &times), [(0, 0), (1, 0), (1, 0), (2, 0)]);
    // By the threshold 1, 1, 2; by the target 0, 1, 1.
    assert_eq!(marks(Some(Span::from_millis(2)), 3, &times)[..3], [(1, 0), (2, 0), (3, 0)]);
    let early = marks(Some(Span::from_millis(2)), 20, &[1.0, 3.0, 10.0, 210.0]);
    assert_eq!(early, [(0, 0), (1, 0), (2, 0), (3, 0)]);
}

#[test]
fn marked_packets_leave_themselves() {
    for variant in [Variant::Rfc8289, Variant::Linux] {
        let mut desk = Desk::new(Codel::new(1000, u64::MAX, &Config { ecn: true, ..config(variant) }));
        for _ in 0..20 {
            desk.arrive(Time::ZERO, 0, 1000, Ecn::Ect1);
        }
        let left = [10.0, 210.0, 210.0, 420.0].map(|at| desk.serve(ms(at)));
        assert_eq!(left, [0, 1, 2, 3].map(Some));
        assert_eq!(desk.fates.marked, [1, 3]);
        let planned = (desk.queue.state.drop_next << desk.queue.law.shift) as f64 / 1e6;
        let expected = if variant == Variant::Linux { 359.998 } else { 380.711 };
        assert!((planned - expected).abs() < 0.01, "{variant:?}: {planned}");
    }
}

#[test]
fn what_exceeds_the_limit_is_refused() {
    let mut desk = Desk::new(Codel::new(500, u64::MAX, &Config::default()));
    for _ in 0..503 {
        desk.arrive(Time::ZERO, 0, 100, Ecn::NotEct);
    }
    assert_eq!(desk.fates.dropped, [500, 501, 502].map(|n| (n, DropCause::Full)));
}

proptest! {
    #[test]
    fn every_packet_leaves_by_one_door(
        events in check::events(), packets in 0u32..60, bytes in 0u64..90_000, variant in 0..6usize, ecn: bool,
    ) {
        let config = Config {
            target: Span::from_millis(1),
            interval: Span::from_millis(8),
            ecn,
            ce_threshold: ecn.then_some(Span::from_millis(3)),
            ..config(ALL[variant])
        };
        check::conserves(&mut Codel::new(packets, bytes, &config), &events)?;
    }
}
