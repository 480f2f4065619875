//! A congestion controller by itself: events in, windows and variables out. What published vectors are held against.

mod events;

use crate::scenario::{Stack, Transport};
use events::{Amount, Event, Moment, News};
use serde::{Deserialize, Serialize};
use sojourn_net::congestion::{
    Ack, Arithmetic, Bbr1, Bbr3, Bic, Compound, Congestion, CongestionControl, Counting, Cubic, CubicNs2, CubicRfc9438,
    Dctcp, HyStart, Ledbat, LedbatNs2, LedbatPlusPlus, Prague, RateSample, Reno, Utp,
};
use sojourn_net::{Bytes, Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Which controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) transport: Transport,
    /// Bytes of a segment, and of the first window.
    pub(crate) mss: u64,
    pub(crate) initial: u64,
    /// Queueing delay that LEDBAT aims at.
    pub(crate) target: Span,
    /// How quickly LEDBAT moves towards it.
    pub(crate) gain: f64,
    /// How CUBIC's slow start ends.
    pub(crate) hystart: HyStart,
    /// CUBIC never grows slower than Reno would.
    pub(crate) reno_friendly: bool,
    /// In Linux's, Reno counts whole segments, and CUBIC jiffies.
    pub(crate) stack: Stack,
}

impl Choice {
    /// Makes one; those that draw do so from `seed`.
    pub(crate) fn make(self, seed: u64) -> Box<dyn CongestionControl> {
        let Self { transport, mss, initial, target, gain, hystart, reno_friendly, stack } = self;
        let hystart = match (hystart, stack) {
            (HyStart::Linux, Stack::Linux) => HyStart::Linux2025,
            (asked, _) => asked,
        };
        match transport {
            Transport::Cubic => {
                let cubic = Cubic::new(mss, initial, hystart, reno_friendly);
                Box::new(if stack == Stack::Linux { cubic.in_jiffies() } else { cubic })
            }
            Transport::CubicRfc9438 => Box::new(CubicRfc9438::new(mss, initial, hystart, reno_friendly)),
            Transport::CubicNs2 => Box::new(CubicNs2::new(mss, initial)),
            Transport::Bic => Box::new(Bic::new(mss, initial)),
            Transport::Compound => Box::new(Compound::new(mss, initial, Arithmetic::Exact)),
            Transport::CompoundNs2 => Box::new(Compound::new(mss, initial, Arithmetic::Linux)),
            Transport::Ledbat => Box::new(Ledbat::new(mss, initial, target).with_gain(gain)),
            Transport::LedbatPlusPlus => Box::new(LedbatPlusPlus::new(mss, initial, target)),
            Transport::LedbatNs2 => Box::new(LedbatNs2::new(mss, initial, target)),
            Transport::Utp => Box::new(Utp::new(mss, initial)),
            Transport::Bbr => Box::new(Bbr1::new(mss, initial, seed)),
            Transport::Bbr3 => Box::new(Bbr3::new(mss, initial, seed)),
            Transport::Dctcp => Box::new(Dctcp::new(mss, initial)),
            Transport::Prague => Box::new(Prague::new(mss, initial)),
            Transport::NewReno => Box::new(Reno::new(mss, initial, Counting::Acks)),
            Transport::Reno if stack == Stack::Linux => Box::new(Reno::new(mss, initial, Counting::Segments)),
            Transport::Reno | Transport::Udp => Box::new(Reno::new(mss, initial, Counting::Bytes)),
        }
    }
}

/// Largest value of a variable.
const MOST_VALUE: f64 = 1e12;

/// Which controller, and how it starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// A transport of study files, other than `udp`.
    pub kind: String,
    /// Bytes of a segment.
    pub mss: Bytes,
    /// First window.
    pub cwnd: Amount,
    /// How CUBIC's slow start ends.
    #[serde(default)]
    pub hystart: HyStart,
    /// Queueing delay that LEDBAT aims at.
    pub target: Option<Moment>,
    /// What BBR draws from.
    pub seed: u64,
    /// Variables to set before the first event.
    #[serde(default)]
    pub state: BTreeMap<String, f64>,
}

/// What a controller says after an event.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Nanoseconds.
    pub at: u64,
    /// Its window in segments, with fractions …
    pub cwnd: f64,
    /// … and its slow-start threshold; `None` if there is none.
    pub ssthresh: Option<f64>,
    /// Bytes that a sender may have in flight.
    pub window: u64,
    /// Bits a second; `None` if packets are not paced.
    pub pacing: Option<u64>,
    /// Its other variables; those without a value are absent.
    pub state: BTreeMap<&'static str, f64>,
}

