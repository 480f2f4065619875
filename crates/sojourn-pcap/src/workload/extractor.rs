//! From frames to a workload. Memory is bounded: so many connections, so many turns and datagrams.

use super::after::{After, Afters};
use super::connection::Connection;
use super::datagrams::Datagrams;
use super::ends::{self, Ends, quic_answers};
use super::entry::{self, Entry, Host, Kept};
use super::first_flight::InitialWindows;
use super::header::extra;
use super::lost;
use super::on_link::on_link;
use super::quic;
use super::raw_turn::NEAR_NS;
use super::senders;
use super::sides::{Sides, Stand};
use super::stood::{Busy, Bytes, Passed};
use super::turns::{Recorded, Workload};
use super::waits::Waits;
use crate::decode::tcp::{ACK, SYN};
use crate::decode::{Address, Packet, Transport, decode};
use crate::read::{Copies, Frame};
use sojourn_net::with_defaults;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

with_defaults! {
    /// Bounds on memory.
    #[derive(Clone, Copy, Debug)]
    pub struct Options {
        /// Connections and flows of datagrams.
        pub most_connections: usize = 1 << 19,
        /// Turns and datagrams of all of them.
        pub most_turns: usize = 1 << 21,
    }
}

/// Width of a bin of the traffic's series.
const BIN_NS: i64 = 100_000_000;
const MOST_BINS: usize = 1 << 20;
/// What takes longer is no round trip: a clock was set meanwhile.
const LONGEST_RTT_NS: u64 = 60_000_000_000;

/// Protocol, and the two ends in order.
type Key = (bool, Host, Host);

/// Takes frames, gives a workload.
#[derive(Debug, Default)]
pub struct Extractor {
    options: Options,
    places: BTreeMap<Key, u32>,
    entries: Vec<Entry>,
    hosts: BTreeMap<Address, Stand>,
    turns: usize,
    span: Option<(i64, i64)>,
    /// In each [`BIN_NS`]: bytes of packets that hosts near the capture sent, and hosts far from it; payload of the
    /// near hosts' that the far ones acknowledged; their datagrams; by hop limits, and by times of answers.
    busy: BTreeMap<i64, [[u64; 4]; 2]>,
    passed: Passed,
    waits: Waits,
    afters: Afters,
    copies: Copies,
    workload: Workload,
}

