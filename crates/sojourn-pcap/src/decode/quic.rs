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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_headers_of_versions_in_use_and_short_ones_with_their_spin_bit() {
        let (one, two) = ([0, 0, 0, 1], [0x6b, 0x33, 0x43, 0xcf]);
        let of = |first: u8, version: [u8; 4]| seen(&[&[first][..], &version, &[8, 1]].concat());
        for version in [one, two] {
            assert_eq!([0xc0, 0xff, 0xd3].map(|first| of(first, version)), [Some(Seen::Long); 3]);
            // Without the fixed bit it is another protocol.
            assert_eq!([0x80, 0x00, 0x3f].map(|first| of(first, version)), [None; 3]);
            assert_eq!(of(0x40, version), Some(Seen::Short(false)));
            assert_eq!(of(0x7f, version), Some(Seen::Short(true)));
        }
        assert_eq!(of(0xc0, [0, 0, 0, 2]), None);
        assert_eq!((seen(&[]), seen(&[0x60]), seen(&[0xc0, 0, 0, 0])), (None, Some(Seen::Short(true)), None));
    }
}
