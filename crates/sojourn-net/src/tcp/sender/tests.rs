//! A sender by itself after a timeout, mostly as Linux has it.

use super::transmit::Out;
use super::*;
use crate::congestion::{Counting, Reno};
use crate::tcp::config::Stack;
use crate::tcp::segment::{AckHeader, Block, Sack};

const MSS: u64 = 1000;

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// Ten segments are out, the last ten milliseconds after the SYN's round trip of 100 ms, and the timer has expired.
fn timed_out() -> (Sender, Time) {
    let config = Config { mss: 1000, recovery: Recovery::RackTlp, stack: Stack::Linux, ..Config::default() };
    let mut sender = Sender::new(&config, Box::new(Reno::new(MSS, 10 * MSS, Counting::Bytes)));
    sender.open();
    sender.write(u64::MAX);
    sender.next_out(ms(0));
    hear(&mut sender, 100, 1, 0, None);
    while sender.next_out(ms(100)).is_some() {}
    sender.has_sent(ms(100));
    assert_eq!(sender.nxt, 10 * MSS + 1);
    // The probe, and then the timer.
    let mut sent = Vec::new();
    for _ in 0..2 {
        let at = sender.next_timer();
        sender.on_timeout(at);
        while let Some(out) = sender.next_out(at) {
            sent.push((at, out));
        }
    }
    let (at, head) = sent.pop().expect("the head of the line is sent again");
    assert_eq!((head.seq, head.retransmission, sender.statistics.timeouts), (1, true, 1));
    assert_eq!(sender.window.cwnd, MSS);
    (sender, at)
}

fn hear(sender: &mut Sender, at: u64, ack: u64, echo: u64, block: Option<(u64, u64)>) {
    let mut sack = Sack::default();
    if let Some((start, end)) = block {
        sack.push(Block { start, end });
    }
    let header = AckHeader { ack, echo: ms(echo), stamp: ms(at), pure: true, feedback: 0 };
    sender.on_ack(ms(at), &header, &sack);
}

fn outs(sender: &mut Sender, at: u64) -> Vec<bool> {
    std::iter::from_fn(|| sender.next_out(ms(at)).map(|out| out.retransmission)).collect()
}

#[test]
fn an_echo_from_before_the_retransmission_brings_the_window_back() {
    let (mut sender, at) = timed_out();
    let now = at.0 / 1_000_000 + 20;
    hear(&mut sender, now, MSS + 1, 100, None);
    assert_eq!(sender.state, State::Open);
    assert!(sender.window.cwnd >= 10 * MSS && sender.window.ssthresh > 1000 * MSS);
    assert!(outs(&mut sender, now).iter().all(|again| !again), "nothing is held for lost any more");
}

#[test]
fn after_the_first_repair_new_data_comes_first_and_its_arrival_shows_that_the_loss_was_real() {
    let (mut sender, at) = timed_out();
    let (now, then) = (at.0 / 1_000_000 + 100, at.0 / 1_000_000 + 200);
    hear(&mut sender, now, MSS + 1, now - 100, None);
    assert_eq!(outs(&mut sender, now), [false, false], "two new segments, and no repair yet");
    let end = sender.nxt;
    hear(&mut sender, then, MSS + 1, now, Some((end - MSS, end)));
    assert!(outs(&mut sender, then).iter().all(|again| *again));
    assert_eq!(sender.window.ssthresh, 5 * MSS);
}

#[test]
fn what_was_never_sent_again_and_arrives_shows_that_the_timeout_was_needless() {
    let (mut sender, at) = timed_out();
    let now = at.0 / 1_000_000 + 100;
    hear(&mut sender, now, 6 * MSS + 1, now - 100, None);
    assert_eq!(sender.state, State::Open);
    assert!(sender.window.cwnd >= 10 * MSS);
}

#[test]
fn a_timeout_during_a_repair_does_not_reduce_again() {
    let (mut sender, at) = timed_out();
    assert_eq!(sender.window.ssthresh, 5 * MSS);
    sender.state = State::Recovery { point: sender.nxt };
    sender.time_out(at + Span::from_millis(1));
    assert_eq!(sender.window.ssthresh, 5 * MSS);
}

