//! Video calls: RTP both ways, each at the rate that Google's congestion control finds.
//!
//! Source: libwebrtc of January 2026 with its defaults, one stream of video and one of audio (see the files). A call
//! lasts from its start to the end of the run. Each direction has a sender at one end and a receiver at the other; RTCP
//! shares the flow of the packets that go its way. Receivers know the round-trip time by extended reports (RFC 3611),
//! which Chromium 156 offers (`rcvr-rtt=all`), whether they send anything or not. Media begins when ICE and DTLS have
//! taken their round trips (`setup.rs`).
//! Differences: no simulcast, no change of route; a receiver's round-trip time is the sender's, and extended reports
//! take no bytes.

mod encoder;
mod fec;
mod feedback;
mod freezes;
mod gcc;
mod history;
mod jitter;
mod nack;
mod pacer;
mod packet;
mod protection;
mod rates;
mod receiver;
mod sender;
mod setup;
mod timing;

pub(crate) use encoder::most_rate;
pub use sender::Media;

use super::source::{Source, User};
use super::tables::{CallRow, LOST, Tables};
use crate::engine::{Direction, Event, Kind, Network};
use feedback::FeedbackGenerator;
use packet::{AUDIO_INTERVAL, Payload, Rtcp, SRTP_TAG, results};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rates::Rates;
use receiver::{Receiver, Shown};
use sender::{PROCESS, Sender};
use setup::Setup;
use sojourn_net::{Span, Time};

/// Frames captured so late in a run that they could not be shown any more.
const TAIL: Span = Span::from_secs(1);

/// Bit of a packet's number: it is RTCP; of which half of the call it tells; and it is one of those that begin it.
const RTCP: u64 = 1 << 63;
const HALF: u32 = 62;
const SETUP: u64 = 1 << 61;

/// What a wake-up is for that is no half's: the call begins, or the packets that begin it are sent again.
const BEGIN: u64 = u64::MAX;
const AGAIN: u64 = u64::MAX - 1;

/// What a wake-up is for, beside the direction.
const PICTURE: u64 = 0;
const SOUND: u64 = 1;
const PACE: u64 = 2;
const CONTROL: u64 = 3;
const REPORT: u64 = 4;
const REPAIR: u64 = 5;
const DECODE: u64 = 6;
const TIMERS: u64 = 8;

/// One caller.
pub struct Call {
    /// Who it is.
    pub who: User,
    /// The directions that pictures and sound go in.
    pub directions: &'static [Direction],
    /// What each side sends.
    pub media: Media,
    /// The call starts within this time.
    pub start_within: Span,
    /// Where it stands.
    pub state: CallState,
}

/// Where a call stands.
#[derive(Default)]
pub struct CallState {
    began: Time,
    setup: Option<Setup>,
    halves: Vec<Half>,
    flows: [u32; 2],
}

/// One direction: the sender at one end, the receiver at the other.
struct Half {
    direction: Direction,
    rng: Pcg64Mcg,
    sender: Sender,
    receiver: Receiver,
    feedback: FeedbackGenerator,
    /// RTCP of the receiver, on its way or arrived.
    rtcp: Vec<Rtcp>,
    /// What the receiver's clock shows less of a packet's delay than its true one, in ns.
    skew: i64,
    shown: Vec<Shown>,
    /// The next time of pacing, and of decoding, if there is one.
    pace_at: Time,
    decode_at: Time,
    rates: Rates,
}

impl Call {
    /// Sends the packets that begin the call, as far as it has come.
    fn set_up(&self, network: &mut Network) {
        let Some(setup) = &self.state.setup else { return };
        let Some((direction, packets)) = setup.packets() else { return };
        for (number, bytes) in packets {
            let flow = self.state.flows[direction as usize];
            network.datagram(&self.who.datagram(direction, Kind::Rtcp, flow, number | SETUP, bytes as u16));
        }
        network.wake_at(setup.again(), self.who.source, AGAIN);
    }

    /// And again, if they are late.
    fn set_up_again(&mut self, network: &mut Network) {
        if self.state.setup.as_mut().is_some_and(|setup| setup.late(network.now())) {
            self.set_up(network);
        }
    }

    /// One of them arrived.
    fn set_up_further(&mut self, number: u64, network: &mut Network) {
        let Some(may) = self.state.setup.as_mut().and_then(|setup| setup.arrived(number, network.now())) else {
            return;
        };
        self.set_up(network);
        if let Some(direction) = may.filter(|direction| self.directions.contains(direction)) {
            self.begin(direction, network);
        }
    }

