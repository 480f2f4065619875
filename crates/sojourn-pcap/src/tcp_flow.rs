//! One TCP connection as an observer sees it: stamps, echoes, acknowledgements; each packet with a stamp is logged.

use crate::decode::Packet;
use crate::decode::tcp::{ACK, RST, SYN, Segment};
use crate::estimate::tcp_report::{Reports, before};
use crate::flow::Key;
use crate::host::Discard;
use crate::log::{DATA, EXTRA, Estimator, PROMPT, Protocol};
use crate::route::Route;
use crate::shared::{Choice, NONE, Shared};
use crate::stamps::Unwrapped;
use crate::tracks::Tracks;
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
    first: Option<(usize, i64, i64, u64)>,
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

    pub(crate) fn tracks(&self) -> [u32; 4] {
        let [a, b] = &self.sides;
        Tracks::of([&a.tracks, &b.tracks])
    }

    /// Tracks are numbered anew.
    pub(crate) fn renumber(&mut self, map: &[u32]) {
        for side in &mut self.sides {
            side.tracks.renumber(map);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a packet and where it belongs")]
    #[inline]
    pub(crate) fn segment(
        &mut self,
        shared: &mut Shared,
        key: &Key,
        side: usize,
        packet: &Packet<'_>,
        segment: &Segment,
        frame: u64,
        time: i64,
    ) {
        self.packets = self.packets.saturating_add(1);
        if self.packets == 2 {
            self.hosts = key.address.map(|address| shared.hosts.of(address));
        }
        let host = self.hosts[side];
        if self.packets >= 2 {
            shared.hosts.all[host as usize].stats(Protocol::Tcp).packets += if self.packets == 2 { 2 } else { 1 };
        }
        if segment.flags & (SYN | ACK) == SYN && self.opened.replace(segment.seq).is_some_and(|seq| seq != segment.seq)
        {
            self.reopen(shared);
        }
        let identity = (segment.seq, segment.ack, segment.payload, segment.stamps.map_or(0, |s| s.0), packet.id);
        let me = &mut self.sides[side];
        if me.packets > 0 && me.last == identity && (packet.id != 0 || segment.payload > 0) {
            return shared.discard(host, Protocol::Tcp, Discard::Duplicate, 1);
        }
        me.last = identity;
        me.packets = me.packets.saturating_add(1);
        let prompt = self.times(shared, side, segment, time);
        if segment.flags & RST != 0 {
            // Resets are often made by middleboxes, or carry the stamp of what they answer.
            return;
        }
        let Some((value, echo)) = segment.stamps else {
            let why = if segment.options_cut { Discard::OptionsCut } else { Discard::NoTimestamps };
            return shared.discard(host, Protocol::Tcp, why, 1);
        };
        self.stamped(shared, key, side, packet.ttl, segment, (value, echo), prompt, frame, time);
    }

    /// Round trips by sequence numbers, which tell near from far. Returns whether this packet answered the handshake
    /// at once.
    #[inline]
    fn times(&mut self, shared: &mut Shared, side: usize, segment: &Segment, time: i64) -> bool {
        let hosts = self.hosts;
        let [me, peer] = self.pair(side);
        if segment.flags & ACK != 0
            && let Some((end, sent)) = peer.probe
            && !before(segment.ack, end)
        {
            peer.probe = None;
            shared.responded(hosts[side], time - sent);
            if !shared.near(hosts[side])
                && let Some(host) = shared.hosts.all.get_mut(hosts[side] as usize)
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

    #[expect(clippy::too_many_arguments, reason = "a packet and where it belongs")]
    #[inline]
    fn stamped(
        &mut self,
        shared: &mut Shared,
        key: &Key,
        side: usize,
        ttl: u8,
        segment: &Segment,
        (value, echo): (u32, u32),
        prompt: bool,
        frame: u64,
        time: i64,
    ) {
        let hosts = self.hosts;
        let (host, peer_host) = (hosts[side], hosts[1 - side]);
        let (near, far_peer) = (shared.near(host), !shared.near(peer_host));
        let choice = shared.options.estimator;
        let known = self.packets > 1;
        if let Some((side, time, stamp, frame_flags)) = self.first.take()
            && !shared.near(hosts[side])
        {
            let mut track = NONE;
            let what = (Protocol::Tcp, Estimator::Observer);
            shared.log(&mut track, (key, side), what.0, what.1, hosts, (time, stamp), (frame_flags, 0), 0);
            self.sides[side].tracks.observed = Some(track);
        }
        let [me, peer] = self.pair(side);
        if me.route.changed(ttl) && known {
            shared.hosts.all[host as usize].stats(Protocol::Tcp).route_changes += 1;
            Self::restart(shared, me);
        }
        let (highest, begun) = (me.stamps.highest(), me.stamps.begun());
        let mut stamp = me.stamps.advance(value);
        if stamp < highest || stamp - highest > STEP_AHEAD {
            me.older += 1;
            if stamp < highest && (me.older < STEP_AFTER || !known) {
                return shared.discard(host, Protocol::Tcp, Discard::Reordered, 1);
            }
            if known {
                shared.hosts.all[host as usize].stats(Protocol::Tcp).clock_steps += 1;
            }
            Self::restart(shared, me);
            me.stamps = Unwrapped::default();
            stamp = me.stamps.advance(value);
        }
        me.older = 0;
        if far_peer && (stamp > highest || !begun) && me.echoes.len() < MOST_ECHOES {
            me.echoes.push_back((value, time));
        }
        // How long ago the packet passed whose stamp this one echoes.
        let mut round_trip = None;
        if segment.flags & ACK != 0 && !near {
            while let Some(&(sent, _)) = peer.echoes.front()
                && before(sent, echo)
            {
                peer.echoes.pop_front();
            }
            if let Some(&(sent, at)) = peer.echoes.front()
                && sent == echo
                && time >= at
            {
                round_trip = Some(time - at);
            }
        }
        let flow = (key, side);
        if !near {
            if let Some(round_trip) = round_trip
                && let Some(host) = shared.hosts.all.get_mut(host as usize)
            {
                host.echo_min = host.echo_min.min(round_trip);
            }
            let micros = round_trip.map(|ns| ns / 1000).and_then(|micros| u32::try_from(micros).ok());
            let mut flags = if segment.payload > 0 { DATA } else { 0 };
            flags |= if prompt && round_trip.is_some() { PROMPT } else { 0 };
            flags |= if micros.is_some() { EXTRA } else { 0 };
            if !known {
                self.first = Some((side, time, stamp, frame | flags));
                return;
            }
            let mut track = me.tracks.observed.unwrap_or(NONE);
            let what = (Protocol::Tcp, Estimator::Observer);
            shared.log(&mut track, flow, what.0, what.1, hosts, (time, stamp), (frame, flags), micros.unwrap_or(0));
            me.tracks.observed = Some(track);
        }
        if known && (choice == Choice::Reported || (far_peer && choice == Choice::Auto)) && segment.payload > 0 {
            me.reports.sent(segment, stamp, (frame, time), far_peer);
        }
        if segment.flags & ACK != 0
            && (choice == Choice::Reported || (!near && choice == Choice::Auto))
            && let Some(sent) = peer.reports.acknowledged(segment, !near, |why, count| {
                shared.discard(peer_host, Protocol::Tcp, why, count);
            })
        {
            let mut track = peer.tracks.reported.unwrap_or(NONE);
            let what = (Protocol::Tcp, Estimator::Reported);
            let (at, who) = ((sent.time, sent.stamp), (sent.frame, DATA | EXTRA));
            shared.log(&mut track, (key, 1 - side), what.0, what.1, hosts, at, who, value);
            peer.tracks.reported = Some(track);
        }
    }

    /// Another connection between the same ports: stamps and sequence numbers begin anew.
    fn reopen(&mut self, shared: &mut Shared) {
        for side in &mut self.sides {
            Self::restart(shared, side);
            *side = Side::default();
        }
        (self.syn, self.handshake, self.first) = (None, false, None);
    }

    /// The clock was set or the route changed: what follows is measured from a base of its own.
    fn restart(shared: &mut Shared, me: &mut Side) {
        me.tracks.close(shared);
        me.reports = Reports::default();
        me.echoes.clear();
    }
}