/// The connection that the events make up, as far as controllers ask.
struct Connection {
    mss: u64,
    control: Box<dyn CongestionControl>,
    una: u64,
    next: u64,
    /// `next` when the present round began.
    round_end: u64,
    delivered: u64,
    lost: u64,
    srtt: Span,
    min_rtt: Span,
    /// When how much had been delivered.
    deliveries: VecDeque<(Time, u64)>,
}

/// Drives one controller by events (JSON objects, in order of time); returns what it says after each.
///
/// Fails with a sentence that says which event is wrong, and how.
pub fn drive(setup: &str, events: &str) -> Result<Vec<Row>, String> {
    let setup: Setup = serde_json::from_str(setup).map_err(sentence)?;
    let events: Vec<serde_json::Value> = serde_json::from_str(events).map_err(sentence)?;
    let mut connection = Connection::new(&setup)?;
    let mut rows = Vec::with_capacity(events.len());
    let mut last = Time::ZERO;
    for (i, event) in events.into_iter().enumerate() {
        let event = Event::deserialize(event).map_err(|error| format!("event {i}: {}", sentence(error)))?;
        if event.at() < last {
            return Err(format!(
                "event {i}: it is at {} ns, before the one at {} ns; events must be in order",
                event.at().0,
                last.0
            ));
        }
        if let Event::Ack(news) = &event {
            news.check(connection.mss).map_err(|error| format!("event {i}: {error}"))?;
        }
        last = event.at();
        connection.on(&event);
        rows.push(connection.row(last));
    }
    Ok(rows)
}

/// The transport of this name.
fn kind(name: &str) -> Result<Transport, String> {
    match Transport::deserialize(serde_json::Value::from(name)) {
        Ok(Transport::Udp) => Err("udp has no congestion controller".to_owned()),
        Ok(transport) => Ok(transport),
        Err(error) => {
            let text = sentence(error);
            let names = text.split_once("expected one of ").map_or("", |(_, names)| names).replace(", `udp`", "");
            Err(format!("\"{name}\" is not a congestion controller; write one of {}", names.replace('`', "")))
        }
    }
}

