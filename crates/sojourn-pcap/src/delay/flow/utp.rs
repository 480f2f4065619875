//! Datagrams between two endpoints that may be uTP, and those that are.
//!
//! Nothing marks uTP, so two endpoints count as speaking it when both sent packets that read as uTP with connection
//! ids that are equal or differ by one, or when one sent several of the same connection whose stamps go on as the time
//! does.

use crate::decode::utp::{self, Header};
use crate::delay::clock::unwrapped::Unwrapped;
use crate::delay::discard::Discard;
use crate::delay::estimate::Estimator;
use crate::delay::estimate::utp_report::{Reports, Sent};
use crate::delay::flow::track_pair::TrackPair;
use crate::delay::log::entry::{DATA, Entry, IDLE};
use crate::delay::meter_state::MeterState;
use crate::delay::options::Choice;
use crate::delay::protocol::Protocol;
use crate::delay::route_change::Route;
use crate::delay::sighting::Seen;
use crate::delay::track::TrackRef;

/// Packets of one side alone that make it uTP.
const ALONE: u8 = 4;
/// Datagrams of neither kind after which nobody looks any more.
const TRIES: u8 = 8;
/// After so many packets in a row with older stamps the clock was set, and not the packets overtaken.
const STEP_AFTER: u8 = 3;
/// No queue holds packets for so long: a larger jump is a clock that was set.
const STEP_US: i64 = 20_000_000;

type Datagram<'a> = (&'a [u8], u32);

/// What datagrams between two endpoints turned out to be.
pub(crate) enum Decided {
    Utp(Box<UtpFlow>),
    Other,
}

/// A flow of datagrams that is not known to be uTP yet.
#[derive(Debug, Default)]
pub(crate) struct Candidate {
    seen: [Option<(u16, u32, i64)>; 2],
    count: [u8; 2],
    tries: u8,
    first: Option<Box<First>>,
}

/// The first packet, kept until it is known what it is.
#[derive(Debug)]
struct First {
    side: usize,
    ttl: u8,
    frame: u64,
    time: i64,
    header: Header,
    length: u32,
}

impl Candidate {
    /// Take in a datagram; returns what the flow is once that is known.
    pub(crate) fn datagram(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        (payload, length): Datagram<'_>,
    ) -> Option<Decided> {
        let Seen { key, side, ttl, frame, time, .. } = *seen;
        let Some(header) = utp::header(payload, length) else {
            self.tries += 1;
            return (self.tries >= TRIES).then_some(Decided::Other);
        };
        let goes_on = self.seen[side].is_some_and(|(connection, stamp, at)| {
            let passed = (time - at) / 1000 - i64::from(header.stamp.wrapping_sub(stamp) as i32);
            connection.abs_diff(header.connection) <= 1 && passed.abs() < STEP_US
        });
        self.count[side] = if goes_on { self.count[side] + 1 } else { 1 };
        self.seen[side] = Some((header.connection, header.stamp, time));
        let answers = self.seen[1 - side].is_some_and(|(id, ..)| {
            id.wrapping_sub(header.connection).wrapping_add(1) <= 2 && self.count[1 - side] + self.count[side] >= 2
        });
        if answers || self.count[side] >= ALONE {
            let hosts = key.address.map(|address| state.hosts.of(address));
            let opened = self.first.as_ref().map_or(header.kind, |first| first.header.kind) == utp::SYN;
            let began = self.first.as_ref().map_or(time, |first| first.time);
            let mut flow = Box::new(UtpFlow::new(state, hosts, opened, began));
            if let Some(first) = self.first.take() {
                let First { side, ttl, header, length, frame, time } = *first;
                let seen = Seen { key, side, ttl, frame, time, ..*seen };
                flow.packet(state, &seen, &header, length);
            }
            flow.packet(state, seen, &header, length);
            return Some(Decided::Utp(flow));
        }
        if self.first.is_none() {
            self.first = Some(Box::new(First { side, ttl, header, length, frame, time }));
        } else {
            self.tries += 1;
        }
        (self.tries >= TRIES).then_some(Decided::Other)
    }
}

#[derive(Debug, Default)]
struct Side {
    stamps: Unwrapped,
    begun: Option<i64>,
    older: u8,
    route: Route,
    differences: Unwrapped,
    /// Its stamp minus the capture's time when it last sent, µs.
    offset: Option<u32>,
    probe: Option<(u16, i64)>,
    /// Number and time of its last data packet.
    newest: Option<(u16, i64)>,
    last: (u16, u32),
    tracks: TrackPair,
    reports: Reports,
    /// Places of their queue, as counted for all flows together.
    places: usize,
}

