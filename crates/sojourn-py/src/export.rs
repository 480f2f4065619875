//! A simulated run as a capture: what the hosts of one side would have seen, with real headers.
//!
//! Each group of hosts has an address at either side, 10.1.x.y for clients and 10.2.x.y for servers, and each flow a
//! port of its own at the client. TSval ticks from a random offset per connection, as in Linux since 4.10. Flows of the
//! transport `utp` are written as uTP (BEP 29), their sequence numbers counted in segments; the difference that an
//! end reports is that of the last packet that arrived there, so that a packet is the same wherever it is seen: for
//! each end that is not watched the run is made once more before. Other datagrams are RTP's (RFC 3550), numbered as
//! they were sent, for which ends that are not watched are asked so, too; RTCP's have no header. Payloads are not
//! written, but for the bytes of QUIC that all its versions show; the first datagram of either end is one of the
//! handshake there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::tcp::Sack;
use sojourn_net::{Ecn, Packet as _, Time};
use sojourn_pcap::decode::{tcp, utp};
use sojourn_pcap::write::{Blocks, Datagram, End, Header, Pcapng};
use sojourn_sim::Direction;
use sojourn_sim::engine::{End as Side, Kind};
use sojourn_sim::scenario::{Flows, Scenario, SourceSpec, Transport, Users};
use sojourn_sim::stats::Captured;
use sojourn_sim::{RunHooks, TapAt};

use crate::columns::columns;
use crate::error::StudyError;
use crate::run::{Point, columns_of_logs};

const SERVER_PORT: u16 = 443;
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;

/// Simulate a point (JSON) and write what the hosts of one side, or the router at a hop, see to `path` as pcapng.
///
/// `at` is `clients`, `servers` or the name of a hop; `tick_ns` the tick of TCP timestamps. Returns a dict: `packets`,
/// the packet log as `run` returns it, and for each packet that arrived at that side, or came through the hop, `frame`
/// (number in the capture, from 1), `link` (code of the last link that it crossed) and `packet` (row of the log).
#[pyfunction]
pub(crate) fn export<'py>(
    py: Python<'py>,
    point: &str,
    at: &str,
    path: PathBuf,
    tick_ns: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let mut point = Point::read(point)?;
    point.document.record.packets = true;
    let hops = &point.document.path.hops;
    let tap = match at {
        "clients" => TapAt::Hosts(Side::Client),
        "servers" => TapAt::Hosts(Side::Server),
        name => TapAt::Hop(hops.iter().position(|hop| hop.name == name && !name.is_empty()).ok_or_else(|| {
            let names = hops.iter().filter(|hop| !hop.name.is_empty()).map(|hop| hop.name.as_str());
            let names = ["clients", "servers"].into_iter().chain(names).collect::<Vec<_>>().join(", ");
            StudyError::new_err(format!("{name} is neither a side nor a hop of this path; it has {names}"))
        })?),
    };
    let out = BufWriter::new(File::create(&path)?);
    let mut capture = Capture {
        out: Pcapng::new(out, &[at])?,
        tap,
        tick_ns,
        frames: 0,
        arrivals: Vec::new(),
        reports: Reports::default(),
        told: BTreeMap::new(),
        numbers: Numbers::default(),
        of_quic: BTreeSet::new(),
    };
    let (outcome, written) = py.detach(|| {
        let mut written = Ok(());
        let Point { seed, replication, document } = &point;
        let mut watch = |_: Time| Python::attach(|py| py.check_signals().is_ok());
        let others = [Side::Client, Side::Server].into_iter().filter(|&end| tap != TapAt::Hosts(end));
        for end in others.filter(|_| has_utp(document) || has_datagrams(document)) {
            let (told, numbers, mut reports) = (&mut capture.told, &mut capture.numbers, Reports::default());
            let mut sink = |seen: &[Captured]| {
                for packet in seen {
                    let leaves = packet.direction.destination() != end;
                    if leaves && is_rtp(packet) {
                        numbers.leaves(packet);
                    } else if !leaves && is_utp(document, packet) {
                        reports.arrived(packet);
                    } else if let Some(what) = sent(packet).filter(|_| leaves && is_utp(document, packet)) {
                        told.insert(what, reports.of(packet.packet.flow));
                    }
                }
            };
            let hooks = RunHooks { tap: Some((TapAt::Hosts(end), &mut sink)), ..RunHooks::default() };
            if sojourn_sim::run_into(document, *seed, *replication, &mut watch, hooks).is_none() {
                return (None, written);
            }
        }
        let mut sink = |seen: &[Captured]| {
            for packet in seen {
                if written.is_ok() {
                    written = capture.write(document, packet);
                }
            }
        };
        let hooks = RunHooks { tap: Some((tap, &mut sink)), ..RunHooks::default() };
        (sojourn_sim::run_into(document, *seed, *replication, &mut watch, hooks), written)
    });
    py.check_signals()?;
    written?;
    capture.out.finish().and_then(|mut out| out.flush())?;
    let logs = outcome
        .and_then(|outcome| outcome.logs)
        .ok_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err("the simulation was stopped"))?;
    let arrivals = capture.arrivals.iter();
    let result = columns!(py, of arrivals.clone(), { frame: |row| row.0, link: |row| row.1, packet: |row| row.2 })?;
    result.set_item("packets", columns_of_logs(py, logs, point.document.has_one_queue())?)?;
    Ok(result)
}

