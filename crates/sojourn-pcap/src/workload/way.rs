//! One direction of a connection: its sequence space, what of it was acknowledged, how fast its end answers.

/// Sequence numbers that jump further are of another connection, or forged.
const FARTHEST: i64 = 1 << 30;

/// What an end sent, and what came of it: when each passed, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) sent: (i64, u32),
    pub(super) came: (i64, u32),
}

impl Answer {
    pub(super) fn took(&self) -> i64 {
        self.came.0.saturating_sub(self.sent.0).max(0)
    }
}

/// One end's sending.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// First sequence number of its data, once known.
    base: Option<u32>,
    /// Ends of the data and of what is acknowledged, and begin of the data, from `base`.
    pub(super) end: i64,
    pub(super) begin: i64,
    pub(super) acked: i64,
    /// End of what passed without a gap, and when it last grew: what the other end has, if that is beside the capture.
    front: i64,
    pub(super) front_at: i64,
    /// When `acked` last grew, and when data that was not acknowledged last passed.
    pub(super) acked_at: i64,
    pub(super) sent_at: i64,
    /// Up to where it was acknowledged before, and when: the last time, and the time before that.
    acked_before: [(i64, i64); 2],
    /// Payload of the packet of that time, and of the last with new data.
    pub(super) sent: u32,
    pub(super) last: u32,
    /// The longest segments, and the longest of which two followed each other at once: where it cuts its data.
    pub(super) longest: u32,
    pub(super) cut: u32,
    /// When the other end first acknowledged anything of it, be it the SYN.
    pub(super) opened: Option<i64>,
    /// Its last new data passed without what is before them.
    pub(super) skips: bool,
    /// Acknowledgement that its last new data carried.
    pub(super) heard: i64,
    /// Packets of it were seen; its SYN was; its FIN was; it was reset.
    pub(super) seen: bool,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) reset: bool,
    /// Data whose answer is waited for: its end, when it passed, and its payload.
    probe: Option<(i64, (i64, u32))>,
    /// Quickest answer of the *other* end to this one, as seen here.
    pub(super) answered: Option<Answer>,
    pub(super) mss: Option<u16>,
    pub(super) scale: Option<u8>,
    pub(super) window: u32,
    /// Segments with payload, and of them those that begin below what had passed: sent again, or overtaken.
    pub(super) data_pkts: u64,
    pub(super) again_pkts: u64,
    /// Of those, the ones all of which had passed in order before.
    passed_pkts: u64,
    /// Segments of which the other end says that it had them.
    pub(super) twice_pkts: u64,
}

impl Way {
    /// Segments sent again that are known to have come before: seen on their way to the capture, and said by the other
    /// end away from it; `far` is the end that sends.
    pub(super) fn in_vain(&self, far: bool) -> u64 {
        if far { self.passed_pkts } else { self.twice_pkts.min(self.again_pkts) }
    }

    /// Bytes of it that are in order.
    pub(super) fn in_order(&self) -> u64 {
        (self.front - self.begin).max(0) as u64
    }

    /// The first data byte's number, from its SYN.
    pub(super) fn opens(&mut self, seq: u32) {
        self.base = Some(seq.wrapping_add(1));
        self.syn = true;
    }

    /// Whether a SYN with this number opens another connection.
    pub(super) fn is_other(&self, seq: u32) -> bool {
        self.base.is_some_and(|base| !self.syn || base != seq.wrapping_add(1))
    }

    /// A number from `base`, which this one becomes if there is none. `None` if it is out of reach.
    pub(super) fn place(&mut self, seq: u32) -> Option<i64> {
        let base = *self.base.get_or_insert(seq);
        let near = self.end.max(self.acked);
        let place = near + i64::from(seq.wrapping_sub(base.wrapping_add(near as u32)) as i32);
        (place - near).abs().lt(&FARTHEST).then_some(place)
    }