/// Both sides of a pair of uTP endpoints.
#[derive(Debug)]
pub(crate) struct UtpFlow {
    sides: [Side; 2],
    hosts: [u32; 2],
    /// Whether all hosts had been silent before it, and how many packets passed.
    idle: bool,
    packets: u32,
}

impl UtpFlow {
    fn new(state: &mut MeterState, hosts: [u32; 2], opened: bool, began: i64) -> Self {
        for host in hosts {
            state.hosts.all[host as usize].stats(Protocol::Utp);
        }
        let idle = state.hosts.begins(began, opened);
        Self { sides: Default::default(), hosts, idle, packets: 0 }
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

    #[inline]
    pub(crate) fn datagram(&mut self, state: &mut MeterState, seen: &Seen<'_>, (payload, length): Datagram<'_>) {
        // Other datagrams pass between the same ports (the DHT's); they are nobody's samples.
        if let Some(header) = utp::header(payload, length) {
            self.packet(state, seen, &header, length);
        }
    }

    fn packet(&mut self, state: &mut MeterState, seen: &Seen<'_>, header: &Header, length: u32) {
        let hosts = self.hosts;
        let (host, peer_host) = (hosts[seen.side], hosts[1 - seen.side]);
        state.hosts.sent(host, Protocol::Utp, 1, seen.time);
        self.packets = self.packets.saturating_add(1);
        let idle = if self.packets <= 4 && self.idle { IDLE } else { 0 };
        let [a, b] = &mut self.sides;
        let (me, peer) = if seen.side == 0 { (a, b) } else { (b, a) };
        if me.last == (header.seq, header.stamp) && me.begun.is_some() && header.kind != utp::STATE {
            return state.discard(host, Protocol::Utp, Discard::Duplicate, 1);
        }
        me.last = (header.seq, header.stamp);
        peer.answered(state, [host, peer_host], header.ack, seen.time);
        let data = matches!(header.kind, utp::DATA | utp::FIN | utp::SYN);
        if data {
            me.probe.get_or_insert((header.seq, seen.time));
            me.newest = Some((header.seq, seen.time));
        }
        let near = state.hosts.near_ends(host, peer_host);
        if me.route.changed(seen.ttl) {
            state.hosts.all[host as usize].stats(Protocol::Utp).route_changes += 1;
            me.restart(state);
        }
        let Some(stamp) = me.clock(state, host, header.stamp, seen.time) else { return };
        let of = |side: usize, estimator| TrackRef { key: seen.key, side, protocol: Protocol::Utp, estimator, hosts };
        if !near[0] {
            // How its clock stands against the capture's, by the path on which nothing queues.
            let against = peer.offset.filter(|_| header.difference != 0);
            let extra = against.map(|offset| header.difference.wrapping_add(offset));
            let entry = Entry::new(seen.frame, seen.time, stamp, DATA | idle, extra).long(seen.length);
            state.log(&mut me.tracks.observed, || of(seen.side, Estimator::Observer), entry);
        }
        if length > 20 || data {
            let sent = Sent { frame: seen.frame, time: seen.time, seq: header.seq, length: seen.length };
            me.reports.sent(sent, data, !near[1]);
            state.remembered += me.reports.places() - std::mem::replace(&mut me.places, me.reports.places());
        }
        let choice = state.options.estimator;
        if header.difference == 0 {
            return state.discard(peer_host, Protocol::Utp, Discard::NoReport, u64::from(choice == Choice::Reported));
        }
        if (choice == Choice::Reported || (!near[0] && choice == Choice::Auto))
            && let Some(sent) = peer.reports.reported(header.ack, !near[0], |why, count| {
                state.discard(peer_host, Protocol::Utp, why, count);
            })
        {
            peer.differences.follow(header.difference);
            let idle = if self.packets <= 6 && self.idle { IDLE } else { 0 };
            let entry =
                Entry::new(sent.frame, sent.time, peer.differences.highest(), DATA | idle, None).long(sent.length);
            state.log(&mut peer.tracks.reported, || of(1 - seen.side, Estimator::Reported), entry);
        }
    }
}

impl Side {
    /// The other side acknowledged: a round trip, if it was the packet whose answer is waited for. `host` is the one
    /// that answers; one that waits for a second packet answers the second at once.
    fn answered(&mut self, state: &mut MeterState, [host, peer]: [u32; 2], ack: u16, time: i64) {
        if let Some((_, sent)) = self.newest.take_if(|(seq, _)| *seq == ack) {
            state.hosts.responded(host, time - sent);
        }
        if let Some((seq, sent)) = self.probe
            && (ack.wrapping_sub(seq) as i16) >= 0
        {
            self.probe = None;
            state.hosts.responded(host, time - sent);
            if !state.hosts.near(host, peer) {
                state.hosts.all[host as usize].stats(Protocol::Utp).rtt.add((time - sent) as f64);
            }
        }
    }

