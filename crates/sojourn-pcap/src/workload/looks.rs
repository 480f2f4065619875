//! Which flows of datagrams are QUIC.
//!
//! Source: RFC 8999 and RFC 9000 §17, the form of headers: a flow is QUIC if a datagram has a long header of a version
//! in use, or if all that it has look like short ones, whose low bits are masked and so take all values (RFC 9001
//! §5.4), and are no text: what is encrypted hardly ever begins with letters alone, as SIP's messages do (RFC 3261),
//! which have such first bytes, too. The numbers are sojourn's own.

use crate::decode::quic::{Seen, seen};

/// So many datagrams that look like short headers, and so many values of their masked bits, are QUIC.
const SHORT: u32 = 8;
const MASKED: u32 = 4;
/// So many bytes are looked at for text.
const BEGINS: usize = 8;
const LEAST_BEGINS: usize = 4;

/// What the first bytes of a flow's datagrams look like.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    long: bool,
    short: u32,
    masked: u32,
    /// Of those that look like short headers, how many begin as text does.
    text: u32,
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
                self.text = self.text.saturating_add(u32::from(is_text(payload)));
            }
            (_, payload) => self.other |= !payload.is_empty(),
        }
    }

    pub(super) fn is_quic(&self) -> bool {
        let short = self.short >= SHORT && self.masked.count_ones() >= MASKED;
        self.long || (!self.other && short && self.text <= self.short / 2)
    }

    /// Its handshake was seen.
    pub(super) fn opens(&self) -> bool {
        self.long
    }
}

/// Whether a payload begins with letters, digits, signs and spaces.
fn is_text(payload: &[u8]) -> bool {
    let begins = &payload[..payload.len().min(BEGINS)];
    begins.len() >= LEAST_BEGINS && begins.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
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
        let sip = ["INVITE sip:a@b", "SIP/2.0 100 T", "ACK sip:a@b", "BYE sip:a@b", "OPTIONS sip:a", "CANCEL sip:a"];
        let sip: Vec<&[u8]> = sip.into_iter().chain(sip).map(str::as_bytes).collect();
        assert_eq!(of(&sip), (false, false), "text");
        assert_eq!(of(&[&sip[..], &[&[0x41, 9, 0x80, 7][..]; 12]].concat()), (true, false), "half of it by chance");
        assert_eq!(of(&sip.iter().map(|all| &all[..3]).collect::<Vec<_>>()), (true, false), "too short to tell");
        assert_eq!(of(&[]), (false, false));
    }
}
