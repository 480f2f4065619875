//! Recorded traffic: the connections of a capture, each with its turns, waits and round-trip time, over another queue.
//!
//! Source: the traffic generator of Tmix (M. Weigle et al., CCR 36(3), 2006): an end begins its turn when it has all
//! that came before and has waited as it did in the capture. In a concurrent connection it waits for so many bytes of
//! the other as it had heard of, as in TwoSew (DETERLab), or for its own last turn to be acknowledged. What an end
//! writes by its own clock (a live film in pieces, the words of an answer) it writes so long after it began its turn
//! before. When all turns are done both close, or the one that closed first, and the other when it hears of that. What
//! reacted to the network (windows, losses, times) is left to this engine's TCP; datagrams are sent at their recorded
//! times. An end in whose turn the recording ended had more to send: however fast its turn goes here, it goes on for as
//! long as it was seen.
//!
//! A connection that its opener waited to open, as `sojourn workload` finds ([`After`]), starts when so much of the
//! other has come here, and as long after as it was: Tmix has no such thing. Others start at their recorded times.
//!
//! `scale` changes the number of connections and flows, not their sizes: the i-th of them (from 0, in order of their
//! starts) appears ⌊(i + 1)·scale + u⌋ − ⌊i·scale + u⌋ times, u drawn once from the source's own stream, so that the
//! total is exact to one and busy times stay busy. The first appearance is at the recorded time, or waits for the
//! first of the other; those beyond it begin at a time drawn uniformly from the recording. Differences from Tmix: a
//! connection that began before the capture, or goes on after it while nothing is sent, is opened and closed like any
//! other, with the bytes that were seen. QUIC is carried by this engine's QUIC, its handshake as turns like all others.

mod carrier;
mod recording;

pub use recording::Recording;
use recording::{After, Connection, Manner, Turn};

