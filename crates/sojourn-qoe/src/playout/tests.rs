use super::*;
use proptest::prelude::*;

fn call(delays_ms: &[i64]) -> (Vec<u64>, Vec<i64>) {
    let sent = (0..delays_ms.len() as u64).map(|i| i * 20_000_000).collect();
    (sent, delays_ms.iter().map(|d| if *d < 0 { -1 } else { d * MS }).collect())
}

/// What a buffer makes of frames of 20 ms with these delays.
fn by(buffer: impl Fn(Frames<'_>) -> Played, delays_ms: &[i64]) -> Played {
    let (sent_ns, delay_ns) = call(delays_ms);
    buffer(Frames { sent_ns: &sent_ns, delay_ns: &delay_ns })
}

fn fixed_60(frames: Frames<'_>) -> Played {
    fixed(frames, 60 * MS)
}

fn follows(frames: Frames<'_>) -> Played {
    adaptive(frames, &[])
}

fn count(flags: &[bool]) -> usize {
    flags.iter().filter(|flag| **flag).count()
}

/// 400 delays of 30 ms and an exponential jitter of this mean, by inversion of a low-discrepancy sequence.
fn jittered(mean_ms: f64) -> Vec<i64> {
    let golden = 0.618_033_988_749_894_9;
    (0..400).map(|i| 30 + (-mean_ms * libm::log(1.0 - (f64::from(i) * golden).fract())) as i64).collect()
}

#[test]
fn a_fixed_buffer_plays_what_comes_within_its_delay() {
    let found = by(fixed_60, &[50, 110, 111, -1, 10]);
    assert_eq!(found.erased, [false, false, true, true, false]);
    assert_eq!(found.late, [false, false, true, false, false]);
    assert_eq!(found.lost, [false, false, false, true, false]);
    assert_eq!(found.wait_ns, 160e6 / 3.0);
}

#[test]
fn the_anchor_is_what_arrives_first() {
    assert_eq!(by(fixed_60, &[-1, 100, 20, 20]).late, [false, true, false, false]);
}

#[test]
fn the_next_frame_repairs_one_only_if_it_is_there_at_its_turn() {
    // The frame after a lost one comes 20 ms behind its turn: the buffer has to wait that much.
    let ahead = |wait_ms: i64| by(|frames| fixed(frames, wait_ms * MS), &[10, -1, 10, 10]).ahead;
    assert_eq!(ahead(20), [false, true, true, false]);
    assert_eq!(ahead(19), [false; 4]);
}

#[test]
fn as_many_are_late_as_jitter_exceeds_the_wait() {
    for (mean_ms, wait_ms) in [(20.0, 20), (20.0, 60), (40.0, 60), (80.0, 100), (80.0, 200)] {
        let share =
            |wait_ms: i64| count(&by(|frames| fixed(frames, wait_ms * MS), &jittered(mean_ms)).late) as f64 / 400.0;
        // Delays are whole milliseconds: the least that is late is one more than the wait.
        let expected = libm::exp(-f64::from(wait_ms as i32 + 1) / mean_ms);
        assert!((share(wait_ms) - expected).abs() < 0.01, "{mean_ms} {wait_ms}: {}", share(wait_ms));
        assert!(share(2 * wait_ms) <= share(wait_ms));
    }
}

#[test]
fn after_a_ramp_everything_is_late_for_a_fixed_buffer_but_not_for_an_adaptive_one() {
    // 150 ms a second, up to 600 ms.
    let delays: Vec<_> = (0..400i64).map(|i| 30 + (i - 100).clamp(0, 200) * 3).collect();
    let (stiff, supple) = (by(fixed_60, &delays), by(follows, &delays));
    assert_eq!((count(&stiff.late[..120]), count(&stiff.late[121..])), (0, 279));
    assert!(count(&supple.late) < 40);
    assert_eq!(count(&supple.late[320..]), 0);
}

#[test]
fn a_call_that_begins_while_the_queue_is_full_keeps_its_delay() {
    let delays: Vec<_> = (0..400i64).map(|i| (900 - 5 * i).max(30)).collect();
    let (stiff, supple) = (by(fixed_60, &delays), by(follows, &delays));
    let mean_ns = delays.iter().sum::<i64>() as f64 / 400.0 * MS as f64;
    assert_eq!(count(&stiff.erased), 0);
    assert!((stiff.wait_ns + mean_ns - 960e6).abs() < 1.0);
    assert!(supple.wait_ns < 400e6 && count(&supple.late) < 60);
    let spoken = by(|frames| adaptive(frames, &[true; 400]), &delays);
    assert!(count(&spoken.erased) < 100, "without a pause it holds no more than its capacity");
}

#[test]
fn a_step_costs_an_adaptive_buffer_one_frame() {
    let delays: Vec<_> = (0..400).map(|i| if i < 207 { 30 } else { 430 }).collect();
    assert_eq!(count(&by(follows, &delays).late), 1);
}

#[test]
fn a_pause_is_where_there_is_no_speech() {
    // The delay falls at once; where the pause is, playing catches up, by at most its length.
    let delays: Vec<_> = (0..200).map(|i| if i < 50 { 330 } else { 30 }).collect();
    let waits = |pause: std::ops::Range<usize>| {
        let talk: Vec<_> = (0..200).map(|i| !pause.contains(&i)).collect();
        by(|frames| adaptive(frames, &talk), &delays).wait_ns
    };
    assert!(waits(60..90) < waits(150..180) && waits(150..180) < waits(0..0));
    assert!(waits(60..70) > waits(60..90));
}

#[test]
fn nothing_arrives() {
    for (buffer, nominal) in [(unbuffered as fn(Frames<'_>) -> _, 0.0), (fixed_60, 60e6), (follows, 60e6)] {
        let found = by(buffer, &[-1, -1]);
        assert_eq!((found.erased, found.lost, found.wait_ns), (vec![true; 2], vec![true; 2], nominal));
        assert!(by(buffer, &[]).erased.is_empty());
    }
}

#[test]
fn without_a_buffer_only_the_networks_losses_are_missed() {
    let found = by(unbuffered, &[10, 500, -1, 20]);
    assert_eq!((found.erased, found.wait_ns), (vec![false, false, true, false], 0.0));
}

proptest! {
    #[test]
    fn every_frame_has_one_outcome(delays in prop::collection::vec(-1i64..5_000, 0..120), wait_ms in 0i64..500) {
        for found in [by(|frames| fixed(frames, wait_ms * MS), &delays), by(follows, &delays)] {
            for (i, delay) in delays.iter().enumerate() {
                prop_assert_eq!(found.lost[i], *delay < 0);
                prop_assert_eq!(found.erased[i], found.lost[i] || found.late[i]);
                prop_assert!(!(found.lost[i] && found.late[i]));
            }
            prop_assert!(found.wait_ns >= 0.0);
        }
    }

    #[test]
    fn a_longer_fixed_wait_loses_no_more(delays in prop::collection::vec(-1i64..2_000, 1..60), a in 0i64..300, b in 0i64..300) {
        let erased = |wait_ms: i64| by(|frames| fixed(frames, wait_ms * MS), &delays).erased;
        for (short, long) in erased(a.min(b)).iter().zip(erased(a.max(b))) {
            prop_assert!(*short || !long);
        }
    }
}
