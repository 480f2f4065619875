//! Whether a sender answers losses as Reno and CUBIC do, or is BBR's.
//!
//! *By its response function.* Who cuts its window at each loss has, when it loses again, what it regained meanwhile,
//! and no more. After *n* segments Reno has W = √(8n/3), which halves it and regains a segment a round trip (Mathis,
//! Semke, Mahdavi and Ott, CCR 27(3), 1997, equations 1 to 3). CUBIC cuts it to 0.7 and has no more than that in its
//! Reno-friendly region, and beyond it W = 0.4/0.3·t³ after *t* seconds (RFC 9438 §4.2, where W(K) = W_max). BBR's
//! window is twice what its model of the path holds, whatever is lost (draft-cardwell-iccrg-bbr-congestion-control-00
//! §4.2.3). So it is BBR's if its window at losses is larger than both. The laws are of losses at equal intervals, and
//! are held here against the median window, less what windows fell by meanwhile, and mean intervals; so much more is
//! asked for as few losses scatter. The limits were set by simulated captures in which 320 senders of Reno and CUBIC
//! had at most 0.96 of the law's with twenty losses or more, and 1.28 with ten.
//!
//! *By its probes.* BBR looks for the round trip without queues every 10 s: for 200 ms it has four segments under way
//! (§4.3.5 of the draft), and then what it had before. Nobody else does that twice. BBR of version 3 does not, and
//! heeds losses, so it may be neither.
//!
//! What is under way is in the sender's own segments, wherever the capture was taken: they echo the timestamp of the
//! last acknowledgement that had reached it (RFC 7323 §4.3). Without timestamps nothing is known.

use super::probes::Probes;
use std::collections::VecDeque;

/// Fewer losses tell nothing, and no more are kept.
const LEAST_LOSSES: usize = 10;
const MOST_LOSSES: usize = 1024;
/// Acknowledgements on their way to the sender that are kept.
const MOST_COMING: usize = 256;
/// Segments that pass before one is sent again (RFC 5681 §3.2: three acknowledgements say that it is lost).
const LATE: i64 = 3;
/// CUBIC cuts its window by so much of it, and Reno by more.
const LEAST_CUT: f64 = 0.3;
/// Multiple of the law's window from which it is BBR's, with many losses, and what is added to it over their number.
const BEYOND: f64 = 1.2;
const SCATTER: f64 = 4.0;
/// Segments of an end from which on it is watched.
const LONG: u32 = 64;

/// The two ends of a connection.
#[derive(Debug, Default)]
pub(super) struct Responses([(u32, Option<Box<Response>>); 2]);

impl Responses {
    /// What end `by` sent was acknowledged up to `ack`; with the timestamps of that packet.
    pub(super) fn acknowledged(&mut self, by: usize, ack: i64, stamps: Option<(u32, u32)>) {
        if let Some((response, (stamp, _))) = self.0[by].1.as_mut().zip(stamps) {
            response.acknowledged(ack, stamp);
        }
    }

    /// Data of end `by` passed, in segments of at most `segment` bytes.
    pub(super) fn data(&mut self, by: usize, data: (i64, i64), segment: u32, stamps: Option<(u32, u32)>, now: i64) {
        let (passed, response) = &mut self.0[by];
        *passed = passed.saturating_add(1);
        if *passed > LONG
            && let Some((_, echo)) = stamps
        {
            response.get_or_insert_default().data(data, segment, echo, now);
        }
    }

    /// What end `by` does at losses, if that is known. Of `again` segments that it sent again so many were `vain`.
    pub(super) fn answers(&self, by: usize, again: u64, vain: u64) -> Option<Answers> {
        self.0[by].1.as_ref()?.answers(again, vain)
    }
}