struct Capture {
    out: Pcapng<BufWriter<File>>,
    tap: TapAt,
    tick_ns: u64,
    frames: u32,
    /// Frame number, link and row in the packet log of each packet that has crossed a queue on its way here.
    arrivals: Vec<(u32, u8, u32)>,
    /// What the watched end's uTP packets report.
    reports: Reports,
    /// What those of the ends report that are not watched.
    told: BTreeMap<Sent, u32>,
    /// What datagrams are numbered that have not been seen.
    numbers: Numbers,
    /// Flows of QUIC of which datagrams that way were seen.
    of_quic: BTreeSet<(u32, u32)>,
}

/// A segment by its flow, the time at which it was sent, and its numbers.
type Sent = (u32, u64, u64, Option<u64>);

fn sent(seen: &Captured) -> Option<Sent> {
    seen.packet.segment_of().map(|segment| (seen.packet.flow, segment.stamp.0, segment.seq, segment.ack))
}

fn has_utp(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flows| flows.transport == Transport::Utp)
}

fn is_utp(scenario: &Scenario, seen: &Captured) -> bool {
    scenario.flows.get(usize::from(seen.group)).is_some_and(|flows| flows.transport == Transport::Utp)
}

/// Whether some packets may be datagrams that are none of QUIC.
fn has_datagrams(scenario: &Scenario) -> bool {
    let recorded = |flows: &Flows| matches!(flows.source, SourceSpec::Recorded(_));
    scenario.flows.iter().any(|flows| flows.transport == Transport::Udp || recorded(flows))
        || scenario.users.iter().any(|users| {
            use Users::{Adaptive, Browser, Page, Responsiveness, Web};
            !matches!(users, Web(_) | Adaptive(_) | Browser(_) | Page(_) | Responsiveness(_))
        })
}

fn is_rtp(seen: &Captured) -> bool {
    matches!(seen.packet.kind(), Kind::Datagram | Kind::Voice | Kind::Video)
}

/// The sequence numbers and timestamps of datagrams of RTP.
#[derive(Default)]
struct Numbers {
    /// The next of each flow and direction.
    next: BTreeMap<(u32, u8), u16>,
    /// By flow, direction and the engine's number, of those that are on their way.
    of: BTreeMap<(u32, u8, u64), (u16, u32)>,
}

impl Numbers {
    /// One leaves its sender: its number, and when that was by a clock of 90 kHz.
    fn number(&mut self, seen: &Captured) -> (u16, u32) {
        let (flow, direction) = (seen.packet.flow, seen.direction as u8);
        let next = self.next.entry((flow, direction)).or_insert(mix(flow, 8 + u32::from(direction)) as u16);
        let number = *next;
        *next = next.wrapping_add(1);
        (number, (seen.at.0 / 100 * 9 / 1000) as u32)
    }

