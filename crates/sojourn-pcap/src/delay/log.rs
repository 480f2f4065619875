//! The log between reading and finalizing: one fixed-size entry for each packet that may say something of a queue.
//!
//! Tick, skew and base delay are known for good only after the packets that need them. So packets are logged first,
//! and the log is finalized when it is full or the capture ends (see [`crate::delay::finalize`]).

use crate::delay::flow::Key;
use crate::delay::skew::Minima;
use crate::delay::stamps::Unwrapped;
use crate::delay::tick::Fit;

/// The packet carries data: a queue's delay, not only a bound of the base.
pub(crate) const DATA: u64 = 1 << 56;
/// The packet opened a connection after a silence of its host: no queue of the host's own traffic can stand.
pub(crate) const IDLE: u64 = 1 << 57;
/// `extra` holds something.
const EXTRA: u64 = 1 << 58;
/// The delay asked for is that of a packet *to* the sender: `frame` is that packet's, `extra` the time from it to this.
pub(crate) const TOWARD: u64 = 1 << 59;
/// Of those: the acknowledgement may have been delayed by its receiver.
pub(crate) const LONE: u64 = 1 << 60;
/// Of those: known by the echo of its stamp only, and by nothing that its arrival caused.
pub(crate) const ECHOED: u64 = 1 << 61;
const FRAME: u64 = (1 << 40) - 1;
const LENGTH_AT: u32 = 40;

/// One packet of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Capture time since the first packet, ns.
    pub(crate) time: i64,
    /// Sender's stamp on a line without end, ticks. For uTP's reports the reported difference, µs.
    pub(crate) stamp: i64,
    /// Frame number (40 bits), length on the wire (16) and flags.
    pub(crate) frame_flags: u64,
    /// Track that it belongs to.
    pub(crate) track: u32,
    /// TCP observed: time since the packet that it echoes passed, µs. TCP reported: the receiver's stamp. uTP
    /// observed: how the sender's clock stands against the capture's by its own reports, µs modulo 2^32.
    pub(crate) extra: u32,
}

impl Entry {
    /// An entry that is not of a track yet; without `extra`, that field holds nothing.
    #[inline]
    pub(crate) fn new(frame: u64, time: i64, stamp: i64, flags: u64, extra: Option<u32>) -> Self {
        let flags = flags | if extra.is_some() { EXTRA } else { 0 };
        Self { time, stamp, frame_flags: (frame & FRAME) | flags, track: 0, extra: extra.unwrap_or(0) }
    }
    #[inline]
    pub(crate) fn frame(&self) -> u64 {
        self.frame_flags & FRAME
    }
    /// The same entry with one more flag.
    #[inline]
    pub(crate) fn flagged(mut self, flag: u64) -> Self {
        self.frame_flags |= flag;
        self
    }
    /// The same entry, of a packet of so many bytes.
    #[inline]
    pub(crate) fn long(mut self, length: u16) -> Self {
        self.frame_flags |= u64::from(length) << LENGTH_AT;
        self
    }
    /// Length of the delayed packet on the wire.
    #[inline]
    pub(crate) fn length(&self) -> u16 {
        (self.frame_flags >> LENGTH_AT) as u16
    }
    #[inline]
    pub(crate) fn is(&self, flag: u64) -> bool {
        self.frame_flags & flag != 0
    }
    #[inline]
    pub(crate) fn extra(&self) -> Option<u32> {
        self.is(EXTRA).then_some(self.extra)
    }
}

/// Protocols that carry stamps, or a spin bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Protocol {
    /// TCP with or without timestamps.
    Tcp,
    /// uTP.
    Utp,
    /// QUIC, of which only the spin bit is read.
    Quic,
}

impl Protocol {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Utp, Self::Quic];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Utp => "utp",
            Self::Quic => "quic",
        }
    }
}

/// Which clock told the arrival of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// The capture's own clock: delay from the sender to the observer.
    Observer,
    /// The receiver's, as its answers report it: delay from the sender to the receiver.
    Reported,
}

/// The smallest delay seen, so that it can be worked out anew when the tick or the skew is known better.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) time: i64,
    pub(crate) stamp: i64,
    pub(crate) extra: i64,
}

