//! Reasons to leave a frame out.

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
