//! From frames to the log: what each packet says of its flow, in one pass.

use crate::decode::{Packet, Skip, Transport, decode, quic};
use crate::flow::{Key, Table};
use crate::host::{Discard, Hosts, Prefixes};
use crate::log::{Entry, Estimator, Protocol, Track};
use crate::read::Frame;
use crate::spin::Spin;
use crate::tcp_flow::TcpFlow;
use crate::utp_flow::{Candidate, UtpFlow};

/// Which estimator is to be used for TCP and uTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The observer's clock where the receiver is near, the receiver's reports where it is not.
    #[default]
    Auto,
    /// The observer's clock only.
    Observer,
    /// The receiver's reports only: the method as published.
    Reported,
}

/// What can be set.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which estimator.
    pub estimator: Choice,
    /// Addresses that are local; empty: find out.
    pub local: Prefixes,
    /// Flows that are told apart at a time.
    pub most_flows: usize,
    /// Packets that are kept before they are settled; 32 bytes each.
    pub log_packets: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { estimator: Choice::Auto, local: Vec::new(), most_flows: 1 << 17, log_packets: 1 << 22 }
    }
}

/// No index.
pub(crate) const NONE: u32 = u32::MAX;
/// Captures longer than this, or clocks that jump further, are not measured.
const LONGEST_NS: i64 = 10 * 365 * 86_400 * 1_000_000_000;

/// State of a flow: what is kept depends on its protocol.
pub(crate) enum Flow {
    Tcp(Box<TcpFlow>),
    Undecided(Candidate),
    Utp(Box<UtpFlow>),
    Quic(Box<Spin>),
    Other,
}

/// What the flows of all protocols write to.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) hosts: Hosts,
    pub(crate) tracks: Vec<Track>,
    pub(crate) log: Vec<Entry>,
    /// Packets that cannot be counted under a host, by reason.
    pub(crate) discarded: [u64; Discard::ALL.len()],
}

/// Reads frames, and settles what they say when asked.
pub struct Meter {
    pub(crate) shared: Shared,
    pub(crate) flows: Table<Flow>,
    pub(crate) start_ns: Option<i64>,
    pub(crate) frames: u64,
    pub(crate) skipped: [u64; Skip::ALL.len()],
    pub(crate) last_time: i64,
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(options: Options) -> Self {
        let hosts = Hosts::new(options.local.clone());
        let flows = Table::new(options.most_flows);
        let discarded = [0; Discard::ALL.len()];
        let shared = Shared { options, hosts, tracks: Vec::new(), log: Vec::new(), discarded };
        Self { shared, flows, start_ns: None, frames: 0, skipped: [0; Skip::ALL.len()], last_time: 0 }
    }