impl Extractor {
    /// Nothing yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, waits: Waits::new(), ..Self::default() }
    }

    /// Takes in a frame.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.workload.frames += 1;
        if self.copies.is_copy(frame) {
            self.workload.copies += 1;
            return;
        }
        self.waits.frame(frame);
        let now = frame.time_ns;
        let (first, last) = self.span.unwrap_or((now, now));
        self.span = Some((first.min(now), last.max(now)));
        let packet = decode(frame.link, frame.data, frame.wire_len).ok().filter(|_| !frame.dropped);
        let Some(packet) = packet else {
            self.workload.other_frames += 1;
            return;
        };
        let (tcp, ports) = (matches!(packet.transport, Transport::Tcp(_)), packet.ports);
        let (source, destination) = ((packet.source, ports[0]), (packet.destination, ports[1]));
        if is_group(packet.destination) {
            self.workload.other_frames += 1;
            return;
        }
        let Some(place) = self.place(tcp, source, destination, &packet, now) else {
            self.workload.beyond_bound += 1;
            return;
        };
        let bin = now.div_euclid(BIN_NS);
        let room = self.busy.len() < MOST_BINS || self.busy.contains_key(&bin);
        let (mut acknowledged, mut answered) = (0, None);
        let more = self.turns < self.options.most_turns;
        let entry = &mut self.entries[place as usize];
        let numbers = entry.numbers;
        let by = usize::from(entry.opener != source);
        let extra = if tcp { extra(frame) } else { None };
        let size = on_link(&packet.transport, extra, entry.offered(1 - by));
        let payload = match packet.transport {
            Transport::Tcp(segment) => segment.payload,
            Transport::Udp { length, .. } => length,
        };
        entry.marks(by, payload, packet.ecn);
        match (&mut entry.kept, packet.transport) {
            (Kept::Tcp(connection), Transport::Tcp(segment)) => {
                let (before, acked) = (connection.turns.len(), connection.ways[1 - by].acked);
                let in_order = connection.ways[by].in_order();
                connection.segment(by, &segment, extra, now, more);
                if by == 0 && segment.flags & (SYN | ACK) == SYN && connection.first_ns == now {
                    self.afters.opened(numbers[0], place, now);
                }
                if connection.ways[by].in_order() > in_order {
                    self.afters.came(numbers[1 - by], false, now, place, connection.ways[by].in_order());
                }
                let theirs = &connection.ways[1 - by];
                // A FIN is none of what came, and is acknowledged as a byte.
                let come = theirs.acked.min(theirs.end);
                if come > acked {
                    let come = (come - theirs.begin).max(0) as u64;
                    self.afters.has(numbers[by], place, come);
                    self.afters.came(numbers[by], true, now, place, come);
                }
                self.turns += connection.turns.len() - before;
                acknowledged = (connection.ways[1 - by].acked - acked).max(0) as u64;
                answered = connection.ways[1 - by].answered_in();
            }
            (Kept::Udp(datagrams), Transport::Udp { length, payload }) if more => {
                datagrams.looks.add(payload);
                // Of what acknowledges nothing is seen, so a host away from the capture waits for nothing.
                if datagrams.looks.opens() {
                    if datagrams.turns.is_empty() {
                        self.afters.opened(numbers[0], place, now);
                    }
                    if let Some(bytes) = datagrams.lengths.add(by, u64::from(length)) {
                        self.afters.came(numbers[1 - by], false, now, place, bytes);
                    }
                }
                datagrams.add(by == 1, u64::from(length), now);
                let place = datagrams.turns.len() as u32 - 1;
                self.turns += 1 + datagrams.sources[by].add(payload, u64::from(length), place);
            }
            _ => self.workload.beyond_bound += 1,
        }
        let near = self.stand(&packet, answered);
        self.passed.add(now, size, near);
        if room {
            for (sums, near) in self.busy.entry(bin).or_default().iter_mut().zip(near) {
                sums[usize::from(!near)] += size;
                sums[2] += if near { 0 } else { acknowledged };
                sums[3] += if near && !tcp { size } else { 0 };
            }
        }
    }

    /// The entry of a packet: the one there is, or a new one.
    fn place(&mut self, tcp: bool, source: Host, destination: Host, packet: &Packet<'_>, now: i64) -> Option<u32> {
        let key = (tcp, source.min(destination), source.max(destination));
        let known = self.places.get(&key).copied();
        if let Some(place) = known {
            let entry = &self.entries[place as usize];
            let over = match (&entry.kept, packet.transport) {
                (Kept::Tcp(connection), Transport::Tcp(segment)) => {
                    connection.is_over(usize::from(entry.opener != source), &segment)
                }
                _ => false,
            };
            if !over {
                return Some(place);
            }
        }
        if self.entries.len() >= self.options.most_connections {
            return None;
        }
        // A first packet that answers a SYN, or whose receiver has the port of a server, comes from the acceptor.
        let answers = match packet.transport {
            Transport::Tcp(segment) => match segment.flags & 18 {
                18 => true,
                2 => false,
                _ => source.1 < destination.1,
            },
            Transport::Udp { .. } => false,
        };
        let (opener, acceptor) = if answers { (destination, source) } else { (source, destination) };
        let kept = match tcp {
            true => Kept::Tcp(Box::new(Connection::new(now, !answers))),
            false => Kept::Udp(Datagrams::new(now)),
        };
        let numbers = [opener.0, acceptor.0].map(|host| self.afters.host(host));
        self.entries.push(Entry { opener, acceptor, numbers, kept, ecn: Default::default() });
        for host in [opener, acceptor] {
            self.hosts.entry(host.0).or_default();
        }
        let place = self.entries.len() as u32 - 1;
        self.places.insert(key, place);
        Some(place)
    }

    /// Whether the sender is beside the capture: such hosts send with the hop limit that systems begin with, and answer
    /// at once. `answered`: its quickest answer in this connection.
    fn stand(&mut self, packet: &Packet<'_>, answered: Option<i64>) -> [bool; 2] {
        let Some(stand) = self.hosts.get_mut(&packet.source) else { return [true; 2] };
        stand.answered = stand.answered.min(answered).or(stand.answered).or(answered);
        let near = [matches!(packet.ttl, 64 | 128 | 255), stand.answered.is_none_or(|after| after < NEAR_NS)];
        for (how, near) in near.into_iter().enumerate() {
            stand.near[how] += u64::from(near);
            stand.far[how] += u64::from(!near);
        }
        near
    }

    /// The workload of all frames so far. `clients` says of a host whether it is a client, if that is known.
    #[must_use]
    pub fn finish(mut self, clients: &dyn Fn(Address) -> Option<bool>) -> Workload {
        self.waits.settle(&entry::data(&self.entries));
        let (first, last) = self.span.unwrap_or((0, 0));
        for (host, bytes) in self.entries.iter().flat_map(Entry::serves) {
            self.hosts.entry(host).or_default().serves += bytes;
        }
        for entry in &self.entries {
            let Kept::Udp(datagrams) = &entry.kept else { continue };
            // Of hosts that speak QUIC alone nothing else tells who answers at once.
            if let Some(near) = quic::beside(quic_answers(datagrams)) {
                let far = [entry.acceptor, entry.opener][near].0;
                if let Some(stand) = self.hosts.get_mut(&far).filter(|stand| stand.answered.is_none()) {
                    (stand.near[1], stand.far[1]) = (0, stand.near[1] + stand.far[1]);
                }
            }
        }
        let sides = Sides::of(&self.hosts, self.entries.iter().map(Entry::hosts), clients);
        let came = if sides.are_told { self.passed.bytes(sides.sign) } else { Bytes::default() };
        for entry in &mut self.entries {
            let hosts = [entry.opener.0, entry.acceptor.0];
            let Kept::Udp(datagrams) = &mut entry.kept else { continue };
            if datagrams.looks.is_quic() {
                continue;
            }
            let far = hosts.map(|host| sides.is_far(host));
            let as_sent = datagrams.as_numbered(far);
            for (end, host) in hosts.into_iter().enumerate().filter(|(end, _)| far[*end] && !as_sent[*end]) {
                let (accepted, own) = (end == 1, self.waits.of(host).from);
                datagrams.without_waits(accepted, if own.is_empty() { self.waits.most() } else { own }, &came);
            }
        }
        let ends = ends::of(&self.entries, &self.waits);
        let began: Vec<_> = ends.iter().zip(&self.entries).map(|(ends, entry)| ends.began(entry)).collect();
        let first = began.iter().fold(first, |first, began| first.min(*began));
        let since = |at: i64| at.saturating_sub(first).max(0) as u64;
        let rows = self.entries.iter().zip(&began).zip(&ends);
        let link = if sides.are_told { self.passed.busy(sides.sign) } else { Busy::default() };
        let mut connections: Vec<Recorded> = rows
            .map(|((entry, began), ends)| {
                recorded(entry, since(*began), last, (ends, &link), sides.client_opens(entry.hosts(), clients))
            })
            .collect();
        let bytes: Vec<_> = connections.iter().map(|row| row.bytes).collect();
        for (number, (row, entry)) in (0u32..).zip(connections.iter_mut().zip(&self.entries)) {
            let opener = entry.opener.0;
            row.number = number;
            if let Kept::Tcp(connection) = &entry.kept {
                let ends = [entry.opener.0, entry.acceptor.0].map(|host| sides.is_far(host));
                row.vain_pkts = [0, 1].map(|end| connection.ways[end].in_vain(ends[end]));
            }
            row.after = self.afters.of(entry.numbers[0], number, sides.is_far(opener)).map(|after| {
                // The acknowledgement of a FIN counts one more.
                let which = after.number as usize;
                let sent = bytes[which][usize::from(self.entries[which].opener.0 == opener)];
                After { bytes: after.bytes.min(sent), ..after }
            });
        }
        set_initial_windows(&self.entries, &mut connections);
        senders::settle(&self.entries, &mut connections, &sides);
        lost::settle(&mut connections);
        connections.sort_by_key(|connection| connection.start_ns);
        let length_ns = since(last);
        let (sides_by_ttl, near_are_clients) = (sides.are_told, sides.near_are_clients);
        let mut stood = [false, true]
            .map(|ahead| self.passed.stood(self.waits.all(ahead, |host| sides.is_far(host)), sides.sign, ahead));
        if !near_are_clients {
            stood.reverse();
        }
        let busy = self.busy.iter().map(|(bin, sums)| {
            let [near, far, acknowledged, datagrams] = sums[sides.sign];
            // Towards the clients, and from them.
            let [down, up] = if near_are_clients { [far, near] } else { [near, far] };
            (bin - first.div_euclid(BIN_NS), [down, up, acknowledged, datagrams])
        });
        let busy = busy.map(|(bin, bytes)| (bin.max(0) as u64, bytes)).collect();
        Workload { connections, length_ns, sides_by_ttl, near_are_clients, busy, stood, ..self.workload }
    }
}

