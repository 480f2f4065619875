//! One TCP connection as an observer sees it: stamps, echoes, acknowledgements; each packet with a stamp is logged.

use crate::decode::tcp::{ACK, RST, SYN, Segment};
use crate::delay::estimate::tcp_report::{Reports, before};
use crate::delay::flow::{Key, Seen};
use crate::delay::host::Discard;
use crate::delay::log::{DATA, Entry, Estimator, PROMPT, Protocol, TrackRef};
use crate::delay::route::Route;
use crate::delay::stamps::Unwrapped;
use crate::delay::state::{Choice, MeterState, NONE};
use crate::delay::tracks::Tracks;
use std::collections::VecDeque;

/// Stamps of one side that the other has not echoed yet. 4096 milliseconds' worth at 1 ms; later ones are not timed.
const MOST_ECHOES: usize = 4096;
/// After so many packets in a row with older stamps the clock was set, and not the packets overtaken.
const STEP_AFTER: u8 = 3;
/// A stamp that is further ahead than this many ticks was not reached by ticking: 12 days of milliseconds.
const STEP_AHEAD: i64 = 1 << 30;

#[derive(Debug, Default)]
struct Side {
    packets: u32,
    stamps: Unwrapped,
    older: u8,
    highest: u32,
    route: Route,
    last: (u32, u32, u32, u32, u16),
    /// End and time of data that waits for its acknowledgement (one at a time, never a retransmission: Karn's rule).
    probe: Option<(u32, i64)>,
    echoes: VecDeque<(u32, i64)>,
    tracks: Tracks,
    reports: Reports,
}

/// Both sides of a connection.
#[derive(Debug)]
pub(crate) struct TcpFlow {
    sides: [Side; 2],
    hosts: [u32; 2],
    packets: u32,
    /// Side and sequence number of the SYN, and how many SYN-ACKs answered it.
    syn: Option<(usize, u8)>,
    handshake: bool,
    /// Sequence number of the last SYN, by which a new connection between the same ports is known.
    opened: Option<u32>,
    /// The first segment, if it has a stamp, and its side.
    first: Option<(usize, Entry)>,
}

impl Default for TcpFlow {
    fn default() -> Self {
        let sides = Default::default();
        Self { sides, hosts: [NONE; 2], packets: 0, syn: None, handshake: false, opened: None, first: None }
    }
}

impl TcpFlow {
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// The flow is over.
    pub(crate) fn close(&mut self, state: &mut MeterState) {
        for side in &mut self.sides {
            side.tracks.close(state);
        }
    }

    /// Tracks are numbered anew.
    pub(crate) fn renumber(&mut self, map: &[u32]) {
        for side in &mut self.sides {
            side.tracks.renumber(map);
        }
    }

    /// Take in a segment; `id` is the identification field of its IP header.
    #[inline]
    pub(crate) fn segment(&mut self, state: &mut MeterState, seen: &Seen<'_>, id: u16, segment: &Segment) {
        let Seen { key, side, time, .. } = *seen;
        self.packets = self.packets.saturating_add(1);
        if self.packets == 2 {
            self.hosts = key.address.map(|address| state.hosts.of(address));
        }
        let host = self.hosts[side];
        if self.packets >= 2 {
            state.hosts.all[host as usize].stats(Protocol::Tcp).packets += if self.packets == 2 { 2 } else { 1 };
        }
        if segment.flags & (SYN | ACK) == SYN && self.opened.replace(segment.seq).is_some_and(|seq| seq != segment.seq)
        {
            self.reopen(state);
        }
        let identity = (segment.seq, segment.ack, segment.payload, segment.stamps.map_or(0, |s| s.0), id);
        let me = &mut self.sides[side];
        if me.packets > 0 && me.last == identity && (id != 0 || segment.payload > 0) {
            return state.discard(host, Protocol::Tcp, Discard::Duplicate, 1);
        }
        me.last = identity;
        me.packets = me.packets.saturating_add(1);
        let prompt = self.times(state, side, segment, time);
        if segment.flags & RST != 0 {
            // Resets are often made by middleboxes, or carry the stamp of what they answer.
            return;
        }
        let Some((value, echo)) = segment.stamps else {
            let why = if segment.options_cut { Discard::OptionsCut } else { Discard::NoTimestamps };
            return state.discard(host, Protocol::Tcp, why, 1);
        };
        self.stamped(state, seen, segment, (value, echo), prompt);
    }

