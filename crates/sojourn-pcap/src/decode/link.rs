//! Link layers: where the IP packet begins. Types are those of <https://www.tcpdump.org/linktypes.html>.

use super::bytes::be16;
use super::skip::Skip;

/// Link types that are read, with their names.
pub const NAMES: [(u16, &str); 12] = [
    (0, "BSD loopback"),
    (1, "Ethernet"),
    (9, "PPP"),
    (12, "raw IP (old number)"),
    (14, "raw IP (OpenBSD's number)"),
    (50, "PPP in HDLC"),
    (101, "raw IP"),
    (108, "OpenBSD loopback"),
    (113, "Linux cooked"),
    (228, "raw IPv4"),
    (229, "raw IPv6"),
    (276, "Linux cooked v2"),
];

/// What follows the link header.
pub(crate) enum Network {
    V4,
    V6,
    /// IP; its first four bits say which.
    ByVersion,
}

/// Where the network header of a frame begins, and what it is.
#[inline(always)]
pub(crate) fn network(link: u16, data: &[u8]) -> Result<(Network, usize), Skip> {
    match link {
        1 => ether_type(data, 12),
        113 => ether_type(data, 14),
        276 => {
            let (network, at) = ether_type_and(data, 0, 20)?;
            Ok((network, at))
        }
        12 | 14 | 101 => Ok((Network::ByVersion, 0)),
        228 => Ok((Network::V4, 0)),
        229 => Ok((Network::V6, 0)),
        // The address family of either byte order; its numbers differ between systems, so the packet says what it is.
        0 | 108 => {
            let family = data.get(..4).ok_or(Skip::CutShort)?;
            let family = u32::from_be_bytes([family[0], family[1], family[2], family[3]]);
            match family.min(family.swap_bytes()) {
                2 | 10 | 24 | 28 | 30 => Ok((Network::ByVersion, 4)),
                _ => Err(Skip::NotIp),
            }
        }
        9 | 50 => {
            let at = if data.first() == Some(&0xff) || link == 50 { 2 } else { 0 };
            ppp(data, at)
        }
        _ => Err(Skip::LinkType),
    }
}

#[inline(always)]
fn ether_type(data: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    ether_type_and(data, at, at + 2)
}

/// Follow EtherTypes from `at`, the payload being at `next`, through up to four VLAN tags, MPLS labels and PPPoE.
#[inline(always)]
fn ether_type_and(data: &[u8], mut at: usize, mut next: usize) -> Result<(Network, usize), Skip> {
    for _ in 0..5 {
        if data.len() < next {
            return Err(Skip::CutShort);
        }
        match be16(data, at) {
            0x0800 => return Ok((Network::V4, next)),
            0x86dd => return Ok((Network::V6, next)),
            // 802.1Q, 802.1ad and the older number of QinQ.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => (at, next) = (next + 2, next + 4),
            0x8847 | 0x8848 => return mpls(data, next),
            0x8864 => return ppp(data, next + 6),
            _ => return Err(Skip::NotIp),
        }
    }
    Err(Skip::Malformed)
}

fn mpls(data: &[u8], mut at: usize) -> Result<(Network, usize), Skip> {
    for _ in 0..8 {
        let label = data.get(at..at + 4).ok_or(Skip::CutShort)?;
        at += 4;
        if label[2] & 1 == 1 {
            return Ok((Network::ByVersion, at));
        }
    }
    Err(Skip::Malformed)
}

fn ppp(data: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    if data.len() < at + 2 {
        return Err(Skip::CutShort);
    }
    match be16(data, at) {
        0x0021 => Ok((Network::V4, at + 2)),
        0x0057 => Ok((Network::V6, at + 2)),
        _ => Err(Skip::NotIp),
    }
}
