//! The scoreboard's accounts, with RFC 6675's example.

use super::*;
use proptest::prelude::*;

const MSS: u32 = 1000;

fn ten() -> Scoreboard {
    let mut board = Scoreboard::default();
    for _ in 0..10 {
        board.push(MSS, Time::ZERO);
    }
    board
}

fn blocks(segments: &[u64]) -> Sack {
    let mut sack = Sack::default();
    for n in segments {
        sack.push(Block { start: (n - 1) * 1000, end: n * 1000 });
    }
    sack
}

fn resend_number(resend: Option<Resend>) -> Option<u64> {
    resend.map(|r| r.seq / 1000 + 1)
}

#[test]
fn three_runs_above_make_a_loss() {
    // Segments 1–10 out, 3, 5 and 7 SACKed: 1 and 2 are lost, pipe is 5.
    let mut board = ten();
    board.sack(&blocks(&[3, 5, 7]));
    board.mark_lost(MSS);
    assert_eq!((board.lost, board.pipe()), (2000, 5000));
    for (n, pipe) in [(1, 6000), (2, 7000)] {
        assert_eq!(resend_number(board.next_waiting()), Some(n));
        board.resent((n - 1) * 1000, Time(1));
        assert_eq!(board.pipe(), pipe);
    }
    assert_eq!(board.next_waiting(), None);
    assert_eq!(resend_number(board.next_hole()), Some(4));
}

#[test]
fn two_segments_above_are_not_enough_three_are() {
    let mut board = ten();
    board.sack(&blocks(&[2, 3]));
    board.mark_lost(MSS);
    assert_eq!(board.lost, 0);
    board.sack(&blocks(&[4, 2, 3]));
    board.mark_lost(MSS);
    assert_eq!(board.lost, 1000);
    assert!(board.is_head_lost());
}

#[test]
fn a_cumulative_acknowledgement_clears_every_account() {
    let mut board = ten();
    board.sack(&blocks(&[3, 5, 7]));
    board.mark_lost(MSS);
    board.resent(0, Time(1));
    let news = board.acknowledge(10_000);
    assert_eq!(news.delivered, 7000);
    assert_eq!((board.pipe(), board.lost, board.outstanding(), board.has_waiting()), (0, 0, 0, false));
}

#[test]
fn a_timeout_marks_what_is_not_sacked() {
    let mut board = ten();
    board.sack(&blocks(&[3]));
    board.resent(0, Time(1));
    board.mark_all_lost();
    assert_eq!((board.lost, board.pipe()), (9000, 0));
    assert_eq!(resend_number(board.next_waiting()), Some(1));
}

proptest! {
    /// What was looked at before need not be looked at again: the same is lost if everything is looked at each time.
    #[test]
    fn what_is_lost_does_not_depend_on_where_the_search_may_stop(order in Just((1..=30u64).collect::<Vec<_>>()).prop_shuffle()) {
        let mut boards = [ten(), ten()];
        for board in &mut boards {
            (10..30).for_each(|_| board.push(MSS, Time::ZERO));
        }
        for (i, n) in order.iter().take(25).enumerate() {
            let lost = boards.each_mut().map(|board| {
                board.sack(&blocks(&[*n]));
                board.mark_lost(MSS);
                if i % 4 == 3 && let Some(resend) = board.next_waiting() {
                    board.resent(resend.seq, Time(1));
                }
                (board.lost, board.waiting, board.pipe(), board.segments.iter().map(|s| s.state).collect::<Vec<_>>())
            });
            prop_assert_eq!(&lost[0], &lost[1]);
            boards[1].lost_edge = 0;
        }
    }
}

#[test]
fn part_of_a_segment_can_be_acknowledged() {
    let mut board = ten();
    let news = board.acknowledge(1500);
    assert_eq!((news.delivered, board.outstanding(), board.pipe()), (1500, 8500, 8500));
    board.mark_head_lost();
    assert_eq!(board.next_waiting().map(|resend| (resend.seq, resend.len)), Some((1500, 500)));
    assert_eq!(board.acknowledge(1500).delivered, 0, "it was known");
}

#[test]
fn the_round_trip_is_that_of_the_earliest_segment_sent_only_once() {
    let mut board = Scoreboard::default();
    (1..=3).for_each(|at| board.push(MSS, Time(at)));
    board.mark_head_lost();
    board.resent(0, Time(9));
    assert_eq!(board.acknowledge(1000).sent, None, "Karn's rule");
    assert_eq!(board.acknowledge(3000).sent, Some(Time(2)));
}

#[test]
fn what_waited_behind_a_hole_says_nothing_of_the_round_trip() {
    // Three segments are out, the first is lost and its copy fills the hole: with it the others are acknowledged.
    for sacked in [&[][..], &[2, 3]] {
        let mut board = Scoreboard::default();
        (1..=3).for_each(|at| board.push(MSS, Time(at)));
        board.sack(&blocks(sacked));
        board.mark_head_lost();
        board.resent(0, Time(900));
        assert_eq!(board.acknowledge(3000).sent, None, "{sacked:?} SACKed");
    }
    // The first was overtaken, not lost.
    let mut board = Scoreboard::default();
    (1..=3).for_each(|at| board.push(MSS, Time(at)));
    board.sack(&blocks(&[2]));
    assert_eq!(board.acknowledge(1000).sent, Some(Time(1)));
    assert_eq!(board.acknowledge(2000).sent, None, "it arrived before");
    assert_eq!(board.acknowledge(3000).sent, Some(Time(3)));
}

#[test]
fn copies_carry_the_push_of_the_original_and_lost_bytes_are_counted_once_a_copy() {
    let mut board = ten();
    board.pushed();
    assert_eq!(board.last_hole().map(|resend| (resend.seq, resend.push)), Some((9000, true)));
    board.mark_head_lost();
    board.mark_head_lost();
    assert_eq!((board.bytes_lost(), board.has_lost()), (1000, true));
    board.resent(0, Time(1));
    assert_eq!(board.resent_bytes(), 1000);
    board.mark_all_lost();
    assert_eq!(board.bytes_lost(), 11_000, "nine for the first time, and a copy");
    assert_eq!(board.resent_bytes(), 0);
}

#[test]
fn holes_below_what_was_sacked_come_before_the_rescue_and_end_there() {
    let mut board = ten();
    board.sack(&blocks(&[3]));
    assert_eq!(resend_number(board.next_hole()), Some(1));
    board.resent(0, Time(1));
    assert_eq!(resend_number(board.next_hole()), Some(2));
    board.resent(1000, Time(1));
    assert_eq!(board.next_hole(), None, "the fourth is above");
    board.sack(&blocks(&[10]));
    assert_eq!(resend_number(board.last_hole()), Some(9));
}

#[test]
fn three_runs_are_enough_however_short() {
    let mut board = Scoreboard::default();
    (0..7).for_each(|_| board.push(100, Time::ZERO));
    let runs = |numbers: &[u64]| {
        let mut sack = Sack::default();
        numbers.iter().for_each(|n| sack.push(Block { start: n * 100, end: n * 100 + 100 }));
        sack
    };
    board.sack(&runs(&[2, 4]));
    board.mark_lost(MSS);
    assert_eq!(board.lost, 0);
    board.sack(&runs(&[6, 2, 4]));
    board.mark_lost(MSS);
    assert_eq!(board.lost, 200);
}