    /// Media is sent in a direction from now on.
    fn begin(&mut self, direction: Direction, network: &mut Network) {
        let now = network.now();
        let half = self.state.halves.len() as u64;
        let seed = self.who.rng.random::<u64>();
        self.state.halves.push(Half {
            direction,
            rng: Pcg64Mcg::new(u128::from(seed) << 64 | u128::from(half) << 1 | 1),
            sender: Sender::new(self.media, now),
            receiver: Receiver::default(),
            feedback: FeedbackGenerator::default(),
            rtcp: Vec::new(),
            skew: 0,
            shown: Vec::new(),
            pace_at: Time::NEVER,
            decode_at: Time::NEVER,
            rates: Rates::new(self.who.number, direction),
        });
        let mut timers = vec![(PICTURE, Span::ZERO), (CONTROL, PROCESS), (REPAIR, nack::INTERVAL)];
        timers.push((REPORT, feedback::interval(None)));
        if self.media.audio > 0.0 {
            timers.push((SOUND, Span::ZERO));
        }
        for (timer, after) in timers {
            network.wake_at(now + after, self.who.source, half * TIMERS + timer);
        }
    }

    fn send(&self, half: usize, rtcp: bool, index: u64, bytes: u32, network: &mut Network) {
        let direction = self.state.halves[half].direction;
        let (direction, kind) = if rtcp { (direction.reverse(), Kind::Rtcp) } else { (direction, Kind::Video) };
        let seq = index | (half as u64) << HALF | if rtcp { RTCP } else { 0 };
        network.datagram(&self.who.datagram(direction, kind, self.state.flows[direction as usize], seq, bytes as u16));
    }

    /// The receiver of a direction says something.
    fn tell(&mut self, half: usize, rtcp: Rtcp, network: &mut Network) {
        let bytes = rtcp.bytes();
        let said = &mut self.state.halves[half].rtcp;
        said.push(rtcp);
        let index = said.len() as u64 - 1;
        self.send(half, true, index, bytes, network);
    }

    /// Sends what may leave, and arms the timer for what may not.
    fn pace(&mut self, half: usize, network: &mut Network) {
        let now = network.now();
        let mut out = Vec::new();
        let this = &mut self.state.halves[half];
        loop {
            this.sender.pacer.send(now, &mut out);
            if this.sender.pacer.next(now).is_none_or(|at| at > now) {
                break;
            }
        }
        for (rtp, probe) in out {
            let this = &mut self.state.halves[half];
            let index = this.sender.leaves(rtp, probe, now);
            let bytes = rtp.bytes + SRTP_TAG;
            this.rates.sent(bytes);
            self.send(half, false, index, bytes, network);
        }
        let this = &mut self.state.halves[half];
        let next = this.sender.pacer.next(now).unwrap_or(Time::NEVER);
        if next != this.pace_at {
            this.pace_at = next;
            if next != Time::NEVER {
                network.wake_at(next, self.who.source, half as u64 * TIMERS + PACE);
            }
        }
    }

    /// Decodes what is due, and arms the timer for what is not.
    fn decode(&mut self, half: usize, network: &mut Network) {
        let now = network.now();
        let this = &mut self.state.halves[half];
        let rtt = this.sender.controller.rtt();
        let mut next = this.receiver.next(&this.sender.frames, now);
        while next.is_some_and(|at| at <= now) {
            this.shown.extend(this.receiver.decode(&this.sender.frames, rtt, now));
            next = this.receiver.next(&this.sender.frames, now);
        }
        let next = next.unwrap_or(Time::NEVER);
        if next != this.decode_at {
            this.decode_at = next;
            if next != Time::NEVER {
                network.wake_at(next, self.who.source, half as u64 * TIMERS + DECODE);
            }
        }
    }

    fn woken(&mut self, token: u64, network: &mut Network) {
        let (half, timer) = ((token / TIMERS) as usize, token % TIMERS);
        let now = network.now();
        let this = &mut self.state.halves[half];
        let again = match timer {
            PICTURE => {
                this.sender.picture(now, &mut this.rng);
                let interval = this.sender.interval();
                self.pace(half, network);
                interval
            }
            SOUND => {
                this.sender.sound(now);
                self.pace(half, network);
                AUDIO_INTERVAL
            }
            PACE if this.pace_at == now => {
                this.pace_at = Time::NEVER;
                return self.pace(half, network);
            }
            DECODE if this.decode_at == now => {
                this.decode_at = Time::NEVER;
                return self.decode(half, network);
            }
            CONTROL => {
                this.sender.process(now);
                this.rates.look(this.sender.controller.target(), now);
                self.pace(half, network);
                PROCESS
            }
            REPORT => {
                if let Some(fates) = this.feedback.report() {
                    self.tell(half, Rtcp::Report(fates), network);
                }
                let opposite = self.state.halves.get(1 - half);
                let own = opposite.map_or(self.media.start, |half| half.sender.controller.target());
                feedback::interval(Some(own))
            }
            REPAIR => {
                self.repair(half, network);
                nack::INTERVAL
            }
            _ => return,
        };
        network.wake_at(now + again, self.who.source, token);
    }

    /// Asks for what is missing, or for a key frame.
    fn repair(&mut self, half: usize, network: &mut Network) {
        let now = network.now();
        let this = &mut self.state.halves[half];
        let rtt = this.sender.controller.rtt();
        let missing = this.receiver.nacks.due(now, rtt);
        let reception = this.receiver.reception();
        let wants_key = this.receiver.wants_key(now);
        if !missing.is_empty() {
            self.tell(half, Rtcp::Nack(missing, reception), network);
        }
        if wants_key {
            self.tell(half, Rtcp::PictureLoss, network);
        }
    }

