//! Which flows of datagrams are QUIC.
//!
//! Source: RFC 8999 and RFC 9000 §17, the form of headers: a flow is QUIC if a datagram has a long header of a version
//! in use, or if all that it has look like short ones, whose low bits are masked and so take all values (RFC 9001
//! §5.4). The numbers are sojourn's own.

use crate::decode::quic::{Seen, seen};

/// So many datagrams that look like short headers, and so many values of their masked bits, are QUIC.
const SHORT: u32 = 8;
const MASKED: u32 = 4;

/// What the first bytes of a flow's datagrams look like.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    long: bool,
    short: u32,
    masked: u32,
    other: bool,
}

impl Looks {
    /// One more datagram.
    pub(super) fn add(&mut self, payload: &[u8]) {
        match (seen(payload), payload) {
            (Some(Seen::Long), _) => self.long = true,
            (Some(Seen::Short(_)), [first, ..]) => {
                self.short = self.short.saturating_add(1);
                self.masked |= 1 << (first & 0x1f);
            }
            (_, payload) => self.other |= !payload.is_empty(),
        }
    }

    pub(super) fn is_quic(&self) -> bool {
        self.long || !self.other && self.short >= SHORT && self.masked.count_ones() >= MASKED
    }

    /// Its handshake was seen.
    pub(super) fn opens(&self) -> bool {
        self.long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_quic_by_a_long_header_or_by_short_ones_whose_bits_are_masked() {
        let of = |firsts: &[&[u8]]| {
            let mut looks = Looks::default();
            firsts.iter().for_each(|first| looks.add(first));
            (looks.is_quic(), looks.opens())
        };
        let long: &[u8] = &[0xc3, 0, 0, 0, 1];
        assert_eq!(of(&[long]), (true, true));
        assert_eq!(of(&[&[0x16, 1], long]), (true, true));
        let short: Vec<&[u8]> = vec![&[0x41], &[0x52], &[0x63], &[0x5f], &[0x41], &[0x72], &[0x44], &[0x40]];
        assert_eq!(of(&short), (true, false), "it began before");
        assert_eq!(of(&short[1..]), (false, false), "too few");
        assert_eq!(of(&[&short[..], &[&[0x80]]].concat()), (false, false), "RTP");
        assert_eq!(of(&[&short[..], &[&[]]].concat()), (true, false), "cut to its headers");
        assert_eq!(of(&[&[0x40][..]; 20]), (false, false), "TURN's channel data: nothing is masked");
        assert_eq!(of(&[]), (false, false));
    }
}