use super::quic::Owner;
use super::source::Source;
use crate::engine::{Datagram, Direction, End, Event, Kind, Network};
use carrier::{Carrier, Quic};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::congestion::CongestionControl;
use sojourn_net::quic::DATAGRAM;
use sojourn_net::{Ecn, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// IPv4 and UDP headers.
const HEADERS: u32 = 28;
/// The token of the next start.
const NEXT: u64 = u64::MAX;
/// In the token of a start that waited for another connection, beside its index.
const ASKED: u64 = 1 << 62;
/// In the token of the time up to which a connection was seen, beside its flow.
const OVER: u64 = 1 << 63;
/// In the token of a timer of QUIC, beside its flow and its end.
const TIMEOUT: u64 = 1 << 61;

/// What the group has for connections of QUIC.
pub struct QuicSettings {
    /// Makes their controllers, given the payload of their datagrams and their initial windows.
    pub control: Box<dyn Fn(u64, Option<u32>) -> Box<dyn CongestionControl>>,
    /// Whether their packets may be marked, if not as recorded.
    pub ecn: Option<bool>,
}

/// A replay.
pub struct Recorded {
    number: u32,
    recording: Arc<Recording>,
    /// The hosts of each connection.
    groups: Arc<[u16]>,
    /// The end where the recording's clients are.
    clients: End,
    quic: QuicSettings,
    /// Starts, latest first, so that the next is at the end: when, which connection, and whether as it was recorded.
    starts: Vec<(Time, u32, bool)>,
    /// By connection, what waits for its recorded start: index, and what it waits for; the first at the end.
    asks: BTreeMap<u32, Vec<(u32, After)>>,
    open: BTreeMap<u32, Playing>,
}

/// A connection under way.
struct Playing {
    which: u32,
    carrier: Carrier,
    /// Next turn: of all, or of each end.
    next: [usize; 2],
    /// Bytes that each end has written.
    written: [u64; 2],
    /// Each end waits for its wait to be over.
    waiting: [bool; 2],
    /// Place after the last turn of each end.
    last: [usize; 2],
    /// Each end has closed.
    closed: [bool; 2],
    /// What waits for what is sent to each end; the first at the end.
    asks: [Vec<(u32, After)>; 2],
}

impl Recorded {
    /// A replay of `recording`, `scale` times as many connections; `groups` are the hosts of each.
    pub fn new(
        number: u32,
        recording: Arc<Recording>,
        groups: Arc<[u16]>,
        clients: End,
        quic: QuicSettings,
        scale: f64,
        rng: &mut Pcg64Mcg,
    ) -> Self {
        let mut starts = Vec::new();
        let mut asks: BTreeMap<u32, Vec<(u32, After)>> = BTreeMap::new();
        let mut appears = vec![false; recording.connections.len()];
        let offset: f64 = rng.random();
        for (i, connection) in recording.connections.iter().enumerate() {
            let upto = |i: usize| libm::floor(i as f64 * scale + offset) as u64;
            for copy in 0..upto(i + 1) - upto(i) {
                let recorded = copy == 0;
                // Nobody waits for datagrams, nor for what does not appear here.
                appears[i] = connection.manner != Manner::Datagrams;
                if let Some(after) = connection.after.filter(|after| recorded && appears[after.which as usize]) {
                    asks.entry(after.which).or_default().push((i as u32, after));
                    continue;
                }
                let at = if recorded {
                    connection.start.0
                } else {
                    (rng.random::<f64>() * recording.length.0 as f64) as u64
                };
                starts.push((Time(at), i as u32, recorded));
            }
        }
        starts.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        asks.values_mut().for_each(|asks| asks.sort_by_key(|(_, after)| std::cmp::Reverse(after.bytes)));
        Self { number, recording, groups, clients, quic, starts, asks, open: BTreeMap::new() }
    }

    fn opener(&self, connection: &Connection) -> End {
        if connection.client_opens { self.clients } else { self.clients.other() }
    }

    fn begin(&mut self, network: &mut Network) {
        while let Some((_, which, recorded)) = self.starts.pop_if(|(at, ..)| *at <= network.now()) {
            self.start(which, recorded, network);
        }
        if let Some((at, ..)) = self.starts.last() {
            network.wake_at(*at, self.number, NEXT);
        }
    }

    fn start(&mut self, which: u32, recorded: bool, network: &mut Network) {
        let recording = Arc::clone(&self.recording);
        let connection = &recording.connections[which as usize];
        let group = self.groups[which as usize];
        let last = [false, true]
            .map(|accepted| connection.turns.iter().rposition(|turn| turn.accepted == accepted).map_or(0, |at| at + 1));
        let asks = if recorded { self.asks.remove(&which).unwrap_or_default() } else { Vec::new() };
        // What one end sends comes to the other.
        let (to_opener, to_other) = asks.into_iter().partition(|(_, after)| after.accepted);
        let asks = [to_opener, to_other];
        let (waiting, closed) = ([false; 2], [false; 2]);
        let (opener, number) = (self.opener(connection), self.number);
        let (carrier, flow) = match connection.manner {
            Manner::Datagrams => (Carrier::Datagrams, network.new_flow(group)),
            Manner::Quic => {
                let flow = network.new_flow(group);
                let size = connection.datagram.map_or(DATAGRAM, u64::from);
                let ecn = self.quic.ecn.map_or(connection.ecn, |ecn| [ecn; 2]);
                let ends = carrier::ends(size, ecn, || (self.quic.control)(size, connection.initial_window));
                let owner = Owner { source: number, group, packets: 0, timers: TIMEOUT | token(flow, false) };
                (Carrier::Quic(Quic::new(ends, opener, flow, owner)), flow)
            }
            Manner::Turns | Manner::Concurrent => {
                let id = network.connect(group, opener, number, true);
                (Carrier::Tcp(id), id.flow())
            }
        };
        let mut playing = Playing { which, carrier, next: [0; 2], written: [0; 2], waiting, last, closed, asks };
        if connection.manner == Manner::Datagrams {
            self.open.insert(flow, playing);
            network.wake_at(network.now() + connection.turns[0].wait, number, token(flow, false));
            return;
        }
        if connection.goes_on != [false; 2] {
            let left = recording.length - connection.start;
            network.wake_at(network.now() + left, number, OVER | u64::from(flow));
        }
        // Who waits, waits from the end of the handshake: the opener until the other end answers, as TCP tells
        // ([`Self::heard`]); QUIC's is among its turns.
        let tcp = connection.manner != Manner::Quic;
        let handshake = connection.rtt.filter(|_| tcp).unwrap_or(Span::ZERO);
        for accepted in [false, true] {
            let first = due(connection, &playing, accepted).filter(|turn| turn.heard == 0);
            // The clock of a stream starts when its beginning can be sent.
            let streams = connection.turns.get(1).is_some_and(|turn| turn.streamed);
            if let Some(turn) = first.filter(|turn| accepted || !tcp || turn.wait == Span::ZERO && !streams) {
                playing.waiting[usize::from(accepted)] = true;
                let delay = if accepted { handshake } else { Span::ZERO } + turn.wait;
                network.wake_at(network.now() + delay, number, token(flow, accepted));
            }
        }
        self.open.insert(flow, playing);
    }

    /// Starts are due that waited for what an end has of a connection now: all of it, if nothing more is to come.
    fn ask(&mut self, flow: u32, side: usize, delivered: u64, network: &mut Network) {
        let Some(playing) = self.open.get_mut(&flow) else { return };
        while let Some((which, after)) = playing.asks[side].pop_if(|(_, after)| after.bytes <= delivered) {
            network.wake_at(network.now() + after.wait, self.number, ASKED | u64::from(which));
        }
    }

    /// An end has waited: it sends.
    fn send(&mut self, flow: u32, accepted: bool, network: &mut Network) {
        let recording = Arc::clone(&self.recording);
        let clients = self.clients;
        let Some(playing) = self.open.get_mut(&flow) else { return };
        let connection = &recording.connections[playing.which as usize];
        let opener = if connection.client_opens { clients } else { clients.other() };
        let (side, end) = (usize::from(accepted), if accepted { opener.other() } else { opener });
        if connection.manner == Manner::Datagrams {
            let turn = connection.turns[playing.next[0]];
            let from = if turn.accepted { opener.other() } else { opener };
            network.datagram(&Datagram {
                group: self.groups[playing.which as usize],
                direction: if from == End::Client { Direction::Up } else { Direction::Down },
                kind: Kind::Datagram,
                flow,
                owner: self.number,
                seq: playing.next[0] as u64,
                size: (turn.bytes + HEADERS).min(u32::from(u16::MAX)) as u16,
                ecn: Ecn::NotEct,
            });
            playing.next[0] += 1;
            match connection.turns.get(playing.next[0]) {
                Some(next) => network.wake_at(network.now() + next.wait, self.number, token(flow, false)),
                None => drop(self.open.remove(&flow)),
            }
            return;
        }
        let Some(turn) = due(connection, playing, accepted) else { return };
        playing.waiting[side] = false;
        advance(connection, playing, accepted);
        let goes_on = connection.goes_on[side] && !rest(connection, playing, accepted);
        let bytes = if goes_on { u64::MAX } else { u64::from(turn.bytes) };
        playing.written[side] = playing.written[side].saturating_add(bytes);
        let writes = if goes_on { 1 } else { u64::from(turn.writes) };
        for i in 0..writes {
            playing.carrier.write(accepted, end, bytes / writes + u64::from(i < bytes % writes), network);
        }
        // What is written when it is time waits for nothing.
        if let Some(next) = due(connection, playing, accepted).filter(|next| next.streamed) {
            playing.waiting[side] = true;
            network.wake_at(network.now() + next.wait, self.number, token(flow, accepted));
        }
        self.heard(flow, network);
    }

    /// So long was a connection seen, and its last turn goes on: it ends here.
    fn cut_off(&mut self, flow: u32, network: &mut Network) {
        if let Some(Carrier::Tcp(id)) = self.open.remove(&flow).map(|playing| playing.carrier) {
            network.cut_off(id);
        }
    }

    /// Forgets a connection that both ends have closed: what is left to be done is TCP's.
    fn forget(&mut self, flow: u32) {
        if self.open.get(&flow).is_some_and(|playing| playing.closed == [true; 2] && playing.carrier.is_done()) {
            self.open.remove(&flow);
        }
    }

    /// Something arrived or was acknowledged at an end: whose turn is it?
    fn heard(&mut self, flow: u32, network: &mut Network) {
        let recording = Arc::clone(&self.recording);
        let clients = self.clients;
        let Some(playing) = self.open.get_mut(&flow) else { return };
        let connection = &recording.connections[playing.which as usize];
        let opener = if connection.client_opens { clients } else { clients.other() };
        let mut asked = [0; 2];
        for accepted in [false, true] {
            let side = usize::from(accepted);
            let end = if accepted { opener.other() } else { opener };
            if playing.waiting[side] || playing.closed[side] {
                continue;
            }
            let Some(has) = playing.carrier.delivered(accepted, end, network) else { continue };
            asked[side] = has;
            let has_all = has >= playing.written[1 - side];
            if let Some(turn) = due(connection, playing, accepted) {
                let after_other = connection.manner == Manner::Turns
                    && turn_before(connection, playing).is_some_and(|before| before.accepted != accepted);
                let ready = match (turn.heard, after_other) {
                    (0, true) => has_all,
                    (0, false) => playing.carrier.is_idle(accepted, end, network),
                    // What is to come may be less.
                    (bytes, _) => has >= bytes || has_all && !rest(connection, playing, !accepted),
                };
                if ready {
                    playing.waiting[side] = true;
                    network.wake_at(network.now() + turn.wait, self.number, token(flow, accepted));
                }
            } else if has_all && !rest(connection, playing, false) && !rest(connection, playing, true) {
                // It never sends, or not again, and has all that the other end will send.
                asked[side] = u64::MAX;
                let closes = connection.closer.is_none_or(|closer| closer == accepted);
                if closes || playing.carrier.is_finished(end, network) {
                    playing.closed[side] = true;
                    playing.carrier.close(end, network);
                }
            }
        }
        (0..2).for_each(|side| self.ask(flow, side, asked[side], network));
        self.forget(flow);
    }

    /// What carries a connection over QUIC has news.
    fn over_quic(&mut self, flow: u32, network: &mut Network, act: impl FnOnce(&mut Quic, &mut Network)) {
        if let Some(Playing { carrier: Carrier::Quic(quic), .. }) = self.open.get_mut(&flow) {
            act(quic, network);
            self.heard(flow, network);
        }
    }
}

/// The turn that an end is to send next, if it is its turn.
fn due(connection: &Connection, playing: &Playing, accepted: bool) -> Option<Turn> {
    match connection.manner {
        Manner::Concurrent | Manner::Quic => connection.turns[playing.next[usize::from(accepted)]..]
            .iter()
            .find(|turn| turn.accepted == accepted)
            .copied(),
        _ => connection.turns.get(playing.next[0]).filter(|turn| turn.accepted == accepted).copied(),
    }
}

fn turn_before<'a>(connection: &'a Connection, playing: &Playing) -> Option<&'a Turn> {
    connection.turns.get(playing.next[0].checked_sub(1)?)
}