#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight_and_a_second_in_a_row_the_same_threshold() {
    let (mut sender, _) = timed_out();
    assert_eq!(sender.window.ssthresh, 5 * MSS);
    let at = sender.next_timer();
    sender.on_timeout(at);
    assert_eq!(sender.statistics.timeouts, 2);
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (MSS, 5 * MSS));
    let again: Vec<Out> = std::iter::from_fn(|| sender.next_out(at)).collect();
    assert_eq!(again.iter().map(|out| (out.seq, out.retransmission)).collect::<Vec<_>>(), [(1, true)]);
}

#[test]
fn a_recovery_is_undone_when_a_dsack_reports_its_only_retransmission() {
    let config = Config { mss: 1000, recovery: Recovery::RackTlp, stack: Stack::Linux, ..Config::default() };
    let mut sender = Sender::new(&config, Box::new(Reno::new(MSS, 10 * MSS, Counting::Bytes)));
    sender.open();
    sender.write(u64::MAX);
    sender.next_out(ms(0));
    hear(&mut sender, 100, 1, 0, None);
    assert_eq!(outs(&mut sender, 100), [false; 10]);
    hear(&mut sender, 200, 1, 100, Some((2 * MSS + 1, 6 * MSS + 1)));
    assert!(sender.state.is_recovery());
    assert!(outs(&mut sender, 200)[0]);
    let reduced = sender.window.ssthresh;
    assert!(reduced < 10 * MSS);
    let end = sender.nxt;
    hear(&mut sender, 320, end, 210, None);
    assert_eq!((sender.state, sender.window.ssthresh), (State::Open, reduced));
    let resent = sender.statistics.retransmits;
    assert!(outs(&mut sender, 320).contains(&false));
    for left in (0..resent).rev() {
        hear(&mut sender, 330, end, 210, Some((1, MSS + 1)));
        assert_eq!(sender.window.ssthresh, if left == 0 { u64::MAX } else { reduced });
    }
}

#[test]
fn a_timeout_after_data_got_through_reduces_again_though_karns_rule_let_nothing_be_measured() {
    for stack in [Stack::Plain, Stack::Linux] {
        let config = Config { mss: 1000, stack, ..Config::default() };
        let mut sender = Sender::new(&config, Box::new(Reno::new(MSS, 10 * MSS, Counting::Bytes)));
        let acknowledge = |sender: &mut Sender, at: Time, ack| {
            let header = AckHeader { ack, echo: Time::NEVER, stamp: at, pure: true, feedback: 0 };
            sender.on_ack(at, &header, &Sack::default());
            while sender.next_out(at).is_some() {}
        };
        let expire = |sender: &mut Sender| {
            let at = sender.next_timer();
            sender.on_timeout(at);
            while sender.next_out(at).is_some() {}
            (at, sender.window.ssthresh)
        };
        sender.open();
        sender.write(u64::MAX);
        sender.next_out(ms(0));
        acknowledge(&mut sender, ms(100), 1);
        let (at, halved) = expire(&mut sender);
        assert_eq!(halved, 5 * MSS, "{stack:?}");
        assert_eq!(expire(&mut sender).1, halved, "{stack:?}: for the same data");
        acknowledge(&mut sender, at + Span::from_millis(900), MSS + 1);
        assert_eq!(expire(&mut sender).1, 2 * MSS, "{stack:?}: for newer data");
    }
}

#[test]
fn a_window_that_the_last_data_fills_is_used_up_but_not_for_newreno() {
    let used_up = |grow_half_used, segments| {
        let config = Config { mss: 1000, grow_half_used, ..Config::default() };
        let mut sender = Sender::new(&config, Box::new(Reno::new(MSS, 10 * MSS, Counting::Bytes)));
        sender.open();
        sender.write(segments * MSS);
        sender.next_out(ms(0));
        hear(&mut sender, 100, 1, 0, None);
        assert_eq!(outs(&mut sender, 100).len() as u64, segments);
        sender.cwnd_limited.is_limited(sender.window, false)
    };
    assert!(used_up(true, 10));
    assert!(!used_up(true, 9));
    assert!(!used_up(false, 10));
}
