//! One TCP connection as an observer sees it: stamps, echoes, acknowledgements; each packet with a stamp is logged.

use crate::decode::tcp::{ACK, RST, SYN, Segment};
use crate::delay::estimate::tcp_arrival::InFlight;
use crate::delay::estimate::tcp_report::{Reports, before};
use crate::delay::flow::{Key, Seen};
use crate::delay::host::Discard;
use crate::delay::log::{DATA, ECHOED, Entry, IDLE, LONE, TOWARD};
use crate::delay::route::Route;
use crate::delay::stamps::Unwrapped;
use crate::delay::state::{Choice, MeterState, NONE};
use crate::delay::track::{Estimator, Protocol, TrackRef};
use crate::delay::tracks::Tracks;
use std::collections::VecDeque;

/// Stamps of one side that the other has not echoed yet. 4096 milliseconds' worth at 1 ms; later ones are not timed.
const MOST_ECHOES: usize = 4096;
/// Silence of a host after which its own packets no longer wait anywhere, ns.
pub(crate) const SILENCE: i64 = 2_000_000_000;
/// After so many packets in a row with older stamps the clock was set, and not the packets overtaken.
const STEP_AFTER: u8 = 3;
/// A stamp that is further ahead than this many ticks was not reached by ticking: 12 days of milliseconds.
const STEP_AHEAD: i64 = 1 << 30;

/// A packet whose stamp the other side will echo.
#[derive(Debug, Clone, Copy)]
struct Echo {
    stamp: u32,
    time: i64,
    frame: u64,
    length: u16,
    /// It carries no data, so that nothing but echoes tells of its arrival.
    pure: bool,
    told: bool,
}

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
    echoes: VecDeque<Echo>,
    tracks: Tracks,
    reports: Reports,
    in_flight: InFlight,
    /// Places of these queues, as counted for all flows together.
    places: usize,
}

/// Both sides of a connection.
#[derive(Debug)]
pub(crate) struct TcpFlow {
    sides: [Side; 2],
    hosts: [u32; 2],
    packets: u32,
    /// Sequence number of the last SYN, by which a new connection between the same ports is known.
    opened: Option<u32>,
    /// The first segment, if it has a stamp, and its side.
    first: Option<(usize, Entry)>,
    /// Time of the first packet, and which hosts had been silent before it.
    began: i64,
    idle: [bool; 2],
}

impl Default for TcpFlow {
    fn default() -> Self {
        Self {
            sides: Default::default(),
            hosts: [NONE; 2],
            packets: 0,
            opened: None,
            first: None,
            began: 0,
            idle: [false; 2],
        }
    }
}

impl TcpFlow {
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// The flow is over.
    pub(crate) fn close(&mut self, state: &mut MeterState) {
        self.forget(state);
        for side in &mut self.sides {
            side.tracks.close(state);
        }
    }