/// What tells one track from another: a direction of a flow under an estimator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackRef<'a> {
    pub(crate) key: &'a Key,
    /// Which end of the key sends.
    pub(crate) side: usize,
    pub(crate) protocol: Protocol,
    pub(crate) estimator: Estimator,
    /// Hosts at the two ends of the key.
    pub(crate) hosts: [u32; 2],
}

/// One direction of one flow under one estimator, as long as its clock and its route stay the same.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) key: Key,
    pub(crate) side: usize,
    pub(crate) protocol: Protocol,
    pub(crate) estimator: Estimator,
    /// Host that sends, host that receives.
    pub(crate) host: [u32; 2],
    pub(crate) start: i64,
    pub(crate) entries: u64,
    pub(crate) closed: bool,
    pub(crate) last_time: i64,
    pub(crate) fit: Fit,
    pub(crate) echo_fit: Fit,
    /// Of the receiver's stamps (TCP reported only).
    pub(crate) peer_fit: Fit,
    pub(crate) tick_ns: Option<f64>,
    pub(crate) peer_tick_ns: Option<f64>,
    pub(crate) skew: f64,
    pub(crate) peer_skew: f64,
    pub(crate) minima: Minima,
    /// Where `extra` stood at the last finalization.
    pub(crate) extra_line: Unwrapped,
    pub(crate) least: Option<Bound>,
    pub(crate) floor: Option<Bound>,
    /// What the base lies above the least delay because that was a lucky packet's, ns.
    pub(crate) lift: f64,
    /// Base delay, ns on the track's own scale.
    pub(crate) base: f64,
    /// Round trip without a queue, ns.
    pub(crate) round_trip_base: f64,
    /// What the least delays of both directions exceed the shortest round trip by, ns.
    pub(crate) gap: f64,
    /// Of that, what neither direction can be charged with.
    pub(crate) unassigned: f64,
    /// How well the base is known, ns, where it was taken over.
    pub(crate) base_error: f64,
    /// What the track shows of an empty queue, from its sender and to it.
    pub(crate) evidence: [crate::delay::evidence::Evidence; 2],
    /// Whether the base is known to be that of an empty queue, from its sender and to it.
    pub(crate) empty: [bool; 2],
    /// The last delay to the sender, ns, and how many since were left out as acknowledged late.
    pub(crate) toward_before: (f64, u8),
    /// Stamps of the last packet and of the one before.
    pub(crate) sent_at: [i64; 2],
    /// Stamp of the last packet, and how long after it the packet was sent, ns.
    pub(crate) phase: Option<(i64, f64)>,
    /// What neighbouring flows say that the base is too high by, ns.
    pub(crate) cross_flow_base: f64,
    /// The base as it was used last, taken over or not.
    pub(crate) last_base: Option<f64>,
    /// The base was bounded by round trips, so that it can be compared between flows.
    pub(crate) by_round_trip: bool,
    /// Another track of the same direction says more: this one gives no samples.
    pub(crate) silent: bool,
    /// It gave a sample.
    pub(crate) counted: bool,
}

impl Track {
    pub(crate) fn new(of: &TrackRef<'_>, start: i64) -> Self {
        Self {
            key: *of.key,
            side: of.side,
            protocol: of.protocol,
            estimator: of.estimator,
            host: [of.hosts[of.side], of.hosts[1 - of.side]],
            start,
            entries: 0,
            closed: false,
            last_time: start,
            fit: Fit::default(),
            echo_fit: Fit::default(),
            peer_fit: Fit::default(),
            tick_ns: None,
            peer_tick_ns: None,
            skew: 0.0,
            peer_skew: 0.0,
            minima: Minima::default(),
            extra_line: Unwrapped::default(),
            least: None,
            floor: None,
            lift: 0.0,
            base: 0.0,
            round_trip_base: 0.0,
            gap: f64::INFINITY,
            unassigned: 0.0,
            base_error: 0.0,
            evidence: Default::default(),
            empty: [false; 2],
            toward_before: (0.0, 0),
            sent_at: [i64::MIN; 2],
            phase: None,
            cross_flow_base: 0.0,
            last_base: None,
            by_round_trip: false,
            silent: false,
            counted: false,
        }
    }
}
