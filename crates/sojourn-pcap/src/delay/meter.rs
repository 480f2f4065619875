//! From frames to the log: what each packet says of its flow, in one pass.

use crate::decode::{Packet, Skip, Transport, decode, quic};
use crate::delay::flow::{Key, Seen, Table};
use crate::delay::host::{Discard, Hosts};
use crate::delay::log::Log;
use crate::delay::spin::Spin;
use crate::delay::state::{MeterState, Options};
use crate::delay::tcp_flow::TcpFlow;
use crate::delay::utp_flow::{Candidate, Decided, UtpFlow};
use crate::read::Frame;
use crate::read::ahead::Arrival;

/// Captures longer than this, or clocks that jump further, are not measured.
const LONGEST_NS: i64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Tracks that are made between two finalizations; half a kilobyte each.
const MOST_NEW_TRACKS: usize = 1 << 16;

/// Packets that flows remember until they are answered, on average over all that may be told apart; some 40 bytes each.
const MOST_REMEMBERED: usize = 32;

/// State of a flow: what is kept depends on its protocol.
pub(crate) enum Flow {
    Tcp(Box<TcpFlow>),
    Undecided(Candidate),
    Utp(Box<UtpFlow>),
    Quic(Box<Spin>),
    Other,
}

/// Reads frames, and settles what they say when asked.
pub struct Meter {
    pub(crate) state: MeterState,
    pub(crate) flows: Table<Flow>,
    pub(crate) start_ns: Option<i64>,
    pub(crate) frames: u64,
    pub(crate) skipped: [u64; Skip::ALL.len()],
    pub(crate) last_time: i64,
    /// Tracks that the last finalization kept.
    pub(crate) tracks_kept: usize,
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(options: Options) -> Self {
        let hosts = Hosts::new(options.local.clone());
        let flows = Table::new(options.most_flows);
        let discarded = [0; Discard::ALL.len()];
        let state = MeterState {
            options,
            hosts,
            tracks: Vec::new(),
            log: Log::default(),
            discarded,
            between_local: 0,
            remembered: 0,
        };
        Self { state, flows, start_ns: None, frames: 0, skipped: [0; Skip::ALL.len()], last_time: 0, tracks_kept: 0 }
    }

    /// Take in one frame. Returns whether the log is full and wants to be finalized.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) -> bool {
        self.packet(frame.into(), decode(frame.link, frame.data, frame.wire_len))
    }

    /// Take in one packet, or why its frame was none. Returns whether the log is full and wants to be finalized.
    #[inline]
    pub fn packet(&mut self, frame: Arrival, decoded: Result<Packet<'_>, Skip>) -> bool {
        self.frames += 1;
        let packet = match decoded {
            Ok(packet) => packet,
            Err(skip) => {
                self.skipped[skip as usize] += 1;
                return false;
            }
        };
        let time = frame.time_ns.wrapping_sub(*self.start_ns.get_or_insert(frame.time_ns));
        if !(-LONGEST_NS..LONGEST_NS).contains(&time) {
            self.state.discarded[Discard::TimeOutOfRange as usize] += 1;
            return false;
        }
        self.last_time = time;
        self.transport(&packet, frame.number, time, frame.wire_len.min(65_535) as u16);
        if self.state.remembered > MOST_REMEMBERED * self.state.options.most_flows.max(1 << 10) {
            self.forget();
        }
        let MeterState { log, tracks, options, .. } = &self.state;
        log.len() >= options.log_packets || tracks.len() - self.tracks_kept >= MOST_NEW_TRACKS
    }

    #[inline]
    fn transport(&mut self, packet: &Packet<'_>, frame: u64, time: i64, wire: u16) {
        let Self { flows, state, .. } = self;
        match &packet.transport {
            Transport::Tcp(segment) => {
                let (source, destination) =
                    ((packet.source, segment.source), (packet.destination, segment.destination));
                let (key, side) = Key::of(source, destination, 6);
                let fresh = || Flow::Tcp(Box::default());
                let (index, _) = flows.find_or_insert(&key, time, fresh, |_, old| close(state, old));
                if let Flow::Tcp(flow) = flows.get_mut(index) {
                    let seen = Seen { key: &key, side, ttl: packet.ttl, frame, time, length: wire };
                    flow.segment(state, &seen, packet.id, segment);
                }
            }
            Transport::Udp { source, destination, payload, length } => {
                let (key, side) = Key::of((packet.source, *source), (packet.destination, *destination), 17);
                let fresh = || Flow::Undecided(Candidate::default());
                let (index, _) = flows.find_or_insert(&key, time, fresh, |_, old| close(state, old));
                let flow = flows.get_mut(index);
                let seen = Seen { key: &key, side, ttl: packet.ttl, frame, time, length: wire };
                match flow {
                    Flow::Utp(utp) => utp.datagram(state, &seen, (payload, *length)),
                    Flow::Undecided(candidate) => {
                        if quic::seen(payload) == Some(quic::Seen::Long) {
                            *flow = Flow::Quic(Box::new(Spin::new(state, &key)));
                        } else if let Some(decided) = candidate.datagram(state, &seen, (payload, *length)) {
                            *flow = match decided {
                                Decided::Utp(utp) => Flow::Utp(utp),
                                Decided::Other => Flow::Other,
                            };
                        }
                    }
                    Flow::Quic(spin) => spin.datagram(state, side, payload, time),
                    Flow::Tcp(_) | Flow::Other => {}
                }
            }
        }
    }

    /// Forget what waits for an answer, as most of it does in vain: flows go on with what comes next.
    #[cold]
    fn forget(&mut self) {
        for (_, flow) in self.flows.iter_mut() {
            match flow {
                Flow::Tcp(flow) => flow.forget(&mut self.state),
                Flow::Utp(flow) => flow.forget(&mut self.state),
                _ => {}
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

    /// Places for packets that flows remember until they are answered.
    pub fn remembered(&self) -> usize {
        self.state.remembered
    }

    /// Hosts and what was found of them.
    pub fn hosts(&self) -> &Hosts {
        &self.state.hosts
    }
}

fn close(state: &mut MeterState, flow: Flow) {
    match flow {
        Flow::Tcp(mut flow) => {
            if flow.packets() == 1 {
                state.discarded[Discard::Alone as usize] += 1;
            }
            flow.close(state);
        }
        Flow::Utp(mut flow) => flow.close(state),
        Flow::Undecided(_) | Flow::Quic(_) | Flow::Other => {}
    }
}
