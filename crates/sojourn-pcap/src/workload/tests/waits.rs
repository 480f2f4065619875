//! What ends waited before their turns.

use super::*;

#[test]
fn what_a_queue_took_of_the_handshake_is_no_thinking() {
    // The same two ends again, behind a queue of 20 ms; the answer is thought about for 10 ms.
    let mut lines = PAGE.to_vec();
    lines.extend([
        (1000, true, SYN, 5009, 0, 0),
        (1060, false, SYN | ACK, 7999, 5010, 0),
        (1060, true, ACK, 5010, 8000, 100),
        (1130, false, ACK, 8000, 5110, 500),
        (1130, true, ACK, 5110, 8500, 0),
    ]);
    let found = taken(&frames(&lines));
    let [_, page] = &found.connections[..] else { panic!("two connections") };
    assert_eq!(turns(page), [(false, 100, 0), (true, 500, 10)]);
    assert_eq!((page.data_pkts, page.again_pkts), ([1, 1], [0, 0]));
}

/// The handshake of [`PAGE`] and its request, which arrives at 65; then what the far end does.
fn answered(lines: &[Line]) -> Vec<(bool, u64, u64)> {
    let mut all = PAGE[..4].to_vec();
    all.extend_from_slice(lines);
    let [found] = &taken(&frames(&all)).connections[..] else { panic!("one connection") };
    turns(found)
}

#[test]
fn a_far_end_whose_last_segment_was_full_waits_for_its_timer() {
    let stalled = |last: u16| {
        let end = 3000 + u32::from(last);
        answered(&[
            (85, false, ACK, 1000, 110, 1000),
            (86, false, ACK, 2000, 110, 1000),
            (87, false, ACK, 3000, 110, last),
            (87, true, ACK, 110, end, 0),
            (487, false, ACK, end, 110, 1000),
            (487, true, ACK, 110, end + 1000, 0),
        ])
    };
    assert_eq!(stalled(1000), [(false, 100, 5), (true, 4000, 0)]);
    assert_eq!(stalled(900), [(false, 100, 5), (true, 2900, 0), (true, 1000, 360)], "it had no more to send");
}

#[test]
fn small_writes_are_no_full_segments() {
    // Two at once, of 600 and of 700 bytes: no more was cut at 700 than at 600.
    let beat = |at: i64, k: u32| {
        let seq = 1000 + 1300 * k;
        [(at, false, ACK, seq, 110, 600), (at, false, ACK, seq + 600, 110, 700), (at, true, ACK, 110, seq + 1300, 0)]
    };
    let found = answered(&[beat(85, 0), beat(585, 1), beat(1085, 2)].concat());
    assert_eq!(found, [(false, 100, 5), (true, 1300, 0), (true, 1300, 460), (true, 1300, 460)]);
}

#[test]
fn an_answer_that_was_lost_had_been_sent_by_the_time_that_its_end_says_so() {
    // The answer's two segments are lost; an acknowledgement, at 90, is numbered beyond them.
    let lost = |seq: u32| {
        answered(&[
            (90, false, ACK, seq, 110, 0),
            (600, false, ACK, 1000, 110, 1000),
            (600, true, ACK, 110, 2000, 0),
            (650, false, ACK, 2000, 110, 1000),
        ])
    };
    assert_eq!(lost(3000), [(false, 100, 5), (true, 2000, 5)]);
    assert_eq!(lost(1000), [(false, 100, 5), (true, 2000, 510)], "it thought after it had it");
}

#[test]
fn an_answer_of_which_nothing_tells_was_lost_if_a_timer_had_expired() {
    // Nothing in 40 ms: the answer was lost, or what acknowledged the request.
    let waited = |at: i64| answered(&[(at, false, ACK, 1000, 110, 1000), (at, true, ACK, 110, 2000, 0)]);
    assert_eq!(waited(284), [(false, 100, 5), (true, 1000, 40)]);
    assert_eq!(waited(285), [(false, 100, 5), (true, 1000, 0)]);
    // It waits as its end does.
    let second = [
        (115, false, ACK, 1000, 110, 1000),
        (115, true, ACK, 110, 2000, 50),
        (485, false, ACK, 2000, 160, 1000),
        (485, true, ACK, 160, 3000, 0),
    ];
    assert_eq!(answered(&second), [(false, 100, 5), (true, 1000, 30), (false, 50, 0), (true, 1000, 30)]);
}

