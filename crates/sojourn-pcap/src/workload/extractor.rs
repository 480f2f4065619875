//! From frames to a workload. Memory is bounded: so many connections, so many turns and datagrams.

use super::after::{After, Afters};
use super::connection::Connection;
use super::datagrams::Datagrams;
use super::entry::{Entry, Host, Kept};
use super::first_flight::{InitialWindows, full_segment, may_be_full, one_segment};
use super::header::extra;
use super::lost;
use super::on_link::on_link;
use super::raw_turn::NEAR_NS;
use super::sides::{Hosts, Sides, Stand};
use super::stood::Passed;
use super::turns::{Recorded, Workload};
use super::waits::{Host as Waited, Waits};
use super::way::Answer;
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
                    self.afters.came(numbers[by], true, now, place, (come - theirs.begin).max(0) as u64);
                }
                self.turns += connection.turns.len() - before;
                acknowledged = (connection.ways[1 - by].acked - acked).max(0) as u64;
                answered = connection.ways[1 - by].answered_in();
            }
            (Kept::Udp(datagrams), Transport::Udp { length, .. }) if more => {
                datagrams.add(by == 1, u64::from(length), now);
                self.turns += 1;
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
        self.entries.push(Entry { opener, acceptor, numbers, kept });
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
        self.waits.settle();
        let (first, last) = self.span.unwrap_or((0, 0));
        for (host, bytes) in self.entries.iter().flat_map(Entry::serves) {
            self.hosts.entry(host).or_default().serves += bytes;
        }
        let sides = Sides::of(&self.hosts, self.entries.iter().map(Entry::hosts), clients);
        for entry in &mut self.entries {
            let hosts = [entry.opener.0, entry.acceptor.0];
            let Kept::Udp(datagrams) = &mut entry.kept else { continue };
            for (host, accepted) in hosts.into_iter().zip([false, true]).filter(|(host, _)| sides.is_far(*host)) {
                let own = self.waits.of(host).from;
                datagrams.without_waits(accepted, if own.is_empty() { self.waits.most() } else { own });
            }
        }
        let ends = self.ends();
        let began: Vec<_> = ends.iter().zip(&self.entries).map(|(ends, entry)| ends.began(entry)).collect();
        let first = began.iter().fold(first, |first, began| first.min(*began));
        let since = |at: i64| at.saturating_sub(first).max(0) as u64;
        let rows = self.entries.iter().zip(&began).zip(&ends);
        let mut connections: Vec<Recorded> = rows
            .map(|((entry, began), ends)| {
                recorded(entry, since(*began), last, ends, sides.client_opens(entry.hosts(), clients))
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

    /// What is known of the ends of each entry.
    fn ends(&self) -> Vec<Ends<'_>> {
        let ways = Ways::of(&self.entries);
        let of_entry = |entry: &Entry| {
            let ends = [entry.hosts(), (entry.acceptor.0, entry.opener.0)];
            let waits = ends.map(|(host, _)| self.waits.of(host));
            let parts = ends.map(|pair| Some(self.waits.of(pair.0).round(ways.quickest.get(&pair)?)));
            let cuts = ends.map(|pair| ways.cuts.get(&pair).copied().unwrap_or_default());
            let full = cuts.map(|[longest, cut]| if longest == cut { cut } else { 0 });
            let longest = [0, 1].map(|end| match &entry.kept {
                Kept::Tcp(connection) if may_be_full(cuts[end][0], connection.ways[1 - end].mss) => cuts[end][0],
                _ => 0,
            });
            Ends { parts, waits, full, longest }
        };
        self.entries.iter().map(of_entry).collect()
    }
}

/// What connections tell of the ways between two hosts, from one to the other.
#[derive(Debug, Default)]
struct Ways {
    /// The way is the same: the quickest answer of all their connections.
    quickest: BTreeMap<Hosts, Answer>,
    /// All that one sends to the other is cut alike: the longest segments, and where they are known to be full.
    cuts: BTreeMap<Hosts, [u32; 2]>,
}

impl Ways {
    fn of(entries: &[Entry]) -> Self {
        let mut ways = Self::default();
        for entry in entries {
            let Kept::Tcp(connection) = &entry.kept else { continue };
            for (host, peer, way) in [(entry.opener, entry.acceptor, 1), (entry.acceptor, entry.opener, 0)] {
                // What the other end sends is answered by this one.
                if let Some(answer) = connection.ways[way].answered {
                    let slot = ways.quickest.entry((host.0, peer.0)).or_insert(answer);
                    *slot = std::cmp::min_by_key(*slot, answer, Answer::took);
                }
                // Its own are in the way of the other index.
                let own = &connection.ways[1 - way];
                let [longest, cut] = ways.cuts.entry((host.0, peer.0)).or_default();
                *longest = (*longest).max(one_segment(own.longest, connection.ways[way].mss));
                *cut = (*cut).max(full_segment(own.cut, connection.ways[way].mss));
            }
        }
        ways
    }
}

/// What is known of the two ends: their parts of the round trip, what their packets waited, and the segments they fill.
struct Ends<'a> {
    parts: [Option<i64>; 2],
    waits: [Waited<'a>; 2],
    full: [u32; 2],
    /// The longest, if they may be full.
    longest: [u32; 2],
}

impl Ends<'_> {
    /// When the opener sent what was seen first: its way to the capture, and queues on it, are no part of the workload.
    fn began(&self, entry: &Entry) -> i64 {
        let (first_ns, by_opener, as_sent) = match &entry.kept {
            Kept::Tcp(connection) => (connection.first_ns, connection.by_opener, false),
            Kept::Udp(datagrams) => (datagrams.first_ns, true, datagrams.as_sent),
        };
        match self.parts[0].filter(|part| by_opener && *part >= NEAR_NS) {
            Some(part) if as_sent => first_ns.saturating_sub(part / 2),
            Some(part) => self.waits[0].went(first_ns, 0).saturating_sub(part / 2),
            None => first_ns,
        }
    }
}

/// The row of an entry; the capture ends at `last`.
fn recorded(entry: &Entry, start_ns: u64, last: i64, ends: &Ends<'_>, client_opens: bool) -> Recorded {
    let since = |at: i64, start: i64| at.saturating_sub(start).max(0) as u64;
    let mut found = Recorded {
        tcp: true,
        opener: entry.opener,
        acceptor: entry.acceptor,
        client_opens,
        start_ns,
        seen: [true; 2],
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
        Kept::Udp(datagrams) => {
            found.tcp = false;
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