/// A serde error without its place in text that nobody wrote.
fn sentence(error: serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

impl Connection {
    fn new(setup: &Setup) -> Result<Self, String> {
        let transport = kind(&setup.kind)?;
        let mss = setup.mss.0;
        if !(1..=1 << 20).contains(&mss) {
            return Err(format!("{} is not a segment size; write 1B to 1MiB", setup.mss));
        }
        let target = setup.target.map_or(transport.target(), |target| target.0);
        if target < Span::from_millis(1) {
            return Err(format!("a target of {target} is too short; write 1ms or more"));
        }
        let initial = setup.cwnd.bytes(mss);
        if initial < mss {
            return Err("a first window is one segment at least".to_owned());
        }
        let mut control = Choice {
            transport,
            mss,
            initial,
            target,
            gain: 1.0,
            hystart: setup.hystart,
            reno_friendly: true,
            stack: Stack::Plain,
        }
        .make(setup.seed);
        if let Amount::Segments(segments) = setup.cwnd {
            control.set("cwnd", segments); // with its fraction
        }
        let mut min_rtt = Span(u64::MAX);
        for (name, value) in &setup.state {
            if !(0.0..=MOST_VALUE).contains(value) {
                return Err(format!("{name} = {value}: a variable must be 0 to {MOST_VALUE:e}"));
            }
            let known = control.set(name, *value);
            if name == "min_rtt" {
                min_rtt = Span::from_secs_f64(*value);
            } else if !known {
                let mut names = Vec::new();
                control.state(&mut |name, _| names.push(name));
                names.retain(|name| control.set(name, 1.0));
                let names = names.join(", ");
                return Err(format!("{} has no variable {name} that can be set; it has {names}", setup.kind));
            }
        }
        let (una, next, round_end) = (0, 0, 0);
        let deliveries = VecDeque::from([(Time::ZERO, 0)]);
        Ok(Self { mss, control, una, next, round_end, delivered: 0, lost: 0, srtt: Span::ZERO, min_rtt, deliveries })
    }

    fn on(&mut self, event: &Event) {
        let now = event.at();
        let (what, in_flight) = match event {
            Event::Ack(news) => return self.on_ack(now, news),
            Event::Recovered { .. } => return self.control.on_recovered(now),
            Event::Idle { restart, .. } => return self.control.on_idle(now, restart.bytes(self.mss)),
            Event::Loss { in_flight, .. } => (Congestion::Loss, in_flight),
            Event::Timeout { in_flight, .. } => (Congestion::Timeout, in_flight),
            Event::Mark { in_flight, .. } => (Congestion::Mark, in_flight),
        };
        let in_flight = in_flight.map_or_else(|| self.control.window().cwnd, |amount| amount.bytes(self.mss));
        self.control.on_congestion(now, what, in_flight);
    }

    fn on_ack(&mut self, now: Time, news: &News) {
        let mss = self.mss;
        let bytes = |amount: Amount| amount.bytes(mss);
        let delivered = bytes(news.delivered);
        let lost = news.lost.map_or(0, bytes);
        let in_flight = news.in_flight.map_or_else(|| self.control.window().cwnd, bytes);
        let left_in_flight = news.left_in_flight.map_or(in_flight.saturating_sub(delivered + lost), bytes);
        let rtt = news.rtt.map(|rtt| rtt.0);
        if let Some(rtt) = rtt {
            self.srtt = if self.srtt == Span::ZERO { rtt } else { Span((7 * self.srtt.0 + rtt.0) / 8) };
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if let Some(srtt) = news.srtt {
            self.srtt = srtt.0;
        }
        if let Some(min_rtt) = news.min_rtt {
            self.min_rtt = min_rtt.0;
        }
        self.advance(delivered, left_in_flight, news.round);
        let ended = self.una > self.round_end;
        if ended {
            self.round_end = self.next;
        }
        let before = self.delivered;
        self.delivered += delivered;
        self.lost += lost;
        let ack = Ack {
            delivered,
            in_flight,
            una: self.una,
            next: self.next,
            rtt,
            one_way: news.one_way.map(|delay| delay.0),
            srtt: self.srtt,
            min_rtt: if self.min_rtt == Span(u64::MAX) { Span::ZERO } else { self.min_rtt },
            app_limited: news.app_limited,
            recovering: news.recovering,
            left_in_flight,
            next_send: now,
            total_delivered: self.delivered,
            total_lost: self.lost,
            ce_bytes: news.marked.map_or(0, bytes),
            sample: self.sample(now, news, before, in_flight, lost),
        };
        self.deliveries.push_back((now, self.delivered));
        self.control.on_ack(now, &ack);
    }

    /// Sequence numbers: a window in flight, so that a round is a window, unless the event says whether a round ends.
    fn advance(&mut self, delivered: u64, left_in_flight: u64, round: Option<bool>) {
        self.una = match round {
            None => self.una + delivered,
            Some(true) => self.next.max(self.una) + 1,
            Some(false) => (self.una + delivered).min(self.round_end),
        };
        self.next = self.next.max(self.una + left_in_flight);
    }

    /// The delivery-rate sample: of the last round trip, unless the event gives a rate.
    fn sample(&mut self, now: Time, news: &News, before: u64, in_flight: u64, lost: u64) -> Option<RateSample> {
        let interval = news.rtt?.0;
        let sent = now - interval;
        while self.deliveries.get(1).is_some_and(|(at, _)| *at <= sent) {
            self.deliveries.pop_front();
        }
        let prior = self.deliveries.front().map_or(0, |(_, delivered)| *delivered);
        Some(RateSample {
            delivered: news.rate.map_or(self.delivered - prior, |rate| rate.bytes_in(interval)),
            interval,
            prior_delivered: match news.round {
                None => prior,
                Some(true) => before,
                Some(false) => 0,
            },
            lost,
            tx_in_flight: in_flight,
            app_limited: news.app_limited,
        })
    }

    fn row(&mut self, now: Time) -> Row {
        let window = self.control.window();
        let mut state = BTreeMap::new();
        self.control.state(&mut |name, value| {
            state.insert(name, value);
        });
        let cwnd = state.remove("cwnd").unwrap_or(window.cwnd as f64 / self.mss as f64);
        let ssthresh = state.remove("ssthresh").filter(|value| value.is_finite());
        state.retain(|_, value| value.is_finite());
        Row { at: now.0, cwnd, ssthresh, window: window.cwnd, pacing: window.pacing.map(|rate| rate.0), state }
    }
}

#[cfg(test)]
mod tests;
