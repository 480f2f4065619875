//! What a CoDel is told, and which published one it is.
//!
//! Source: RFC 8289 §4.2 and §4.3 (interval and target, with their defaults); the other settings are those of Linux's `codel` and of ns-3's
//! `CoDelQueueDisc`. In what the published ones differ stands in [`super`].

use crate::Span;

/// Which published CoDel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// RFC 8289, exact square roots.
    #[default]
    Rfc8289,
    /// Linux, `codel_impl.h`.
    Linux,
    /// ns-3.
    Ns3,
    /// ns-2.35, `codel.cc`.
    Ns2_2013,
    /// The authors' ns-2 file of 2012.
    Ns2_2012,
    /// The listing in ACM Queue.
    Acmq2012,
    /// ns-2.35, inside `sfqcodel.cc`.
    Ns2Sfq,
}

impl Variant {
    /// True if it can mark packets instead of dropping them.
    pub const fn has_ecn(self) -> bool {
        matches!(self, Self::Rfc8289 | Self::Linux | Self::Ns3)
    }

    /// True if it can mark packets above a threshold of their own.
    pub const fn has_ce_threshold(self) -> bool {
        matches!(self, Self::Linux | Self::Ns3)
    }

    /// True if it approximates the square root and counts 1024 ns.
    pub(in crate::queue) const fn is_fixed_point(self) -> bool {
        matches!(self, Self::Linux | Self::Ns3)
    }
}

/// What a CoDel is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which published CoDel.
    pub variant: Variant,
    /// Waiting time that is acceptable.
    pub target: Span,
    /// How long it must be exceeded: about a worst-case round trip.
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark ECN-capable packets that waited longer than this.
    pub ce_threshold: Option<Span>,
    /// ECT(1) and CE packets are judged by that threshold alone, and others not by it (ns-3's `UseL4s`).
    pub l4s: bool,
    /// Bytes of a full packet: a queue that holds no more is left alone. ns-2 learns it from the packets instead.
    pub mtu: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
            ce_threshold: None,
            l4s: false,
            mtu: 1500,
        }
    }
}
