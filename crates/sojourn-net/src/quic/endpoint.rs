//! One end of a QUIC connection.
//!
//! Source: RFC 9000 §8.1 (a server sends at most three times what it received before it has seen the address work),
//! §13; RFC 9002 §6, §7, with any controller that goes by windows, paced. When a window counts as used (§7.8) the RFC
//! leaves open: here by the rule of this engine's TCP, which is Linux's and that of Chromium's QUIC (quiche,
//! `IsCwndLimited`) as well: in slow start more than half is enough. [`Endpoint::like_quinn`] sends as quinn 0.11 does:
//! a window was used if data waits for it (`app_limited`), nothing leaves beyond it when a recovery begins, the pacer
//! waits for a whole burst, and datagrams begin with 1200 bytes and find out how long they may be (RFC 9000 §14.3).

use super::pacing::Pacer;
use super::packet::{DATAGRAM, Frame, INITIAL, Packet};
use super::path_mtu::PathMtu;
use super::received::Received;
use super::recovery::{CHROMIUMS_FIRST_RTT, News, Recovery};
use super::streams::{CRYPTO, Receive, Send, StreamId};
use crate::congestion::{Ack, Congestion, CongestionControl, Window};
use crate::tcp::cwnd_limited::CwndLimited;
use crate::{Ecn, Span, Time};
use std::collections::BTreeMap;

/// Packets that a probe timeout sends (RFC 9002 §6.2.4).
const PROBES: u32 = 2;
/// No controller's window is less, in full packets (RFC 9002 §7.2).
const LEAST_WINDOW: u64 = 2;
const AMPLIFICATION: u64 = 3;
/// Room for any acknowledgement, or for a little data.
const LEAST: u64 = 200;

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that opens.
    Client,
    /// The other.
    Server,
}

/// One end.
pub struct Endpoint {
    role: Role,
    control: Box<dyn CongestionControl>,
    recovery: Recovery,
    pacer: Pacer,
    cwnd_limited: CwndLimited,
    /// Data waited for the window, or for the pacer, when sending stopped last.
    waits: bool,
    /// A window grows only while data waits for it, and is never exceeded.
    strict: bool,
    pub(super) path_mtu: PathMtu,
    received: Received,
    send: Send,
    receive: BTreeMap<StreamId, Receive>,
    next_number: u64,
    /// When the window was reduced last: packets sent until then neither grow it nor reduce it again.
    reduced_at: Option<Time>,
    /// None of those sent after it was acknowledged yet.
    recovering: bool,
    /// Packets that may leave whatever window and pacer say: probes, and one when a recovery begins.
    beyond: u32,
    /// The client's address works, as far as a server knows.
    validated: bool,
    /// The handshake is over, as far as this end knows.
    confirmed: bool,
    bytes_received: u64,
    bytes_sent: u64,
    /// Of streams, each byte once.
    arrived: u64,
    /// Its packets may be marked; so many of them were, as far as it has heard.
    ecn: bool,
    marked: u64,
    delivered: u64,
    /// Bytes that the controller, which counts in full packets, was not told of yet.
    part: u64,
    lost: u64,
    retransmits: u64,
}

impl Endpoint {
    /// A new end.
    pub fn new(role: Role, control: Box<dyn CongestionControl>) -> Self {
        Self {
            role,
            control,
            recovery: Recovery::default(),
            pacer: Pacer::default(),
            cwnd_limited: CwndLimited::default(),
            waits: true,
            strict: false,
            path_mtu: PathMtu::KNOWN,
            received: Received::default(),
            send: Send::default(),
            receive: BTreeMap::new(),
            next_number: 0,
            reduced_at: None,
            recovering: false,
            beyond: 0,
            validated: false,
            confirmed: false,
            bytes_received: 0,
            bytes_sent: 0,
            arrived: 0,
            ecn: false,
            marked: 0,
            delivered: 0,
            part: 0,
            lost: 0,
            retransmits: 0,
        }
    }

    /// The same end, sending as quinn does: in bursts, within its window, with ECN, and with no knowledge of the path's
    /// MTU.
    pub fn like_quinn(self) -> Self {
        Self { strict: true, path_mtu: PathMtu::SEARCHED, pacer: Pacer::in_bursts(), ..self }.with_ecn()
    }

    /// The same end, whose packets may be marked instead of dropped (RFC 9000 §13.4). That the path lets marks through,
    /// which it validates, is taken for granted.
    pub fn with_ecn(self) -> Self {
        Self { ecn: true, ..self }
    }

    /// The same end, before anything was sent, as Chromium's clients are: few acknowledgements, an early first probe.
    pub fn like_chromium(self) -> Self {
        let recovery = Recovery::expecting(CHROMIUMS_FIRST_RTT);
        Self { received: Received::decimating(), recovery, ..self }
    }

    /// The same end, before anything was sent, on a path of which it knows how long a datagram may be.
    pub fn in_datagrams_of(self, bytes: u64) -> Self {
        Self { path_mtu: PathMtu::known(bytes), ..self }
    }

    /// Adds bytes to a stream; the lowest urgency is sent first.
    pub fn write(&mut self, id: StreamId, bytes: u64, urgency: u8) {
        self.send.write(id, bytes, urgency);
    }