    /// Forget what waits for an answer.
    pub(crate) fn forget(&mut self, state: &mut MeterState) {
        self.sides.iter_mut().for_each(|side| side.forget(state));
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
        match self.packets {
            1 => self.began = time,
            2 => self.open(state, key),
            _ => {}
        }
        let host = self.hosts[side];
        if self.packets >= 2 {
            let host = &mut state.hosts.all[host as usize];
            host.last_sent = time;
            host.stats(Protocol::Tcp).packets += if self.packets == 2 { 2 } else { 1 };
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
        self.times(state, side, segment, time);
        if segment.flags & RST != 0 {
            // Resets are often made by middleboxes, or carry the stamp of what they answer.
            return;
        }
        let Some((value, echo)) = segment.stamps else {
            let why = if segment.options_cut { Discard::OptionsCut } else { Discard::NoTimestamps };
            return state.discard(host, Protocol::Tcp, why, 1);
        };
        self.stamped(state, seen, segment, (value, echo));
        self.sides[side].count_places(state);
    }

    /// Both hosts are known: had they been silent before this connection?
    fn open(&mut self, state: &mut MeterState, key: &Key) {
        self.hosts = key.address.map(|address| state.hosts.of(address));
        for (idle, host) in self.idle.iter_mut().zip(self.hosts) {
            let host = &mut state.hosts.all[host as usize];
            if self.opened.is_some() {
                *idle = host.last_sent < self.began.saturating_sub(SILENCE);
            } else {
                host.midstream = host.midstream.min(self.began);
            }
        }
    }

    /// Round trips by sequence numbers, which tell near from far.
    #[inline]
    fn times(&mut self, state: &mut MeterState, side: usize, segment: &Segment, time: i64) {
        let hosts = self.hosts;
        let [me, peer] = self.pair(side);
        if segment.flags & ACK != 0
            && let Some((end, sent)) = peer.probe
            && !before(segment.ack, end)
        {
            peer.probe = None;
            state.responded(hosts[side], time - sent);
            if !state.near(hosts[side], hosts[1 - side])
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
    }

    #[inline]
    fn pair(&mut self, side: usize) -> [&mut Side; 2] {
        let [a, b] = &mut self.sides;
        if side == 0 { [a, b] } else { [b, a] }
    }

    /// A segment with timestamps.
    #[inline]
    fn stamped(&mut self, state: &mut MeterState, seen: &Seen<'_>, segment: &Segment, (value, echo): (u32, u32)) {
        let (host, other) = (self.hosts[seen.side], self.hosts[1 - seen.side]);
        let near = state.hosts.near_ends(host, other);
        let known = self.packets > 1;
        state.between_local += u64::from(near[0] && near[1]);
        self.log_first(state, seen.key);
        let [me, peer] = self.pair(seen.side);
        if me.route.changed(seen.ttl) && known {
            state.hosts.all[host as usize].stats(Protocol::Tcp).route_changes += 1;
            me.restart(state);
        }
        let Some((stamp, fresh)) = me.clock(state, host, value, known) else { return };
        if !near[1] && fresh && me.echoes.len() < MOST_ECHOES {
            let (time, frame, length) = (seen.time, seen.frame, seen.length);
            me.echoes.push_back(Echo { stamp: value, time, frame, length, pure: segment.payload == 0, told: false });
        }
        if !near[0] {
            let echoed = if segment.flags & ACK != 0 { peer.echoed(echo, seen.time) } else { None };
            let round_trip = echoed.map(|(echo, _)| seen.time - echo.time);
            // Data that acknowledgements clock out tell that their sender is near, where it acknowledges nothing
            // itself.
            if let Some(after) = round_trip {
                state.responded(host, after);
            }
            let idle = self.packets <= 3 && self.idle[seen.side];
            let flags = if segment.payload > 0 { DATA } else { 0 } | if idle { IDLE } else { 0 };
            self.observe(state, seen, stamp, round_trip, flags);
            if !known {
                return;
            }
            if near[1] && state.beside(other) && state.options.estimator != Choice::Reported {
                return self.toward(state, seen, segment, (stamp, echo), echoed);
            }
        } else if known && !near[1] && state.beside(host) && state.options.estimator != Choice::Reported {
            if segment.payload > 0 {
                me.in_flight.sent(segment, value, (seen.frame, seen.time), seen.length);
            }
            return;
        }
        self.report(state, seen, segment, (stamp, value), near);
    }

    /// Log the first segment of all, which was kept until its host was known.
    #[inline]
    fn log_first(&mut self, state: &mut MeterState, key: &Key) {
        if let Some((side, entry)) = self.first.take()
            && !state.near(self.hosts[side], self.hosts[1 - side])
        {
            let entry = if self.idle[side] { entry.flagged(IDLE) } else { entry };
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
        let entry = Entry::new(seen.frame, seen.time, stamp, flags, micros).long(seen.length);
        if self.packets == 1 {
            self.first = Some((seen.side, entry));
            return;
        }
        let of = self.track(seen.key, seen.side, Estimator::Observer);
        state.log(&mut self.sides[seen.side].tracks.observed, &of, entry);
    }

    /// The near side's packet that a packet of the far side tells of: the data that it acknowledges, or the
    /// acknowledgement whose stamp it is the first to echo.
    #[inline]
    fn toward(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        segment: &Segment,
        (stamp, echo): (i64, u32),
        echoed: Option<(Echo, bool)>,
    ) {
        if segment.flags & ACK == 0 {
            return;
        }
        let host = self.hosts[seen.side];
        let [me, peer] = self.pair(seen.side);
        let (frame, time, length, flags) = match peer.in_flight.acknowledged(segment, echo) {
            // A packet with data may have waited for that data.
            Some(arrival) => {
                let (sent, lone) = (arrival.departed, arrival.lone || segment.payload > 0);
                (sent.frame, sent.time, sent.length, if lone { DATA | LONE } else { DATA })
            }
            None => match echoed {
                Some((echo, true)) if echo.pure && segment.payload > 0 => (echo.frame, echo.time, echo.length, ECHOED),
                _ => return,
            },
        };
        let Ok(micros) = u32::try_from((seen.time - time) / 1000) else { return };
        if let Some(host) = state.hosts.all.get_mut(host as usize) {
            host.echo_min = host.echo_min.min(seen.time - time);
        }
        let entry = Entry::new(frame, seen.time, stamp, flags | TOWARD, Some(micros)).long(length);
        // Its sender's track is there: this packet was logged in it.
        if let Some(track) = me.tracks.observed {
            state.log.push(Entry { track, ..entry });
        }
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
        self.first = None;
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

    /// The packet of this side whose stamp the other side echoes, and whether this is the first echo of it.
    #[inline]
    fn echoed(&mut self, echo: u32, time: i64) -> Option<(Echo, bool)> {
        while let Some(front) = self.echoes.front()
            && before(front.stamp, echo)
        {
            self.echoes.pop_front();
        }
        let front = self.echoes.front_mut()?;
        if front.stamp != echo || time < front.time {
            return None;
        }
        let first = !std::mem::replace(&mut front.told, true);
        Some((*front, first))
    }

    /// The clock was set or the route changed: what follows is measured from a base of its own.
    fn restart(&mut self, state: &mut MeterState) {
        self.tracks.close(state);
        self.forget(state);
    }

    #[inline]
    fn count_places(&mut self, state: &mut MeterState) {
        let places = self.echoes.capacity() + self.reports.places() + self.in_flight.places();
        state.remembered += places - std::mem::replace(&mut self.places, places);
    }

    fn forget(&mut self, state: &mut MeterState) {
        state.remembered -= std::mem::take(&mut self.places);
        (self.reports, self.in_flight, self.echoes) = Default::default();
    }
}