    /// The next stamp on the line of this side's clock. Nothing of a packet that was overtaken; if the clock was set,
    /// what follows is measured anew.
    fn clock(&mut self, state: &mut MeterState, host: u32, value: u32, time: i64) -> Option<i64> {
        let begun = *self.begun.get_or_insert(time);
        let highest = self.stamps.highest();
        let mut stamp = self.stamps.advance(value);
        let jump = stamp - highest - (time - begun) / 1000;
        if stamp < highest {
            self.older += 1;
            if self.older < STEP_AFTER {
                state.discard(host, Protocol::Utp, Discard::Reordered, 1);
                return None;
            }
        }
        if stamp < highest || jump > STEP_US {
            state.hosts.all[host as usize].stats(Protocol::Utp).clock_steps += 1;
            self.restart(state);
            self.stamps = Unwrapped::default();
            stamp = self.stamps.advance(value);
        }
        self.older = 0;
        self.begun = Some(time);
        self.offset = Some(value.wrapping_sub((time / 1000) as u32));
        Some(stamp)
    }

    fn restart(&mut self, state: &mut MeterState) {
        self.tracks.close(state);
        self.forget(state);
        self.differences = Unwrapped::default();
    }

    fn forget(&mut self, state: &mut MeterState) {
        state.remembered -= std::mem::take(&mut self.places);
        self.reports = Reports::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Address;
    use crate::delay::sighting::flow_table::Key;
    use crate::{Meter, Options};
    use std::net::IpAddr;

    /// The frames that are believed to have met no queue, of those that the two hosts send in turns.
    fn idle(opened: bool) -> Vec<u64> {
        let mut meter = Meter::new(Options::default());
        let state = &mut meter.state;
        let address = [1, 2].map(|n| Address::from(IpAddr::from([10, 0, 0, n])));
        let key = Key { address, port: [5000, 6000], protocol: 17 };
        let hosts = key.address.map(|address| state.hosts.of(address));
        let mut flow = UtpFlow::new(state, hosts, opened, 10_000_000_000);
        for n in 0..10u16 {
            let time = 10_000_000_000 + i64::from(n) * 10_000_000;
            let (side, frame) = (usize::from(n % 2), u64::from(n) + 1);
            let seen = Seen { key: &key, side, ttl: 64, frame, time, length: 1000 };
            let stamp = (time / 1000) as u32;
            let header = Header { kind: utp::DATA, connection: 7, stamp, difference: 0, seq: n, ack: n };
            flow.packet(state, &seen, &header, 1000);
        }
        let tracks = 0..meter.state.tracks.len();
        let mut found: Vec<_> =
            tracks.flat_map(|i| meter.state.log.of(i)).filter(|entry| entry.is(IDLE)).map(Entry::frame).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn the_first_four_packets_of_hosts_that_were_silent_met_no_queue() {
        assert_eq!(idle(true), [1, 2, 3, 4]);
        assert_eq!(idle(false), [0; 0], "of a flow that began before the capture nothing is known");
    }

    #[test]
    fn who_waits_for_a_second_packet_and_then_answers_at_once_is_near() {
        let mut meter = Meter::new(Options::default());
        let state = &mut meter.state;
        let address = [1, 2].map(|n| Address::from(IpAddr::from([10, 0, 0, n])));
        let key = Key { address, port: [5000, 6000], protocol: 17 };
        let hosts = key.address.map(|address| state.hosts.of(address));
        let mut flow = UtpFlow::new(state, hosts, true, 0);
        let mut packet = |state: &mut MeterState, side: usize, time: i64, kind: u8, [seq, ack]: [u16; 2]| {
            let seen = Seen { key: &key, side, ttl: 64, frame: time as u64, time, length: 1000 };
            let header = Header { kind, connection: 7, stamp: (time / 1000) as u32, difference: 0, seq, ack };
            flow.packet(state, &seen, &header, 1000);
        };
        // Data arrive every 12 ms; an acknowledgement goes out with every other, and one more that says nothing new.
        packet(state, 0, 0, utp::DATA, [1, 0]);
        packet(state, 1, 500_000, utp::STATE, [1, 0]);
        assert!(!state.hosts.near(hosts[1], hosts[0]), "that was the answer to what came before");
        packet(state, 0, 12_000_000, utp::DATA, [2, 0]);
        packet(state, 1, 12_000_400, utp::STATE, [1, 2]);
        assert_eq!(hosts.map(|host| state.hosts.all[host as usize].near()), [false, true]);
        assert_eq!(state.hosts.all[hosts[1] as usize].response_min, 400);
    }
}
