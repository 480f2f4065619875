//! One TCP connection between two hosts as an observer sees it: echoes, acknowledgements, which end is near; each
//! packet with a stamp is logged. What a segment is within its connection, it comes with.

use crate::decode::tcp::{ACK, RST, SYN, Segment};
use crate::delay::discard::Discard;
use crate::delay::estimate::Estimator;
use crate::delay::flow::echoes::Echo;
use crate::delay::flow::tcp_side::Side;
use crate::delay::host::{Ends, Near};
use crate::delay::log::entry::{AGAIN, AWAITED, DATA, ECHOED, Entry, IDLE, LONE, SPOKEN, TOWARD, UNCAUSED, UNPROMPTED};
use crate::delay::meter_state::{MeterState, NONE};
use crate::delay::options::Choice;
use crate::delay::protocol::Protocol;
use crate::delay::sighting::Seen;
use crate::delay::sighting::flow_table::Key;
use crate::delay::sighting::tcp_connection::{
    AHEAD, CLOCK_STEP, DUPLICATE, FRESH, Heard, MORE, NEXT, REOPENED, REORDERED, REROUTED,
};
use crate::delay::track::TrackRef;
use sojourn_net::with_defaults;

/// No answer to a SYN is sent again sooner, ns (RFC 6298).
const FIRST_TIMEOUT: i64 = 1_000_000_000;

