//! What travels between two endpoints: a header and a length.
//!
//! Source: RFC 9293 §3.1 (header), RFC 2018 (SACK blocks), RFC 7323 (timestamps).

use crate::{Ecn, Time};

/// A range of sequence numbers that arrived: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First sequence number.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// The selective-acknowledgement blocks of one segment, at most three (as many as fit beside timestamps), the most
/// recently received first (RFC 2018 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [Block; 3],
    count: u8,
}

impl Sack {
    /// No blocks.
    pub const NONE: Self = Self { blocks: [Block { start: 0, end: 0 }; 3], count: 0 };

    /// The blocks.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..self.count as usize]
    }

    /// Adds a block; more than three are ignored.
    pub fn push(&mut self, block: Block) {
        if let Some(place) = self.blocks.get_mut(self.count as usize) {
            *place = block;
            self.count += 1;
        }
    }

    /// True if the first block reports what arrived a second time (DSACK, RFC 2883), `ack` being the cumulative
    /// acknowledgement beside it.
    #[inline]
    pub fn is_dsack(&self, ack: u64) -> bool {
        self.blocks().first().is_some_and(|block| block.end <= ack)
    }

    /// True if there is no block.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A segment. Its data, if any, is only a length; its SACK blocks, which few segments have, travel beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first unit (SYN, byte or FIN).
    pub seq: u64,
    /// Sequence length: payload bytes, plus one for a SYN, plus one for a FIN.
    pub len: u32,
    /// Synchronise: opens the sender's direction. Takes no payload with it.
    pub syn: bool,
    /// The sender's last unit.
    pub fin: bool,
    /// Next sequence number expected from the other end; `None` only in the first SYN.
    pub ack: Option<u64>,
    /// Sent before.
    pub retransmission: bool,
    /// Nothing follows soon: the receiving application should have what has arrived (RFC 9293 §3.9.1, PSH).
    pub push: bool,
    /// When it was sent, by the sender's clock (RFC 7323 TSval).
    pub stamp: Time,
    /// The other end's stamp that is echoed (TSecr); `Time::NEVER` if there is none.
    pub echo: Time,
    /// The ECN bits of its packet.
    pub ecn: Ecn,
    /// The three header bits for feedback of marks: a counter, or ECN-Echo (1) and congestion window reduced (2).
    pub feedback: u8,
}

impl Segment {
    /// Payload bytes.
    #[inline]
    pub fn payload(&self) -> u32 {
        self.len - u32::from(self.syn) - u32::from(self.fin)
    }
}

/// What the header of an arriving segment says about what the other end has received.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckHeader {
    /// Next sequence number expected.
    pub(super) ack: u64,
    /// The echoed timestamp (TSecr); `NEVER` without timestamps.
    pub(super) echo: Time,
    /// The segment's own timestamp (TSval).
    pub(super) stamp: Time,
    /// The segment occupies no sequence space.
    pub(super) pure: bool,
    /// ECN feedback: a counter, or ECN-Echo.
    pub(super) feedback: u8,
}