/// The row of an entry; the capture ends at `last`.
fn recorded(entry: &Entry, start_ns: u64, last: i64, (ends, link): (&Ends<'_>, &Busy), client_opens: bool) -> Recorded {
    let since = |at: i64, start: i64| at.saturating_sub(start).max(0) as u64;
    let mut found = Recorded {
        tcp: true,
        opener: entry.opener,
        acceptor: entry.acceptor,
        client_opens,
        start_ns,
        seen: [true; 2],
        ecn: entry.uses_ecn(),
        parts_ns: ends.parts.map(|part| part.map(|part| part as u64)),
        ..Recorded::default()
    };
    match &entry.kept {
        Kept::Tcp(connection) => {
            let ways = &connection.ways;
            found.duration_ns = since(connection.last_ns, connection.first_ns);
            found.concurrent = connection.concurrent;
            found.began_before = !ways.iter().any(|way| way.syn);
            found.seen = [ways[0].seen, ways[1].seen];
            found.data_pkts = [ways[0].data_pkts, ways[1].data_pkts];
            found.again_pkts = [ways[0].again_pkts, ways[1].again_pkts];
            let closed = ways.iter().all(|way| way.fin || !way.seen) && ways.iter().any(|way| way.fin);
            found.cut = !closed && !ways.iter().any(|way| way.reset);
            // An end that was not seen answers, as far as is known, for the whole way.
            found.rtt_ns = match found.parts_ns {
                [None, None] => None,
                [one, other] => Some(one.unwrap_or(0) + other.unwrap_or(0)),
            };
            found.mss = [ways[0].mss, ways[1].mss];
            found.window = [ways[0], ways[1]].map(|way| way.seen.then_some(way.window));
            let round = ends.parts.map(|part| part.unwrap_or(0));
            found.turns = connection.waited(round, ends.waits, ends.full, ends.longest);
            found.closes_first = [0, 1].map(|end| connection.closer() == Some(end));
            found.goes_on = [0, 1].map(|end| connection.goes_on(end, ends.full[end], last));
            // Of an end that was not seen the FIN was acknowledged as one more byte.
            for (end, way) in ways.iter().enumerate() {
                if !way.seen
                    && ways[1 - end].fin
                    && let Some(last) = found.turns.iter_mut().rev().find(|turn| turn.accepted == (end == 1))
                {
                    last.bytes -= 1;
                }
            }
            found.turns.retain(|turn| turn.bytes > 0);
        }
        Kept::Udp(datagrams) if datagrams.looks.is_quic() => {
            let of = |end: usize| quic::End { round: ends.parts[end].unwrap_or(0), waits: ends.waits[end], link };
            let said = quic::turns(datagrams.first_ns, &datagrams.turns, &[of(0), of(1)], last);
            (found.tcp, found.quic, found.concurrent) = (false, true, true);
            found.began_before = !datagrams.looks.opens();
            found.duration_ns = since(datagrams.last_ns, datagrams.first_ns);
            found.seen = [false, true].map(|b| datagrams.turns.iter().any(|datagram| datagram.accepted == b));
            found.rtt_ns = found.parts_ns[0].zip(found.parts_ns[1]).map(|(a, b)| a + b);
            found.mss = [1, 0].map(|other| u16::try_from(said.longest[other]).ok().filter(|longest| *longest > 0));
            (found.data_pkts, found.goes_on, found.turns) = (said.data_pkts, said.goes_on, said.turns);
            found.cut = found.goes_on != [false; 2];
        }
        Kept::Udp(datagrams) => {
            (found.tcp, found.as_sent, found.missing_pkts) = (false, datagrams.as_sent, datagrams.missing_pkts);
            found.duration_ns = since(datagrams.last_ns, datagrams.first_ns);
            found.seen = [false, true].map(|b| datagrams.turns.iter().any(|datagram| datagram.accepted == b));
            found.rtt_ns = found.parts_ns[0].zip(found.parts_ns[1]).map(|(a, b)| a + b);
            found.turns = datagrams.with_payload();
        }
    }
    found.rtt_ns = found.rtt_ns.filter(|rtt| *rtt < LONGEST_RTT_NS);
    for turn in &found.turns {
        found.bytes[usize::from(turn.accepted)] += turn.bytes;
    }
    // The acknowledgement of a FIN counts one more.
    let bytes = found.bytes;
    found.turns.iter_mut().for_each(|turn| turn.heard = turn.heard.min(bytes[usize::from(!turn.accepted)]));
    found
}

/// How many segments hosts send at first, by all their connections.
fn set_initial_windows(entries: &[Entry], connections: &mut [Recorded]) {
    let mut windows = InitialWindows::default();
    for (entry, row) in entries.iter().zip(&*connections) {
        let Kept::Tcp(connection) = &entry.kept else { continue };
        for (end, host) in [entry.opener.0, entry.acceptor.0].into_iter().enumerate() {
            let (flight, mss) = (&connection.flights[end], row.mss[1 - end]);
            windows.add(host, (flight.segments(mss), flight.flown(mss)), row.rtt_ns);
        }
    }
    for row in connections.iter_mut().filter(|row| row.tcp) {
        row.initial_window = [row.opener.0, row.acceptor.0].map(|host| windows.of(host));
    }
}

/// Multicast and broadcast.
fn is_group(address: Address) -> bool {
    let address = IpAddr::from(address);
    address.is_multicast() || address == IpAddr::from(Ipv4Addr::BROADCAST)
}