    /// Round trips by sequence numbers, which tell near from far. Returns whether this packet answered the handshake
    /// at once.
    #[inline]
    fn times(&mut self, state: &mut MeterState, side: usize, segment: &Segment, time: i64) -> bool {
        let hosts = self.hosts;
        let [me, peer] = self.pair(side);
        if segment.flags & ACK != 0
            && let Some((end, sent)) = peer.probe
            && !before(segment.ack, end)
        {
            peer.probe = None;
            state.responded(hosts[side], time - sent);
            if !state.near(hosts[side])
                && let Some(host) = state.hosts.all.get_mut(hosts[side] as usize)
            {
                host.stats(Protocol::Tcp).rtt.add((time - sent) as f64);
            }
        }
        if segment.occupies() {
            let end = segment.end();
            let fresh = me.packets == 1 || !before(segment.seq, me.highest);
            if !fresh {
                me.probe = None;
            } else if me.probe.is_none() {
                me.probe = Some((end, time));
            }
            if me.packets == 1 || before(me.highest, end) {
                me.highest = end;
            }
        }
        match (segment.flags & (SYN | ACK), self.syn) {
            (SYN, None) => self.syn = Some((side, 0)),
            (SYN, Some((_, answers))) => self.syn = Some((side, answers.saturating_add(2))),
            (both, Some((asked, answers))) if both == SYN | ACK && asked != side => {
                self.syn = Some((asked, answers.saturating_add(1)));
                return answers == 0;
            }
            (ACK, Some((asked, 1))) if asked == side && !self.handshake => {
                self.handshake = true;
                return segment.payload == 0;
            }
            _ => {}
        }
        false
    }

    fn pair(&mut self, side: usize) -> [&mut Side; 2] {
        let (a, b) = self.sides.split_at_mut(1);
        if side == 0 { [&mut a[0], &mut b[0]] } else { [&mut b[0], &mut a[0]] }
    }

    /// A segment with timestamps: `prompt` if it answered the handshake at once.
    #[inline]
    fn stamped(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        segment: &Segment,
        (value, echo): (u32, u32),
        prompt: bool,
    ) {
        let host = self.hosts[seen.side];
        let near = [host, self.hosts[1 - seen.side]].map(|host| state.near(host));
        let known = self.packets > 1;
        self.log_first(state, seen.key);
        let [me, peer] = self.pair(seen.side);
        if me.route.changed(seen.ttl) && known {
            state.hosts.all[host as usize].stats(Protocol::Tcp).route_changes += 1;
            me.restart(state);
        }
        let Some((stamp, fresh)) = me.clock(state, host, value, known) else { return };
        if !near[1] && fresh && me.echoes.len() < MOST_ECHOES {
            me.echoes.push_back((value, seen.time));
        }
        if !near[0] {
            let round_trip = (segment.flags & ACK != 0).then(|| peer.echoed(echo, seen.time)).flatten();
            self.observe(state, seen, stamp, round_trip, flags(segment, prompt && round_trip.is_some()));
            if !known {
                return;
            }
        }
        self.report(state, seen, segment, (stamp, value), near);
    }

    /// Log the first segment of all, which was kept until its host was known.
    #[inline]
    fn log_first(&mut self, state: &mut MeterState, key: &Key) {
        if let Some((side, entry)) = self.first.take()
            && !state.near(self.hosts[side])
        {
            let of = self.track(key, side, Estimator::Observer);
            state.log(&mut self.sides[side].tracks.observed, &of, entry);
        }
    }

