//! What an acknowledgement brings: to the scoreboard, the round-trip time, the controller, and the rate of sending.
//!
//! Source: RFC 5681 §3, RFC 6675 §5 (the order: SACK news first, then what is lost, then what may be sent). A controller hears of every
//! acknowledgement that advances, or, if it wants samples of the delivery rate, of every one that delivers anything.

use super::Sack;
use super::sender::Sender;
use crate::congestion::Ack;
use crate::{Span, Time};

/// What the header of a segment says about what has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Next sequence number expected.
    pub(super) ack: u64,
    /// The stamp that it echoes; `NEVER` without timestamps.
    pub(super) echo: Time,
    /// Its own.
    pub(super) stamp: Time,
    /// The segment carries nothing else.
    pub(super) pure: bool,
    /// What it says of marks.
    pub(super) feedback: u8,
}

impl Sender {
    /// In fast recovery an acknowledgement of `delivered` bytes releases only a share of them.
    fn reduce_rate(&mut self, delivered: u64, safe: bool) {
        let pipe = self.in_flight();
        let released = self.prr.on_ack(delivered, pipe, self.window.ssthresh, u64::from(self.mss), safe);
        self.allowed = pipe + released;
    }

    /// An acknowledgement arrived. Returns true if it advanced.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, heard: Heard, sack: &Sack) -> bool {
        let Heard { ack, echo, stamp, pure, feedback } = heard;
        if ack > self.nxt || ack < self.una {
            return false;
        }
        if self.una == self.nxt && sack.is_empty() {
            return false; // Nothing is outstanding: so with every segment that reaches an end that only receives.
        }
        let advanced = ack > self.una;
        let in_flight = self.in_flight();
        let acked = ack - self.una;
        if self.by_time {
            self.board.begin(now, self.rtt.min());
        }
        let mut delivered = 0;
        let mut rtt = None;
        let one_way = (echo != Time::NEVER).then(|| stamp.since(echo));
        // Linux looks at SACK first, and that decides which round trip RACK goes by.
        let early = if self.linux && !sack.is_empty() { self.board.sack_beyond(sack, ack) } else { 0 };
        if advanced {
            let news = self.board.acknowledge(ack);
            // The SYN is no data: it does not open the window.
            delivered = news.delivered - u64::from(self.una == 0);
            self.una = ack;
            let sent = if echo == Time::NEVER { news.sent } else { Some(echo) };
            rtt = sent.map(|sent| now.since(sent));
            if let Some(rtt) = rtt {
                self.rtt.sample(rtt, self.una, self.nxt);
            }
        }
        let sacked = if sack.is_empty() || self.linux { early } else { self.board.sack(sack) };
        delivered += sacked;
        if !advanced && self.board.outstanding() == 0 {
            return false;
        }
        let marked = self.board.marked();
        let duplicate = self.linux && sack.blocks().first().is_some_and(|block| block.end <= ack);
        if self.linux {
            self.undo.begin(duplicate);
        }
        self.judge(now, (acked, sacked), pure, in_flight, echo);
        if duplicate && self.state.has_no_loss() {
            self.undo_if_needless(Time::NEVER);
        }
        let mut told = 0;
        if !self.marking.is_off() {
            let (is_marked, bytes) = self.marking.on_feedback(feedback, delivered, self.mss);
            told = bytes;
            if is_marked && self.una > 1 {
                self.on_mark(now, in_flight);
            }
        }
        if self.by_time {
            let two_copies = sack.blocks().first().is_some_and(|block| block.end <= ack);
            self.on_probe_ack(now, two_copies || (!advanced && sacked == 0 && pure), in_flight);
        }
        if advanced {
            self.rto_at = if self.board.outstanding() == 0 { Time::NEVER } else { self.rtt.deadline(now) };
            if self.by_time {
                self.arm_probe(now);
            }
        }
        self.delivered += delivered;
        if delivered > 0 && (advanced || self.sampling) {
            self.tell_control(now, (delivered, told), in_flight, (rtt, one_way));
        }
        if self.sack && self.state.is_reducing() && !self.unreduced {
            self.reduce_rate(delivered, advanced && self.board.marked() == marked);
        }
        advanced
    }

    #[inline(always)] // Or its arguments go through memory.
    fn tell_control(
        &mut self,
        now: Time,
        (delivered, marked): (u64, u64),
        in_flight: u64,
        (rtt, one_way): (Option<Span>, Option<Span>),
    ) {
        let sample = if self.sampling { self.board.sample(now, self.delivered, self.rtt.min()) } else { None };
        self.control.on_ack(
            now,
            &Ack {
                delivered,
                in_flight,
                una: self.una,
                next: self.nxt,
                rtt,
                one_way,
                srtt: self.rtt.smoothed(),
                min_rtt: self.rtt.min(),
                app_limited: !self.usage.is_full(self.window, self.grow_half_used),
                recovering: self.state.is_reducing(),
                left_in_flight: self.in_flight(),
                next_send: self.pacer.next,
                total_delivered: self.delivered,
                total_lost: self.board.marked(),
                marked,
                sample,
            },
        );
        self.refresh_window();
    }
}
