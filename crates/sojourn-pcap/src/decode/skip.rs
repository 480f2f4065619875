//! Reasons to leave a frame out.

use sojourn_net::named;

named! {
    /// Why a frame is of no use.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Skip {
        /// A link type that is not known here.
        LinkType = "unknown_link_type",
        /// ARP, spanning tree and other things that are not IP.
        NotIp = "not_ip",
        /// A fragment after the first; its transport header is elsewhere.
        Fragment = "later_fragment",
        /// The snap length cut the headers.
        CutShort = "headers_cut_by_snap_length",
        /// Header fields that contradict each other.
        Malformed = "malformed_header",
        /// ICMP, tunnels, encryption: neither TCP nor UDP.
        OtherTransport = "neither_tcp_nor_udp",
        /// Its file says that it was dropped where it was captured.
        Dropped = "dropped_where_captured",
        /// The capture is of several interfaces, and had the packet before.
        Again = "captured_on_another_interface_before",
    }
}