    /// Payload from `start` to `end` passed, in so many segments. Returns the number of new bytes.
    pub(super) fn data(&mut self, (start, end): (i64, i64), segments: u64, now: i64) -> u64 {
        self.data_pkts += segments;
        // A keep-alive repeats one byte.
        if start < self.end && end - start > 1 {
            self.again_pkts += segments;
            self.passed_pkts += if end <= self.front { segments } else { 0 };
        }
        // A connection that began before the capture: its first segment may be overtaken, but a keep-alive is no data.
        if !self.syn && start < self.begin && end - start > 1 {
            self.begin = start;
        }
        if let Some((waited, _)) = self.probe
            && start < waited
        {
            self.probe = None; // Sent again: nobody knows which copy is answered.
        }
        // Also what fills a hole: only then the other end has all.
        let payload = (end - start) as u32;
        if end > self.acked {
            (self.sent_at, self.sent) = (now, payload);
        }
        self.longest = self.longest.max(payload);
        if start <= self.front && end > self.front {
            (self.front, self.front_at) = (end, now);
        }
        let new = end - self.end.max(if self.syn { 0 } else { self.begin });
        if new <= 0 {
            return 0;
        }
        self.skips = start > self.end;
        self.end = end;
        self.last = payload;
        self.probe.get_or_insert((end, (now, payload)));
        new as u64
    }

    /// A SYN or the answer to it passed: the other end answers it at once.
    pub(super) fn probe(&mut self, now: i64, again: bool) {
        self.probe = if again { None } else { Some((0, (now, 0))) };
    }

    /// Least time that the other end takes to answer data of this one.
    pub(super) fn answered_in(&self) -> Option<i64> {
        self.answered.map(|answer| answer.took())
    }

    /// The other end acknowledged up to `ack`, with so much payload. Returns how many of the bytes had not been seen.
    pub(super) fn acknowledged(&mut self, ack: i64, payload: u32, now: i64) -> u64 {
        if let Some((waited, sent)) = self.probe
            && ack >= waited
        {
            let answer = Answer { sent, came: (now, payload) };
            self.answered = self.answered.filter(|quickest| quickest.took() <= answer.took()).or(Some(answer));
            self.probe = None;
        }
        if ack >= 0 {
            self.opened.get_or_insert(now);
        }
        if ack > self.acked {
            self.acked_before = [(self.acked, self.acked_at), self.acked_before[0]];
            self.acked = ack;
            self.acked_at = now;
            // Of what was not seen the acknowledgement alone tells when the other end had it; a FIN is no data.
            if ack - i64::from(self.fin) > self.front {
                self.front_at = now;
            }
            self.front = self.front.max(ack);
        }
        let end = ack.min(self.end + i64::MAX / 4) - i64::from(self.fin);
        let unseen = (end - self.end).max(0);
        if unseen > 0 {
            (self.end, self.skips) = (end, false);
            self.sent_at = now;
        }
        unseen as u64
    }

    /// When what was acknowledged last had come, as an answer to it by itself would have passed, by the pace at which
    /// the other end had got what came before. That is known where all had been sent by the time at which the first of
    /// these left the queue: then it stood behind them.
    pub(super) fn paced(&self) -> Option<i64> {
        let [(before, at), (first, first_at)] = self.acked_before;
        let stood = self.sent_at < first_at.saturating_sub(self.answered_in()?);
        let share = (self.acked - before) as f64 / (before - first).max(1) as f64;
        stood.then(|| at.saturating_add((at.saturating_sub(first_at) as f64 * share) as i64))
    }

    /// Whether what the other end acknowledged last was two segments of this size or more: it holds back no answer to
    /// that (RFC 9293 §3.8.6.3).
    pub(super) fn acked_at_once(&self, segment: u32) -> bool {
        let [(before, _), _] = self.acked_before;
        segment > 0 && self.acked - before >= 2 * i64::from(segment)
    }

    /// True if it sent nothing when some of it was acknowledged since, before the last time.
    pub(super) fn has_room(&self) -> bool {
        self.acked_before[0].1 > self.sent_at
    }