    fn arrived(&mut self, half: usize, seq: u64, delay: Span, network: &mut Network) {
        let now = network.now();
        let this = &mut self.state.halves[half];
        let sent = this.sender.sent[seq as usize];
        this.skew = delay.0 as i64 - now.since(sent.at).0 as i64;
        this.feedback.arrived(seq, now);
        this.rates.received(sent.rtp.bytes + SRTP_TAG);
        match sent.rtp.payload {
            Payload::Video { number, .. } => self.take(half, number, sent.rtp.again, network),
            Payload::Fec { group, part } => {
                let group = this.sender.fec.groups[group as usize];
                this.receiver.parity(group, part);
            }
            Payload::Audio | Payload::Padding => return,
        }
        if !self.state.halves[half].receiver.nacks.is_empty() {
            self.repair(half, network);
        }
        // What FEC gives back was asked for, too.
        while let Some(number) = self.state.halves[half].receiver.recovered() {
            self.take(half, number, true, network);
        }
        self.decode(half, network);
    }

    /// The receiver has a packet of video.
    fn take(&mut self, half: usize, number: u32, again: bool, network: &mut Network) {
        let this = &mut self.state.halves[half];
        let id = this.sender.history.frame(number);
        let frame = &this.sender.frames[id as usize];
        if this.receiver.arrived(number, (id, frame), again, network.now()) {
            self.tell(half, Rtcp::PictureLoss, network);
        }
    }

    fn told(&mut self, half: usize, index: u64, network: &mut Network) {
        let now = network.now();
        let this = &mut self.state.halves[half];
        // What was said is needed no more.
        match std::mem::replace(&mut this.rtcp[index as usize], Rtcp::PictureLoss) {
            Rtcp::Report(fates) => {
                let results = results(&fates, &this.sender.sent);
                this.sender.on_report(&results, now);
            }
            Rtcp::Nack(numbers, told) => this.sender.on_nack(&numbers, told, now),
            Rtcp::PictureLoss => this.sender.on_picture_loss(),
        }
        self.pace(half, network);
    }
}

impl Half {
    /// The rows of frames captured since the end of the warm-up.
    fn rows(&self, user: u32, warmup: Time, end: Time, tables: &mut Tables) {
        let mut shown = self.shown.iter().peekable();
        for (number, frame) in self.sender.frames.iter().enumerate() {
            let this = shown.next_if(|shown| shown.frame as usize == number);
            if frame.captured < warmup || (this.is_none() && frame.captured + TAIL > end) {
                continue;
            }
            let delay = |shown: &Shown| shown.at.0 as i64 - frame.captured.0 as i64 + self.skew;
            let gap = this.and_then(|shown| shown.gap);
            tables.call.push(CallRow {
                user,
                direction: u8::from(self.direction == Direction::Down),
                frame: number as u32,
                captured_ns: frame.captured.0,
                delay_ns: this.map_or(LOST, delay),
                bytes: frame.bytes,
                height: frame.height,
                key: frame.key,
                gap_ns: gap.map_or(LOST, |(gap, _)| gap.0 as i64),
                frozen: gap.is_some_and(|(_, frozen)| frozen),
            });
        }
    }
}

impl Source for Call {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start => {
                self.state.flows = [network.new_flow(self.who.group), network.new_flow(self.who.group)];
                self.who.start_within(self.start_within, BEGIN, network);
            }
            Event::Wake(BEGIN) => {
                self.state.began = network.now();
                self.state.setup = Some(Setup::new(network.now()));
                self.set_up(network);
            }
            Event::Wake(AGAIN) => self.set_up_again(network),
            Event::Wake(token) => self.woken(token, network),
            Event::Datagram { packet, .. } if packet.seq & SETUP != 0 => {
                self.set_up_further(packet.seq & !SETUP, network);
            }
            Event::Datagram { packet, delay } => {
                let (half, index) = ((packet.seq >> HALF & 1) as usize, packet.seq & ((1 << HALF) - 1));
                if packet.seq & RTCP != 0 {
                    self.told(half, index, network);
                } else {
                    self.arrived(half, index, delay, network);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, network: &Network, tables: &mut Tables) {
        for half in &mut self.state.halves {
            half.rows(self.who.number, self.who.warmup, network.now(), tables);
            tables.call_rates.append(&mut half.rates.take());
        }
        let halves = &self.state.halves;
        let silent = |direction: &&Direction| halves.iter().all(|half| half.direction != **direction);
        for direction in self.directions.iter().filter(silent).filter(|_| self.state.setup.is_some()) {
            let mut nothing = Rates::nothing(self.who.number, *direction, self.state.began, network.now());
            tables.call_rates.append(&mut nothing);
        }
    }
}