with_defaults! {
    /// Both sides of a connection.
    #[derive(Debug)]
    pub(crate) struct TcpFlow {
        sides: [Side; 2],
        hosts: [u32; 2] = [NONE; 2],
        packets: u32,
        /// Its first packet was a SYN.
        opened: bool,
        /// Which ends are near, as it was last seen.
        near: Near,
        /// The first segment, if it has a stamp, and its side.
        first: Option<(usize, Entry)>,
        /// Time of the first packet, and whether all hosts had been silent before it.
        began: i64,
        idle: bool,
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
        let tracks = self.sides.each_ref().map(|side| side.tracks.observed);
        let to = [1, 0].map(|side| (self.hosts[side], tracks[side]));
        for (side, to) in self.sides.iter_mut().zip(to) {
            side.echoes.end(|sent, packets| state.unproven(to, sent, packets));
            side.forget(state);
        }
    }

    /// Tracks are numbered anew.
    pub(crate) fn renumber(&mut self, map: &[u32]) {
        for side in &mut self.sides {
            side.tracks.renumber(map);
        }
    }

    /// Take in a segment.
    #[inline]
    pub(crate) fn segment(&mut self, state: &mut MeterState, seen: &Seen<'_>, segment: &Segment, heard: &Heard) {
        let Seen { key, side, time, .. } = *seen;
        self.packets = self.packets.saturating_add(1);
        match self.packets {
            1 => (self.began, self.opened) = (time, segment.flags & (SYN | ACK) == SYN),
            2 => self.open(state, key),
            _ => {}
        }
        let host = self.hosts[side];
        if self.packets >= 2 {
            state.hosts.sent(host, Protocol::Tcp, if self.packets == 2 { 2 } else { 1 }, time);
        }
        if heard.marks & REOPENED != 0 {
            self.reopen(state);
        }
        if heard.marks & DUPLICATE != 0 {
            return state.discard(host, Protocol::Tcp, Discard::Duplicate, 1);
        }
        if let Some(round_trip) = heard.round_trip {
            self.timed(state, side, round_trip);
        }
        if segment.flags & RST != 0 {
            // Resets are often made by middleboxes, or carry the stamp of what they answer.
            return;
        }
        let Some(stamps) = segment.stamps() else {
            let why = if segment.options_cut { Discard::OptionsCut } else { Discard::NoTimestamps };
            return state.discard(host, Protocol::Tcp, why, 1);
        };
        self.stamped(state, seen, segment, heard, stamps);
    }

    /// Both hosts are known: had all been silent before this connection?
    fn open(&mut self, state: &mut MeterState, key: &Key) {
        self.hosts = key.address.map(|address| state.hosts.of(address));
        self.near = Near::default();
        for host in self.hosts {
            state.hosts.all[host as usize].stats(Protocol::Tcp);
        }
        self.idle = state.hosts.begins(self.began, self.opened);
    }

    /// A round trip by sequence numbers, which tell near from far.
    fn timed(&mut self, state: &mut MeterState, side: usize, round_trip: i64) {
        let hosts = self.hosts;
        state.hosts.responded(hosts[side], round_trip);
        if !state.hosts.near(hosts[side], hosts[1 - side])
            && let Some(host) = state.hosts.all.get_mut(hosts[side] as usize)
        {
            host.stats(Protocol::Tcp).rtt.add_whole(round_trip, 1);
        }
    }

    #[inline]
    fn pair(&mut self, side: usize) -> [&mut Side; 2] {
        let [a, b] = &mut self.sides;
        if side == 0 { [a, b] } else { [b, a] }
    }

    /// A segment with timestamps.
    #[inline]
    fn stamped(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        segment: &Segment,
        heard: &Heard,
        (value, echo): (u32, u32),
    ) {
        let (host, side) = (self.hosts[seen.side], seen.side);
        let ends = self.near.ends(&state.hosts, self.hosts, side);
        let known = self.packets > 1;
        state.between_local += u64::from(ends.both_near());
        if let Some(first) = self.first.take() {
            self.log_first(state, seen.key, first);
        }
        if heard.marks & (REROUTED | REORDERED | CLOCK_STEP) != 0 && !self.uneven(state, (host, side), heard.marks) {
            return;
        }
        let (stamp, fresh, ahead) = (heard.stamp, heard.marks & FRESH != 0, heard.marks & AHEAD != 0);
        let [me, peer] = self.pair(side);
        let sent = (seen.frame, seen.time);
        if !ends.receiver_near() && me.echoes.sent(segment, (value, fresh), sent, seen.length) {
            me.count_places(state);
        }
        if !ends.sender_near() {
            let echoed = match segment.flags & ACK {
                0 => None,
                _ => peer.echoes.echoed(echo, seen.time, |sent, packets| {
                    state.unproven((host, me.tracks.observed), sent, packets);
                }),
            };
            let round_trip = echoed.map(|(echo, _)| seen.time - echo.time);
            // Data that acknowledgements clock out tell that their sender is near, where it acknowledges none itself.
            if let Some(after) = round_trip {
                state.hosts.responded(host, after);
            }
            let idle = self.packets <= 3 && self.idle;
            let data = match segment.payload {
                0 => 0,
                _ if !ahead => DATA | AGAIN,
                _ => match echoed {
                    Some((_, true)) => DATA,
                    Some((echo, false)) if echo.pure == 1 => DATA | UNPROMPTED | UNCAUSED,
                    _ => DATA | UNPROMPTED,
                },
            };
            let flags = data | if idle { IDLE } else { 0 };
            self.observe(state, seen, stamp, round_trip, flags);
            if !known {
                return;
            }
            if ends.to_near_at_once() && state.options.estimator != Choice::Reported {
                let next = heard.marks & (NEXT | MORE) == NEXT | MORE;
                return self.toward(state, seen, segment, (stamp, echo, next), echoed);
            }
        } else if known && ends.at_once_to_far() && state.options.estimator != Choice::Reported {
            if segment.payload > 0 {
                let to = self.hosts[1 - side];
                let [me, peer] = self.pair(side);
                let covered = |sent| state.covered((to, peer.tracks.observed), sent, seen.time);
                let again = me.in_flight.sent(segment, value, (seen.frame, seen.time), seen.length, covered);
                me.count_places(state);
                state.data(to, again);
            }
            return;
        }
        self.report(state, seen, segment, (stamp, value), ends);
    }

    /// The route changed, or the sender's clock was set, or the segment was overtaken; false if it tells no more.
    #[cold]
    fn uneven(&mut self, state: &mut MeterState, (host, side): (u32, usize), marks: u16) -> bool {
        let (me, known) = (&mut self.sides[side], self.packets > 1);
        if marks & REROUTED != 0 {
            state.hosts.all[host as usize].stats(Protocol::Tcp).route_changes += 1;
            me.restart(state);
        }
        if marks & REORDERED != 0 {
            state.discard(host, Protocol::Tcp, Discard::Reordered, 1);
            return false;
        }
        if marks & CLOCK_STEP != 0 {
            if known {
                state.hosts.all[host as usize].stats(Protocol::Tcp).clock_steps += 1;
            }
            me.restart(state);
        }
        true
    }

    /// Log the first segment of all, which was kept until its host was known.
    #[cold]
    fn log_first(&mut self, state: &mut MeterState, key: &Key, (side, entry): (usize, Entry)) {
        let hosts = self.hosts;
        if !state.hosts.near(hosts[side], hosts[1 - side]) {
            let entry = if self.idle { entry.flagged(IDLE) } else { entry };
            let of = || TrackRef::tcp(key, side, Estimator::Observer, hosts);
            state.log(&mut self.sides[side].tracks.observed, of, entry);
        }
    }

    /// The observer's clock: log the segment, and the round trip that its echo tells.
    #[inline]
    fn observe(&mut self, state: &mut MeterState, seen: &Seen<'_>, stamp: i64, round_trip: Option<i64>, flags: u64) {
        if let Some(round_trip) = round_trip
            && let Some(host) = state.hosts.all.get_mut(self.hosts[seen.side] as usize)
        {
            host.answered(round_trip, seen.length);
        }
        let micros = round_trip.and_then(|ns| u32::try_from(ns / 1000).ok());
        let entry = Entry::new(seen.frame, seen.time, stamp, flags, micros).long(seen.length);
        if self.packets == 1 {
            self.first = Some((seen.side, entry));
            return;
        }
        let hosts = self.hosts;
        let of = || TrackRef::tcp(seen.key, seen.side, Estimator::Observer, hosts);
        state.log(&mut self.sides[seen.side].tracks.observed, of, entry);
    }

    /// The near side's packet that one of the far side tells of: data that it acknowledges, or whose stamp it echoes.
    #[inline]
    fn toward(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        segment: &Segment,
        (stamp, echo, next): (i64, u32, bool),
        echoed: Option<(Echo, bool)>,
    ) {
        if segment.flags & ACK == 0 {
            return;
        }
        let host = self.hosts[seen.side];
        let [me, peer] = self.pair(seen.side);
        let to = (host, me.tracks.observed);
        let arrival = peer.in_flight.acknowledged(segment, echo, |sent| state.covered(to, sent, seen.time));
        let (frame, time, length, flags, packets) = match (arrival, echoed) {
            (Some(arrival), _) => {
                let sent = arrival.departed;
                // A packet with data may have waited for that data, and one that ends a connection for its application.
                let ends = segment.occupies() && segment.payload == 0;
                let lone = arrival.lone && !(state.options.prompt && (arrival.again || ends));
                let spoken = segment.payload > 0 || (ends && !state.options.prompt);
                let flags = if spoken { SPOKEN } else { 0 } | if lone { LONE } else { 0 };
                (sent.frame, sent.time, sent.length, DATA | flags, arrival.covered)
            }
            (None, Some((echo, true))) if echo.pure > 0 => {
                let answers_syn = segment.flags & SYN != 0 && seen.time - echo.time < FIRST_TIMEOUT;
                let flags = match segment.payload {
                    _ if answers_syn => 0,
                    // It was not sent because they arrived.
                    0 => return state.untold(to, (echo.time, echo.frame), u32::from(echo.pure), seen.time),
                    _ if next && echo.awaited(segment) => ECHOED | AWAITED,
                    _ => ECHOED,
                };
                (echo.frame, echo.time, echo.length, flags, u32::from(echo.pure))
            }
            _ => return,
        };
        let Ok(micros) = u32::try_from((seen.time - time) / 1000) else { return };
        if let Some(host) = state.hosts.all.get_mut(host as usize) {
            host.answered(seen.time - time, seen.length);
        }
        let entry = Entry::new(frame, seen.time, stamp, flags | TOWARD, Some(micros)).long(length).covering(packets);
        // Its sender's track is there: this packet was logged in it.
        if let Some(track) = me.tracks.observed {
            state.log.push(track, entry);
        }
    }

    /// The receiver's clock: keep the segment until it is acknowledged, and log the one that it acknowledges.
    #[inline]
    fn report(
        &mut self,
        state: &mut MeterState,
        seen: &Seen<'_>,
        segment: &Segment,
        (stamp, value): (i64, u32),
        ends: Ends,
    ) {
        let choice = state.options.estimator;
        let (known, hosts) = (self.packets > 1, self.hosts);
        let peer_host = hosts[1 - seen.side];
        let [me, peer] = self.pair(seen.side);
        let kept = choice == Choice::Reported || (!ends.receiver_near() && choice == Choice::Auto);
        if known && kept && segment.payload > 0 {
            me.reports.sent(segment, stamp, (seen.frame, seen.time, seen.length), !ends.receiver_near());
            me.count_places(state);
        }
        if segment.flags & ACK != 0
            && (choice == Choice::Reported || (!ends.sender_near() && choice == Choice::Auto))
            && let Some(sent) = peer.reports.acknowledged(segment, !ends.sender_near(), |why, count| {
                state.discard(peer_host, Protocol::Tcp, why, count);
            })
        {
            let entry = Entry::new(sent.frame, sent.time, sent.stamp, DATA, Some(value)).long(sent.length);
            let of = || TrackRef::tcp(seen.key, 1 - seen.side, Estimator::Reported, hosts);
            state.log(&mut peer.tracks.reported, of, entry);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::tcp::FIN;
    use crate::delay::meter::Meter;
    use crate::delay::options::Options;
    use crate::read::Frame;
    use crate::write::{Datagram, End, Header};
    use std::net::Ipv4Addr;
    type Packet = (f64, bool, [u32; 2], (u32, u32), u16, u8);

    /// A meter that was given these: time, ms; whether the far side sends; sequence numbers, stamps, bytes and flags.
    fn seen(packets: &[Packet], prompt: bool) -> Meter {
        let mut meter = Meter::new(Options { prompt, ..Options::default() });
        for (number, &(ms, far, [seq, ack], stamps, payload, flags)) in (1..).zip(packets) {
            let [source, destination] =
                if far { [1, 2] } else { [2, 1] }.map(|n| End { address: Ipv4Addr::new(10, 0, 0, n), port: 443 });
            let header = Header::Tcp { seq, ack, flags, stamps: Some(stamps), sack: Default::default(), mss: None };
            let datagram = Datagram { source, destination, id: number as u16, ttl: 60, ecn: 0, payload, header };
            let (data, wire_len) = datagram.frame();
            let (time_ns, dropped, interface) = ((ms * 1e6) as i64, false, None);
            meter.frame(&Frame { number, time_ns, link: 1, wire_len, data: &data, dropped, interface });
        }
        meter.state.log.put_in_order();
        meter
    }

    #[test]
    fn what_ends_a_connection_may_have_waited_for_its_application() {
        let [ack, end] = [ACK, ACK | FIN];
        for (flags, prompt, held) in
            [(ack, false, LONE), (ack, true, LONE), (end, false, LONE | SPOKEN), (end, true, 0)]
        {
            let packets = [
                (0.0, true, [1, 1], (10, 5), 100, ACK),
                (0.1, false, [1, 101], (50, 10), 100, ACK),
                (90.0, true, [101, 101], (100, 50), 0, flags),
            ];
            let log = &seen(&packets, prompt).state.log;
            let told: Vec<_> = (0..).map_while(|place| log.get(place)).filter(|(_, entry)| entry.is(TOWARD)).collect();
            assert_eq!((told.len(), told[0].1.frame_flags & (LONE | SPOKEN)), (1, held));
        }
    }

    #[test]
    fn data_tells_what_caused_it_and_whether_its_sender_waited_for_that() {
        // Two full segments at once show that the far side has more to send. If not, it sends one message each time.
        for (stamp, more) in [(10, 1), (11, 0)] {
            // The far side's segments by their number, the near one's acknowledgements.
            let packets = [
                (0.0, true, [0, 0], (10, 5)),
                (0.0, true, [1, 0], (stamp, 5)),
                (0.1, false, [0, 2], (50, stamp)),
                (40.0, true, [2, 0], (30, 50)),
                (70.0, true, [3, 0], (60, 50)),
                (70.1, false, [0, 3], (120, 30)),
                (110.0, true, [4, 0], (100, 120)),
                (110.1, false, [0, 3], (160, 100)),
                (190.0, true, [6, 0], (180, 160)),
                (200.0, true, [7, 0], (190, 160)),
                // Of several that had the stamp the last may have caused it.
                (210.0, false, [0, 8], (260, 190)),
                (210.1, false, [0, 8], (260, 190)),
                (250.0, true, [8, 0], (240, 260)),
                (255.0, true, [9, 0], (245, 260)),
                (290.0, true, [2, 0], (280, 260)),
            ];
            let packets = packets.map(|(ms, far, numbers, stamps)| {
                (ms, far, numbers.map(|number| number * 1000 + 1), stamps, u16::from(far) * 1000, ACK)
            });
            let log = &seen(&packets, false).state.log;
            let told = |entry: &Entry| {
                [DATA, UNPROMPTED, TOWARD, ECHOED, AWAITED, UNCAUSED].map(|flag| u8::from(entry.is(flag)))
            };
            let found = (0..).map_while(|place| log.get(place)).map(|(_, entry)| told(entry));
            assert_eq!(
                found.collect::<Vec<_>>(),
                [
                    [1, 1, 0, 0, 0, 0],
                    [1, 1, 0, 0, 0, 0],
                    [1, 0, 0, 0, 0, 0],
                    // All was acknowledged, so that it sent of its own accord.
                    [0, 0, 1, 1, 0, 0],
                    [1, 1, 0, 0, 0, 1],
                    [1, 0, 0, 0, 0, 0],
                    [0, 0, 1, 1, more, 0],
                    [1, 0, 0, 0, 0, 0],
                    [0, 0, 1, 1, 0, 0], // What is missing before it may have echoed it first.
                    [1, 1, 0, 0, 0, 1],
                    [1, 0, 0, 0, 0, 0],
                    [0, 0, 1, 1, 0, 0],
                    [1, 1, 0, 0, 0, 0],
                    // Again, as after a timeout.
                    [1, 0, 0, 0, 1, 0],
                ]
            );
        }
    }
}