    /// True if all that it has sent was acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.acked >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_had_come_was_sent_in_vain() {
        let mut way = Way::default();
        way.opens(u32::MAX);
        // The second is missing; the first comes again, then the second, then the third.
        for (start, end) in [(0, 100), (200, 300), (0, 100), (100, 200), (200, 300)] {
            way.data((start, end), 1, 5);
        }
        assert_eq!((way.again_pkts, way.in_vain(true), way.in_vain(false)), (3, 1, 0));
        way.twice_pkts = 2;
        assert_eq!((way.in_vain(true), way.in_vain(false)), (1, 2), "the other end says so");
        way.twice_pkts = 9;
        assert_eq!(way.in_vain(false), 3, "no more than were sent again");
        way.data((300, 700), 4, 6);
        assert_eq!((way.data_pkts, way.again_pkts), (9, 3), "four in a frame");
    }

    fn opened(seq: u32) -> Way {
        let mut way = Way::default();
        way.opens(seq);
        way
    }

    #[test]
    fn bytes_are_counted_once_whatever_the_order() {
        let mut way = opened(u32::MAX - 100);
        let mut total = 0;
        for (seq, length) in [(u32::MAX - 99, 100), (200, 100), (100, 100), (0, 100), (100, 100), (200, 100)] {
            let start = way.place(seq).expect("near");
            total += way.data((start, start + length), 1, 5);
        }
        assert_eq!((total, way.end), (400, 400));
        assert_eq!((way.data_pkts, way.again_pkts), (6, 4));
    }

    #[test]
    fn what_is_acknowledged_was_sent_though_nobody_saw_it() {
        let mut way = opened(7);
        let ack = way.place(8 + 1000).expect("near");
        assert_eq!(way.acknowledged(ack, 0, 3), 1000);
        assert_eq!(way.acknowledged(ack, 0, 4), 0);
        assert_eq!(way.data((0, 1000), 1, 5), 0);
        assert!(way.is_idle());
    }

    #[test]
    fn what_only_an_acknowledgement_tells_had_come_by_then() {
        let mut way = opened(7);
        let came = |way: &mut Way, ack, at| {
            way.acknowledged(ack, 0, at);
            way.front_at
        };
        assert_eq!(came(&mut way, 100, 500), 500, "not seen");
        way.data((100, 200), 1, 600);
        assert_eq!(came(&mut way, 200, 640), 600, "seen before");
        way.data((300, 400), 1, 650);
        assert_eq!(came(&mut way, 400, 660), 660, "a part was not seen");
        way.fin = true;
        assert_eq!(came(&mut way, 401, 700), 660, "no data");
    }

    #[test]
    fn what_stood_behind_others_came_at_their_pace() {
        // Sent at such times: 300 bytes, acknowledged in pieces. The other end answers after 40; a queue holds each
        // hundred bytes for 20.
        let paced = |last_sent, acks: &[(i64, i64)]| {
            let mut way = opened(7);
            way.probe(-40, false);
            way.acknowledged(0, 0, 0);
            way.data((0, 100), 1, 100);
            way.data((100, 300), 1, last_sent);
            acks.iter().for_each(|&(ack, at)| _ = way.acknowledged(ack, 0, at));
            way.paced()
        };
        let acks = [(100, 160), (200, 180), (300, 250)];
        assert_eq!([100, 119, 120].map(|sent| paced(sent, &acks)), [Some(200), Some(200), None]);
        assert_eq!(paced(100, &[(50, 150), (100, 160), (300, 250)]), Some(200), "twice as much took twice as long");
        assert_eq!(paced(100, &[(200, 180), (300, 250)]), None, "no pace is known");
    }

    #[test]
    fn what_was_sent_twice_times_no_answer() {
        let mut way = opened(7);
        way.data((0, 100), 1, 10);
        way.data((0, 100), 1, 500);
        way.acknowledged(100, 0, 520);
        assert_eq!(way.answered_in(), None);
        way.data((100, 200), 1, 600);
        way.acknowledged(200, 0, 640);
        assert_eq!(way.answered_in(), Some(40));
    }

    #[test]
    fn forged_numbers_are_out_of_reach() {
        let mut way = opened(7);
        way.data((0, 100), 1, 1);
        assert_eq!(way.place(0x7000_0000), None);
    }

    #[test]
    fn a_keep_alive_is_nothing_sent_again() {
        let mut way = opened(7);
        way.data((0, 100), 1, 1);
        way.data((99, 100), 1, 2);
        assert_eq!((way.data_pkts, way.again_pkts), (2, 0));
        way.data((98, 100), 1, 3);
        assert_eq!((way.data_pkts, way.again_pkts), (3, 1));
    }
}
