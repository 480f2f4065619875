//! QUIC packets: frames and their sizes.

use super::streams::StreamId;
use crate::{Ecn, Span};

/// Payload of a full UDP datagram, as path MTU discovery finds it on Ethernet.
pub const DATAGRAM: u64 = 1452;
/// Least payload of a datagram of the handshake (RFC 9000 §14.1).
pub(super) const INITIAL: u64 = 1200;
/// Short header with a connection ID of 8 bytes and a packet number of two, and the tag of the encryption.
const HEADER_AND_TAG: u64 = 1 + 8 + 2 + 16;

/// Three counts of packets by their ECN field, beside an acknowledgement.
const COUNTS: u64 = 5;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of a stream.
    Stream {
        /// Which.
        id: StreamId,
        /// Of the first byte.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// What has arrived: ranges of packet numbers, both ends included, the highest first; and how long the highest
    /// waited.
    Ack {
        /// From, to.
        ranges: Vec<(u64, u64)>,
        /// Of the highest.
        delay: Span,
        /// How many came with a mark, if any were seen that may have one (RFC 9000 §19.3.2).
        marked: Option<u64>,
    },
    /// Asks for an acknowledgement.
    Ping,
}

impl Frame {
    /// Bytes of a stream frame beside its data: type, stream, offset, length.
    pub(super) const STREAM: u64 = 1 + 2 + 4 + 2;

    fn bytes(&self) -> u64 {
        match self {
            Self::Stream { len, .. } => Self::STREAM + len,
            Self::Ack { ranges, marked, .. } => 8 + 4 * ranges.len() as u64 + marked.map_or(0, |_| COUNTS),
            Self::Ping => 1,
        }
    }
}

/// A packet, alone in its datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its number.
    pub number: u64,
    /// What it carries.
    pub frames: Vec<Frame>,
    /// Payload of the datagram.
    pub bytes: u64,
    /// Its ECN field, which the network may have changed when it arrives.
    pub ecn: Ecn,
}

impl Packet {
    /// A packet of these frames, padded to so many bytes at least.
    pub(super) fn new(number: u64, frames: Vec<Frame>, least: u64) -> Self {
        let bytes = (HEADER_AND_TAG + frames.iter().map(Frame::bytes).sum::<u64>()).max(least);
        Self { number, frames, bytes, ecn: Ecn::NotEct }
    }

    /// Whether it asks for an acknowledgement.
    pub fn is_eliciting(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Ack { .. }))
    }

    /// Room for the data of one more stream frame in a datagram of at most so many bytes that has these.
    pub(super) fn room(frames: &[Frame], most: u64) -> u64 {
        let taken = HEADER_AND_TAG + frames.iter().map(Frame::bytes).sum::<u64>() + Frame::STREAM;
        most.saturating_sub(taken)
    }
}
