//! Datagrams between two endpoints that may be uTP, and those that are.
//!
//! Nothing marks uTP, so two endpoints count as speaking it when both sent packets that read as uTP with connection
//! ids that are equal or differ by one, or when one sent several of the same connection whose stamps go on as the time
//! does.

use crate::decode::utp::{self, Header};
use crate::estimate::utp_report::{Reports, Sent};
use crate::flow::Key;
use crate::host::Discard;
use crate::log::{DATA, EXTRA, Estimator, Protocol};
use crate::route::Route;
use crate::shared::{Choice, NONE, Shared};
use crate::stamps::Unwrapped;
use crate::tracks::Tracks;

/// Packets of one side alone that make it uTP.
const ALONE: u8 = 4;
/// Datagrams of neither kind after which nobody looks any more.
const TRIES: u8 = 8;
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
    header: Header,
    length: u32,
    frame: u64,
    time: i64,
}

impl Candidate {
    /// Take in a datagram; returns what the flow is once that is known.
    #[expect(clippy::too_many_arguments, reason = "a packet and where it belongs")]
    pub(crate) fn datagram(
        &mut self,
        shared: &mut Shared,
        key: &Key,
        side: usize,
        ttl: u8,
        (payload, length): Datagram<'_>,
        frame: u64,
        time: i64,
    ) -> Option<Decided> {
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
            let hosts = key.address.map(|address| shared.hosts.of(address));
            let mut flow = Box::new(UtpFlow::new(hosts));
            if let Some(first) = self.first.take() {
                let First { side, ttl, header, length, frame, time } = *first;
                flow.packet(shared, key, side, ttl, &header, length, frame, time);
            }
            flow.packet(shared, key, side, ttl, &header, length, frame, time);
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
    last: (u16, u32),
    tracks: Tracks,
    reports: Reports,
}

/// Both sides of a pair of uTP endpoints.
#[derive(Debug)]
pub(crate) struct UtpFlow {
    sides: [Side; 2],
    hosts: [u32; 2],
}

impl UtpFlow {
    fn new(hosts: [u32; 2]) -> Self {
        Self { sides: Default::default(), hosts }
    }

    pub(crate) fn tracks(&self) -> [u32; 4] {
        let [a, b] = &self.sides;
        Tracks::of([&a.tracks, &b.tracks])
    }

    pub(crate) fn renumber(&mut self, map: &[u32]) {
        for side in &mut self.sides {
            side.tracks.renumber(map);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a packet and where it belongs")]
    #[inline]
    pub(crate) fn datagram(
        &mut self,
        shared: &mut Shared,
        key: &Key,
        side: usize,
        ttl: u8,
        (payload, length): Datagram<'_>,
        frame: u64,
        time: i64,
    ) {
        // Other datagrams pass between the same ports (the DHT's); they are nobody's samples.
        if let Some(header) = utp::header(payload, length) {
            self.packet(shared, key, side, ttl, &header, length, frame, time);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a packet and where it belongs")]
    fn packet(
        &mut self,
        shared: &mut Shared,
        key: &Key,
        side: usize,
        ttl: u8,
        header: &Header,
        length: u32,
        frame: u64,
        time: i64,
    ) {
        let hosts = self.hosts;
        let (host, peer_host) = (hosts[side], hosts[1 - side]);
        shared.hosts.all[host as usize].stats(Protocol::Utp).packets += 1;
        let (a, b) = self.sides.split_at_mut(1);
        let (me, peer) = if side == 0 { (&mut a[0], &mut b[0]) } else { (&mut b[0], &mut a[0]) };
        if me.last == (header.seq, header.stamp) && me.begun.is_some() && header.kind != utp::STATE {
            return shared.discard(host, Protocol::Utp, Discard::Duplicate, 1);
        }
        me.last = (header.seq, header.stamp);
        if let Some((seq, sent)) = peer.probe
            && (header.ack.wrapping_sub(seq) as i16) >= 0
        {
            peer.probe = None;
            shared.responded(host, time - sent);
            if !shared.near(host) {
                shared.hosts.all[host as usize].stats(Protocol::Utp).rtt.add((time - sent) as f64);
            }
        }
        let data = matches!(header.kind, utp::DATA | utp::FIN | utp::SYN);
        if data && me.probe.is_none() {
            me.probe = Some((header.seq, time));
        }
        let (near, far_peer) = (shared.near(host), !shared.near(peer_host));
        if me.route.changed(ttl) {
            shared.hosts.all[host as usize].stats(Protocol::Utp).route_changes += 1;
            Self::restart(shared, me);
        }
        let begun = *me.begun.get_or_insert(time);
        let highest = me.stamps.highest();
        let mut stamp = me.stamps.advance(header.stamp);
        let jump = stamp - highest - (time - begun) / 1000;
        if stamp < highest {
            me.older += 1;
            if me.older < 3 {
                return shared.discard(host, Protocol::Utp, Discard::Reordered, 1);
            }
        }
        if stamp < highest || jump > STEP_US {
            shared.hosts.all[host as usize].stats(Protocol::Utp).clock_steps += 1;
            Self::restart(shared, me);
            me.stamps = Unwrapped::default();
            stamp = me.stamps.advance(header.stamp);
        }
        me.older = 0;
        me.begun = Some(time);
        me.offset = Some(header.stamp.wrapping_sub((time / 1000) as u32));
        let choice = shared.options.estimator;
        let flow = (key, side);
        if !near {
            // How its clock stands against the capture's, by the path on which nothing queues.
            let against = peer.offset.filter(|_| header.difference != 0);
            let extra = against.map_or(0, |offset| header.difference.wrapping_add(offset));
            let flags = DATA | if against.is_some() { EXTRA } else { 0 };
            let mut track = me.tracks.observed.unwrap_or(NONE);
            let what = (Protocol::Utp, Estimator::Observer);
            shared.log(&mut track, flow, what.0, what.1, hosts, (time, stamp), (frame, flags), extra);
            me.tracks.observed = Some(track);
        }
        if length > 20 || data {
            me.reports.sent(Sent { frame, time, seq: header.seq }, far_peer);
        }
        if header.difference == 0 {
            return shared.discard(peer_host, Protocol::Utp, Discard::NoReport, u64::from(choice == Choice::Reported));
        }
        if (choice == Choice::Reported || (!near && choice == Choice::Auto))
            && let Some(sent) = peer.reports.reported(header.ack, !near)
        {
            peer.differences.follow(header.difference);
            let stamp = peer.differences.highest();
            let mut track = peer.tracks.reported.unwrap_or(NONE);
            let what = (Protocol::Utp, Estimator::Reported);
            let flow = (key, 1 - side);
            shared.log(&mut track, flow, what.0, what.1, hosts, (sent.time, stamp), (sent.frame, DATA), 0);
            peer.tracks.reported = Some(track);
        }
    }

    fn restart(shared: &mut Shared, me: &mut Side) {
        me.tracks.close(shared);
        me.reports = Reports::default();
        me.differences = Unwrapped::default();
    }
}