    /// Take in one frame. Returns whether the log is full and wants to be settled.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) -> bool {
        self.frames += 1;
        let packet = match decode(frame.link, frame.data, frame.wire_len) {
            Ok(packet) => packet,
            Err(skip) => {
                self.skipped[skip as usize] += 1;
                return false;
            }
        };
        let time = frame.time_ns.wrapping_sub(*self.start_ns.get_or_insert(frame.time_ns));
        if !(-LONGEST_NS..LONGEST_NS).contains(&time) {
            self.shared.discarded[Discard::TimeOutOfRange as usize] += 1;
            return false;
        }
        self.last_time = time;
        self.packet(&packet, frame.number, time);
        self.shared.log.len() >= self.shared.options.log_packets
    }

    #[inline]
    fn packet(&mut self, packet: &Packet<'_>, frame: u64, time: i64) {
        let Self { flows, shared, .. } = self;
        match &packet.transport {
            Transport::Tcp(segment) => {
                let (source, destination) =
                    ((packet.source, segment.source), (packet.destination, segment.destination));
                let (key, side) = Key::of(source, destination, 6);
                let fresh = || Flow::Tcp(Box::default());
                let (index, _) = flows.find_or_insert(&key, time, fresh, |_, old| close(shared, &old));
                if let Flow::Tcp(flow) = flows.get_mut(index) {
                    flow.segment(shared, &key, side, packet, segment, frame, time);
                }
            }
            Transport::Udp { source, destination, payload, length } => {
                let (key, side) = Key::of((packet.source, *source), (packet.destination, *destination), 17);
                let fresh = || Flow::Undecided(Candidate::default());
                let (index, _) = flows.find_or_insert(&key, time, fresh, |_, old| close(shared, &old));
                let flow = flows.get_mut(index);
                match flow {
                    Flow::Utp(utp) => utp.datagram(shared, &key, side, packet.ttl, (payload, *length), frame, time),
                    Flow::Undecided(candidate) => {
                        if quic::seen(payload) == Some(quic::Seen::Long) {
                            *flow = Flow::Quic(Box::new(Spin::new(shared, &key)));
                        } else if let Some(decided) =
                            candidate.datagram(shared, &key, side, packet.ttl, (payload, *length), frame, time)
                        {
                            *flow = decided;
                        }
                    }
                    Flow::Quic(spin) => spin.datagram(shared, side, payload, time),
                    Flow::Tcp(_) | Flow::Other => {}
                }
            }
        }
    }

    /// Frames taken in.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Flows told apart at the moment.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Hosts and what was found of them.
    pub fn hosts(&self) -> &Hosts {
        &self.shared.hosts
    }
}

impl Shared {
    /// Log a packet under a track, which is made when it is the first. `None` as stamp of the receiver leaves `extra` empty.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "one entry has as many fields")]
    pub(crate) fn log(
        &mut self,
        track: &mut u32,
        flow: (&Key, usize),
        protocol: Protocol,
        estimator: Estimator,
        hosts: [u32; 2],
        (time, stamp): (i64, i64),
        (frame, flags): (u64, u64),
        extra: u32,
    ) {
        if *track == NONE {
            *track = self.tracks.len() as u32;
            let (key, side) = (*flow.0, flow.1);
            let host = [hosts[side], hosts[1 - side]];
            self.tracks.push(Track::new((key, side), protocol, estimator, host, time));
        }
        self.log.push(Entry { time, stamp, frame_flags: frame | flags, track: *track, extra });
    }

    /// Count a discarded packet under the host that sent it, or under none if the flow has no hosts yet.
    #[inline]
    pub(crate) fn discard(&mut self, host: u32, protocol: Protocol, why: Discard, count: u64) {
        match self.hosts.all.get_mut(host as usize) {
            Some(host) => host.stats(protocol).discarded[why as usize] += count,
            None => self.discarded[why as usize] += count,
        }
    }

    /// A track gets no more entries.
    pub(crate) fn close(&mut self, track: &mut u32) {
        if let Some(track) = self.tracks.get_mut(*track as usize) {
            track.closed = true;
        }
        *track = NONE;
    }

    /// A flow's host answered: the quickest answer says whether it is near.
    #[inline]
    pub(crate) fn responded(&mut self, host: u32, after: i64) {
        if let Some(host) = self.hosts.all.get_mut(host as usize) {
            host.response_min = host.response_min.min(after.max(0));
        }
    }

    /// Whether a host is near, as far as is known; a flow's first packet has no host yet.
    #[inline]
    pub(crate) fn near(&self, host: u32) -> bool {
        self.hosts.all.get(host as usize).is_some_and(crate::host::Host::near)
    }
}

fn close(shared: &mut Shared, flow: &Flow) {
    let (tracks, packets, alone) = match flow {
        Flow::Tcp(flow) => (flow.tracks(), flow.packets(), Discard::Alone),
        Flow::Utp(flow) => (flow.tracks(), 2, Discard::Alone),
        _ => return,
    };
    if packets == 1 {
        shared.discarded[alone as usize] += 1;
    }
    for mut track in tracks {
        shared.close(&mut track);
    }
}
