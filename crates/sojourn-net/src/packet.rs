//! What a queue may know of a packet.

/// The two ECN bits of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand ECN: congestion must be said by a drop.
    #[default]
    NotEct,
    /// ECN-capable transport, code point 0.
    Ect0,
    /// ECN-capable transport, code point 1 (L4S, RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// A packet as a queue sees it: the simulator's is a 56-byte record, an emulator's owns the frame.
pub trait Packet {
    /// Bytes that count against a byte limit and that the link transmits, without link-layer overhead.
    fn size(&self) -> u32;
    /// The flow it belongs to, as far as the queue may tell flows apart.
    fn flow(&self) -> u32;
    /// The ECN bits.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    /// Sets Congestion Experienced. Only called on packets whose transport is ECN-capable.
    fn mark(&mut self) {}
}
