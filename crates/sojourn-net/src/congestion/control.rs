//! What a sender and its congestion controller say to each other.

use super::variables::Variables;
use crate::{Ecn, Rate, Span, Time};

/// One acknowledgement's news. A struct, so that a new controller needs no new argument.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes this acknowledgement says have arrived, counted once each (cumulatively or selectively).
    pub delivered: u64,
    /// Bytes in flight before it arrived.
    pub in_flight: u64,
    /// First sequence number that it does not acknowledge …
    pub una: u64,
    /// … and the first not sent before it arrived.
    pub next: u64,
    /// Round-trip time measured by it: of the first segment that it acknowledges, or of the one sent last where rate
    /// samples are asked for.
    pub rtt: Option<Span>,
    /// One-way delay of the segment that it echoes, and of the acknowledgement's own wait at the receiver; needs
    /// timestamps.
    pub one_way: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Smallest round-trip time seen.
    pub min_rtt: Span,
    /// The sender did not use the window it had: there is nothing to learn about a larger one.
    pub app_limited: bool,
    /// The sender is repairing a loss found by duplicate acknowledgements.
    pub recovering: bool,
    /// Bytes in flight after it arrived, and after what it shows to be lost was taken off.
    pub left_in_flight: u64,
    /// When pacing lets the next segment leave; now or earlier if it holds nothing back.
    pub next_send: Time,
    /// Bytes delivered since the connection began.
    pub total_delivered: u64,
    /// Bytes found to be lost since the connection began.
    pub total_lost: u64,
    /// Of the bytes delivered by it, those in segments that arrived marked CE, as far as the receiver tells.
    pub ce_bytes: u64,
    /// How fast the network delivered lately.
    pub sample: Option<RateSample>,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr §4.5.1.1, "rate sample"): what happened between the sending of
/// the most recently sent of the segments that an acknowledgement shows to have arrived, and that acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in that time.
    pub delivered: u64,
    /// The longer of the time in which they were sent and that in which they were acknowledged.
    pub interval: Span,
    /// `total_delivered` when that segment was sent.
    pub prior_delivered: u64,
    /// Bytes found to be lost in that time.
    pub lost: u64,
    /// Bytes in flight just after that segment was sent, itself included.
    pub tx_in_flight: u64,
    /// The sender had nothing to send when that segment was sent: the rate is a lower bound.
    pub app_limited: bool,
}

impl RateSample {
    /// The rate; `None` if no time passed.
    pub fn rate(&self) -> Option<Rate> {
        let bits = u128::from(self.delivered) * 8_000_000_000;
        (self.interval > Span::ZERO).then(|| Rate((bits / u128::from(self.interval.0)) as u64))
    }
}

/// Rounds: each ends with the first acknowledgement of something sent after its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    pub(super) end: u64,
}

impl Round {
    /// True if `ack` ends a round, and another begins.
    pub(super) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = ack.una > self.end;
        if ends {
            self.end = ack.next;
        }
        ends
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss found by duplicate or selective acknowledgements.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// The receiver echoes a mark (RFC 3168 §6.1.2).
    Mark,
}

/// What a sender may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Bytes that may be in flight.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; `u64::MAX` before the first loss.
    pub ssthresh: u64,
    /// Rate at which packets should be spaced, if the controller wants that.
    pub pacing: Option<Rate>,
}

/// What a controller asks of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Samples of the delivery rate, and to hear also of acknowledgements that deliver only selectively.
    pub rate_samples: bool,
    /// No proportional rate reduction: the controller decides by itself what a loss does to the window.
    pub no_prr: bool,
    /// Packets spread finely: quanta of a quarter of a millisecond, single segments where that is less.
    pub fine_pacing: bool,
}

/// Decides how much may be in flight.
pub trait CongestionControl: Send {
    /// News of arrivals.
    fn on_ack(&mut self, now: Time, ack: &Ack);
    /// A loss or a mark (each told once for each window of data) or a timeout, with the bytes in flight when it was
    /// found.
    fn on_congestion(&mut self, now: Time, what: Congestion, in_flight: u64);
    /// The sender was idle for longer than its retransmission timeout: the window to restart with, at most.
    fn on_idle(&mut self, now: Time, restart: u64);
    /// The last reduction was not called for, or not to that extent: window and threshold are to be these.
    fn restore(&mut self, cwnd: u64, ssthresh: u64) {
        let _ = (cwnd, ssthresh);
    }
    /// All that was lost has been repaired: the recovery that began with a loss or a timeout is over.
    fn on_recovered(&mut self, now: Time) {
        let _ = now;
    }
    /// The present window.
    fn window(&self) -> Window;
    /// The code point that data carries if the connection may use ECN; `Ect1` also asks the receiver for accurate
    /// feedback.
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }
    /// What it asks of the sender, asked once when a connection begins.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Shows its variables, each of which is told or set; `cwnd` and `ssthresh` are shown by all.
    fn variables(&mut self, show: &mut Variables<'_>) {
        let _ = show;
    }
    /// Tells its variables.
    fn state(&mut self, tell: &mut dyn FnMut(&'static str, f64)) {
        self.variables(&mut Variables::new(tell, None));
    }
    /// Sets one of them before the first event, so that a published vector can start anywhere. False if it cannot be
    /// set.
    fn set(&mut self, name: &str, value: f64) -> bool {
        let mut tell = |_, _| ();
        let mut variables = Variables::new(&mut tell, Some((name, value)));
        self.variables(&mut variables);
        variables.found
    }
}
