//! What an acknowledgement brings: to the scoreboard, the round-trip time, the controller, and the rate of sending.
//!
//! Source: RFC 5681 §3, RFC 6675 §5 (the order: SACK news first, then what is lost, then what may be sent). A
//! controller hears of every acknowledgement that advances, or, if it wants samples of the delivery rate, of every one
//! that delivers anything.

use super::Sender;
use crate::congestion::{Ack, Congestion};
use crate::tcp::segment::{AckHeader, Sack};
use crate::{Span, Time};

/// What one acknowledgement brought.
#[derive(Clone, Copy)]
pub(super) struct News {
    /// Bytes acknowledged cumulatively.
    pub(super) acked: u64,
    /// Bytes that are newly SACKed.
    pub(super) sacked: u64,
    /// Bytes not known to have arrived before, of either kind; not the SYN, which is no data.
    delivered: u64,
    /// Bytes in flight before it.
    pub(super) in_flight: u64,
    rtt: Option<Span>,
    /// It reports that something arrived twice (RFC 2883).
    dsack: bool,
}

impl News {
    #[inline]
    pub(super) fn advanced(&self) -> bool {
        self.acked > 0
    }
}

impl Sender {
    /// An acknowledgement arrived. Returns true if it advanced.
    #[inline]
    pub(in crate::tcp) fn on_ack(&mut self, now: Time, header: &AckHeader, sack: &Sack) -> bool {
        if header.ack > self.nxt || header.ack < self.una {
            return false;
        }
        if self.una == self.nxt && sack.is_empty() {
            return false; // Nothing is outstanding: so with every segment that reaches an end that only receives.
        }
        let news = self.take_in(now, header, sack);
        if !news.advanced() && self.board.outstanding() == 0 {
            return false;
        }
        let lost = self.board.bytes_lost();
        self.stack.begin_ack(news.dsack);
        self.update_recovery(now, &news, header);
        if news.dsack && self.state.has_no_loss() {
            self.undo(Time::NEVER);
        }
        let ce_bytes = if self.ecn.is_off() { 0 } else { self.take_feedback(now, &news, header.feedback) };
        self.rearm(now, &news, header.pure);
        self.delivered += news.delivered;
        if news.delivered > 0 && (news.advanced() || self.sampling) {
            let one_way = (header.echo != Time::NEVER).then(|| header.stamp.since(header.echo));
            self.tell_control(now, &news, ce_bytes, one_way);
        }
        if self.sack && self.state.is_reducing() && !self.no_prr {
            self.reduce_rate(news.delivered, news.advanced() && self.board.bytes_lost() == lost);
        }
        news.advanced()
    }

    /// Tells the scoreboard and the round-trip estimator.
    #[inline(always)] // Or what it returns goes through memory.
    fn take_in(&mut self, now: Time, header: &AckHeader, sack: &Sack) -> News {
        let AckHeader { ack, echo, .. } = *header;
        let in_flight = self.in_flight();
        let acked = ack - self.una;
        if self.rack {
            self.board.begin(now, self.rto.min());
        }
        let sack_first = self.stack.sack_first();
        let early = if sack_first && !sack.is_empty() { self.board.sack_beyond(sack, ack) } else { 0 };
        let mut delivered = 0;
        let mut rtt = None;
        if acked > 0 {
            let news = self.board.acknowledge(ack);
            // The SYN is no data: it does not open the window.
            delivered = news.delivered - u64::from(self.una == 0);
            self.una = ack;
            let sent = if echo == Time::NEVER { news.sent } else { Some(echo) };
            rtt = sent.map(|sent| now.since(sent));
            self.rto.latest = rtt.unwrap_or_default();
            if let Some(rtt) = rtt {
                self.rto.sample(rtt, self.una, self.nxt);
            }
        }
        let sacked = if sack.is_empty() || sack_first { early } else { self.board.sack(sack) };
        News { acked, sacked, delivered: delivered + sacked, in_flight, rtt, dsack: sack.is_dsack(ack) }
    }

    /// Takes in what the acknowledgement says of CE marks. Returns the bytes that arrived marked.
    #[inline(always)]
    fn take_feedback(&mut self, now: Time, news: &News, feedback: u8) -> u64 {
        let (ece, ce_bytes) = self.ecn.on_feedback(feedback, news.delivered, self.mss);
        if ece && self.una > 1 {
            self.on_ece(now, news.in_flight);
        }
        ce_bytes
    }

    /// Sets the timers anew, the tail loss probe's when it has been answered.
    #[inline(always)]
    fn rearm(&mut self, now: Time, news: &News, pure: bool) {
        let advanced = news.advanced();
        if self.rack {
            let duplicate = news.dsack || (!advanced && news.sacked == 0 && pure);
            if self.tlp.on_ack(self.una, duplicate) && self.state.has_no_loss() {
                self.on_probe_repair(now, news.in_flight);
            }
        }
        if advanced {
            self.rto_at = if self.board.outstanding() == 0 { Time::NEVER } else { self.rto.deadline(now) };
            self.tlp.put_off = self.rack;
        }
    }

    /// A tail loss probe turns out to have repaired a loss, which nothing else has told of.
    #[cold]
    fn on_probe_repair(&mut self, now: Time, in_flight: u64) {
        self.ecn.on_reduction();
        self.control.on_congestion(now, Congestion::Loss, in_flight);
        self.control.on_recovered(now);
        self.refresh_window();
    }

    #[inline(always)] // Or its arguments go through memory.
    fn tell_control(&mut self, now: Time, news: &News, ce_bytes: u64, one_way: Option<Span>) {
        let rtt = if self.sampling { self.board.rtt(now) } else { news.rtt };
        let sample = if self.sampling { self.board.sample(now, self.delivered, self.rto.min()) } else { None };
        self.control.on_ack(
            now,
            &Ack {
                delivered: news.delivered,
                in_flight: news.in_flight,
                una: self.una,
                next: self.nxt,
                rtt,
                one_way,
                srtt: self.rto.smoothed(),
                min_rtt: self.rto.min(),
                app_limited: !self.cwnd_limited.is_limited(self.window, self.grow_half_used),
                recovering: self.state.is_reducing(),
                left_in_flight: self.in_flight(),
                next_send: self.pacer.next,
                total_delivered: self.delivered,
                total_lost: self.board.bytes_lost(),
                ce_bytes,
                sample,
            },
        );
        self.refresh_window();
    }

    /// In fast recovery an acknowledgement of `delivered` bytes releases only a share of them.
    fn reduce_rate(&mut self, delivered: u64, safe: bool) {
        let pipe = self.in_flight();
        let released = self.prr.on_ack(delivered, pipe, self.window.ssthresh, u64::from(self.mss), safe);
        self.allowed = pipe + released;
    }
}