    /// The handshake is over: a server may send as much as its window lets it, a client needs no timer without data.
    pub fn confirm(&mut self) {
        (self.validated, self.confirmed) = (true, true);
        self.recovery.confirm();
    }

    /// Bytes of streams that have come, each once, in whatever order.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// All that was written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        !self.send.has_data() && self.recovery.bytes() == 0
    }

    /// Packets found to be lost so far.
    pub fn retransmits(&self) -> u64 {
        self.retransmits
    }

    /// A packet arrived: the streams that have grown, with their bytes in order so far.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) -> Vec<(StreamId, u64)> {
        self.bytes_received += packet.bytes;
        self.received.came_with(packet.ecn);
        if !self.received.arrived(packet.number, packet.is_eliciting(), now, self.recovery.rtt().1) {
            return Vec::new();
        }
        let mut grown = Vec::new();
        for frame in &packet.frames {
            match frame {
                Frame::Stream { id, offset, len } => {
                    if *id == CRYPTO {
                        self.received.hurry(now);
                    }
                    let stream = self.receive.entry(*id).or_default();
                    let (new, in_order) = stream.arrived(*offset, *len);
                    self.arrived += new;
                    grown.extend(in_order.map(|bytes| (*id, bytes)));
                }
                Frame::Ack { ranges, delay, marked } => self.on_ack(now, ranges, *delay, marked.unwrap_or(0)),
                Frame::Ping => {}
            }
        }
        grown
    }

    fn on_ack(&mut self, now: Time, ranges: &[(u64, u64)], delay: Span, marked: u64) {
        let before = self.recovery.bytes();
        let news = self.recovery.on_ack(now, ranges, delay);
        let Some(newest) = news.acknowledged.last().map(|packet| (packet.number, packet.at)) else { return };
        // Only who has read the server's first message can answer in the handshake's keys (RFC 9000 §8.1).
        let is_hello = |frame: &Frame| matches!(frame, Frame::Stream { id: CRYPTO, offset: 0, .. });
        if self.role == Role::Server && news.acknowledged.iter().flat_map(|packet| &packet.frames).any(is_hello) {
            self.validated = true;
        }
        for packet in &news.acknowledged {
            self.path_mtu.acknowledged(packet.number);
        }
        self.repair(now, &news);
        if marked > self.marked {
            self.marked = marked;
            self.reduce(now, newest.1, Congestion::Mark);
        }
        // What was sent before the last reduction says nothing about a larger window (RFC 9002 §7.3.2).
        let old = |at: Time| self.reduced_at.is_some_and(|since| at <= since);
        let counted: u64 = news.acknowledged.iter().filter(|packet| !old(packet.at)).map(|packet| packet.bytes).sum();
        self.delivered += news.acknowledged.iter().map(|packet| packet.bytes).sum::<u64>();
        if self.recovering && !old(newest.1) {
            self.recovering = false;
            self.control.on_recovered(now);
        }
        let (srtt, min_rtt) = self.recovery.rtt();
        if counted > 0 {
            // A window grows by the bytes acknowledged (RFC 9002 §7.3.1), whatever packets they came in.
            self.part += counted;
            let whole = self.part / DATAGRAM * DATAGRAM;
            self.part -= whole;
            self.control.on_ack(
                now,
                &Ack {
                    delivered: whole,
                    in_flight: before,
                    una: (newest.0 + 1) * DATAGRAM,
                    next: self.next_number * DATAGRAM,
                    rtt: news.rtt,
                    one_way: None,
                    srtt,
                    min_rtt,
                    app_limited: !self.uses_window(),
                    recovering: false,
                    left_in_flight: self.recovery.bytes(),
                    next_send: now,
                    total_delivered: self.delivered,
                    total_lost: self.lost,
                    ce_bytes: 0,
                    sample: None,
                },
            );
        }
    }

    /// Whether its window may grow.
    fn uses_window(&self) -> bool {
        if self.strict { self.waits } else { self.cwnd_limited.is_limited(self.window(), true) }
    }

    /// What was lost is sent again, and tells the controller once for each window.
    fn repair(&mut self, now: Time, news: &News) {
        let mut newest = None;
        for packet in &news.lost {
            // A lost probe of the path says nothing of congestion (RFC 9000 §14.4).
            if self.path_mtu.lost(packet.number) {
                continue;
            }
            newest = Some(packet.at);
            self.lost += packet.bytes;
            self.retransmits += 1;
            self.again(&packet.frames);
        }
        let Some(newest) = newest else { return };
        self.reduce(now, newest, Congestion::Loss);
        if news.persistent {
            (self.reduced_at, self.recovering) = (None, false);
            self.control.on_congestion(now, Congestion::Timeout, self.recovery.bytes());
        }
    }

    /// A packet that was sent `at` was lost or marked: once in a window that reduces it (RFC 9002 §7.3.1).
    fn reduce(&mut self, now: Time, at: Time, why: Congestion) {
        if self.reduced_at.is_some_and(|since| at <= since) {
            return;
        }
        (self.reduced_at, self.recovering) = (Some(now), true);
        self.control.on_congestion(now, why, self.recovery.bytes());
        // The window is reduced at once: one packet may leave before that (RFC 9002 §7.3.2).
        if self.send.has_data() && !self.strict {
            self.beyond = self.beyond.max(1);
        }
    }

    fn again(&mut self, frames: &[Frame]) {
        for frame in frames {
            if let Frame::Stream { id, offset, len } = frame {
                self.send.lost(*id, *offset, *len);
            }
        }
    }

    /// When [`Endpoint::on_timeout`] is due.
    pub fn next_timer(&self) -> Time {
        let waits = self.role == Role::Client && !self.confirmed && self.next_number > 0;
        // A server that may not send waits for the client.
        let blocked = self.allowance() < LEAST;
        let loss = self.recovery.timer(waits).filter(|_| !blocked);
        let acknowledgement = self.received.due().filter(|_| self.allowance() >= LEAST);
        loss.into_iter().chain(acknowledgement).chain(self.paced().filter(|_| !blocked)).min().unwrap_or(Time::NEVER)
    }

    pub(super) fn window(&self) -> Window {
        let window = self.control.window();
        Window { cwnd: window.cwnd.max(LEAST_WINDOW * self.path_mtu.current()), ..window }
    }

    /// The window has room for a full packet.
    fn fits(&self) -> bool {
        self.recovery.bytes() + self.path_mtu.current() <= self.window().cwnd
    }

    /// When a packet may leave that the window has room for.
    fn paced(&self) -> Option<Time> {
        let waits = self.send.has_data() && self.fits();
        waits.then(|| self.pacer.next(self.path_mtu.current(), self.window().cwnd, self.recovery.rtt().0))
    }

    /// Time has come: afterwards poll.
    pub fn on_timeout(&mut self, now: Time) {
        let waits = self.role == Role::Client && !self.confirmed;
        if self.recovery.timer(waits).is_none_or(|at| at > now) {
            return;
        }
        match self.recovery.on_timeout(now) {
            Some(news) => self.repair(now, &news),
            None => {
                self.beyond = PROBES;
                if !self.send.has_data() {
                    let oldest = self.recovery.oldest().to_vec();
                    self.again(&oldest);
                }
            }
        }
    }

    /// Bytes that may still be sent: of a server, three times what came, until the address works.
    fn allowance(&self) -> u64 {
        match self.role {
            Role::Server if !self.validated => (AMPLIFICATION * self.bytes_received).saturating_sub(self.bytes_sent),
            _ => u64::MAX,
        }
    }

    /// The next packet to send now, if any.
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        let has_data = self.send.has_data();
        let full = self.path_mtu.current();
        let leaves = self.fits() && self.pacer.lets(now, full, self.window().cwnd, self.recovery.rtt().0);
        if !(has_data && leaves) {
            // Who waits for the pacer would have filled the window without it (RFC 9002 §7.8).
            let una = self.recovery.una(self.next_number);
            self.waits = has_data;
            self.cwnd_limited.observe(has_data, self.recovery.bytes(), una, self.next_number);
        }
        let most = self.allowance().min(if leaves { full } else { self.path_mtu.least() });
        let may = most >= LEAST;
        let sends_data = has_data && may && (leaves || self.beyond > 0);
        let pings = !has_data && may && self.beyond > 0;
        let due = self.received.due().is_some_and(|at| at <= now);
        if !(sends_data || pings || (due && may)) {
            return self.probe_path(now);
        }
        let mut frames = Vec::new();
        if let Some((ranges, delay)) = self.received.acknowledge(now) {
            frames.push(Frame::Ack { ranges, delay, marked: self.received.marked() });
        }
        let mut handshake = false;
        while sends_data && Packet::room(&frames, most) > 0 {
            let Some((id, offset, len)) = self.send.next(Packet::room(&frames, most)) else { break };
            handshake |= id == CRYPTO;
            frames.push(Frame::Stream { id, offset, len });
        }
        if pings {
            frames.push(Frame::Ping);
        }
        let eliciting = sends_data || pings;
        let padded = self.role == Role::Client && !self.confirmed && (handshake || pings);
        if eliciting {
            self.beyond = self.beyond.saturating_sub(1);
        }
        Some(self.sent(now, frames, if padded { INITIAL } else { 0 }))
    }

    /// A packet that finds out whether a longer datagram gets through, when nothing else leaves; no window holds it up.
    fn probe_path(&mut self, now: Time) -> Option<Packet> {
        let bytes = if self.confirmed { self.path_mtu.probes(self.next_number) } else { None }?;
        Some(self.sent(now, vec![Frame::Ping], bytes))
    }

    /// The next packet, of at least so many bytes, is on its way.
    fn sent(&mut self, now: Time, frames: Vec<Frame>, least: u64) -> Packet {
        let ecn = if self.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        let packet = Packet { ecn, ..Packet::new(self.next_number, frames, least) };
        self.next_number += 1;
        self.bytes_sent += packet.bytes;
        if packet.is_eliciting() {
            self.recovery.sent(&packet, now);
            self.pacer.sent(packet.bytes);
        }
        packet
    }
}