/// What one end has under way, and what it loses.
#[derive(Debug, Default)]
struct Response {
    /// Acknowledgements that no segment of it has echoed yet: their timestamps, and up to where.
    coming: VecDeque<(u32, i64)>,
    /// Up to where it had heard when it sent last; the most under way since it heard that, and since the time before.
    heard: i64,
    flight: i64,
    flight_before: i64,
    /// The end of its data, all bytes that it sent, and its longest segment.
    end: i64,
    sent: u64,
    segment: i64,
    /// Up to where it had sent when it found a loss: what is lost below belongs to that.
    recovers: i64,
    /// What was under way when a segment was sent that was lost, of all losses but the first: no loss had cut that.
    windows: Vec<u32>,
    /// When the first of these and the last were found, and how many bytes had been sent by then.
    losses: [(i64, u64); 2],
    lost_at: Option<i64>,
    probes: Probes,
}

/// What a sender does at losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// It sends less, as Reno and CUBIC.
    Less,
    /// It is BBR's.
    Bbr,
}

impl Response {
    /// The other end acknowledged up to `ack`, with this timestamp.
    fn acknowledged(&mut self, ack: i64, stamp: u32) {
        match self.coming.back_mut() {
            Some((_, last)) if ack <= *last => return,
            Some((at, last)) if *at == stamp => {
                *last = ack;
                return;
            }
            _ => self.coming.push_back((stamp, ack)),
        }
        if self.coming.len() > MOST_COMING {
            // Less is under way than is known.
            self.heard = self.heard.max(self.coming.pop_front().map_or(0, |(_, ack)| ack));
        }
    }

    /// Its data from `start` to `end` passed, of segments of at most `segment` bytes, with the timestamp it echoes.
    fn data(&mut self, (start, end): (i64, i64), segment: u32, echo: u32, now: i64) {
        self.sent += (end - start) as u64;
        self.segment = self.segment.max(i64::from(segment));
        let mut heard = self.heard;
        while let Some(&(stamp, ack)) = self.coming.front()
            && echo.wrapping_sub(stamp) as i32 >= 0
        {
            self.coming.pop_front();
            heard = heard.max(ack);
        }
        if heard > self.heard {
            (self.heard, self.flight_before, self.flight) = (heard, self.flight, 0);
        }
        if start >= self.end {
            self.end = end;
            let many = self.flight.max(self.flight_before);
            self.probes.sent([end - self.heard, many], self.segment, self.lost_at, now);
            self.flight = end - self.heard;
        } else {
            self.again(start, now);
            self.end = self.end.max(end);
        }
    }

    /// Data from `start` passed below what had passed.
    fn again(&mut self, start: i64, now: i64) {
        let window = if self.heard >= start { self.flight_before } else { self.flight };
        // What the path overtook comes soon after what was sent next, and so does a keep-alive; a repair a round trip
        // later.
        let late = self.end - start >= (window / 2).max(LATE * self.segment);
        if !late || start < self.recovers {
            return;
        }
        self.recovers = self.end;
        if self.lost_at.replace(now).is_some() && self.windows.len() < MOST_LOSSES {
            self.losses[1] = (now, self.sent);
            if self.windows.is_empty() {
                self.losses[0] = self.losses[1];
            }
            self.windows.push(window.clamp(0, u32::MAX.into()) as u32);
        }
    }

    /// How many times the law's window it has at losses, and of how many that is the median. What it cuts when it sends
    /// in vain it takes back, so that only a share of them counts.
    fn beyond(&self, share: f64) -> Option<(f64, usize)> {
        let count = self.windows.len();
        let [(first, sent_first), (last, sent_last)] = self.losses;
        if count < LEAST_LOSSES || share <= 0.0 {
            return None;
        }
        let (size, intervals) = (self.segment.max(1) as f64, (count - 1) as f64 * share);
        let segments = (sent_last - sent_first) as f64 / size / intervals;
        let seconds = last.saturating_sub(first).max(0) as f64 / 1e9 / intervals;
        let mut windows = self.windows.clone();
        windows.sort_unstable();
        let law = (8.0 / 3.0 * segments).sqrt().max(0.4 / 0.3 * seconds.powi(3));
        // What its windows have fallen by it did not regain: as after slow start, which had far more.
        let [high, low] = [self.windows[0], self.windows[count - 1]].map(f64::from);
        let fallen = (high - low).max(0.0) / (LEAST_CUT * (count - 1) as f64);
        Some(((f64::from(windows[count / 2]) - fallen).max(0.0) / size / law, count))
    }

