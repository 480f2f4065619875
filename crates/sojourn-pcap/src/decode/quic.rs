//! QUIC's invariants (RFC 8999) and the spin bit (RFC 9000 §17.4): all that can be seen without keys.

/// What a datagram shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A long header of a version in use: this flow is QUIC.
    Long,
    /// A short header, with its spin bit.
    Short(bool),
}

/// Read a UDP payload as QUIC if it can be.
#[inline]
pub fn seen(payload: &[u8]) -> Option<Seen> {
    match payload {
        [first, 0, 0, 0, 1, ..] if first & 0xc0 == 0xc0 => Some(Seen::Long),
        // QUIC version 2 (RFC 9369).
        [first, 0x6b, 0x33, 0x43, 0xcf, ..] if first & 0xc0 == 0xc0 => Some(Seen::Long),
        [first, ..] if first & 0xc0 == 0x40 => Some(Seen::Short(first & 0x20 != 0)),
        _ => None,
    }
}