    /// One leaves its sender, which is not watched.
    fn leaves(&mut self, seen: &Captured) {
        let number = self.number(seen);
        self.of.insert((seen.packet.flow, seen.direction as u8, seen.packet.seq), number);
    }

    /// The header of one that passes: of one that is not known, its sender is watched.
    fn header(&mut self, seen: &Captured) -> Header {
        let (flow, direction) = (seen.packet.flow, seen.direction as u8);
        let known = self.of.remove(&(flow, direction, seen.packet.seq));
        let (sequence, stamp) = known.unwrap_or_else(|| self.number(seen));
        Header::Rtp { sequence, stamp, source: mix(flow, 10 + u32::from(direction)) }
    }
}

/// For each uTP flow: arrival at an end of its last packet minus that packet's stamp, in µs.
#[derive(Default)]
struct Reports(BTreeMap<u32, u32>);

impl Reports {
    fn arrived(&mut self, seen: &Captured) {
        if let Some(segment) = seen.packet.segment_of() {
            self.0.insert(seen.packet.flow, micros(seen.at).wrapping_sub(micros(segment.stamp)).max(1));
        }
    }

    /// What a packet of the flow reports that leaves that end now; 0 if none has arrived there.
    fn of(&self, flow: u32) -> u32 {
        self.0.get(&flow).copied().unwrap_or(0)
    }
}

impl Capture {
    fn write(&mut self, scenario: &Scenario, seen: &Captured) -> io::Result<()> {
        let flow = seen.packet.flow;
        let [high, low] = seen.group.to_be_bytes();
        let client = End { address: Ipv4Addr::new(10, 1, high, low), port: 1024 + (flow % 64_000) as u16 };
        let server = End { address: Ipv4Addr::new(10, 2, high, low), port: SERVER_PORT };
        let (source, destination) = if seen.direction == Direction::Up { (client, server) } else { (server, client) };
        let group = scenario.flows.get(usize::from(seen.group));
        let (header, payload) = match seen.packet.segment_of() {
            None => {
                let quic = (seen.packet.kind() == Kind::Quic).then(|| {
                    let id = u64::from(mix(flow, 6)) << 32 | u64::from(mix(flow, 7 + seen.direction as u32));
                    let long = self.of_quic.insert((flow, seen.direction as u32));
                    Header::Quic { long, masked: mix(flow, seen.packet.seq as u32 + 9) as u8, id }
                });
                let other = || if is_rtp(seen) { self.numbers.header(seen) } else { Header::Udp };
                (quic.unwrap_or_else(other), seen.packet.bytes().saturating_sub(28))
            }
            Some(segment) if is_utp(scenario, seen) => {
                let mss = group.map_or(1448, |flows| flows.mss.0);
                let mut header = utp_header(&segment, seen.direction, flow, mss);
                if self.tap == TapAt::Hosts(seen.direction.destination().other()) {
                    header.difference = self.reports.of(flow);
                } else {
                    header.difference = sent(seen).and_then(|what| self.told.remove(&what)).unwrap_or(0);
                }
                if self.is_end(seen.direction.destination()) {
                    self.reports.arrived(seen);
                }
                (Header::Utp(header), segment.payload())
            }
            Some(segment) => {
                let stamped = seen.packet.bytes() >= HEADERS + TIMESTAMPS + segment.payload();
                let whole = group.map_or(1448, |flows| flows.mss.0) + u64::from(if stamped { TIMESTAMPS } else { 0 });
                let mss = segment.syn.then(|| whole.min(u16::MAX.into()) as u16);
                (self.tcp_header(&segment, &seen.sack, seen.direction, flow, stamped, mss), segment.payload())
            }
        };
        let ttl = 64 - self.crossed(scenario.path.hops.len(), seen.direction).min(63) as u8;
        let packet = Datagram {
            source,
            destination,
            id: identification(seen),
            ttl,
            ecn: ecn_field(seen.packet.ecn()),
            payload: payload as u16,
            header,
        };
        self.frames += 1;
        if matches!(self.tap, TapAt::Hop(_)) || self.is_end(seen.direction.destination()) {
            self.arrivals.push((self.frames, seen.link as u8, seen.packet.row()));
        }
        self.out.datagram(0, seen.at.0, &packet)
    }

