//! One packet in the log: what was seen of it, and later its sample in the same place.

use crate::delay::estimate::tcp_observer::Estimate;
use bytemuck::{Pod, Zeroable};

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
/// Of those: what came back had data of its own, or ended the connection, and may have waited for that.
pub(crate) const SPOKEN: u64 = 1 << 63;
/// In the place of the entry is its sample.
const SAMPLED: u64 = 1 << 62;
/// Of those: who echoed it had data on its way then, and may have waited for its arrival.
pub(crate) const AWAITED: u64 = 1 << 34;
/// Of the others, those from the sender: data that was sent again. Its stamp may be of a time to come: Linux stamps
/// when a connection's pace lets it go, for which timers do not wait (`__tcp_transmit_skb`, `tcp_wstamp_ns`).
pub(crate) const AGAIN: u64 = AWAITED;
/// New data that echoes nothing for the first time: no arrival caused it.
pub(crate) const UNPROMPTED: u64 = 1 << 35;
/// Of those, what echoes again a stamp that one packet alone had: no arrival since the last echo caused it for certain.
pub(crate) const UNCAUSED: u64 = LONE;
const FRAME: u64 = (1 << 34) - 1;
const COVERED_AT: u32 = 36;
/// Packets that an entry may stand for.
pub(crate) const MOST_COVERED: u32 = 15;
const LENGTH_AT: u32 = 40;

/// One packet of the log.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Entry {
    /// Capture time since the first packet, ns.
    pub(crate) time: i64,
    /// Sender's stamp on a line without end, ticks. For uTP's reports the reported difference, µs.
    pub(crate) stamp: i64,
    /// Frame number (34 bits), two flags, packets that it stands for (4), length on the wire (16) and flags.
    pub(crate) frame_flags: u64,
    /// Its place in the order of all.
    pub(crate) place: u32,
    /// TCP observed: time since the packet that it echoes passed, µs. TCP reported: the receiver's stamp. uTP
    /// observed: how the sender's clock stands against the capture's by its own reports, µs modulo 2^32.
    pub(crate) extra: u32,
}

impl Entry {
    /// An entry that has no place yet; without `extra`, that field holds nothing.
    #[inline]
    pub(crate) fn new(frame: u64, time: i64, stamp: i64, flags: u64, extra: Option<u32>) -> Self {
        let flags = flags | if extra.is_some() { EXTRA } else { 0 };
        Self { time, stamp, frame_flags: (frame & FRAME) | flags, place: 0, extra: extra.unwrap_or(0) }
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
    /// The same entry, as it would have come had it taken less long by so many ns.
    #[inline]
    pub(crate) fn shorter(self, by: f64) -> Self {
        Self { time: self.time - by as i64, ..self }
    }
    /// The same entry, standing for so many packets of about the same delay: those that one acknowledgement covers.
    #[inline]
    pub(crate) fn covering(mut self, packets: u32) -> Self {
        self.frame_flags |= u64::from(packets.min(MOST_COVERED)) << COVERED_AT;
        self
    }
    /// How many packets it stands for.
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        ((self.frame_flags >> COVERED_AT) as u32 & MOST_COVERED).max(1)
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

/// Time since the first packet, ns, and delay of a packet, and whether it went to the remote host.
pub(crate) type Sampled = ((i64, Estimate), bool);

impl Entry {
    /// Put the sample of the entry in its place, or nothing if it gave none: it takes as much room.
    #[inline]
    pub(crate) fn settle(&mut self, sampled: Option<Sampled>) {
        self.frame_flags &= FRAME;
        if let Some(((time, Estimate { delay, error }), toward)) = sampled {
            (self.time, self.stamp) = (time, delay.to_bits() as i64);
            (self.place, self.extra) = ((error.to_bits() >> 32) as u32, error.to_bits() as u32);
            self.frame_flags |= if toward { SAMPLED | TOWARD } else { SAMPLED };
        }
    }

    /// What was put in its place.
    #[inline]
    pub(crate) fn sampled(&self) -> Option<Sampled> {
        self.is(SAMPLED).then(|| {
            let (delay, error) = (self.stamp as u64, u64::from(self.place) << 32 | u64::from(self.extra));
            let estimate = Estimate { delay: f64::from_bits(delay), error: f64::from_bits(error) };
            ((self.time, estimate), self.is(TOWARD))
        })
    }
}