    /// What it does at losses, as [`Responses::answers`] says.
    fn answers(&self, again: u64, vain: u64) -> Option<Answers> {
        if self.probes.are_seen() {
            return Some(Answers::Bbr);
        }
        let (beyond, count) = self.beyond(again.saturating_sub(vain) as f64 / again.max(1) as f64)?;
        match beyond {
            _ if beyond > BEYOND + SCATTER / count as f64 => Some(Answers::Bbr),
            _ if beyond <= 1.0 => Some(Answers::Less),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: i64 = 1000;
    const ROUND_MS: i64 = 40;

    /// A sender, seen beside it: rounds of 40 ms, in each of which a window passes and is acknowledged.
    #[derive(Default)]
    struct Sender {
        response: Response,
        now_ms: i64,
        next: i64,
        /// So much of each round is not acknowledged until the next.
        left: i64,
    }

    impl Sender {
        fn pass(&mut self, start: i64, end: i64) {
            self.response.data((start, end), SEGMENT as u32, self.now_ms as u32, self.now_ms * 1_000_000);
        }

        /// A round in which so many segments are under way. If the first of them is lost, it is found a round later.
        fn round(&mut self, window: i64, lost: bool) {
            let first = self.next;
            for _ in 0..window {
                self.pass(self.next, self.next + SEGMENT);
                self.next += SEGMENT;
            }
            self.now_ms += ROUND_MS;
            if lost {
                self.pass(first, first + SEGMENT);
                self.now_ms += ROUND_MS;
            }
            self.response.acknowledged(self.next - self.left, self.now_ms as u32);
        }

        /// So many losses, each after `rounds` rounds, in which the window grows by a segment each to `window`.
        fn losses(&mut self, count: usize, rounds: i64, window: impl Fn(i64) -> i64) -> &mut Self {
            for _ in 0..count {
                for round in 1..=rounds {
                    self.round(window(round), round == rounds);
                }
            }
            self
        }

        fn answers(&self) -> Option<Answers> {
            self.response.answers(100, 0)
        }
    }

    #[test]
    fn who_halves_its_window_has_what_the_law_says() {
        let mut reno = Sender::default();
        reno.losses(31, 10, |round| 10 + round);
        let (beyond, losses) = reno.response.beyond(1.0).expect("known");
        assert_eq!(losses, 30, "the first is of slow start");
        // 19 segments, a round before the loss, of √(8/3 · 156), a repair among them.
        assert_eq!((100.0 * beyond) as u32, 93);
        assert_eq!(reno.answers(), Some(Answers::Less));
        assert_eq!(Sender::default().losses(31, 50, |_| 20).answers(), Some(Answers::Less), "it could have more");
    }

    #[test]
    fn who_keeps_its_window_at_losses_is_bbr() {
        let of = |count, rounds, window| {
            let mut sender = Sender::default();
            sender.losses(count, rounds, |_| window);
            (sender.response.beyond(1.0).map(|(beyond, _)| (100.0 * beyond) as u32), sender.answers())
        };
        // 20 segments of √(8/3 · 101) and √(8/3 · 161).
        assert_eq!(of(31, 5, 20), (Some(121), None), "losses scatter");
        assert_eq!(of(401, 5, 20), (Some(121), Some(Answers::Bbr)));
        assert_eq!(of(31, 3, 20).1, Some(Answers::Bbr));
        assert_eq!([10, 11].map(|count| of(count, 3, 20).1), [None, None]);
        assert_eq!([10, 11].map(|count| of(count, 1, 20).1), [None, Some(Answers::Bbr)]);
        assert_eq!(of(31, 8, 20), (Some(96), Some(Answers::Less)));
        let mut long = Sender::default();
        long.losses(MOST_LOSSES + 9, 3, |_| 20);
        assert_eq!(long.response.windows.len(), MOST_LOSSES, "no more are kept");
    }

    #[test]
    fn what_windows_fall_by_is_not_regained() {
        // As of a film by CUBIC, whose windows fall from what slow start had: eleven losses, ten rounds apart.
        let of = |windows: [i64; 12]| {
            let mut sender = Sender::default();
            windows.into_iter().for_each(|window| _ = sender.losses(1, 10, |_| window));
            (sender.response.beyond(1.0).map(|(beyond, _)| (100.0 * beyond) as u32), sender.answers())
        };
        let falls = of([220, 163, 118, 91, 77, 96, 73, 114, 104, 88, 84, 82]);
        let mut rises = [220, 163, 118, 91, 77, 96, 73, 114, 104, 88, 84, 82];
        rises[1..].reverse();
        assert_eq!((falls, of(rises)), ((Some(128), None), (Some(175), Some(Answers::Bbr))));
    }

    #[test]
    fn the_window_is_the_median() {
        let mut sender = Sender::default();
        sender.losses(11, 1, |_| 10).losses(8, 1, |_| 16).losses(8, 1, |_| 10);
        let (beyond, _) = sender.response.beyond(1.0).expect("known");
        // 17 intervals of 11 segments, 8 of 17.
        assert!((beyond - 10.0 / (8.0f64 / 3.0 * 323.0 / 25.0).sqrt()).abs() < 0.001, "{beyond}");
    }

    #[test]
    fn cubic_may_have_regained_more_in_long_times() {
        // 100 rounds of 40 ms are 4.04 s, after which CUBIC has 88 segments, and Reno 366.
        let mut sender = Sender::default();
        sender.losses(21, 100, |_| 500);
        assert_eq!(sender.answers(), None);
        let law = (8.0f64 / 3.0 * 50_001.0).sqrt();
        assert!((sender.response.beyond(1.0).unwrap().0 - 500.0 / law).abs() < 0.001);
        // Windows of few segments in long rounds: there CUBIC's law is the larger one.
        let slow = |seconds: i64| {
            let mut sender = Sender::default();
            for _ in 0..21 {
                sender.round(30, true);
                sender.now_ms += 1000 * seconds;
            }
            sender.response.beyond(1.0).unwrap().0
        };
        assert!((slow(0) - 30.0 / (8.0f64 / 3.0 * 31.0).sqrt()).abs() < 0.001);
        assert!((slow(4) - 30.0 / (0.4 / 0.3 * 4.08f64.powi(3))).abs() < 0.001, "{}", slow(4));
    }

    #[test]
    fn losses_found_before_all_that_had_been_sent_was_heard_of_are_one() {
        let mut sender = Sender::default();
        for _ in 0..30 {
            sender.round(20, false);
            let first = sender.next - 20 * SEGMENT;
            for lost in [0, 3, 7] {
                sender.pass(first + lost * SEGMENT, first + (lost + 1) * SEGMENT);
            }
        }
        assert_eq!(sender.response.windows.len(), 29);
    }

    #[test]
    fn what_was_overtaken_or_sent_in_vain_is_no_loss() {
        let mut sender = Sender::default();
        for _ in 0..30 {
            sender.round(20, false);
            sender.pass(sender.next - 3 * SEGMENT, sender.next - 2 * SEGMENT);
            sender.pass(sender.next - 1, sender.next);
        }
        assert_eq!(sender.response.lost_at, None);
        let mut small = Sender::default();
        small.round(3, false);
        let mut lost = |behind: i64| {
            small.pass(small.next - behind * SEGMENT, small.next - (behind - 1) * SEGMENT);
            small.response.lost_at.is_some()
        };
        assert_eq!([1, 2, 3].map(&mut lost), [false, false, true], "however few are under way");
        sender.losses(31, 3, |_| 20);
        let beyond = |share| sender.response.beyond(share).map(|(beyond, _)| (100.0 * beyond) as u32);
        assert_eq!((beyond(1.0), beyond(0.5)), (Some(156), Some(110)), "20 of √(8/3 · 61), and of √(8/3 · 61 · 2)");
        let answers = [0, 50, 60, 100].map(|vain| sender.response.answers(100, vain));
        assert_eq!(answers, [Some(Answers::Bbr), None, Some(Answers::Less), None]);
    }

    #[test]
    fn what_is_under_way_is_told_far_from_the_sender_too() {
        // Acknowledgements pass the capture 30 ms before their sender hears of them.
        let mut response = Response::default();
        fn pass(response: &mut Response, place: i64, echo: u32) -> [i64; 3] {
            response.data((place * SEGMENT, (place + 1) * SEGMENT), SEGMENT as u32, echo, 5);
            [response.heard, response.flight, response.flight_before].map(|bytes| bytes / SEGMENT)
        }
        assert_eq!([0, 1, 2].map(|place| pass(&mut response, place, u32::MAX - 9)), [[0, 1, 0], [0, 2, 0], [0, 3, 0]]);
        for (place, stamp) in [(1, u32::MAX), (2, u32::MAX), (3, 7), (2, 9)] {
            response.acknowledged(place * SEGMENT, stamp);
        }
        assert_eq!(pass(&mut response, 3, u32::MAX - 9), [0, 4, 0], "it has heard nothing");
        assert_eq!(pass(&mut response, 4, u32::MAX), [2, 3, 4], "of two with one timestamp the latter");
        assert_eq!(pass(&mut response, 5, 8), [3, 3, 3]);
    }

    #[test]
    fn no_more_acknowledgements_are_kept_than_have_room() {
        let mut response = Response::default();
        (0..1000).for_each(|place| response.acknowledged(place, place as u32));
        assert_eq!((response.coming.len(), response.heard), (MOST_COMING, 743));
        let mut at_once = Response::default();
        (0..1000).for_each(|place| at_once.acknowledged(place, 5));
        (5..1000).for_each(|stamp| at_once.acknowledged(999, stamp));
        assert_eq!(at_once.coming, [(5, 999)], "of one time, and no more of it");
    }

    #[test]
    fn who_has_four_segments_under_way_every_ten_seconds_is_bbr() {
        let probing = |few: i64, rounds: i64, every_s: i64, lost_before_ms: i64| {
            let mut sender = Sender { left: SEGMENT, ..Sender::default() };
            for _ in 0..3 {
                let until = sender.now_ms + 1000 * every_s;
                while sender.now_ms < until {
                    let lost = (until - 60..until).contains(&(sender.now_ms + lost_before_ms));
                    sender.round(30, lost);
                }
                (0..rounds).for_each(|_| sender.round(few, false));
            }
            sender.round(30, false);
            sender.answers()
        };
        let never = -20_000;
        assert_eq!(probing(3, 5, 10, never), Some(Answers::Bbr));
        assert_eq!([4, 5].map(|few| probing(few, 5, 10, never).is_some()), [true, false]);
        assert_eq!([3, 4, 25, 26].map(|rounds| probing(3, rounds, 10, never).is_some()), [false, true, true, false]);
        assert_eq!([9, 11, 12].map(|every| probing(3, 5, every, never).is_some()), [false, true, false]);
        assert_eq!([900, 1100].map(|before| probing(3, 5, 10, before).is_some()), [false, true], "after a loss");
        assert_eq!(probing(0, 9, 10, never), None, "it sends nothing");
        let mut short = Sender { left: SEGMENT, ..Sender::default() };
        for _ in 0..3 {
            (0..250).for_each(|_| short.round(30, false));
            short.round(1, false);
            short.now_ms += 160;
        }
        short.round(30, false);
        assert_eq!(short.answers(), None, "it sends nothing but one");
    }

    #[test]
    fn who_has_nothing_to_send_for_a_while_does_not_probe() {
        let mut sender = Sender::default();
        for _ in 0..5 {
            (0..150).for_each(|_| sender.round(30, false));
            sender.now_ms += 3800;
            (0..5).for_each(|_| sender.round(4, false));
        }
        assert_eq!(sender.answers(), None);
    }

    #[test]
    fn short_connections_are_not_watched() {
        let mut ends = Responses::default();
        let mut pass = |place: i64, stamps| ends.data(1, (place, place + 2), 2, stamps, 5);
        (0..i64::from(LONG)).for_each(|place| pass(place, Some((0, 0))));
        pass(99, None);
        assert!(ends.0.iter().all(|(_, response)| response.is_none()));
        ends.data(1, (100, 102), 2, Some((0, 0)), 5);
        assert_eq!(ends.0.map(|(_, response)| response.is_some()), [false, true]);
    }
}