#[test]
fn who_waits_for_a_repair_does_not_think() {
    let lines = [
        (85, false, ACK, 1000, 110, 1000),
        (86, false, ACK, 3000, 110, 1000),
        (86, true, ACK, 110, 2000, 0),
        (386, false, ACK, 2000, 110, 1000),
        (386, true, ACK, 110, 4000, 50),
    ];
    assert_eq!(answered(&lines), [(false, 100, 5), (true, 3000, 0), (false, 50, 0)]);
}

#[test]
fn what_was_acknowledged_before_more_came_is_not_when_an_end_had_it_all() {
    // Beside the acceptor now: the far end acknowledges what it has, and then gets more.
    let lines: Vec<(i64, Vec<u8>, u32)> = frames(&[
        (0, true, SYN, 9, 0, 0),
        (0, false, SYN | ACK, 999, 10, 0),
        (40, true, ACK, 10, 1000, 100),
        (40, false, ACK, 1000, 110, 1000),
        (80, true, ACK, 110, 2000, 0),
        (90, false, ACK, 2000, 110, 1000),
        (120, false, ACK, 3000, 110, 1000),
        (130, true, ACK, 110, 3000, 0),
        (170, true, ACK, 110, 4000, 50),
    ]);
    let [found] = &taken(&lines).connections[..] else { panic!("one connection") };
    assert_eq!(turns(found), [(false, 100, 0), (true, 3000, 0), (false, 50, 10)]);
}

#[test]
fn nobody_answers_before_the_handshake_is_over() {
    // The answer to the SYN is lost and sent again; the request had come before.
    let lines = [
        (0, true, SYN, 9, 0, 0),
        (0, false, SYN | ACK, 999, 10, 0),
        (500, true, 0, 10, 0, 1),
        (1000, false, SYN | ACK, 999, 11, 0),
        (1040, true, ACK, 11, 1000, 0),
        (1040, false, ACK, 1000, 11, 500),
    ];
    let [found] = &taken(&frames(&lines)).connections[..] else { panic!("one connection") };
    assert_eq!(turns(found).last(), Some(&(true, 500, 0)));
}

#[test]
fn an_end_is_quiet_from_when_all_it_sent_was_acknowledged() {
    let lines = [
        (0, true, SYN, 9, 0, 0),
        (90, false, SYN | ACK, 999, 10, 0),
        (90, true, ACK, 10, 1000, 0),
        (100, true, ACK, 10, 1000, 100),
        (190, false, ACK, 1000, 110, 0),
        // 60 ms after that, and 150 ms after the last data: the same turn, if the last segment was full.
        (250, true, ACK, 110, 1000, 50),
        (340, false, ACK, 1000, 160, 0),
        (500, true, ACK, 160, 1000, 20),
    ];
    let [found] = &taken(&frames(&lines)).connections[..] else { panic!("one connection") };
    assert_eq!(turns(found), [(false, 100, 10), (false, 50, 150), (false, 20, 250)]);
    let full = [
        (100, true, ACK, 10, 1000, 1000),
        (190, false, ACK, 1000, 1010, 0),
        (250, true, ACK, 1010, 1000, 1000),
        (340, false, ACK, 1000, 2010, 0),
        (500, true, ACK, 2010, 1000, 20),
    ];
    let [found] = &taken(&frames(&[&lines[..3], &full].concat())).connections[..] else { panic!("one connection") };
    assert_eq!(turns(found), [(false, 2000, 10), (false, 20, 160)]);
}
