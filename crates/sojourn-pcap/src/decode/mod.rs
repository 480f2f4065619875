//! From the bytes of a frame to what the estimators need of it. Nothing here allocates; bytes that were cut off by the
//! snap length are not an error as long as the headers are there.

mod ip;
pub(crate) mod link;
pub mod quic;
pub mod tcp;
pub mod utp;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use link::NAMES as LINK_TYPES;

/// An IPv4 address (mapped) or an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u128);

impl Address {
    #[inline]
    fn v4(bytes: &[u8]) -> Self {
        Self(0xffff_0000_0000 | u128::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
    }
    #[inline]
    fn v6(bytes: &[u8]) -> Self {
        let mut all = [0; 16];
        all.copy_from_slice(&bytes[..16]);
        Self(u128::from_be_bytes(all))
    }
    /// Whether it is an IPv4 address.
    pub fn is_v4(self) -> bool {
        self.0 >> 32 == 0xffff
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self(v4.to_ipv6_mapped().to_bits()),
            IpAddr::V6(v6) => Self(v6.to_bits()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_v4() { Ipv4Addr::from_bits(self.0 as u32).fmt(f) } else { Ipv6Addr::from_bits(self.0).fmt(f) }
    }
}

/// One IP packet with a transport header that can be used.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Hop limit as it arrived.
    pub ttl: u8,
    /// IPv4 identification, or 0.
    pub id: u16,
    /// What is inside.
    pub transport: Transport<'a>,
}

/// Transport header.
#[derive(Debug, Clone, Copy)]
pub enum Transport<'a> {
    /// TCP.
    Tcp(tcp::Segment),
    /// UDP: what it carries, as far as it was captured.
    Udp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
        /// Bytes of the payload that were captured.
        payload: &'a [u8],
        /// Length of the payload on the wire.
        length: u32,
    },
}

/// Why a frame is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Skip {
    /// A link type that is not known here.
    LinkType,
    /// ARP, spanning tree and other things that are not IP.
    NotIp,
    /// A fragment after the first; its transport header is elsewhere.
    Fragment,
    /// The snap length cut the headers.
    CutShort,
    /// Header fields that contradict each other.
    Malformed,
    /// ICMP, tunnels, encryption: neither TCP nor UDP.
    OtherTransport,
}

impl Skip {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::LinkType, Self::NotIp, Self::Fragment, Self::CutShort, Self::Malformed, Self::OtherTransport];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::LinkType => "unknown_link_type",
            Self::NotIp => "not_ip",
            Self::Fragment => "later_fragment",
            Self::CutShort => "headers_cut_by_snap_length",
            Self::Malformed => "malformed_header",
            Self::OtherTransport => "neither_tcp_nor_udp",
        }
    }
}

/// Decode a frame of a link type. `wire_len` is its length before it was cut.
///
/// # Errors
/// The reason why it is of no use.
#[inline]
pub fn decode(link: u16, data: &[u8], wire_len: u32) -> Result<Packet<'_>, Skip> {
    let (kind, at) = link::network(link, data)?;
    let rest = &data[at..];
    let wire_len = wire_len.saturating_sub(at as u32);
    match kind {
        link::Network::V4 => ip::v4(rest, wire_len),
        link::Network::V6 => ip::v6(rest, wire_len),
        link::Network::ByVersion => match rest.first().ok_or(Skip::CutShort)? >> 4 {
            4 => ip::v4(rest, wire_len),
            6 => ip::v6(rest, wire_len),
            _ => Err(Skip::NotIp),
        },
    }
}

#[inline]
fn be16(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

#[inline]
fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}