    /// How many of a path's routers a packet has crossed on its way here; each lowers the hop limit. Hosts whose
    /// packets cross only some hops are taken to stand beyond the others.
    fn crossed(&self, hops: usize, direction: Direction) -> usize {
        match (self.tap, direction) {
            (TapAt::Hosts(end), _) if direction.destination() == end => hops,
            (TapAt::Hosts(_), _) => 0,
            (TapAt::Hop(hop), Direction::Up) => hop + 1,
            (TapAt::Hop(hop), Direction::Down) => hops - hop,
        }
    }

    fn is_end(&self, end: Side) -> bool {
        self.tap == TapAt::Hosts(end)
    }

    fn tcp_header(
        &self,
        segment: &sojourn_net::tcp::Segment,
        sack: &Sack,
        direction: Direction,
        flow: u32,
        stamped: bool,
        mss: Option<u16>,
    ) -> Header {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let value = |time: Time, direction: Direction| {
            mix(flow, direction as u32 + 2).wrapping_add((time.0 / self.tick_ns) as u32)
        };
        let theirs = |seq: u64| (seq as u32).wrapping_add(mix(flow, direction.reverse() as u32));
        let mut blocks = Blocks::default();
        for (place, block) in blocks.iter_mut().zip(sack.blocks()) {
            *place = Some((theirs(block.start), theirs(block.end)));
        }
        let echo = if segment.echo == Time::NEVER { 0 } else { value(segment.echo, direction.reverse()) };
        Header::Tcp {
            seq: (segment.seq as u32).wrapping_add(mix(flow, direction as u32)),
            ack: segment.ack.map_or(0, theirs),
            flags: flag(segment.syn, tcp::SYN) | flag(segment.fin, tcp::FIN) | flag(segment.ack.is_some(), tcp::ACK),
            stamps: stamped.then(|| (value(segment.stamp, direction), echo)),
            sack: blocks,
            mss,
        }
    }
}

/// The field as it is written (RFC 3168 §5).
fn ecn_field(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// The packet's own identification, the same wherever it is seen: datagrams are numbered, a segment's is drawn from the
/// time at which it was sent, so that a retransmission has another.
fn identification(seen: &Captured) -> u16 {
    let flow = mix(seen.packet.flow, 4 + seen.direction as u32);
    match seen.packet.segment_of() {
        None => flow.wrapping_add(seen.packet.seq as u32) as u16,
        Some(segment) => {
            let what = (segment.seq as u32).wrapping_add((segment.ack.unwrap_or(0) as u32).rotate_left(16));
            mix(flow.wrapping_add((segment.stamp.0 >> 10) as u32), what.wrapping_add(segment.stamp.0 as u32)) as u16
        }
    }
}

/// Data packets are numbered from 1, in segments of `mss` bytes.
fn utp_header(segment: &sojourn_net::tcp::Segment, direction: Direction, flow: u32, mss: u64) -> utp::Header {
    let number = |unit: u64| (unit.saturating_sub(1)).div_ceil(mss.max(1)) as u16;
    let kind = match segment {
        segment if segment.syn && segment.ack.is_none() => utp::SYN,
        segment if segment.fin => utp::FIN,
        segment if segment.payload() > 0 => utp::DATA,
        _ => utp::STATE,
    };
    let id = mix(flow, 0) as u16;
    utp::Header {
        kind,
        connection: if direction == Direction::Up { id.wrapping_add(u16::from(kind != utp::SYN)) } else { id },
        stamp: micros(segment.stamp),
        difference: 0,
        seq: number(segment.seq).wrapping_add(1),
        ack: segment.ack.map_or(0, number),
    }
}

fn micros(time: Time) -> u32 {
    (time.0 / 1000) as u32
}

/// A number that looks random, the same for the same flow.
fn mix(flow: u32, what: u32) -> u32 {
    let mut x = (u64::from(flow) << 32 | u64::from(what)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as u32
}
