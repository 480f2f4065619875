//! One end of a connection: a sender and a receiver that share segments.
//!
//! Source: RFC 9293 §3.5 and §3.6 (three-way handshake, FIN in each direction), with the states implied by what has
//! been sent and acknowledged rather than named. Every segment but the first SYN carries an acknowledgement.

use super::config::{Config, Recovery, Stack};
use super::receiver::Receiver;
use super::segment::{AckHeader, Sack, Segment};
use super::sender::Sender;
use super::window_growth::WindowGrowth;
use crate::congestion::CongestionControl;
use crate::{Ecn, Span, Time};

/// Who opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the first SYN.
    Active,
    /// Answers it.
    Passive,
}

/// What a segment changed, for the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// More has arrived in order.
    pub received: bool,
    /// More has been acknowledged.
    pub acknowledged: bool,
}

/// One end of a connection. The order is that in memory: what every segment touches of one half is near what it touches
/// of the other.
#[repr(C)]
pub struct Endpoint {
    timestamps: bool,
    receiver: Receiver,
    sender: Sender,
}

impl Endpoint {
    /// A new endpoint; an active one has its SYN ready.
    pub fn new(role: Role, config: &Config, control: Box<dyn CongestionControl>) -> Self {
        let mut sender = Sender::new(config, control);
        if role == Role::Active {
            sender.open();
        }
        let reports_duplicates = config.sack && config.recovery == Recovery::RackTlp;
        let receiver = Receiver::new(config.mss, config.ack_delay, config.sack).with_extras(
            config.ecn,
            reports_duplicates,
            (config.stack == Stack::Linux)
                .then(|| WindowGrowth::new(config.mss, config.receive_buffer, config.receive_window)),
        );
        Self { sender, receiver, timestamps: config.timestamps }
    }

    /// The same with an application that takes time to read, `mean` on average, for which acknowledgements of Linux
    /// wait. Its times follow from `seed`.
    pub fn with_reader(self, mean: Span, seed: u64) -> Self {
        Self { receiver: self.receiver.with_reader(mean, seed), ..self }
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiving half.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The application writes `bytes` more; `u64::MAX` is an endless stream.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// The application has written its last byte.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// Starts again from the initial window, as some servers did for every response.
    pub fn restart(&mut self, now: Time) {
        self.sender.restart(now);
    }

    /// Both FINs have arrived and are acknowledged as far as this end knows.
    pub fn is_closed(&self) -> bool {
        self.sender.is_finished() && self.receiver.is_finished() && !self.receiver.wants_ack()
    }

    /// The earliest of the RTO, TLP, RACK-reordering and compressed-ACK timers.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.sender.next_timer().min(self.receiver.held_until())
    }

    /// When pacing next lets something leave that waits for nothing else.
    #[inline]
    pub fn send_at(&self) -> Time {
        self.sender.send_at()
    }

    /// When a delayed acknowledgement is due.
    #[inline]
    pub fn ack_at(&self) -> Time {
        self.receiver.ack_at()
    }

    /// A segment arrived, with these SACK blocks.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, sack: &Sack) -> Progress {
        let mut progress = Progress::default();
        if segment.syn && !self.receiver.is_open() {
            self.sender.open();
        }
        let echo = if self.timestamps { segment.echo } else { Time::NEVER };
        if let Some(ack) = segment.ack {
            let header =
                AckHeader { ack, echo, stamp: segment.stamp, pure: segment.len == 0, feedback: segment.feedback };
            progress.acknowledged = self.sender.on_ack(now, &header, sack);
        }
        if segment.len > 0 && (segment.syn || self.receiver.is_open()) {
            self.receiver.on_data(now, segment, echo, || self.sender.srtt_and_rto());
            progress.received = self.receiver.on_segment(now, segment);
        } else if segment.len == 0 {
            self.receiver.on_empty(segment);
        }
        progress
    }

    /// A timer may have expired.
    pub fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now);
        self.receiver.on_timeout(now);
    }

    /// True if there are SACK blocks to send.
    #[inline]
    pub fn has_sack(&self) -> bool {
        self.receiver.has_sack()
    }

    /// The SACK blocks to send with the segment that [`poll`](Self::poll) has just returned.
    pub fn sack(&self) -> Sack {
        self.receiver.sack()
    }

    /// The next segment to send at `now`. Call until it returns `None`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        // A passive end may not speak before it has heard the SYN.
        let out = if self.receiver.owes_early() { None } else { self.sender.next_out(now) };
        if out.is_none() && !self.receiver.wants_ack() {
            self.sender.has_sent(now);
            return None;
        }
        let feedback = self.receiver.feedback();
        let (ack, echo) = if self.receiver.is_open() {
            let (ack, echo) = self.receiver.acknowledge();
            (Some(ack), echo)
        } else {
            (None, Time::NEVER)
        };
        let nothing = (self.sender.next(), 0, false, false);
        let (seq, len, retransmission, push) = out.map_or(nothing, |o| (o.seq, o.len, o.retransmission, o.push));
        let last = (seq + u64::from(len)).saturating_sub(1);
        let fin = len > 0 && self.sender.is_fin(last);
        let syn = len > 0 && seq == 0;
        let mut segment =
            Segment { seq, len, syn, fin, ack, retransmission, push, stamp: now, echo, ecn: Ecn::NotEct, feedback };
        if !self.sender.ecn.is_off() {
            // A copy, or every segment would be put together in memory for the sake of those that are labelled.
            let mut labelled = segment;
            self.sender.ecn.label(&mut labelled);
            (segment.ecn, segment.feedback) = (labelled.ecn, labelled.feedback);
        }
        if segment.payload() > 0 {
            self.receiver.on_sent(now);
        }
        Some(segment)
    }
}