/// The turn that was due has been sent.
fn advance(connection: &Connection, playing: &mut Playing, accepted: bool) {
    let side = usize::from(accepted && connection.manner.is_concurrent());
    let turns = &connection.turns[playing.next[side]..];
    let skipped = match connection.manner {
        Manner::Concurrent | Manner::Quic => turns.iter().position(|turn| turn.accepted == accepted).unwrap_or(0),
        _ => 0,
    };
    playing.next[side] += skipped + 1;
}

/// True if an end has turns left.
fn rest(connection: &Connection, playing: &Playing, accepted: bool) -> bool {
    let side = usize::from(accepted && connection.manner.is_concurrent());
    playing.next[side] < playing.last[usize::from(accepted)]
}

fn token(flow: u32, accepted: bool) -> u64 {
    2 * u64::from(flow) + u64::from(accepted)
}

impl Source for Recorded {
    fn on(&mut self, event: Event, network: &mut Network) {
        match event {
            Event::Start | Event::Wake(NEXT) => self.begin(network),
            Event::Wake(token) if token & ASKED != 0 => self.start((token & !ASKED) as u32, true, network),
            Event::Wake(token) if token & OVER != 0 => self.cut_off((token & !OVER) as u32, network),
            Event::Wake(token) if token & TIMEOUT != 0 => {
                let accepted = token % 2 == 1;
                self.over_quic((token / 2) as u32, network, |quic, network| quic.on_timeout(accepted, network));
            }
            Event::Wake(token) => self.send((token / 2) as u32, token % 2 == 1, network),
            Event::Received { connection, .. } | Event::Sent { connection, .. } => {
                self.heard(connection.flow(), network);
            }
            Event::Datagram { packet, .. } => {
                self.over_quic(packet.flow, network, |quic, network| quic.on_packet(&packet, network));
            }
        }
    }
}