    /// The observer's clock: log the segment, and the round trip that its echo tells.
    #[inline]
    fn observe(&mut self, state: &mut MeterState, seen: &Seen<'_>, stamp: i64, round_trip: Option<i64>, flags: u64) {
        if let Some(round_trip) = round_trip
            && let Some(host) = state.hosts.all.get_mut(self.hosts[seen.side] as usize)
        {
            host.echo_min = host.echo_min.min(round_trip);
        }
        let micros = round_trip.and_then(|ns| u32::try_from(ns / 1000).ok());
        let entry = Entry::new(seen.frame, seen.time, stamp, flags, micros);
        if self.packets == 1 {
            self.first = Some((seen.side, entry));
            return;
        }
        let of = self.track(seen.key, seen.side, Estimator::Observer);
        state.log(&mut self.sides[seen.side].tracks.observed, &of, entry);
    }

    /// The receiver's clock: keep the segment until it is acknowledged, and log the one that it acknowledges. `near`:
    /// whether its sender and its receiver are.
    #[inline]
    fn report(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        segment: &Segment,
        (stamp, value): (i64, u32),
        near: [bool; 2],
    ) {
        let choice = state.options.estimator;
        let (known, peer_host) = (self.packets > 1, self.hosts[1 - seen.side]);
        let of = self.track(seen.key, 1 - seen.side, Estimator::Reported);
        let [me, peer] = self.pair(seen.side);
        let kept = choice == Choice::Reported || (!near[1] && choice == Choice::Auto);
        if known && kept && segment.payload > 0 {
            me.reports.sent(segment, stamp, (seen.frame, seen.time), !near[1]);
        }
        if segment.flags & ACK != 0
            && (choice == Choice::Reported || (!near[0] && choice == Choice::Auto))
            && let Some(sent) = peer.reports.acknowledged(segment, !near[0], |why, count| {
                state.discard(peer_host, Protocol::Tcp, why, count);
            })
        {
            let entry = Entry::new(sent.frame, sent.time, sent.stamp, DATA, Some(value));
            state.log(&mut peer.tracks.reported, &of, entry);
        }
    }

    fn track<'a>(&self, key: &'a Key, side: usize, estimator: Estimator) -> TrackRef<'a> {
        TrackRef { key, side, protocol: Protocol::Tcp, estimator, hosts: self.hosts }
    }

    /// Another connection between the same ports: stamps and sequence numbers begin anew.
    fn reopen(&mut self, state: &mut MeterState) {
        for side in &mut self.sides {
            side.restart(state);
            *side = Side::default();
        }
        (self.syn, self.handshake, self.first) = (None, false, None);
    }
}

impl Side {
    /// The next stamp on the line of this side's clock, and whether it is later than all before. Nothing of a packet
    /// that was overtaken; if the clock was set, what follows is measured anew.
    #[inline]
    fn clock(&mut self, state: &mut MeterState, host: u32, value: u32, known: bool) -> Option<(i64, bool)> {
        let (highest, begun) = (self.stamps.highest(), self.stamps.begun());
        let mut stamp = self.stamps.advance(value);
        if stamp < highest || stamp - highest > STEP_AHEAD {
            self.older += 1;
            if stamp < highest && (self.older < STEP_AFTER || !known) {
                state.discard(host, Protocol::Tcp, Discard::Reordered, 1);
                return None;
            }
            if known {
                state.hosts.all[host as usize].stats(Protocol::Tcp).clock_steps += 1;
            }
            self.restart(state);
            self.stamps = Unwrapped::default();
            stamp = self.stamps.advance(value);
        }
        self.older = 0;
        Some((stamp, stamp > highest || !begun))
    }

    /// How long ago the packet of this side passed whose stamp the other side echoes, ns.
    #[inline]
    fn echoed(&mut self, echo: u32, time: i64) -> Option<i64> {
        while let Some(&(sent, _)) = self.echoes.front()
            && before(sent, echo)
        {
            self.echoes.pop_front();
        }
        let &(sent, at) = self.echoes.front()?;
        (sent == echo && time >= at).then(|| time - at)
    }

    /// The clock was set or the route changed: what follows is measured from a base of its own.
    fn restart(&mut self, state: &mut MeterState) {
        self.tracks.close(state);
        self.reports = Reports::default();
        self.echoes.clear();
    }
}

fn flags(segment: &Segment, prompt: bool) -> u64 {
    (if segment.payload > 0 { DATA } else { 0 }) | if prompt { PROMPT } else { 0 }
}
